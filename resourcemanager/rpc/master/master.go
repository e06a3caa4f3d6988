// Package master serves ApplicationMasterProtocol, the protocol of ApplicationMasters.
// The calling attempt is the one in the token; requests do not name it.
package master

import (
	"fmt"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Name is the protocol's name on the wire.
const Name = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// Bounds of one call.
const (
	MaxAsks      = 100_000
	MaxReleases  = 100_000
	MaxBlacklist = 20_000
	MaxUpdates   = 2000
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
	// RenewedLogin is the token that replaces the one by which the master logged in, if
	// the key of that is about to be retired. identifier is that of the present token.
	RenewedLogin(id yarn.AttemptID, identifier []byte) (token.Token, bool)
}

// Config is what the protocol needs.
type Config struct {
	Loop      rpc.Poster
	Types     yarn.ResourceTypes
	Grants    Grants
	Audit     *audit.Log
	VCoresToo bool // the scheduler counts vcores, not memory alone
}

type master struct {
	Config
	last rpc.Last[yarn.AttemptID]
}

// Server is the protocol and the answers that it keeps.
type Server struct {
	Protocol ipc.Protocol
	m        *master
}

// New makes the table of the protocol's methods.
func New(cfg Config) *Server {
	m := &master{Config: cfg}
	return &Server{m: m, Protocol: ipc.Protocol{Name: Name, Version: 1, Methods: map[string]ipc.Handler{
		"registerApplicationMaster": serve.With(func() *pb.RegisterApplicationMasterRequest { return &pb.RegisterApplicationMasterRequest{} }, m.register),
		"allocate":                  m.allocate,
		"finishApplicationMaster":   serve.With(func() *pb.FinishApplicationMasterRequest { return &pb.FinishApplicationMasterRequest{} }, m.finish),
	}}}
}

// Forget drops the last answer to an attempt that has ended.
func (s *Server) Forget(id yarn.AttemptID) { s.m.last.Drop(id) }

// caller is the attempt that calls. On an error it answers the call and returns false.
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
			m.audited(c, id, audit.Entry{Operation: audit.Register, User: c.Caller.User}, err)
			rpc.Fail(c, err)
			return
		}
		r := v.(engine.RegisterReply)
		m.audited(c, id, audit.Entry{Operation: audit.Register, User: r.User}, nil)
		m.Grants.MasterRegistered(id)
		m.answerRegister(c, id, r)
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
	serve.Answer(c, out)
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

func (m *master) finish(c *ipc.Call, q *pb.FinishApplicationMasterRequest) {
	id, ok := m.caller(c)
	if !ok {
		return
	}
	cmd := engine.FinishMaster{Attempt: id, Diagnostics: clip(q.GetDiagnostics(), maxText), TrackingURL: clip(q.GetTrackingUrl(), maxURL),
		FinalStatus: convert.FinalStatus(q.GetFinalApplicationStatus())}
	cmd.Ticket = m.Loop.Expect(func(v any, err error) {
		if err != nil { // compat: only a failure has a line in the audit log; the application's end has a line of its own
			m.audited(c, id, audit.Entry{Operation: audit.Unregister, User: c.Caller.User}, err)
			rpc.Fail(c, err)
			return
		}
		done := v.(engine.FinishReply).Unregistered
		serve.Answer(c, &pb.FinishApplicationMasterResponse{IsUnregistered: &done})
	})
	m.Loop.Post(cmd)
}

// audited writes a line about a master's call to the audit log. If the call failed the user in it is the attempt's id.
func (m *master) audited(c *ipc.Call, id yarn.AttemptID, e audit.Entry, err error) {
	e.From, e.Target, e.Application, e.Attempt = c.Caller.Remote.Addr(), "ApplicationMasterService", id.Application, id
	if err != nil {
		e.Failed, e.Description = true, err.Error()
	}
	m.Audit.Write(e)
}

func clip(s string, max int) string {
	if len(s) > max {
		return s[:max]
	}
	return s
}
