package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

func (s *Scheduler) close(c ContainerRef) {
	a := s.app(s.books.Container(c).App)
	s.books.Close(c)
	delete(s.servedRows, c)
	a.open--
	s.freeApp(a)
}

// Container is the container at that index.
func (s *Scheduler) Container(c ContainerRef) *cluster.Container { return s.books.Container(c) }

// Launched notes that the container's node reported it.
func (s *Scheduler) Launched(c ContainerRef) { s.books.Container(c).Launched = true }

// Finish ends a container; see the facade.
func (s *Scheduler) Finish(c ContainerRef, cause cluster.Cause) bool { return s.end(c, cause).Vacated }

// Vacate frees the container's room; see the facade.
func (s *Scheduler) Vacate(c ContainerRef) {
	if !s.books.IsOpen(c) {
		return
	}
	box := s.books.Container(c)
	if box.Live || box.Reserved {
		if s.end(c, cluster.Completed).Vacated {
			return
		}
	}
	s.vacate(c)
}

func (s *Scheduler) vacate(c ContainerRef) {
	box := s.books.Container(c)
	q := s.app(box.App).queue
	s.books.Release(c)
	s.freed(box.Node, s.books.Node(box.Node))
	q.Touch()
	s.close(c)
}

// end takes a container or reservation out of the books of application, queue
// and user; and out of its node's when it was never launched.
func (s *Scheduler) end(c ContainerRef, cause cluster.Cause) cluster.Ended {
	box := s.books.Container(c)
	a := s.app(box.App)
	p := s.books.Node(box.Node).Part
	ended := cluster.Ended{Ref: c, Container: *box, Cause: cause}
	switch {
	case box.Reserved:
		s.unreserve(c)
		box.Reserved = false
		s.settleUsage(a, box, p)
		ended.Vacated = true
		s.freed(box.Node, s.books.Node(box.Node))
		s.close(c)
		return ended
	case !box.Live:
		return ended
	}
	box.Live = false
	s.books.Disown(&a.live, c)
	if box.Execution == yarn.Guaranteed {
		a.shares[p].used.Decrease(&box.Resource)
		s.settleUsage(a, box, p)
	}
	if !box.Launched {
		ended.Vacated = true
		s.vacate(c)
	}
	return ended
}

// settleUsage gives back what a container or reservation used of the queue.
func (s *Scheduler) settleUsage(a *app, box *cluster.Container, p part) {
	s.unsettle(a)
	minus := resource{}.Sub(box.Resource)
	s.use(a.queue, a, p, &minus, -1, nil)
}

// RecoverContainer counts a container after a restart; see the facade.
func (s *Scheduler) RecoverContainer(r Recovered) ContainerRef {
	a := s.app(r.App)
	box := cluster.Container{ID: r.ID, App: r.App, Node: r.Node, Resource: r.Resource, Priority: r.Priority,
		AllocationRequestID: r.AllocationRequestID, Label: r.Label, Version: r.Version, Execution: r.Execution,
		AM: r.AM, Launched: true, Live: true, CreatedWall: r.CreatedWall, Locality: cluster.OffSwitch}
	a.open++
	c := s.books.Open(&box)
	if last := a.newest.Number; r.ID.Number > last && r.ID.Attempt == a.attempt.ID && r.ID.Number>>yarn.EpochShift == last>>yarn.EpochShift {
		a.newest = r.ID
	}
	a.mastered = a.mastered || r.AM
	s.books.Enter(s.calc, &a.live, s.books.Node(r.Node), c, s.books.Container(c))
	if r.Execution == yarn.Guaranteed {
		p := s.books.Node(r.Node).Part
		a.shares[p].used = a.shares[p].used.Add(r.Resource)
		s.use(a.queue, a, p, &r.Resource, 1, nil)
		s.unsettle(a)
	}
	a.queue.Touch()
	return c
}

// Containers are those of the running attempt; see the facade.
func (s *Scheduler) Containers(ref AppRef, out []ContainerRef) []ContainerRef {
	a := s.app(ref)
	from := len(out)
	out = s.books.OfOwner(&a.live, out)
	out = append(out, s.reservationsOf(a)...)
	slices.SortFunc(out[from:], func(x, y ContainerRef) int {
		return s.books.Container(x).ID.Compare(s.books.Container(y).ID)
	})
	return out
}
