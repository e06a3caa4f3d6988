package fair

import (
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// TestManyAsksWithdrawn: an application that takes back many asks in one call gets no containers for them.
func TestManyAsksWithdrawn(t *testing.T) {
	s := planScheduler(t, `<queue name="a"/>`)
	ref, why := s.submitted(1, "root.a", "", false)
	if !why.OK() {
		t.Fatal(why)
	}
	for _, count := range []int32{1, 0} {
		var asks []yarn.Ask
		for p := range int32(20) {
			asks = append(asks, yarn.Ask{Priority: p, Where: yarn.AnyHost, Capability: yarn.NewResource(512, 1), Count: count, RelaxLocality: true})
		}
		s.Ask(ref, asks)
		if bad := s.Check(); bad != "" {
			t.Errorf("%d of each are asked for: %s", count, bad)
		}
		s.Recompute(yarn.Now{Wall: 1, Mono: 1})
	}
}

// TestClockIsSet: setting the clock forward makes no queue starve and shortens no notice; setting it back prolongs neither starvation nor notices.
func TestClockIsSet(t *testing.T) {
	for _, set := range []int64{-3_600_000, 0, 3_600_000} {
		cfg, _, err := config.Parse([]config.Property{{Name: config.FairPrefix + "preemption", Value: "true"}, {Name: config.FairPrefix + "waitTimeBeforeKill", Value: "2000"},
			{Name: config.FairPrefix + "preemption.cluster-utilization-threshold", Value: "0"}},
			config.Cluster{Policy: config.FairPolicy, MinAllocation: yarn.NewResource(512, 1), MaxAllocation: yarn.NewResource(8192, 8), Allocations: &config.AllocationFile{Name: "f.xml",
				Text: `<allocations><queue name="a"/><queue name="b"><minResources>4096 mb, 4 vcores</minResources><minSharePreemptionTimeout>5</minSharePreemptionTimeout></queue></allocations>`}})
		if err != nil {
			t.Fatal(err)
		}
		s := New(cfg.Fair)
		now := yarn.Now{Wall: 1_700_000_000_000, Mono: 1}
		s.Advance(now)
		node := s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h", Port: 1}, Rack: "/r", Total: yarn.NewResource(8192, 8)})
		ask := func(n int32, queue string, count int32) {
			ref, why := s.submitted(n, queue, "", false)
			if !why.OK() {
				t.Fatal(why)
			}
			s.Recompute(now)
			s.Offer(node, now, nil)
			s.Ask(ref, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: count, RelaxLocality: true}})
			s.Recompute(now)
			for range 10 {
				s.Offer(node, now, nil)
			}
		}
		ask(1, "root.a", 7)
		ask(2, "root.b", 4)
		notices, due := 0, 0
		for second := range int64(9) {
			now.Wall, now.Mono = now.Wall+1000, now.Mono+1000
			if second == 1 || second == 5 {
				now.Wall += set
			}
			due += len(s.Due(now, nil))
			notices += len(s.Preempt(now, nil))
			if (notices > 0) != (second >= 4) || (due > 0) != (second >= 6) {
				t.Errorf("the clock is set by %d ms; after %d s: %d notices, %d due", set, second+1, notices, due)
			}
		}
	}
}
