package master

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/scan"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// Every master calls allocate about once a second. So requests are scanned in place and
// answers appended to bytes (see package scan); only rare parts of an answer are made
// by package pb.

var bounds = scan.Bounds{Asks: MaxAsks, Releases: MaxReleases, Blacklist: MaxBlacklist, Updates: MaxUpdates}

func (m *master) allocate(c *ipc.Call) {
	id, ok := m.caller(c)
	if !ok {
		return
	}
	cmd, ok := m.request(c, id)
	if !ok {
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

// request reads a call and checks its form. On an error it answers the call and returns false.
func (m *master) request(c *ipc.Call, id yarn.AttemptID) (*engine.Allocate, bool) {
	var a scan.Allocate
	err := a.Scan(c.Body, m.Types, bounds)
	var limit *scan.LimitError
	switch {
	case err == nil && a.Refused != nil:
		serve.Refuse(c, serve.InvalidResource, "Invalid request of %s: %v", id, a.Refused)
	case errors.As(err, &limit):
		serve.Refuse(c, serve.InvalidResource, "Invalid request of %s: %v", id, limit)
	case err != nil:
		c.Fail(&ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot read the request of %s: %v", c.Method, err)})
	default:
		return &engine.Allocate{Attempt: id, ResponseID: a.ResponseID, Progress: a.Progress, TrackingURL: clip(a.TrackingURL, maxURL),
			Asks: a.Asks, Release: a.Release, BlacklistAdd: a.BlacklistAdd, BlacklistRemove: a.BlacklistRemove, Updates: a.Updates,
			HasConstraints: a.Constraints > 0}, true
	}
	return nil, false
}

// answerAllocate sends the answer and keeps it, or repeats the last one if the engine
// says so.
func (m *master) answerAllocate(c *ipc.Call, id yarn.AttemptID, r *engine.AllocateReply) {
	if r.Duplicate {
		m.last.Repeat(c, id)
		return
	}
	m.auditGranted(r.Granted)
	rare, err := m.rare(r)
	if err != nil {
		c.Fail(fmt.Errorf("cannot write the answer to %s: %w", id, err))
		return
	}
	rpc.Compose(func(b []byte) []byte { return m.appendAnswer(b, c, id, r, &rare) }, func(b []byte) {
		m.last.Keep(id, b)
		c.Reply(b)
	})
}

// auditGranted writes a line of the audit log for each container, if it is to have them.
func (m *master) auditGranted(granted []engine.Grant) {
	if !m.Audit.ByContainer() {
		return
	}
	for i := range granted {
		m.Audit.Write(audit.OfContainer(granted[i].User, granted[i].ID))
	}
}

// rareParts are encoded fields of AllocateResponseProto: numbers 8 and 15.
type rareParts struct{ negotiable, updateErrors []byte }

func (m *master) rare(r *engine.AllocateReply) (p rareParts, err error) {
	if len(r.UpdateErrors)+len(r.Negotiable.Containers) == 0 {
		return p, nil
	}
	var failures, notices pb.AllocateResponse
	for _, e := range r.UpdateErrors {
		failures.UpdateErrors = append(failures.UpdateErrors, m.updateError(e))
	}
	if n := &r.Negotiable; len(n.Containers) > 0 {
		notices.Preempt = m.negotiable(n)
	}
	if p.negotiable, err = proto.Marshal(&notices); err != nil {
		return p, err
	}
	p.updateErrors, err = proto.Marshal(&failures)
	return p, err
}

// negotiable is the contract by which a master may give up as much in another way.
func (m *master) negotiable(n *engine.Negotiable) *pb.PreemptionMessage {
	contract := &pb.PreemptionContract{Resource: []*pb.PreemptionResourceRequest{{Resource: &pb.ResourceRequest{
		Priority: convert.ToPriority(-1), ResourceName: proto.String(yarn.AnyHost), Capability: convert.ToResource(n.Size, m.Types),
		NumContainers: proto.Int32(n.Count), RelaxLocality: proto.Bool(true),
		ExecutionTypeRequest: &pb.ExecutionTypeRequest{ExecutionType: pb.ExecutionType_GUARANTEED.Enum(), EnforceExecutionType: proto.Bool(false)},
	}}}}
	for _, id := range n.Containers {
		contract.Container = append(contract.Container, &pb.PreemptionContainer{Id: convert.ToContainerID(id)})
	}
	return &pb.PreemptionMessage{Contract: contract}
}

// appendAnswer appends an AllocateResponseProto.
func (m *master) appendAnswer(b []byte, c *ipc.Call, id yarn.AttemptID, r *engine.AllocateReply, rare *rareParts) []byte {
	b = field.AppendInt(b, 2, int64(r.ResponseID))
	for i := range r.Granted {
		b = m.appendContainer(b, 3, &r.Granted[i])
	}
	for i := range r.Completed {
		b = m.appendCompleted(b, 4, &r.Completed[i])
	}
	b = field.AppendResource(b, 5, r.Headroom, m.Types)
	for _, n := range r.Nodes {
		b = rpc.AppendNodeReport(b, 6, n, m.Types)
	}
	b = field.AppendInt(b, 7, int64(r.ClusterNodes))
	b = append(appendPreemption(b, 8, r.Preempt), rare.negotiable...)
	for i := range r.Granted {
		b = m.appendNodeToken(b, 9, id, &r.Granted[i])
	}
	if t, ok := m.Grants.RenewedLogin(id, c.Caller.TokenIdentifier); ok {
		b = scan.AppendToken(b, 12, t)
	}
	b = field.AppendPriority(b, 13, r.Priority)
	b = append(b, rare.updateErrors...)
	for i := range r.Updated {
		var mark int
		b, mark = field.Open(b, 16)
		b = field.AppendInt(b, 1, int64(r.Updated[i].Type))
		b = field.Shut(m.appendContainer(b, 2, &r.Updated[i].Grant), mark)
	}
	for i := range r.Previous {
		b = m.appendContainer(b, 17, &r.Previous[i])
	}
	b, mark := field.Open(b, 19)
	b = field.AppendInt(b, 1, int64(r.Pending))
	return field.Shut(field.AppendInt(b, 2, int64(r.ActiveCores)), mark)
}

// appendPreemption appends the containers that are about to be taken, as a strict contract. compat: an empty one, where masters are told
// of such containers at all, is appended, too.
func appendPreemption(b []byte, num protowire.Number, ids []yarn.ContainerID) []byte {
	if ids == nil {
		return b
	}
	b, message := field.Open(b, num)
	b, contract := field.Open(b, 1)
	for _, id := range ids {
		var mark int
		b, mark = field.Open(b, 1)
		b = field.Shut(field.AppendContainerID(b, 1, id), mark)
	}
	return field.Shut(field.Shut(b, contract), message)
}

// appendContainer appends a granted container with the token that starts it.
func (m *master) appendContainer(b []byte, num protowire.Number, g *engine.Grant) []byte {
	b, mark := field.Open(b, num)
	b = field.AppendContainerID(b, 1, g.ID)
	b = field.AppendNodeID(b, 2, g.Node)
	b = field.AppendText(b, 3, g.NodeHTTPAddress)
	b = field.AppendResource(b, 4, g.Resource, m.Types)
	b = field.AppendPriority(b, 5, g.Priority)
	b = scan.AppendToken(b, 6, m.Grants.ContainerToken(*g))
	b = scan.AppendExecution(b, 7, g.Execution)
	b = field.AppendInt(b, 8, g.AllocationRequestID)
	return field.Shut(field.AppendInt(b, 9, int64(g.Version)), mark)
}

// appendNodeToken appends the NM token for a container's node, unless the master has one.
func (m *master) appendNodeToken(b []byte, num protowire.Number, id yarn.AttemptID, g *engine.Grant) []byte {
	t, ok := m.Grants.NodeToken(id, *g)
	if !ok {
		return b
	}
	b, mark := field.Open(b, num)
	return field.Shut(scan.AppendToken(field.AppendNodeID(b, 1, g.Node), 2, t), mark)
}

// stateComplete is C_COMPLETE of ContainerStateProto.
const stateComplete = int64(pb.ContainerState_C_COMPLETE)

func (m *master) appendCompleted(b []byte, num protowire.Number, f *engine.CompletedContainer) []byte {
	b, mark := field.Open(b, num)
	b = field.AppendContainerID(b, 1, f.ID)
	b = field.AppendInt(b, 2, stateComplete)
	b = field.AppendText(b, 3, f.Diagnostics)
	b = field.AppendInt(b, 4, int64(f.ExitStatus))
	b = field.AppendResource(b, 5, f.Resource, m.Types)
	return field.Shut(scan.AppendExecution(b, 6, f.Execution), mark)
}

func (m *master) updateError(e engine.UpdateError) *pb.UpdateContainerError {
	return &pb.UpdateContainerError{Reason: &e.Reason, CurrentContainerVersion: &e.CurrentVersion, UpdateRequest: &pb.UpdateContainerRequest{
		ContainerVersion: &e.Update.Version, ContainerId: convert.ToContainerID(e.Update.Container),
		UpdateType: pb.ContainerUpdateType(e.Update.Type).Enum(), Capability: convert.ToResource(e.Update.Capability, m.Types),
		ExecutionType: convert.ToExecutionType(e.Update.ExecutionType)}}
}
