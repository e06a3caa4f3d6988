package resourcemanager

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

const containersName = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

// fakeNode is a NodeManager: it registers, sends heartbeats when told to, and
// takes containers whose tokens are signed with the keys that it was given.
type fakeNode struct {
	t       testing.TB
	w       *world
	id      yarn.NodeID
	server  *ipc.Server
	tracker caller
	last    int32    // id of the last answer to a heartbeat
	started chan run // containers that it was told to start
	stopped chan yarn.ContainerID

	mu            sync.Mutex
	container, nm *pb.MasterKey
	running       map[yarn.ContainerID]*pb.ContainerStatus
	refuse        string // why it starts nothing; empty when it does
}

// run is a container that was started: who said so, what with, on whose word.
type run struct {
	attempt yarn.AttemptID
	token   token.Container
	service string
	spec    *pb.ContainerLaunchContext
}

// newNode starts a node and registers it.
func (w *world) newNode() *fakeNode {
	w.t.Helper()
	n := w.unregistered()
	if r := n.register(8192, 8); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
		w.t.Fatalf("the node was turned away: %s", r.GetDiagnosticsMessage())
	}
	return n
}

func (w *world) unregistered() *fakeNode {
	w.t.Helper()
	n := &fakeNode{t: w.t, w: w, started: make(chan run, 64), stopped: make(chan yarn.ContainerID, 64),
		running: map[yarn.ContainerID]*pb.ContainerStatus{}, tracker: w.caller(trackerPort, trackerName, operator, "")}
	server, err := ipc.Listen(ipc.ServerConfig{Name: "node", Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodToken}, Tokens: n,
		TokenKind: token.KindNM, Log: slog.New(slog.DiscardHandler), Protocols: []ipc.Protocol{{Name: containersName, Version: 1,
			Methods: map[string]ipc.Handler{"startContainers": n.start, "stopContainers": n.stop}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	n.server = server
	n.id = yarn.NodeID{Host: "127.0.0.1", Port: int32(server.Addr().(*net.TCPAddr).Port)}
	done := make(chan error, 1)
	go func() { done <- server.Serve() }()
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			w.t.Error(err)
		}
		<-done
	})
	return n
}

func (n *fakeNode) register(memory int64, cores int32, containers ...*pb.NMContainerStatus) *pb.RegisterNodeManagerResponse {
	n.t.Helper()
	r := must(n.tracker, "registerNodeManager", &pb.RegisterNodeManagerRequest{NodeId: convert.ToNodeID(n.id), HttpPort: proto.Int32(8042),
		Resource: size(memory, cores), NmVersion: proto.String("3.5.0"), ContainerStatuses: containers}, &pb.RegisterNodeManagerResponse{})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.container, n.nm, n.last = r.ContainerTokenMasterKey, r.NmTokenMasterKey, 0
	return r
}

// beats is the next heartbeat's request.
func (n *fakeNode) beats() *pb.NodeHeartbeatRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &pb.NodeStatus{NodeId: convert.ToNodeID(n.id), ResponseId: proto.Int32(n.last), NodeHealthStatus: &pb.NodeHealthStatus{IsNodeHealthy: proto.Bool(true)}}
	for _, c := range n.running {
		s.ContainersStatuses = append(s.ContainersStatuses, proto.Clone(c).(*pb.ContainerStatus))
	}
	return &pb.NodeHeartbeatRequest{NodeStatus: s, LastKnownContainerTokenMasterKey: n.container, LastKnownNmTokenMasterKey: n.nm}
}

// beat sends a heartbeat and does what the answer says.
func (n *fakeNode) beat() *pb.NodeHeartbeatResponse {
	n.t.Helper()
	r := must(n.tracker, "nodeHeartbeat", n.beats(), &pb.NodeHeartbeatResponse{})
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.GetNodeAction() == pb.NodeAction_NODE_ACTION_NORMAL {
		n.last = r.GetResponseId()
	}
	for _, id := range convert.ContainerIDs(r.ContainersToBeRemovedFromNm) {
		delete(n.running, id)
	}
	for _, id := range convert.ContainerIDs(r.ContainersToCleanup) {
		n.end(id, -107)
	}
	return r
}

// finish lets a container's process end.
func (n *fakeNode) finish(id yarn.ContainerID, exit int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.end(id, exit)
}

func (n *fakeNode) end(id yarn.ContainerID, exit int32) {
	if c := n.running[id]; c != nil && c.GetState() != pb.ContainerState_C_COMPLETE {
		c.State, c.ExitStatus = pb.ContainerState_C_COMPLETE.Enum(), &exit
	}
}

// Password implements ipc.Tokens: node tokens for this node, by the key it knows.
func (n *fakeNode) Password(identifier []byte) ([]byte, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, err := token.ParseNM(identifier)
	if err != nil || id.Node != n.id || id.KeyID != n.nm.GetKeyId() {
		return nil, "", &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: fmt.Sprintf("not a token for %s: %v %v", n.id, id, err)}
	}
	return token.Sign(n.nm.GetBytes(), identifier), id.User(), nil
}

func (n *fakeNode) start(c *ipc.Call) {
	m, out := &pb.StartContainersRequest{}, &pb.StartContainersResponse{}
	if err := proto.Unmarshal(c.Body, m); err != nil {
		c.Fail(err)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range m.StartContainerRequest {
		id, err := n.accept(c, r)
		if err != nil {
			out.FailedRequests = append(out.FailedRequests, &pb.ContainerExceptionMap{ContainerId: convert.ToContainerID(id),
				Exception: &pb.SerializedException{Message: proto.String(err.Error()), ClassName: proto.String(yarnException)}})
			continue
		}
		out.SucceededRequests = append(out.SucceededRequests, convert.ToContainerID(id))
	}
	b, err := proto.Marshal(out)
	if err != nil {
		c.Fail(err)
		return
	}
	c.Reply(b)
}

// accept checks a container's token as a node does.
func (n *fakeNode) accept(c *ipc.Call, r *pb.StartContainerRequest) (yarn.ContainerID, error) {
	identifier := append([]byte(nil), r.GetContainerToken().GetIdentifier()...)
	t, err := token.ParseContainer(identifier, yarn.BasicResourceTypes())
	switch {
	case err != nil:
		return t.ID, err
	case !token.Verify(n.container.GetBytes(), identifier, r.GetContainerToken().GetPassword()):
		return t.ID, fmt.Errorf("the token of %s is not signed with key %d", t.ID, n.container.GetKeyId())
	case t.NodeAddress != n.id.String():
		return t.ID, fmt.Errorf("the token of %s is for %s", t.ID, t.NodeAddress)
	case c.Caller.User != t.ID.Attempt.String():
		return t.ID, fmt.Errorf("%s is started by %s", t.ID, c.Caller.User)
	case n.refuse != "":
		return t.ID, fmt.Errorf("%s", n.refuse)
	}
	n.running[t.ID] = &pb.ContainerStatus{ContainerId: convert.ToContainerID(t.ID), State: pb.ContainerState_C_RUNNING.Enum(), ExitStatus: proto.Int32(-1000)}
	n.started <- run{t.ID.Attempt, t, r.GetContainerToken().GetService(), proto.Clone(r.ContainerLaunchContext).(*pb.ContainerLaunchContext)}
	return t.ID, nil
}

func (n *fakeNode) stop(c *ipc.Call) {
	m, out := &pb.StopContainersRequest{}, &pb.StopContainersResponse{}
	if err := proto.Unmarshal(c.Body, m); err != nil {
		c.Fail(err)
		return
	}
	for _, id := range convert.ContainerIDs(m.ContainerId) {
		n.finish(id, -105)
		n.stopped <- id
		out.SucceededRequests = append(out.SucceededRequests, convert.ToContainerID(id))
	}
	b, err := proto.Marshal(out)
	if err != nil {
		c.Fail(err)
		return
	}
	c.Reply(b)
}

// fakeMaster is an attempt's master, logged in with its token.
type fakeMaster struct {
	caller
	run
	response int32
}

// launched waits for the master's container and logs in as it would.
func (n *fakeNode) launched() *fakeMaster {
	n.t.Helper()
	n.beat()
	r, ok := receive(n.started)
	if !ok {
		n.t.Fatal("no master was launched")
	}
	credentials, err := token.ParseCredentials(r.spec.Tokens)
	if err != nil {
		n.t.Fatal(err)
	}
	login, ok := credentials.Token("")
	if !ok || login.Kind != token.KindAMRM {
		n.t.Fatalf("no login token under the empty alias: %v", credentials.Tokens)
	}
	return &fakeMaster{caller: n.w.master(login), run: r}
}

func (w *world) master(t token.Token) caller {
	return w.login(masterPort, masterName, ipc.Credentials{User: operator, Tokens: func(string) *ipc.Token {
		return &ipc.Token{Identifier: t.Identifier, Password: t.Password, Kind: t.Kind, Service: t.Service}
	}})
}

func (m *fakeMaster) register() *pb.RegisterApplicationMasterResponse {
	m.t.Helper()
	m.response = 0
	return must(m.caller, "registerApplicationMaster", &pb.RegisterApplicationMasterRequest{Host: proto.String("127.0.0.1"), RpcPort: proto.Int32(4321),
		TrackingUrl: proto.String("http://127.0.0.1:4322/")}, &pb.RegisterApplicationMasterResponse{})
}

// allocate sends the master's heartbeat with what it asks for and gives back.
func (m *fakeMaster) allocate(q *pb.AllocateRequest) *pb.AllocateResponse {
	m.t.Helper()
	q.ResponseId = proto.Int32(m.response)
	r := must(m.caller, "allocate", q, &pb.AllocateResponse{})
	m.response = r.GetResponseId()
	return r
}

// gets asks until so many containers were granted.
func (m *fakeMaster) gets(n *fakeNode, count int, q *pb.AllocateRequest) (out []*pb.Container, tokens []*pb.NMToken) {
	m.t.Helper()
	until(m.t, fmt.Sprintf("%d containers", count), func() bool {
		r := m.allocate(q)
		q = &pb.AllocateRequest{}
		out, tokens = append(out, r.AllocatedContainers...), append(tokens, r.NmTokens...)
		if len(out) < count {
			n.beat()
		}
		return len(out) >= count
	})
	return out, tokens
}

// finish says good-bye until the ResourceManager has written it down.
func (m *fakeMaster) finish(status pb.FinalApplicationStatus) {
	m.t.Helper()
	until(m.t, "an unregistered master", func() bool {
		return must(m.caller, "finishApplicationMaster", &pb.FinishApplicationMasterRequest{FinalApplicationStatus: status.Enum(),
			Diagnostics: proto.String("that was it")}, &pb.FinishApplicationMasterResponse{}).GetIsUnregistered()
	})
}

// asks is a row for any place.
func asks(count int32, memory int64) *pb.AllocateRequest {
	return &pb.AllocateRequest{Ask: []*pb.ResourceRequest{{Priority: convert.ToPriority(1), ResourceName: proto.String("*"), Capability: size(memory, 1),
		NumContainers: &count, RelaxLocality: proto.Bool(true), AllocationRequestId: proto.Int64(7)}}}
}
