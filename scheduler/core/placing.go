package core

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
)

// Placement is where a policy wants a container, or a node to be held for one.
type Placement struct {
	App      *App
	Want     *demand.Want
	Row      *demand.Row // of the want; it may be gone once the want is served
	Locality cluster.Locality
	From     ContainerRef // the reservation that is served or renewed, or none
	Excess   ContainerRef // a reservation to give up, or none
}

// Allocate puts a container of what is wanted on the node, from which its reservation may
// become it, and gives up the reservation that is in excess.
func (s *Core) Allocate(ref NodeRef, n *cluster.NodeBook, o *Placement) (ContainerRef, *cluster.Container) {
	var c ContainerRef
	var container *cluster.Container
	if o.From < 0 {
		c, container = s.newContainer(ref, o)
	} else {
		c, container = s.fulfil(o)
	}
	a, w := o.App, o.Want
	container.Live = true
	if container.AM = !a.Mastered && !a.Unmanaged; container.AM {
		s.mastered = append(s.mastered, a)
	}
	// The size is the container's: the ask may have changed since it was reserved.
	s.Calc.Increase(&a.Shares[n.Part].Used, &container.Resource)
	s.Books.Enter(s.Calc, &a.Live, n, c, container)
	if !w.Plain && !w.Update.IsZero() {
		s.matchUpdate(a, w, c)
	}
	if o.Locality != cluster.OffSwitch || !w.Any.Relax || w.Any.Size != container.Resource {
		s.rememberRows(w, c, container, n)
	}
	a.Wants.Take(s.Calc, &s.Books.Places, w, o.Locality, n)
	if len(a.Wants.Keys()) == 0 {
		s.policy.Asked(a, false)
	}
	if o.Excess >= 0 {
		s.GiveUp(o.Excess)
	}
	s.lessPending(a.Leaf, w)
	if o.From < 0 {
		s.use(a.Leaf, a, n.Part, &container.Resource, 1, false)
	} else {
		s.Report(Change{What: Usage, Queue: a.Leaf, App: a, Part: n.Part})
	}
	s.freed(ref)
	return c, container
}

func (s *Core) newContainer(ref NodeRef, o *Placement) (ContainerRef, *cluster.Container) {
	a, w := o.App, o.Want
	a.Open++
	c, container := s.Books.OpenEmpty()
	container.ID = a.nextID()
	container.App, container.Node, container.Locality, container.CreatedWall = a.Ref, ref, o.Locality, s.Now.Wall
	container.Priority = w.Priority
	s.Calc.Set(&container.Resource, &o.Row.Size)
	if !w.Plain {
		container.AllocationRequestID, container.Label, container.Update = w.RequestID, w.Label, w.Update
	}
	return c, container
}

// GiveUp ends a reservation.
//
//go:noinline
func (s *Core) GiveUp(c ContainerRef) { s.End(c, cluster.ReleasedByAM) } // what it returns is large

// fulfil ends a reservation, whose container is about to be used.
func (s *Core) fulfil(o *Placement) (ContainerRef, *cluster.Container) {
	s.unreserve(o.From)
	container := s.Books.Container(o.From)
	container.Reserved, container.Locality, container.CreatedWall, container.Label = false, o.Locality, s.Now.Wall, o.Want.Label
	return o.From, container
}

// Reserve holds the node for a container of what is wanted.
func (s *Core) Reserve(ref NodeRef, n *cluster.NodeBook, o *Placement) (ContainerRef, *cluster.Container) {
	c, container := s.newContainer(ref, o)
	container.Reserved = true
	a, w := o.App, o.Want
	a.Held++
	a.Shares[n.Part].Reserved.Increase(&o.Row.Size)
	w.Rereserved = 0
	w.Reservations = append(w.Reservations, c)
	n.Reserved = c
	s.ReservedNodes++
	s.use(a.Leaf, a, n.Part, &o.Row.Size, 1, false)
	s.addReserved(a.Leaf, n.Part, o.Row.Size, 1)
	s.freed(ref) // a reserved node is worth a visit, also without room for the smallest container
	return c, container
}

// unreserve frees the node of a reservation. Its usage stays with the queue.
func (s *Core) unreserve(c ContainerRef) {
	container := s.Books.Container(c)
	a, n := s.App(container.App), s.Books.Node(container.Node)
	if w := a.Wants.Find(KeyOf(container)); w != nil {
		w.Rereserved = 0
		w.Reservations = slices.DeleteFunc(w.Reservations, func(o ContainerRef) bool { return o == c })
	}
	a.Held--
	a.Shares[n.Part].Reserved = a.Shares[n.Part].Reserved.Sub(container.Resource)
	n.Reserved = cluster.NoContainer
	s.ReservedNodes--
	s.freed(container.Node)
	s.addReserved(a.Leaf, n.Part, resource{}.Sub(container.Resource), -1)
}

// KeyOf is the key of what the container was asked for by.
func KeyOf(container *cluster.Container) demand.Key {
	return demand.Key{Priority: container.Priority, RequestID: container.AllocationRequestID, Update: container.Update}
}
