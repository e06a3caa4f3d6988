package client

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Request is containers that a master wants and that are all alike. Its ID
// comes back with each of them. Under one ID nothing but Count may change.
type Request struct {
	ID       int64 // not negative
	Priority int32 // smaller is served first
	Size     Resource
	Count    int32 // still wanted, beyond those granted so far; 0 ends the request
	Hosts    []Host
	Racks    []string // preferred besides those of Hosts
	// Strict keeps to Hosts and Racks; otherwise they are preferred. The
	// CapacityScheduler grants nothing where only racks are wanted.
	Strict        bool
	Label         string // node label, "" for the application's
	Opportunistic bool   // may be queued on the node and ended for others
}

// Host is where a container is wanted. Rack is the rack that the
// ResourceManager has the host in; without it some schedulers do not find the
// host.
type Host struct{ Name, Rack string }

// alike tells whether two requests differ in nothing but Count.
func (r *Request) alike(o *Request) bool {
	return r.Priority == o.Priority && sameSize(r.Size, o.Size) && slices.Equal(r.Hosts, o.Hosts) && slices.Equal(r.Racks, o.Racks) &&
		r.Strict == o.Strict && r.Label == o.Label && r.Opportunistic == o.Opportunistic
}

func sameSize(a, b Resource) bool {
	return a.MemoryMB == b.MemoryMB && a.VCores == b.VCores && slices.Equal(a.Others, b.Others)
}

func (r *Request) check() error {
	switch {
	case r.ID < 0:
		return fmt.Errorf("request %d: ids of requests are not negative", r.ID)
	case r.Count < 0:
		return fmt.Errorf("request %d: %d containers", r.ID, r.Count)
	case r.Strict && len(r.Hosts)+len(r.Racks) == 0:
		return fmt.Errorf("request %d: strict, but neither hosts nor racks are given", r.ID)
	}
	return nil
}

// rows are the protocol's rows of a request: one for each place and one for any
// place, whose number governs the others. With Strict, the row for a host's
// rack does not relax locality, so that the rack's other hosts are not used.
func (r *Request) rows() []*pb.ResourceRequest {
	var out []*pb.ResourceRequest
	done := map[string]bool{}
	add := func(where string, relax bool) {
		if where != "" && !done[where] {
			done[where] = true
			out = append(out, r.row(where, relax))
		}
	}
	for _, h := range r.Hosts {
		add(h.Name, true)
	}
	for _, rack := range r.Racks {
		add(rack, true)
	}
	for _, h := range r.Hosts {
		add(h.Rack, !r.Strict)
	}
	add(yarn.AnyHost, !r.Strict)
	if r.Label != "" {
		out[len(out)-1].NodeLabelExpression = &r.Label // refused on any other row
	}
	return out
}

func (r *Request) row(where string, relax bool) *pb.ResourceRequest {
	execution := pb.ExecutionType_GUARANTEED
	if r.Opportunistic {
		execution = pb.ExecutionType_OPPORTUNISTIC
	}
	return &pb.ResourceRequest{
		Priority: &pb.Priority{Priority: proto.Int32(r.Priority)}, ResourceName: &where, Capability: toResource(r.Size),
		NumContainers: proto.Int32(r.Count), RelaxLocality: &relax, AllocationRequestId: proto.Int64(r.ID),
		ExecutionTypeRequest: &pb.ExecutionTypeRequest{ExecutionType: &execution, EnforceExecutionType: proto.Bool(r.Opportunistic)},
	}
}

// Change asks for another size or another execution type of a container that
// the master has.
type Change struct {
	Container yarn.ContainerID
	Version   int32 // of the container's last grant
	Type      yarn.UpdateType
	Size      Resource // wanted by an increase or decrease
}

func (c *Change) message() *pb.UpdateContainerRequest {
	m := &pb.UpdateContainerRequest{ContainerVersion: proto.Int32(c.Version), ContainerId: toContainerID(c.Container),
		UpdateType: pb.ContainerUpdateType(c.Type).Enum()}
	switch c.Type {
	case yarn.PromoteExecutionType:
		m.ExecutionType = pb.ExecutionType_GUARANTEED.Enum()
	case yarn.DemoteExecutionType:
		m.ExecutionType = pb.ExecutionType_OPPORTUNISTIC.Enum()
	default:
		m.Capability = toResource(c.Size)
	}
	return m
}
