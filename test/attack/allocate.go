package main

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// mostPlaces bounds the places to avoid of one call, mostWait what a peer waits for the answer to the largest.
const (
	mostPlaces = 20_000
	mostWait   = 5 * time.Second
)

// allocate is a master that makes the largest calls that the edge lets through: rows that differ in priority, request id, size or
// host, the same again, and all taken back; releases, updates and places of containers and hosts that there are not; then all of it at
// random.
func allocate(a *arena) {
	rm := a.resourceManager(nil)
	for i := range 5 {
		a.register(rm, fmt.Sprintf("host%d", i))
	}
	m := a.master(rm)
	defer m.client.Close()
	const rows = mostRows
	for _, x := range []struct {
		name string
		row  func(i int, r *pb.ResourceRequest)
	}{
		{"priorities", func(i int, r *pb.ResourceRequest) { r.Priority.Priority = proto.Int32(int32(i)) }},
		{"priorities from the highest", func(i int, r *pb.ResourceRequest) { r.Priority.Priority = proto.Int32(int32(1_000_000 - i)) }},
		{"request ids", func(i int, r *pb.ResourceRequest) { r.AllocationRequestId = proto.Int64(int64(uint32(i) * 2654435761)) }},
		{"sizes", func(i int, r *pb.ResourceRequest) { r.Capability.Memory = proto.Int64(int64(1 + i%8000)) }},
		{"hosts", func(i int, r *pb.ResourceRequest) { r.ResourceName = proto.String(fmt.Sprintf("host%d", i)) }},
	} {
		s := a.strangerAt(rm)
		for _, again := range []struct {
			name  string
			count int32
		}{{"", 3}, {" again", 3}, {" taken back", 0}} {
			in := &pb.AllocateRequest{}
			for i := range rows {
				r := row(1, "*", 1024, again.count)
				x.row(i, r)
				in.Ask = append(in.Ask, r)
			}
			m.allocate(in, fmt.Sprintf("%d %s%s", rows, x.name, again.name))
		}
		w := s.leave(a, x.name)
		a.check(w.failed == 0 && w.longest < mostWait, "a stranger is served during calls of "+x.name, "%d of %d calls failed, the longest took %s", w.failed, w.asked, w.longest)
	}
	s := a.strangerAt(rm)
	for i := range pick(a, 40, 8) {
		m.allocate(m.random(rows), fmt.Sprintf("random call %d", i))
	}
	w := s.leave(a, "random calls")
	a.check(w.failed == 0 && w.longest < mostWait, "a stranger is served during random calls", "%d of %d calls failed, the longest took %s", w.failed, w.asked, w.longest)
	a.check(m.slow == 0 && m.lost == 0, fmt.Sprintf("every call is answered within %s", mostWait), "%d of %d took longer, %d failed, the longest took %s", m.slow, m.calls, m.lost, m.longest)
	a.figure("the longest call", m.longest.Seconds()*1000, "ms")
	a.figure("resident memory at the most", rm.peak(), "MB")
}

// register says that there is a node, which nobody will ever hear of again.
func (a *arena) register(rm *daemon, host string) {
	p, err := dial(rm.address[trackerPort], trackerProtocol, "yarn")
	a.must(err)
	defer p.Close()
	a.must(p.call("registerNodeManager", &pb.RegisterNodeManagerRequest{NodeId: &pb.NodeId{Host: &host, Port: proto.Int32(1)}, HttpPort: proto.Int32(2),
		NmVersion: proto.String("3.5.0"), Resource: &pb.Resource{Memory: proto.Int64(8192), VirtualCores: proto.Int32(8)}}, &pb.RegisterNodeManagerResponse{}))
}

// master is an unmanaged application's, which has registered.
type master struct {
	*arena
	client   *ipc.Client
	address  string
	id       yarn.ApplicationID
	response int32

	calls, slow, lost int
	longest           time.Duration
}

func (a *arena) master(rm *daemon) *master {
	c := rm.client("mallory")
	defer c.Close()
	id, err := submitUnmanaged(a.ctx, c)
	a.must(err)
	login := a.login(rm, "mallory", id)
	m := &master{arena: a, address: rm.address[masterPort], id: id,
		client: ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "mallory", Tokens: func(string) *ipc.Token { return login }}})}
	a.must(m.call("registerApplicationMaster", &pb.RegisterApplicationMasterRequest{Host: proto.String("h"), RpcPort: proto.Int32(1)}, &pb.RegisterApplicationMasterResponse{}))
	return m
}

func (m *master) call(method string, in, out proto.Message) error {
	b, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	if b, err = m.client.Call(m.ctx, m.address, masterProtocol, method, b); err != nil {
		return err
	}
	return proto.Unmarshal(b, out)
}

// allocate makes one call and prints how long its answer took. What the ResourceManager refuses, it answers.
func (m *master) allocate(in *pb.AllocateRequest, what string) {
	in.ResponseId = &m.response
	out := &pb.AllocateResponse{}
	began := time.Now()
	err := m.call("allocate", in, out)
	took := time.Since(began)
	m.figure(what, took.Seconds()*1000, "ms")
	m.calls++
	m.longest = max(m.longest, took)
	if took > mostWait {
		m.slow++
	}
	if err == nil {
		m.response = out.GetResponseId()
	} else if !errors.As(err, new(*ipc.RemoteError)) {
		m.lost++
		fmt.Printf("     %s: %v\n", what, err)
	}
}

// random is a call with rows, releases, updates and places at random.
func (m *master) random(rows int) *pb.AllocateRequest {
	in, r := &pb.AllocateRequest{}, m.arena.random
	keys := 1 + r.IntN(rows)
	for range r.IntN(rows) {
		x := row(1, "*", 1024, r.Int32N(3))
		x.Priority.Priority, x.AllocationRequestId = proto.Int32(r.Int32N(int32(keys))), proto.Int64(r.Int64N(3)-1)
		x.Capability.Memory, x.RelaxLocality = proto.Int64(r.Int64N(8192)), proto.Bool(r.IntN(2) == 0)
		if r.IntN(3) == 0 {
			x.ResourceName = proto.String(fmt.Sprintf("host%d", r.IntN(keys)))
		}
		in.Ask = append(in.Ask, x)
	}
	attempt := &pb.ApplicationAttemptId{ApplicationId: &pb.ApplicationId{Id: &m.id.Sequence, ClusterTimestamp: &m.id.ClusterTimestamp}, AttemptId: proto.Int32(1)}
	container := func() *pb.ContainerId {
		return &pb.ContainerId{AppAttemptId: attempt, Id: proto.Int64(r.Int64N(200))}
	}
	for range r.IntN(rows) {
		in.Release = append(in.Release, container())
	}
	for range r.IntN(mostUpdates) {
		in.UpdateRequests = append(in.UpdateRequests, &pb.UpdateContainerRequest{ContainerId: container(), ContainerVersion: proto.Int32(r.Int32N(2)),
			UpdateType: pb.ContainerUpdateType(r.IntN(4)).Enum(), Capability: &pb.Resource{Memory: proto.Int64(r.Int64N(8192)), VirtualCores: proto.Int32(1)}})
	}
	places := &pb.ResourceBlacklistRequest{}
	for range r.IntN(mostPlaces / 2) {
		places.BlacklistAdditions = append(places.BlacklistAdditions, fmt.Sprintf("host%d", r.IntN(keys)))
		places.BlacklistRemovals = append(places.BlacklistRemovals, fmt.Sprintf("host%d", r.IntN(keys)))
	}
	in.BlacklistRequest = places
	return in
}
