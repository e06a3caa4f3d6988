package master

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

var (
	types   = yarn.BasicResourceTypes()
	nodeA   = yarn.NodeID{Host: "127.0.0.9", Port: 45454}
	attempt = yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1795315478047, Sequence: 26}, Attempt: 1}
)

// purse makes tokens for tests; an NM token only for the first container's node.
type purse struct{ renew bool }

func (purse) ContainerToken(g engine.Grant) token.Token {
	return token.Token{Identifier: []byte(g.ID.String()), Password: []byte("secret"), Kind: token.KindContainer, Service: g.Node.String()}
}

func (purse) NodeToken(_ yarn.AttemptID, g engine.Grant) (token.Token, bool) {
	return token.Token{Identifier: []byte("nm"), Password: []byte("p"), Kind: token.KindNM, Service: "s"}, g.ID.Number == 1
}

func (purse) MasterRegistered(yarn.AttemptID) {}

func (p purse) RenewedLogin(yarn.AttemptID, []byte) (token.Token, bool) {
	return token.Token{Identifier: []byte("login"), Password: []byte("p"), Kind: "k", Service: "s"}, p.renew
}

func grant(number int64) engine.Grant {
	return engine.Grant{ID: yarn.ContainerID{Attempt: attempt, Number: number}, Node: nodeA, NodeHTTPAddress: "n:8042", User: "bench",
		Resource: yarn.NewResource(1024, 1), Priority: 3, AllocationRequestID: -1, Version: 1}
}

// TestAnswer compares an answer that has everything with the message that says so.
func TestAnswer(t *testing.T) {
	m := &master{Config: Config{Types: types, Grants: purse{renew: true}}}
	update := yarn.ContainerUpdate{Container: grant(1).ID, Version: 1, Type: yarn.DecreaseResource, Capability: yarn.NewResource(512, 1)}
	r := &engine.AllocateReply{ResponseID: 5, Granted: []engine.Grant{grant(1), grant(2)}, Previous: []engine.Grant{grant(3)},
		Completed:    []engine.CompletedContainer{{ID: grant(4).ID, ExitStatus: -100, Diagnostics: "gone", Resource: yarn.NewResource(1024, 1), Execution: yarn.Opportunistic}},
		Updated:      []engine.UpdatedContainer{{Type: yarn.DecreaseResource, Grant: grant(5)}},
		UpdateErrors: []engine.UpdateError{{Update: update, Reason: "INCORRECT_CONTAINER_VERSION_ERROR", CurrentVersion: 2}},
		Nodes:        []*view.Node{{ID: nodeA, State: yarn.NodeLost}},
		Headroom:     yarn.NewResource(1<<35, -1), ClusterNodes: 200, Priority: 7, Pending: 3, ActiveCores: 9}
	want := &pb.AllocateResponse{ResponseId: &r.ResponseID, Limit: convert.ToResource(r.Headroom, types), NumClusterNodes: &r.ClusterNodes,
		ApplicationPriority: convert.ToPriority(7), EnhancedHeadroom: &pb.EnhancedHeadroom{TotalPendingCount: &r.Pending, TotalActiveCores: &r.ActiveCores},
		AllocatedContainers:            []*pb.Container{m.container(grant(1)), m.container(grant(2))},
		ContainersFromPreviousAttempts: []*pb.Container{m.container(grant(3))}, NmTokens: []*pb.NMToken{m.nodeToken(attempt, grant(1))},
		UpdatedContainers: []*pb.UpdatedContainer{{UpdateType: pb.ContainerUpdateType_DECREASE_RESOURCE.Enum(), Container: m.container(grant(5))}},
		UpdateErrors:      []*pb.UpdateContainerError{m.updateError(r.UpdateErrors[0])},
		CompletedContainerStatuses: []*pb.ContainerStatus{{ContainerId: convert.ToContainerID(grant(4).ID), State: pb.ContainerState_C_COMPLETE.Enum(),
			Diagnostics: proto.String("gone"), ExitStatus: proto.Int32(-100), Capability: convert.ToResource(yarn.NewResource(1024, 1), types),
			ExecutionType: pb.ExecutionType_OPPORTUNISTIC.Enum()}}}
	if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(rpc.AppendNodeReport(nil, 6, r.Nodes[0], types), want); err != nil { // adds the node's report
		t.Fatal(err)
	}
	r.Preempt = make([]yarn.ContainerID, 20) // a message of more than 127 bytes
	want.Preempt = &pb.PreemptionMessage{StrictContract: &pb.StrictPreemptionContract{}}
	for i := range r.Preempt {
		r.Preempt[i] = grant(int64(i)).ID
		want.Preempt.StrictContract.Container = append(want.Preempt.StrictContract.Container, &pb.PreemptionContainer{Id: convert.ToContainerID(r.Preempt[i])})
	}
	login, _ := m.Grants.RenewedLogin(attempt, nil)
	want.AmRmToken = rpc.ToToken(login)
	check(t, m, r, want)
	m.Grants = purse{}
	empty := &pb.AllocateResponse{ResponseId: proto.Int32(0), Limit: convert.ToResource(yarn.Resource{}, types), NumClusterNodes: proto.Int32(0),
		ApplicationPriority: convert.ToPriority(0), EnhancedHeadroom: &pb.EnhancedHeadroom{TotalPendingCount: proto.Int32(0), TotalActiveCores: proto.Int32(0)}}
	check(t, m, &engine.AllocateReply{}, empty)
	empty.Preempt = &pb.PreemptionMessage{StrictContract: &pb.StrictPreemptionContract{}}
	check(t, m, &engine.AllocateReply{Preempt: []yarn.ContainerID{}}, empty)
}

func check(t *testing.T, m *master, r *engine.AllocateReply, want proto.Message) {
	t.Helper()
	rare, err := m.rare(r)
	if err != nil {
		t.Fatal(err)
	}
	expected, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.appendAnswer(nil, &ipc.Call{Caller: &ipc.Identity{}}, attempt, r, &rare); string(got) != string(expected) {
		t.Errorf("got  %x\nwant %x", got, expected)
	}
}

// BenchmarkAnswer is an answer with ten containers, made-up tokens included.
func BenchmarkAnswer(b *testing.B) {
	m := &master{Config: Config{Types: types, Grants: purse{}}}
	r := &engine.AllocateReply{ResponseID: 5, Headroom: yarn.NewResource(1<<20, 100), ClusterNodes: 200}
	for i := range 10 {
		r.Granted = append(r.Granted, grant(int64(i)))
	}
	c := &ipc.Call{Caller: &ipc.Identity{}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = m.appendAnswer(dst[:0], c, attempt, r, &rareParts{})
		m.last.Keep(attempt, dst)
	}
}
