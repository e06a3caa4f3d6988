package scheduler_test

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// crowd is a cluster with many queues, applications and nodes.
type crowd struct {
	s       *scheduler.Scheduler
	fair    bool // by the FairScheduler, whose shares are computed from time to time
	managed bool // applications have masters
	nodes   []scheduler.NodeRef
	apps    []scheduler.AppRef
	out     []scheduler.Decision
	live    []scheduler.ContainerRef // by age, as a ring
	now     yarn.Now
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

// newCrowd has nodes with room for 64 containers.
func newCrowd(b *testing.B, widths []int, apps, nodes int, extra ...config.Property) *crowd {
	return newCrowdOf(b, widths, apps, nodes, 64, extra...)
}

func newCrowdOf(b *testing.B, widths []int, apps, nodes, room int, extra ...config.Property) *crowd {
	if slices.ContainsFunc(extra, func(p config.Property) bool { return p.Name == fairPolicy }) {
		return newFairCrowd(b, widths, apps, nodes, room)
	}
	props, leaves := treeOf(widths)
	parse := func(props []config.Property) *config.Config {
		cfg, _, err := config.Parse(append(props, extra...), config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8), Monitors: true})
		if err != nil {
			b.Fatal(err)
		}
		return cfg
	}
	c := &crowd{}
	// Every node that joins has all queues computed anew: they come after the nodes.
	few, _ := treeOf([]int{1, 1, 1}[:len(widths)])
	var err error
	if c.s, err = scheduler.New(parse(few)); err != nil {
		b.Fatal(err)
	}
	total := yarn.NewResource(int64(room)*1024, int64(room))
	for i := range nodes {
		id := yarn.NodeID{Host: fmt.Sprintf("host%05d", i), Port: 8041}
		c.nodes = append(c.nodes, c.s.AddNode(scheduler.Node{ID: id, Rack: fmt.Sprintf("/r%d", i%40), Total: total}))
	}
	if err := c.s.Reconfigure(parse(props)); err != nil {
		b.Fatal(err)
	}
	c.enter(b, apps, leaves)
	return c
}

// enter submits applications to the leaves in turn.
func (c *crowd) enter(b *testing.B, apps int, leaves []string) {
	for i := range apps {
		id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(len(c.apps) + 1)}
		path := leaves[i%len(leaves)]
		ref, why := c.s.AddApplication(scheduler.Application{ID: id, User: fmt.Sprintf("u%d", i%97), Queue: path, Unmanaged: !c.managed, Placed: true}, path)
		if !why.OK() {
			b.Fatal(why)
		}
		c.s.AddAttempt(ref, scheduler.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, StartWall: int64(i)})
		c.apps = append(c.apps, ref)
	}
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

// busy is a full cluster. Its applications want much more than they have, or,
// served, nothing but what they lose, which they ask for again.
type busy struct {
	*crowd
	served bool
	first  int                 // the place in the ring of the container that ends next
	freed  []scheduler.NodeRef // that have room
	owed   []int32             // by application: how many it wants
}

func newBusy(b *testing.B, served bool, widths []int, apps, nodes, live int, extra ...config.Property) *busy {
	// One user may have a whole queue, however small its share is.
	extra = append(extra, config.Property{Name: config.Prefix + "user-limit-factor", Value: "-1"})
	c := &busy{crowd: newCrowdOf(b, widths, apps, nodes, live/nodes, extra...), served: served, owed: make([]int32, apps)}
	for i := range live {
		c.owed[c.apps[i%apps]]++
	}
	for _, a := range c.apps {
		if !served {
			c.owed[a] = 100_000_000
		}
		c.ask(a, c.owed[a])
	}
	if c.fair {
		c.s.Recompute(c.now)
	}
	for range live / nodes {
		for _, n := range c.nodes {
			c.beat(n)
		}
	}
	if len(c.live) != live {
		b.Fatalf("%d containers", len(c.live))
	}
	clear(c.owed)
	// Containers do not end in the order of their grants.
	for i := range c.live {
		j := i * 7919 % len(c.live)
		c.live[i], c.live[j] = c.live[j], c.live[i]
	}
	return c
}

// end lets the next n containers end.
func (c *busy) end(n int) {
	c.freed = c.freed[:0]
	for i := range n {
		ref := c.live[(c.first+i)%len(c.live)]
		box := c.s.Container(ref)
		app := box.App
		c.freed = append(c.freed, box.Node)
		c.s.Vacate(ref)
		if c.served {
			c.owed[app]++
			c.ask(app, c.owed[app])
		}
	}
	if c.fair {
		c.s.Recompute(c.now)
	}
}

// place gives away what has become free, one container by each call.
func (c *busy) place(b *testing.B) {
	for i, node := range c.freed {
		c.out = c.s.Offer(node, c.now, c.out[:0])
		if len(c.out) != 1 {
			b.Fatalf("%d decisions", len(c.out))
		}
		c.owed[c.out[0].App]--
		c.live[(c.first+i)%len(c.live)] = c.out[0].Container
	}
	c.first = (c.first + len(c.freed)) % len(c.live)
}

// batch is how many containers end before others are placed.
const batch = 1000

// BenchmarkDecision is an offer alone: a node has room for one container, and
// gives it to the first of all applications or, served, of a thousand that have
// just lost and asked for one.
func BenchmarkDecision(b *testing.B) { benchmarkDecision(b) }

func benchmarkDecision(b *testing.B, extra ...config.Property) {
	for _, size := range []struct {
		name        string
		served      bool
		widths      []int
		apps, nodes int
	}{
		{"1queue", false, []int{1}, 1000, 1000},
		{"1queue/served", true, []int{1}, 1000, 1000},
		{"1000queues", false, []int{10, 10, 10}, 10000, 10000},
		{"1000queues/served", true, []int{10, 10, 10}, 10000, 10000},
		{"1000flat", false, []int{1000}, 10000, 10000},
		{"1000flat/served", true, []int{1000}, 10000, 10000},
	} {
		var c *busy // made once, and only if asked for
		b.Run(size.name, func(b *testing.B) {
			if c == nil {
				c = newBusy(b, size.served, size.widths, size.apps, size.nodes, 20*size.nodes, extra...)
			}
			var cpu time.Duration
			var each []float64 // of full batches, by decision
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= batch {
				b.StopTimer()
				c.end(min(left, batch))
				b.StartTimer()
				from := processorTime()
				c.place(b)
				took := processorTime() - from
				cpu += took
				if left >= batch {
					each = append(each, float64(took)/batch)
				}
			}
			b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
			if slices.Sort(each); len(each) > 0 { // where other programs run, these tell more than the mean
				b.ReportMetric(each[0], "least-ns/op")
				b.ReportMetric(each[len(each)/10], "tenth-ns/op")
			}
		})
	}
}

// processorTime is what the process has used; other processes do not add to it.
func processorTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkFruitless is a heartbeat of a node with room where every application
// has reached the limit of its user.
func BenchmarkFruitless(b *testing.B) {
	for _, apps := range []int{1000, 10000, 100000} {
		var c *crowd // made once: nothing changes
		b.Run(fmt.Sprintf("%dapps", apps), func(b *testing.B) {
			if c == nil {
				c = newBlocked(b, apps)
			}
			b.ReportAllocs()
			b.ResetTimer()
			from := processorTime()
			c.waste(b, b.N)
			b.ReportMetric(float64(processorTime()-from)/float64(b.N), "cpu-ns/op")
		})
	}
}

// newBlocked is a cluster with room where all applications are admitted and
// wait because of their users.
func newBlocked(b *testing.B, apps int) *crowd {
	c := newCrowdOf(b, []int{10, 10}, apps, 100, 2000, config.Property{Name: config.Prefix + "user-limit-factor", Value: "0.006"})
	for _, a := range c.apps {
		c.s.Ask(a, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(8192, 1), Count: 1000, RelaxLocality: true}})
	}
	for placed := -1; placed != len(c.live); {
		placed = len(c.live)
		for _, n := range c.nodes {
			c.beat(n)
		}
	}
	for _, n := range c.nodes {
		if c.s.NodeUsage(n).Available.MemoryMB() < 8192 {
			b.Fatal("a node is full")
		}
	}
	for _, a := range c.apps {
		if !c.s.Admission(a).Active {
			b.Fatal("an application was not admitted")
		}
	}
	return c
}

func (c *crowd) waste(b *testing.B, n int) {
	for i := range n {
		if c.out = c.s.Offer(c.nodes[i%len(c.nodes)], c.now, c.out[:0]); len(c.out) > 0 {
			b.Fatal("something was placed")
		}
	}
}

// BenchmarkGrowth tells how the processor time of a decision grows with the
// number of queues, of applications and of nodes, while all else stays the same:
// the slope of its logarithm over that of the number. Every iteration places a
// batch of containers at each size; the least time at each size counts, so that
// whatever else the machine does matters little with enough iterations.
func BenchmarkGrowth(b *testing.B) { benchmarkGrowth(b) }

func benchmarkGrowth(b *testing.B, extra ...config.Property) {
	tree := []int{10, 10, 10}
	growth(b, "queues", []int{10, 100, 1000, 10000}, func(b *testing.B, n int) *busy {
		widths := map[int][]int{10: {10}, 100: {10, 10}, 1000: {10, 10, 10}, 10000: {10, 10, 100}}
		return newBusy(b, true, widths[n], 10000, 1000, 100000, extra...)
	})
	growth(b, "flat", []int{10, 100, 1000, 10000}, func(b *testing.B, n int) *busy {
		return newBusy(b, true, []int{n}, 10000, 1000, 100000, extra...)
	})
	growth(b, "applications", []int{1000, 10000, 100000}, func(b *testing.B, n int) *busy {
		return newBusy(b, true, tree, n, 1000, 100000, extra...)
	})
	growth(b, "nodes", []int{100, 1000, 10000, 100000}, func(b *testing.B, n int) *busy {
		return newBusy(b, true, tree, 10000, n, 200000, extra...)
	})
}

func growth(b *testing.B, name string, sizes []int, make func(b *testing.B, n int) *busy) {
	var clusters []*busy // made once, and only if asked for
	b.Run(name, func(b *testing.B) {
		for len(clusters) < len(sizes) {
			clusters = append(clusters, make(b, sizes[len(clusters)]))
		}
		least := map[int]float64{}
		b.ResetTimer()
		for range b.N {
			for i, c := range clusters {
				c.end(batch)
				from := processorTime()
				c.place(b)
				t := float64(processorTime()-from) / batch
				if old, ok := least[i]; !ok || t < old {
					least[i] = t
				}
			}
		}
		var xs, ys []float64
		for i, n := range sizes {
			b.ReportMetric(least[i], fmt.Sprintf("ns@%d", n))
			xs, ys = append(xs, math.Log(float64(n))), append(ys, math.Log(least[i]))
		}
		b.ReportMetric(slope(xs, ys), "exponent")
		b.ReportMetric(0, "ns/op")
	})
}

// slope is that of the straight line nearest to the points.
func slope(xs, ys []float64) float64 {
	var x, y, above, below float64
	for i := range xs {
		x, y = x+xs[i]/float64(len(xs)), y+ys[i]/float64(len(ys))
	}
	for i := range xs {
		above += (xs[i] - x) * (ys[i] - y)
		below += (xs[i] - x) * (xs[i] - x)
	}
	return above / below
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
