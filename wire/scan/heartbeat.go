package scan

import (
	"fmt"
	"math"

	"github.com/heddle-project/heddle/yarn"
)

// Heartbeat is a NodeHeartbeatRequestProto. Bytes alias the request. It may be
// used again for the next one.
type Heartbeat struct {
	Host               []byte
	Port               int32
	ResponseID         int32
	HasHealth, Healthy bool
	HealthReport       []byte
	HealthAt           int64 // milliseconds since 1970
	Containers         []ContainerStatus
	KeepAlive          []yarn.ApplicationID
	ContainersUse      Utilization
	NodeUse            Utilization
	Opportunistic      Opportunistic
	ContainerKey       int32 // id of the last known key of container tokens; 0 if unset
	NodeKey            int32 // likewise of node tokens
}

// ContainerStatus is one container of a heartbeat.
type ContainerStatus struct {
	ID          yarn.ContainerID
	State       int32 // ContainerStateProto
	ExitStatus  int32
	Diagnostics []byte
	Execution   yarn.ExecutionType
}

// Complete tells whether the container's process has ended.
func (s *ContainerStatus) Complete() bool { return s.State == stateComplete }

// Utilization is measured use: memory in MiB, cpu in cores.
type Utilization struct {
	PhysicalMemoryMB, VirtualMemoryMB int32
	CPU                               float32
}

// Opportunistic counts a node's opportunistic containers.
type Opportunistic struct {
	Running, Queued int32
	MemoryMB        int64
	VCores          int32
}

// Values of enumerations, and of fields that are not set.
const (
	stateNew            = 1
	stateComplete       = 3
	executionGuaranteed = 1
	executionQueued     = 2 // OPPORTUNISTIC
	noExitStatus        = -1000
)

var noDiagnostics = []byte("N/A")

// Scan reads a request that reports at most so many containers. An error is a
// *LimitError or tells what is malformed.
func (h *Heartbeat) Scan(b []byte, most int) error {
	*h = Heartbeat{Containers: h.Containers[:0], KeepAlive: h.KeepAlive[:0]}
	f := fields{rest: b}
	for f.next() {
		var err error
		switch f.tag {
		case 1<<3 | block:
			err = h.status(f.data, most)
		case 2<<3 | block:
			err = keyID(f.data, &h.ContainerKey)
		case 3<<3 | block:
			err = keyID(f.data, &h.NodeKey)
		}
		if err != nil {
			return err
		}
	}
	return f.err
}

func keyID(b []byte, id *int32) error {
	f := fields{rest: b}
	for f.next() {
		if f.tag == 1<<3|varint {
			*id = int32(f.v)
		}
	}
	return f.err
}

// status reads a NodeStatusProto.
func (h *Heartbeat) status(b []byte, most int) error {
	f := fields{rest: b}
	for f.next() {
		var err error
		switch f.tag {
		case 1<<3 | block:
			err = h.node(f.data)
		case 2<<3 | varint:
			h.ResponseID = int32(f.v)
		case 3<<3 | block:
			if len(h.Containers) == most {
				return &LimitError{"containers", most}
			}
			h.Containers = append(h.Containers, ContainerStatus{State: stateNew, ExitStatus: noExitStatus, Diagnostics: noDiagnostics})
			err = h.Containers[len(h.Containers)-1].scan(f.data)
		case 4<<3 | block:
			err = h.health(f.data)
		case 5<<3 | block:
			if len(h.KeepAlive) == most {
				return &LimitError{"applications to keep alive", most}
			}
			h.KeepAlive = append(h.KeepAlive, yarn.ApplicationID{})
			err = application(f.data, &h.KeepAlive[len(h.KeepAlive)-1])
		case 6<<3 | block:
			err = h.ContainersUse.scan(f.data)
		case 7<<3 | block:
			err = h.NodeUse.scan(f.data)
		case 9<<3 | block:
			err = h.Opportunistic.scan(f.data)
		}
		if err != nil {
			return fmt.Errorf("node status, field %d: %w", f.tag>>3, err)
		}
	}
	return f.err
}

func (h *Heartbeat) node(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | block:
			h.Host = f.data
		case 2<<3 | varint:
			h.Port = int32(f.v)
		}
	}
	return f.err
}

func (h *Heartbeat) health(b []byte) error {
	h.HasHealth = true
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			h.Healthy = f.v != 0
		case 2<<3 | block:
			h.HealthReport = f.data
		case 3<<3 | varint:
			h.HealthAt = int64(f.v)
		}
	}
	return f.err
}

func (s *ContainerStatus) scan(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | block:
			if err := container(f.data, &s.ID); err != nil {
				return err
			}
		case 2<<3 | varint:
			s.State = int32(f.v)
		case 3<<3 | block:
			s.Diagnostics = f.data
		case 4<<3 | varint:
			s.ExitStatus = int32(f.v)
		case 6<<3 | varint:
			s.Execution = execution(f.v)
		}
	}
	return f.err
}

// execution reads an ExecutionTypeProto; what is unknown counts as guaranteed.
func execution(v uint64) yarn.ExecutionType {
	if int32(v) == executionQueued {
		return yarn.Opportunistic
	}
	return yarn.Guaranteed
}

func (u *Utilization) scan(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			u.PhysicalMemoryMB = int32(f.v)
		case 2<<3 | varint:
			u.VirtualMemoryMB = int32(f.v)
		case 3<<3 | fixed32:
			u.CPU = math.Float32frombits(uint32(f.v))
		}
	}
	return f.err
}

func (o *Opportunistic) scan(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			o.Running = int32(f.v)
		case 2<<3 | varint:
			o.MemoryMB = int64(f.v)
		case 3<<3 | varint:
			o.VCores = int32(f.v)
		case 4<<3 | varint:
			o.Queued = int32(f.v)
		}
	}
	return f.err
}
