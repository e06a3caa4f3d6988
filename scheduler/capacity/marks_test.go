package capacity

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
	"pgregory.net/rapid"
)

// twins are two schedulers that get the same calls. One leaves walks out that
// would end as before, the other walks everything.
type twins struct {
	quick, plain *Scheduler
	nodes        []NodeRef
	apps         []AppRef
	boxes        []ContainerRef
	seq          int32
}

func newTwins(t *rapid.T) *twins {
	draw := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	set := map[string]string{
		"root.queues": "a,b,c", "root.a.capacity": "40", "root.b.capacity": "30", "root.c.capacity": "30",
		"root.c.queues": "c1,c2", "root.c.c1.capacity": "50", "root.c.c2.capacity": "50", "root.c.maximum-capacity": "50",
		"user-limit-factor": draw("factor", "0.2", "0.5", "1", "4"), "maximum-am-resource-percent": "1",
		"minimum-user-limit-percent":                       draw("percent", "25", "100"),
		"per-node-heartbeat.maximum-offswitch-assignments": draw("off", "1", "5"),
		"root.a.ordering-policy":                           draw("order", "fifo", "fair"),
		"reservations-continue-look-all-nodes":             draw("look", "true", "false"),
	}
	var props []config.Property
	for k, v := range set {
		props = append(props, config.Property{Name: config.Prefix + k, Value: v})
	}
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatalf("%v", err)
	}
	w := &twins{}
	w.quick, _ = New(cfg)
	w.plain, _ = New(cfg)
	w.plain.plain = true
	return w
}

func (w *twins) both(do func(s *Scheduler)) {
	do(w.quick)
	if w.plain != nil {
		do(w.plain)
	}
}

func (w *twins) node() {
	id := yarn.NodeID{Host: fmt.Sprintf("h%d", len(w.nodes)), Port: 1}
	var ref NodeRef
	w.both(func(s *Scheduler) {
		ref = s.AddNode(cluster.Node{ID: id, Rack: "/r" + fmt.Sprint(len(w.nodes)%2), Total: yarn.NewResource(12*1024, 12)})
	})
	w.nodes = append(w.nodes, ref)
}

func (w *twins) submit(t *rapid.T) {
	if len(w.apps) > 10 {
		return
	}
	w.seq++
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: w.seq}
	user := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user")
	path := rapid.SampledFrom([]string{"a", "b", "c1", "c2"}).Draw(t, "queue")
	var ref AppRef
	ok := false
	w.both(func(s *Scheduler) {
		r, why := s.AddApplication(demand.Application{ID: id, User: user, Unmanaged: rapid.SampledFrom([]bool{true}).Draw(t, "kind")}, path)
		if ref, ok = r, why.OK(); ok {
			s.AddAttempt(r, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, StartWall: int64(w.seq)})
		}
	})
	if ok {
		w.apps = append(w.apps, ref)
	}
}

func (w *twins) ask(t *rapid.T) {
	if len(w.apps) == 0 {
		return
	}
	ref := rapid.SampledFrom(w.apps).Draw(t, "app")
	asks := []yarn.Ask{{Priority: rapid.Int32Range(1, 2).Draw(t, "priority"), Where: yarn.AnyHost, RelaxLocality: true,
		Capability: yarn.NewResource(rapid.Int64Range(1, 7).Draw(t, "memory")*1024, 1), Count: rapid.Int32Range(0, 9).Draw(t, "count")}}
	if rapid.Bool().Draw(t, "local") {
		for _, where := range []string{"h0", "/r0"} {
			near := asks[0]
			near.Where = where
			asks = append(asks, near)
		}
	}
	w.both(func(s *Scheduler) {
		s.Normalize(ref, asks)
		s.Ask(ref, asks)
	})
}

func (w *twins) beat(t *rapid.T) {
	ref := rapid.SampledFrom(w.nodes).Draw(t, "node")
	a := w.quick.Offer(ref, yarn.Now{}, nil)
	b := w.plain.Offer(ref, yarn.Now{}, nil)
	if !slices.Equal(a, b) {
		t.Fatalf("leaving walks out is noticed:\n%v\n%v", a, b)
	}
	for _, d := range a {
		if d.Kind == cluster.Allocated || d.Kind == cluster.AllocatedFromReserved {
			w.boxes = append(w.boxes, d.Container)
		}
	}
}

func (w *twins) finish(t *rapid.T) {
	if len(w.boxes) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.boxes)-1).Draw(t, "container")
	c := w.boxes[i]
	w.boxes = slices.Delete(w.boxes, i, i+1)
	w.both(func(s *Scheduler) { s.Vacate(c) })
}

// turn lets an application change its queue, its priority or its attempt.
func (w *twins) turn(t *rapid.T) {
	if len(w.apps) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.apps)-1).Draw(t, "app")
	ref, keep := w.apps[i], rapid.Bool().Draw(t, "keep")
	id := w.quick.app(ref).ID
	switch rapid.IntRange(0, 3).Draw(t, "turn") {
	case 0:
		to := rapid.SampledFrom([]string{"a", "b", "c1", "c2"}).Draw(t, "to")
		w.both(func(s *Scheduler) { s.MoveApplication(ref, to) })
	case 1:
		p := rapid.Int32Range(0, 3).Draw(t, "to")
		w.both(func(s *Scheduler) { s.SetPriority(ref, p) })
	case 2:
		var over []cluster.Ended
		w.both(func(s *Scheduler) {
			over = s.EndAttempt(ref, keep)
			next := demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: s.app(ref).attempt.ID.Attempt + 1}, StartWall: int64(w.seq), KeepContainers: keep}
			s.AddAttempt(ref, next)
		})
		w.vacate(over)
	case 3:
		var over []cluster.Ended
		w.both(func(s *Scheduler) {
			over = s.EndAttempt(ref, false)
			s.RemoveApplication(ref)
		})
		w.apps = slices.Delete(w.apps, i, i+1)
		w.vacate(over)
	}
}

func (w *twins) vacate(over []cluster.Ended) {
	for _, e := range over {
		if i := slices.Index(w.boxes, e.Ref); i >= 0 {
			w.boxes = slices.Delete(w.boxes, i, i+1)
			if !e.Vacated {
				w.both(func(s *Scheduler) { s.Vacate(e.Ref) })
			}
		}
	}
}

func (w *twins) compare(t *rapid.T) {
	w.both(func(s *Scheduler) {
		if wrong := s.Check(); wrong != "" {
			t.Fatal(wrong)
		}
	})
	for _, a := range w.apps {
		if x, y := w.quick.Headroom(a), w.plain.Headroom(a); x != y {
			t.Fatalf("headroom of %v is %v, not %v", w.quick.app(a).ID, x, y)
		}
	}
	for i := range w.quick.tree.all {
		if x, y := w.quick.info(w.quick.tree.all[i]), w.plain.info(w.plain.tree.all[i]); fmt.Sprint(x) != fmt.Sprint(y) {
			t.Fatalf("%+v\n%+v", x, y)
		}
	}
}

// TestMarksAreNotNoticed plays random calls on both twins and compares every
// decision, headroom and picture of the queues.
func TestMarksAreNotNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(t)
		w.node()
		w.node()
		w.node()
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				w.submit(t)
			case 1, 2:
				w.ask(t)
			case 3:
				w.finish(t)
			case 4:
				w.compare(t)
			case 5:
				if rapid.IntRange(0, 9).Draw(t, "rare") == 0 && len(w.nodes) < 6 {
					w.node()
				}
				w.turn(t)
			default:
				w.beat(t)
			}
		}
		w.compare(t)
	})
}

// TestExplainLeavesNoTrace compares a scheduler that is asked for reasons all
// the time with one that is not.
func TestExplainLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(t)
		w.node()
		w.node()
		for range rapid.IntRange(10, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				w.submit(t)
			case 1, 2:
				w.ask(t)
			case 3:
				w.finish(t)
			default:
				w.beat(t)
			}
			for _, a := range w.apps {
				w.quick.Explain(a, 10)
			}
		}
		w.compare(t)
	})
}
