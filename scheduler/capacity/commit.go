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
	if !r.certain(o) {
		var place bool
		if out, place = s.consider(r, o, out); !place {
			return out
		}
	}
	var c ContainerRef
	var box *cluster.Container
	if o.from < 0 {
		c, box = s.newContainer(r, o)
	} else {
		c, box = s.fulfil(o)
	}
	a, w := o.app, o.want
	box.Live = true
	if !a.mastered && !a.Unmanaged {
		box.AM = true
		s.mastered = append(s.mastered, a)
	}
	// The size is the container's: the ask may have changed since it was reserved.
	s.calc.Increase(&a.shares[r.part].used, &box.Resource)
	s.books.Enter(s.calc, &a.live, r.book, c, box)
	if !w.Plain && !w.Update.IsZero() {
		s.matchUpdate(a, w, c)
	}
	if o.locality != cluster.OffSwitch || !w.Any.Relax || w.Any.Size != box.Resource {
		s.rememberRows(w, c, box, r.book)
	}
	a.wants.Take(s.calc, &s.books.Places, w, o.locality, r.book)
	if len(a.wants.Keys()) == 0 {
		s.unwant(a.queue, a)
		if o.from < 0 && !s.plain { // the walk has just looked at it
			a.queue.leaf.active.lay(a, int(o.place))
		}
	}
	if o.excess >= 0 {
		s.giveUp(o.excess)
	}
	kind := cluster.Allocated
	if o.from < 0 {
		s.use(a.queue, a, r.part, &box.Resource, 1, w)
		s.unsettle(a)
	} else {
		s.lessPending(a.queue, w)
		a.queue.Touch()
		kind = cluster.AllocatedFromReserved
	}
	s.freed(r.node, r.book)
	s.fetchNext(r.part)
	return s.decide(out, kind, c, box)
}

// certain tells that consider would find nothing in the way, as is nearly always so.
// Where memory alone counts and nothing is reserved, a leaf's headroom is never more
// than what is left below the limit of any queue above, and the walk has just found
// room for the same ask there and on the node, and the user below the limit.
func (r *round) certain(o *outcome) bool {
	if o.kind != allocated || o.app.held > 0 || r.part != 0 || r.s.calc.Dominant || !r.book.Accepting {
		return false
	}
	size := &o.want.Any.Size
	return &o.row.Size == size && size[yarn.Memory] > 0
}

// consider does all that is to be done of a proposal before a container is placed. It
// tells whether one is to be.
func (s *Scheduler) consider(r *round, o *outcome, out []cluster.Decision) ([]cluster.Decision, bool) {
	if o.kind != nothing && (!r.book.Accepting || !s.accepts(r, o)) {
		return out, false
	}
	if o.excess >= 0 {
		out = s.decide(out, cluster.Unreserved, o.excess, s.books.Container(o.excess))
	}
	switch {
	case o.kind == allocated:
		return out, true
	case o.kind == nothing:
		if o.excess >= 0 {
			s.giveUp(o.excess)
		}
	case o.from < 0:
		c, box := s.reserve(r, o)
		out = s.decide(out, cluster.Reserved, c, box)
	default:
		o.want.Rereserved++
		out = s.decide(out, cluster.Rereserved, o.from, s.books.Container(o.from))
	}
	return out, false
}

// decide appends what became of a container.
func (s *Scheduler) decide(out []cluster.Decision, k cluster.Kind, c ContainerRef, box *cluster.Container) []cluster.Decision {
	n := len(out)
	out = append(out, cluster.Decision{}) // and filled in place: most of an amount is nothing
	d := &out[n]
	d.Kind, d.Container, d.App, d.Node, d.Priority = k, c, box.App, box.Node, box.Priority
	s.calc.Set(&d.Resource, &box.Resource)
	return out
}

// accepts checks the limits again, component by component: whether the node has room,
// and whether what would be used is within the limits of all queues.
//
// compat: a walk compares what is used with a limit, this check asks whether
// what would be used fits; so a proposal may be refused here again and again.
func (s *Scheduler) accepts(r *round, o *outcome) bool {
	if o.from >= 0 {
		return o.kind != allocated || s.acceptsReserved(r, o)
	}
	more := &o.row.Size
	if o.kind == allocated && !s.calc.FitsIn(more, &r.free) {
		r.noteNode(fit.NodeFull, 0, more, &r.free)
		return false
	}
	// Where nothing is reserved, the walk has just compared the same for the user.
	if o.app.held > 0 || r.part != 0 {
		var net resource
		s.calc.Set(&net, more)
		if more = &net; !s.acceptsUser(r, o, more) {
			return false
		}
	}
	for q := o.app.queue; q != nil; q = q.parent {
		has, most := &q.Ledger[r.part], &q.shares[r.part].effMax
		if r.mode == ignore {
			most = &s.books.Partition(r.part).Total
		}
		if !s.calc.SumFits(&has.Used, more, most) {
			r.noteSum(q, &has.Used, more, most)
			return false
		}
	}
	return true
}

// acceptsUser checks the user's limit. It takes off more what is going to be given up.
func (s *Scheduler) acceptsUser(r *round, o *outcome, more *resource) bool {
	u := o.app.user
	used := u.shares[r.part].used
	if o.excess >= 0 {
		freed := &s.books.Container(o.excess).Resource
		s.calc.Decrease(&used, freed)
		s.calc.Decrease(more, freed)
	}
	if b := of(&u.shares[r.part].blocked, r.mode); s.calc.More(&s.books.Total, &used, &b.limit) {
		r.noteUser(o.app, &used, b)
		return false
	}
	return true
}

// acceptsReserved checks whether there is room for what the node is held for.
//
// compat: the ask may have become smaller since. Apache looks at it alone and
// then places what was reserved, beyond what the node has. That is repeated
// where its decisions are compared, in heartbeat mode, and nowhere else.
func (s *Scheduler) acceptsReserved(r *round, o *outcome) bool {
	size := &s.books.Container(o.from).Resource
	room := s.calc.FitsIn(&o.row.Size, &r.free) && (!s.cfg.Asynchronous || s.calc.FitsIn(size, &r.free))
	if !room {
		r.noteNode(fit.NodeFull, 0, size, &r.free)
	}
	return room
}

func (s *Scheduler) newContainer(r *round, o *outcome) (ContainerRef, *cluster.Container) {
	a, w := o.app, o.want
	a.newest.Number++
	a.open++
	c, box := s.books.OpenEmpty()
	box.ID = a.newest
	box.App, box.Node, box.Locality, box.CreatedWall = a.ref, r.node, o.locality, s.now.Wall
	box.Priority = w.Priority
	s.calc.Set(&box.Resource, &o.row.Size)
	if !w.Plain {
		box.AllocationRequestID, box.Label, box.Update = w.RequestID, w.Label, w.Update
	}
	return c, box
}

// giveUp ends a reservation.
//
//go:noinline
func (s *Scheduler) giveUp(c ContainerRef) { s.end(c, cluster.ReleasedByAM) } // what it returns is large

// fulfil ends a reservation, whose container is about to be used.
func (s *Scheduler) fulfil(o *outcome) (ContainerRef, *cluster.Container) {
	s.unreserve(o.from)
	box := s.books.Container(o.from)
	box.Reserved, box.Locality, box.CreatedWall, box.Label = false, o.locality, s.now.Wall, o.want.Label
	return o.from, box
}

func (s *Scheduler) reserve(r *round, o *outcome) (ContainerRef, *cluster.Container) {
	c, box := s.newContainer(r, o)
	box.Reserved = true
	a, w := o.app, o.want
	a.held++
	a.shares[r.part].reserved.Increase(&o.row.Size)
	w.Rereserved = 0
	w.Reservations = append(w.Reservations, c)
	r.book.Reserved = c
	s.reservedNodes++
	s.freed(r.node, r.book)
	s.use(a.queue, a, r.part, &o.row.Size, 1, nil)
	s.unsettle(a)
	s.addReserved(a.queue, r.part, o.row.Size, 1)
	return c, box
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
	s.freed(box.Node, n)
	s.addReserved(a.queue, n.Part, resource{}.Sub(box.Resource), -1)
}

func keyOf(box *cluster.Container) demand.Key {
	return demand.Key{Priority: box.Priority, RequestID: box.AllocationRequestID, Update: box.Update}
}

func (s *Scheduler) addReserved(q *Queue, p part, amount resource, count int32) {
	for ; q != nil; q = q.parent {
		q.Ledger[p].Reserved = q.Ledger[p].Reserved.Add(amount)
		q.Ledger[p].Promised = q.Ledger[p].Promised.Add(amount)
		q.Ledger[p].Held += count
	}
}

// use adds to what a leaf, its user and all queues above use, negative amounts take
// away, and touches the queues. One container of what is served, unless that is nil,
// is no longer outstanding: a placement goes up the tree but once.
func (s *Scheduler) use(q *Queue, a *app, p part, amount *resource, count int32, served *demand.Want) {
	s.charge(q, a, p, amount)
	if served != nil && served.Part != p {
		s.lessPending(q, served)
		served = nil
	}
	total := &s.books.Partition(p).Total
	for ; q != nil; q = q.parent {
		q.Change++
		has := &q.Ledger[p]
		if served != nil {
			s.calc.Decrease(&has.Pending, &served.Any.Size)
			has.Waiting--
			if p == 0 && q.parent != nil && len(q.parent.orders) > 1 && !s.calc.Positive(&s.books.Total, &has.Pending) {
				s.enlistLent(q)
			}
		}
		s.calc.Increase(&has.Used, amount)
		has.Containers += count
		s.updateUsed(q, p, total)
	}
}
