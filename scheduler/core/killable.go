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
	// What is placed for an increase belongs to no master yet, and nobody could tell it of its end.
	if !container.Live || container.Killable || container.Execution != yarn.Guaranteed || !container.Update.IsZero() {
		return false
	}
	s.Books.SetKillable(c, true)
	s.Killable++
	s.addKillable(s.App(container.App), s.Books.Node(container.Node).Part, container.Resource)
	s.freed(container.Node)
	return true
}

// KillableOf are the killable containers of a queue, and of those below it, in a partition, by their ids.
func (s *Core) KillableOf(q *queue.Queue, p part) (out []ContainerRef) {
	for _, a := range s.Apps {
		if a == nil || !below(a.Leaf, q) {
			continue
		}
		for _, c := range s.Books.OfOwner(&a.Live, nil) {
			if container := s.Books.Container(c); container.Killable && s.Books.Node(container.Node).Part == p {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(x, y ContainerRef) int { return s.Books.Container(x).ID.Compare(s.Books.Container(y).ID) })
	return out
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
	s.Killable--
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
