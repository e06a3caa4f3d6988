package scan

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Wire types, to be combined with a field's number: 3<<3|block is field 3, a
// text, bytes or a message.
const (
	varint  = uint64(protowire.VarintType)
	block   = uint64(protowire.BytesType)
	fixed32 = uint64(protowire.Fixed32Type)
)

// fields walks over one message without copying. A field of an unexpected wire
// type has a tag that nobody looks for, and is skipped like an unknown one.
type fields struct {
	rest []byte
	tag  uint64 // number and wire type
	v    uint64 // of a varint or a fixed32
	data []byte // of a block; aliases the input
	err  error
}

// next moves to the next field. It answers false at the end, and at what is
// malformed; err tells which.
func (f *fields) next() bool {
	b := f.rest
	if len(b) == 0 {
		return false
	}
	n := 1
	if b[0] < 0x80 {
		f.tag = uint64(b[0])
	} else if f.tag, n = protowire.ConsumeVarint(b); n < 0 {
		return f.stop(n)
	}
	num := f.tag >> 3
	if num < uint64(protowire.MinValidNumber) || num > uint64(protowire.MaxValidNumber) {
		f.err = fmt.Errorf("%d is not a field's number", num)
		return false
	}
	b = b[n:]
	if n = f.value(b); n < 0 {
		return f.stop(n)
	}
	f.rest = b[n:]
	return true
}

// value reads the current field's value and returns its size, or what is wrong.
func (f *fields) value(b []byte) (n int) {
	switch f.tag & 7 {
	case varint:
		if len(b) > 0 && b[0] < 0x80 {
			f.v = uint64(b[0])
			return 1
		}
		f.v, n = protowire.ConsumeVarint(b)
	case block:
		if len(b) > 0 && b[0] < 0x80 && int(b[0]) < len(b) {
			n = 1 + int(b[0])
			f.data = b[1:n:n]
			return n
		}
		f.data, n = protowire.ConsumeBytes(b)
	case fixed32:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.v = uint64(v)
	default:
		n = protowire.ConsumeFieldValue(protowire.Number(f.tag>>3), protowire.Type(f.tag&7), b)
	}
	return n
}

func (f *fields) stop(code int) bool {
	f.err = fmt.Errorf("after field %d: %w", f.tag>>3, protowire.ParseError(code))
	return false
}

// LimitError is a list of a request that is longer than is taken.
type LimitError struct {
	What string // plural
	Max  int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("more than %d %s in one call; send fewer at once", e.Max, e.What)
}
