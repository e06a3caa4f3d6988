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
	"github.com/heddle-project/heddle/yarn"
)

// TestKillable plays random calls among rounds of lazy preemption, on a scheduler that leaves walks out and on one that does not. Both end the same
// containers for the same applications, and only for leaves below their guarantees.
func TestKillable(t *testing.T) {
	done := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(20, 50).Draw(t, "calls") {
			p.step([]func(){p.offer, p.offer, p.offer, p.ask, p.offer, p.submit, p.relabel, p.finish})
		}
		for range 20 {
			p.step([]func(){p.offer})
		}
		p.lazy = true
		var set config.Preemption
		drawPreemption(t, &set)
		set.Lazy, set.Wait, set.PerRound, set.ReservedDelay = true, 0, 1, 0
		for range rapid.IntRange(5, 15).Draw(t, "steps") {
			p.both(func(s *Scheduler) {
				s.cfg.Preemption = set
				for _, q := range s.tree.Queues {
					if q != nil {
						q.Conf.PreemptionDisabled, q.Conf.IntraPreemptionDisabled = false, false
					}
				}
			})
			p.step([]func(){p.want, p.want, p.ask, p.submit})
			p.step([]func(){p.lazyRound, p.lazyRound, p.mark})
			p.step([]func(){p.lazyRound, p.mark})
			for range 4 {
				p.step([]func(){p.lazyOffer, p.lazyOffer, p.lazyOffer, p.lazyOffer, p.lazyOffer, p.lazyOffer, p.sweep, p.finish, p.vacate, p.lazyOffer, p.endAttempt, p.reconfigure, p.relabel, p.move,
					p.resize, p.remove, p.removeNode, p.addNode})
			}
		}
		for what, n := range p.done {
			done[what] += n
		}
	})
	t.Log(done)
	for _, what := range []string{"taken", "chosen", "for a reservation"} {
		if done[what] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nothing was %s", what)
		}
	}
}

// mark makes any container killable.
func (p *play) mark() {
	if c, ok := pickFrom(p, "container", p.containers); ok && p.quick.Books.IsOpen(c) {
		same(p, func(s *Scheduler) bool { return s.MarkKillable(c) })
	}
}

// lazyRound is a whole round: what is killable already is not chosen again.
func (p *play) lazyRound() {
	w := p.snapshot(p.quick).world
	w.Entitle()
	want := p.notices.Settle(w.Preempt(p.clock), &p.quick.cfg.Preemption, p.clock)
	var decided []*core.Preemption
	p.both(func(s *Scheduler) {
		_, one := s.Monitor(p.clocked(), math.MaxInt)
		decided = append(decided, one)
	})
	if a, b := fmt.Sprintf("%+v", decided[0]), fmt.Sprintf("%+v", decided[1]); a != b {
		p.t.Fatalf("with shortcuts: %s\nwithout: %s", a, b)
	}
	got := decided[0]
	as := *got
	as.Due = got.Killable // the twin has only one word for both
	p.choosesLikeTwin(&as, want, p.done)
	for _, x := range got.Noticed {
		if c := p.quick.Container(x.Ref); c.Killable && x.Rule != "queue-priority" && p.quick.Books.Node(c.Node).Part == 0 {
			p.t.Fatalf("%v is killable, and is given notice (%s)", x.ID, x.Rule)
		}
	}
	for _, x := range got.Due {
		if p.quick.Container(x.Ref).Update.IsZero() {
			p.t.Fatalf("%v is ended, and not made killable", x)
		}
	}
	p.done["chosen"] += len(got.Killable)
	p.carryOut(got)
}

// lazyOffer offers a node. Killable containers of it go only for leaves that have less than their guarantees, as little as is needed of it, and where
// nodes are offered asynchronously a node never has more than it can hold because of that.
func (p *play) lazyOffer() {
	n, ok := pickFrom(p, "node", p.nodes)
	if !ok {
		return
	}
	for _, c := range p.containers {
		if p.quick.Container(c).Node == n && rapid.Bool().Draw(p.t, "launched") {
			p.both(func(s *Scheduler) { s.Launched(c) })
		}
	}
	type had struct {
		below bool
		free  resource
	}
	before := map[AppRef]had{}
	book := p.quick.Books.Node(n)
	for _, a := range p.quick.Apps {
		if a != nil && !a.Gone {
			before[a.Ref] = had{p.quick.mayTake(appOf(a).queue, book.Part), book.Free()}
		}
	}
	reserved := book.Reserved >= 0
	out := same(p, func(s *Scheduler) []cluster.Decision { return s.Visit(n, 1, nil) })
	placed := false
	var live resource
	for _, d := range out {
		switch d.Kind {
		case cluster.Taken:
			c := p.quick.Container(d.Container)
			if !placed && (!before[d.For].below || c.Node != n) {
				p.t.Fatalf("%+v goes for %v: below its guarantee: %v", c, p.quick.App(d.For).ID, before[d.For].below)
			}
			if reserved {
				p.done["for a reservation"]++
			}
		case cluster.Allocated, cluster.AllocatedFromReserved, cluster.Reserved:
			placed = true
		}
	}
	for _, c := range p.quick.Books.OnNode(n, math.MaxInt) {
		if x := p.quick.Container(c); x.Live {
			live = live.Add(x.Resource)
		}
	}
	if was := before[0].free; placed && p.quick.cfg.Asynchronous && p.quick.Calc.FitsIn(&resource{}, &was) && !p.quick.Calc.FitsIn(&live, &book.Total) {
		p.t.Fatalf("%v runs on a node of %v after %v", live, book.Total, out)
	}
	p.note(out)
}

// TestIncreaseIsNotKillable: what is placed for an increase that its master has not fetched ends when its notice has run out, also with lazy preemption.
// It would be chosen again and again, before all others.
func TestIncreaseIsNotKillable(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h", 1, 8192, 8, "")
	c := x.place(n, yarn.NewResource(4096, 1))
	x.update(c, yarn.IncreaseResource, yarn.NewResource(6144, 1))
	x.offer(n)
	b := x.submit(2, "b")
	x.Ask(b, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(4096, 1), Count: 1, RelaxLocality: true}})
	x.Scheduler.cfg.Preemption = config.Preemption{Lazy: true, PerRound: 1, NaturalTermination: 1}
	for _, q := range x.tree.Queues {
		q.Conf.PreemptionDisabled = false
	}
	_, first := x.Monitor(yarn.Now{Wall: 10, Mono: 10}, math.MaxInt)
	_, second := x.Monitor(yarn.Now{Wall: 20, Mono: 20}, math.MaxInt)
	if len(first.Noticed) != 1 || len(second.Due) != 1 || len(second.Killable) != 0 || x.Container(second.Due[0].Ref).Update != x.Container(c).ID {
		t.Fatalf("first %+v, then %+v", first, second)
	}
	x.Finish(second.Due[0].Ref, cluster.Preempted)
	x.sound()
	if got := x.fetch(); len(got) > 0 || x.Container(c).Resource.MemoryMB() != 4096 {
		t.Errorf("the master gets %+v", got)
	}
}
