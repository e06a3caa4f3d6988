package core

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// AddNode lets a node join; see the facade.
func (s *Core) AddNode(n cluster.Node) NodeRef {
	s.Part(n.Label)
	ref := s.Books.AddNode(n)
	book := s.Books.Node(ref)
	book.Labelled = n.Label != ""
	s.freed(ref)
	s.nodesChanged()
	return ref
}

// RemoveNode takes a node out; see the facade.
func (s *Core) RemoveNode(ref NodeRef) []cluster.Ended {
	n := s.Books.Node(ref)
	s.Books.Join(n.Part, n, -1)
	var ended []cluster.Ended
	for _, c := range s.Books.OnNode(ref, math.MaxInt) {
		container := *s.Books.Container(c)
		if container.Live {
			if e := s.End(c, cluster.NodeGone); e.Vacated {
				ended = append(ended, e)
				continue
			}
			ended = append(ended, cluster.Ended{Ref: c, Container: container, Cause: cluster.NodeGone, Vacated: true})
		} else {
			s.lostReleased(&container)
		}
		s.vacate(c)
	}
	if n.Reserved >= 0 {
		ended = append(ended, s.End(n.Reserved, cluster.NodeGone))
	}
	s.Books.RemoveNode(ref)
	s.freed(ref)
	s.nodesChanged()
	return ended
}

// Together carries several changes of nodes out as one; see the facade.
func (s *Core) Together(changes func()) {
	s.together = true
	changes()
	s.together = false
	if s.recalculationDue {
		s.recalculationDue = false
		s.nodesChanged()
	}
}

// SetNodeTotal changes what a node has; see the facade.
//
// compat: a reservation on the node ends, and leaves remember the users of its
// containers again, because Apache treats the change like one of its partition. Queues
// follow the new size before that, and once more after it. The FairScheduler has no
// partitions, and its reservations stay.
func (s *Core) SetNodeTotal(ref NodeRef, total resource) {
	s.resize(ref, total, s.KeepReserved, s.Books.SetTotal)
}

func (s *Core) resize(ref NodeRef, total resource, keepReserved bool, set func(NodeRef, resource)) {
	n := s.Books.Node(ref)
	changed := n.Total != total
	set(ref, total)
	s.freed(ref)
	if !changed {
		s.Recalculate()
		return
	}
	s.nodesChanged()
	for _, c := range s.Books.OnNode(ref, math.MaxInt) {
		s.moveUsage(c, n.Part, n.Part)
	}
	if n.Reserved >= 0 && !keepReserved {
		s.End(n.Reserved, cluster.NodeGone)
	}
	s.Recalculate()
}

// Overcommitted implements scheduler.Scheduler.Overcommitted. Opportunistic containers take no room in the books.
func (s *Core) Overcommitted(ref NodeRef) []ContainerRef {
	free, none := s.Books.Node(ref).Free(), resource{}
	if s.Calc.FitsIn(&none, &free) {
		return nil
	}
	var all []ContainerRef
	for _, c := range s.Books.OnNode(ref, math.MaxInt) {
		switch b := s.Books.Container(c); {
		case b.Execution == yarn.Opportunistic || b.Reserved:
		case !b.Live:
			free = free.Add(b.Resource)
		case b.Update == (yarn.ContainerID{}):
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y ContainerRef) int {
		a, b := s.Books.Container(x), s.Books.Container(y)
		if a.AM != b.AM {
			if a.AM {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.CreatedWall, a.CreatedWall), b.ID.Compare(a.ID))
	})
	for i, c := range all {
		if s.Calc.FitsIn(&none, &free) {
			return all[:i]
		}
		free = free.Add(s.Books.Container(c).Resource)
	}
	return all
}

// ShrinkNode changes what a node offers for the time being; see the facade. What is reserved on the node is given up:
// nothing more is placed there.
func (s *Core) ShrinkNode(ref NodeRef, total resource) {
	s.resize(ref, total, false, s.Books.Shrink)
}

// SetNodeAccepting tells whether anything new may be committed on the node.
func (s *Core) SetNodeAccepting(ref NodeRef, accepting bool) {
	n := s.Books.Node(ref)
	n.Accepting = accepting
	s.freed(ref)
}

// Unreserve gives up what is reserved on the node.
func (s *Core) Unreserve(ref NodeRef) {
	if n := s.Books.Node(ref); n.Reserved >= 0 {
		s.End(n.Reserved, cluster.NodeGone)
	}
}

// MoveReservation has a reservation hold another node; see the facade.
func (s *Core) MoveReservation(m *Move) bool {
	if !s.Stands(&m.Taking) || int(m.To) >= s.Books.NodeSlots() {
		return false
	}
	container, to := s.Books.Container(m.Ref), s.Books.Node(m.To)
	source := container.Node
	from := s.Books.Node(source)
	if !container.Reserved || !to.Member || to.ID != m.Node || !to.Accepting || to.Reserved >= 0 || to.Part != from.Part {
		return false
	}
	from.Reserved, to.Reserved, container.Node = cluster.NoContainer, m.Ref, m.To
	s.freed(source)
	s.freed(m.To)
	s.asked(s.App(container.App)) // it can be served elsewhere
	return true
}

// SetNodeLabel moves a node to another partition; see the facade.
func (s *Core) SetNodeLabel(ref NodeRef, label string) []cluster.Ended {
	n := s.Books.Node(ref)
	from, to := n.Part, s.Part(label)
	// compat: what was set before to the same is no change; the first time it is one.
	if from == to && n.Labelled {
		return nil
	}
	n.Labelled = true
	s.Books.Join(from, n, -1)
	s.Books.Join(to, n, 1)
	// compat: also to where the node is, which brings back users that a leaf has forgotten.
	for _, c := range s.Books.OnNode(ref, math.MaxInt) {
		s.moveUsage(c, from, to)
	}
	var ended []cluster.Ended
	if n.Reserved >= 0 {
		ended = append(ended, s.End(n.Reserved, cluster.NodeGone))
	}
	n.Part, n.Label = to, label
	s.Recalculate()
	return ended
}

// moveUsage moves what a container uses from one partition to another.
func (s *Core) moveUsage(c ContainerRef, from, to part) {
	container := s.Books.Container(c)
	a, count := s.App(container.App), int32(1)
	if container.Execution != yarn.Guaranteed || !container.Live && !s.movesReleased(a) {
		return
	}
	if !container.Live {
		count = 0
	}
	s.moveKillable(container, a.Leaf, a.Leaf, from, to)
	a.Own() // an attempt that waits may have a container of the one before
	a.Shares[from].Used = a.Shares[from].Used.Sub(container.Resource)
	a.Shares[to].Used = a.Shares[to].Used.Add(container.Resource)
	minus := resource{}.Sub(container.Resource)
	s.use(a.Leaf, a, from, &minus, -count, true)
	s.use(a.Leaf, a, to, &container.Resource, count, true)
	if container.AM && from != to {
		s.policy.MasterMoved(a, container, from, to)
	}
}

// FindNode is the index of the node with that name.
func (s *Core) FindNode(id yarn.NodeID) (NodeRef, bool) { return s.Books.FindNode(id) }
