package capacity

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// calm is a cluster of equal containers, of which each guarantee is so and so many, in which nobody asks for anything new.
type calm struct {
	*Scheduler
	t      *rapid.T
	clock  int64
	nodes  []NodeRef
	leaves []*Queue
	asked  map[*Queue]int64 // containers
}

const (
	calmSize = 1024 // MB of each container
	calmRoom = 96   // containers
	calmPart = 16   // parts, in which capacities are given so that nothing is rounded
)

func newCalm(t *rapid.T) *calm {
	leaves := rapid.IntRange(2, 4).Draw(t, "leaves")
	props := []config.Property{{Name: config.Prefix + "maximum-am-resource-percent", Value: "1"}, {Name: config.Prefix + "schedule-asynchronously.enable", Value: "false"}}
	put := func(key, value string) {
		props = append(props, config.Property{Name: config.Prefix + key, Value: value})
	}
	names, left := "", calmPart
	for i := range leaves {
		name, share := string(rune('a'+i)), left
		if i < leaves-1 {
			share = rapid.IntRange(1, left-(leaves-1-i)).Draw(t, "capacity")
		}
		left -= share
		names += "," + name
		put("root."+name+".capacity", fmt.Sprint(float64(share)*100/calmPart))
		put("root."+name+".user-limit-factor", "100")
	}
	put("root.queues", names[1:])
	// compat: where memory alone counts a MB may be left over when what there is is divided, and for that a whole container may go, though nobody lacks it.
	put("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(calmSize, 1), MaxAllocation: yarn.NewResource(calmSize, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg.Capacity)
	if err != nil {
		t.Fatal(err)
	}
	c := &calm{Scheduler: s, t: t, asked: map[*Queue]int64{}}
	room := int64(calmRoom)
	for nodes := rapid.Int64Range(1, 4).Draw(t, "nodes"); nodes > 0; nodes-- {
		size := room
		if nodes > 1 {
			size = rapid.Int64Range(1, room-nodes).Draw(t, "size")
		}
		room -= size
		c.nodes = append(c.nodes, s.AddNode(cluster.Node{ID: yarn.NodeID{Host: fmt.Sprint("h", nodes), Port: 1}, Total: yarn.NewResource(calmSize*size, size)}))
	}
	s.cfg.Preemption = config.Preemption{
		PerRound:            rapid.SampledFrom([]float32{0.1, 0.5, 1}).Draw(t, "per round"),
		IgnoredOverCapacity: rapid.SampledFrom([]float64{0, 0.1, 0.2}).Draw(t, "ignored"),
		NaturalTermination:  rapid.SampledFrom([]float64{0.2, 1}).Draw(t, "natural termination"),
		Wait:                rapid.SampledFrom([]int64{0, 3000}).Draw(t, "wait"),
		Lazy:                rapid.Bool().Draw(t, "lazy"),
	}
	for _, q := range s.tree.Queues {
		q.Conf.PreemptionDisabled = false
		if q.Leaf {
			c.leaves = append(c.leaves, q)
		}
	}
	return c
}

// submit brings an application with a master that asks for so many more containers.
func (c *calm) submit(n int32, q *Queue, count int32) {
	size := yarn.NewResource(calmSize, 1)
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n}
	a, why := c.AddApplication(demand.Application{ID: id, User: "ann"}, q.Path)
	if !why.OK() {
		c.t.Fatal(why)
	}
	c.AddAttempt(a, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: size})
	c.Ask(a, []yarn.Ask{{Where: yarn.AnyHost, Capability: size, Count: 1, RelaxLocality: true},
		{Priority: 1, Where: yarn.AnyHost, Capability: size, Count: count, RelaxLocality: true}})
	c.asked[q] += int64(count) + 1
}

func (c *calm) has(q *Queue) int64 { return q.Ledger[0].Used.MemoryMB() / calmSize }
func (c *calm) guarantee(q *Queue) int64 {
	return q.Shares[0].EffMin.MemoryMB() / calmSize
}

// offer offers all nodes, and returns how many killable containers were ended.
func (c *calm) offer() (ended int) {
	for range 3 {
		c.clock++
		for _, n := range c.nodes {
			for range 200 {
				out := c.Offer(n, yarn.Now{Wall: c.clock, Mono: c.clock}, nil)
				for _, d := range out {
					if d.Kind == cluster.Taken {
						c.Vacate(d.Container)
						ended++
					}
				}
				if len(out) == 0 {
					break
				}
			}
		}
	}
	return ended
}

// TestPreemptionSettles: while nobody asks for anything new, as much is taken as the leaves lack that have less than their guarantees. Nobody is
// brought below its guarantee, rounds stay within what they may take, leave masters alone while anything else would do, and come to rest; then nobody
// lacks what another one has beyond its guarantee and the dead zone.
func TestPreemptionSettles(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := newCalm(t)
		first := c.leaves[rapid.IntRange(0, len(c.leaves)-1).Draw(t, "who comes first")]
		c.submit(1, first, rapid.Int32Range(10, 150).Draw(t, "containers"))
		c.offer()
		for i, q := range c.leaves {
			if q != first {
				c.submit(int32(i+2), q, rapid.Int32Range(0, 60).Draw(t, "containers"))
			}
		}
		c.offer()
		var lacked int64
		for _, q := range c.leaves {
			lacked += max(min(c.guarantee(q), c.asked[q])-c.has(q), 0)
		}
		var taken int64
		quiet := 0
		for rounds := 0; quiet < 5; rounds++ {
			if rounds > 300 {
				t.Fatalf("rounds go on for ever: %d of %d that were lacked are taken", taken, lacked)
			}
			c.clock += c.cfg.Preemption.Wait + 1000
			n := c.round(seen)
			taken += n
			if quiet++; n > 0 {
				quiet = 0
			}
		}
		// compat: what is divided is rounded up, so that of each leaf one container more may go.
		if taken > lacked+int64(len(c.leaves)) {
			t.Fatalf("%d containers are taken, and %d were lacked", taken, lacked)
		}
		c.rests()
	})
	t.Log(seen)
	if (seen["ended"] == 0 || seen["taken"] == 0) && !t.Failed() && seeded.Full() {
		t.Errorf("the plays were too tame: %v", seen)
	}
}

// round is a round and what comes of it, until nodes are full again.
func (c *calm) round(seen map[string]int) (taken int64) {
	had := map[*Queue]int64{}
	for _, q := range c.leaves {
		had[q] = c.has(q)
	}
	_, got := c.Monitor(yarn.Now{Wall: c.clock, Mono: c.clock}, math.MaxInt)
	lost := map[*Queue]int64{}
	all := append(append([]core.Taking{}, got.Due...), got.Killable...)
	if most := float64(c.cfg.Preemption.PerRound) * float64(c.Books.Total.MemoryMB()); float64(len(got.Noticed)*calmSize) > most {
		c.t.Fatalf("%d containers have notice in a round that may take %v MB", len(got.Noticed), most)
	}
	for _, x := range all {
		container := c.Container(x.Ref)
		q := c.app(container.App).queue
		if lost[q]++; container.AM && c.has(q) > int64(len(leafOf(q).active.apps)) {
			c.t.Fatalf("the master %v is taken from %s, which has %d containers", x.ID, q.Path, c.has(q))
		}
	}
	for _, x := range got.Due {
		c.Finish(x.Ref, cluster.Preempted)
		taken++
		seen["ended"]++
	}
	for _, x := range got.Killable {
		c.MarkKillable(x.Ref)
	}
	for q, n := range lost {
		if had[q]-n < c.guarantee(q) {
			c.t.Fatalf("%s had %d containers, is guaranteed %d, and loses %d", q.Path, had[q], c.guarantee(q), n)
		}
	}
	ended := c.offer()
	seen["taken"] += ended
	if bad := c.Check(); bad != "" {
		c.t.Fatal(bad)
	}
	return taken + int64(ended)
}

// rests: who has less than its guarantee, and asks for more, would have to get it from those whom the dead zone covers.
func (c *calm) rests() {
	zone := 1 + c.cfg.Preemption.IgnoredOverCapacity
	for _, q := range c.leaves {
		if c.has(q) >= min(c.guarantee(q), c.asked[q]) {
			continue
		}
		for _, o := range c.leaves {
			if most := zone*float64(c.guarantee(o)) + 2; float64(c.has(o)) > most {
				c.t.Fatalf("%s has %d of %d containers that it is guaranteed and asks for, and %s %d, %v in its dead zone", q.Path, c.has(q), min(c.guarantee(q), c.asked[q]), o.Path, c.has(o), most)
			}
		}
	}
}
