package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// BenchmarkUserLimit is a heartbeat that places nothing in the shape of Apache's own throughput test: one user everywhere, in each
// queue one application more than wait, two nodes with room for all; then the factor of the user limit becomes 0, so that each queue
// gives one container and no more. bench/capacity/compare runs both.
func BenchmarkUserLimit(b *testing.B) {
	for _, size := range []struct{ queues, apps int }{{1, 100}, {40, 100}, {100, 1000}} {
		b.Run(fmt.Sprintf("%dqueues/%dapps", size.queues, size.apps), func(b *testing.B) {
			s, nodes := atUserLimit(b, size.queues, size.apps)
			var out []scheduler.Decision
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if out = s.Offer(nodes[i%2], yarn.Now{}, out[:0]); len(out) > 0 {
					b.Fatal("something was placed")
				}
			}
		})
	}
}

func atUserLimit(b *testing.B, queues, apps int) (*scheduler.Scheduler, []scheduler.NodeRef) {
	apps += queues
	set := func(factor string) *config.Config {
		props, _ := treeOf([]int{queues})
		for key, value := range map[string]string{"user-limit-factor": factor, "per-node-heartbeat.maximum-offswitch-assignments": fmt.Sprint(queues),
			"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"} {
			props = append(props, config.Property{Name: config.Prefix + key, Value: value, Origin: "bench"})
		}
		cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4)})
		if err != nil {
			b.Fatal(err)
		}
		return cfg
	}
	s, err := scheduler.New(set("100"))
	if err != nil {
		b.Fatal(err)
	}
	var nodes []scheduler.NodeRef
	for _, host := range []string{"one", "two"} {
		nodes = append(nodes, s.AddNode(scheduler.Node{ID: yarn.NodeID{Host: host, Port: 1}, Rack: "/r", Total: yarn.NewResource(int64(apps)*1024, int64(apps))}))
	}
	var waiting []scheduler.AppRef
	for i := range apps {
		id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i + 1)}
		path := fmt.Sprintf("root.q0-%d", i%queues)
		ref, why := s.AddApplication(scheduler.Application{ID: id, User: "user1", Queue: path, Unmanaged: true}, path)
		if !why.OK() {
			b.Fatal(why)
		}
		s.AddAttempt(ref, scheduler.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}})
		s.Ask(ref, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true}})
		waiting = append(waiting, ref)
	}
	if err := s.Reconfigure(set("0")); err != nil {
		b.Fatal(err)
	}
	placed := 0
	for range 10 {
		for _, n := range nodes {
			placed += len(s.Offer(n, yarn.Now{}, nil))
		}
	}
	if placed != queues {
		b.Fatalf("%d containers, of which each of %d queues should have given one", placed, queues)
	}
	for _, a := range waiting {
		if !s.Admission(a).Active {
			b.Fatal("an application was not admitted")
		}
	}
	return s, nodes
}
