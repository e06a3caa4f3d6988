package capacity

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/schedtest/twin"
	"github.com/heddle-project/heddle/yarn"
)

// drawPreemption sets how containers are taken back.
func drawPreemption(t *rapid.T, set *config.Preemption) {
	*set = config.Preemption{
		Wait:                rapid.SampledFrom([]int64{0, 3000, 15000}).Draw(t, "wait"),
		PerRound:            rapid.SampledFrom([]float32{0.1, 0.5, 1}).Draw(t, "per round"),
		IgnoredOverCapacity: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "ignored"),
		NaturalTermination:  rapid.SampledFrom([]float64{0.2, 1}).Draw(t, "natural termination"),
		ByQueuePriority:     rapid.Bool().Draw(t, "by queue priority"),
		ForReserved:         rapid.Bool().Draw(t, "for reserved"),
		CountReserved:       rapid.Bool().Draw(t, "count reserved"),
		ConservativeBetween: rapid.Bool().Draw(t, "conservative between"),
		Balance:             rapid.Bool().Draw(t, "balance"),
		BalanceWait:         rapid.SampledFrom([]int64{0, 5000}).Draw(t, "balance wait"),
		Within:              rapid.Bool().Draw(t, "within"),
		WithinThreshold:     0.1,
		WithinLimit:         rapid.SampledFrom([]float32{0.2, 1}).Draw(t, "within limit"),
		PriorityFirst:       rapid.Bool().Draw(t, "by priority"),
		ConservativeWithin:  rapid.Bool().Draw(t, "conservative within"),
	}
}

// wholeRound is one round in steps of that size. Between the last ones time passes, and there is another tree, as after a refresh: what is decided
// counts.
func wholeRound(s *Scheduler, p *play, budget int) *core.Preemption {
	now := p.clocked()
	for range 1_000_000 {
		if _, over := s.Monitor(now, budget); over != nil {
			return over
		}
		if s.preemption.decided != nil {
			now.Mono += 10
			again := *s.tree
			s.tree = &again
		}
	}
	p.t.Fatal("a round never ends")
	return nil
}

// TestRounds plays random calls and then rounds of preemption. A round in the smallest steps decides as one that is done at once; it takes no
// more than it may, nothing from queues that are exempt, no master while it would do without, and leaves queues their guarantees.
func TestRounds(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		fill := []func(){p.offer, p.offer, p.offer, p.ask, p.offer, p.offer, p.submit, p.offer, p.ask, p.relabel, p.finish}
		for range rapid.IntRange(20, 90).Draw(t, "steps") {
			p.step(fill)
		}
		for range 20 { // nodes are full or reserved
			p.step([]func(){p.offer})
		}
		for range 5 {
			p.submit()
			p.ask()
			p.ask()
		}
		set := &p.quick.cfg.Preemption
		drawPreemption(t, set)
		if only := os.Getenv("ONLY"); only != "" {
			set.ByQueuePriority = set.ByQueuePriority && strings.Contains(only, "p")
			set.ForReserved = set.ForReserved && strings.Contains(only, "r")
			set.Balance = set.Balance && strings.Contains(only, "b")
			set.Within = set.Within && strings.Contains(only, "w")
		}
		for _, q := range p.quick.tree.Queues {
			if q != nil { // both schedulers have the same configuration
				q.Conf.PreemptionDisabled = rapid.IntRange(0, 5).Draw(t, "exempt") == 0
				q.Conf.IntraPreemptionDisabled = q.Conf.PreemptionDisabled || rapid.IntRange(0, 5).Draw(t, "in order") == 0
			}
		}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			p.clock += rapid.SampledFrom([]int64{1000, 3000, 15000}).Draw(t, "advance")
			p.round(set, seen)
		}
		p.settles(set, seen)
	})
	t.Log(seen)
	for _, what := range []string{"guarantee", "within-queue"} {
		if seen[what] == 0 && !t.Failed() && flag.Lookup("rapid.checks").Value.String() == "100" {
			t.Errorf("the plays were too tame: nothing was chosen for %s", what)
		}
	}
}

// hoard has an application ask for many small containers; demand for a few of any size.
func (p *play) hoard() { p.askFor(rapid.Int32Range(5, 20).Draw(p.t, "count"), 1, 2, 3) }

func (p *play) demand() { p.askFor(rapid.Int32Range(2, 6).Draw(p.t, "count"), 6, 4, 12, 16, 2) }

func (p *play) askFor(count int32, sizes ...int64) {
	had := len(p.apps)
	p.submit()
	if len(p.apps) == had || p.attempt[p.apps[had]] == 0 {
		return
	}
	ref := p.apps[had]
	asks := []yarn.Ask{{Priority: rapid.Int32Range(1, 3).Draw(p.t, "priority"), Where: yarn.AnyHost, RelaxLocality: true, Capability: p.size("memory", sizes...), Count: count}}
	if p.sc.labels && rapid.Bool().Draw(p.t, "labelled") {
		asks[0].Label, asks[0].LabelSet = p.aLabel(), true
	}
	if same(p, func(s *Scheduler) yarn.Reason { return s.Normalize(ref, slices.Clone(asks)) }).OK() {
		p.quick.Normalize(ref, asks)
		p.both(func(s *Scheduler) { s.Ask(ref, asks) })
	}
}

// offers offers all nodes. On some of them what was placed begins to run.
func (p *play) offers() {
	for _, n := range p.nodes {
		p.note(same(p, func(s *Scheduler) []cluster.Decision { return s.Offer(n, p.clocked(), nil) }))
		if rapid.Bool().Draw(p.t, "launched") {
			for _, c := range p.containers {
				if p.quick.Container(c).Node == n && p.quick.Container(c).Live {
					p.both(func(s *Scheduler) { s.Launched(c) })
				}
			}
		}
	}
}

// TestRoundsUnderPressure has some leaves fill the cluster, and then others ask: rounds have much to do, and decide as the twin's.
func TestRoundsUnderPressure(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		sc.pressed = true
		p := newPlayIn(t, sc)
		p.crowd = 10
		for range rapid.IntRange(3, 5).Draw(t, "nodes") {
			p.addNode()
		}
		some := rapid.IntRange(0, len(leafPaths)-1).Draw(t, "who hoards")
		p.paths = []string{leafPaths[some], leafPaths[(some+rapid.IntRange(0, 3).Draw(t, "and who"))%len(leafPaths)]}
		for range rapid.IntRange(3, 7).Draw(t, "hoarders") {
			p.step([]func(){p.hoard})
			p.step([]func(){p.offers})
		}
		for range 6 {
			p.step([]func(){p.offers})
		}
		set := &p.quick.cfg.Preemption
		drawPreemption(t, set)
		set.PerRound = rapid.SampledFrom([]float32{1, 0.3, 0.1}).Draw(t, "much per round")
		set.NaturalTermination = rapid.SampledFrom([]float64{1, 0.5, 0.2}).Draw(t, "at once")
		set.ObserveOnly = rapid.IntRange(0, 7).Draw(t, "observe only") == 7
		set.ReservedDelay = rapid.SampledFrom([]int64{0, 5000}).Draw(t, "delay")
		for _, q := range p.quick.tree.Queues {
			if q != nil {
				q.Conf.PreemptionDisabled = rapid.IntRange(0, 7).Draw(t, "exempt") == 7
				q.Conf.IntraPreemptionDisabled = q.Conf.PreemptionDisabled || rapid.IntRange(0, 7).Draw(t, "in order") == 7
			}
		}
		p.paths = leafPaths
		for range rapid.IntRange(3, 8).Draw(t, "rounds") {
			for range 3 {
				p.step([]func(){p.demand, p.demand, p.demand, p.hoard, p.finish, p.relabel, p.priority, p.vacate})
			}
			p.step([]func(){p.offers})
			p.step([]func(){p.offers})
			p.clock += rapid.SampledFrom([]int64{1000, 3000, 15000}).Draw(t, "advance")
			p.round(set, seen)
		}
	})
	t.Log(seen)
	for _, rule := range []string{"queue-priority", "reservation", "guarantee", "balance", "within-queue"} {
		if seen["twin: noticed, "+rule] == 0 && !t.Failed() && flag.Lookup("rapid.checks").Value.String() == "100" {
			t.Errorf("the plays were too tame: nothing was noticed for %s", rule)
		}
	}
}

// mastersLast: a master is not taken while its queue has a container in the same partition that would do, and is not larger.
func (p *play) mastersLast(got *core.Preemption, seen map[string]int) {
	chosen := map[cluster.ContainerRef]bool{}
	for id := range p.quick.preemption.noticed.at {
		for ref := range p.quick.Books.Slots() {
			if p.quick.Books.Is(cluster.ContainerRef(ref), id) {
				chosen[cluster.ContainerRef(ref)] = true
			}
		}
	}
	for _, x := range got.Due {
		chosen[x.Ref] = true
	}
	for _, x := range got.Noticed {
		c := p.quick.Container(x.Ref)
		q, n := p.quick.app(c.App).queue, p.quick.Books.Node(c.Node).Part
		if !c.AM || x.Rule != "guarantee" || n != 0 { // in another partition what asked for none goes first, masters among it
			continue
		}
		for i := range p.quick.Books.Slots() {
			ref := cluster.ContainerRef(i)
			if !p.quick.Books.IsOpen(ref) || chosen[ref] {
				continue
			}
			o := p.quick.Container(ref)
			if o.Live && !o.Reserved && !o.AM && p.quick.app(o.App).queue == q && p.quick.Books.Node(o.Node).Part == n && p.quick.Calc.FitsIn(&o.Resource, &c.Resource) {
				p.t.Fatalf("the master %v of %s is taken, and %v would do", x.ID, q.Path, o.ID)
			}
		}
		seen["masters"]++
	}
}

// settles plays rounds and offers while nobody asks for anything new. What a queue was given is not taken back from it before it has had its notice.
func (p *play) settles(set *config.Preemption, seen map[string]int) {
	for range 6 {
		p.clock += set.Wait + 1000
		begun := map[cluster.ContainerRef]int64{}
		for ref := range p.quick.Books.Slots() {
			begun[cluster.ContainerRef(ref)] = p.quick.Container(cluster.ContainerRef(ref)).CreatedWall
		}
		for _, x := range p.round(set, seen).Due {
			if age := p.clock - begun[x.Ref]; age < set.Wait {
				p.t.Fatalf("%v is ended after %d ms, and the wait is %d ms", x.ID, age, set.Wait)
			}
		}
		for range 10 {
			p.step([]func(){p.offer})
		}
	}
}

func (p *play) round(set *config.Preemption, seen map[string]int) *core.Preemption {
	before := map[*Queue][]resource{}
	for _, q := range p.quick.tree.Queues {
		if q != nil && q.Leaf {
			for i := range q.Ledger {
				before[q] = append(before[q], q.Ledger[i].Used)
			}
		}
	}
	before2 := p.snapshot(p.quick)
	w := before2.world
	w.Entitle()
	want := p.notices.Settle(w.Preempt(p.clock), set, p.clock)
	p.dbg()
	got, plain := wholeRound(p.quick, p, 1), wholeRound(p.plain, p, math.MaxInt)
	p.dbg2()
	p.likeTwin(got, want, w, seen)
	if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", plain); a != b {
		p.t.Fatalf("in steps: %s\nat once:  %s", a, b)
	}
	most := measure.Scale(p.quick.Books.Total, float64(set.PerRound))
	var sum resource
	taken := map[*Queue][]resource{}
	last := map[*Queue]resource{} // of the rule for guarantees: the container that was chosen last
	for _, list := range [][]core.Taking{got.Noticed, got.Due} {
		for _, x := range list {
			c := p.quick.Container(x.Ref)
			q := p.quick.app(c.App).queue
			sum = sum.Add(c.Resource)
			seen[x.Rule]++
			if q.Conf.PreemptionDisabled && x.Rule != "queue-priority" && x.Rule != "within-queue" {
				p.t.Fatalf("%v is taken from %s, which is exempt (%s)", c.ID, q.Path, x.Rule)
			}
			if x.Rule == "within-queue" && q.Conf.IntraPreemptionDisabled {
				p.t.Fatalf("%v is taken within %s, which keeps its order", c.ID, q.Path)
			}
			if c.AM && (x.Rule == "queue-priority" || x.Rule == "reservation" || x.Rule == "within-queue") {
				p.t.Fatalf("the master %v is taken (%s)", c.ID, x.Rule)
			}
			if x.Rule == "guarantee" && c.Live {
				if taken[q] == nil {
					taken[q] = make([]resource, len(before[q]))
				}
				at := &taken[q][p.quick.Books.Node(c.Node).Part]
				*at, last[q] = at.Add(c.Resource), measure.Most(last[q], c.Resource)
			}
		}
	}
	p.mastersLast(got, seen)
	if !p.quick.Calc.FitsIn(&sum, &most) {
		p.t.Fatalf("%v is taken in a round that may take %v", sum, most)
	}
	for _, q := range p.quick.tree.Queues {
		for i := range taken[q] {
			total, left := &p.quick.Books.Partition(part(i)).Total, before[q][i].Sub(taken[q][i])
			if left = left.Add(last[q]); !p.quick.Calc.More(total, &left, &q.Shares[i].EffMin) && !none(taken[q][i]) && !p.quick.Calc.Dominant {
				p.t.Fatalf("%s is left with less than %v and its guarantee is %v", q.Path, left, q.Shares[i].EffMin)
			}
		}
	}
	seen["due"] += len(got.Due)
	seen["unreserved"] += len(got.Unreserved)
	p.carryOut(got)
	if what := p.quick.Check(); what != "" {
		p.t.Fatal(what)
	}
	return got
}

// likeTwin compares what a round has decided, and left behind, with what the twin does.
func (p *play) likeTwin(got *core.Preemption, want twin.Outcome, w *twin.World, seen map[string]int) {
	for _, list := range []struct {
		what string
		have []core.Taking
		want []twin.Choice
	}{{"noticed", got.Noticed, want.Noticed}, {"due", got.Due, want.Due}, {"unreserved", got.Unreserved, want.Unreserved}, {"observed", got.Observed, want.Observed}} {
		var a, b string
		for _, x := range list.have {
			a += fmt.Sprintf("%v %s\n", x.ID, x.Rule)
		}
		for _, x := range list.want {
			b += fmt.Sprintf("%v %s\n", x.ID, x.Rule)
			seen["twin: "+list.what+", "+x.Rule]++
		}
		if a != b {
			p.t.Fatalf("%s\n%sthe twin:\n%s", list.what, a, b)
		}
	}
	if d := twin.Difference(w, p.snapshot(p.quick).world); d != "" {
		p.t.Fatalf("after a round: %s", d)
	}
	seen["rounds"]++
}

// carryOut ends and gives up what a round has decided.
func (p *play) carryOut(got *core.Preemption) {
	for _, x := range got.Due {
		p.both(func(s *Scheduler) {
			if s.Stands(&x) && s.Container(x.Ref).Live && !s.Finish(x.Ref, cluster.Preempted) {
				s.Vacate(x.Ref)
			}
		})
	}
	for _, x := range got.Unreserved {
		p.both(func(s *Scheduler) {
			if s.Stands(&x) && s.Container(x.Ref).Reserved {
				s.Unreserve(s.Container(x.Ref).Node)
			}
		})
	}
}

// want submits an application that asks for a few containers anywhere.
func (p *play) want() {
	had := len(p.apps)
	p.submit()
	if len(p.apps) == had || p.attempt[p.apps[had]] == 0 {
		return
	}
	asks := []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, RelaxLocality: true, Capability: yarn.NewResource(1024, 1), Count: 4}}
	if same(p, func(s *Scheduler) yarn.Reason { return s.Normalize(p.apps[had], slices.Clone(asks)) }).OK() {
		p.quick.Normalize(p.apps[had], asks)
		p.both(func(s *Scheduler) { s.Ask(p.apps[had], asks) })
	}
}

// TestRoundsAmongCalls plays random calls between the steps of rounds: containers end, reservations become containers, their slots pass to others,
// applications and queues go, and the tree changes. What a round decides then is still there or passed by, and the books stay right.
func TestRoundsAmongCalls(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(20, 70).Draw(t, "calls") {
			p.step([]func(){p.offer, p.offer, p.offer, p.ask, p.offer, p.offer, p.submit, p.offer, p.ask, p.relabel, p.finish})
		}
		for range 20 {
			p.step([]func(){p.offer})
		}
		var set config.Preemption
		drawPreemption(t, &set)
		set.Wait, set.PerRound, set.ReservedDelay = 0, 1, 0
		for range rapid.IntRange(20, 50).Draw(t, "steps") {
			p.both(func(s *Scheduler) {
				s.cfg.Preemption = set
				for _, q := range s.tree.Queues {
					if q != nil {
						q.Conf.PreemptionDisabled, q.Conf.IntraPreemptionDisabled = false, false
					}
				}
			})
			p.step([]func(){p.want})
			budget := rapid.IntRange(1, 60).Draw(t, "budget")
			var decided []*core.Preemption
			p.both(func(s *Scheduler) {
				_, one := s.Monitor(p.clocked(), budget)
				decided = append(decided, one)
			})
			if a, b := fmt.Sprintf("%+v", decided[0]), fmt.Sprintf("%+v", decided[1]); a != b {
				t.Fatalf("with shortcuts: %s\nwithout: %s", a, b)
			}
			p.step([]func(){p.offer, p.finish, p.offer, p.vacate, p.endAttempt, p.reconfigure, p.relabel, p.move, p.remove, p.removeNode, p.addNode})
			if got := decided[0]; got != nil {
				for _, list := range [][]core.Taking{got.Noticed, got.Due, got.Unreserved} {
					for i := range list {
						if !p.quick.Stands(&list[i]) { // it has gone since it was decided
							seen["gone"]++
						}
					}
				}
				seen["rounds"], seen["due"], seen["unreserved"] = seen["rounds"]+1, seen["due"]+len(got.Due), seen["unreserved"]+len(got.Unreserved)
				seen["noticed"] += len(got.Noticed)
				p.carryOut(got)
				p.check()
			}
		}
	})
	t.Log(seen)
	for _, what := range []string{"rounds", "noticed", "due"} {
		if seen[what] == 0 && !t.Failed() && flag.Lookup("rapid.checks").Value.String() == "100" {
			t.Errorf("the plays were too tame: nothing of %s", what)
		}
	}
}
