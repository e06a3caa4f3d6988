package twin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// What is expected here was seen in Apache's scheduler. The twin is held to it
// so that it cannot err together with what it is compared with.

// world is the queues of a configuration on nodes of the default partition.
func world(t *testing.T, set map[string]string, nodes ...yarn.Resource) *World {
	t.Helper()
	w := &World{Labels: []Label{{Name: ""}, {Name: "y"}}}
	for i, total := range nodes {
		w.Nodes = append(w.Nodes, &Node{ID: yarn.NodeID{Host: fmt.Sprint("h", i+1), Port: 1}, Name: fmt.Sprint("h", i+1), Rack: "/r", Total: total, Accepting: true})
	}
	w.refresh(t, set)
	return w
}

// refresh puts another configuration in force.
func (w *World) refresh(t *testing.T, set map[string]string) {
	t.Helper()
	var props []config.Property
	for k, v := range set {
		props = append(props, config.Property{Name: config.Prefix + k, Value: v})
	}
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8),
		LabelsEnabled: true, Labels: []config.Label{{Name: "y"}}})
	if err != nil {
		t.Fatal(err)
	}
	memory := map[string]map[string]*Memory{}
	if w.Root != nil {
		for _, q := range w.Queues() {
			memory[q.Path] = q.Memory
		}
	}
	w.Config, w.Root = cfg.Capacity, queueOf(cfg.Capacity.Root, nil, memory)
	w.Reload()
	w.Entitle()
	for path, limit := range w.QueueLimits() {
		w.at(path).QueueLimit = limit
	}
}

func queueOf(conf *config.Queue, parent *Queue, memory map[string]map[string]*Memory) *Queue {
	q := &Queue{Path: conf.Path, Conf: conf, Parent: parent, IsLeaf: conf.Kind == config.Leaf, UsageRatio: map[string]float32{}, Memory: memory[conf.Path]}
	if q.Memory == nil {
		q.Memory = map[string]*Memory{}
	}
	for _, c := range conf.Children {
		q.Children = append(q.Children, queueOf(c, q, memory))
	}
	return q
}

func (w *World) at(path string) *Queue {
	i := slices.IndexFunc(w.Queues(), func(q *Queue) bool { return q.Path == path })
	return w.Queues()[i]
}

// app is an active application of a user that wants so many containers.
func (w *World) app(path, user string, size yarn.Resource, count int32) *App {
	q := w.at(path)
	if q.User(user) == nil {
		q.Users = append(q.Users, &User{Name: user, Asking: true, Active: 1, Ratio: map[string]float32{}})
	}
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(len(w.Apps) + 1)}
	a := &App{ID: id, Attempt: yarn.AttemptID{Application: id, Attempt: 1}, User: user, Queue: q, Unmanaged: true, Running: true,
		Runnable: true, Active: true, Mastered: true, Asking: true, Asked: []string{""}}
	a.Keys = []*Key{{Priority: 1, Any: &Row{Name: yarn.AnyHost, Count: count, Size: size, Relax: true}}}
	w.Apps = append(w.Apps, a)
	return a
}

// run is a container that an application has on a node.
func (w *World) run(a *App, node int, size yarn.Resource) *Container {
	c := &Container{App: a, Node: w.Nodes[node], Resource: size, Live: true, Held: true}
	w.Containers = append(w.Containers, c)
	w.charge(c, 1)
	return c
}

func two(a, b string) map[string]string {
	return map[string]string{"root.queues": "a,b", "root.a.capacity": a, "root.b.capacity": b}
}

func with(set map[string]string, more ...string) map[string]string {
	for i := 0; i < len(more); i += 2 {
		set[more[i]] = more[i+1]
	}
	return set
}

func TestEntitlements(t *testing.T) {
	for _, c := range []struct {
		set   map[string]string
		total yarn.Resource
		want  []yarn.Resource
	}{
		{two("70", "30"), yarn.NewResource(10240, 10), []yarn.Resource{yarn.NewResource(7167, 6), yarn.NewResource(3072, 3)}},
		{two("35", "65"), yarn.NewResource(1000, 30), []yarn.Resource{yarn.NewResource(349, 10), yarn.NewResource(649, 19)}},
		{two("[memory=4096,vcores=4]", "[memory=2048,vcores=2]"), yarn.NewResource(3000, 30), []yarn.Resource{yarn.NewResource(2000, 20), yarn.NewResource(1000, 10)}},
		{with(two("70", "30"), "legacy-queue-mode.enabled", "false"), yarn.NewResource(10240, 10), []yarn.Resource{yarn.NewResource(7168, 7), yarn.NewResource(3072, 3)}},
		{with(two("75", "75"), "legacy-queue-mode.enabled", "false"), yarn.NewResource(10240, 10), []yarn.Resource{yarn.NewResource(7680, 7), yarn.NewResource(2560, 3)}},
		{with(two("1w", "2w"), "legacy-queue-mode.enabled", "false"), yarn.NewResource(10240, 10), []yarn.Resource{yarn.NewResource(3413, 3), yarn.NewResource(6827, 7)}},
		{map[string]string{"legacy-queue-mode.enabled": "false", "root.queues": "a,b,c", "root.a.capacity": "[memory=2048]", "root.b.capacity": "[memory=50%]", "root.c.capacity": "[memory=1w]"},
			yarn.NewResource(10240, 0), []yarn.Resource{yarn.NewResource(2048, 0), yarn.NewResource(4096, 0), yarn.NewResource(4096, 0)}},
	} {
		w := world(t, c.set, c.total)
		for i, q := range w.Root.Children {
			if have := q.Shares[""].Min; have != c.want[i] {
				t.Errorf("%v of %v: %s has %v, not %v", c.set, c.total, q.Path, have, c.want[i])
			}
		}
	}
}

// Weights stay in force when percentages replace them, where they are larger.
func TestWeightsAreRemembered(t *testing.T) {
	w := world(t, two("9w", "1w"), yarn.NewResource(10240, 10))
	w.refresh(t, two("50", "50"))
	if a, b := w.at("root.a").Shares[""].Absolute, w.at("root.b").Shares[""].Absolute; a != 0.9 || b != 0.5 {
		t.Errorf("after the refresh there are %v and %v", a, b)
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       int64
	}{{"root.a.minimum-user-limit-percent", "25", 2048}, {"root.a.minimum-user-limit-percent", "100", 7168}, {"root.a.user-limit-factor", "0.3", 3072}, {"root.a.user-settings.ann.weight", "0.5", 3072}} {
		w := world(t, with(two("70", "30"), c.key, c.value), yarn.NewResource(10240, 10))
		w.app("root.a", "ann", yarn.NewResource(1024, 1), 1)
		if have := w.UserLimit(w.at("root.a"), "ann", "", false); have.MemoryMB() != c.want {
			t.Errorf("%s=%s: the limit is %v, not %d", c.key, c.value, have, c.want)
		}
	}
	w := world(t, with(two("35", "65"), "root.a.minimum-user-limit-percent", "25", "root.a.user-limit-factor", "0.3"), yarn.NewResource(10240, 10))
	if all, each := w.MaxApps(w.at("root.a")); all != 3500 || each != 262 {
		t.Errorf("%d applications, %d of a user", all, each)
	}
	// An idle queue gives masters of its maximum, not of its share.
	w = world(t, with(two("35", "65"), "maximum-am-resource-percent", "1"), yarn.NewResource(20480, 20))
	if have := w.MasterLimit(w.at("root.a"), ""); have.MemoryMB() != 20480 {
		t.Errorf("masters may use %v", have)
	}
}

func offers(w *World, nodes ...int) (out []Kind) {
	for _, n := range nodes {
		for _, d := range w.Offer(w.Nodes[n]) {
			out = append(out, d.Kind)
		}
	}
	return out
}

// What waits at a parent's maximum keeps the room that is left from its sibling.
func TestRoomIsKept(t *testing.T) {
	w := world(t, with(two("50", "50"), "root.queues", "p,o", "root.p.capacity", "50", "root.o.capacity", "50", "root.p.maximum-capacity", "50",
		"root.p.queues", "x,y", "root.p.x.capacity", "50", "root.p.y.capacity", "50", "user-limit-factor", "9"), yarn.NewResource(16384, 16))
	y := w.app("root.p.y", "bob", yarn.NewResource(1024, 1), 1)
	w.run(y, 0, yarn.NewResource(6144, 6))
	w.app("root.p.x", "ann", yarn.NewResource(3072, 1), 1)
	if got := offers(w, 0); len(got) != 0 {
		t.Errorf("placed %v", got)
	}
	w.Apps[1].Keys[0].Any.Size = yarn.NewResource(2048, 1)
	if got := offers(w, 0); !slices.Equal(got, []Kind{Allocated}) {
		t.Errorf("placed %v", got)
	}
}

// Room is lent when as many heartbeats have passed as there are nodes, and then
// at every one.
func TestRoomIsLent(t *testing.T) {
	node := yarn.NewResource(8192, 8)
	w := world(t, with(two("50", "50"), "user-limit-factor", "9", "root.a.accessible-node-labels.y.capacity", "100"), node, node, node)
	w.Nodes[2].Label = "y"
	w.Entitle()
	w.app("root.a", "ann", yarn.NewResource(1024, 1), 5)
	for i, want := range []int{0, 0, 1, 1, 1} {
		if got := offers(w, 2); len(got) != want {
			t.Errorf("heartbeat %d placed %v", i+1, got)
		}
	}
}

func TestLocality(t *testing.T) {
	node := yarn.NewResource(8192, 8)
	w := world(t, with(two("50", "50"), "user-limit-factor", "9"), node, node, node, node)
	a := w.app("root.a", "ann", yarn.NewResource(1024, 1), 3)
	a.Keys[0].Rows = []Row{{"h4", 3, yarn.NewResource(1024, 1), true}, {"/r", 3, yarn.NewResource(1024, 1), true}}
	if got := offers(w, 0); len(got) != 0 {
		t.Errorf("the first node got %v", got)
	}
	if got := offers(w, 1); len(got) != 1 || w.Containers[0].Locality != OffSwitch {
		t.Errorf("the second node got %v", got)
	}
	if got := offers(w, 3); len(got) != 2 || w.Containers[1].Locality != NodeLocal {
		t.Errorf("the node that was asked for got %v", got)
	}
}

// A reservation that was renewed nine times gives its key a second chance.
func TestReservationStarves(t *testing.T) {
	w := world(t, with(two("100", "0"), "user-limit-factor", "9"), yarn.NewResource(8192, 8), yarn.NewResource(8192, 8))
	b := w.app("root.a", "bob", yarn.NewResource(1024, 1), 0)
	b.Keys = nil
	w.run(b, 0, yarn.NewResource(4096, 1))
	w.run(b, 1, yarn.NewResource(4096, 1))
	a := w.app("root.a", "ann", yarn.NewResource(6144, 1), 1)
	want := []Kind{Reserved}
	for range 9 {
		want = append(want, Rereserved)
	}
	if got := offers(w, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0); !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	w.Containers[1].Held, w.Containers[1].Live = false, false
	if got := offers(w, 1); !slices.Equal(got, []Kind{Allocated}) || len(a.Keys[0].Reservations) != 1 {
		t.Errorf("got %v with %d reservations", got, len(a.Keys[0].Reservations))
	}
}
