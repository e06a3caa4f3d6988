package capacity

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
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
	set.MoveReserved = set.ByQueuePriority && set.PriorityFirst
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
		if seen[what] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nothing was chosen for %s", what)
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
			if o.Live && !o.Reserved && !o.AM && p.clock-o.CreatedWall >= q.Conf.MinimumRuntime && p.quick.app(o.App).queue == q && p.quick.Books.Node(o.Node).Part == n && p.quick.Calc.FitsIn(&o.Resource, &c.Resource) {
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
	w := p.snapshot(p.quick).world
	w.Entitle()
	want := p.notices.Settle(w.Preempt(p.clock), set, p.clock)
	got, plain := wholeRound(p.quick, p, 1), wholeRound(p.plain, p, math.MaxInt)
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
	seen["unreserved"], seen["moved"] = seen["unreserved"]+len(got.Unreserved), seen["moved"]+len(got.Moved)
	p.carryOut(got)
	if what := p.quick.Check(); what != "" {
		p.t.Fatal(what)
	}
	return got
}

// carryOut ends and gives up what a round has decided.
func (p *play) carryOut(got *core.Preemption) {
	for i := range got.Moved {
		same(p, func(s *Scheduler) bool { return s.MoveReservation(&got.Moved[i]) })
	}
	for _, x := range got.Due {
		if p.quick.Stands(&x) {
			p.containers = slices.DeleteFunc(p.containers, func(c ContainerRef) bool { return c == x.Ref })
		}
		p.both(func(s *Scheduler) {
			if s.Stands(&x) && s.Container(x.Ref).Live && !s.Finish(x.Ref, cluster.Preempted) {
				s.Vacate(x.Ref)
			}
		})
	}
	for _, x := range got.Killable {
		same(p, func(s *Scheduler) bool { return s.Stands(&x) && s.MarkKillable(x.Ref) })
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
		if seen[what] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nothing of %s", what)
		}
	}
}
