package core

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Killable containers (lazy preemption): their notice has run out, and they run on until somebody else needs their room. Queues and nodes count what
// they have of it; whether anybody may have it is for the policy to decide.

// MarkKillable makes a container killable; see the facade.
func (s *Core) MarkKillable(c ContainerRef) bool {
	container := s.Books.Container(c)
	// What is placed for an increase belongs to no master yet, which could hear of its end.
	if !container.Live || container.Killable || container.Execution != yarn.Guaranteed || !container.Update.IsZero() {
		return false
	}
	s.Books.SetKillable(c, true)
	i, _ := s.placeKillable(container)
	s.Killable = slices.Insert(s.Killable, i, c)
	s.addKillable(s.App(container.App), s.Books.Node(container.Node).Part, container.Resource)
	s.freed(container.Node)
	return true
}

// placeKillable is where a container stands among those that are killable, or would.
func (s *Core) placeKillable(container *cluster.Container) (int, bool) {
	return slices.BinarySearchFunc(s.Killable, &container.ID, func(c ContainerRef, id *yarn.ContainerID) int { return s.Books.Container(c).ID.Compare(*id) })
}

// EachKillable visits the killable containers of a queue, and of those below it, in a partition, by their ids, for as long as visit says so. It may
// take the one that it is given.
func (s *Core) EachKillable(q *queue.Queue, p part, visit func(ContainerRef) bool) {
	for i := 0; i < len(s.Killable); {
		c := s.Killable[i]
		container := s.Books.Container(c)
		if s.Books.Node(container.Node).Part == p && below(s.App(container.App).Leaf, q) && !visit(c) {
			return
		}
		if i < len(s.Killable) && s.Killable[i] == c {
			i++
		}
	}
}

func below(q, above *queue.Queue) bool {
	for ; q != nil; q = q.Parent {
		if q == above {
			return true
		}
	}
	return false
}

// Take ends a killable container for another application. Its room is free if its node has not reported it, and else once that reports its end. Its
// index stays its own until it is vacated: the caller of the running offer has yet to hear of it.
func (s *Core) Take(c ContainerRef) {
	container := s.Books.Container(c)
	a, p := s.App(container.App), s.Books.Node(container.Node).Part
	s.discharge(a, c, container, p)
	if !container.Launched {
		s.Books.Release(c)
	}
	s.freed(container.Node)
}

// spared counts a container no more among those that are killable in its queue. On its node it stays one for as long as it holds its room.
func (s *Core) spared(a *App, container *cluster.Container, p part) {
	if i, found := s.placeKillable(container); found {
		s.Killable = slices.Delete(s.Killable, i, i+1)
	}
	s.addKillable(a, p, resource{}.Sub(container.Resource))
}

// addKillable changes what is killable of an application.
func (s *Core) addKillable(a *App, p part, amount resource) {
	for q := a.Leaf; q != nil; q = q.Parent {
		q.Ledger[p].Killable.Increase(&amount)
	}
	s.Report(Change{What: Usage, Queue: a.Leaf, App: a, Part: p})
}

// moveKillable changes it where the queue or the partition of a container changes.
func (s *Core) moveKillable(container *cluster.Container, from, to *queue.Queue, p, q part) {
	if !container.Killable || !container.Live {
		return
	}
	for ; from != nil; from = from.Parent {
		from.Ledger[p].Killable.Decrease(&container.Resource)
	}
	for ; to != nil; to = to.Parent {
		to.Ledger[q].Killable.Increase(&container.Resource)
	}
}
