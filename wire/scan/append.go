package scan

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// The functions of this file append one field of the given number to a message
// and return it, byte for byte as the protobuf runtime would. Fields are to be
// appended in the order of their numbers to equal its whole messages.

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

// AppendText appends a string.
func AppendText(dst []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(appendTag(dst, num, protowire.BytesType), s)
}

// AppendBytes appends bytes, or a message that is encoded already.
func AppendBytes(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(appendTag(dst, num, protowire.BytesType), b)
}

// Open begins a message within the message. Shut, with the mark, ends it.
func Open(dst []byte, num protowire.Number) (_ []byte, mark int) {
	dst = append(appendTag(dst, num, protowire.BytesType), 0)
	return dst, len(dst) - 1
}

// Shut writes the length of the message that Open began. One byte was kept for
// it; a longer message is moved.
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

// AppendApplicationID appends an ApplicationIdProto.
func AppendApplicationID(dst []byte, num protowire.Number, id yarn.ApplicationID) []byte {
	dst, mark := Open(dst, num)
	dst = AppendInt(dst, 1, int64(id.Sequence))
	return Shut(AppendInt(dst, 2, id.ClusterTimestamp), mark)
}

// AppendContainerID appends a ContainerIdProto, without the old copy of the
// application's id.
func AppendContainerID(dst []byte, num protowire.Number, id yarn.ContainerID) []byte {
	dst, whole := Open(dst, num)
	dst, attempt := Open(dst, 2)
	dst = AppendApplicationID(dst, 1, id.Attempt.Application)
	dst = Shut(AppendInt(dst, 2, int64(id.Attempt.Attempt)), attempt)
	return Shut(AppendInt(dst, 3, id.Number), whole)
}

// AppendNodeID appends a NodeIdProto.
func AppendNodeID(dst []byte, num protowire.Number, id yarn.NodeID) []byte {
	dst, mark := Open(dst, num)
	dst = AppendText(dst, 1, id.Host)
	return Shut(AppendInt(dst, 2, int64(id.Port)), mark)
}

// AppendPriority appends a PriorityProto.
func AppendPriority(dst []byte, num protowire.Number, n int32) []byte {
	dst, mark := Open(dst, num)
	return Shut(AppendInt(dst, 1, int64(n)), mark)
}

// AppendResource appends a ResourceProto: the two old fields and every type by name.
func AppendResource(dst []byte, num protowire.Number, r yarn.Resource, types yarn.ResourceTypes) []byte {
	dst, whole := Open(dst, num)
	dst = AppendInt(dst, 1, r.MemoryMB())
	dst = AppendInt(dst, 2, min(max(r.VCoreCount(), math.MinInt32), math.MaxInt32))
	for i := range types {
		var mark int
		dst, mark = Open(dst, 3)
		dst = AppendText(dst, 1, types[i].Name)
		dst = AppendInt(dst, 2, r[i])
		dst = AppendText(dst, 3, types[i].Units)
		dst = Shut(AppendInt(dst, 4, 0), mark) // countable, the only kind there is
	}
	return Shut(dst, whole)
}

// AppendToken appends a TokenProto.
func AppendToken(dst []byte, num protowire.Number, t token.Token) []byte {
	dst, mark := Open(dst, num)
	dst = AppendBytes(dst, 1, t.Identifier)
	dst = AppendBytes(dst, 2, t.Password)
	dst = AppendText(dst, 3, t.Kind)
	return Shut(AppendText(dst, 4, t.Service), mark)
}

// AppendExecution appends an ExecutionTypeProto.
func AppendExecution(dst []byte, num protowire.Number, t yarn.ExecutionType) []byte {
	if t == yarn.Opportunistic {
		return AppendInt(dst, num, executionQueued)
	}
	return AppendInt(dst, num, executionGuaranteed)
}
