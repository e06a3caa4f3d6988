package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// onNode tries the places of a key from the nearest to the farthest.
func (r *round) onNode(a *app, w *demand.Want, lim *limits) skip {
	if len(w.Rows) > 0 {
		if end := r.near(a, w, lim); end != skipOther {
			return end
		}
	}
	if !w.HasAny || w.Any.Count <= 0 {
		return skipKey
	}
	if !w.Any.Relax {
		r.note(fit.StrictLocality, yarn.AnyHost, "", 0, 0)
		return skipKey
	}
	if len(w.Rows) > 0 && r.found.From < 0 && !r.offSwitch(w) {
		r.waiting = true
		r.noteNode(fit.LocalityDelay, int64(w.Opportunities), nil, nil)
		return skipOther
	}
	if r.try(a, w, &w.Any, cluster.OffSwitch, lim) {
		return over
	}
	return skipOther
}

// near tries the node and the rack where the key names places. skipOther: any node
// is the next to try.
func (r *round) near(a *app, w *demand.Want, lim *limits) skip {
	rack := w.At(r.book.RackPlace)
	if rack == nil || rack.Count <= 0 {
		return skipOther
	}
	if !w.Plain && !r.enlarges(a, w) {
		return skipKey
	}
	if row := w.At(r.book.NodePlace); row != nil && row.Count > 0 && r.try(a, w, row, cluster.NodeLocal, lim) {
		return over
	}
	if !rack.Relax {
		r.note(fit.StrictLocality, r.book.Rack, "", 0, 0)
		return skipKey
	}
	if min(int32(r.s.Books.Count), r.s.cfg.NodeDelay) >= w.Opportunities {
		r.waiting = true
	} else if r.try(a, w, rack, cluster.RackLocal, lim) {
		return over
	}
	return skipOther
}

// enlarges tells whether what an update asks for may be placed here: other
// NodeManagers of the host are of no use.
//
// compat: Apache places it there, gives it back when the master calls the next time,
// and asks anew. So does this in heartbeat mode, in which decisions are compared with
// Apache's, but not where nodes are offered asynchronously.
func (r *round) enlarges(a *app, w *demand.Want) bool {
	if w.Update.IsZero() || !r.s.cfg.Asynchronous {
		return true
	}
	return a.Enlarges(w, r.node)
}

// offSwitch tells whether the key, which names places, has waited long enough to
// take any node.
func (r *round) offSwitch(w *demand.Want) bool {
	nodes, cfg := int32(r.s.Books.Count), r.s.cfg
	if cfg.RackExtraDelay > -1 {
		return w.Opportunities > min(nodes, cfg.NodeDelay+cfg.RackExtraDelay)
	}
	factor := min(javanum.Div(float32(len(w.Rows)), float32(nodes)), 1)
	return min(float32(nodes), javanum.Mul(float32(w.Any.Count), factor)) < float32(w.Opportunities)
}

// try proposes a container of the row on the node, or to reserve the node for it. A
// reservation elsewhere may have to be given up for it.
func (r *round) try(a *app, w *demand.Want, row *demand.Row, l cluster.Locality, lim *limits) bool {
	s, calc, size := r.s, r.s.Calc, &row.Size
	r.taken = r.taken[:0]
	if !calc.FitsIn(size, &r.book.Total) {
		r.noteNode(fit.NodeTooSmall, 0, size, &r.book.Total)
		return false
	}
	more := s.worthMore(a, w, size)
	var over resource
	calc.Sub(&over, size, &lim.headroom)
	need := calc.Max(&s.Books.Total, &over, &lim.unreserve)
	mustGiveUp := calc.AnyPositive(need)
	isNew := r.found.From < 0
	look := s.cfg.ContinueLooking && isNew
	kind, excess := core.Allocated, cluster.NoContainer
	if calc.HasRoom(&r.free, size) || r.makesRoom(a.queue, size) {
		if look && (!more || mustGiveUp) {
			if !mustGiveUp {
				need = size
			}
			if excess = s.toGiveUp(w, need); excess < 0 {
				r.noteNode(fit.ReservationsEnough, 0, need, nil)
				return false
			}
		}
	} else {
		kind = core.Reserved
		r.noteNode(fit.NodeFull, 0, size, &r.free)
		if !more && isNew || look && mustGiveUp {
			return false
		}
	}
	r.propose(kind, a, w, row, l)
	r.found.Excess = excess
	return true
}

// propose ends a walk, and resets what the key has waited.
func (r *round) propose(k core.Outcome, a *app, w *demand.Want, row *demand.Row, l cluster.Locality) {
	o := &r.found
	o.kind, o.app, o.App, o.Want, o.Row, o.Locality, o.Excess = k, a, &a.App, w, row, l, cluster.NoContainer
	if o.From >= 0 {
		return
	}
	if l == cluster.NodeLocal || l == cluster.RackLocal && r.s.cfg.RackFullReset {
		r.count(&w.Opportunities, -w.Opportunities)
	}
	if r.part == 0 {
		r.count(&w.Missed, -w.Missed)
	}
}

// toGiveUp is a reservation of the key that frees at least what is needed, or NoContainer.
//
// compat: the first in the order of Apache's hash table of nodes.
func (s *Scheduler) toGiveUp(w *demand.Want, need *resource) ContainerRef {
	best, bestBucket := cluster.NoContainer, uint32(0)
	buckets := uint32(16)
	for float64(len(w.Reservations)) > 0.75*float64(buckets) {
		buckets *= 2
	}
	for _, c := range w.Reservations {
		container := s.Books.Container(c)
		bucket := s.Books.Node(container.Node).Hash & (buckets - 1)
		if s.Calc.FitsIn(need, &container.Resource) && (best < 0 || bucket < bestBucket) {
			best, bestBucket = c, bucket
		}
	}
	return best
}
