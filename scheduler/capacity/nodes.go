package capacity

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// AddNode lets a node join; see the facade.
func (s *Scheduler) AddNode(n cluster.Node) NodeRef {
	s.part(n.Label)
	ref := s.books.AddNode(n)
	book := s.books.Node(ref)
	book.Labelled = n.Label != ""
	s.freed(ref, book)
	s.recalculate()
	s.recalculateAgain()
	return ref
}

// RemoveNode takes a node out; see the facade.
func (s *Scheduler) RemoveNode(ref NodeRef) []cluster.Ended {
	n := s.books.Node(ref)
	s.books.Join(n.Part, n, -1)
	var ended []cluster.Ended
	for _, c := range s.books.OnNode(ref, math.MaxInt) {
		box := *s.books.Container(c)
		if box.Live {
			if e := s.end(c, cluster.NodeGone); e.Vacated {
				ended = append(ended, e)
				continue
			}
			ended = append(ended, cluster.Ended{Ref: c, Container: box, Cause: cluster.NodeGone, Vacated: true})
		}
		s.vacate(c)
	}
	if n.Reserved >= 0 {
		ended = append(ended, s.end(n.Reserved, cluster.NodeGone))
	}
	s.books.RemoveNode(ref)
	s.freed(ref, n)
	s.recalculate()
	s.recalculateAgain()
	return ended
}

// Together carries several changes of nodes out as one; see the facade.
func (s *Scheduler) Together(changes func()) {
	s.together = true
	changes()
	s.together = false
	if s.recalculationDue {
		s.recalculationDue = false
		s.recalculate()
		s.recalculateAgain()
	}
}

// SetNodeTotal changes what a node has; see the facade.
//
// compat: a reservation on the node ends, and leaves remember the users of its
// containers again, because Apache treats the change like one of its partition.
func (s *Scheduler) SetNodeTotal(ref NodeRef, total resource) {
	n := s.books.Node(ref)
	changed := n.Total != total
	s.books.SetTotal(ref, total)
	s.freed(ref, n)
	s.recalculate()
	if !changed {
		return
	}
	for _, c := range s.books.OnNode(ref, math.MaxInt) {
		s.moveUsage(c, n.Part, n.Part)
	}
	if n.Reserved >= 0 {
		s.end(n.Reserved, cluster.NodeGone)
	}
	s.recalculate()
	s.recalculateAgain()
}

// SetNodeAccepting tells whether anything new may be committed on the node.
func (s *Scheduler) SetNodeAccepting(ref NodeRef, accepting bool) {
	n := s.books.Node(ref)
	n.Accepting = accepting
	s.freed(ref, n)
}

// SetNodeLabel moves a node to another partition; see the facade.
func (s *Scheduler) SetNodeLabel(ref NodeRef, label string) []cluster.Ended {
	n := s.books.Node(ref)
	from, to := n.Part, s.part(label)
	// compat: what was set before to the same is no change; the first time it is one.
	if from == to && n.Labelled {
		return nil
	}
	n.Labelled = true
	s.books.Join(from, n, -1)
	s.books.Join(to, n, 1)
	// compat: also to where the node is, which brings back users that a leaf has forgotten.
	for _, c := range s.books.OnNode(ref, math.MaxInt) {
		s.moveUsage(c, from, to)
	}
	var ended []cluster.Ended
	if n.Reserved >= 0 {
		ended = append(ended, s.end(n.Reserved, cluster.NodeGone))
	}
	n.Part, n.Label = to, label
	s.freed(ref, n)
	s.recalculate()
	return ended
}

// moveUsage moves what a container uses from one partition to another.
//
// compat: in Apache also what one used that was released and still runs.
func (s *Scheduler) moveUsage(c ContainerRef, from, to part) {
	box := s.books.Container(c)
	a, count := s.app(box.App), int32(1)
	if !box.Live {
		count = 0
	}
	if box.Execution != yarn.Guaranteed || count == 0 && (a.gone || !s.likeApache()) {
		return
	}
	a.shares[from].used = a.shares[from].used.Sub(box.Resource)
	a.shares[to].used = a.shares[to].used.Add(box.Resource)
	minus := resource{}.Sub(box.Resource)
	s.use(a.queue, a, from, &minus, -count, nil)
	s.use(a.queue, a, to, &box.Resource, count, nil)
	if box.AM && from != to {
		s.moveMaster(a, box, from, to)
	}
}

// moveMaster has admission look for the master in another partition.
//
// compat: Apache moves what masters are charged with, too, where nothing was charged
// there: of who waits for admission, and of a master that does not run where it was
// asked for.
func (s *Scheduler) moveMaster(a *app, box *cluster.Container, from, to part) {
	q := a.queue
	if a.waits {
		q.leaf.pending.exit(a)
	}
	charged := a.active
	if s.likeApache() {
		a.amPart, a.amSize, charged = from, box.Resource, q.leaf.users[a.User] != nil
	}
	if charged {
		s.chargeMaster(q, q.userOf(a.User), a, -1)
	}
	a.amPart, a.amSize = to, box.Resource
	if charged {
		s.chargeMaster(q, q.userOf(a.User), a, 1)
	}
	if a.waits {
		q.leaf.pending.enter(a)
	}
}

// FindNode is the index of the node with that name.
func (s *Scheduler) FindNode(id yarn.NodeID) (NodeRef, bool) { return s.books.FindNode(id) }
