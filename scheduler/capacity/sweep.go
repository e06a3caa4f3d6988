package capacity

import (
	"math/bits"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// passedKeys is how many keys of asks a sweep or an offer passes by before it stops
// early: each container that it places has an application's keys walked anew.
const passedKeys = 10_000

// sweep remembers where the next sweep starts and what it may leave out.
type sweep struct {
	open  []uint64 // a bit for every node that has room or is reserved; nil before the first sweep
	count int      // of those bits
	next  int      // the node that comes next
	idle  int      // visits in a row that brought nothing
	vain  int      // and of these the last ones, by which nobody got nearer to its turn
	again bool     // a proposal was refused during one of them
	quiet bool     // nothing can be done until something changes
	seen  uint64   // what had changed when that was found
	moved uint64   // counts changes of nodes
}

// freed looks again at whether the node is worth a visit, once there was a sweep.
func (s *Scheduler) freed(ref NodeRef, n *cluster.NodeBook) {
	if s.sweep.open != nil {
		s.look(ref, n)
	}
}

func (s *Scheduler) look(ref NodeRef, n *cluster.NodeBook) {
	w := &s.sweep
	w.moved++
	at, bit := uint(ref)/64, uint64(1)<<(uint(ref)%64)
	for uint(len(w.open)) <= at {
		w.open = append(w.open, 0)
	}
	is := n.Member && n.Accepting && (n.Reserved >= 0 || s.hasRoom(n))
	word := &w.open[at]
	if was := *word&bit != 0; is == was {
		return
	}
	*word ^= bit
	if is {
		w.count++
	} else {
		w.count--
	}
}

// lookAround looks at all nodes, before the first sweep.
func (s *Scheduler) lookAround() {
	nodes := s.books.NodeSlots()
	s.sweep.open = make([]uint64, nodes/64+1)
	for i := range nodes {
		s.look(NodeRef(i), s.books.Node(NodeRef(i)))
	}
}

// nextOpen is the next node worth a visit, in a fixed rotating order.
func (w *sweep) nextOpen() NodeRef {
	if w.next >= 64*len(w.open) {
		w.next = 0
	}
	at := w.next / 64
	word := w.open[at] >> (w.next % 64) << (w.next % 64)
	for word == 0 {
		if at++; at == len(w.open) {
			at = 0
		}
		word = w.open[at]
	}
	ref := 64*at + bits.TrailingZeros64(word)
	w.next = ref + 1
	return NodeRef(ref)
}

// changes counts everything that could make a sweep worth while again.
func (s *Scheduler) changes() uint64 { return s.tree.root.Change + s.sweep.moved }

// Sweep offers nodes in turn; see the facade.
func (s *Scheduler) Sweep(nodes, containers int, now yarn.Now, out []cluster.Decision) ([]cluster.Decision, bool) {
	s.Advance(now)
	w := &s.sweep
	if w.open == nil {
		s.lookAround()
	}
	if at := s.changes(); w.seen != at {
		w.quiet, w.idle, w.vain, w.again, w.seen = false, 0, 0, false, at
	}
	s.passed = 0
	for visits := 0; !w.quiet && w.count > 0; visits++ {
		if visits >= nodes || len(out) >= containers || s.passed >= passedKeys {
			return out, true
		}
		ref := w.nextOpen()
		before := len(out)
		s.felt, s.waited = 0, false
		var more bool
		if out, more = s.fill(ref, containers, out); more || len(out) >= containers {
			w.next = int(ref) // it may have room for more
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
		alike := s.felt == 0 && len(out) == before && s.books.Partitions() == 1 && s.reservedNodes == 0
		w.quiet = alike || w.vain >= w.count || w.idle > s.patience()
	}
	return out, false
}

// patience is how many visits in a row may bring nothing. Who waits, first for the
// room that a partition lends and then for a near node, needs no more, even if only
// one node passes by in a round. Where a proposal was refused, as the next one like
// it will be, nodes pass by only as often as they are, and all are visited once
// more.
func (s *Scheduler) patience() int {
	nodes, open := s.books.Count, s.sweep.count
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
