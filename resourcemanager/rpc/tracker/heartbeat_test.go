package tracker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/secrets"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// desk stands for the loop: it records commands and answers each at once.
type desk struct {
	done   loop.Done
	got    []engine.Command
	answer func(engine.Command) any
}

func (d *desk) Expect(done loop.Done) engine.Ticket { d.done = done; return 1 }

func (d *desk) Post(c engine.Command) {
	d.got = append(d.got, c)
	d.done(d.answer(c), nil)
}

var (
	types = yarn.BasicResourceTypes()
	nodeA = yarn.NodeID{Host: "127.0.0.9", Port: 45454}
	app   = yarn.ApplicationID{ClusterTimestamp: 1795315478047, Sequence: 26}
	first = yarn.ContainerID{Attempt: yarn.AttemptID{Application: app, Attempt: 1}, Number: 1}
)

func config(d *desk) Config {
	roll := secrets.Rolling{Interval: 24 * time.Hour, Delay: 15 * time.Minute}
	return Config{Loop: d, Types: types, HeartbeatMillis: 1000,
		ContainerKeys: secrets.NewContainers(roll, types, time.Now()), NodeKeys: secrets.NewNM(roll, time.Now()),
		ContainerToken: func(g engine.Grant) token.Token {
			return token.Token{Identifier: []byte(g.ID.String()), Password: []byte("secret"), Kind: "ContainerToken", Service: "n:1"}
		}}
}

// rig is the protocol on a port of its own, and a node that calls it.
func rig(t *testing.T, d *desk) (call func([]byte) ([]byte, error), cfg Config) {
	cfg = config(d)
	server, err := ipc.Listen(ipc.ServerConfig{Name: "tracker", Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodSimple}, Protocols: []ipc.Protocol{New(cfg).Protocol}})
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve()
	client := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "nm"}})
	t.Cleanup(func() {
		client.Close()
		server.Close(context.Background())
	})
	return func(b []byte) ([]byte, error) {
		return client.Call(context.Background(), server.Addr().String(), Name, "nodeHeartbeat", b)
	}, cfg
}

func encoded(t testing.TB, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func beat(id int32, statuses ...*pb.ContainerStatus) *pb.NodeHeartbeatRequest {
	return &pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{NodeId: convert.ToNodeID(nodeA), ResponseId: &id, ContainersStatuses: statuses,
		KeepAliveApplications: []*pb.ApplicationId{convert.ToApplicationID(app)},
		NodeHealthStatus:      &pb.NodeHealthStatus{IsNodeHealthy: proto.Bool(false), HealthReport: proto.String("disk"), LastHealthReportTime: proto.Int64(5)},
		NodeUtilization:       &pb.ResourceUtilization{Pmem: proto.Int32(3), Cpu: proto.Float32(0.5)}}}
}

// TestCommand: what the engine gets of a heartbeat.
func TestCommand(t *testing.T) {
	d := &desk{answer: func(engine.Command) any { return &engine.HeartbeatReply{ResponseID: 8} }}
	call, _ := rig(t, d)
	ended := &pb.ContainerStatus{ContainerId: convert.ToContainerID(first), State: pb.ContainerState_C_COMPLETE.Enum(), ExitStatus: proto.Int32(143), Diagnostics: proto.String("killed")}
	m := beat(7, ended, &pb.ContainerStatus{})
	odd := &pb.Resource{ResourceValueMap: []*pb.ResourceInformation{{Key: proto.String("no such resource"), Value: proto.Int64(1)}}}
	m.NodeStatus.IncreasedContainers = []*pb.Container{{Id: convert.ToContainerID(first), Resource: odd},
		{Id: convert.ToContainerID(first), Resource: convert.ToResource(yarn.NewResource(2048, 2), types), Version: proto.Int32(3)}}
	if _, err := call(encoded(t, m)); err != nil {
		t.Fatal(err)
	}
	c := d.got[0].(*engine.Heartbeat)
	if c.Node != nodeA || c.ResponseID != 7 || c.Health != (engine.Health{Report: "disk", At: 5}) || c.NodeUse != (engine.Utilization{PhysicalMemoryMB: 3, CPU: 0.5}) {
		t.Errorf("command %+v", c)
	}
	want := []engine.ContainerStatus{{ID: first, Complete: true, ExitStatus: 143, Diagnostics: "killed"}, {ExitStatus: -1000, Diagnostics: "N/A"}}
	if len(c.Containers) != 2 || c.Containers[0] != want[0] || c.Containers[1] != want[1] || len(c.KeepAlive) != 1 || c.KeepAlive[0] != app {
		t.Errorf("containers %+v, keep %v", c.Containers, c.KeepAlive)
	}
	if len(c.Increased) != 1 || c.Increased[0] != (engine.Increased{Container: first, Resource: yarn.NewResource(2048, 2)}) {
		t.Errorf("increased %+v", c.Increased)
	}
}

// TestLabelsNamed: what the engine gets of the labels that a node names, if it
// names any.
func TestLabelsNamed(t *testing.T) {
	d := &desk{answer: func(engine.Command) any { return &engine.HeartbeatReply{} }}
	call, _ := rig(t, d)
	named := func(names ...string) *pb.NodeLabels {
		m := &pb.NodeLabels{}
		for _, name := range names {
			m.NodeLabels = append(m.NodeLabels, &pb.NodeLabel{Name: proto.String(name)})
		}
		return m
	}
	for i, c := range []struct {
		says *pb.NodeLabels
		want string
	}{{nil, "nothing"}, {named(), ""}, {named("gpu"), "gpu"}, {named("x", "y", "x"), "x y"}} {
		m := beat(int32(i))
		m.NodeLabels = c.says
		if _, err := call(encoded(t, m)); err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		if l := d.got[i].(*engine.Heartbeat).Labels; l != nil {
			got = strings.Join(*l, " ")
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.says, got, c.want)
		}
	}
	m := beat(1)
	m.NodeLabels = named(make([]string, maxLabels+1)...)
	if _, err := call(encoded(t, m)); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("too many labels: %v", err)
	}
}

// TestMalformed: a malformed heartbeat is refused and not posted.
func TestMalformed(t *testing.T) {
	d := &desk{}
	call, _ := rig(t, d)
	for text, body := range map[string][]byte{
		"cannot read the request": {0x0a, 0x05, 0x01},
		"more than 20000":         encoded(t, beat(1, make([]*pb.ContainerStatus, MaxContainers+1)...)),
	} {
		var remote *ipc.RemoteError
		if _, err := call(body); !errors.As(err, &remote) || !strings.Contains(remote.Message, text) {
			t.Errorf("want %q, got %v", text, err)
		}
	}
	if len(d.got) != 0 {
		t.Errorf("%d commands came of malformed requests", len(d.got))
	}
}

// TestRepeated: the same heartbeat again gets the same answer again, and one
// whose answer nobody knows is to be tried again.
func TestRepeated(t *testing.T) {
	replies := []*engine.HeartbeatReply{{Duplicate: true}, {ResponseID: 8, RemoveContainers: []yarn.ContainerID{first}}, {Duplicate: true}, {Action: engine.NodeResync}, {Duplicate: true}}
	d := &desk{answer: func(engine.Command) any { r := replies[0]; replies = replies[1:]; return r }}
	call, _ := rig(t, d)
	var answers [5][]byte
	var errs [5]error
	for i := range answers {
		answers[i], errs[i] = call(encoded(t, beat(7)))
	}
	if string(answers[2]) != string(answers[1]) || len(answers[1]) == 0 || errs[2] != nil {
		t.Errorf("first %x, again %x, %v", answers[1], answers[2], errs[2])
	}
	for _, i := range []int{0, 4} {
		var remote *ipc.RemoteError
		if !errors.As(errs[i], &remote) || remote.Class != ipc.ClassRetriable {
			t.Errorf("repeated without an answer to repeat: %x, %v", answers[i], errs[i])
		}
	}
}

// TestAnswer compares an answer that has everything with the message that says so.
func TestAnswer(t *testing.T) {
	d := &desk{}
	cfg := config(d)
	total := yarn.NewResource(2048, 2)
	grant := engine.Grant{ID: first, Node: nodeA, NodeHTTPAddress: "n:8042", Resource: total, Priority: 3, AllocationRequestID: -1, Execution: yarn.Opportunistic, Version: 2}
	second := first
	second.Number = 1<<40 + 2
	r := &engine.HeartbeatReply{Action: engine.NodeShutdown, Diagnostics: "go", LabelsAccepted: true, ResponseID: 1 << 30, CleanupContainers: []yarn.ContainerID{first, second},
		CleanupApplications: []yarn.ApplicationID{app}, RemoveContainers: []yarn.ContainerID{second}, Signals: []engine.SignalContainer{{Container: first, Signal: 3}},
		Updates: []engine.UpdatedContainer{{Type: yarn.DecreaseResource, Grant: grant}, {Type: yarn.IncreaseResource, Grant: grant}}, Total: &total}
	changed := &pb.Container{Id: convert.ToContainerID(first), NodeId: convert.ToNodeID(nodeA), NodeHttpAddress: &grant.NodeHTTPAddress,
		Resource: convert.ToResource(total, types), Priority: convert.ToPriority(3), ContainerToken: rpc.ToToken(cfg.ContainerToken(grant)),
		ExecutionType: pb.ExecutionType_OPPORTUNISTIC.Enum(), Version: &grant.Version, AllocationRequestId: &grant.AllocationRequestID}
	key, node := cfg.ContainerKeys.Current(), cfg.NodeKeys.Current()
	want := &pb.NodeHeartbeatResponse{ResponseId: &r.ResponseID, NodeAction: pb.NodeAction_SHUTDOWN.Enum(), NextHeartBeatInterval: proto.Int64(1000), DiagnosticsMessage: proto.String("go"), AreNodeLabelsAcceptedByRM: proto.Bool(true),
		ContainerTokenMasterKey: &pb.MasterKey{KeyId: &key.ID, Bytes: key.Bytes}, NmTokenMasterKey: &pb.MasterKey{KeyId: &node.ID, Bytes: node.Bytes},
		ContainersToCleanup: convert.ToContainerIDs(r.CleanupContainers), ContainersToBeRemovedFromNm: convert.ToContainerIDs(r.RemoveContainers),
		ApplicationsToCleanup: []*pb.ApplicationId{convert.ToApplicationID(app)},
		ContainersToSignal:    []*pb.SignalContainerRequest{{ContainerId: convert.ToContainerID(first), Command: pb.SignalContainerCommand_FORCEFUL_SHUTDOWN.Enum()}},
		Resource:              convert.ToResource(total, types),
		ContainersToDecrease:  []*pb.Container{changed}, ContainersToUpdate: []*pb.Container{changed, changed}}
	tr := &tracker{Config: cfg}
	if got, want := tr.appendAnswer(nil, knownKeys{}, r), encoded(t, want); string(got) != string(want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	known := knownKeys{key.ID, node.ID}
	want = &pb.NodeHeartbeatResponse{ResponseId: proto.Int32(1), NodeAction: pb.NodeAction_NODE_ACTION_NORMAL.Enum(), NextHeartBeatInterval: proto.Int64(1000)}
	if got, want := tr.appendAnswer(nil, known, &engine.HeartbeatReply{ResponseID: 1}), encoded(t, want); string(got) != string(want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

// BenchmarkAnswer is the answer to an everyday heartbeat.
func BenchmarkAnswer(b *testing.B) {
	cfg := config(&desk{})
	t := &tracker{Config: cfg}
	known := knownKeys{cfg.ContainerKeys.Current().ID, cfg.NodeKeys.Current().ID}
	r := &engine.HeartbeatReply{ResponseID: 41, RemoveContainers: []yarn.ContainerID{first}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = t.appendAnswer(dst[:0], known, r)
		t.last.Keep(nodeA, dst)
	}
}
