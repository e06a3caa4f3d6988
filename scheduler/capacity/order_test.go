package capacity

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// TestChildrenMoveToTheirPlaces sees that keys and the tournament come to what
// comparing everything and sorting anew come to.
func TestChildrenMoveToTheirPlaces(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rapid.Check(t, func(t *rapid.T) {
		s := &Scheduler{Core: core.Core{Calc: measure.Calculator{Types: 2}, Books: cluster.NewBooks(false)}}
		s.shortcuts = &shortcuts{s: s}
		label := rapid.SampledFrom([]string{"", "x"}).Draw(t, "label")
		r := &round{s: s, part: s.Books.PartOf(label)}
		if r.part > 0 && rapid.Bool().Draw(t, "lent room") {
			r.mode = ignore
		}
		if r.asks = r.part; r.mode == ignore {
			r.asks = 0
		}
		up := &Queue{Conf: &config.Queue{ByPriority: rapid.Bool().Draw(t, "by priority")}, Facts: &parent{}}
		used := rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), -0.5, -2, 0.25, 0.5, 1, 2, inf, nan, -nan})
		absolute := rapid.SampledFrom([]float32{0.1, 0.1, 0.2, 0, nan})
		one := yarn.NewResource(1024, 1)
		for i := range rapid.IntRange(0, 40).Draw(t, "children") {
			c := &Queue{Place: int32(i), Up: up, Conf: &config.Queue{Priority: rapid.Int32Range(-1, 2).Draw(t, "priority")}, Facts: &parent{}}
			c.Outer, c.Settings = c, &c.Conf.Settings
			c.Grow(2)
			if rapid.Bool().Draw(t, "may use it") {
				c.Conf.Accessible = []string{label}
			}
			sh := &c.Shares[r.part]
			sh.UsedCapacity, sh.AbsoluteUsed, sh.Absolute = used.Draw(t, "used"), used.Draw(t, "of all"), absolute.Draw(t, "absolute")
			sh.ConfMin = yarn.NewResource(rapid.Int64Range(0, 1).Draw(t, "minimum"), 0)
			sh.HasMin = !none(sh.ConfMin)
			c.Ledger[r.asks].Pending = one
			up.Children = append(up.Children, c)
		}
		r.children(up)
		for range min(len(up.Children), rapid.IntRange(1, 40).Draw(t, "moves")) {
			moved := rapid.SampledFrom(up.Children).Draw(t, "moved")
			moved.Shares[r.part].UsedCapacity, moved.Shares[r.part].AbsoluteUsed = used.Draw(t, "used now"), used.Draw(t, "of all now")
			s.shortcuts.Changed(core.Change{What: core.Usage, Queue: &moved.Queue, Part: r.part})
			if rapid.Bool().Draw(t, "wants or not") {
				moved.Ledger[r.asks].Pending = one.Sub(moved.Ledger[r.asks].Pending)
				s.shortcuts.Changed(core.Change{What: core.Demand, Queue: &moved.Queue, Part: r.asks})
			}
		}
		var want []*Queue
		for _, c := range up.Children {
			if !none(c.Ledger[r.asks].Pending) {
				want = append(want, c)
			}
		}
		slices.SortStableFunc(want, func(a, b *Queue) int { return compareQueues(up, a, b, r.part, label) })
		for range 2 {
			order := r.children(up)
			var have []*Queue
			for c := order.next(); c != nil; c = order.next() {
				have = append(have, c)
			}
			order.done()
			if !slices.Equal(have, want) {
				t.Fatalf("children are served in another order: %v, not %v", places(have), places(want))
			}
		}
		if wrong := s.checkOrders(up); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

func places(list []*Queue) (out []int32) {
	for _, q := range list {
		out = append(out, q.Place)
	}
	return out
}

// compareQueues orders two children of a parent for a partition.
func compareQueues(parent, a, b *Queue, p part, label string) int {
	if label != "" {
		x, y := a.MayUse(label), b.MayUse(label)
		if x != y {
			if x {
				return -1
			}
			return 1
		}
	}
	x, y := &a.Shares[p], &b.Shares[p]
	xz, yz := isZero(x.Absolute), isZero(y.Absolute)
	switch {
	case above(x.Absolute) && yz:
		return -1
	case above(y.Absolute) && xz:
		return 1
	case xz && yz:
		return compareUse(parent, a, b, x, y, x.AbsoluteUsed, y.AbsoluteUsed)
	}
	return compareUse(parent, a, b, x, y, x.UsedCapacity, y.UsedCapacity)
}

// isZero and above are Float.compare with 0.
func isZero(f float32) bool { return f == 0 && !math.Signbit(float64(f)) }
func above(f float32) bool  { return f > 0 || f != f }

func compareUse(parent, a, b *Queue, x, y *tree.Share, usedA, usedB float32) int {
	n := 0
	if pa, pb := a.Conf.Priority, b.Conf.Priority; parent.Conf.ByPriority && pa != pb &&
		(usedA < 1 && usedB < 1 || usedA >= 1 && usedB >= 1) {
		n = cmp.Compare(pb, pa)
	} else {
		n = javanum.Compare(float64(usedA), float64(usedB))
	}
	if n != 0 {
		return n
	}
	if x.HasMin || y.HasMin {
		return slices.Compare(y.ConfMin[:], x.ConfMin[:])
	}
	return javanum.Compare(float64(y.Absolute), float64(x.Absolute))
}

// TestNewPartitionAfterAQueueHasGone sees that a queue which a refresh took away, but
// which still has an application, counts what that one has in a partition that came later.
func TestNewPartitionAfterAQueueHasGone(t *testing.T) {
	conf := func(settings map[string]string) *config.Config {
		props := []config.Property{{Name: config.Prefix + "maximum-am-resource-percent", Value: "1"}, {Name: config.Prefix + "root.accessible-node-labels", Value: "*"}}
		for _, k := range slices.Sorted(maps.Keys(settings)) {
			props = append(props, config.Property{Name: config.Prefix + "root." + k, Value: settings[k]})
		}
		cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8), LabelsEnabled: true})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	s, err := New(conf(map[string]string{"queues": "a,b", "a.capacity": "50", "b.capacity": "50"}).Capacity)
	if err != nil {
		t.Fatal(err)
	}
	node := s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h0", Port: 1}, Total: yarn.NewResource(8192, 8)})
	apps := map[string]AppRef{}
	for i, q := range []string{"a", "b"} {
		id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i)}
		a, why := s.AddApplication(demand.Application{ID: id, User: "ann", Unmanaged: true}, q)
		if !why.OK() {
			t.Fatal(why)
		}
		s.AddAttempt(a, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}})
		s.Ask(a, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 50, RelaxLocality: true}})
		apps[q] = a
	}
	for range apps {
		s.Offer(node, yarn.Now{Wall: 1, Mono: 1}, nil)
	}
	if err := s.Refresh(conf(map[string]string{"queues": "a", "a.capacity": "100", "b.state": "STOPPED"}), nil); err != nil {
		t.Fatal(err)
	}
	s.SetLabels([]config.Label{{Name: "z"}})
	z := s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h1", Port: 1}, Total: yarn.NewResource(8192, 8), Label: "z"})
	s.Offer(z, yarn.Now{Wall: 1, Mono: 1}, nil)
	b := s.app(apps["b"])
	if b.Live.Len() == 0 || s.tree.Find("b") != nil {
		t.Fatal("nothing is tested")
	}
	s.SetNodeLabel(node, "z")
	if none(b.queue.Ledger[s.Part("z")].Used) {
		t.Error("the queue uses nothing in the partition that its containers are in")
	}
	s.Ask(apps["b"], []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true, Label: "z", LabelSet: true}})
	s.AllocateDone(apps["b"])
	if wrong := s.Check(); wrong != "" {
		t.Error(wrong)
	}
	s.EndAttempt(apps["b"], false)
	if wrong := s.Check(); wrong != "" {
		t.Error(wrong)
	}
}

// A container that has ended and not left its node goes with the node to another partition, as in Apache, and what it used with it. If its application waits by
// then for another master, the applications that wait with it have as little as before.
func TestWhoWaitsHasNothingOfAContainerThatMoves(t *testing.T) {
	cfg, _, err := config.Parse([]config.Property{{Name: config.Prefix + "root.queues", Value: "a"}, {Name: config.Prefix + "root.a.capacity", Value: "100"},
		{Name: config.Prefix + "root.accessible-node-labels", Value: "*"}, {Name: config.Prefix + "maximum-am-resource-percent", Value: "0.1"}},
		config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8), LabelsEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg.Capacity)
	if err != nil {
		t.Fatal(err)
	}
	s.AsApache = true
	s.SetLabels([]config.Label{{Name: "z"}})
	node := s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h0", Port: 1}, Total: yarn.NewResource(8192, 8)})
	var apps []AppRef
	begin := func(i int, number int32) {
		id := yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i)}, Attempt: number}
		s.AddAttempt(apps[i], demand.Attempt{ID: id, AM: yarn.NewResource(1024, 1)})
		s.Ask(apps[i], []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true}})
	}
	for i := range 3 {
		a, why := s.AddApplication(demand.Application{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i)}, User: "ann"}, "a")
		if !why.OK() {
			t.Fatal(why)
		}
		apps = append(apps, a)
		begin(i, 1)
	}
	s.Offer(node, yarn.Now{Wall: 1, Mono: 1}, nil)
	masters := s.Containers(apps[0], nil)
	if len(masters) != 1 || s.app(apps[1]).active {
		t.Fatal("nothing is tested")
	}
	s.Launched(masters[0])
	s.EndAttempt(apps[0], false) // the second application is admitted
	begin(0, 2)
	if a := s.app(apps[0]); a.active || s.Container(masters[0]).Live || a.Wants != s.app(apps[2]).Wants {
		t.Fatal("nothing is tested")
	}
	s.SetNodeLabel(node, "z")
	if has := s.app(apps[2]).Shares; slices.ContainsFunc(has, func(p core.AppShare) bool { return p != core.AppShare{} }) {
		t.Errorf("an application that has no container has %v", has)
	}
}
