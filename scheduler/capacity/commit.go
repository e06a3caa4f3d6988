package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
)

// commit puts a proposal into the books if it still holds. A refused proposal
// changes nothing.
func (s *Scheduler) commit(r *round, o *outcome, out []cluster.Decision) []cluster.Decision {
	out, place := s.consider(r, o, out)
	if !place {
		return out
	}
	if len(r.taken) > 0 {
		out = s.take(r, o, out)
	}
	c, container := s.Allocate(r.node, r.book, &o.Placement)
	a, kind := o.app, cluster.Allocated
	switch {
	case o.From >= 0:
		kind = cluster.AllocatedFromReserved
	case o.Excess < 0 && r.isIdle(a.queue, a): // the walk has just looked at it
		leafOf(a.queue).active.passBy(int(o.place))
	}
	out = decide(out, kind, c, container)
	if len(s.Killable) > 0 && o.From < 0 {
		out = s.enforceMaxima(r, o, out)
	}
	return out
}

// consider checks a proposal and carries it out, but for the placing of a container. It
// tells whether one is to be placed.
func (s *Scheduler) consider(r *round, o *outcome, out []cluster.Decision) ([]cluster.Decision, bool) {
	if o.kind != core.Nothing && (!r.book.Accepting || !s.accepts(r, o)) {
		return out, false
	}
	if o.Excess >= 0 {
		out = decide(out, cluster.Unreserved, o.Excess, s.Books.Container(o.Excess))
	}
	switch {
	case o.kind == core.Allocated:
		return out, true
	case o.kind == core.Nothing:
		if o.Excess >= 0 {
			s.GiveUp(o.Excess)
		}
	case o.From < 0:
		c, container := s.Reserve(r.node, r.book, &o.Placement)
		out = decide(out, cluster.Reserved, c, container)
		if len(s.Killable) > 0 {
			out = s.enforceMaxima(r, o, out)
		}
	default:
		o.Want.Rereserved++
		out = decide(out, cluster.Rereserved, o.From, s.Books.Container(o.From))
	}
	return out, false
}

// decide appends what became of a container.
func decide(out []cluster.Decision, k cluster.Kind, c ContainerRef, container *cluster.Container) []cluster.Decision {
	return append(out, cluster.Decision{Kind: k, Container: c, App: container.App, Node: container.Node, Priority: container.Priority, Resource: container.Resource})
}

// accepts checks the limits again, component by component: whether the node has room,
// and whether what would be used is within the limits of all queues.
//
// compat: a walk compares what is used with a limit, this check asks whether
// what would be used fits; so a proposal may be refused here again and again.
func (s *Scheduler) accepts(r *round, o *outcome) bool {
	free := &r.free
	if len(r.taken) > 0 {
		sum := r.sumTaken()
		if r.anyEnded() {
			r.noteNode(fit.NodeFull, 0, &o.Row.Size, &r.free)
			return false
		}
		s.Calc.Increase(&sum, &r.free)
		free = &sum
	}
	if o.From >= 0 {
		return o.kind != core.Allocated || s.acceptsReserved(r, o, free)
	}
	more := &o.Row.Size
	if o.kind == core.Allocated && !s.Calc.FitsIn(more, free) {
		r.noteNode(fit.NodeFull, 0, more, free)
		return false
	}
	net := *more
	if more = &net; !s.acceptsUser(r, o, more) {
		return false
	}
	for q := o.app.queue; q != nil; q = q.Up {
		has, most := &q.Ledger[r.part], &q.Shares[r.part].EffMax
		if r.mode == ignore {
			most = &s.Books.Partition(r.part).Total
		}
		if !s.Calc.SumFits(&has.Used, more, most) {
			sum := has.Used.Add(*more)
			r.noteQueue(q, &sum, most)
			return false
		}
	}
	return true
}

// acceptsUser checks the user's limit. What is going to be given up is taken off more.
//
// compat: so are killable containers that go, whoever has them.
func (s *Scheduler) acceptsUser(r *round, o *outcome, more *resource) bool {
	u := o.app.member.User
	used := u.Shares[r.part].Used
	if o.Excess >= 0 {
		freed := &s.Books.Container(o.Excess).Resource
		s.Calc.Decrease(&used, freed)
		s.Calc.Decrease(more, freed)
	}
	if len(r.taken) > 0 {
		sum := r.sumTaken()
		s.Calc.Decrease(&used, &sum)
		s.Calc.Decrease(more, &sum)
	}
	if b := &u.Shares[r.part].Blocks[r.mode]; s.Calc.More(&s.Books.Total, &used, &b.Limit) {
		r.noteUser(o.app, &used, b)
		return false
	}
	return true
}

// acceptsReserved checks whether there is room for what the node is held for.
//
// compat: the ask may have become smaller since. Apache looks at it alone and
// then places what was reserved, beyond what the node has. So does this in heartbeat
// mode, in which decisions are compared with Apache's, but not where nodes are offered
// asynchronously.
func (s *Scheduler) acceptsReserved(r *round, o *outcome, free *resource) bool {
	size := &s.Books.Container(o.From).Resource
	room := s.Calc.FitsIn(&o.Row.Size, free) && (!s.cfg.Asynchronous || s.Calc.FitsIn(size, free))
	if !room {
		r.noteNode(fit.NodeFull, 0, size, free)
	}
	return room
}
