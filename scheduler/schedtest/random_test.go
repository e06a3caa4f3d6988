package schedtest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// life drives a scheduler with random calls, as an engine would, and remembers
// what it must know to make legal ones.
type life struct {
	s     *scheduler.Scheduler
	clock int64
	nodes []scheduler.NodeRef
	apps  []scheduler.AppRef
	live  []scheduler.ContainerRef // containers
	ended []scheduler.ContainerRef // ended, but their node has not said so
	seq   int32
	hosts int

	configure func(*rapid.T) *config.Config // draws a configuration
}

const lifeQueues = "a,b,c"

func lifeConfig(t *rapid.T) *config.Config {
	draw := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	set := map[string]string{
		"root.queues": lifeQueues, "root.a.capacity": "40", "root.b.capacity": "35", "root.c.capacity": "25",
		"root.a.maximum-capacity": draw("max", "60", "100"), "root.b.queues": "b1,b2", "root.b.b1.capacity": "50", "root.b.b2.capacity": "50",
		"root.a.user-limit-factor": draw("factor", "0.5", "1", "3", "-1"), "root.b.b1.minimum-user-limit-percent": draw("percent", "25", "50", "100"),
		"root.c.ordering-policy": draw("order", "fifo", "fair"), "maximum-am-resource-percent": draw("am", "0.2", "0.6", "1"),
		"reservations-continue-look-all-nodes":             draw("look", "true", "false"),
		"per-node-heartbeat.maximum-offswitch-assignments": draw("off", "1", "4"),
		"per-node-heartbeat.multiple-assignments-enabled":  draw("many", "true", "false"),
		"root.max-parallel-apps":                           draw("parallel", "3", "100"),
		"root.accessible-node-labels.x.capacity":           "100",
		"root.a.accessible-node-labels":                    "x",
		"root.a.accessible-node-labels.x.capacity":         "100",
		"root.b.accessible-node-labels":                    "",
		"root.c.accessible-node-labels":                    "",
		"node-locality-delay":                              draw("delay", "0", "2", "40"),
		"root.b.accessible-node-labels.x.capacity":         "0",
		"root.c.accessible-node-labels.x.capacity":         "0",
		"resource-calculator":                              "org.apache.hadoop.yarn.util.resource." + draw("calculator", "DefaultResourceCalculator", "DominantResourceCalculator"),
	}
	return mustParse(t, set)
}

type fataler interface{ Fatalf(string, ...any) }

func mustParse(t fataler, set map[string]string) *config.Config {
	var props []config.Property
	for k, v := range set {
		props = append(props, config.Property{Name: config.Prefix + k, Value: v, Origin: "test"})
	}
	cfg, _, err := config.Parse(props, lifeCluster)
	if err != nil {
		t.Fatalf("configuration: %v", err)
	}
	return cfg
}

var lifeCluster = config.Cluster{MinAllocation: yarn.NewResource(512, 1), MaxAllocation: yarn.NewResource(8192, 8), MaxPriority: 5,
	LabelsEnabled: true, Labels: []config.Label{{Name: "x"}}, Opportunistic: true}

// TestBooksStayRight recounts everything from the containers after every one of
// many random calls, and sees that no node holds more than it has.
func TestBooksStayRight(t *testing.T) {
	t.Run("capacity", func(t *testing.T) { booksStayRight(t, lifeConfig) })
	t.Run("fifo", func(t *testing.T) {
		booksStayRight(t, func(t *rapid.T) *config.Config {
			cluster := lifeCluster
			cluster.Policy = config.FifoPolicy
			cfg, _, err := config.Parse(nil, cluster)
			if err != nil {
				t.Fatalf("configuration: %v", err)
			}
			return cfg
		})
	})
	t.Run("fair", func(t *testing.T) { booksStayRight(t, lifeFair) })
}

// lifeFair draws a configuration of the FairScheduler for the same queues and some more, which submissions make.
func lifeFair(t *rapid.T) *config.Config {
	draw := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	element := func(name string, values ...string) string {
		if v := draw(name, values...); v != "" {
			return "<" + name + ">" + v + "</" + name + ">"
		}
		return ""
	}
	policy := draw("policy", "fair", "drf")
	queue := func(name, inner string) string {
		return fmt.Sprintf("<queue name=%q><schedulingPolicy>%s</schedulingPolicy>%s</queue>\n", name, policy, inner)
	}
	limits := func() string {
		return element("weight", "", "2", "0.5") + element("minResources", "", "4096 mb, 2 vcores") + element("maxResources", "", "50%", "9000 mb, 7 vcores") +
			element("maxRunningApps", "", "2") + element("fairSharePreemptionTimeout", "", "1") + element("minSharePreemptionTimeout", "", "1")
	}
	text := "<allocations>\n" + element("userMaxAppsDefault", "", "3") + "<defaultQueueSchedulingPolicy>" + policy + "</defaultQueueSchedulingPolicy>\n" +
		queue("root", queue("a", limits()+element("maxAMShare", "", "-1", "0.2"))+
			draw("b", "", queue("b", limits()+queue("b1", limits())+queue("b2", "")))+draw("c", queue("c", limits()), "")) + "</allocations>"
	cluster := lifeCluster
	cluster.Policy, cluster.Allocations = config.FairPolicy, &config.AllocationFile{Name: "fair-scheduler.xml", Text: text}
	var props []config.Property
	set := func(name string, values ...string) {
		if v := draw(name, values...); v != "" {
			props = append(props, config.Property{Name: config.FairPrefix + name, Value: v, Origin: "test"})
		}
	}
	set("assignmultiple", "", "true")
	set("max.assign", "", "3")
	set("locality.threshold.node", "", "0.5")
	set("locality.threshold.rack", "", "0.5")
	set("preemption", "true", "")
	set("preemption.cluster-utilization-threshold", "0.2", "")
	set("waitTimeBeforeKill", "", "2000")
	set("waitTimeBeforeNextStarvationCheck", "", "1000")
	cfg, _, err := config.Parse(props, cluster)
	if err != nil {
		t.Fatalf("configuration: %v\n%s", err, text)
	}
	return cfg
}

func booksStayRight(t *testing.T, configure func(*rapid.T) *config.Config) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := scheduler.New(configure(t))
		if err != nil {
			t.Fatalf("%v", err)
		}
		l := &life{s: s, configure: configure}
		for range 3 {
			l.addNode(t)
		}
		steps := []func(*rapid.T){l.addNode, l.submit, l.submit, l.ask, l.ask, l.ask, l.beat, l.beat, l.beat, l.beat, l.beat,
			l.sweep, l.finish, l.finish, l.vacate, l.endAttempt, l.remove, l.move, l.priority, l.removeNode, l.resize, l.label,
			l.update, l.update, l.lend, l.reconfigure, l.blacklist, l.round, l.round, l.tend}
		for range rapid.IntRange(10, 120).Draw(t, "steps") {
			l.clock += 1000
			s.Advance(l.now())
			i := rapid.IntRange(0, len(steps)-1).Draw(t, "step")
			steps[i](t)
			if bad := s.Check(); bad != "" {
				t.Fatalf("after step %d: %s", i, bad)
			}
		}
	})
}

func (l *life) now() yarn.Now { return yarn.Now{Wall: l.clock, Mono: l.clock} }

func pick[T any](t *rapid.T, from []T) (T, int, bool) {
	var zero T
	if len(from) == 0 {
		return zero, 0, false
	}
	i := rapid.IntRange(0, len(from)-1).Draw(t, "which")
	return from[i], i, true
}

func drop[T any](list []T, i int) []T {
	list[i] = list[len(list)-1]
	return list[:len(list)-1]
}

func (l *life) addNode(t *rapid.T) {
	if len(l.nodes) > 6 {
		return
	}
	l.hosts++
	label := rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "label")
	size := rapid.SampledFrom([]int64{4, 8, 16}).Draw(t, "size")
	l.nodes = append(l.nodes, l.s.AddNode(scheduler.Node{ID: yarn.NodeID{Host: fmt.Sprintf("h%d", (l.hosts+1)/2), Port: int32(l.hosts)}, // two of a host
		Rack: fmt.Sprintf("/r%d", (l.hosts+1)/2%2), Label: label, Total: yarn.NewResource(size*1024, size)}))
}

func (l *life) submit(t *rapid.T) {
	if len(l.apps) > 12 {
		return
	}
	l.seq++
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: l.seq}
	user := rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(t, "user")
	paths, rules := []string{"a", "root.b.b1", "b2", "c"}, false
	if l.s.RootQueue().Fair != nil {
		paths, rules = []string{"root.a", "root.b.b1", "root.b.b2", "root.c", "root.a.x", "root.d.e.f"}, true
	}
	path := rapid.SampledFrom(paths).Draw(t, "queue")
	ref, why := l.s.AddApplication(scheduler.Application{ID: id, User: user, Queue: path, Placed: rules}, path)
	if !why.OK() {
		return
	}
	l.apps = append(l.apps, ref)
	l.start(ref, id, 1)
}

func (l *life) start(ref scheduler.AppRef, id yarn.ApplicationID, attempt int32) {
	am := yarn.NewResource(512, 1)
	l.s.AddAttempt(ref, scheduler.Attempt{ID: yarn.AttemptID{Application: id, Attempt: attempt}, AM: am, StartWall: l.clock, KeepContainers: attempt > 1})
	l.s.Ask(ref, []yarn.Ask{{Where: yarn.AnyHost, Capability: am, Count: 1, RelaxLocality: true}})
}

func (l *life) ask(t *rapid.T) {
	ref, _, ok := pick(t, l.apps)
	if !ok {
		return
	}
	where := rapid.SampledFrom([]string{"*", "*", "h1", "h2", "/r0", "/r1"}).Draw(t, "where")
	ask := yarn.Ask{Priority: rapid.Int32Range(1, 3).Draw(t, "priority"), Where: where, RelaxLocality: rapid.Bool().Draw(t, "relax"),
		Capability: yarn.NewResource(rapid.Int64Range(1, 8).Draw(t, "memory")*1000, rapid.Int64Range(1, 4).Draw(t, "vcores")),
		Count:      rapid.Int32Range(0, 6).Draw(t, "count")}
	asks := []yarn.Ask{ask}
	if where != "*" {
		any := ask
		any.Where = "*"
		asks = append(asks, any)
	}
	if l.s.Normalize(ref, asks).OK() {
		l.s.Ask(ref, asks)
	}
	l.s.AllocateDone(ref)
}

func (l *life) note(decisions []scheduler.Decision) {
	for _, d := range decisions {
		if d.Kind == cluster.Allocated || d.Kind == cluster.AllocatedFromReserved {
			if l.s.Container(d.Container).Update.IsZero() {
				l.live = append(l.live, d.Container)
			}
		}
	}
}

func (l *life) beat(t *rapid.T) {
	node, _, ok := pick(t, l.nodes)
	if !ok {
		return
	}
	for _, c := range l.live {
		if l.s.Container(c).Node == node {
			l.s.Launched(c)
		}
	}
	before := l.s.NodeUsage(node)
	l.note(l.s.Offer(node, l.now(), nil))
	after := l.s.NodeUsage(node)
	if after.Used != before.Used && after.Available.MemoryMB() < 0 {
		t.Fatalf("node %v was filled beyond what it has: %v", after.ID, after.Available)
	}
}

func (l *life) sweep(t *rapid.T) {
	more := true
	for i := 0; more && i < 50; i++ {
		var out []scheduler.Decision
		out, more = l.s.Sweep(5, 1<<20, l.now(), nil)
		l.note(out)
	}
	if _, more := l.s.Sweep(5, 1<<20, l.now(), nil); more {
		return
	}
	if out, _ := l.s.Sweep(5, 1<<20, l.now(), nil); len(out) > 0 {
		t.Fatalf("a sweep that had nothing more to do did %v", out)
	}
}

func (l *life) finish(t *rapid.T) {
	c, i, ok := pick(t, l.live)
	if !ok {
		return
	}
	l.live = drop(l.live, i)
	if !l.s.Finish(c, cluster.ReleasedByAM) {
		l.ended = append(l.ended, c)
	}
}

func (l *life) vacate(t *rapid.T) {
	c, i, ok := pick(t, l.ended)
	if !ok {
		return
	}
	l.ended = drop(l.ended, i)
	l.s.Vacate(c)
}

func (l *life) forget(list []scheduler.Ended) {
	for _, e := range list {
		for i, c := range l.live {
			if c == e.Ref {
				l.live = drop(l.live, i)
				break
			}
		}
		if !e.Vacated && !e.Container.Reserved {
			l.ended = append(l.ended, e.Ref)
		}
	}
}

func (l *life) endAttempt(t *rapid.T) {
	ref, _, ok := pick(t, l.apps)
	if !ok {
		return
	}
	keep := rapid.Bool().Draw(t, "keep")
	l.forget(l.s.EndAttempt(ref, keep))
	u := l.s.AppUsage(ref)
	if !keep && !u.Used.IsZero() || !u.Pending.IsZero() || !u.Reserved.IsZero() {
		t.Fatalf("an ended attempt still has %+v", u)
	}
	if keep {
		l.seq++
		l.start(ref, yarn.ApplicationID{ClusterTimestamp: 2, Sequence: l.seq}, 2)
		return
	}
	l.seq++
	l.start(ref, yarn.ApplicationID{ClusterTimestamp: 2, Sequence: l.seq}, 1)
}

func (l *life) remove(t *rapid.T) {
	ref, i, ok := pick(t, l.apps)
	if !ok {
		return
	}
	l.apps = drop(l.apps, i)
	l.forget(l.s.EndAttempt(ref, false))
	l.s.RemoveApplication(ref)
}

func (l *life) move(t *rapid.T) {
	if ref, _, ok := pick(t, l.apps); ok {
		l.s.MoveApplication(ref, rapid.SampledFrom([]string{"a", "b1", "b2", "c", "b", "b.b1"}).Draw(t, "target"))
	}
}

func (l *life) priority(t *rapid.T) {
	if ref, _, ok := pick(t, l.apps); ok {
		l.s.SetPriority(ref, rapid.Int32Range(0, 7).Draw(t, "priority"))
	}
}

func (l *life) removeNode(t *rapid.T) {
	node, i, ok := pick(t, l.nodes)
	if !ok || len(l.nodes) < 2 {
		return
	}
	l.nodes = drop(l.nodes, i)
	kept := l.ended[:0]
	for _, c := range l.ended {
		if l.s.Container(c).Node != node {
			kept = append(kept, c)
		}
	}
	l.ended = kept
	l.forget(l.s.RemoveNode(node))
}

func (l *life) resize(t *rapid.T) {
	if node, _, ok := pick(t, l.nodes); ok {
		size := rapid.SampledFrom([]int64{2, 8, 24}).Draw(t, "size")
		l.s.SetNodeTotal(node, yarn.NewResource(size*1024, size))
	}
}

func (l *life) label(t *rapid.T) {
	if node, _, ok := pick(t, l.nodes); ok {
		l.s.SetNodeLabel(node, rapid.SampledFrom([]string{"", "x"}).Draw(t, "label"))
	}
}

func (l *life) update(t *rapid.T) {
	c, _, ok := pick(t, l.live)
	if !ok {
		return
	}
	container := l.s.Container(c)
	kind := rapid.SampledFrom([]yarn.UpdateType{yarn.IncreaseResource, yarn.DecreaseResource, yarn.PromoteExecutionType, yarn.DemoteExecutionType}).Draw(t, "kind")
	to := yarn.Guaranteed
	if kind == yarn.DemoteExecutionType {
		to = yarn.Opportunistic
	}
	l.s.Update(container.App, []yarn.ContainerUpdate{{Container: container.ID, Version: container.Version, Type: kind, ExecutionType: to,
		Capability: yarn.NewResource(rapid.Int64Range(1, 8).Draw(t, "memory")*512, 2)}})
	l.s.Updated(container.App, nil)
	if rapid.Bool().Draw(t, "done") {
		l.s.AllocateDone(container.App)
	}
}

// lend places an opportunistic container, which takes nothing of what anybody has.
func (l *life) lend(t *rapid.T) {
	app, _, ok := pick(t, l.apps)
	if !ok {
		return
	}
	node, _, ok := pick(t, l.nodes)
	if !ok {
		return
	}
	before, used := l.s.NodeUsage(node), l.s.AppUsage(app).Used
	c := l.s.PlaceOpportunistic(app, node, scheduler.Opportunistic{Resource: yarn.NewResource(rapid.Int64Range(1, 8).Draw(t, "memory")*512, 1), Priority: 1})
	l.live = append(l.live, c)
	if now := l.s.NodeUsage(node); now.Used != before.Used || l.s.AppUsage(app).Used != used || len(now.Containers) != len(before.Containers)+1 {
		t.Fatalf("%v is charged to somebody", l.s.Container(c).ID)
	}
}

func (l *life) reconfigure(t *rapid.T) {
	before := l.s.Queues()
	err := l.s.Reconfigure(l.configure(t))
	if err != nil && len(l.s.Queues().Queues) != len(before.Queues) {
		t.Fatalf("a refused configuration changed the queues: %v", err)
	}
}

// round is what the FairScheduler does from time to time; it is nothing to others.
func (l *life) round(t *rapid.T) {
	if rapid.Bool().Draw(t, "shares alone") {
		l.s.Recompute(l.now())
		return
	}
	for _, due := range l.s.Due(l.now(), nil) {
		c := due.Ref
		l.live = slices.DeleteFunc(l.live, func(o scheduler.ContainerRef) bool { return o == c })
		if !l.s.Finish(c, cluster.Preempted) {
			l.ended = append(l.ended, c)
		}
	}
	for _, noticed := range l.s.Preempt(l.now(), nil) {
		if container := l.s.Container(noticed.Ref); !container.Live || container.Reserved {
			t.Fatalf("%v is given notice, which nobody has", container.ID)
		}
	}
}

func (l *life) tend(*rapid.T) { l.s.RunDynamicQueues(true, l.now()) }

func (l *life) blacklist(t *rapid.T) {
	if ref, _, ok := pick(t, l.apps); ok {
		place := []string{rapid.SampledFrom([]string{"h1", "h2", "/r0", "nowhere"}).Draw(t, "place")}
		if rapid.Bool().Draw(t, "add") {
			l.s.Blacklist(ref, place, nil)
		} else {
			l.s.Blacklist(ref, nil, place)
		}
	}
}
