package capacity

import (
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// TestLoad: the figures are those that Apache tells masters in the same cluster, where
// it counts the default partition alone.
func TestLoad(t *testing.T) {
	for calculator, want := range map[string][5][2]int64{
		"DefaultResourceCalculator":  {{0, 16}, {3, 16}, {1, 3}, {1, 3}, {0, 8}},
		"DominantResourceCalculator": {{0, 16}, {3, 16}, {1, 13}, {1, 7}, {0, 8}},
	} {
		t.Run(calculator, func(t *testing.T) {
			x := newSmall(t, map[string]string{"resource-calculator": "org.apache.hadoop.yarn.util.resource." + calculator})
			step := 0
			check := func(when string) {
				t.Helper()
				pending, cores := x.Load()
				if got := [2]int64{pending, cores}; got != want[step] {
					t.Errorf("%s: %d containers are pending and %d vcores active, should be %v", when, pending, cores, want[step])
				}
				step++
			}
			one, two := x.node("h1", 1, 8192, 8, ""), x.node("h2", 1, 2048, 8, "")
			x.node("h3", 1, 8192, 8, "x")
			x.place(one, yarn.NewResource(1024, 1))
			check("a master alone")
			x.Ask(x.app, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 5, Label: "x", LabelSet: true, AllocationRequestID: 1}})
			asks := []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(3072, 3), Count: 3, RelaxLocality: true}}
			if why := x.Normalize(x.app, asks); !why.OK() {
				t.Fatal(why)
			}
			x.Ask(x.app, asks)
			check("asked")
			for range 3 {
				x.offer(one)
			}
			check("two are granted and one is reserved")
			x.RemoveNode(two)
			check("a node is gone")
			x.EndAttempt(x.app, false)
			for x.NodeUsage(one).Used != (resource{}) {
				x.Vacate(x.NodeUsage(one).Containers[0])
			}
			check("nothing is left")
		})
	}
}
