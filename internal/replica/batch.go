package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Batch is a change: all of Changes, in order, if all conditions hold, else nothing.
type Batch struct {
	If      []Condition
	Changes []Change
}

// Condition holds if the key has this value; nil: if there is no such key.
type Condition struct {
	Bucket, Key string
	Value       []byte
}

// Change puts a value, or removes a key or all keys with a prefix.
type Change struct {
	Bucket, Key string
	Prefix      bool   // remove all keys that begin with Key
	Value       []byte // nil: remove
}

// Bounds of a batch.
const (
	MaxBatch = 16 << 20 // encoded bytes
	maxParts = 1 << 16  // conditions, or changes
	maxKey   = 32 << 10 // bytes of a key with a value
)

// ErrTooLarge tells that a batch is over MaxBatch or has too many parts.
var ErrTooLarge = fmt.Errorf("the batch is larger than %d bytes, or has more than %d changes", MaxBatch, maxParts)

// ErrKey tells that a batch has a change that no file can have.
var ErrKey = fmt.Errorf("a key is empty or longer than %d bytes, or belongs to none of the buckets of the data", maxKey)

// check looks at what bbolt would refuse when the batch has its place in the order, on every member.
func (b *Batch) check() error {
	for _, c := range b.Changes {
		if c.Bucket == ownBucket || c.Bucket == logBucket || c.Value != nil && (c.Key == "" || len(c.Key) > maxKey) {
			return ErrKey
		}
	}
	return nil
}

// form is the version of the encoding: form, number of the proposal, conditions, changes. Numbers are uvarints, texts have their length before them.
const form = 1

// The kinds of values.
const (
	isNothing = iota // no such key; removal of one
	isValue
	isPrefix
)

func (b *Batch) encode(number uint64) ([]byte, error) {
	size := 32
	for _, c := range b.If {
		size += len(c.Bucket) + len(c.Key) + len(c.Value) + 16
	}
	for _, c := range b.Changes {
		size += len(c.Bucket) + len(c.Key) + len(c.Value) + 16
	}
	if size > MaxBatch || len(b.If) > maxParts || len(b.Changes) > maxParts {
		return nil, ErrTooLarge
	}
	out := append(make([]byte, 0, size), form)
	out = binary.AppendUvarint(out, number)
	out = binary.AppendUvarint(out, uint64(len(b.If)))
	for _, c := range b.If {
		out = appendPart(out, c.Bucket, c.Key, c.Value, false)
	}
	out = binary.AppendUvarint(out, uint64(len(b.Changes)))
	for _, c := range b.Changes {
		out = appendPart(out, c.Bucket, c.Key, c.Value, c.Prefix)
	}
	return out, nil
}

func appendPart(out []byte, bucket, key string, value []byte, prefix bool) []byte {
	kind := byte(isNothing)
	switch {
	case prefix:
		kind, value = isPrefix, nil
	case value != nil:
		kind = isValue
	}
	out = append(out, kind)
	for _, text := range [][]byte{[]byte(bucket), []byte(key), value} {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	return out
}

// errEntry is the error of an entry that cannot be read.
var errEntry = errors.New("an entry of the log is not in a form that this program knows: use the program that wrote it, or a later one")

// decodeBatch keeps references to b.
func decodeBatch(b []byte) (number uint64, out *Batch, err error) {
	if len(b) == 0 || b[0] != form {
		return 0, nil, errEntry
	}
	d := decoder{b: b[1:]}
	number, out = d.number(), &Batch{}
	for range d.count() {
		bucket, key, value, prefix := d.part()
		d.bad = d.bad || prefix
		out.If = append(out.If, Condition{bucket, key, value})
	}
	for range d.count() {
		bucket, key, value, prefix := d.part()
		out.Changes = append(out.Changes, Change{bucket, key, prefix, value})
	}
	if d.bad || len(d.b) > 0 {
		return 0, nil, errEntry
	}
	return number, out, nil
}

// decoder reads until something is bad, and nothing from then on.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count is a number of parts, each of which has four bytes at least.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.b)/4) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) text() []byte {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	text := d.b[:n:n]
	d.b = d.b[n:]
	return text
}

func (d *decoder) part() (bucket, key string, value []byte, prefix bool) {
	if len(d.b) == 0 {
		d.bad = true
		return "", "", nil, false
	}
	kind := d.b[0]
	d.b = d.b[1:]
	bucket, key, value = string(d.text()), string(d.text()), d.text()
	switch kind {
	case isValue:
	case isNothing, isPrefix:
		d.bad = d.bad || len(value) > 0
		value = nil
	default:
		d.bad = true
	}
	return bucket, key, value, kind == isPrefix
}
