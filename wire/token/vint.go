package token

import (
	"errors"
	"fmt"
	"math"
)

// Variable-length integers of Hadoop's WritableUtils; those of protobuf are
// different. Values from -112 to 127 are one byte. Otherwise the first byte
// tells sign and length: -112-n for a non-negative value in n bytes, -120-n for
// the complement of a negative one; the bytes follow, highest first.
const (
	vintSmallest = -112
	vintNegative = -120
	maxVIntBytes = 9
)

var (
	errShort  = errors.New("input ends early")
	errLength = errors.New("length is negative or larger than the input")
)

// AppendVInt appends v in the shortest form.
func AppendVInt(dst []byte, v int64) []byte {
	if v >= vintSmallest && v <= math.MaxInt8 {
		return append(dst, byte(v))
	}
	first := vintSmallest
	if v < 0 {
		first, v = vintNegative, ^v
	}
	n := 1
	for n < 8 && v>>(8*n) != 0 {
		n++
	}
	dst = append(dst, byte(int8(first-n)))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// ReadVInt reads one integer of up to 64 bits and tells how many bytes it took,
// 1 to 9. Forms longer than necessary are accepted, as in Java.
func ReadVInt(b []byte) (v int64, n int, err error) {
	if len(b) == 0 {
		return 0, 0, errShort
	}
	first := int8(b[0])
	if first >= vintSmallest {
		return int64(first), 1, nil
	}
	size, negative := vintSmallest-int(first), false
	if first < vintNegative {
		size, negative = vintNegative-int(first), true
	}
	if len(b) < 1+size {
		return 0, 0, errShort
	}
	for _, c := range b[1 : 1+size] {
		v = v<<8 | int64(c)
	}
	if negative {
		v = ^v
	}
	return v, 1 + size, nil
}

// AppendText appends a string as Hadoop's Text: its length in bytes, then UTF-8.
func AppendText(dst []byte, s string) []byte {
	return append(AppendVInt(dst, int64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(AppendVInt(dst, int64(len(b))), b...)
}

// reader walks over Writable data. The first failure sticks, and every later
// read returns nothing.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(what string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", what, err)
	}
	r.rest = nil
}

func (r *reader) long(what string) int64 {
	if r.err != nil {
		return 0
	}
	v, n, err := ReadVInt(r.rest)
	if err != nil {
		r.fail(what, err)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) int32(what string) int32 {
	v := r.long(what)
	if v != int64(int32(v)) {
		r.fail(what, fmt.Errorf("%d does not fit in 32 bits", v))
		return 0
	}
	return int32(v)
}

// bytes reads a length and so many bytes, which share memory with the input.
func (r *reader) bytes(what string) []byte {
	n := r.int32(what)
	if r.err != nil {
		return nil
	}
	if n < 0 || int(n) > len(r.rest) {
		r.fail(what, errLength)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) text(what string) string { return string(r.bytes(what)) }

// count reads how many elements follow. Each takes at least smallest bytes, so
// that a count which the input cannot hold is refused at once.
func (r *reader) count(what string, smallest, limit int) int {
	n := r.int32(what)
	switch {
	case r.err != nil:
		return 0
	case n < 0 || int(n) > len(r.rest)/smallest:
		r.fail(what, errLength)
		return 0
	case int(n) > limit:
		r.fail(what, fmt.Errorf("%d are more than the limit of %d", n, limit))
		return 0
	}
	return int(n)
}
