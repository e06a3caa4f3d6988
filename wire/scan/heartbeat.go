package scan

import (
	"fmt"
	"math"

	"github.com/heddle-project/heddle/wire/field"
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
	ContainerKey       int32  // id of the last known key of container tokens; 0 if unset
	NodeKey            int32  // likewise of node tokens
	Labels             []byte // a NodeLabelsProto; nil if there is none
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

// Opportunistic counts a node's opportunistic containers, and describes its queue.
type Opportunistic struct {
	Running, Queued int32
	MemoryMB        int64
	VCores          int32
	Reported        bool // the node speaks of them at all
	Waiting         int32
	WaitMillis      int32
	Capacity        int32
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
	f := field.Walk{Rest: b}
	for f.Next() {
		var err error
		switch f.Tag {
		case 1<<3 | field.Block:
			err = h.status(f.Data, most)
		case 2<<3 | field.Block:
			err = keyID(f.Data, &h.ContainerKey)
		case 3<<3 | field.Block:
			err = keyID(f.Data, &h.NodeKey)
		case 4<<3 | field.Block:
			h.Labels = f.Data
		}
		if err != nil {
			return err
		}
	}
	return f.Err
}

func keyID(b []byte, id *int32) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		if f.Tag == 1<<3|field.Varint {
			*id = int32(f.V)
		}
	}
	return f.Err
}

// status reads a NodeStatusProto.
func (h *Heartbeat) status(b []byte, most int) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		var err error
		switch f.Tag {
		case 1<<3 | field.Block:
			err = h.node(f.Data)
		case 2<<3 | field.Varint:
			h.ResponseID = int32(f.V)
		case 3<<3 | field.Block:
			if len(h.Containers) == most {
				return &LimitError{"containers", most}
			}
			h.Containers = append(h.Containers, ContainerStatus{State: stateNew, ExitStatus: noExitStatus, Diagnostics: noDiagnostics})
			err = h.Containers[len(h.Containers)-1].scan(f.Data)
		case 4<<3 | field.Block:
			err = h.health(f.Data)
		case 5<<3 | field.Block:
			if len(h.KeepAlive) == most {
				return &LimitError{"applications to keep alive", most}
			}
			h.KeepAlive = append(h.KeepAlive, yarn.ApplicationID{})
			err = field.ReadApplicationID(f.Data, &h.KeepAlive[len(h.KeepAlive)-1])
		case 6<<3 | field.Block:
			err = h.ContainersUse.scan(f.Data)
		case 7<<3 | field.Block:
			err = h.NodeUse.scan(f.Data)
		case 9<<3 | field.Block:
			err = h.Opportunistic.scan(f.Data)
		}
		if err != nil {
			return fmt.Errorf("node status, field %d: %w", f.Tag>>3, err)
		}
	}
	return f.Err
}

func (h *Heartbeat) node(b []byte) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Block:
			h.Host = f.Data
		case 2<<3 | field.Varint:
			h.Port = int32(f.V)
		}
	}
	return f.Err
}

func (h *Heartbeat) health(b []byte) error {
	h.HasHealth = true
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			h.Healthy = f.V != 0
		case 2<<3 | field.Block:
			h.HealthReport = f.Data
		case 3<<3 | field.Varint:
			h.HealthAt = int64(f.V)
		}
	}
	return f.Err
}

func (s *ContainerStatus) scan(b []byte) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Block:
			if err := field.ReadContainerID(f.Data, &s.ID); err != nil {
				return err
			}
		case 2<<3 | field.Varint:
			s.State = int32(f.V)
		case 3<<3 | field.Block:
			s.Diagnostics = f.Data
		case 4<<3 | field.Varint:
			s.ExitStatus = int32(f.V)
		case 6<<3 | field.Varint:
			s.Execution = execution(f.V)
		}
	}
	return f.Err
}

// execution reads an ExecutionTypeProto; what is unknown counts as guaranteed.
func execution(v uint64) yarn.ExecutionType {
	if int32(v) == executionQueued {
		return yarn.Opportunistic
	}
	return yarn.Guaranteed
}

func (u *Utilization) scan(b []byte) error {
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			u.PhysicalMemoryMB = int32(f.V)
		case 2<<3 | field.Varint:
			u.VirtualMemoryMB = int32(f.V)
		case 3<<3 | field.Fixed32:
			u.CPU = math.Float32frombits(uint32(f.V))
		}
	}
	return f.Err
}

func (o *Opportunistic) scan(b []byte) error {
	o.Reported = true
	f := field.Walk{Rest: b}
	for f.Next() {
		switch f.Tag {
		case 1<<3 | field.Varint:
			o.Running = int32(f.V)
		case 2<<3 | field.Varint:
			o.MemoryMB = int64(f.V)
		case 3<<3 | field.Varint:
			o.VCores = int32(f.V)
		case 4<<3 | field.Varint:
			o.Queued = int32(f.V)
		case 5<<3 | field.Varint:
			o.Waiting = int32(f.V)
		case 6<<3 | field.Varint:
			o.WaitMillis = int32(f.V)
		case 7<<3 | field.Varint:
			o.Capacity = int32(f.V)
		}
	}
	return f.Err
}
