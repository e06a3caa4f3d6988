package fair

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds spare looks at those who cannot be served: a full node is offered to nobody whose smallest ask does not fit, and a leaf without room
// for another master shows the node to none of those who wait for theirs. Without them decisions are the same (see plain).

// bounds are of what an attempt has asked for since it has its master.
type bounds struct {
	least, most resource // of the sizes, type by type
	near        bool     // it has asked for hosts or racks
}

// widest are the bounds of who may have asked for anything, narrowest those of who has not asked.
var (
	widest    = bounds{most: all(math.MaxInt64), near: true}
	narrowest = bounds{least: all(math.MaxInt64)}
)

func all(amount int64) (r resource) {
	for t := range r {
		r[t] = amount
	}
	return r
}

// widen widens the bounds by an ask, and tells whether they were narrower.
func (b *bounds) widen(ask *yarn.Ask) bool {
	before := *b
	for t, amount := range ask.Capability {
		b.least[t], b.most[t] = min(b.least[t], amount), max(b.most[t], amount)
	}
	b.near = b.near || ask.Where != yarn.AnyHost
	return *b != before
}

// Ask enters asks; see the facade.
func (s *Scheduler) Ask(ref cluster.AppRef, asks []yarn.Ask) {
	a, wider := s.app(ref), false
	for i := range asks {
		wider = asks[i].Count > 0 && a.bounds.widen(&asks[i]) || wider
	}
	s.Core.Ask(ref, asks)
	if wider && a.in {
		s.lineUp(a)
	}
}

// Update starts changes of containers; see the facade.
func (s *Scheduler) Update(ref cluster.AppRef, updates []yarn.ContainerUpdate) []core.UpdateError {
	a := s.app(ref)
	s.widest(a)
	refused := s.Core.Update(ref, updates)
	if a.Running {
		s.Asked(&a.App, false) // what was asked for before may be withdrawn
	}
	return refused
}

// RestoreAsk puts an ask back; see the facade.
func (s *Scheduler) RestoreAsk(c cluster.ContainerRef) {
	s.widest(s.app(s.Books.Container(c).App))
	s.Core.RestoreAsk(c)
}

// widest gives an application the widest bounds: it may ask for anything from now on.
func (s *Scheduler) widest(a *app) {
	if a.bounds = widest; a.in {
		s.lineUp(a)
	}
}

// mayHold tells whether a node might be held for the application: it has less than it is entitled to, asks for enough, and not so many nodes
// are held for it yet.
func (s *Scheduler) mayHold(a *app) bool {
	return (a.near || a.Held < s.mostHeld(int32(s.Books.Count))) && s.compare(a.queue.policy, &a.bounds.most, &s.cfg.Threshold) >= 0 && s.starves(a)
}

// noteHolder counts an application of a lineup among those that nodes might be held for, or off.
func (s *Scheduler) noteHolder(a *app) {
	if holds := a.in && s.mayHold(a); holds != a.holds {
		by := int32(1)
		if !holds {
			by = -1
		}
		a.holds = holds
		for q := a.queue; q != nil; q = q.up {
			q.holders += by
		}
	}
}

// wants tells whether anybody in the queue wants something.
func (q *Queue) wants() bool { return len(q.wanting.list)+len(q.masterless.list) > 0 }

// smallest is at most what anybody in the queue asks for, type by type.
func (q *Queue) smallest() resource {
	r := narrowest.least
	for _, l := range [2]*lineup{&q.wanting, &q.masterless} {
		if len(l.list) > 0 {
			lower(&r, &l.least)
		}
	}
	return r
}

// tighten brings the bounds of a queue's lineups up to date, after those below it.
func (q *Queue) tighten() {
	for _, l := range [2]*lineup{&q.wanting, &q.masterless} {
		if !l.loose {
			continue
		}
		l.loose, l.least = false, narrowest.least
		for i := range l.list {
			if p := l.list[i].place; p.app != nil {
				lower(&l.least, &p.app.bounds.least)
			} else {
				r := p.queue.smallest()
				lower(&l.least, &r)
			}
		}
	}
}

// lower makes r no more than other, type by type.
func lower(r, other *resource) {
	for t := range r {
		r[t] = min(r[t], other[t])
	}
}

// hopeless tells whether nobody in the queue can be served: with what it uses and the smallest ask it would have more than it may.
func (r *round) hopeless(q *Queue, used *resource) bool {
	if r.s.plain {
		return false
	}
	least := q.smallest()
	for t := range r.s.types() {
		if least[t] > q.max[t]-used[t] {
			return true
		}
	}
	return false
}

// full tells whether the node has no room for the smallest ask, so that it could only be held for somebody. Where asks wait for near nodes,
// offers are counted, and nobody is passed by.
func (r *round) full(q *Queue) bool {
	if r.s.plain || r.s.cfg.NodeThreshold >= 0 && r.s.cfg.RackThreshold >= 0 {
		return false
	}
	least := q.smallest()
	for t := range r.s.types() {
		if least[t] > r.n.Total[t]-r.n.Used[t] {
			return true
		}
	}
	return false
}

// shut tells whether the leaf has no room for the smallest of the masters that wait.
func (r *round) shut(q *Queue) bool {
	if r.s.plain || len(q.masterless.list) == 0 || r.s.noMasterLimit(q) {
		return false
	}
	q.masters.limit = r.s.masterLimit(q)
	for t := range r.s.types() {
		if q.masterless.least[t] > q.masters.limit[t]-q.masters.used[t] {
			return true
		}
	}
	return false
}
