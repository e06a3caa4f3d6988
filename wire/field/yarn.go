package field

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/yarn"
)

// AppendApplicationID appends an ApplicationIdProto.
func AppendApplicationID(dst []byte, num protowire.Number, id yarn.ApplicationID) []byte {
	dst, mark := Open(dst, num)
	dst = AppendInt(dst, 1, int64(id.Sequence))
	return Shut(AppendInt(dst, 2, id.ClusterTimestamp), mark)
}

// AppendAttemptID appends an ApplicationAttemptIdProto.
func AppendAttemptID(dst []byte, num protowire.Number, id yarn.AttemptID) []byte {
	dst, mark := Open(dst, num)
	dst = AppendApplicationID(dst, 1, id.Application)
	return Shut(AppendInt(dst, 2, int64(id.Attempt)), mark)
}

// AppendContainerID appends a ContainerIdProto, without the old copy of the
// application's id.
func AppendContainerID(dst []byte, num protowire.Number, id yarn.ContainerID) []byte {
	dst, whole := Open(dst, num)
	dst = AppendAttemptID(dst, 2, id.Attempt)
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

// ReadApplicationID reads an ApplicationIdProto. Like all readers here it merges
// into what is there, as the parts of a message do.
func ReadApplicationID(b []byte, id *yarn.ApplicationID) error {
	f := Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | Varint:
			id.Sequence = int32(f.V)
		case 2<<3 | Varint:
			id.ClusterTimestamp = int64(f.V)
		}
	}
	return f.Err
}

// ReadAttemptID reads an ApplicationAttemptIdProto.
func ReadAttemptID(b []byte, id *yarn.AttemptID) error {
	f := Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | Block:
			if err := ReadApplicationID(f.Data, &id.Application); err != nil {
				return err
			}
		case 2<<3 | Varint:
			id.Attempt = int32(f.V)
		}
	}
	return f.Err
}

// ReadContainerID reads a ContainerIdProto, but leaves the old copy of the application's id, field 1, alone.
func ReadContainerID(b []byte, id *yarn.ContainerID) error {
	f := Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 2<<3 | Block:
			if err := ReadAttemptID(f.Data, &id.Attempt); err != nil {
				return err
			}
		case 3<<3 | Varint:
			id.Number = int64(f.V)
		}
	}
	return f.Err
}
