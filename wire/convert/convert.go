// Package convert turns protocol messages into the types of package yarn and
// back, at the edge of the daemon. Input is untrusted: the form of texts and
// numbers is checked here, their meaning by the callers.
package convert

import (
	"fmt"
	"math"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// ApplicationID reads an id; a missing one is zero.
func ApplicationID(p *pb.ApplicationId) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: p.GetClusterTimestamp(), Sequence: p.GetId()}
}

// AttemptID reads an id; a missing one is zero.
func AttemptID(p *pb.ApplicationAttemptId) yarn.AttemptID {
	return yarn.AttemptID{Application: ApplicationID(p.GetApplicationId()), Attempt: p.GetAttemptId()}
}

// ContainerID reads an id; a missing one is zero.
func ContainerID(p *pb.ContainerId) yarn.ContainerID {
	return yarn.ContainerID{Attempt: AttemptID(p.GetAppAttemptId()), Number: p.GetId()}
}

// ContainerIDs reads a list of ids.
func ContainerIDs(list []*pb.ContainerId) []yarn.ContainerID {
	if len(list) == 0 {
		return nil
	}
	out := make([]yarn.ContainerID, len(list))
	for i, p := range list {
		out[i] = ContainerID(p)
	}
	return out
}

// NodeID reads a node's id.
func NodeID(p *pb.NodeId) yarn.NodeID { return yarn.NodeID{Host: p.GetHost(), Port: p.GetPort()} }

// ToApplicationID is the message of an id.
func ToApplicationID(id yarn.ApplicationID) *pb.ApplicationId {
	return &pb.ApplicationId{ClusterTimestamp: &id.ClusterTimestamp, Id: &id.Sequence}
}

// ToAttemptID is the message of an id.
func ToAttemptID(id yarn.AttemptID) *pb.ApplicationAttemptId {
	return &pb.ApplicationAttemptId{ApplicationId: ToApplicationID(id.Application), AttemptId: &id.Attempt}
}

// ToContainerID is the message of an id.
func ToContainerID(id yarn.ContainerID) *pb.ContainerId {
	return &pb.ContainerId{AppAttemptId: ToAttemptID(id.Attempt), Id: &id.Number}
}

// ToContainerIDs is the list of messages of ids.
func ToContainerIDs(list []yarn.ContainerID) []*pb.ContainerId {
	if len(list) == 0 {
		return nil
	}
	out := make([]*pb.ContainerId, len(list))
	for i, id := range list {
		out[i] = ToContainerID(id)
	}
	return out
}

// ToNodeID is the message of a node's id.
func ToNodeID(id yarn.NodeID) *pb.NodeId { return &pb.NodeId{Host: &id.Host, Port: &id.Port} }

// Resource reads an amount. Named values win over the two old fields, as they
// do in Hadoop. Types that the cluster does not have are an error.
func Resource(p *pb.Resource, types yarn.ResourceTypes) (yarn.Resource, error) {
	r := yarn.NewResource(p.GetMemory(), int64(p.GetVirtualCores()))
	for _, v := range p.GetResourceValueMap() {
		i := types.Index(v.GetKey())
		if i < 0 {
			return r, fmt.Errorf("unknown resource %q: this cluster has %s", v.GetKey(), names(types))
		}
		amount, ok := inUnits(v.GetValue(), v.GetUnits(), types[i].Units)
		if !ok {
			return r, fmt.Errorf("resource %q: cannot express %d%s in units of %q", v.GetKey(), v.GetValue(), v.GetUnits(), types[i].Units)
		}
		r[i] = amount
	}
	return r, nil
}

func names(types yarn.ResourceTypes) string {
	s := ""
	for i, t := range types {
		if i > 0 {
			s += ", "
		}
		s += t.Name
	}
	return s
}

// units are Hadoop's unit prefixes as fractions num/den of the plain unit.
var units = map[string]struct{ num, den float64 }{
	"p": {1, 1e12}, "n": {1, 1e9}, "u": {1, 1e6}, "m": {1, 1e3}, "": {1, 1},
	"k": {1e3, 1}, "M": {1e6, 1}, "G": {1e9, 1}, "T": {1e12, 1}, "P": {1e15, 1},
	"Ki": {1 << 10, 1}, "Mi": {1 << 20, 1}, "Gi": {1 << 30, 1}, "Ti": {1 << 40, 1}, "Pi": {1 << 50, 1},
}

// inUnits converts an amount between units; the result is truncated.
func inUnits(n int64, from, to string) (int64, bool) {
	if from == to {
		return n, true
	}
	f, ok1 := units[from]
	t, ok2 := units[to]
	if !ok1 || !ok2 {
		return 0, false
	}
	v := float64(n) * (f.num / f.den) / (t.num / t.den)
	if v >= math.MaxInt64 || v <= math.MinInt64 {
		return 0, false
	}
	return int64(v), true
}

var countable = pb.ResourceTypes_COUNTABLE

// ToResource is the message of an amount: the two old fields and every type by name.
func ToResource(r yarn.Resource, types yarn.ResourceTypes) *pb.Resource {
	memory, cores := r.MemoryMB(), int32(min(max(r.VCoreCount(), math.MinInt32), math.MaxInt32))
	p := &pb.Resource{Memory: &memory, VirtualCores: &cores}
	for i := range types {
		value := r[i]
		p.ResourceValueMap = append(p.ResourceValueMap, &pb.ResourceInformation{
			Key: &types[i].Name, Value: &value, Units: &types[i].Units, Type: &countable})
	}
	return p
}

// ExecutionType reads an execution type; what is unknown counts as guaranteed.
func ExecutionType(p pb.ExecutionType) yarn.ExecutionType {
	if p == pb.ExecutionType_OPPORTUNISTIC {
		return yarn.Opportunistic
	}
	return yarn.Guaranteed
}

// ToExecutionType is the message's value.
func ToExecutionType(t yarn.ExecutionType) *pb.ExecutionType {
	if t == yarn.Opportunistic {
		return pb.ExecutionType_OPPORTUNISTIC.Enum()
	}
	return pb.ExecutionType_GUARANTEED.Enum()
}

// ToPriority is the message of a priority.
func ToPriority(n int32) *pb.Priority { return &pb.Priority{Priority: &n} }

// FinalStatus reads a final status; what is unknown is undefined.
func FinalStatus(p pb.FinalApplicationStatus) yarn.FinalStatus {
	if p < 0 || p > pb.FinalApplicationStatus_APP_ENDED {
		return yarn.FinalUndefined
	}
	return yarn.FinalStatus(p)
}

// attemptStates maps attempt states to those of reports, which have no state
// for saving an attempt's end and one state for both ways of saving its start.
var attemptStates = map[yarn.AttemptState]pb.YarnApplicationAttemptState{
	yarn.AttemptNew:                     pb.YarnApplicationAttemptState_APP_ATTEMPT_NEW,
	yarn.AttemptSubmitted:               pb.YarnApplicationAttemptState_APP_ATTEMPT_SUBMITTED,
	yarn.AttemptScheduled:               pb.YarnApplicationAttemptState_APP_ATTEMPT_SCHEDULED,
	yarn.AttemptAllocatedSaving:         pb.YarnApplicationAttemptState_APP_ATTEMPT_ALLOCATED_SAVING,
	yarn.AttemptAllocated:               pb.YarnApplicationAttemptState_APP_ATTEMPT_ALLOCATED,
	yarn.AttemptLaunchedUnmanagedSaving: pb.YarnApplicationAttemptState_APP_ATTEMPT_SUBMITTED,
	yarn.AttemptLaunched:                pb.YarnApplicationAttemptState_APP_ATTEMPT_LAUNCHED,
	yarn.AttemptRunning:                 pb.YarnApplicationAttemptState_APP_ATTEMPT_RUNNING,
	yarn.AttemptFinalSaving:             pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHING,
	yarn.AttemptFinishing:               pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHING,
	yarn.AttemptFinished:                pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED,
	yarn.AttemptFailed:                  pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED,
	yarn.AttemptKilled:                  pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED,
}

// ToAttemptState is the message's value.
func ToAttemptState(s yarn.AttemptState) *pb.YarnApplicationAttemptState {
	return attemptStates[s].Enum()
}
