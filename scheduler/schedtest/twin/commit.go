package twin

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// commit carries a proposal out, if it still may be.
func (w *World) commit(v *walk, p proposal, out *[]Decision) bool {
	say := func(k Kind, c *Container) { *out = append(*out, Decision{k, c.ID, c.Node.ID, c.Resource}) }
	switch {
	case p.kind == Nothing && p.excess != nil:
		say(Unreserved, p.excess)
		w.unreserve(p.excess)
		w.charge(p.excess, -1)
		w.remove(p.excess)
		return true
	case p.kind == Nothing || !v.node.Accepting || !w.accepts(v, p):
		return false
	case p.kind == Reserved && p.served != nil:
		p.key.Rereserved++
		say(Rereserved, p.served)
	case p.kind == Reserved:
		c := w.create(v, p)
		c.Reserved, c.AM = true, false
		p.key.Rereserved = 0
		p.key.Reservations = append(p.key.Reservations, c)
		w.charge(c, 1)
		say(Reserved, c)
	case p.served != nil:
		c := p.served
		w.unreserve(c)
		c.Reserved, c.Live, c.Held, c.Locality = false, true, true, p.near
		c.AM = !p.app.Mastered && !p.app.Unmanaged
		w.take(v, p)
		say(AllocatedFromReserved, c)
	default:
		c := w.create(v, p)
		w.take(v, p)
		if p.excess != nil {
			say(Unreserved, p.excess)
			w.unreserve(p.excess)
			w.charge(p.excess, -1)
			w.remove(p.excess)
		}
		c.Live, c.Held = true, true
		w.charge(c, 1)
		say(Allocated, c)
	}
	return true
}

// accepts checks what is free and what the limits are, in every amount. What
// serves a reservation has been counted before.
func (w *World) accepts(v *walk, p proposal) bool {
	label := v.node.Label
	if p.kind == Allocated && !w.fits(p.size, w.Free(v.node)) {
		return false
	}
	if p.served != nil {
		return p.kind == Reserved || !w.Config.Asynchronous || w.fits(p.served.Resource, w.Free(v.node))
	}
	var freed resource
	if p.excess != nil {
		freed = p.excess.Resource
	}
	q := p.app.Queue
	u := q.User(p.app.User)
	if u == nil {
		return false
	}
	q.QueueLimit = q.VisitLimit
	if w.more(w.Cluster(), w.UsedBy(q, u, label).Sub(freed), w.UserLimit(q, u.Name, label, v.lent)) {
		return false
	}
	for ; q != nil; q = q.Parent {
		most := q.Shares[label].Max
		if v.lent {
			most = w.Partition(label)
		}
		if !w.fits(w.Used(q, label).Add(p.size).Sub(freed), most) {
			return false
		}
	}
	return true
}

func (w *World) create(v *walk, p proposal) *Container {
	a := p.app
	a.Counter++
	c := &Container{ID: yarn.ContainerID{Attempt: a.Attempt, Number: a.Counter}, App: a, Node: v.node, Resource: p.size,
		Priority: p.key.Priority, RequestID: p.key.RequestID, Label: p.key.Label, Locality: p.near, AM: !a.Mastered && !a.Unmanaged}
	w.Containers = append(w.Containers, c)
	return c
}

func (w *World) remove(c *Container) {
	w.Containers = slices.DeleteFunc(w.Containers, func(o *Container) bool { return o == c })
}

// unreserve makes a reservation one that its key does not know of.
func (w *World) unreserve(c *Container) {
	if k := c.App.find(c.Priority, c.RequestID); k != nil {
		k.Rereserved = 0
		k.Reservations = slices.DeleteFunc(k.Reservations, func(o *Container) bool { return o == c })
	}
}

// charge takes notice of what a container that has come or, with -1, goes
// changes for its user and for the fair order.
func (w *World) charge(c *Container, sign int) {
	a, label := c.App, c.Node.Label
	q := a.Queue
	u := q.User(a.User)
	used := w.UsedBy(q, u, label)
	if sign < 0 {
		used = used.Sub(c.Resource)
	}
	ratio := w.ratio(used, w.Partition(label))
	q.UsageRatio[label] = javanum.Add(q.UsageRatio[label], javanum.Add(ratio, -u.Ratio[label]))
	u.Ratio[label], q.Kept, q.Refused = ratio, nil, nil
	if q.Conf.Ordering == config.FairOrder && a.Active {
		a.Stale = true
	}
}

// take counts a container off what its key asks for.
func (w *World) take(v *walk, p proposal) {
	k := p.key
	if p.near == NodeLocal {
		k.take(v.node.Name)
	}
	if p.near != OffSwitch {
		k.take(v.node.Rack)
	}
	if k.Any.Count--; k.Any.Count == 0 {
		k.Any = nil
	}
	for _, k := range p.app.Keys {
		if k.Any != nil {
			return
		}
	}
	if !p.app.Asking {
		return
	}
	p.app.Asking = false
	for _, a := range w.Apps {
		if a.Asking && a.Queue == p.app.Queue && a.User == p.app.User {
			return
		}
	}
	p.app.Queue.User(p.app.User).Asking, p.app.Queue.Kept, p.app.Queue.Refused = false, nil, nil
}

func (k *Key) take(name string) {
	if r := k.row(name); r != nil {
		if r.Count--; r.Count == 0 {
			k.Rows = slices.DeleteFunc(k.Rows, func(o Row) bool { return o.Name == name })
		}
	}
}
