package nodemanager

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

var types = yarn.ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}}

// manager is a ResourceManager that does what a test says: it takes nodes, hears heartbeats and gives out keys.
type manager struct {
	t      testing.TB
	port   *ipc.Server
	issuer int64

	mu            sync.Mutex
	containerKey  secrets.Key
	nodeKey       secrets.Key
	registrations []*pb.RegisterNodeManagerRequest
	beats         int // since the last registration
	all           int // heartbeats ever
	status        *pb.NodeStatus
	heard         map[yarn.ContainerID][]*pb.ContainerStatus // each status that differs from the one before
	logs          []*pb.LogAggregationReport
	orders        *pb.NodeHeartbeatResponse // for the next answer
	left          int                       // good-byes
	label         string                    // the node's, as it was told last; "none"
}

func newManager(t testing.TB, issuer int64) *manager {
	m := &manager{t: t, issuer: issuer, heard: map[yarn.ContainerID][]*pb.ContainerStatus{}, orders: &pb.NodeHeartbeatResponse{},
		containerKey: secrets.Key{ID: 100, Bytes: []byte("the first container key")}, nodeKey: secrets.Key{ID: 200, Bytes: []byte("the first node key")}}
	var err error
	m.port, err = ipc.Listen(ipc.ServerConfig{Name: "resource tracker", Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodSimple},
		Log: slog.New(slog.DiscardHandler), Protocols: []ipc.Protocol{{Name: "org.apache.hadoop.yarn.server.api.ResourceTrackerPB", Version: 1, Methods: map[string]ipc.Handler{
			"registerNodeManager": serve.With(func() *pb.RegisterNodeManagerRequest { return &pb.RegisterNodeManagerRequest{} }, m.register),
			"nodeHeartbeat":       serve.With(func() *pb.NodeHeartbeatRequest { return &pb.NodeHeartbeatRequest{} }, m.beat),
			"unRegisterNodeManager": serve.With(func() *pb.UnRegisterNodeManagerRequest { return &pb.UnRegisterNodeManagerRequest{} }, func(c *ipc.Call, _ *pb.UnRegisterNodeManagerRequest) {
				m.with(func() { m.left++ })
				serve.Answer(c, &pb.UnRegisterNodeManagerResponse{})
			})}}}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.port.Serve() }()
	t.Cleanup(func() {
		m.port.Close(context.Background())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return m
}

func (m *manager) with(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

func masterKey(k secrets.Key) *pb.MasterKey { return &pb.MasterKey{KeyId: &k.ID, Bytes: k.Bytes} }

func (m *manager) register(c *ipc.Call, r *pb.RegisterNodeManagerRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registrations = append(m.registrations, r)
	m.beats = 0
	m.noteLabel(r.GetNodeLabels())
	serve.Answer(c, &pb.RegisterNodeManagerResponse{NodeAction: pb.NodeAction_NODE_ACTION_NORMAL.Enum(), RmIdentifier: &m.issuer, RmVersion: proto.String("3.5.0"),
		ContainerTokenMasterKey: masterKey(m.containerKey), NmTokenMasterKey: masterKey(m.nodeKey)})
}

func (m *manager) beat(c *ipc.Call, r *pb.NodeHeartbeatRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beats++
	m.all++
	m.status = r.GetNodeStatus()
	m.noteLabel(r.GetNodeLabels())
	for _, s := range m.status.GetContainersStatuses() {
		id := convert.ContainerID(s.GetContainerId())
		if past := m.heard[id]; len(past) == 0 || !proto.Equal(past[len(past)-1], s) {
			m.heard[id] = append(past, s)
		}
	}
	m.logs = append(m.logs, r.GetLogAggregationReportsForApps()...)
	out := m.orders
	m.orders = &pb.NodeHeartbeatResponse{}
	out.ResponseId, out.NextHeartBeatInterval = proto.Int32(m.status.GetResponseId()+1), proto.Int64(20)
	if out.NodeAction == nil {
		out.NodeAction = pb.NodeAction_NODE_ACTION_NORMAL.Enum()
	}
	if r.GetLastKnownContainerTokenMasterKey().GetKeyId() != m.containerKey.ID {
		out.ContainerTokenMasterKey = masterKey(m.containerKey)
	}
	if r.GetLastKnownNmTokenMasterKey().GetKeyId() != m.nodeKey.ID {
		out.NmTokenMasterKey = masterKey(m.nodeKey)
	}
	serve.Answer(c, out)
}

// order adds to the next answer, and returns when the node has got it and reported again.
func (m *manager) order(change func(*pb.NodeHeartbeatResponse)) {
	m.t.Helper()
	m.with(func() { change(m.orders) })
	m.hear(2)
}

// hear waits for some more heartbeats.
func (m *manager) hear(n int) {
	m.t.Helper()
	var want int
	m.with(func() { want = m.all + n })
	await(m.t, "another heartbeat", func() bool { return m.all >= want }, &m.mu)
}

// roll puts new keys to use and returns when the node knows them.
func (m *manager) roll() {
	m.t.Helper()
	m.with(func() {
		m.containerKey = secrets.Key{ID: m.containerKey.ID + 1, Bytes: append([]byte("another "), m.containerKey.Bytes...)}
		m.nodeKey = secrets.Key{ID: m.nodeKey.ID + 1, Bytes: append([]byte("another "), m.nodeKey.Bytes...)}
	})
	m.hear(3)
}

// registered are the registrations so far; the last is the node as it is now.
func (m *manager) registered() []*pb.RegisterNodeManagerRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.registrations)
}

// latest is the last that was heard of a container; nil: nothing.
func (m *manager) latest(id yarn.ContainerID) *pb.ContainerStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	past := m.heard[id]
	if len(past) == 0 {
		return nil
	}
	return past[len(past)-1]
}

// states are those that were heard of a container, in order.
func (m *manager) states(id yarn.ContainerID) (out []pb.ContainerState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.heard[id] {
		out = append(out, s.GetState())
	}
	return slices.Compact(out)
}

// reports tells whether the last heartbeat spoke of a container.
func (m *manager) reports(id yarn.ContainerID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.status.GetContainersStatuses(), func(s *pb.ContainerStatus) bool { return convert.ContainerID(s.GetContainerId()) == id })
}

// health is what the last heartbeat said about the node.
func (m *manager) health() (healthy bool, report string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.status.GetNodeHealthStatus()
	return h.GetIsNodeHealthy(), h.GetHealthReport()
}

// acknowledge tells the node that ends have been heard.
func (m *manager) acknowledge(ids ...yarn.ContainerID) {
	m.t.Helper()
	m.order(func(r *pb.NodeHeartbeatResponse) { r.ContainersToBeRemovedFromNm = convert.ToContainerIDs(ids) })
}

func (m *manager) finish(app yarn.ApplicationID) {
	m.t.Helper()
	m.order(func(r *pb.NodeHeartbeatResponse) {
		r.ApplicationsToCleanup = []*pb.ApplicationId{convert.ToApplicationID(app)}
	})
}

// admit is a container's token with a signature of the key in use.
func (m *manager) admit(what token.Container) *pb.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	if what.KeyID == 0 {
		what.KeyID = m.containerKey.ID
	}
	id := what.Append(nil, types)
	return &pb.Token{Identifier: id, Password: token.Sign(m.containerKey.Bytes, id), Kind: proto.String(token.KindContainer), Service: proto.String("")}
}

// introduce is a node token with a signature of the key in use.
func (m *manager) introduce(who token.NM) *ipc.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	if who.KeyID == 0 {
		who.KeyID = m.nodeKey.ID
	}
	id := who.Append(nil)
	return &ipc.Token{Identifier: id, Password: token.Sign(m.nodeKey.Bytes, id), Kind: token.KindNM}
}
