package capacity

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// TestSweepsEndWhenNothingMoreCanCome plays random calls without heartbeats, so
// that sweeps alone place what is asked for.
func TestSweepsEndWhenNothingMoreCanCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(10, 60).Draw(t, "steps") {
			p.step([]func(){p.sweep, p.ask, p.sweep, p.finish, p.ask, p.sweep, p.vacate, p.submit, p.avoid, p.endAttempt, p.remove, p.move, p.relabel, p.resize, p.addNode})
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
	s, err := New(cfg.Capacity)
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
		if out, more = s.Sweep(1, 1<<20, yarn.Now{}, nil); len(out) > 0 {
			t.Fatalf("%+v", out)
		}
	}
	if visits > nodes+1 {
		t.Errorf("%d visits to %d nodes", visits, nodes)
	}
}

// Whoever wants much that no node has, and first, has it walked anew for each
// container: an offer and a sweep end early then, and what comes later places the rest.
func TestKeysPassedByAreBounded(t *testing.T) {
	const strict, wanted = core.MaxKeys / 4, 40
	cfg, _, err := config.Parse([]config.Property{{Name: config.Prefix + "root.queues", Value: "a"}, {Name: config.Prefix + "root.a.capacity", Value: "100"},
		{Name: config.Prefix + "root.a.user-limit-factor", Value: "100"}, {Name: config.Prefix + "per-node-heartbeat.maximum-offswitch-assignments", Value: "1000"},
		{Name: config.Prefix + "per-node-heartbeat.maximum-container-assignments", Value: "-1"}},
		config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatal(err)
	}
	for how, place := range map[string]func(*Scheduler) []cluster.Decision{
		"offer": func(s *Scheduler) []cluster.Decision { return s.Offer(0, yarn.Now{}, nil) },
		"sweep": func(s *Scheduler) []cluster.Decision {
			out, more := s.Sweep(1, 1<<20, yarn.Now{}, nil)
			if !more {
				t.Error("a sweep that was cut short does not go on")
			}
			return out
		},
	} {
		t.Run(how, func(t *testing.T) {
			s, err := New(cfg.Capacity)
			if err != nil {
				t.Fatal(err)
			}
			s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h", Port: 1}, Total: yarn.NewResource(1024*wanted*2, 2*wanted)})
			id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
			a, _ := s.AddApplication(demand.Application{ID: id, User: "ann", Unmanaged: true}, "a")
			s.AddAttempt(a, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}})
			asks := []yarn.Ask{{Priority: strict, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: wanted, RelaxLocality: true}}
			for i := range int32(strict) {
				asks = append(asks, yarn.Ask{Priority: i, Where: "elsewhere", Capability: yarn.NewResource(1024, 1), Count: 1},
					yarn.Ask{Priority: i, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1})
			}
			s.Ask(a, asks)
			for left := wanted; left > 0; {
				n := len(place(s))
				if left -= n; n == 0 || n > core.MaxKeys/strict {
					t.Fatalf("%d were placed at once, %d are left", n, left)
				}
			}
		})
	}
}

// TestASweepOfAnOvercommittedNodeIsOneVisit lets nodes have less than nothing of a
// resource that containers need not have: as long as nobody wants anything, one visit
// of a sweep tells that of all.
func TestASweepOfAnOvercommittedNodeIsOneVisit(t *testing.T) {
	with := func(r yarn.Resource, gpus int64) yarn.Resource {
		r[2] = gpus
		return r
	}
	cfg, _, err := config.Parse([]config.Property{{Name: config.Prefix + "root.queues", Value: "a"}, {Name: config.Prefix + "root.a.capacity", Value: "100"},
		{Name: config.Prefix + "resource-calculator", Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"},
		{Name: config.Prefix + "maximum-am-resource-percent", Value: "1"}},
		config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: with(yarn.NewResource(8192, 8), 4), Types: append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "gpu"})})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg.Capacity)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []NodeRef
	for i := range 3 {
		nodes = append(nodes, s.AddNode(cluster.Node{ID: yarn.NodeID{Host: fmt.Sprintf("h%d", i), Port: 1}, Total: with(yarn.NewResource(8192, 4), 2)}))
	}
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	a, _ := s.AddApplication(demand.Application{ID: id, User: "ann", Unmanaged: true}, "a")
	s.AddAttempt(a, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}})
	s.Ask(a, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: with(yarn.NewResource(1024, 1), 2), Count: 3, RelaxLocality: true}})
	for more := true; more; {
		_, more = s.Sweep(1, 1<<20, yarn.Now{}, nil)
	}
	if left := s.app(a).Wants.PendingContainers(); left > 0 || s.ReservedNodes > 0 {
		t.Fatalf("%d containers are outstanding, %d nodes reserved", left, s.ReservedNodes)
	}
	for _, n := range nodes {
		s.SetNodeTotal(n, with(yarn.NewResource(8192, 4), 1))
	}
	if _, more := s.Sweep(1, 1<<20, yarn.Now{}, nil); more {
		t.Error("a sweep goes on though nobody wants anything")
	}
}
