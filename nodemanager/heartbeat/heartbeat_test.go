package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// A registration tells of the node and of everything on it; its answer brings keys, the issuer of tokens and perhaps a size.
func TestRegister(t *testing.T) {
	play(t, func(w *world) {
		w.start(1, 2)
		w.loop.Post(engine.Exited{ID: number(2), Code: 3, Text: "broken"})
		old := yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}}, Number: 1}
		w.loop.Post(engine.Start{Container: engine.Spec{ID: old, User: "ann"}})
		w.loop.Post(engine.Orders{Finish: []yarn.ApplicationID{old.Attempt.Application}})
		w.pass(time.Second) // it is killed
		w.loop.Post(engine.Cleared{Application: old.Attempt.Application})
		w.sync()
		w.slow = time.Second
		w.loop.Post(engine.Start{Container: engine.Spec{ID: number(3), User: "ann"}}) // accepted, and not shown yet
		w.register = func(string, *pb.RegisterNodeManagerRequest) (*pb.RegisterNodeManagerResponse, error) {
			if w.r.Issuer() != 0 {
				t.Error("containers may start during the registration")
			}
			out := registered()
			out.Resource = convert.ToResource(yarn.NewResource(4096, 4), types)
			return out, nil
		}
		w.run()
		w.pass(3 * time.Second)
		m := w.registrations[0]
		if convert.NodeID(m.NodeId) != node || m.GetHttpPort() != 8042 || m.GetNmVersion() != "3.5.0" || m.Resource.GetMemory() != 8192 || m.PhysicalResource.GetMemory() != 16384 {
			t.Errorf("the node: %v", m)
		}
		if h := m.NodeStatus.NodeHealthStatus; !h.GetIsNodeHealthy() || h.GetHealthReport() != "fine" || h.GetLastHealthReportTime() != 77 || m.NodeStatus.GetResponseId() != 0 {
			t.Errorf("its health: %v", m.NodeStatus)
		}
		if len(m.RunningApplications) != 1 || convert.ApplicationID(m.RunningApplications[0]) != app {
			t.Errorf("its applications: %v", m.RunningApplications)
		}
		if len(m.ContainerStatuses) != 4 {
			t.Fatalf("its containers: %v", m.ContainerStatuses)
		}
		one, two := m.ContainerStatuses[1], m.ContainerStatuses[2]
		if one.GetContainerState() != pb.ContainerState_C_RUNNING || one.GetContainerExitStatus() != -1000 || one.Priority.GetPriority() != 3 || one.GetCreationTime() != 9 ||
			one.GetNodeLabelExpression() != "gpu" || one.GetAllocationRequestId() != 4 || !slices.Equal(one.AllocationTags, []string{"tag"}) || one.Resource.GetMemory() != 1024 {
			t.Errorf("a running one: %v", one)
		}
		if two.GetContainerState() != pb.ContainerState_C_COMPLETE || two.GetContainerExitStatus() != 3 || !strings.Contains(two.GetDiagnostics(), "broken") {
			t.Errorf("an ended one: %v", two)
		}
		if c, n, ok := w.keys.Current(); w.r.Issuer() != issuer || c != 5 || n != 6 || !ok {
			t.Errorf("issuer %d, keys %d %d %v", w.r.Issuer(), c, n, ok)
		}
		if len(w.resized) != 1 || w.resized[0] != yarn.NewResource(4096, 4) {
			t.Errorf("resized: %v", w.resized)
		}
	})
}

// Heartbeats count on from the last answer, come when they are due, and tell of every container until its end has been heard.
func TestBeats(t *testing.T) {
	play(t, func(w *world) {
		w.start(1, 2)
		w.total = Usage{PhysicalMB: 10, VirtualMB: math.MaxInt64, CPU: 1.5}
		interval := int64(1000)
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			out := next(m)
			out.NextHeartBeatInterval = &interval
			return out, nil
		}
		w.run()
		w.pass(2500 * time.Millisecond)
		if n := w.count(); n != 3 || w.at[1] != time.Second || w.at[2] != 2*time.Second {
			t.Fatalf("heartbeats at %v", w.at)
		}
		for i, m := range w.beats {
			if m.NodeStatus.GetResponseId() != int32(i) || len(m.NodeStatus.ContainersStatuses) != 2 || m.LastKnownContainerTokenMasterKey.GetKeyId() != 5 || m.LastKnownNmTokenMasterKey.GetKeyId() != 6 {
				t.Errorf("heartbeat %d: %v", i, m)
			}
		}
		if u := w.last().NodeStatus; u.ContainersUtilization.GetPmem() != 10 || u.ContainersUtilization.GetVmem() != math.MaxInt32 || u.ContainersUtilization.GetCpu() != 1.5 || u.NodeUtilization.GetVmem() != 2 {
			t.Errorf("usage: %v", u)
		}
		w.loop.Post(engine.Exited{ID: number(1), Code: 4})
		w.pass(3 * time.Second)
		if s := w.last().NodeStatus.ContainersStatuses; len(s) != 2 || s[0].GetState() != pb.ContainerState_C_COMPLETE || s[0].GetExitStatus() != 4 {
			t.Errorf("an end of which nobody has heard: %v", s)
		}
		w.loop.Post(engine.Orders{Forget: []yarn.ContainerID{number(1)}})
		for _, x := range []struct {
			asked int64
			want  time.Duration
		}{{3000, 3 * time.Second}, {1, 10 * time.Millisecond}, {0, 10 * time.Millisecond}, {-1, 10 * time.Millisecond}, {math.MaxInt64, 10 * time.Minute}} {
			interval = x.asked
			n := w.count()
			for w.count() == n {
				w.pass(time.Millisecond)
			}
			for w.count() == n+1 {
				w.pass(time.Millisecond)
			}
			if got := w.at[n+1] - w.at[n]; got != x.want {
				t.Errorf("asked for %d ms: the next came after %v", x.asked, got)
			}
		}
		if s := w.last().NodeStatus.ContainersStatuses; len(s) != 1 {
			t.Errorf("an end of which everybody has heard: %v", s)
		}
	})
}

// A container's end is told soon, and many ends at once are told together.
func TestSoon(t *testing.T) {
	play(t, func(w *world) {
		w.start(1, 2, 3, 4)
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			out := next(m)
			out.NextHeartBeatInterval = proto.Int64(600_000)
			return out, nil
		}
		w.run()
		for n := range int64(3) {
			w.loop.Post(engine.Exited{ID: number(n + 1)})
		}
		w.pass(time.Second)
		if w.count() != 2 || w.at[1] != hurry {
			t.Fatalf("heartbeats at %v", w.at)
		}
		ended := 0
		for _, s := range w.last().NodeStatus.ContainersStatuses {
			if s.GetState() == pb.ContainerState_C_COMPLETE {
				ended++
			}
		}
		if ended != 3 {
			t.Errorf("%d ends in one heartbeat", ended)
		}
		w.pass(30 * time.Second)
		if w.count() != 2 {
			t.Errorf("what has been told is told again: %v", w.at)
		}
		w.loop.Post(engine.Exited{ID: number(4)})
		synctest.Wait()
		if w.count() != 3 {
			t.Errorf("an end long after a heartbeat is not told at once: %v", w.at)
		}
	})
}

// What a heartbeat orders is done.
func TestOrders(t *testing.T) {
	play(t, func(w *world) {
		w.start(1, 2, 3, 4, 5, 6)
		w.loop.Post(engine.Exited{ID: number(2)})
		doomed := yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}}, Number: 1}
		w.loop.Post(engine.Start{Container: engine.Spec{ID: doomed, User: "ann"}})
		w.sync()
		updated := func(n int64, version int32, memory int64) *pb.Container {
			return &pb.Container{Id: convert.ToContainerID(number(n)), Resource: convert.ToResource(yarn.NewResource(memory, 1), types), Version: &version}
		}
		identifier := func(n int64) []byte {
			c := token.Container{ID: number(n), NodeAddress: node.String(), Submitter: "ann", Resource: yarn.NewResource(512, 1), Version: 7, ExecutionType: yarn.Opportunistic, AllocationRequestID: -1}
			return c.Append(nil, types)
		}
		withToken := func(n, of int64) *pb.Container {
			return &pb.Container{Id: convert.ToContainerID(number(n)), ContainerToken: &pb.Token{Identifier: identifier(of), Password: []byte{}, Kind: proto.String(""), Service: proto.String("")}}
		}
		broken := withToken(6, 6)
		broken.ContainerToken.Identifier = []byte("rubbish")
		first := true
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			out := next(m)
			if first {
				first = false
				out.ContainersToCleanup = convert.ToContainerIDs([]yarn.ContainerID{number(1), number(99)})
				out.ContainersToBeRemovedFromNm = convert.ToContainerIDs([]yarn.ContainerID{number(2), number(3)})
				out.ApplicationsToCleanup = []*pb.ApplicationId{convert.ToApplicationID(doomed.Attempt.Application), {}}
				out.ContainersToSignal = []*pb.SignalContainerRequest{{ContainerId: convert.ToContainerID(number(3)), Command: pb.SignalContainerCommand_OUTPUT_THREAD_DUMP.Enum()}}
				out.ContainersToUpdate = []*pb.Container{updated(3, 1, 2048), withToken(4, 4), withToken(5, 6),
					{Id: convert.ToContainerID(number(6)), Version: proto.Int32(1)}, broken}
				out.ContainersToDecrease = []*pb.Container{updated(3, 1, 4096)}
				out.Resource = convert.ToResource(yarn.NewResource(1000, 1), types)
				out.ContainerTokenMasterKey = &pb.MasterKey{KeyId: proto.Int32(15), Bytes: []byte("x")}
				out.NmTokenMasterKey = &pb.MasterKey{KeyId: proto.Int32(16)} // no bytes
			}
			return out, nil
		}
		w.run()
		w.pass(500 * time.Millisecond)
		view := func(n int64) engine.View {
			if v := w.loop.Container(number(n)); v != nil {
				return *v
			}
			return engine.View{}
		}
		if v := view(1); v.Exit != engine.KilledByRM || !v.Done() {
			t.Errorf("to be killed: %+v", v)
		}
		if v := w.loop.Container(doomed); v == nil || v.Exit != engine.KilledAfterCompletion {
			t.Errorf("of an ended application: %+v", v)
		}
		if view(2).ID == number(2) || view(3).State != "RUNNING" {
			t.Errorf("to be forgotten: %+v, and too early: %+v", view(2), view(3))
		}
		if v := view(3); v.Resource != yarn.NewResource(2048, 1) || v.Version != 1 {
			t.Errorf("changed, twice in one version: %+v", v)
		}
		if v := view(4); v.Resource != yarn.NewResource(512, 1) || v.Version != 7 || v.Execution != yarn.Opportunistic || string(v.Spec.Token) != string(identifier(4)) {
			t.Errorf("changed by a token: %+v", v)
		}
		if view(5).Version != 0 || view(6).Version != 0 {
			t.Errorf("changed by another's token %+v, by nothing or rubbish: %+v", view(5), view(6))
		}
		if !slices.ContainsFunc(w.effects, func(x engine.Effect) bool {
			return x == engine.Effect(engine.Deliver{ID: number(3), Signal: int32(pb.SignalContainerCommand_OUTPUT_THREAD_DUMP)})
		}) {
			t.Error("no signal was sent")
		}
		if c, n, _ := w.keys.Current(); c != 15 || n != 6 || len(w.resized) != 1 {
			t.Errorf("keys %d %d, resized %v", c, n, w.resized)
		}
		w.pass(time.Second)
		if m := w.last(); m.LastKnownContainerTokenMasterKey.GetKeyId() != 15 || m.LastKnownNmTokenMasterKey.GetKeyId() != 6 {
			t.Errorf("known keys: %v", m)
		}
	})
}

// An exception, an answer that cannot be read, a connection that breaks: the heartbeat is repeated, with all that it told.
func TestRepeated(t *testing.T) {
	play(t, func(w *world) {
		w.start(1)
		w.logs = []LogReport{{app, pb.LogAggregationStatus_LOG_RUNNING, "so far"}}
		failures := []error{&ipc.RemoteError{Class: ipc.ClassIOException, Message: "not now"}, &ipc.RemoteError{Class: "java.lang.NullPointerException"}, nil}
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			if len(failures) > 0 {
				err := failures[0]
				failures = failures[1:]
				return &pb.NodeHeartbeatResponse{}, errors.Join(err)
			}
			return next(m), nil
		}
		w.run()
		w.pass(10 * time.Millisecond)
		w.loop.Post(engine.Exited{ID: number(1)})
		w.pass(900 * time.Millisecond)
		if w.count() != 1 {
			t.Errorf("a ResourceManager in trouble is hurried: %v", w.at)
		}
		w.pass(1200 * time.Millisecond)
		told := func(i int) bool { return len(w.beats[i].LogAggregationReportsForApps) == 1 }
		if w.count() != 3 || !told(0) || !told(1) || !told(2) || w.beats[2].NodeStatus.GetResponseId() != 0 {
			t.Fatalf("%d heartbeats, the last %v", w.count(), w.last())
		}
		w.pass(time.Second) // what followed a failure may have been taken for a repetition: told once more
		w.pass(time.Second)
		if w.count() != 5 || !told(3) || told(4) {
			t.Errorf("%d heartbeats, the last %v", w.count(), w.last())
		}
		select {
		case err := <-w.ended:
			t.Errorf("the node has given up: %v", err)
		default:
		}
	})
}

// An increase is told until it has surely been heard, so that it is not taken back; a decrease is not.
func TestIncreased(t *testing.T) {
	play(t, func(w *world) {
		w.start(1)
		fail := 0
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			if fail--; fail >= 0 {
				return nil, &ipc.RemoteError{Class: ipc.ClassIOException, Message: "not now"}
			}
			return next(m), nil
		}
		w.run()
		change := func(version int32, memory int64) {
			w.loop.Post(engine.Update{ID: number(1), Resource: yarn.NewResource(memory, 1), Version: version})
			w.pass(time.Second)
		}
		told := func() int64 {
			list := w.last().NodeStatus.IncreasedContainers
			if len(list) == 0 {
				return 0
			}
			return list[0].Resource.GetMemory()
		}
		w.pass(100 * time.Millisecond)
		if told() != 0 {
			t.Error("a container that has just started has not grown")
		}
		if change(1, 2048); told() != 2048 || w.last().NodeStatus.IncreasedContainers[0].GetVersion() != 1 || convert.ContainerID(w.last().NodeStatus.IncreasedContainers[0].Id) != number(1) {
			t.Errorf("increased: %v", w.last().NodeStatus)
		}
		if w.pass(time.Second); told() != 0 {
			t.Error("an increase is told again")
		}
		if change(2, 1024); told() != 0 {
			t.Error("a decrease is told")
		}
		fail = 1
		if change(3, 3072); told() != 3072 {
			t.Error("increased again")
		}
		for range 2 {
			if w.pass(time.Second); told() != 3072 {
				t.Error("an increase was not told again after a failure")
			}
		}
		if w.pass(time.Second); told() != 0 {
			t.Error("it is told for ever")
		}
		w.loop.Post(engine.Exited{ID: number(1)})
		if w.pass(time.Second); len(w.r.sizes)+len(w.r.grown) != 0 {
			t.Errorf("left: %v %v", w.r.sizes, w.r.grown)
		}
	})
}

// A ResourceManager that has forgotten the node is told of it anew; containers live on, and none starts meanwhile.
func TestResync(t *testing.T) {
	play(t, func(w *world) {
		w.start(1)
		resync := false
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			if resync {
				resync = false
				return &pb.NodeHeartbeatResponse{NodeAction: pb.NodeAction_RESYNC.Enum(), DiagnosticsMessage: proto.String("who are you?")}, nil
			}
			return next(m), nil
		}
		w.register = func(string, *pb.RegisterNodeManagerRequest) (*pb.RegisterNodeManagerResponse, error) {
			if w.r.Issuer() != 0 {
				t.Error("containers may start during the registration")
			}
			out := registered()
			out.RmIdentifier = proto.Int64(int64(len(w.registrations)))
			return out, nil
		}
		w.run()
		w.pass(2 * time.Second)
		resync = true
		w.pass(1200 * time.Millisecond)
		if len(w.registrations) != 2 || len(w.registrations[1].ContainerStatuses) != 1 || w.registrations[1].ContainerStatuses[0].GetContainerState() != pb.ContainerState_C_RUNNING {
			t.Fatalf("%v", w.registrations)
		}
		if w.r.Issuer() != 2 || w.loop.Container(number(1)).State != "RUNNING" {
			t.Errorf("issuer %d, %+v", w.r.Issuer(), w.loop.Container(number(1)))
		}
		if first := slices.IndexFunc(w.at, func(at time.Duration) bool { return at == w.at[len(w.at)-1] }); w.beats[first+1].NodeStatus.GetResponseId() != 0 {
			t.Errorf("after the registration the count goes on: %v", w.beats[first+1])
		}
	})
}

// Who the node registers with hears the last word about the logs of late, heard before or not.
func TestLogsToldAgain(t *testing.T) {
	play(t, func(w *world) {
		other := yarn.ApplicationID{ClusterTimestamp: app.ClusterTimestamp, Sequence: app.Sequence + 1}
		resync := false
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			if resync {
				resync = false
				return &pb.NodeHeartbeatResponse{NodeAction: pb.NodeAction_RESYNC.Enum()}, nil
			}
			return next(m), nil
		}
		again := func(want ...string) {
			t.Helper()
			resync = true
			w.pass(1200 * time.Millisecond)
			var got []string
			for _, l := range w.registrations[len(w.registrations)-1].LogAggregationReportsForApps {
				got = append(got, fmt.Sprintf("%d %s %s", l.ApplicationId.GetId(), l.GetLogAggregationStatus(), l.GetDiagnostics()))
			}
			if !slices.Equal(got, want) {
				t.Errorf("registration %d tells %q", len(w.registrations), got)
			}
		}
		w.logs = []LogReport{{other, pb.LogAggregationStatus_LOG_RUNNING, ""}, {app, pb.LogAggregationStatus_LOG_RUNNING, "so far"}, {app, pb.LogAggregationStatus_LOG_SUCCEEDED, "all"}}
		w.run()
		w.pass(2 * time.Second)
		first := fmt.Sprintf("%d LOG_SUCCEEDED all", app.Sequence)
		again(first, fmt.Sprintf("%d LOG_RUNNING ", other.Sequence))
		w.mu.Lock()
		w.logs = []LogReport{{app, pb.LogAggregationStatus_LOG_SUCCEEDED, "all"}}
		w.mu.Unlock()
		w.pass(4 * time.Second)
		again(first) // the other's is too old
		w.pass(6 * time.Second)
		again()
	})
}

// One that does not take containers up again hears of their ends as the node registers.
func TestResyncKills(t *testing.T) {
	play(t, func(w *world) {
		w.cfg.Preserve = false
		w.start(1, 2)
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			if len(w.registrations) == 1 && m.NodeStatus.GetResponseId() == 1 {
				return &pb.NodeHeartbeatResponse{NodeAction: pb.NodeAction_RESYNC.Enum()}, nil
			}
			return next(m), nil
		}
		w.run()
		w.pass(3 * time.Second)
		if len(w.registrations) != 2 || len(w.registrations[1].ContainerStatuses) != 2 {
			t.Fatalf("%v", w.registrations)
		}
		for _, s := range w.registrations[1].ContainerStatuses {
			if s.GetContainerState() != pb.ContainerState_C_COMPLETE || s.GetContainerExitStatus() != engine.KilledByRM {
				t.Errorf("%v", s)
			}
		}
	})
}

// A container that cannot be killed does not keep a node from its cluster for ever.
func TestResyncKillsInVain(t *testing.T) {
	play(t, func(w *world) {
		w.immortal = true
		w.start(1)
		w.r = New(w.cfg)
		began := time.Now()
		if err := w.r.killAll(w.t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d < maxKill || d > 2*maxKill || w.loop.Container(number(1)).State != "KILLING" {
			t.Errorf("after %v: %+v", d, w.loop.Container(number(1)))
		}
	})
}

// A ResourceManager that forgets the node again and again is not asked again and again without a pause.
func TestResyncForEver(t *testing.T) {
	play(t, func(w *world) {
		w.beat = func(string, *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			return &pb.NodeHeartbeatResponse{NodeAction: pb.NodeAction_RESYNC.Enum()}, nil
		}
		w.run()
		w.pass(10 * time.Second)
		if n := len(w.registrations); n < 5 || n > 12 {
			t.Errorf("%d registrations in 10 s", n)
		}
	})
}

// The ResourceManager's order to end is final, at a registration and at a heartbeat.
func TestShutdown(t *testing.T) {
	play(t, func(w *world) {
		w.beat = func(string, *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			return &pb.NodeHeartbeatResponse{NodeAction: pb.NodeAction_SHUTDOWN.Enum(), DiagnosticsMessage: proto.String("decommissioned")}, nil
		}
		w.run()
		w.pass(time.Second)
		if err := <-w.ended; !errors.Is(err, ErrShutdown) || !strings.Contains(err.Error(), "decommissioned") || w.count() != 1 || w.r.Issuer() != 0 {
			t.Errorf("%v after %d heartbeats, issuer %d", err, w.count(), w.r.Issuer())
		}
	})
	for text, x := range map[string]struct {
		minimum string
		answer  *pb.RegisterNodeManagerResponse
	}{
		"excluded": {"", &pb.RegisterNodeManagerResponse{NodeAction: pb.NodeAction_SHUTDOWN.Enum(), DiagnosticsMessage: proto.String("excluded")}},
		"yarn.nodemanager.resourcemanager.minimum.version is 3.6.0": {"3.6.0", registered()},
	} {
		play(t, func(w *world) {
			w.cfg.MinimumVersion = x.minimum
			w.register = func(string, *pb.RegisterNodeManagerRequest) (*pb.RegisterNodeManagerResponse, error) {
				return x.answer, nil
			}
			w.run()
			if err := <-w.ended; !errors.Is(err, ErrShutdown) || !strings.Contains(err.Error(), text) || w.count() != 0 || w.r.Issuer() != 0 {
				t.Errorf("%v after %d heartbeats", err, w.count())
			}
		})
	}
}

// Of two ResourceManagers the node finds the one that is active, and goes over to the other when that one takes over.
func TestFailover(t *testing.T) {
	play(t, func(w *world) {
		active := "rm2"
		standby := func(rm string) error {
			if rm != active {
				return &ipc.RemoteError{Class: ipc.ClassStandby, Message: "not me"}
			}
			return nil
		}
		w.register = func(rm string, _ *pb.RegisterNodeManagerRequest) (*pb.RegisterNodeManagerResponse, error) {
			out := registered()
			if rm == "rm1" {
				out.RmIdentifier = proto.Int64(1)
			}
			return out, standby(rm)
		}
		known := map[string]bool{"rm2": true}
		w.beat = func(rm string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			if err := standby(rm); err != nil {
				return nil, err
			}
			if !known[rm] {
				known[rm] = true
				return &pb.NodeHeartbeatResponse{NodeAction: pb.NodeAction_RESYNC.Enum()}, nil
			}
			return next(m), nil
		}
		w.start(1)
		closeSecond := w.open("rm2")
		w.run()
		w.pass(3 * time.Second)
		if w.r.Issuer() != issuer || w.count() < 3 {
			t.Fatalf("issuer %d after %d heartbeats", w.r.Issuer(), w.count())
		}
		active = "rm1"
		closeSecond()
		w.pass(30 * time.Second)
		last := w.registrations[len(w.registrations)-1]
		if w.r.Issuer() != 1 || len(last.ContainerStatuses) != 1 || w.loop.Container(number(1)).State != "RUNNING" || w.last().NodeStatus.GetResponseId() < 3 {
			t.Errorf("issuer %d, %v", w.r.Issuer(), last)
		}
	}, "rm1", "rm2")
}

// A ResourceManager that cannot be reached as long as the policy allows is the end; so is the node's own.
func TestUnreachable(t *testing.T) {
	play(t, func(w *world) {
		w.cfg.Group = w.group(2, "rm1")
		w.run()
		w.close()
		w.pass(time.Minute)
		if err := <-w.ended; err == nil || errors.Is(err, ErrShutdown) || !strings.Contains(err.Error(), "gave up after 2 attempts") || w.r.Issuer() != 0 {
			t.Errorf("%v", err)
		}
	})
	play(t, func(w *world) {
		w.run()
		w.end()
		if err := <-w.ended; !errors.Is(err, context.Canceled) || w.r.Issuer() != 0 {
			t.Errorf("%v", err)
		}
	})
}

// A node that goes for good says so, if anybody knows it.
func TestLeave(t *testing.T) {
	play(t, func(w *world) {
		w.r = New(w.cfg)
		if err := w.r.Leave(w.t.Context()); err != nil || len(w.left) != 0 {
			t.Errorf("before a registration: %v %v", err, w.left)
		}
		w.run()
		w.end()
		synctest.Wait()
		if err := w.r.Leave(w.t.Context()); err != nil || len(w.left) != 1 || convert.NodeID(w.left[0].NodeId) != node {
			t.Errorf("%v %v", err, w.left)
		}
	})
}

// Nobody answers a farewell any more: it is given up before an operator would kill the daemon.
func TestLeaveNobody(t *testing.T) {
	play(t, func(w *world) {
		w.run()
		w.end()
		synctest.Wait()
		w.close()
		began := time.Now()
		if err := w.r.Leave(w.t.Context()); err == nil || time.Since(began) > farewell {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// However much containers have to say, a heartbeat stays of a size that a ResourceManager reads, and leaves no container out.
func TestMuchText(t *testing.T) {
	play(t, func(w *world) {
		w.start(1, 2, 3)
		for n := range int64(3) {
			w.loop.Post(engine.Exited{ID: number(n + 1), Code: 1, Text: strings.Repeat("x", maxText/2)})
		}
		w.sync()
		w.run()
		size, said := proto.Size(w.last()), 0
		for _, s := range w.last().NodeStatus.ContainersStatuses {
			if len(s.GetDiagnostics()) > 100 {
				said++
			}
		}
		if len(w.last().NodeStatus.ContainersStatuses) != 3 || said != 1 || size > maxText+1<<20 || proto.Size(w.registrations[0]) > maxText+1<<20 {
			t.Errorf("%d bytes, %d containers say something", size, said)
		}
	})
}

func TestOpportunistic(t *testing.T) {
	s := opportunistic(engine.Division{QueuedGuaranteed: 1, QueuedOpportunistic: 2, Running: 3, RunningMB: 1025, RunningVCores: 1 << 40}, 9)
	if s.GetQueuedOpportContainers() != 2 || s.GetWaitQueueLength() != 3 || s.GetRunningOpportContainers() != 3 || s.GetOpportMemoryUsed() != 2 ||
		s.GetOpportCoresUsed() != math.MaxInt32 || s.GetOpportQueueCapacity() != 9 || s.EstimatedQueueWaitTime != nil {
		t.Errorf("%v", s)
	}
}
