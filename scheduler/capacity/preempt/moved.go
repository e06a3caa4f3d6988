package preempt

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
)

// Reservations that move (allow-move-reservation): where the node that is held cannot be made free for what it is held for, another one may.

// reservedOn is what a node is held for, or will be when the caller has moved what this round moves; NoContainer if for nothing.
func (r *Round) reservedOn(node cluster.NodeRef) cluster.ContainerRef {
	if ref := r.core.Books.Node(node).Reserved; ref >= 0 && r.nodeOf(ref) == node {
		return ref
	}
	if i, ok := r.movedTo[node]; ok && r.waits(&r.Moved[i].Choice) {
		return r.Moved[i].Ref
	}
	return cluster.NoContainer
}

// nodeOf is the node of a container, or the one that a reservation is moved to.
func (r *Round) nodeOf(ref cluster.ContainerRef) cluster.NodeRef {
	if i, ok := r.movedOf[ref]; ok && r.waits(&r.Moved[i].Choice) {
		return r.Moved[i].To
	}
	return r.core.Container(ref).Node
}

// lookElsewhere moves a reservation to the first node of the partition on which room can be made for it, or is already. Nothing is chosen there
// before the next round.
func (r *Round) lookElsewhere(reserved *Choice) {
	var steps []step
	for some := range slices.Chunk(r.nodes, nodesAtOnce) {
		steps = append(steps, func() {
			for _, node := range some {
				if _, moved := r.movedOf[reserved.Ref]; moved || !r.waits(reserved) {
					return
				}
				if r.mayMove(reserved.Ref, node) {
					r.move(reserved, node)
				}
			}
			r.cost += nodesAtOnce / 8
		})
	}
	r.then(steps...)
}

// mayMove tells whether a reservation may hold another node, and would not hold it in vain.
func (r *Round) mayMove(ref cluster.ContainerRef, node cluster.NodeRef) bool {
	book, n := r.core.Container(ref), r.core.Books.Node(node)
	if !n.Member || !n.Accepting || r.touched[node] || r.reservedOn(node) >= 0 || !book.Update.IsZero() {
		return false
	}
	// What has asked for no partition may be in another one, which it does not leave.
	if n.Label != book.Label || n.Part != r.core.Books.Node(book.Node).Part {
		return false
	}
	a := r.core.App(book.App)
	if w := a.Wants.Find(core.KeyOf(book)); w != nil && w.HasAny && !w.Any.Relax || a.Avoids(n) {
		return false
	}
	_, ok := r.press(book, node)
	return ok
}

func (r *Round) move(reserved *Choice, to cluster.NodeRef) {
	a, m := r.core.App(reserved.App), Move{Choice: *reserved, To: to, Node: r.core.Books.Node(to).ID}
	m.For = Gainer{Queue: a.Leaf.Path, App: a.ID}
	r.touched[to], r.movedTo[to], r.movedOf[m.Ref] = true, len(r.Moved), len(r.Moved)
	r.Moved = append(r.Moved, m)
}
