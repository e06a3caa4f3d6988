package fair

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// nodePromises is what of a node is promised to applications, the oldest promise first.
type nodePromises struct {
	id   yarn.NodeID
	list []promise
}

type promise struct {
	app    *app // nil once the attempt has ended
	amount resource
}

// promise gives containers notice, and promises what they will free to the application.
func (s *Scheduler) promise(node cluster.NodeRef, a *app, c *victimSet) {
	p := &s.preemption
	if p.promises == nil {
		p.promises = map[cluster.NodeRef]*nodePromises{}
	}
	room := resource{}
	for _, v := range c.list {
		p.noticed[v.ref] = true
		book := s.Books.Container(v.ref)
		room.Increase(&book.Resource)
		s.addVictim(s.app(book.App), v)
	}
	of := p.promises[node]
	if of == nil {
		of = &nodePromises{id: s.Books.Node(node).ID}
		p.promises[node] = of
	}
	i := slices.IndexFunc(of.list, func(x promise) bool { return x.app == a })
	if i < 0 {
		i = len(of.list)
		of.list = append(of.list, promise{app: a})
	}
	of.list[i].amount.Increase(&room)
}

// committed is what of a node is promised or reserved.
func (s *Scheduler) committed(ref cluster.NodeRef, n *cluster.NodeBook) (sum resource) {
	if n.Reserved >= 0 {
		sum = s.Books.Container(n.Reserved).Resource
	}
	if of := s.preemption.promises[ref]; of != nil {
		for i := range of.list {
			sum.Increase(&of.list[i].amount)
		}
	}
	return sum
}

// promisedTo tells whether something of the node is promised to the application.
func (s *Scheduler) promisedTo(ref cluster.NodeRef, a *app) bool {
	of := s.preemption.promises[ref]
	return of != nil && slices.ContainsFunc(of.list, func(x promise) bool { return x.app == a })
}

// fulfil takes what the application got on the node off what it was promised there.
func (s *Scheduler) fulfil(ref cluster.NodeRef, a *app, got *resource) {
	of := s.preemption.promises[ref]
	if of == nil {
		return
	}
	i := slices.IndexFunc(of.list, func(x promise) bool { return x.app == a })
	if i < 0 {
		return
	}
	room := &of.list[i].amount
	for t := range room {
		room[t] -= min(room[t], got[t])
	}
	if room.IsZero() {
		s.dropPromise(ref, i)
	}
}

func (s *Scheduler) dropPromise(ref cluster.NodeRef, i int) {
	of := s.preemption.promises[ref]
	if of.list = slices.Delete(of.list, i, i+1); len(of.list) == 0 {
		delete(s.preemption.promises, ref)
	}
}

// forgetPromises ends all promises to an application.
//
// compat: what was promised stays committed until the node is offered the next time.
func (s *Scheduler) forgetPromises(a *app) {
	for _, of := range s.preemption.promises { //tidy:unordered each node by itself
		if i := slices.IndexFunc(of.list, func(x promise) bool { return x.app == a }); i >= 0 {
			of.list[i].app = nil
		}
	}
}

// forgetLostNodes drops the promises of nodes that have gone.
func (s *Scheduler) forgetLostNodes() {
	for ref, of := range s.preemption.promises { //tidy:unordered each node by itself
		if n := s.Books.Node(ref); !n.Member || n.ID != of.id {
			delete(s.preemption.promises, ref)
		}
	}
}

// keepPromises places containers of the applications to which something of the node is promised.
func (r *round) keepPromises() {
	of := r.s.preemption.promises[r.ref]
	if of == nil {
		return
	}
	for i := 0; i < len(of.list); i++ {
		if a := of.list[i].app; a == nil || !r.s.starves(a) || a.fairShareLack.IsZero() && a.minShareLack.IsZero() {
			r.s.dropPromise(r.ref, i)
			i--
		}
	}
	for _, p := range slices.Clone(of.list) {
		for left := p.amount; p.app.Running && !left.IsZero(); {
			o := r.app(p.app)
			if o.Outcome != core.Allocated {
				break
			}
			left = less(left, o.size)
		}
	}
}
