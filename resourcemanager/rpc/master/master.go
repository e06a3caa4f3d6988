// Package master serves ApplicationMasterProtocol: what masters call. The
// caller is the attempt that its token names; requests do not say who they are.
package master

import (
	"fmt"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
	"google.golang.org/protobuf/proto"
)

// Name is the protocol's name on the wire.
const Name = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// Bounds of one call.
const (
	MaxAsks      = 100_000
	MaxReleases  = 100_000
	MaxBlacklist = 20_000
	MaxUpdates   = 20_000
	maxURL       = 8 << 10
	maxText      = 64 << 10
)

// Grants makes the tokens that go with granted containers.
type Grants interface {
	ContainerToken(engine.Grant) token.Token
	// NodeToken is a token for the container's node, if the master has none yet.
	NodeToken(yarn.AttemptID, engine.Grant) (token.Token, bool)
	// MasterRegistered forgets which node tokens an attempt's master has.
	MasterRegistered(yarn.AttemptID)
	// RenewedLogin is the token that replaces the one the master logged in with,
	// when that is about to be void.
	RenewedLogin(yarn.AttemptID, []byte) (token.Token, bool)
}

// Config is what the protocol needs.
type Config struct {
	Loop      rpc.Poster
	Types     yarn.ResourceTypes
	Grants    Grants
	VCoresToo bool // the scheduler counts vcores, not memory alone
}

type master struct {
	Config
	mu   sync.Mutex
	last map[yarn.AttemptID][]byte // the last answer to each attempt, in case it was lost
}

// Server is the protocol and what it remembers.
type Server struct {
	Protocol ipc.Protocol
	m        *master
}

// New makes the table of the protocol's methods.
func New(cfg Config) *Server {
	m := &master{Config: cfg, last: map[yarn.AttemptID][]byte{}}
	return &Server{m: m, Protocol: ipc.Protocol{Name: Name, Version: 1, Methods: map[string]ipc.Handler{
		"registerApplicationMaster": rpc.With(func() *pb.RegisterApplicationMasterRequest { return &pb.RegisterApplicationMasterRequest{} }, m.register),
		"allocate":                  rpc.With(func() *pb.AllocateRequest { return &pb.AllocateRequest{} }, m.allocate),
		"finishApplicationMaster":   rpc.With(func() *pb.FinishApplicationMasterRequest { return &pb.FinishApplicationMasterRequest{} }, m.finish),
	}}}
}

// Forget drops what is remembered of an attempt that has ended.
func (s *Server) Forget(id yarn.AttemptID) {
	s.m.mu.Lock()
	delete(s.m.last, id)
	s.m.mu.Unlock()
}

// caller is the attempt that calls. On an error the call is answered.
func (m *master) caller(c *ipc.Call) (yarn.AttemptID, bool) {
	id, err := token.ParseAMRM(c.Caller.TokenIdentifier)
	if err != nil {
		c.Fail(&ipc.RemoteError{Class: ipc.ClassAccessControl, Message: fmt.Sprintf("%s needs the token of an application attempt: %v", c.Method, err)})
		return yarn.AttemptID{}, false
	}
	return id.Attempt, true
}

func (m *master) register(c *ipc.Call, q *pb.RegisterApplicationMasterRequest) {
	id, ok := m.caller(c)
	if !ok {
		return
	}
	cmd := engine.RegisterMaster{Attempt: id, Host: clip(q.GetHost(), 255), RPCPort: q.GetRpcPort(), TrackingURL: clip(q.GetTrackingUrl(), maxURL)}
	cmd.Ticket = m.Loop.Expect(func(v any, err error) {
		if err != nil {
			rpc.Fail(c, err)
			return
		}
		m.Grants.MasterRegistered(id)
		m.answerRegister(c, id, v.(engine.RegisterReply))
	})
	m.Loop.Post(cmd)
}

func (m *master) answerRegister(c *ipc.Call, id yarn.AttemptID, r engine.RegisterReply) {
	out := &pb.RegisterApplicationMasterResponse{
		MaximumCapability: convert.ToResource(r.Maximum, m.Types), Queue: &r.Queue,
		Application_ACLs:       rpc.ACLs(r.ViewACL, r.ModifyACL),
		SchedulerResourceTypes: []pb.SchedulerResourceTypes{pb.SchedulerResourceTypes_MEMORY},
		ResourceTypes:          rpc.ToTypes(m.Types),
	}
	if m.VCoresToo {
		out.SchedulerResourceTypes = append(out.SchedulerResourceTypes, pb.SchedulerResourceTypes_CPU)
	}
	for _, g := range r.Previous {
		out.ContainersFromPreviousAttempts = append(out.ContainersFromPreviousAttempts, m.container(g))
		if t := m.nodeToken(id, g); t != nil {
			out.NmTokensFromPreviousAttempts = append(out.NmTokensFromPreviousAttempts, t)
		}
	}
	rpc.Answer(c, out)
}

func (m *master) allocate(c *ipc.Call, q *pb.AllocateRequest) {
	id, ok := m.caller(c)
	if !ok {
		return
	}
	cmd, class, err := m.request(id, q)
	if err != nil {
		rpc.Refuse(c, class, "Invalid request of %s: %v", id, err)
		return
	}
	cmd.Ticket = m.Loop.Expect(func(v any, err error) {
		if err != nil {
			rpc.Fail(c, err)
			return
		}
		m.answerAllocate(c, id, v.(*engine.AllocateReply))
	})
	m.Loop.Post(cmd)
}

// request checks the shape of a call; class names the exception if it is bad.
func (m *master) request(id yarn.AttemptID, q *pb.AllocateRequest) (*engine.Allocate, string, error) {
	b := q.GetBlacklistRequest()
	for _, bound := range []struct {
		what      string
		have, max int
	}{
		{"resource requests", len(q.GetAsk()), MaxAsks},
		{"releases", len(q.GetRelease()), MaxReleases},
		{"blacklist entries", len(b.GetBlacklistAdditions()) + len(b.GetBlacklistRemovals()), MaxBlacklist},
		{"container updates", len(q.GetUpdateRequests()), MaxUpdates},
	} {
		if bound.have > bound.max {
			return nil, rpc.InvalidResource, fmt.Errorf("%d %s in one call, at most %d are taken", bound.have, bound.what, bound.max)
		}
	}
	asks, err := convert.Asks(q.GetAsk(), m.Types)
	if err != nil {
		return nil, rpc.InvalidResource, err
	}
	cmd := &engine.Allocate{Attempt: id, ResponseID: q.GetResponseId(), Progress: q.GetProgress(), TrackingURL: clip(q.GetTrackingUrl(), maxURL),
		Asks: asks, Release: convert.ContainerIDs(q.GetRelease()), BlacklistAdd: b.GetBlacklistAdditions(), BlacklistRemove: b.GetBlacklistRemovals(),
		HasConstraints: len(q.GetSchedulingRequests()) > 0}
	for _, u := range q.GetUpdateRequests() {
		x := yarn.ContainerUpdate{Container: convert.ContainerID(u.GetContainerId()), Version: u.GetContainerVersion(),
			Type: yarn.UpdateType(u.GetUpdateType()), ExecutionType: convert.ExecutionType(u.GetExecutionType())}
		if x.Capability, err = convert.Resource(u.GetCapability(), m.Types); err != nil {
			return nil, rpc.InvalidResource, err
		}
		cmd.Updates = append(cmd.Updates, x)
	}
	return cmd, "", nil
}

// answerAllocate writes the answer and keeps it: the engine says when it is to
// be repeated.
func (m *master) answerAllocate(c *ipc.Call, id yarn.AttemptID, r *engine.AllocateReply) {
	if r.Duplicate {
		m.mu.Lock()
		last := m.last[id]
		m.mu.Unlock()
		c.Reply(last)
		return
	}
	out := &pb.AllocateResponse{ResponseId: &r.ResponseID, Limit: convert.ToResource(r.Headroom, m.Types),
		NumClusterNodes: &r.ClusterNodes, ApplicationPriority: convert.ToPriority(r.Priority),
		EnhancedHeadroom: &pb.EnhancedHeadroom{TotalPendingCount: &r.Pending, TotalActiveCores: &r.ActiveCores}}
	for _, g := range r.Granted {
		out.AllocatedContainers = append(out.AllocatedContainers, m.container(g))
		if t := m.nodeToken(id, g); t != nil {
			out.NmTokens = append(out.NmTokens, t)
		}
	}
	for _, g := range r.Previous {
		out.ContainersFromPreviousAttempts = append(out.ContainersFromPreviousAttempts, m.container(g))
	}
	for _, f := range r.Completed {
		out.CompletedContainerStatuses = append(out.CompletedContainerStatuses, m.completed(f))
	}
	for _, u := range r.Updated {
		out.UpdatedContainers = append(out.UpdatedContainers, &pb.UpdatedContainer{
			UpdateType: pb.ContainerUpdateType(u.Type).Enum(), Container: m.container(u.Grant)})
	}
	for _, e := range r.UpdateErrors {
		out.UpdateErrors = append(out.UpdateErrors, m.updateError(e))
	}
	for _, n := range r.Nodes {
		out.UpdatedNodes = append(out.UpdatedNodes, rpc.NodeReport(n, m.Types))
	}
	if t, ok := m.Grants.RenewedLogin(id, c.Caller.TokenIdentifier); ok {
		out.AmRmToken = rpc.ToToken(t)
	}
	b, err := proto.Marshal(out)
	if err != nil {
		c.Fail(fmt.Errorf("cannot write the answer to %s: %w", id, err))
		return
	}
	m.mu.Lock()
	m.last[id] = b
	m.mu.Unlock()
	c.Reply(b)
}

// container is a granted container with the token that starts it.
func (m *master) container(g engine.Grant) *pb.Container {
	return &pb.Container{Id: convert.ToContainerID(g.ID), NodeId: convert.ToNodeID(g.Node), NodeHttpAddress: &g.NodeHTTPAddress,
		Resource: convert.ToResource(g.Resource, m.Types), Priority: convert.ToPriority(g.Priority),
		ContainerToken: rpc.ToToken(m.Grants.ContainerToken(g)), ExecutionType: convert.ToExecutionType(g.Execution),
		AllocationRequestId: &g.AllocationRequestID, Version: &g.Version}
}

func (m *master) nodeToken(id yarn.AttemptID, g engine.Grant) *pb.NMToken {
	t, ok := m.Grants.NodeToken(id, g)
	if !ok {
		return nil
	}
	return &pb.NMToken{NodeId: convert.ToNodeID(g.Node), Token: rpc.ToToken(t)}
}

func (m *master) completed(f engine.CompletedContainer) *pb.ContainerStatus {
	return &pb.ContainerStatus{ContainerId: convert.ToContainerID(f.ID), State: pb.ContainerState_C_COMPLETE.Enum(),
		Diagnostics: &f.Diagnostics, ExitStatus: &f.ExitStatus, Capability: convert.ToResource(f.Resource, m.Types),
		ExecutionType: convert.ToExecutionType(f.Execution)}
}

func (m *master) updateError(e engine.UpdateError) *pb.UpdateContainerError {
	return &pb.UpdateContainerError{Reason: &e.Reason, CurrentContainerVersion: &e.CurrentVersion, UpdateRequest: &pb.UpdateContainerRequest{
		ContainerVersion: &e.Update.Version, ContainerId: convert.ToContainerID(e.Update.Container),
		UpdateType: pb.ContainerUpdateType(e.Update.Type).Enum(), Capability: convert.ToResource(e.Update.Capability, m.Types),
		ExecutionType: convert.ToExecutionType(e.Update.ExecutionType)}}
}

func (m *master) finish(c *ipc.Call, q *pb.FinishApplicationMasterRequest) {
	id, ok := m.caller(c)
	if !ok {
		return
	}
	cmd := engine.FinishMaster{Attempt: id, Diagnostics: clip(q.GetDiagnostics(), maxText), TrackingURL: clip(q.GetTrackingUrl(), maxURL),
		FinalStatus: convert.FinalStatus(q.GetFinalApplicationStatus())}
	cmd.Ticket = m.Loop.Expect(func(v any, err error) {
		if err != nil {
			rpc.Fail(c, err)
			return
		}
		done := v.(engine.FinishReply).Unregistered
		rpc.Answer(c, &pb.FinishApplicationMasterResponse{IsUnregistered: &done})
	})
	m.Loop.Post(cmd)
}

func clip(s string, max int) string {
	if len(s) > max {
		return s[:max]
	}
	return s
}
