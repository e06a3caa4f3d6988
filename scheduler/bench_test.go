package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// crowd is a cluster with many queues, applications and nodes.
type crowd struct {
	s     *scheduler.Scheduler
	nodes []scheduler.NodeRef
	apps  []scheduler.AppRef
	out   []scheduler.Decision
	live  []scheduler.ContainerRef // by age, as a ring
	now   yarn.Now
}

// treeOf lists queues of the given widths, and the paths of the leaves.
func treeOf(widths []int) (props []config.Property, leaves []string) {
	leaves = []string{"root"}
	put := func(k, v string) {
		props = append(props, config.Property{Name: config.Prefix + k, Value: v, Origin: "bench"})
	}
	for level, width := range widths {
		var next []string
		for _, up := range leaves {
			list := ""
			for i := range width {
				name := fmt.Sprintf("q%d-%d", level, i)
				if i > 0 {
					list += ","
				}
				list += name
				put(up+"."+name+".capacity", "1w")
				put(up+"."+name+".maximum-capacity", "100")
				next = append(next, up+"."+name)
			}
			put(up+".queues", list)
		}
		leaves = next
	}
	put("maximum-am-resource-percent", "1")
	put("maximum-applications", "10000000")
	put("schedule-asynchronously.enable", "false")
	put("per-node-heartbeat.maximum-offswitch-assignments", "1")
	return props, leaves
}

func newCrowd(b *testing.B, widths []int, apps, nodes int, extra ...config.Property) *crowd {
	props, leaves := treeOf(widths)
	cfg, _, err := config.Parse(append(props, extra...), config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		b.Fatal(err)
	}
	c := &crowd{}
	if c.s, err = scheduler.New(cfg); err != nil {
		b.Fatal(err)
	}
	total := yarn.NewResource(64*1024, 64)
	for i := range nodes {
		id := yarn.NodeID{Host: fmt.Sprintf("host%05d", i), Port: 8041}
		// Recalculation is O(queues): let the cluster grow with few queues' worth of work.
		c.nodes = append(c.nodes, c.s.AddNode(scheduler.Node{ID: id, Rack: fmt.Sprintf("/r%d", i%40), Total: total}))
	}
	for i := range apps {
		id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i + 1)}
		path := leaves[i%len(leaves)]
		ref, why := c.s.AddApplication(scheduler.Application{ID: id, User: fmt.Sprintf("u%d", i%97), Queue: path, Unmanaged: true}, path)
		if !why.OK() {
			b.Fatal(why)
		}
		c.s.AddAttempt(ref, scheduler.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, StartWall: int64(i)})
		c.apps = append(c.apps, ref)
	}
	return c
}

func (c *crowd) ask(ref scheduler.AppRef, count int32) {
	c.s.Ask(ref, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: count, RelaxLocality: true}})
}

// BenchmarkAllocate is a full cluster in a steady state: a container ends, its
// node beats, and what is free is given away.
func BenchmarkAllocate(b *testing.B) {
	for _, size := range []struct {
		name        string
		widths      []int
		apps, nodes int
	}{
		{"1queue", []int{1}, 1000, 1000},
		{"100queues", []int{10, 10}, 10000, 1000},
		{"1000queues", []int{10, 10, 10}, 10000, 1000},
		{"1000flat", []int{1000}, 10000, 1000},
	} {
		b.Run(size.name, func(b *testing.B) {
			c := newCrowd(b, size.widths, size.apps, size.nodes, config.Property{Name: config.Prefix + "user-limit-factor", Value: "-1"})
			for _, a := range c.apps {
				c.ask(a, 1_000_000)
			}
			for _, n := range c.nodes {
				for range 64 {
					c.beat(n)
				}
			}
			if len(c.live) < len(c.nodes)*60 {
				b.Fatalf("only %d containers", len(c.live))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				k := i % len(c.live)
				node := c.s.Container(c.live[k]).Node
				c.s.Vacate(c.live[k])
				c.out = c.s.Offer(node, c.now, c.out[:0])
				if len(c.out) != 1 {
					b.Fatalf("%d decisions", len(c.out))
				}
				c.live[k] = c.out[0].Container
			}
		})
	}
}

func (c *crowd) beat(n scheduler.NodeRef) {
	c.out = c.s.Offer(n, c.now, c.out[:0])
	for _, d := range c.out {
		if d.Kind == cluster.Allocated {
			c.live = append(c.live, d.Container)
		}
	}
}

// BenchmarkFruitless is a heartbeat of a node with room where every application
// has reached the limit of its user.
func BenchmarkFruitless(b *testing.B) {
	for _, apps := range []int{100, 10000} {
		b.Run(fmt.Sprintf("%dapps", apps), func(b *testing.B) {
			c := newCrowd(b, []int{10, 10}, apps, 100, config.Property{Name: config.Prefix + "user-limit-factor", Value: "0.01"})
			for _, a := range c.apps {
				c.ask(a, 1000)
			}
			for range 200 {
				for _, n := range c.nodes {
					c.beat(n)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if c.out = c.s.Offer(c.nodes[i%len(c.nodes)], c.now, c.out[:0]); len(c.out) > 0 {
					b.Fatal("something was placed")
				}
			}
		})
	}
}

// BenchmarkAsk is one call of a master that changes what it wants.
func BenchmarkAsk(b *testing.B) {
	c := newCrowd(b, []int{10, 10, 10}, 10000, 100)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		c.ask(c.apps[i%len(c.apps)], int32(1+i%50))
	}
}
