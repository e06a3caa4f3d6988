package fair

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds let a walk skip candidates that cannot be served: a full node is not offered to those whose smallest ask does not fit, and a leaf whose
// maxAMShare leaves no room for another master skips the applications that wait for theirs. Decisions are the same without bounds (see
// Scheduler.exhaustive).

// bounds cover all that an attempt has asked for, since its master was placed or from its start.
type bounds struct {
	least, most resource // of the sizes of asks, type by type
	near        bool     // it has asked for hosts or racks
}

// widest are the bounds if anything may have been asked for, narrowest if nothing has.
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

// widen makes the bounds cover an ask, and tells whether they had to change.
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
		s.lowerBounds(a)
		s.noteReserver(a)
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
		s.lowerBounds(a)
		s.noteReserver(a)
	}
}

// mayReserveAny tells whether there might be a node that the application could reserve: it starves, its largest ask reaches the threshold, and
// it has not reserved too many nodes.
func (s *Scheduler) mayReserveAny(a *app) bool {
	return (a.near || a.Held < s.mostReserved(int32(s.Books.Count))) && s.compare(a.queue.policy, &a.bounds.most, &s.cfg.Threshold) >= 0 && s.starves(a)
}

// noteReserver keeps the reservers of the application's queues up to date.
func (s *Scheduler) noteReserver(a *app) {
	if may := a.in && s.mayReserveAny(a); may != a.reserver {
		by := int32(1)
		if !may {
			by = -1
		}
		a.reserver = may
		for q := a.queue; q != nil; q = q.up {
			q.reservers += by
		}
	}
}

// asks tells whether any application in the queue or below asks for something.
func (q *Queue) asks() bool { return len(q.asking.list)+len(q.awaitingAM.list) > 0 }

// lowerBounds lowers the bounds of the application's lineup and queues to its own.
func (s *Scheduler) lowerBounds(a *app) {
	if !a.hasAM {
		s.lower(&a.queue.awaitingAM.least, &a.bounds.least)
	}
	for q := a.queue; q != nil; q = q.up {
		s.lower(&q.smallest, &a.bounds.least)
	}
}

// tighten computes the bounds of a queue from those below it.
func (s *Scheduler) tighten(q *Queue) {
	if q.Leaf && !q.asking.loose && !q.awaitingAM.loose {
		return
	}
	q.asking.loose, q.awaitingAM.loose = false, false
	q.smallest, q.awaitingAM.least = narrowest.least, narrowest.least
	for i := range q.awaitingAM.list {
		s.lower(&q.awaitingAM.least, &q.awaitingAM.list[i].app.bounds.least)
	}
	s.lower(&q.smallest, &q.awaitingAM.least)
	for i := range q.asking.list {
		if p := q.asking.list[i].candidate; p.app != nil {
			s.lower(&q.smallest, &p.app.bounds.least)
		} else {
			s.lower(&q.smallest, &p.queue.smallest)
		}
	}
}

// lower makes r no more than other, type by type.
func (s *Scheduler) lower(r, other *resource) {
	for t := range s.types() {
		r[t] = min(r[t], other[t])
	}
}

// hopeless tells whether nobody in the queue can be served, because even the smallest ask would take it over its maximum.
func (r *round) hopeless(q *Queue, used *resource) bool {
	if r.s.exhaustive {
		return false
	}
	for t := range r.s.types() {
		if q.smallest[t] > q.max[t]-used[t] {
			return true
		}
	}
	return false
}

// full tells whether the smallest ask does not fit on the node, so that it could only be reserved. With locality thresholds every offer counts as
// a scheduling opportunity, so nobody may be skipped.
func (r *round) full(q *Queue) bool {
	if r.s.exhaustive || r.s.cfg.NodeThreshold >= 0 && r.s.cfg.RackThreshold >= 0 {
		return false
	}
	for t := range r.s.types() {
		if q.smallest[t] > r.n.Total[t]-r.n.Used[t] {
			return true
		}
	}
	return false
}

// noRoomForAMs tells whether maxAMShare leaves no room for even the smallest of the masters that wait.
func (r *round) noRoomForAMs(q *Queue) bool {
	if r.s.exhaustive || len(q.awaitingAM.list) == 0 || r.s.noAMLimit(q) {
		return false
	}
	q.ams.limit = r.s.amLimit(q)
	for t := range r.s.types() {
		if q.awaitingAM.least[t] > q.ams.limit[t]-q.ams.used[t] {
			return true
		}
	}
	return false
}
