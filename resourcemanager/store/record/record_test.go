package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

var codec = Codec{Types: append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "yarn.io/gpu"})}

// fill gives every field, however deep, a value that is not zero, so that a
// field that the codec forgets is noticed.
func fill(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Unknown" {
				v.Field(i).SetBytes(future())
				continue
			}
			fill(v.Field(i), rng)
		}
	case reflect.Array:
		for i := range len(codec.Types) {
			fill(v.Index(i), rng)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			fill(v.Index(i), rng)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d ü", rng.Uint32()))
	case reflect.Int32:
		v.SetInt(int64(1+rng.Int32N(1<<31-2)) * sign(rng))
	case reflect.Int64:
		v.SetInt((1 + rng.Int64N(1<<62)) * sign(rng))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(1 + rng.UintN(4)))
	default:
		panic("records have no fields of kind " + v.Kind().String())
	}
}

// future is fields that no version knows yet.
func future() []byte {
	var w writer
	w.text(900, "from the future")
	w.int(901, 7)
	return w.b
}

func sign(rng *rand.Rand) int64 { return 1 - 2*rng.Int64N(2) }

// full is a record with all fields set, made valid.
func full(r state.Record, rng *rand.Rand) state.Record {
	v := reflect.New(reflect.TypeOf(r)).Elem()
	fill(v, rng)
	positive := yarn.ApplicationID{ClusterTimestamp: 1 + rng.Int64N(1<<50), Sequence: 1 + rng.Int32N(1<<30)}
	switch r := v.Interface().(type) {
	case state.Application:
		r.ID, r.Final = positive, yarn.AppKilled
		for i := range r.Timeouts {
			r.Timeouts[i].Type = int32(i)
		}
		return r
	case state.Attempt:
		r.ID = yarn.AttemptID{Application: positive, Attempt: 1 + rng.Int32N(1000)}
		r.MasterContainer.Attempt, r.Final = r.ID, yarn.AttemptKilled
		return r
	case state.ConfigVersion:
		r.Version = positive.ClusterTimestamp
		return r
	default:
		return r.(state.Record)
	}
}

func kinds() []state.Record {
	return []state.Record{state.Application{}, state.Attempt{}, state.MasterKeys{}, state.DelegationKey{},
		state.DelegationToken{}, state.DelegationSequence{}, state.NodeDeadline{}, state.ConfigVersion{}, state.Labels{}}
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, kind := range kinds() {
		for range 200 {
			r := full(kind, rng)
			b, err := codec.Encode(r)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			got, err := codec.Decode(r.Key(), b)
			if err != nil || !reflect.DeepEqual(got, r) {
				t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, r)
			}
			again, err := codec.Encode(got)
			if err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%T: bytes differ after a second encoding: %v", r, err)
			}
		}
	}
}

// TestLayout pins the bytes: they are on disks.
func TestLayout(t *testing.T) {
	app := state.Application{ID: yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}, Context: []byte{1, 2}, User: "u",
		Priority: -1, Timeouts: []state.Timeout{{Type: 1, ExpireAt: 64}}, Final: yarn.AppFinished, FinalStatus: yarn.FinalSucceeded}
	for _, c := range []struct {
		r    state.Record
		want string
	}{
		{app, "01 0880a0abfef962 100e 1a020102 220175 4801 7205 0802 108001 7810 800102"},
		{state.DelegationSequence{Last: 3}, "01 0806"},
		{state.NodeDeadline{Node: yarn.NodeID{Host: "n", Port: 1}, Capacity: yarn.NewResource(1, 0)},
			"01 0a016e 1002 420d 0a096d656d6f72792d6d62 1002"},
	} {
		b, err := codec.Encode(c.r)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b[:len(b)-4]); got != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%T: %s\nwant %s", c.r, got, c.want)
		}
		if got, want := binary.BigEndian.Uint32(b[len(b)-4:]), crc32.Checksum(b[:len(b)-4], castagnoli); got != want {
			t.Errorf("%T: checksum %08x, want %08x", c.r, got, want)
		}
	}
}

func seal(body []byte) []byte {
	b := append([]byte{Version}, body...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestDecodeRefuses(t *testing.T) {
	good := func(more func(*writer)) []byte {
		var w writer
		writeApplication(&w, state.Application{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}})
		more(&w)
		return seal(w.b)
	}
	key := state.Key{Table: state.Applications, Name: "application_1_0001"}
	for want, value := range map[string][]byte{
		"0 bytes are too few":        nil,
		"field 4: wire type":         good(func(w *writer) { w.int(4, 9) }),
		"field 10: wire type":        good(func(w *writer) { w.text(10, "x") }),
		"does not fit into 32 bits":  good(func(w *writer) { w.int(9, 1<<40) }),
		"does not fit into 8 bits":   good(func(w *writer) { w.int(15, 256) }),
		"is not a final one":         good(func(w *writer) { w.int(15, int64(yarn.AppRunning)) }),
		"final status 77":            good(func(w *writer) { w.int(16, 77) }),
		"not a complete application": good(func(w *writer) { w.int(1, -1) }),
		"record says that it is":     good(func(w *writer) { w.int(2, 2) }),
		"more than 16 timeouts": good(func(w *writer) {
			for range 17 {
				w.nested(14, nil)
			}
		}),
		"not ordered by type": good(func(w *writer) { w.nested(14, nil); w.nested(14, nil) }),
		"wire type 3":         good(func(w *writer) { w.b = protowire.AppendTag(w.b, 99, protowire.StartGroupType) }),
		"unexpected EOF":      good(func(w *writer) { w.b = append(w.b, 0x1a, 0x7f) }),
	} {
		if r, err := codec.Decode(key, value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v", want, r, err)
		}
	}
	if _, err := codec.Decode(state.Key{Table: "nothing"}, seal(nil)); err == nil {
		t.Error("a table that does not exist was read")
	}
}

func TestEncodeRefusesMalformedUnknownFields(t *testing.T) {
	_, err := codec.Encode(state.DelegationSequence{Last: 1, Unknown: []byte{0xff}})
	if err == nil || !strings.Contains(err.Error(), "unknown fields are not well formed") {
		t.Fatal(err)
	}
}

// FuzzDecode: whatever is read can be written and is read again as the same.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i, kind := range kinds() {
		b, err := codec.Encode(full(kind, rng))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b[1:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, table uint8, body []byte) {
		r, err := codec.read(kinds()[int(table)%len(kinds())].Key().Table, body)
		if err != nil || Check(r) != nil {
			return
		}
		b, err := codec.Encode(r)
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", r, err)
		}
		if got, err := codec.Decode(r.Key(), b); err != nil || !reflect.DeepEqual(got, r) {
			t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, r)
		}
	})
}

func FuzzUnseal(f *testing.F) {
	f.Add(seal([]byte{8, 6}))
	f.Fuzz(func(t *testing.T, value []byte) {
		if r, err := codec.Decode(state.DelegationSequence{}.Key(), value); err == nil && len(value) < Overhead {
			t.Fatalf("%x was read as %+v", value, r)
		}
	})
}
