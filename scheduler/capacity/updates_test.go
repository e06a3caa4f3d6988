package capacity

import (
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// small is a scheduler with two leaves and one application, whose master needs no
// container.
type small struct {
	*testing.T
	*Scheduler
	app   AppRef
	clock int64
}

func newSmall(t *testing.T, set map[string]string) *small {
	t.Helper()
	return newSmallIn(t, set, "a")
}

// newSmallIn has its application in a leaf.
func newSmallIn(t *testing.T, set map[string]string, leaf string) *small {
	t.Helper()
	all := map[string]string{"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "maximum-am-resource-percent": "1",
		"root.a.user-limit-factor": "10", "root.b.user-limit-factor": "10", "schedule-asynchronously.enable": "false",
		"root.accessible-node-labels.x.capacity": "100", "root.a.accessible-node-labels": "x", "root.a.accessible-node-labels.x.capacity": "50",
		"root.b.accessible-node-labels": "x", "root.b.accessible-node-labels.x.capacity": "50"}
	for k, v := range set {
		all[k] = v
	}
	var props []config.Property
	for k, v := range all {
		props = append(props, config.Property{Name: config.Prefix + k, Value: v})
	}
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(512, 1), MaxAllocation: yarn.NewResource(8192, 8),
		LabelsEnabled: true, Labels: []config.Label{{Name: "x"}}, Opportunistic: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg.Capacity)
	if err != nil {
		t.Fatal(err)
	}
	x := &small{T: t, Scheduler: s}
	x.app = x.submit(1, leaf)
	return x
}

func (x *small) submit(n int32, leaf string) AppRef {
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n}
	a, why := x.AddApplication(demand.Application{ID: id, User: "ann", Unmanaged: true}, leaf)
	if !why.OK() {
		x.Fatal(why)
	}
	x.AddAttempt(a, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}})
	return a
}

func (x *small) node(host string, port int32, mb, cores int64, label string) NodeRef {
	return x.AddNode(cluster.Node{ID: yarn.NodeID{Host: host, Port: port}, Label: label, Total: yarn.NewResource(mb, cores)})
}

func (x *small) ask(count int32, size resource) {
	x.Ask(x.app, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: size, Count: count, RelaxLocality: true}})
}

func (x *small) offer(n NodeRef) []cluster.Decision {
	x.Helper()
	x.clock++
	out := x.Offer(n, yarn.Now{Wall: x.clock, Mono: x.clock}, nil)
	x.sound()
	return out
}

func (x *small) sound() {
	x.Helper()
	if bad := x.Check(); bad != "" {
		x.Fatal(bad)
	}
}

// place puts one container on the node.
func (x *small) place(n NodeRef, size resource) ContainerRef {
	x.Helper()
	x.ask(1, size)
	out := x.offer(n)
	if len(out) != 1 {
		x.Fatalf("no container was placed: %v", out)
	}
	x.Launched(out[0].Container)
	return out[0].Container
}

func (x *small) update(c ContainerRef, kind yarn.UpdateType, size resource) {
	x.Helper()
	container := x.Container(c)
	if bad := x.Update(x.app, []yarn.ContainerUpdate{{Container: container.ID, Version: container.Version, Type: kind, Capability: size}}); len(bad) > 0 {
		x.Fatalf("%+v", bad)
	}
	x.sound()
}

// TestAnIncreaseIsServedByItsOwnNode: two NodeManagers run on the host, and what an
// increase asks for is placed where the container is.
func TestAnIncreaseIsServedByItsOwnNode(t *testing.T) {
	for mode, async := range map[string]string{"heartbeats": "false", "events": "true"} {
		t.Run(mode, func(t *testing.T) {
			x := newSmall(t, map[string]string{"schedule-asynchronously.enable": async})
			one, two := x.node("h", 1, 8192, 8, ""), x.node("h", 2, 8192, 8, "x")
			c := x.place(one, yarn.NewResource(1024, 1))
			x.SetNodeLabel(two, "")
			x.update(c, yarn.IncreaseResource, yarn.NewResource(4096, 4))
			for range 3 { // Apache places it here, too, and gives it back
				x.offer(two)
				if got := x.Updated(x.app, nil); len(got) > 0 {
					t.Fatalf("the other node served %+v", got)
				}
				x.AllocateDone(x.app)
				x.sound()
			}
			if u := x.NodeUsage(two); !u.Used.IsZero() || x.Container(c).Resource.MemoryMB() != 1024 {
				t.Fatalf("the other node shows %v used, the container has %v", u.Used, x.Container(c).Resource)
			}
			x.offer(one)
			if got := x.Updated(x.app, nil); len(got) != 1 || got[0].After.MemoryMB() != 4096 {
				t.Fatalf("its own node served %+v", got)
			}
			x.AllocateDone(x.app)
			x.sound()
			if u := x.NodeUsage(one); u.Used.MemoryMB() != 4096 {
				t.Fatalf("its node shows %v used", u.Used)
			}
			if u := x.AppUsage(x.app); u.Used.MemoryMB() != 4096 || !u.Pending.IsZero() {
				t.Fatalf("the application has %v and wants %v", u.Used, u.Pending)
			}
		})
	}
}

// TestWhatIsReservedMovesAlong: everything but what Apache shows by other books.
func TestWhatIsReservedMovesAlong(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h", 1, 8192, 8, "")
	x.node("i", 1, 8192, 8, "") // so that queues have room for more than the first node
	c := x.place(n, yarn.NewResource(5120, 1))
	x.ask(1, yarn.NewResource(4096, 1))
	if out := x.offer(n); len(out) != 1 || out[0].Kind != cluster.Reserved {
		t.Fatalf("nothing was reserved: %v", out)
	}
	if why := x.MoveApplication(x.app, "b"); !why.OK() {
		t.Fatal(why)
	}
	x.sound()
	show := func(when string, a, b, aUsage, bUsage int64) {
		t.Helper()
		all := x.Queues()
		from, _ := all.ByPath("root.a")
		to, _ := all.ByPath("root.b")
		got := [4]int64{from.Default.Reserved.MemoryMB(), to.Default.Reserved.MemoryMB(), from.Default.ReservedUsage.MemoryMB(), to.Default.ReservedUsage.MemoryMB()}
		if want := [4]int64{a, b, aUsage, bUsage}; got != want {
			t.Errorf("%s: reserved %v, want %v", when, got, want)
		}
	}
	show("moved", 0, 4096, 4096, 0)
	x.Finish(c, cluster.Completed)
	x.Vacate(c)
	x.offer(n)
	show("served", 0, 0, 4096, -4096)
}

// TestOpportunisticContainersAreChargedToNobody: neither when they come back after a
// restart nor when they become smaller, larger or end.
func TestOpportunisticContainersAreChargedToNobody(t *testing.T) {
	for _, kind := range []yarn.UpdateType{yarn.DecreaseResource, yarn.IncreaseResource} {
		x := newSmall(t, nil)
		n := x.node("h", 1, 8192, 8, "")
		c := x.RecoverContainer(core.Recovered{ID: yarn.ContainerID{Attempt: x.Scheduler.app(x.app).AttemptID(), Number: 7}, App: x.app, Node: n,
			Resource: yarn.NewResource(2048, 1), Execution: yarn.Opportunistic})
		x.update(c, kind, yarn.NewResource(map[yarn.UpdateType]int64{yarn.DecreaseResource: 1024, yarn.IncreaseResource: 4096}[kind], 1))
		x.offer(n)
		if got := x.Updated(x.app, nil); len(got) != 1 {
			t.Fatalf("update %d: %+v", kind, got)
		}
		x.sound()
		x.AllocateDone(x.app)
		x.sound()
		x.Finish(c, cluster.Completed)
		x.Vacate(c)
		x.sound()
		q, _ := x.Queues().ByPath("root.a")
		if !q.Default.Used.IsZero() || !x.NodeUsage(n).Used.IsZero() || q.Default.AllocatedContainers != 0 {
			t.Errorf("update %d: %v of %d containers are left in the queue, %v on the node", kind, q.Default.Used, q.Default.AllocatedContainers, x.NodeUsage(n).Used)
		}
	}
}

// TestPromotion: a container becomes guaranteed in its node's partition once there is room, and what it was charged with is given back when it is
// demoted or ends.
func TestPromotion(t *testing.T) {
	for _, label := range []string{"", "x"} {
		x := newSmall(t, nil)
		n := x.node("h", 1, 4096, 8, label)
		c := x.PlaceOpportunistic(x.app, n, core.Opportunistic{Resource: yarn.NewResource(2000, 1), Priority: 1})
		change := func(to yarn.ExecutionType) {
			u := yarn.ContainerUpdate{Container: x.Container(c).ID, Version: x.Container(c).Version, Type: yarn.PromoteExecutionType, ExecutionType: to}
			if refused := x.Scheduler.Update(x.app, []yarn.ContainerUpdate{u}); len(refused) > 0 {
				t.Fatalf("to %v: %v", to, refused)
			}
			x.offer(n)
			x.Updated(x.app, nil)
			x.AllocateDone(x.app)
			x.sound()
			if got := x.Container(c).Execution; got != to {
				t.Errorf("partition %q: it is %v, want %v", label, got, to)
			}
		}
		change(yarn.Guaranteed)
		if got, want := x.NodeUsage(n).Used, yarn.NewResource(2048, 1); got != want {
			t.Errorf("partition %q: the node uses %v, want %v", label, got, want)
		}
		change(yarn.Opportunistic)
		if got := x.NodeUsage(n).Used; !got.IsZero() {
			t.Errorf("partition %q: the node still uses %v", label, got)
		}
		change(yarn.Guaranteed)
		x.Finish(c, cluster.Completed)
		x.Vacate(c)
		x.sound()
		if got := x.AppUsage(x.app).Used; !got.IsZero() || !x.NodeUsage(n).Used.IsZero() {
			t.Errorf("partition %q: %v are left", label, got)
		}
	}
}

// TestADemandOfNoMemory: an increase of vcores alone asks for no memory, which is
// nothing where memory alone counts, and something where all resources do. A queue
// has its place among its siblings by the same question, also where a partition lends
// its room.
func TestADemandOfNoMemory(t *testing.T) {
	for _, calculator := range []string{"DefaultResourceCalculator", "DominantResourceCalculator"} {
		t.Run(calculator, func(t *testing.T) {
			x := newSmall(t, map[string]string{"resource-calculator": "org.apache.hadoop.yarn.util.resource." + calculator})
			x.SetLabels([]config.Label{{Name: "x", Exclusive: false}})
			n, lent := x.node("h", 1, 8192, 8, ""), x.node("i", 1, 8192, 8, "x")
			var held []ContainerRef
			for i := range int64(2) { // as nodes may report them
				held = append(held, x.RecoverContainer(core.Recovered{ID: yarn.ContainerID{Attempt: x.Scheduler.app(x.app).AttemptID(), Number: 7 + i}, App: x.app, Node: n,
					Resource: yarn.NewResource(1024, 0)}))
			}
			x.ask(1, yarn.NewResource(8192, 1)) // more than there is room for
			for range 3 {
				x.offer(lent)
			}
			for _, c := range held {
				x.update(c, yarn.IncreaseResource, yarn.NewResource(1024, 1))
			}
			x.ask(0, yarn.NewResource(8192, 1)) // what is left to want has no memory
			x.sound()
			x.ask(1, yarn.NewResource(1024, 1))
			x.sound()
			x.offer(n)
			x.offer(lent)
			for _, c := range held {
				x.Finish(c, cluster.Completed)
				x.sound()
			}
			x.EndAttempt(x.app, false)
			x.sound()
		})
	}
}

// fetch has the master fetch what has changed.
func (x *small) fetch() []core.Changed {
	x.Helper()
	got := x.Updated(x.app, nil)
	x.sound()
	x.AllocateDone(x.app)
	x.sound()
	return got
}

func (x *small) opportunistic(n NodeRef, size resource) ContainerRef {
	return x.PlaceOpportunistic(x.app, n, core.Opportunistic{Resource: size, Priority: 1})
}

// execution asks for another execution type, and returns why it is refused.
func (x *small) execution(c ContainerRef, to yarn.ExecutionType) string {
	u := yarn.ContainerUpdate{Container: x.Container(c).ID, Version: x.Container(c).Version, Type: yarn.PromoteExecutionType, ExecutionType: to}
	for _, e := range x.Update(x.app, []yarn.ContainerUpdate{u}) {
		return e.Reason
	}
	return ""
}

// TestServedIncreasesAreForgotten: they do not stand in the way of what is asked for later, and nothing is kept of containers that have ended.
func TestServedIncreasesAreForgotten(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h", 1, 8192, 8, "")
	c := x.opportunistic(n, yarn.NewResource(1024, 1))
	x.update(c, yarn.IncreaseResource, yarn.NewResource(2048, 1))
	x.offer(n)
	if got := x.fetch(); len(got) != 1 || got[0].After.MemoryMB() != 2048 {
		t.Fatalf("the increase is served by %+v", got)
	}
	if why := x.execution(c, yarn.Guaranteed); why != "" {
		t.Fatalf("it is not promoted after an increase: %s", why)
	}
	x.offer(n)
	if got := x.fetch(); len(got) != 1 || x.Container(c).Execution != yarn.Guaranteed {
		t.Fatalf("the promotion is served by %+v", got)
	}
	for size := range int64(20) { // more differences than are remembered
		x.update(c, yarn.IncreaseResource, yarn.NewResource(2048+512*(size%10+1), 1))
	}
	x.Finish(c, cluster.Completed)
	x.Vacate(c)
	x.sound()
}

// TestRefusedPromotion: a promotion whose room is too small by the time it is fetched may be asked for again.
func TestRefusedPromotion(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h", 1, 8192, 8, "")
	c := x.opportunistic(n, yarn.NewResource(1024, 1))
	if why := x.execution(c, yarn.Guaranteed); why != "" {
		t.Fatal(why)
	}
	x.offer(n)
	if why := x.execution(c, yarn.Guaranteed); why != "UPDATE_OUTSTANDING_ERROR" {
		t.Fatalf("a second promotion before the first is fetched: %q", why)
	}
	x.update(c, yarn.IncreaseResource, yarn.NewResource(2048, 1))
	x.offer(n)
	if got := x.fetch(); len(got) != 1 || got[0].Type != yarn.IncreaseResource || x.Container(c).Execution != yarn.Opportunistic {
		t.Fatalf("the larger container: %+v", got)
	}
	if why := x.execution(c, yarn.Guaranteed); why != "" {
		t.Fatalf("it is not promoted after a promotion was refused: %s", why)
	}
	x.offer(n)
	if got := x.fetch(); len(got) != 1 || x.Container(c).Execution != yarn.Guaranteed {
		t.Fatalf("the promotion is served by %+v", got)
	}
	if u := x.NodeUsage(n).Used; u != yarn.NewResource(2048, 1) {
		t.Errorf("the node uses %v", u)
	}
}

// TestDecreaseAfterAnIncrease: a decrease that is asked for before an increase is fetched comes after it.
func TestDecreaseAfterAnIncrease(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h", 1, 8192, 8, "")
	c := x.place(n, yarn.NewResource(2048, 1))
	x.update(c, yarn.IncreaseResource, yarn.NewResource(4096, 1))
	x.offer(n)
	x.update(c, yarn.DecreaseResource, yarn.NewResource(1024, 1))
	if got := x.fetch(); len(got) != 2 || got[0].Type != yarn.IncreaseResource || got[1].Type != yarn.DecreaseResource || got[1].Version != 2 {
		t.Errorf("it changes by %+v", got)
	}
	if have := x.Container(c).Resource; have != yarn.NewResource(1024, 1) || x.NodeUsage(n).Used != have {
		t.Errorf("it has %v in the end, and the node uses %v", have, x.NodeUsage(n).Used)
	}
}

// TestIncreaseDuringADemotion: it is refused, which changes nothing.
func TestIncreaseDuringADemotion(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h", 1, 8192, 8, "")
	c := x.place(n, yarn.NewResource(1024, 1))
	if why := x.execution(c, yarn.Opportunistic); why != "" {
		t.Fatal(why)
	}
	u := yarn.ContainerUpdate{Container: x.Container(c).ID, Type: yarn.IncreaseResource, Capability: yarn.NewResource(2048, 1)}
	if refused := x.Update(x.app, []yarn.ContainerUpdate{u}); len(refused) != 1 || refused[0].Reason != "UPDATE_OUTSTANDING_ERROR" {
		t.Fatalf("refused: %v", refused)
	}
	x.sound()
	x.fetch()
	if why := x.execution(c, yarn.Guaranteed); why != "" {
		t.Errorf("it is not promoted after an increase was refused: %s", why)
	}
}
