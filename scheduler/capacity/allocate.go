package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// onNode tries the places of a key from the nearest to the farthest. next tells
// that this key has no business on the node.
func (r *round) onNode(a *app, w *demand.Want, lim *limits, from ContainerRef) (end skip, next bool) {
	if row := w.At(r.book.NodePlace); row != nil && row.Count > 0 {
		if rack := w.At(r.book.RackPlace); rack != nil && rack.Count > 0 {
			if r.try(a, w, row, cluster.NodeLocal, lim, from) {
				return found, false
			}
		}
	}
	if row := w.At(r.book.RackPlace); row != nil && row.Count > 0 {
		if !row.Relax {
			r.note(fit.StrictLocality, r.book.Rack, "", 0, 0)
			return skipNone, true
		}
		if min(int32(r.s.books.Count), r.s.cfg.NodeDelay) < w.Opportunities {
			if r.try(a, w, row, cluster.RackLocal, lim, from) {
				return found, false
			}
		} else {
			r.s.waited = true
		}
	}
	if !w.HasAny || w.Any.Count <= 0 {
		return skipNone, true
	}
	if !w.Any.Relax {
		r.note(fit.StrictLocality, yarn.AnyHost, "", 0, 0)
		return skipNone, true
	}
	if from < 0 && !r.offSwitch(w) {
		r.s.waited = true
		r.noteNode(fit.LocalityDelay, int64(w.Opportunities), nil, nil)
		return skipOther, false
	}
	if r.try(a, w, &w.Any, cluster.OffSwitch, lim, from) {
		return found, false
	}
	return skipOther, false
}

// offSwitch tells whether the key has waited long enough to take any node.
func (r *round) offSwitch(w *demand.Want) bool {
	nodes := int32(r.s.books.Count)
	unique := w.Unique()
	if nodes == 0 || unique == 1 {
		return nodes != 0
	}
	cfg := r.s.cfg
	if cfg.RackExtraDelay > -1 {
		return w.Opportunities > min(nodes, cfg.NodeDelay+cfg.RackExtraDelay)
	}
	factor := min(javanum.Div(float32(max(unique-1, 0)), float32(nodes)), 1)
	return min(float32(nodes), javanum.Mul(float32(w.Any.Count), factor)) < float32(w.Opportunities)
}

// try sees whether a container of the row fits on the node, or whether the node
// should be held for it: then that is what the walk proposes.
func (r *round) try(a *app, w *demand.Want, row *demand.Row, l cluster.Locality, lim *limits, from ContainerRef) bool {
	s, calc := r.s, r.s.calc
	size := &row.Size
	if !calc.FitsIn(size, &r.book.Total) {
		r.noteNode(fit.NodeTooSmall, 0, size, &r.book.Total)
		return false
	}
	more := s.worthMore(a, w, size)
	var over resource
	calc.Sub(&over, size, &lim.headroom)
	need := calc.Max(&s.books.Total, &over, &lim.unreserve)
	mustGiveUp := calc.AnyPositive(need)
	look := s.cfg.ContinueLooking && from < 0
	excess := cluster.NoContainer
	if calc.HasRoom(&r.free, size) {
		if look && (!more || mustGiveUp) {
			if !mustGiveUp {
				need = size
			}
			if excess = s.toGiveUp(w, need); excess < 0 {
				r.noteNode(fit.ReservationsEnough, 0, need, nil)
				return false
			}
		}
		r.propose(allocated, a, w, row, l, from, excess)
		return true
	}
	r.noteNode(fit.NodeFull, 0, size, &r.free)
	if !more && from < 0 || look && mustGiveUp {
		return false
	}
	r.propose(reserved, a, w, row, l, from, excess)
	return true
}

// propose ends a walk, and resets what the key has waited.
func (r *round) propose(k outcomeKind, a *app, w *demand.Want, row *demand.Row, l cluster.Locality, from, excess ContainerRef) {
	o := &r.found
	o.kind, o.app, o.want, o.row, o.locality, o.from, o.excess = k, a, w, row, l, from, excess
	if from >= 0 || r.why != nil {
		return
	}
	if l == cluster.NodeLocal || l == cluster.RackLocal && r.s.cfg.RackFullReset {
		w.Opportunities = 0
	}
	if r.part == 0 {
		w.Missed = 0
	}
}

// toGiveUp is a reservation of the key that frees at least so much.
//
// compat: the first in the order of Apache's hash table of nodes.
func (s *Scheduler) toGiveUp(w *demand.Want, need *resource) ContainerRef {
	best, bestBucket := cluster.NoContainer, uint32(0)
	buckets := uint32(16)
	for float64(len(w.Reservations)) > 0.75*float64(buckets) {
		buckets *= 2
	}
	for _, c := range w.Reservations {
		box := s.books.Container(c)
		bucket := s.books.Node(box.Node).Hash & (buckets - 1)
		if s.calc.FitsIn(need, &box.Resource) && (best < 0 || bucket < bestBucket) {
			best, bestBucket = c, bucket
		}
	}
	return best
}
