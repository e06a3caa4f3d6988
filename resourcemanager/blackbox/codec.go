package blackbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
)

// The encoding of a value follows its type, which both sides know:
//
//	bool, integers, floats  a varint; floats with their bytes reversed
//	string                  length, bytes
//	slice, map              0 for nil, else length + 1, elements; a map's in the order of their bytes
//	array                   length without zeros at its end, elements
//	pointer, error          0 for nil, else 1 and the element, or the text
//	struct                  its fields; all must be exported
//
// So equal values have equal bytes, and nil differs from empty.

var errorType = reflect.TypeFor[error]()

// appendValue appends a value. It panics on a type that has no encoding; tests show
// that no type that is recorded is one of those.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return appendBool(b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.Float32:
		return appendFloat32(b, float32(v.Float()))
	case reflect.Float64:
		return binary.AppendUvarint(b, bits.ReverseBytes64(math.Float64bits(v.Float())))
	case reflect.String:
		return appendString(b, v.String())
	case reflect.Slice:
		if v.IsNil() {
			return append(b, 0)
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Array:
		n := v.Len()
		for n > 0 && v.Index(n-1).IsZero() {
			n--
		}
		b = binary.AppendUvarint(b, uint64(n))
		for i := range n {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Map:
		return appendMap(b, v)
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendValue(append(b, 1), v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	case reflect.Interface:
		if v.Type() == errorType {
			return appendError(b, v)
		}
	}
	panic(fmt.Sprintf("blackbox: a %v has no encoding", v.Type()))
}

func appendBool(b []byte, x bool) []byte {
	if x {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendFloat32(b []byte, x float32) []byte {
	return binary.AppendUvarint(b, uint64(bits.ReverseBytes32(math.Float32bits(x))))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendError(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	return appendString(append(b, 1), v.Interface().(error).Error())
}

func appendMap(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	// All entries stand in one buffer and share a key and a value: a list of nodes has thousands, and the loop waits for this.
	var (
		all     []byte
		entries = make([][]byte, 0, v.Len())
		key     = reflect.New(v.Type().Key()).Elem()
		value   = reflect.New(v.Type().Elem()).Elem()
	)
	for it := v.MapRange(); it.Next(); {
		key.SetIterKey(it)
		value.SetIterValue(it)
		from := len(all)
		all = appendValue(appendValue(all, key), value)
		entries = append(entries, all[from:len(all):len(all)])
	}
	slices.SortFunc(entries, bytes.Compare)
	b = binary.AppendUvarint(b, uint64(len(entries))+1)
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}

// Bounds of what is read.
const (
	MaxFrame   = 64 << 20 // bytes of one frame of a file
	maxDecoded = 1 << 30  // bytes of memory of the values of one frame
)

var (
	errShort = errors.New("it ends in the middle of a value")
	errOdd   = errors.New("it has a value that nobody writes")
	errLarge = fmt.Errorf("its values need more than %d bytes", maxDecoded)
)

// decoder reads values. After an error it reads zeros.
type decoder struct {
	b    []byte
	left int // bytes of memory that values may still take
	err  error
}

func newDecoder(b []byte) *decoder { return &decoder{b: b, left: maxDecoded} }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.b, d.err = nil, err
	}
}

func (d *decoder) uint() uint64 {
	x, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return x
}

func (d *decoder) int() int64 {
	x, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return x
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail(errShort)
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) string() string {
	s := d.bytes()
	d.spend(len(s))
	return string(s)
}

// spend takes n bytes of memory off what is left.
func (d *decoder) spend(n int) {
	if d.left -= n; d.left < 0 {
		d.fail(errLarge)
	}
}

// present reads whether a value follows: whether a pointer or an error is not nil. A
// bool is encoded in the same way.
func (d *decoder) present() bool {
	switch d.uint() {
	case 0:
		return false
	case 1:
		return true
	}
	d.fail(errOdd)
	return false
}

// value reads into v, which can be set and is zero.
func (d *decoder) value(v reflect.Value) {
	if d.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(d.present())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x := d.int()
		if v.OverflowInt(x) {
			d.fail(errOdd)
			return
		}
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x := d.uint()
		if v.OverflowUint(x) {
			d.fail(errOdd)
			return
		}
		v.SetUint(x)
	case reflect.Float32:
		x := d.uint()
		if x > math.MaxUint32 {
			d.fail(errOdd)
			return
		}
		v.SetFloat(float64(math.Float32frombits(bits.ReverseBytes32(uint32(x)))))
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(bits.ReverseBytes64(d.uint())))
	case reflect.String:
		v.SetString(d.string())
	case reflect.Slice:
		d.slice(v)
	case reflect.Array:
		n := d.uint()
		if n > uint64(v.Len()) {
			d.fail(errOdd)
			return
		}
		for i := range int(n) {
			d.value(v.Index(i))
		}
	case reflect.Map:
		d.readMap(v)
	case reflect.Pointer:
		if d.present() {
			d.spend(int(v.Type().Elem().Size()))
			v.Set(reflect.New(v.Type().Elem()))
			d.value(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			d.value(v.Field(i))
		}
	case reflect.Interface:
		if d.present() {
			v.Set(reflect.ValueOf(errors.New(d.string())))
		}
	}
}

// length reads how many elements follow; each takes a byte at least.
func (d *decoder) length() (n int, ok bool) {
	x := d.uint()
	if x == 0 || d.err != nil {
		return 0, false
	}
	if x-1 > uint64(len(d.b)) {
		d.fail(errShort)
		return 0, false
	}
	return int(x - 1), true
}

func (d *decoder) slice(v reflect.Value) {
	n, ok := d.length()
	if !ok {
		return
	}
	d.spend(n * int(v.Type().Elem().Size()))
	if d.err != nil {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := 0; i < n && d.err == nil; i++ {
		d.value(v.Index(i))
	}
}

func (d *decoder) readMap(v reflect.Value) {
	n, ok := d.length()
	if !ok {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i < n && d.err == nil; i++ {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		d.spend(int(v.Type().Key().Size() + v.Type().Elem().Size()))
		d.value(key)
		d.value(value)
		v.SetMapIndex(key, value)
	}
}

// describe writes the structure of a type, with the names of its fields, to w.
func describe(w *strings.Builder, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		fmt.Fprintf(w, "%s{", t.Name())
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(w, "%s ", f.Name)
			describe(w, f.Type)
			w.WriteByte(';')
		}
		w.WriteByte('}')
	case reflect.Slice, reflect.Pointer, reflect.Array, reflect.Map:
		fmt.Fprintf(w, "%v(", t.Kind())
		if t.Kind() == reflect.Map {
			describe(w, t.Key())
			w.WriteByte(':')
		}
		if t.Kind() == reflect.Array {
			fmt.Fprintf(w, "%d ", t.Len())
		}
		describe(w, t.Elem())
		w.WriteByte(')')
	default:
		w.WriteString(t.Kind().String())
	}
}

// fingerprint is a hash of the structure of the types.
func fingerprint(types []reflect.Type) uint64 {
	var text strings.Builder
	for _, t := range types {
		describe(&text, t)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text.String()))
	return h.Sum64()
}
