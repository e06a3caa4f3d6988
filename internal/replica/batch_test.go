package replica

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// FuzzBatch reads any bytes as an entry of the log: nothing panics, and what is read is written as the same again.
func FuzzBatch(f *testing.F) {
	b := Batch{If: []Condition{{"store", "owner", []byte("me")}, {"store", "epoch", nil}},
		Changes: []Change{{Bucket: "a", Key: "k", Value: []byte{}}, {Bucket: "a", Key: "k", Prefix: true}, {Bucket: "b", Key: "", Value: nil}}}
	good, err := b.encode(7)
	if err != nil {
		f.Fatal(err)
	}
	if number, back, err := decodeBatch(good); err != nil || number != 7 || !reflect.DeepEqual(*back, b) {
		f.Fatalf("%d, %+v, %v", number, back, err)
	}
	f.Add(good)
	f.Add([]byte{form, 1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, data []byte) {
		number, x, err := decodeBatch(data)
		if err != nil {
			return
		}
		again, err := x.encode(number)
		if err != nil {
			t.Fatal(err)
		}
		if _, back, err := decodeBatch(again); err != nil || !reflect.DeepEqual(back, x) {
			t.Fatalf("%+v became %+v, %v", x, back, err)
		}
	})
}

func TestTooLarge(t *testing.T) {
	large := Batch{Changes: []Change{{Bucket: "a", Key: "k", Value: []byte(strings.Repeat("x", MaxBatch))}}}
	many := Batch{Changes: make([]Change, maxParts+1)}
	for _, b := range []Batch{large, many} {
		if _, err := b.encode(1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %v", err)
		}
	}
}
