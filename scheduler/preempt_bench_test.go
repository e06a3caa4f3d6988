package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/heddle-project/heddle/scheduler/config"
)

// lookAtOnce is how much of a round the engine does before it serves other commands.
const lookAtOnce = 4_000

// BenchmarkMonitor is a round of preemption, in steps as the engine has it done: the first half of the leaves have all of the cluster, and the others
// ask for their guarantees. It reports the longest step.
func BenchmarkMonitor(b *testing.B) {
	for _, size := range []struct {
		widths     []int
		apps, live int
	}{
		{[]int{10}, 100, 1000}, {[]int{10, 10}, 1000, 10_000}, {[]int{10, 10, 10}, 10_000, 100_000}, {[]int{1000}, 10_000, 100_000}, {[]int{10, 10, 10}, 100_000, 1_000_000},
	} {
		for _, within := range []bool{false, true} {
			b.Run(fmt.Sprintf("%v/%dapps/%dcontainers/within=%v", size.widths, size.apps, size.live, within), func(b *testing.B) {
				c := newUneven(b, size.widths, size.apps, size.live, within)
				longest, noticed := time.Duration(0), 0
				b.ResetTimer()
				for range b.N {
					for {
						from := time.Now()
						_, over := c.s.Monitor(c.now, lookAtOnce)
						longest = max(longest, time.Since(from))
						if over != nil {
							noticed = len(over.Noticed) + len(over.Due)
							break
						}
					}
					c.now.Wall, c.now.Mono = c.now.Wall+100_000, c.now.Mono+100_000 // notices are forgotten
				}
				b.ReportMetric(float64(longest.Microseconds()), "longest-step-us")
				b.ReportMetric(float64(noticed), "noticed")
			})
		}
	}
}

// newUneven is a full cluster: applications of the first half of the leaves have everything, those of the second half ask for as much as they have.
func newUneven(b *testing.B, widths []int, apps, live int, within bool) *crowd {
	const room = 64
	props := []config.Property{{Name: config.Prefix + "user-limit-factor", Value: "-1"}, {Name: config.Prefix + "maximum-am-resource-percent", Value: "1"},
		{Name: config.PreemptionPrefix + "total_preemption_per_round", Value: "1"}, {Name: config.PreemptionPrefix + "natural_termination_factor", Value: "1"}}
	if within {
		props = append(props, config.Property{Name: config.PreemptionPrefix + "intra-queue-preemption.enabled", Value: "true"})
	}
	c := newCrowdOf(b, widths, 0, (live+room-1)/room, room, props...)
	_, leaves := treeOf(widths)
	c.enter(b, apps/2, leaves[:len(leaves)/2])
	for _, a := range c.apps {
		c.ask(a, int32(2*live/apps))
	}
	for range room {
		for _, n := range c.nodes {
			c.beat(n)
		}
	}
	if len(c.live) < live*9/10 {
		b.Fatalf("%d containers", len(c.live))
	}
	had := len(c.apps)
	c.enter(b, apps/2, leaves[len(leaves)/2:])
	for _, a := range c.apps[had:] {
		c.ask(a, int32(2*live/apps))
	}
	return c
}
