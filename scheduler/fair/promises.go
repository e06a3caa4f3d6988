package fair

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
)

// nodePledge is the room of a node that is promised to applications, by age.
type nodePledge struct{ list []pledge }

type pledge struct {
	app  *app
	room resource
}

// pledge gives notice to containers, and promises their room to the application.
func (s *Scheduler) pledge(node cluster.NodeRef, a *app, c *catch) {
	p := &s.preemption
	if p.promises == nil {
		p.promises = map[cluster.NodeRef]*nodePledge{}
	}
	room := resource{}
	for _, v := range c.list {
		p.noticed[v.ref] = true
		book := s.Books.Container(v.ref)
		room.Increase(&book.Resource)
		owner := s.app(book.App)
		owner.victims = append(owner.victims, v)
	}
	of := p.promises[node]
	if of == nil {
		of = &nodePledge{}
		p.promises[node] = of
	}
	i := slices.IndexFunc(of.list, func(x pledge) bool { return x.app == a })
	if i < 0 {
		i = len(of.list)
		of.list = append(of.list, pledge{app: a})
	}
	of.list[i].room.Increase(&room)
}

// pledged is the room of a node that is promised, and held for a reservation.
func (s *Scheduler) pledged(ref cluster.NodeRef, n *cluster.NodeBook) (sum resource) {
	if n.Reserved >= 0 {
		sum = s.Books.Container(n.Reserved).Resource
	}
	if of := s.preemption.promises[ref]; of != nil {
		for i := range of.list {
			sum.Increase(&of.list[i].room)
		}
	}
	return sum
}

// promisedTo tells whether room of the node is promised to the application.
func (s *Scheduler) promisedTo(ref cluster.NodeRef, a *app) bool {
	of := s.preemption.promises[ref]
	return of != nil && slices.ContainsFunc(of.list, func(x pledge) bool { return x.app == a })
}

// promised takes what the application got on the node off what it was promised there.
func (s *Scheduler) promised(ref cluster.NodeRef, a *app, got *resource) {
	of := s.preemption.promises[ref]
	if of == nil {
		return
	}
	i := slices.IndexFunc(of.list, func(x pledge) bool { return x.app == a })
	if i < 0 {
		return
	}
	room := &of.list[i].room
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

// forgetPromises drops what an application was promised that has ended.
func (s *Scheduler) forgetPromises(a *app) {
	for ref, of := range s.preemption.promises { //tidy:unordered each node by itself
		if i := slices.IndexFunc(of.list, func(x pledge) bool { return x.app == a }); i >= 0 {
			s.dropPromise(ref, i)
		}
	}
}

// keepPromises places what was promised on the node.
func (r *round) keepPromises() {
	of := r.s.preemption.promises[r.ref]
	if of == nil {
		return
	}
	for i := 0; i < len(of.list); i++ {
		if a := of.list[i].app; !r.s.starves(a) || a.fairShare.IsZero() && a.minimum.IsZero() {
			r.s.dropPromise(r.ref, i)
			i--
		}
	}
	for _, p := range slices.Clone(of.list) {
		for left := p.room; p.app.Running && !left.IsZero(); {
			o := r.app(p.app)
			if o.Outcome != core.Allocated {
				break
			}
			left = less(left, o.size)
		}
	}
}
