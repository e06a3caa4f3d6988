package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// commit puts a proposal into the books if it still holds. A refused proposal
// changes nothing.
func (s *Scheduler) commit(r *round, o *outcome, out []cluster.Decision) []cluster.Decision {
	if o.kind == nothing {
		if o.excess < 0 {
			return out
		}
		out = append(out, s.decision(cluster.Unreserved, o.excess))
		s.end(o.excess, cluster.ReleasedByAM)
		return out
	}
	o.mode = r.mode
	if !r.book.Accepting || !s.accepts(r, o) {
		return out
	}
	switch {
	case o.kind == allocated && o.from >= 0:
		return s.fulfil(r, o, out)
	case o.kind == allocated:
		return s.allocate(r, o, out)
	case o.from >= 0:
		o.want.Rereserved++
		return append(out, s.decision(cluster.Rereserved, o.from))
	}
	return s.reserve(r, o, out)
}

func (s *Scheduler) decision(k cluster.Kind, c ContainerRef) cluster.Decision {
	box := s.books.Container(c)
	return cluster.Decision{Kind: k, Container: c, App: box.App, Node: box.Node, Priority: box.Priority, Resource: box.Resource}
}

// accepts checks the limits again, component by component.
//
// compat: a walk compares what is used with a limit, this check asks whether
// what would be used fits; so a proposal may be refused here again and again.
func (s *Scheduler) accepts(r *round, o *outcome) bool {
	if o.from >= 0 {
		if o.kind != allocated {
			return true
		}
		// compat: the ask may have become smaller since. Apache looks at it alone and
		// then places what was reserved, beyond what the node has. That is repeated
		// where its decisions are compared, in heartbeat mode, and nowhere else.
		size := &s.books.Container(o.from).Resource
		room := s.calc.FitsIn(&o.row.Size, &r.free) && (!s.cfg.Asynchronous || s.calc.FitsIn(size, &r.free))
		if !room && r.why != nil {
			r.noteNode(yarn.Reason{Code: fit.NodeFull, Needed: *size, Limit: r.free})
		}
		return room
	}
	if o.kind == allocated && !s.calc.FitsIn(&o.row.Size, &r.free) {
		r.noteNode(yarn.Reason{Code: fit.NodeFull, Needed: o.row.Size, Limit: r.free})
		return false
	}
	var freed resource
	if o.excess >= 0 {
		freed = s.books.Container(o.excess).Resource
	}
	q := o.app.queue
	u, b := s.noteHeadroom(q, o.app, r.part, r.mode)
	if u == nil {
		return false
	}
	used := u.shares[r.part].used
	s.calc.Decrease(&used, &freed)
	if s.calc.More(&s.books.Total, &used, &b.limit) {
		r.noteUser(o.app, &used, b)
		return false
	}
	net := o.row.Size
	s.calc.Decrease(&net, &freed)
	for ; q != nil; q = q.parent {
		most := &s.books.Partition(r.part).Total
		if r.mode == respect {
			most = &q.shares[r.part].effMax
		}
		if !s.calc.SumFits(&q.shares[r.part].used, &net, most) {
			used = q.shares[r.part].used
			s.calc.Increase(&used, &net)
			r.noteQueue(q, &used, most)
			return false
		}
	}
	return true
}

func (s *Scheduler) newContainer(r *round, o *outcome) (ContainerRef, *cluster.Container) {
	a, w := o.app, o.want
	a.counter++
	a.open++
	c, box := s.books.OpenEmpty()
	box.ID.Attempt, box.ID.Number = a.attempt.ID, a.counter
	box.App, box.Node, box.Resource, box.Locality = a.ref, r.node, o.row.Size, o.locality
	box.Priority, box.AllocationRequestID, box.Label, box.Update = w.Priority, w.RequestID, w.Label, w.Update
	box.Execution, box.CreatedWall = yarn.Guaranteed, s.now.Wall
	return c, box
}

func (s *Scheduler) allocate(r *round, o *outcome, out []cluster.Decision) []cluster.Decision {
	c, box := s.newContainer(r, o)
	box.Live, box.AM = true, !o.app.mastered && !o.app.Unmanaged
	s.enliven(o, r, c)
	out = s.giveUp(o, out)
	s.use(o.app.queue, o.app, r.part, &box.Resource, 1)
	s.freed(r.node)
	o.app.queue.unsettle(o.app)
	o.app.queue.touch()
	return append(out, s.decision(cluster.Allocated, c))
}

// enliven enters a container among those that the attempt has.
func (s *Scheduler) enliven(o *outcome, r *round, c ContainerRef) {
	a := o.app
	box := s.books.Container(c)
	s.books.Own(&a.live, c)
	// The size is the container's: the ask may have changed since it was reserved.
	s.calc.Increase(&a.shares[r.part].used, &box.Resource)
	s.books.Hold(c)
	if box.AM {
		s.mastered = append(s.mastered, a)
	}
	s.matchUpdate(a, o.want, c)
	d := a.wants.Take(&s.books.Places, o.want, o.locality, r.book)
	s.addPending(a.queue, d)
	if len(a.wants.Keys()) > 0 {
		return
	}
	a.queue.unwant(a)
	if o.from < 0 && !s.plain { // the walk has just looked at it
		a.queue.leaf.active.rest(int(o.place))
	}
}

// giveUp ends the reservation that had to make room.
func (s *Scheduler) giveUp(o *outcome, out []cluster.Decision) []cluster.Decision {
	if o.excess < 0 {
		return out
	}
	out = append(out, s.decision(cluster.Unreserved, o.excess))
	s.end(o.excess, cluster.ReleasedByAM)
	return out
}

func (s *Scheduler) reserve(r *round, o *outcome, out []cluster.Decision) []cluster.Decision {
	c, box := s.newContainer(r, o)
	box.Reserved = true
	a, w := o.app, o.want
	a.held++
	a.shares[r.part].reserved.Increase(&o.row.Size)
	w.Rereserved = 0
	w.Reservations = append(w.Reservations, c)
	r.book.Reserved = c
	s.reservedNodes++
	s.freed(r.node)
	s.use(a.queue, a, r.part, &o.row.Size, 1)
	a.queue.unsettle(a)
	s.addReserved(a.queue, r.part, o.row.Size, 1)
	a.queue.touch()
	return append(out, s.decision(cluster.Reserved, c))
}

// fulfil turns a reservation into the container that it was made for.
func (s *Scheduler) fulfil(r *round, o *outcome, out []cluster.Decision) []cluster.Decision {
	s.unreserve(o.from)
	box := s.books.Container(o.from)
	box.Reserved, box.Live, box.Locality = false, true, o.locality
	box.AM = !o.app.mastered && !o.app.Unmanaged
	box.CreatedWall = s.now.Wall
	s.enliven(o, r, o.from)
	s.freed(r.node)
	o.app.queue.touch()
	return append(out, s.decision(cluster.AllocatedFromReserved, o.from))
}

// unreserve frees the node of a reservation. Its usage stays with the queue.
func (s *Scheduler) unreserve(c ContainerRef) {
	box := s.books.Container(c)
	a, n := s.app(box.App), s.books.Node(box.Node)
	if w := a.wants.Find(keyOf(box)); w != nil {
		w.Rereserved = 0
		w.Reservations = slices.DeleteFunc(w.Reservations, func(o ContainerRef) bool { return o == c })
	}
	a.held--
	a.shares[n.Part].reserved = a.shares[n.Part].reserved.Sub(box.Resource)
	n.Reserved = cluster.NoContainer
	s.reservedNodes--
	s.freed(box.Node)
	s.addReserved(a.queue, n.Part, resource{}.Sub(box.Resource), -1)
}

func keyOf(box *cluster.Container) demand.Key {
	return demand.Key{Priority: box.Priority, RequestID: box.AllocationRequestID, Update: box.Update}
}

func (s *Scheduler) addReserved(q *Queue, p part, amount resource, count int32) {
	for ; q != nil; q = q.parent {
		q.shares[p].reserved = q.shares[p].reserved.Add(amount)
		q.shares[p].promised = q.shares[p].promised.Add(amount)
		q.shares[p].held += count
	}
}

// use adds to what a leaf, its user and all queues above use; negative amounts
// take away.
func (s *Scheduler) use(q *Queue, a *app, p part, amount *resource, count int32) {
	s.charge(q, a, p, amount)
	total := &s.books.Partition(p).Total
	for ; q != nil; q = q.parent {
		sh := &q.shares[p]
		s.calc.Increase(&sh.used, amount)
		sh.containers += count
		s.updateUsed(q, sh, p, total)
	}
}
