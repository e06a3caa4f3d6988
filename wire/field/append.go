package field

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The functions of this file append one field to a message and return the
// message. The bytes are those of the protobuf runtime, provided that the
// fields are appended in the order of their numbers.

// AppendInt appends an int32, int64, bool or enumeration; what is negative takes
// ten bytes.
func AppendInt(dst []byte, num protowire.Number, v int64) []byte {
	dst = appendTag(dst, num, protowire.VarintType)
	if v >= 0 && v < 0x80 {
		return append(dst, byte(v))
	}
	return protowire.AppendVarint(dst, uint64(v))
}

func appendTag(dst []byte, num protowire.Number, typ protowire.Type) []byte {
	if num < 16 {
		return append(dst, byte(num)<<3|byte(typ))
	}
	return protowire.AppendTag(dst, num, typ)
}

// AppendFloat appends a float.
func AppendFloat(dst []byte, num protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(appendTag(dst, num, protowire.Fixed32Type), math.Float32bits(v))
}

// AppendText appends a string.
func AppendText(dst []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(appendTag(dst, num, protowire.BytesType), s)
}

// AppendBytes appends bytes, or a message that is encoded already.
func AppendBytes(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(appendTag(dst, num, protowire.BytesType), b)
}

// Open begins a nested message. Shut ends it and needs the mark that Open
// returns.
func Open(dst []byte, num protowire.Number) (_ []byte, mark int) {
	dst = append(appendTag(dst, num, protowire.BytesType), 0)
	return dst, len(dst) - 1
}

// Shut writes the length of the message that Open began. Open reserves one byte
// for it; a message that needs a longer length is moved.
func Shut(dst []byte, mark int) []byte {
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
