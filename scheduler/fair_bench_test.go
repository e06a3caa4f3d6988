package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// fairPolicy is a property that has newCrowdOf make a cluster of the FairScheduler.
const fairPolicy = "policy of the benchmark"

// newFairCrowd is newCrowdOf under the FairScheduler.
func newFairCrowd(b *testing.B, widths []int, apps, nodes, room int) *crowd {
	var file strings.Builder
	leaves := fairTree(&file, "root", 0, widths, nil)
	cfg, _, err := config.Parse(nil, config.Cluster{Policy: config.FairPolicy, MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8),
		Allocations: &config.AllocationFile{Name: "fair-scheduler.xml", Text: "<allocations>" + file.String() + "</allocations>"}})
	if err != nil {
		b.Fatal(err)
	}
	c := &crowd{fair: true}
	if c.s, err = scheduler.New(cfg); err != nil {
		b.Fatal(err)
	}
	total := yarn.NewResource(int64(room)*1024, int64(room))
	c.s.Together(func() {
		for i := range nodes {
			id := yarn.NodeID{Host: fmt.Sprintf("host%05d", i), Port: 8041}
			c.nodes = append(c.nodes, c.s.AddNode(scheduler.Node{ID: id, Rack: fmt.Sprintf("/r%d", i%40), Total: total}))
		}
	})
	c.enter(b, apps, leaves)
	return c
}

// fairTree writes queues of the given widths, and lists the paths of the leaves.
func fairTree(file *strings.Builder, up string, level int, widths []int, leaves []string) []string {
	if level == len(widths) {
		return append(leaves, up)
	}
	for i := range widths[level] {
		name := fmt.Sprintf("q%d-%d", level, i)
		fmt.Fprintf(file, "<queue name=%q>", name)
		leaves = fairTree(file, up+"."+name, level+1, widths, leaves)
		file.WriteString("</queue>")
	}
	return leaves
}

// BenchmarkFairDecision is BenchmarkDecision under the FairScheduler.
func BenchmarkFairDecision(b *testing.B) {
	benchmarkDecision(b, config.Property{Name: fairPolicy})
}

// BenchmarkFairGrowth is BenchmarkGrowth under the FairScheduler.
func BenchmarkFairGrowth(b *testing.B) {
	benchmarkGrowth(b, config.Property{Name: fairPolicy})
}

// BenchmarkRecompute is one computation of demands and shares after a hundredth of the applications has lost a container.
func BenchmarkRecompute(b *testing.B) {
	for _, apps := range []int{1000, 10000, 100000} {
		for _, widths := range [][]int{{10, 10, 10}, {1000}} {
			b.Run(fmt.Sprintf("%dapps/%v", apps, widths), func(b *testing.B) {
				c := newBusy(b, true, widths, apps, 1000, 100000, config.Property{Name: fairPolicy})
				c.fair = false // it is measured alone
				b.ResetTimer()
				for range b.N {
					b.StopTimer()
					c.end(apps / 100)
					b.StartTimer()
					c.s.Recompute(c.now)
					b.StopTimer()
					c.place(b)
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkShares is one computation of demands and shares after an application has come or gone, so that all shares change: each leaf has one.
func BenchmarkShares(b *testing.B) {
	for _, leaves := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("%dleaves", leaves), func(b *testing.B) {
			c := newFairCrowd(b, []int{leaves}, leaves, 1000, 640)
			for _, a := range c.apps {
				c.ask(a, 1)
			}
			c.s.Recompute(c.now)
			at := scheduler.Attempt{ID: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}}}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				if i%2 == 0 {
					c.s.EndAttempt(c.apps[0], false)
				} else {
					at.ID.Attempt++
					c.s.AddAttempt(c.apps[0], at)
				}
				b.StartTimer()
				c.s.Recompute(c.now)
			}
		})
	}
}

// BenchmarkFairFruitless is a heartbeat that brings nothing: of a full node, and of one with room while all wait for their masters.
func BenchmarkFairFruitless(b *testing.B) {
	for _, apps := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("full/%dapps", apps), func(b *testing.B) {
			c := newBusy(b, false, []int{10, 10}, apps, 1000, 100000, config.Property{Name: fairPolicy})
			b.ResetTimer()
			c.waste(b, b.N)
		})
		b.Run(fmt.Sprintf("masters/%dapps", apps), func(b *testing.B) {
			c := newFairCrowd(b, []int{10, 10}, 0, 1000, 64)
			c.managed = true
			c.enter(b, apps, fairTree(new(strings.Builder), "root", 0, []int{10, 10}, nil))
			for _, a := range c.apps {
				c.s.Ask(a, []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(8192, 8), Count: 1, RelaxLocality: true}})
			}
			for placed := -1; placed != len(c.live); {
				c.s.Recompute(c.now)
				placed = len(c.live)
				for _, n := range c.nodes {
					c.beat(n)
				}
			}
			b.ResetTimer()
			c.waste(b, b.N)
		})
	}
}
