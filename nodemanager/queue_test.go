package nodemanager

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/cgroup"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// The settings of a node that has room for four containers of the tests' size, 1 GiB, and lets others wait.
const opportunisticSettings = "yarn.nodemanager.opportunistic-containers-"

var queueing = []string{opportunisticSettings + "max-queue-length", "3"}

func opportunistic(c *token.Container) { c.ExecutionType = yarn.Opportunistic }

func sized(mb int64) func(*token.Container) {
	return func(c *token.Container) { c.Resource = yarn.NewResource(mb, 1) }
}

func version(n int32) func(*token.Container) { return func(c *token.Container) { c.Version = n } }

// sub waits for a container's sub-state, as its master and the ResourceManager hear of it.
func (w *world) sub(id yarn.ContainerID, want pb.ContainerSubState) {
	w.Helper()
	await(w, fmt.Sprintf("%s is %s", id, want), func() bool { return w.rm.latest(id).GetContainerSubState() == want })
	s, err := w.statuses(id)
	if err != nil || len(s.Status) != 1 || s.Status[0].GetContainerSubState() != want {
		w.Errorf("%s: %v %v, want %s", id, s, err, want)
	}
}

// updates has a container become another by its master's call.
func (w *world) updates(id yarn.ContainerID, changes ...func(*token.Container)) *pb.ContainerUpdateResponse {
	w.Helper()
	out := &pb.ContainerUpdateResponse{}
	if err := w.asks(w.token(), "updateContainer", &pb.ContainerUpdateRequest{UpdateContainerToken: []*pb.Token{w.rm.admit(w.what(id.Number, changes...))}}, out); err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) updated(id yarn.ContainerID, changes ...func(*token.Container)) {
	w.Helper()
	if out := w.updates(id, changes...); len(out.SucceededRequests) != 1 {
		w.Fatalf("%s: %v", id, out)
	}
}

// division is what the last heartbeat has told of opportunistic containers.
func (w *world) division(want string) {
	w.Helper()
	var s *pb.OpportunisticContainersStatus
	tell := func() string {
		return fmt.Sprintf("running %d of %d GB and %d vcores, queued %d of %d, %d may be", s.GetRunningOpportContainers(), s.GetOpportMemoryUsed(), s.GetOpportCoresUsed(),
			s.GetQueuedOpportContainers(), s.GetWaitQueueLength(), s.GetOpportQueueCapacity())
	}
	w.rm.hear(2)
	w.rm.with(func() { s = w.rm.status.GetOpportunisticContainersStatus() })
	if got := tell(); got != want {
		w.Errorf("the ResourceManager hears: %s, want: %s", got, want)
	}
}

// TestQueue: opportunistic containers wait for room, in their order; one too many ends; guaranteed ones displace them.
func TestQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, queueing...)
	master, first := w.runs(w.counted("go", "0")), w.runs(w.counted("first", "0"), opportunistic, sized(3072))
	w.printed(first, "ready")
	second := w.runs(w.counted("second", "0"), opportunistic)
	third := w.runs(w.counted("third", "0"), opportunistic, sized(4096))
	fourth := w.runs(w.counted("fourth", "0"), opportunistic)
	fifth := w.runs(w.counted("fifth", "0"), opportunistic)
	w.exits(fifth, -108, "Opportunistic container queue is full.", "Container terminated before launch.")
	w.sub(second, pb.ContainerSubState_CSS_SCHEDULED)
	if status, body, err := w.get("/ws/v1/node/containers/" + second.String()); err != nil || status != 200 || !strings.Contains(body, `"state":"SCHEDULED"`) || !strings.Contains(body, `"executionType":"OPPORTUNISTIC"`) {
		t.Errorf("%d %v %s", status, err, body)
	}
	w.division("running 1 of 3 GB and 1 vcores, queued 3 of 3, 3 may be")
	if _, body, _ := w.get("/jmx?qry=Hadoop:service=NodeManager,name=NodeManagerMetrics"); !strings.Contains(body, `"ContainersOpportunisticQueued" : 3`) || !strings.Contains(body, `"AllocatedOpportunisticGB" : 3`) ||
		!strings.Contains(body, `"RunningOpportunisticContainers" : 1`) || !strings.Contains(body, `"ContainersRunning" : 2`) || !strings.Contains(body, `"ContainersIniting" : 0`) {
		t.Error(body)
	}
	guaranteed := w.runs(w.counted("go", "0"))
	w.exits(first, -108, "Container Killed to make room for Guaranteed Container.")
	w.printed(guaranteed, "ready")
	w.printed(second, "ready") // and the third needs the whole node
	w.rm.order(func(r *pb.NodeHeartbeatResponse) {
		r.ContainerQueuingLimit = &pb.ContainerQueuingLimit{MaxQueueLength: proto.Int32(1), MaxQueueWaitTimeInMs: proto.Int32(-1)}
	})
	w.exits(fourth, -108, "Container De-queued to meet NM queuing limits.")
	w.stop(third)
	w.exits(third, -105, "Container terminated before launch.")
	w.let("go")
	w.exits(guaranteed, 0)
	w.exits(master, 0)
	w.let("second")
	w.exits(second, 0)
	w.division("running 0 of 0 GB and 0 vcores, queued 0 of 0, 3 may be")
	if n := w.times("third") + w.times("fourth") + w.times("fifth"); n != 0 {
		t.Errorf("%d have been started", n)
	}
}

// TestQueueOff: by default a node takes no opportunistic containers, and guaranteed ones start though there is no room.
func TestQueueOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.runs(w.counted("go", "0"), sized(4096)), w.runs(w.counted("go", "0"), sized(4096))
	w.printed(a, "ready")
	w.printed(b, "ready")
	w.exits(w.runs("true", opportunistic, sized(0)), -108, "Opportunistic container queue is full.")
	w.let("go")
	w.exits(a, 0)
	w.exits(b, 0)
}

// TestPaused: a container is stopped for a guaranteed one, stays so over a sudden end of the node, and goes on afterwards.
func TestPaused(t *testing.T) {
	t.Parallel()
	w := lasting(t, append([]string{opportunisticSettings + "use-pause-for-preemption", "true", "yarn.nodemanager.sleep-delay-before-sigkill.ms", "60000"}, queueing...)...)
	w.spawn()
	a := w.runs("echo ready; while [ ! -e "+w.path("go-done")+" ]; do "+withTest+"echo >> "+w.path("ticks")+"; sleep 0.002; done; exit 5", opportunistic, sized(2048))
	b := w.runs("trap 'exit 6' TERM; echo ready; while :; do "+withTest+"sleep 0.01; done", opportunistic, sized(2048))
	w.printed(a, "ready")
	w.printed(b, "ready")
	still := func(when string) {
		t.Helper()
		w.sub(a, pb.ContainerSubState_CSS_PAUSED)
		before, _ := os.ReadFile(w.path("ticks"))
		time.Sleep(30 * time.Millisecond)
		if after, _ := os.ReadFile(w.path("ticks")); len(after) != len(before) {
			t.Errorf("it goes on %s", when)
		}
	}
	guaranteed := w.runs(w.counted("go", "0"), sized(4096))
	still("though it is paused")
	w.printed(guaranteed, "ready")
	w.stop(b)
	w.exits(b, 6, "Container killed by the ApplicationMaster.") // it has obeyed SIGTERM
	w.division("running 0 of 0 GB and 0 vcores, queued 1 of 1, 3 may be")
	w.end()
	w.spawn()
	still("after the restart")
	w.let("go")
	w.exits(guaranteed, 0)
	w.sub(a, pb.ContainerSubState_CSS_RUNNING)
	w.let("done")
	w.exits(a, 5, "Container Paused to make room for Guaranteed Container", "Container Resumed as some resources freed up")
}

// TestQueueKilled: who waits and who runs, as what and with how much, is known after a sudden end of the node.
func TestQueueKilled(t *testing.T) {
	t.Parallel()
	w := lasting(t, queueing...)
	w.spawn()
	runs := w.runs(w.counted("runs", "0"), opportunistic, sized(3072))
	w.printed(runs, "ready")
	waits, promoted := w.runs(w.counted("waits", "7"), opportunistic, sized(2048)), w.runs(w.counted("promoted", "8"), opportunistic, sized(2048))
	w.updated(runs, version(1), sized(3072)) // guaranteed from now on, so that nobody displaces it
	w.updated(runs, version(2), sized(3584))
	w.updated(promoted, version(4), sized(2048))
	w.sub(promoted, pb.ContainerSubState_CSS_SCHEDULED)
	w.sub(waits, pb.ContainerSubState_CSS_SCHEDULED)
	w.division("running 0 of 0 GB and 0 vcores, queued 1 of 2, 3 may be")
	w.end()
	w.spawn()
	w.sub(waits, pb.ContainerSubState_CSS_SCHEDULED)
	w.sub(promoted, pb.ContainerSubState_CSS_SCHEDULED)
	for id, want := range map[yarn.ContainerID]string{runs: "GUARANTEED 3584 2", waits: "OPPORTUNISTIC 2048 0", promoted: "GUARANTEED 2048 4"} {
		registered := w.rm.registered()
		for _, s := range registered[len(registered)-1].GetContainerStatuses() {
			if got := fmt.Sprint(s.GetExecutionType(), s.GetResource().GetMemory(), s.GetVersion()); convert.ContainerID(s.GetContainerId()) == id && strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
				t.Errorf("%s registers as %s, want %s", id, got, want)
			}
		}
	}
	if out := w.updates(runs, version(2), sized(512)); len(out.FailedRequests) != 1 || !strings.Contains(out.FailedRequests[0].GetException().GetMessage(), "has update version [2] >= requested version [2]") {
		t.Errorf("%v", out)
	}
	w.division("running 0 of 0 GB and 0 vcores, queued 1 of 2, 3 may be")
	w.let("runs")
	w.exits(runs, 0)
	w.printed(promoted, "ready")
	w.printed(waits, "ready")
	w.let("promoted")
	w.let("waits")
	w.exits(promoted, 8)
	w.exits(waits, 7)
	if a, b, c := w.times("runs"), w.times("waits"), w.times("promoted"); a != 1 || b != 1 || c != 1 {
		t.Errorf("started %d, %d and %d times", a, b, c)
	}
}

// TestResizedInPlace: the control group of a running container has its new limits when its size or its type changes, be it by
// its master or by the ResourceManager. The group is of plain files.
func TestResizedInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, queueing...)
	id := w.runs(w.counted("go", "0"))
	w.printed(id, "ready")
	mount := w.path("cgroup")
	group := filepath.Join(mount, "yarn", id.String())
	if err := os.MkdirAll(group, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{mount, filepath.Dir(group), group} {
		for _, name := range []string{"cgroup.controllers", "cgroup.subtree_control", "cgroup.kill", "memory.max", "memory.low", "memory.swap.max", "memory.events", "cpu.weight", "cpu.max"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("memory cpu\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tree, err := cgroup.Open(cgroup.Config{Mount: mount, Hierarchy: "yarn", Memory: true, Enforced: true, SoftPercent: 50, CPU: true, Strict: true, NodeVCores: 8, Cores: 8})
	if err != nil {
		t.Fatal(err)
	}
	p := w.daemon.processes
	r, _ := p.wanted(id)
	p.adopt(r, tree.Find(id))
	p.mu.Lock()
	w.daemon.groups = tree // the daemon closes it; no other container is started
	p.mu.Unlock()
	becomes := func(what string, want ...string) {
		t.Helper()
		await(t, what, func() bool {
			for i, name := range []string{"memory.max", "memory.low", "cpu.weight", "cpu.max"} {
				if text, err := os.ReadFile(filepath.Join(group, name)); err != nil || string(text) != want[i] {
					return false
				}
			}
			return true
		})
	}
	w.updated(id, version(1), sized(2048))
	becomes("larger", "2147483648", "1073741824", "100", "100000 100000")
	w.updated(id, version(2), func(c *token.Container) { c.Resource = yarn.NewResource(1024, 2) })
	becomes("smaller, with more vcores", "1073741824", "536870912", "200", "200000 100000")
	w.updated(id, version(3), opportunistic, func(c *token.Container) { c.Resource = yarn.NewResource(1024, 2) })
	becomes("demoted", "1073741824", "0", "1", "200000 100000")
	guaranteed := w.rm.admit(w.what(id.Number, version(4), sized(1024)))
	w.rm.order(func(r *pb.NodeHeartbeatResponse) {
		r.ContainersToUpdate = []*pb.Container{{Id: toID(id), ContainerToken: guaranteed}}
	})
	becomes("promoted by the ResourceManager", "1073741824", "536870912", "100", "100000 100000")
	older := &pb.IncreaseContainersResourceResponse{}
	if err := w.asks(w.token(), "increaseContainersResource", &pb.IncreaseContainersResourceRequest{IncreaseContainers: []*pb.Token{w.rm.admit(w.what(id.Number, version(5), sized(3072)))}}, older); err != nil || len(older.SucceededRequests) != 1 {
		t.Errorf("%v %v", older, err)
	}
	becomes("larger by the older call", "3221225472", "1610612736", "100", "100000 100000")
	if out := w.updates(id, version(5), sized(512)); len(out.FailedRequests) != 1 {
		t.Errorf("%v", out)
	}
	w.let("go")
	w.exits(id, 0)
	if text, _ := os.ReadFile(filepath.Join(group, "memory.max")); string(text) != "3221225472" {
		t.Errorf("a refused change has had an effect: %s", text)
	}
}
