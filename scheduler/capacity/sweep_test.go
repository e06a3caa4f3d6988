package capacity

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
	"pgregory.net/rapid"
)

func (w *twins) sweep(t *rapid.T) {
	s := w.quick
	for more := true; more; {
		var out []cluster.Decision
		out, more = s.Sweep(7, yarn.Now{}, nil)
		w.keep(out)
	}
	// What it leaves out must have been in vain.
	for ; s.sweep.count > 0 && s.sweep.idle <= s.books.Count+s.sweep.count+1; s.sweep.idle++ {
		ref := s.sweep.nextOpen()
		for _, d := range s.fill(ref, nil) {
			if d.Kind != cluster.Rereserved {
				t.Fatalf("a sweep ended before it did %+v", d)
			}
		}
	}
}

// keep remembers what was placed.
func (w *twins) keep(out []cluster.Decision) {
	for _, d := range out {
		if d.Kind == cluster.Allocated || d.Kind == cluster.AllocatedFromReserved {
			w.boxes = append(w.boxes, d.Container)
		}
	}
}

// TestSweepsEndWhenNothingMoreCanCome plays random calls, and after every sweep
// makes the visits that an early end has left out.
func TestSweepsEndWhenNothingMoreCanCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(t)
		w.plain = nil
		w.node()
		w.node()
		w.node()
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0:
				w.submit(t)
			case 1, 2:
				w.ask(t)
			case 3, 4:
				w.finish(t)
			case 5:
				w.turn(t)
			case 6:
				if rapid.IntRange(0, 9).Draw(t, "rare") == 0 && len(w.nodes) < 6 {
					w.node()
				}
			default:
				w.sweep(t)
			}
		}
	})
}

// TestASweepVisitsOpenNodesOnce lets an application wait for a host that is full:
// no number of visits to other nodes brings it nearer.
func TestASweepVisitsOpenNodesOnce(t *testing.T) {
	const nodes = 100
	cfg, _, err := config.Parse([]config.Property{{Name: config.Prefix + "root.queues", Value: "a"}, {Name: config.Prefix + "root.a.capacity", Value: "100"},
		{Name: config.Prefix + "maximum-am-resource-percent", Value: "1"}},
		config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		s.AddNode(cluster.Node{ID: yarn.NodeID{Host: fmt.Sprintf("h%d", i), Port: 1}, Total: yarn.NewResource(8192, 8)})
	}
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	a, _ := s.AddApplication(demand.Application{ID: id, User: "ann", Unmanaged: true}, "a")
	s.AddAttempt(a, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}})
	s.Ask(a, []yarn.Ask{
		{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1},
		{Priority: 1, Where: "/elsewhere", Capability: yarn.NewResource(1024, 1), Count: 1},
		{Priority: 1, Where: "elsewhere", Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true},
	})
	visits := 0
	for more := true; more; visits++ {
		var out []cluster.Decision
		if out, more = s.Sweep(1, yarn.Now{}, nil); len(out) > 0 {
			t.Fatalf("%+v", out)
		}
	}
	if visits > nodes+1 {
		t.Errorf("%d visits to %d nodes", visits, nodes)
	}
}
