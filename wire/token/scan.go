package token

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// scanner walks over the fields of one protobuf message. A field of an
// unexpected wire type counts as unknown, as in every protobuf runtime.
type scanner struct {
	rest []byte
	num  protowire.Number
	typ  protowire.Type
	n    uint64 // of a varint
	body []byte // of a length-delimited field; shares memory with the input
	err  error
}

// next moves to the next field, and answers false at the end or after an error.
func (s *scanner) next() bool {
	if s.err != nil || len(s.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(s.rest)
	if n < 0 {
		return s.stop(n)
	}
	s.num, s.typ, s.rest = num, typ, s.rest[n:]
	s.n, s.body = 0, nil
	switch typ {
	case protowire.VarintType:
		s.n, n = protowire.ConsumeVarint(s.rest)
	case protowire.BytesType:
		s.body, n = protowire.ConsumeBytes(s.rest)
		s.body = slices.Clip(s.body)
	default:
		n = protowire.ConsumeFieldValue(num, typ, s.rest)
	}
	if n < 0 {
		return s.stop(n)
	}
	s.rest = s.rest[n:]
	return true
}

func (s *scanner) stop(code int) bool {
	s.err = fmt.Errorf("field %d: %w", s.num, protowire.ParseError(code))
	s.rest = nil
	return false
}

// fail records that the content of the current field is unusable.
func (s *scanner) fail(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("field %d: %w", s.num, err)
	}
}

// is tells whether the current field has that number and type.
func (s *scanner) is(num protowire.Number, typ protowire.Type) bool {
	return s.num == num && s.typ == typ
}

func (s *scanner) varint(num protowire.Number) bool  { return s.is(num, protowire.VarintType) }
func (s *scanner) message(num protowire.Number) bool { return s.is(num, protowire.BytesType) }
func (s *scanner) text(num protowire.Number) bool    { return s.is(num, protowire.BytesType) }

// appendInt appends an int32 or int64 field; negative values take ten bytes.
func appendInt(dst []byte, num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), uint64(v))
}

func appendString(dst []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, num, protowire.BytesType), s)
}

func appendBody(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

// open starts an embedded message and answers where its length byte is.
func open(dst []byte, num protowire.Number) ([]byte, int) {
	dst = append(protowire.AppendTag(dst, num, protowire.BytesType), 0)
	return dst, len(dst) - 1
}

// shut ends the embedded message whose length byte is at mark. If the message
// grew beyond what one byte can tell, its content is moved.
func shut(dst []byte, mark int) []byte {
	size := len(dst) - mark - 1
	if size <= math.MaxInt8 {
		dst[mark] = byte(size)
		return dst
	}
	extra := protowire.SizeVarint(uint64(size)) - 1
	for range extra {
		dst = append(dst, 0)
	}
	copy(dst[mark+1+extra:], dst[mark+1:len(dst)-extra])
	protowire.AppendVarint(dst[:mark], uint64(size))
	return dst
}
