package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// passedKeys is how many keys of asks a sweep or an offer passes by before it stops
// early: each container that it places has an application's keys walked anew.
const passedKeys = 10_000

// sweep remembers what sweeps have found, and so what the next one may leave out.
type sweep struct {
	idle  int    // visits in a row that brought nothing
	vain  int    // and of these the last ones, by which nobody got nearer to its turn
	again bool   // a proposal was refused during one of them
	quiet bool   // nothing can be done until something changes
	seen  uint64 // what had changed when that was found
}

// changes counts everything that could make a sweep worth while again.
func (s *Scheduler) changes() uint64 { return s.tree.root.Change + s.Openings.Moved }

// Sweep offers nodes in turn; see the facade.
func (s *Scheduler) Sweep(nodes, containers int, now yarn.Now, out []cluster.Decision) ([]cluster.Decision, bool) {
	s.Advance(now)
	w, open := &s.sweep, &s.Openings
	s.LookAround()
	if at := s.changes(); w.seen != at {
		w.quiet, w.idle, w.vain, w.again, w.seen = false, 0, 0, false, at
	}
	s.passed = 0
	for visits := 0; !w.quiet && open.Count > 0; visits++ {
		if visits >= nodes || len(out) >= containers || s.passed >= passedKeys {
			return out, true
		}
		ref := open.Take()
		before := len(out)
		s.felt, s.waited = 0, false
		var more bool
		if out, more = s.fill(ref, containers, out); more || len(out) >= containers {
			open.Next = int(ref) // it may have room for more
		}
		w.idle++
		w.vain++
		switch {
		case len(out) > before && out[len(out)-1].Kind != cluster.Rereserved:
			w.idle, w.vain, w.again = 0, 0, false
		case s.waited:
			w.vain = 0
		}
		w.seen = s.changes()
		// Where nobody waits for nodes to pass by, every visit ends as the last one of
		// the same node did, but for what starving reservations count, so that one of
		// each is enough. Where no visit left anything behind, the other nodes of a
		// cluster without partitions need no visit at all.
		alike := s.felt == 0 && len(out) == before && s.Books.Partitions() == 1 && s.ReservedNodes == 0
		w.quiet = alike || w.vain >= open.Count || w.idle > s.patience()
	}
	return out, false
}

// patience is how many visits in a row may bring nothing. Who waits, first for the
// room that a partition lends and then for a near node, needs no more, even if only
// one node passes by in a round. Where a proposal was refused, as the next one like
// it will be, nodes pass by only as often as they are, and all are visited once
// more.
func (s *Scheduler) patience() int {
	nodes, open := s.Books.Count, s.Openings.Count
	if s.sweep.again {
		return nodes + open + 1
	}
	return 2 * (nodes + 2) * (open + 1)
}

// fill places on a node what can be placed there, until out has so many decisions or
// too many keys were passed by; then there may be room for more.
func (s *Scheduler) fill(ref NodeRef, most int, out []cluster.Decision) (_ []cluster.Decision, more bool) {
	for more = true; more && len(out) < most && s.passed < passedKeys; {
		before := len(out)
		var o proposal
		o, out = s.offerOnce(ref, out)
		if o.kind != nothing && len(out) == before {
			s.waited, s.sweep.again = true, true // it was refused, and may wait anew
		}
		more = o.kind != nothing && len(out) > before && o.kind != reserved
	}
	s.noteMasters()
	return out, more
}
