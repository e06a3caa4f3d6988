package core

import (
	"math/bits"

	"github.com/heddle-project/heddle/scheduler/cluster"
)

// Openings are the nodes that are worth a visit: they have room for the smallest
// container, or are reserved. They are kept from the first time that somebody asks.
type Openings struct {
	Count int    // of those nodes
	Next  int    // the node that comes next
	Moved uint64 // counts changes of nodes

	bits []uint64 // by node; nil before the first question
}

// HasRoom tells whether the smallest container would find room on the node.
func (s *Core) HasRoom(n *cluster.NodeBook) bool {
	return s.Calc.Leaves(&n.Total, &n.Used, &s.Min)
}

// freed looks again at whether the node is worth a visit.
func (s *Core) freed(ref NodeRef, n *cluster.NodeBook) {
	if s.Openings.bits != nil {
		s.look(ref, n)
	}
}

func (s *Core) look(ref NodeRef, n *cluster.NodeBook) {
	w := &s.Openings
	w.Moved++
	at, bit := uint(ref)/64, uint64(1)<<(uint(ref)%64)
	for uint(len(w.bits)) <= at {
		w.bits = append(w.bits, 0)
	}
	is := n.Member && n.Accepting && (n.Reserved >= 0 || s.HasRoom(n))
	word := &w.bits[at]
	if was := *word&bit != 0; is == was {
		return
	}
	*word ^= bit
	if is {
		w.Count++
	} else {
		w.Count--
	}
}

// LookAround looks at all nodes, the first time.
func (s *Core) LookAround() {
	if s.Openings.bits != nil {
		return
	}
	nodes := s.Books.NodeSlots()
	s.Openings.bits = make([]uint64, nodes/64+1)
	for i := range nodes {
		s.look(NodeRef(i), s.Books.Node(NodeRef(i)))
	}
}

// Take is the next node worth a visit, in a fixed rotating order. There must be one.
func (w *Openings) Take() NodeRef {
	if w.Next >= 64*len(w.bits) {
		w.Next = 0
	}
	at := w.Next / 64
	word := w.bits[at] >> (w.Next % 64) << (w.Next % 64)
	for word == 0 {
		if at++; at == len(w.bits) {
			at = 0
		}
		word = w.bits[at]
	}
	ref := 64*at + bits.TrailingZeros64(word)
	w.Next = ref + 1
	return NodeRef(ref)
}

// Has tells whether the node is one of them.
func (w *Openings) Has(ref NodeRef) bool {
	at := uint(ref) / 64
	return at < uint(len(w.bits)) && w.bits[at]>>(uint(ref)%64)&1 == 1
}
