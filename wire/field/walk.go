package field

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Wire types, to be combined with a field's number: 3<<3|Block is field 3, a
// text, bytes or a message.
const (
	Varint  = uint64(protowire.VarintType)
	Block   = uint64(protowire.BytesType)
	Fixed32 = uint64(protowire.Fixed32Type)
)

// Walk goes over the fields of one message without copying. Tag includes the
// wire type, so a field with an unexpected wire type matches no case of its
// reader and is skipped like an unknown one.
type Walk struct {
	Rest []byte // what lies ahead
	Tag  uint64 // number and wire type
	V    uint64 // of a varint or a fixed32
	Data []byte // of a block; aliases the input, without room to append
	Err  error
}

// Next moves to the next field. It answers false at the end, and after an error.
func (f *Walk) Next() bool {
	b := f.Rest
	if len(b) == 0 || f.Err != nil {
		return false
	}
	n := 1
	if b[0] < 0x80 {
		f.Tag = uint64(b[0])
	} else if f.Tag, n = protowire.ConsumeVarint(b); n < 0 {
		return f.stop(n)
	}
	num := f.Tag >> 3
	if num < uint64(protowire.MinValidNumber) || num > uint64(protowire.MaxValidNumber) {
		f.Err = fmt.Errorf("%d is not a field's number", num)
		return false
	}
	b = b[n:]
	if n = f.value(b); n < 0 {
		return f.stop(n)
	}
	f.Rest = b[n:]
	return true
}

// value reads the current field's value and returns its size, or what is wrong.
func (f *Walk) value(b []byte) (n int) {
	switch f.Tag & 7 {
	case Varint:
		if len(b) > 0 && b[0] < 0x80 {
			f.V = uint64(b[0])
			return 1
		}
		f.V, n = protowire.ConsumeVarint(b)
	case Block:
		if len(b) > 0 && b[0] < 0x80 && int(b[0]) < len(b) {
			n = 1 + int(b[0])
			f.Data = b[1:n:n]
			return n
		}
		f.Data, n = protowire.ConsumeBytes(b)
		f.Data = slices.Clip(f.Data)
	case Fixed32:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.V = uint64(v)
	default:
		n = protowire.ConsumeFieldValue(protowire.Number(f.Tag>>3), protowire.Type(f.Tag&7), b)
	}
	return n
}

func (f *Walk) stop(code int) bool {
	f.Err = fmt.Errorf("after field %d: %w", f.Tag>>3, protowire.ParseError(code))
	return false
}

// Fail ends the walk because the content of the current field is unusable; a nil
// error changes nothing.
func (f *Walk) Fail(err error) {
	if err != nil && f.Err == nil {
		f.Err = fmt.Errorf("field %d: %w", f.Tag>>3, err)
	}
}

// WellFormed returns an error unless b consists of fields. It does not look into them.
func WellFormed(b []byte) error {
	for len(b) > 0 {
		size := short(b)
		if size == 0 {
			f := Walk{Rest: b}
			if !f.Next() {
				return f.Err
			}
			size = len(b) - len(f.Rest)
		}
		b = b[size:]
	}
	return nil
}

// short returns the size of the first field if its tag is one byte and its value a varint of one byte or a block of less than 128 bytes. It
// returns 0 for any other field, whether that is well-formed or not.
func short(b []byte) int {
	if len(b) < 2 || b[0] < 1<<3 || b[0] >= 0x80 || b[1] >= 0x80 {
		return 0
	}
	switch size := 2 + int(b[1]); uint64(b[0] & 7) {
	case Varint:
		return 2
	case Block:
		if size <= len(b) {
			return size
		}
	}
	return 0
}

// Find returns the first block of that number in a message, aliasing it; nil if
// there is none.
func Find(message []byte, num protowire.Number) ([]byte, error) {
	f := Walk{Rest: message}
	for f.Next() {
		if f.Tag == uint64(num)<<3|Block {
			return f.Data, nil
		}
	}
	return nil, f.Err
}
