package yarn

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ApplicationID names an application: the start time of the ResourceManager
// that issued it, in milliseconds, and a number counted from 1.
type ApplicationID struct {
	ClusterTimestamp int64
	Sequence         int32
}

// AttemptID names one try at running an application's master, counted from 1.
type AttemptID struct {
	Application ApplicationID
	Attempt     int32
}

// ContainerID names a container of an attempt. The upper bits of Number, from
// bit 40, are the epoch: how often the ResourceManager had been restarted with
// its state. The lower 40 bits count the containers of the attempt from 1.
type ContainerID struct {
	Attempt AttemptID
	Number  int64
}

// EpochShift is the position of the epoch in a container's number.
const EpochShift = 40

// NodeID names a NodeManager: the host that it registered with and the port of
// its container protocol.
type NodeID struct {
	Host string
	Port int32
}

func (id ApplicationID) String() string {
	return "application_" + strconv.FormatInt(id.ClusterTimestamp, 10) + "_" + pad(int64(id.Sequence), 4)
}

// Append appends the same text as String makes. No number may be negative.
func (id ApplicationID) Append(b []byte) []byte {
	b = strconv.AppendInt(append(b, "application_"...), id.ClusterTimestamp, 10)
	b = append(b, '_')
	for least := int32(1000); least > 1 && id.Sequence < least; least /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(id.Sequence), 10)
}

func (id AttemptID) String() string {
	return "appattempt_" + strconv.FormatInt(id.Application.ClusterTimestamp, 10) + "_" +
		pad(int64(id.Application.Sequence), 4) + "_" + pad(int64(id.Attempt), 6)
}

func (id ContainerID) String() string {
	epoch, number := id.Number>>EpochShift, id.Number&(1<<EpochShift-1)
	prefix := "container_"
	if epoch > 0 {
		prefix += "e" + pad(epoch, 2) + "_"
	}
	app := id.Attempt.Application
	return prefix + strconv.FormatInt(app.ClusterTimestamp, 10) + "_" + pad(int64(app.Sequence), 4) + "_" +
		pad(int64(id.Attempt.Attempt), 2) + "_" + pad(number, 6)
}

func (id NodeID) String() string { return id.Host + ":" + strconv.Itoa(int(id.Port)) }

// IsZero tells whether the identifier was never set.
func (id ApplicationID) IsZero() bool { return id == ApplicationID{} }

// IsZero tells whether the identifier was never set.
func (id AttemptID) IsZero() bool { return id == AttemptID{} }

// IsZero tells whether the identifier was never set.
func (id ContainerID) IsZero() bool { return id == ContainerID{} }

// Compare orders applications by the age of their ResourceManager, then by number.
func (id ApplicationID) Compare(other ApplicationID) int {
	if c := cmp.Compare(id.ClusterTimestamp, other.ClusterTimestamp); c != 0 {
		return c
	}
	return cmp.Compare(id.Sequence, other.Sequence)
}

// Compare orders attempts by application, then by number.
func (id AttemptID) Compare(other AttemptID) int {
	return cmp.Or(id.Application.Compare(other.Application), cmp.Compare(id.Attempt, other.Attempt))
}

// Compare orders containers by attempt, then by number.
func (id ContainerID) Compare(other ContainerID) int {
	return cmp.Or(id.Attempt.Compare(other.Attempt), cmp.Compare(id.Number, other.Number))
}

// Compare orders nodes by host, then by port.
func (id NodeID) Compare(other NodeID) int {
	return cmp.Or(cmp.Compare(id.Host, other.Host), cmp.Compare(id.Port, other.Port))
}

// ParseApplicationID reads application_<timestamp>_<number>.
func ParseApplicationID(s string) (ApplicationID, error) {
	n, err := numbers(s, "application_", 2)
	if err != nil {
		return ApplicationID{}, fmt.Errorf("invalid application id %q: want application_<timestamp>_<number>: %w", s, err)
	}
	return ApplicationID{n[0], int32(n[1])}, nil
}

// ParseAttemptID reads appattempt_<timestamp>_<number>_<attempt>.
func ParseAttemptID(s string) (AttemptID, error) {
	n, err := numbers(s, "appattempt_", 3)
	if err != nil {
		return AttemptID{}, fmt.Errorf("invalid application attempt id %q: want appattempt_<timestamp>_<number>_<attempt>: %w", s, err)
	}
	return AttemptID{ApplicationID{n[0], int32(n[1])}, int32(n[2])}, nil
}

// ParseContainerID reads container_[e<epoch>_]<timestamp>_<number>_<attempt>_<container>.
func ParseContainerID(s string) (ContainerID, error) {
	rest, epoch, err := cutEpoch(s)
	if err != nil {
		return ContainerID{}, fmt.Errorf("invalid container id %q: %w", s, err)
	}
	n, err := numbers(rest, "container_", 4)
	if err != nil {
		return ContainerID{}, fmt.Errorf("invalid container id %q: want container_[e<epoch>_]<timestamp>_<number>_<attempt>_<container>: %w", s, err)
	}
	if n[3] >= 1<<EpochShift {
		return ContainerID{}, fmt.Errorf("invalid container id %q: container number %d does not fit in %d bits", s, n[3], EpochShift)
	}
	attempt := AttemptID{ApplicationID{n[0], int32(n[1])}, int32(n[2])}
	return ContainerID{attempt, epoch<<EpochShift | n[3]}, nil
}

// ParseNodeID reads host:port.
func ParseNodeID(s string) (NodeID, error) {
	host, port, ok := strings.Cut(s, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	if !ok || host == "" || err != nil {
		return NodeID{}, fmt.Errorf("invalid node id %q: want host:port", s)
	}
	return NodeID{host, int32(n)}, nil
}

// pad prints n with at least width digits.
func pad(n int64, width int) string {
	s := strconv.FormatInt(n, 10)
	if len(s) >= width {
		return s
	}
	return "000000"[:width-len(s)] + s
}

func cutEpoch(s string) (rest string, epoch int64, err error) {
	after, ok := strings.CutPrefix(s, "container_e")
	if !ok {
		return s, 0, nil
	}
	text, tail, _ := strings.Cut(after, "_")
	n, err := strconv.ParseUint(text, 10, 63-EpochShift)
	if err != nil {
		return "", 0, fmt.Errorf("epoch %q is not a number below 2^%d", text, 63-EpochShift)
	}
	return "container_" + tail, int64(n), nil
}

// numbers parses count underscore-separated numbers after prefix. The first is
// a timestamp, the last may be long; those between are 32 bits wide.
func numbers(s, prefix string, count int) ([4]int64, error) {
	var out [4]int64
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return out, fmt.Errorf("no prefix %q", prefix)
	}
	parts := strings.Split(rest, "_")
	if len(parts) != count {
		return out, fmt.Errorf("%d parts instead of %d", len(parts), count)
	}
	for i, p := range parts {
		bits := 31
		if i == 0 || i == 3 {
			bits = 63
		}
		n, err := strconv.ParseUint(p, 10, bits)
		if err != nil {
			return out, fmt.Errorf("%q is not a number", p)
		}
		out[i] = int64(n)
	}
	return out, nil
}
