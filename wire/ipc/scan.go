package ipc

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMalformed = errors.New("malformed protobuf")

// fields walks the fields of one protobuf message without copying.
// A varint is in v, a length-delimited field in data.
type fields struct {
	rest []byte
	num  protowire.Number
	typ  protowire.Type
	v    uint64
	data []byte
	bad  bool
}

// next advances to the next field. At the end, or at malformed input, it
// returns false; bad tells which. Groups are refused: no header has one.
func (f *fields) next() bool {
	if len(f.rest) == 0 || f.bad {
		return false
	}
	n := 1
	if tag := f.rest[0]; tag >= 1<<3 && tag < 0x80 { // a field below 16, as all of the headers' are
		f.num, f.typ = protowire.Number(tag>>3), protowire.Type(tag&7)
	} else if f.num, f.typ, n = protowire.ConsumeTag(f.rest); n < 0 {
		f.bad = true
		return false
	}
	f.rest = f.rest[n:]
	if n = f.value(); n < 0 {
		f.bad = true
		return false
	}
	f.rest = f.rest[n:]
	return true
}

// value reads the current field's value and returns its encoded size.
func (f *fields) value() (n int) {
	switch f.typ {
	case protowire.VarintType:
		if len(f.rest) > 0 && f.rest[0] < 0x80 {
			f.v = uint64(f.rest[0])
			return 1
		}
		f.v, n = protowire.ConsumeVarint(f.rest)
	case protowire.BytesType:
		if len(f.rest) > 0 && f.rest[0] < 0x80 && int(f.rest[0]) < len(f.rest) {
			n = 1 + int(f.rest[0])
			f.data = f.rest[1:n:n]
			return n
		}
		f.data, n = protowire.ConsumeBytes(f.rest)
	case protowire.Fixed32Type:
		_, n = protowire.ConsumeFixed32(f.rest)
	case protowire.Fixed64Type:
		_, n = protowire.ConsumeFixed64(f.rest)
	default:
		n = -1
	}
	return n
}

// is reports whether the current field has this number and type.
func (f *fields) is(num protowire.Number, typ protowire.Type) bool {
	return f.num == num && f.typ == typ
}

// delimited splits b into its first length-delimited message and the rest.
func delimited(b []byte) (msg, rest []byte, ok bool) {
	msg, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil, false
	}
	return msg, b[n:], true
}

func zig(v uint64) int32 { return int32(protowire.DecodeZigZag(v & 0xffffffff)) }

func appendVarint(b []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func appendZig(b []byte, num protowire.Number, v int32) []byte {
	return appendVarint(b, num, protowire.EncodeZigZag(int64(v)))
}

func appendData[T string | []byte](b []byte, num protowire.Number, v T) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return append(protowire.AppendVarint(b, uint64(len(v))), v...)
}

// sizeVarint and sizeData are the encoded sizes of fields numbered below 16.
func sizeVarint(v uint64) int { return 1 + protowire.SizeVarint(v) }
func sizeData(n int) int      { return 1 + protowire.SizeBytes(n) }

// openFrame reserves the length of a frame; closeFrame fills it in.
func openFrame(b []byte) ([]byte, int) { return append(b, 0, 0, 0, 0), len(b) }

func closeFrame(b []byte, at int) []byte {
	n := uint32(len(b) - at - 4)
	b[at], b[at+1], b[at+2], b[at+3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return b
}

// appendBody appends a length-delimited message.
func appendBody(b, body []byte) []byte {
	return append(protowire.AppendVarint(b, uint64(len(body))), body...)
}
