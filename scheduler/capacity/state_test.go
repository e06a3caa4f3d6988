package capacity

import (
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// state is all that a scheduler remembers, field by field: one number for each.
type state []uint64

var hashSeed = maphash.MakeSeed()

func stateOf(s *Scheduler) state {
	return readState(s, -1).out
}

func readState(s *Scheduler, want int) *stateReader {
	r := &stateReader{seen: map[pointee]uint64{}, names: map[reflect.Type][]string{}, want: want}
	r.read(reflect.ValueOf(s))
	return r
}

// changed names the first field that differs from what it was; "" is none.
func (was state) changed(s *Scheduler) string {
	is := stateOf(s)
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			return readState(s, i).found
		}
	}
	return ""
}

// notState is what a call leaves behind for nobody: room that the next one writes
// before it reads it.
var notState = map[string]bool{"limits": true, "amount": true, "deltas": true, "keys": true, "wants": true}

// settled are read from a configuration, which nobody changes.
var settled = []reflect.Type{reflect.TypeFor[*config.Capacity](), reflect.TypeFor[*config.Common](), reflect.TypeFor[*config.Queue](),
	reflect.TypeFor[*config.Cluster](), reflect.TypeFor[*queue.Settings]()}

// looked is how many elements of an array count: those of cluster.Books are large.
const looked = 100

type pointee struct {
	at uintptr
	of reflect.Type
}

// stateReader follows everything that can be reached, in an order that is always the same.
type stateReader struct {
	out   state
	seen  map[pointee]uint64
	names map[reflect.Type][]string
	path  []string
	want  int    // the number whose field is to be found, or -1
	found string // its path
}

func (r *stateReader) put(n uint64) {
	if len(r.out) == r.want {
		r.found = fmt.Sprintf("%s (%d)", strings.Join(r.path, "."), n)
	}
	r.out = append(r.out, n)
}

func (r *stateReader) enter(name string, at int, v reflect.Value) {
	if r.want < 0 {
		r.read(v)
		return
	}
	if name == "" {
		name = strconv.Itoa(at)
	}
	r.path = append(r.path, name)
	r.read(v)
	r.path = r.path[:len(r.path)-1]
}

func (r *stateReader) read(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		r.put(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		r.put(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		r.put(v.Uint())
	case reflect.Float32, reflect.Float64:
		r.put(math.Float64bits(v.Float()))
	case reflect.String:
		r.put(maphash.String(hashSeed, v.String()))
	case reflect.Interface: // never nil: what leads to the policy
		r.read(v.Elem())
	case reflect.Pointer:
		r.pointer(v)
	case reflect.Struct:
		for i, name := range r.fields(v.Type()) {
			if name != "" {
				r.enter(name, 0, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		n := v.Len()
		r.put(uint64(n))
		if v.Kind() == reflect.Array {
			n = min(n, looked)
		}
		for i := range n {
			r.enter("", i, v.Index(i))
		}
	case reflect.Map:
		r.entries(v)
	case reflect.Func:
	default:
		panic("a scheduler holds no " + v.Kind().String())
	}
}

// fields are the names of a type's fields, "" for those that do not count.
func (r *stateReader) fields(t reflect.Type) []string {
	names, known := r.names[t]
	if !known {
		for i := range t.NumField() {
			name := t.Field(i).Name
			if (t == reflect.TypeFor[Scheduler]() || t == reflect.TypeFor[core.Core]()) && notState[name] {
				name = ""
			}
			names = append(names, name)
		}
		r.names[t] = names
	}
	return names
}

func (r *stateReader) pointer(v reflect.Value) {
	p := pointee{v.Pointer(), v.Type()}
	switch n, known := r.seen[p]; {
	case v.IsNil():
		r.put(0)
	case slices.Contains(settled, p.of):
		r.put(uint64(p.at))
	case known:
		r.put(n)
	default:
		n = uint64(len(r.seen) + 1)
		r.seen[p] = n
		r.put(n)
		r.read(v.Elem())
	}
}

func (r *stateReader) entries(v reflect.Value) {
	byKey := map[string]reflect.Value{}
	var keys []string
	for _, k := range v.MapKeys() {
		name := fmt.Sprint(k)
		keys, byKey[name] = append(keys, name), v.MapIndex(k)
	}
	slices.Sort(keys)
	r.put(uint64(len(keys)))
	for _, k := range keys {
		r.put(maphash.String(hashSeed, k))
		r.enter(k, 0, byKey[k])
	}
}
