package core

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

func (s *Core) close(c ContainerRef) {
	a := s.App(s.Books.Container(c).App)
	s.Books.Close(c)
	delete(s.servedRows, c)
	a.Open--
	s.freeApp(a)
}

// Container is the container at that index.
func (s *Core) Container(c ContainerRef) *cluster.Container { return s.Books.Container(c) }

// Launched notes that the container's node reported it.
func (s *Core) Launched(c ContainerRef) { s.Books.Container(c).Launched = true }

// Finish ends a container; see the facade.
func (s *Core) Finish(c ContainerRef, cause cluster.Cause) bool { return s.End(c, cause).Vacated }

// Vacate frees the container's room; see the facade.
func (s *Core) Vacate(c ContainerRef) {
	if !s.Books.IsOpen(c) {
		return
	}
	container := s.Books.Container(c)
	if container.Live || container.Reserved {
		if s.End(c, cluster.Completed).Vacated {
			return
		}
	}
	s.vacate(c)
}

func (s *Core) vacate(c ContainerRef) {
	container := s.Books.Container(c)
	s.Books.Release(c)
	s.freed(container.Node)
	s.close(c)
}

// End takes a container or reservation out of the books of application, queue
// and user; and out of its node's when it was never launched.
func (s *Core) End(c ContainerRef, cause cluster.Cause) cluster.Ended {
	container := s.Books.Container(c)
	a := s.App(container.App)
	p := s.Books.Node(container.Node).Part
	ended := cluster.Ended{Ref: c, Container: *container, Cause: cause}
	switch {
	case container.Reserved:
		s.unreserve(c)
		s.settle(a, container.Update)
		container.Reserved = false
		s.returnUsage(a, container, p)
		ended.Vacated = true
		s.close(c)
		return ended
	case !container.Live:
		return ended
	}
	s.discharge(a, c, container, p)
	s.giveUpIncrease(container, cause)
	if !container.Launched {
		ended.Vacated = true
		s.vacate(c)
	}
	return ended
}

// giveUpIncrease gives up what its node holds for a container to grow, for the container has ended.
func (s *Core) giveUpIncrease(container *cluster.Container, cause cluster.Cause) {
	r := s.Books.Node(container.Node).Reserved
	if r >= 0 && container.Execution == yarn.Guaranteed && s.Books.Container(r).Update == container.ID {
		s.End(r, cause)
	}
}

// discharge takes a live container out of the books of application, queue and user.
func (s *Core) discharge(a *App, c ContainerRef, container *cluster.Container, p part) {
	if container.Live = false; container.Killable {
		s.spared(a, container, p)
	}
	s.Books.Disown(&a.Live, c)
	s.settle(a, container.ID) // compat: what is outstanding goes on being asked for
	if container.Execution == yarn.Guaranteed {
		a.Shares[p].Used.Decrease(&container.Resource)
		s.returnUsage(a, container, p)
	}
}

// returnUsage takes what a container or reservation used off its queue and those above.
func (s *Core) returnUsage(a *App, container *cluster.Container, p part) {
	minus := resource{}.Sub(container.Resource)
	s.use(a.Leaf, a, p, &minus, -1, false)
}

// RecoverContainer counts a container after a restart; see the facade.
func (s *Core) RecoverContainer(r Recovered) ContainerRef {
	a := s.App(r.App)
	container := cluster.Container{ID: r.ID, App: r.App, Node: r.Node, Resource: r.Resource, Priority: r.Priority,
		AllocationRequestID: r.AllocationRequestID, Label: r.Label, Version: r.Version, Floor: r.Floor, Execution: r.Execution,
		AM: r.AM, Launched: true, Live: true, CreatedWall: r.CreatedWall, Locality: cluster.OffSwitch}
	a.Open++
	c := s.Books.Open(&container)
	if r.ID.Number > a.Newest && r.ID.Attempt == a.AttemptID() && r.ID.Number>>yarn.EpochShift == a.Newest>>yarn.EpochShift {
		a.Newest = r.ID.Number
	}
	a.Mastered = a.Mastered || r.AM
	s.Books.Enter(s.Calc, &a.Live, s.Books.Node(r.Node), c, s.Books.Container(c))
	s.freed(r.Node)
	if r.Execution == yarn.Guaranteed {
		p := s.Books.Node(r.Node).Part
		a.Own()
		a.Shares[p].Used = a.Shares[p].Used.Add(r.Resource)
		s.use(a.Leaf, a, p, &r.Resource, 1, false)
	}
	return c
}

// PlaceOpportunistic puts an opportunistic container of the application on the node; see the facade.
func (s *Core) PlaceOpportunistic(ref AppRef, node NodeRef, o Opportunistic) ContainerRef {
	a, n := s.App(ref), s.Books.Node(node)
	a.Open++
	c, container := s.Books.OpenEmpty()
	container.ID = a.nextID()
	container.App, container.Node, container.Locality, container.CreatedWall = ref, node, o.Locality, s.Now.Wall
	all := s.Calc
	all.Dominant = true
	container.Resource = all.Normalize(o.Resource, s.Min, s.ClusterMaximum(), s.Min)
	container.Priority, container.AllocationRequestID = o.Priority, o.AllocationRequestID
	container.Execution, container.Live, container.Label = yarn.Opportunistic, true, n.Label
	s.Books.Enter(s.Calc, &a.Live, n, c, container)
	return c
}

// Containers are those of the running attempt; see the facade.
func (s *Core) Containers(ref AppRef, out []ContainerRef) []ContainerRef {
	a := s.App(ref)
	from := len(out)
	out = s.Books.OfOwner(&a.Live, out)
	out = append(out, a.reservations()...)
	slices.SortFunc(out[from:], func(x, y ContainerRef) int {
		return s.Books.Container(x).ID.Compare(s.Books.Container(y).ID)
	})
	return out
}
