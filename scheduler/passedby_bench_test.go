package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// BenchmarkPassedBy is the end of a container and the decision that follows, where all
// queues but the last wait for room that limits of users keep from them, and come first.
func BenchmarkPassedBy(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			last := fmt.Sprintf("root.q0-%d", n-1)
			c := newCrowdOf(b, []int{n}, n, 100, 200*n, config.Property{Name: config.Prefix + "user-limit-factor", Value: "0.1"},
				config.Property{Name: config.Prefix + last + ".user-limit-factor", Value: "-1"})
			for _, a := range c.apps {
				c.s.Ask(a, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(8192, 1), Count: 100_000_000, RelaxLocality: true}})
			}
			for i := 0; i < 251*n+4000; i++ {
				c.beat(c.nodes[i%len(c.nodes)])
			}
			b.ReportAllocs()
			b.ResetTimer()
			from := processorTime()
			for i := range b.N {
				k := len(c.live) - 1 - i%1000 // of the last queue: the others were full before
				node := c.s.Container(c.live[k]).Node
				c.s.Vacate(c.live[k])
				c.out = c.s.Offer(node, c.now, c.out[:0])
				if len(c.out) != 1 || c.out[0].App != c.apps[n-1] {
					b.Fatalf("%+v", c.out)
				}
				c.live[k] = c.out[0].Container
			}
			b.ReportMetric(float64(processorTime()-from)/float64(b.N), "cpu-ns/op")
		})
	}
}
