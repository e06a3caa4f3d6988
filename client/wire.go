package client

import (
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

func toApplicationID(id yarn.ApplicationID) *pb.ApplicationId {
	return &pb.ApplicationId{Id: proto.Int32(id.Sequence), ClusterTimestamp: proto.Int64(id.ClusterTimestamp)}
}

func toAttemptID(id yarn.AttemptID) *pb.ApplicationAttemptId {
	return &pb.ApplicationAttemptId{ApplicationId: toApplicationID(id.Application), AttemptId: proto.Int32(id.Attempt)}
}

func toContainerID(id yarn.ContainerID) *pb.ContainerId {
	return &pb.ContainerId{AppAttemptId: toAttemptID(id.Attempt), Id: proto.Int64(id.Number)}
}

func toNodeID(id yarn.NodeID) *pb.NodeId {
	return &pb.NodeId{Host: proto.String(id.Host), Port: proto.Int32(id.Port)}
}

func fromApplicationID(m *pb.ApplicationId) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: m.GetClusterTimestamp(), Sequence: m.GetId()}
}

func fromAttemptID(m *pb.ApplicationAttemptId) yarn.AttemptID {
	return yarn.AttemptID{Application: fromApplicationID(m.GetApplicationId()), Attempt: m.GetAttemptId()}
}

func fromContainerID(m *pb.ContainerId) yarn.ContainerID {
	return yarn.ContainerID{Attempt: fromAttemptID(m.GetAppAttemptId()), Number: m.GetId()}
}

func fromNodeID(m *pb.NodeId) yarn.NodeID {
	return yarn.NodeID{Host: m.GetHost(), Port: m.GetPort()}
}

// Resource is an amount of each resource type by its name, since a client need
// not know the cluster's types.
type Resource struct {
	MemoryMB int64
	VCores   int64
	Others   []Amount // in the order received
}

// Amount is a quantity of a resource type beyond memory and vcores.
type Amount struct {
	Name  string
	Value int64
	Units string // "" for plain counts
}

func fromResource(m *pb.Resource) Resource {
	r := Resource{MemoryMB: m.GetMemory(), VCores: int64(m.GetVirtualCores())}
	for _, v := range m.GetResourceValueMap() {
		if v.GetKey() != "memory-mb" && v.GetKey() != "vcores" {
			r.Others = append(r.Others, Amount{v.GetKey(), v.GetValue(), v.GetUnits()})
		}
	}
	return r
}

func toResource(r Resource) *pb.Resource {
	m := &pb.Resource{Memory: proto.Int64(r.MemoryMB), VirtualCores: proto.Int32(int32(r.VCores)),
		ResourceValueMap: []*pb.ResourceInformation{
			{Key: proto.String("memory-mb"), Value: proto.Int64(r.MemoryMB), Units: proto.String("Mi"), Type: pb.ResourceTypes_COUNTABLE.Enum()},
			{Key: proto.String("vcores"), Value: proto.Int64(r.VCores), Units: proto.String(""), Type: pb.ResourceTypes_COUNTABLE.Enum()},
		}}
	for _, o := range r.Others {
		m.ResourceValueMap = append(m.ResourceValueMap, &pb.ResourceInformation{Key: proto.String(o.Name),
			Value: proto.Int64(o.Value), Units: proto.String(o.Units), Type: pb.ResourceTypes_COUNTABLE.Enum()})
	}
	return m
}

// each converts a list.
func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}
