package compare

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// machine models a node: its containers run for their time, and it reports them.
type machine struct {
	id         yarn.NodeID
	rack       string
	registered bool
	responseID int32
	called     int64
	boxes      []*box // as they were granted
}

// box is a container of the simulation.
type box struct {
	id      yarn.ContainerID
	node    *machine
	client  *client
	grant   engine.Grant // once it is fetched
	fetched bool
	live    bool
	surplus bool  // its master gives it back
	end     int64 // when it ends by itself; Forever: it does not
	exit    int32
	run     *Run // of the plan; nil for a master
}

// join has a node register. One that was recorded to keep its containers when it did keeps those of the simulation.
func (p *player) join(n *machine, c engine.RegisterNode) {
	keeps := c.Containers != nil
	c.Containers = nil
	for _, b := range n.boxes {
		if !keeps || !b.live || !b.fetched {
			continue
		}
		c.Containers = append(c.Containers, engine.RecoveredContainer{Resource: b.grant.Resource, Priority: b.grant.Priority, Version: b.grant.Version,
			Label: b.grant.Label, AllocationRequestID: b.grant.AllocationRequestID, CreatedAt: b.grant.CreatedAt, ContainerStatus: p.status(b)})
		if id := b.id.Attempt.Application; !slices.Contains(c.Applications, id) {
			c.Applications = append(c.Applications, id)
		}
	}
	n.rack = c.Rack
	p.ask(func(t engine.Ticket) engine.Command { c.Ticket = t; return c }, func(v any, err *engine.Error) {
		r, ok := v.(engine.RegisterNodeReply)
		n.registered, n.responseID, n.called = err == nil && ok && r.Action == engine.NodeNormal, 0, p.now
	})
	p.shares()
	p.soon()
}

// shares has the FairScheduler compute shares in a trace that does not say when: its time is too short for the scheduler's clock.
func (p *player) shares() {
	if p.work.Trace && p.cfg.Fair != nil && (!p.work.Updates || p.now > p.work.Length) {
		p.apply(engine.UpdateShares{Preempting: p.cfg.Fair.Preemption})
	}
}

func (p *player) status(b *box) engine.ContainerStatus {
	s := engine.ContainerStatus{ID: b.id}
	if b.end != Forever && b.end <= p.now {
		s.Complete, s.ExitStatus = true, b.exit
	}
	return s
}

// beat has a node call.
func (p *player) beat(n *machine, recorded *engine.Heartbeat, sick bool) {
	if n.called = p.now; !n.registered {
		return
	}
	p.shares()
	h := &engine.Heartbeat{Node: n.id, ResponseID: n.responseID, Health: engine.Health{Healthy: !sick, At: p.work.Start.Wall + p.now}}
	if recorded != nil {
		h.Labels = recorded.Labels
	}
	n.boxes = slices.DeleteFunc(n.boxes, func(b *box) bool { return !b.live })
	for _, b := range n.boxes {
		if b.fetched {
			h.Containers = append(h.Containers, p.status(b))
		}
	}
	p.ask(func(t engine.Ticket) engine.Command { h.Ticket = t; return h }, func(v any, err *engine.Error) {
		r, ok := v.(*engine.HeartbeatReply)
		if err != nil || !ok || r.Action != engine.NodeNormal {
			n.registered = false
			return
		}
		n.responseID = r.ResponseID
	})
}

// container follows the birth and the end of a container.
func (p *player) container(c *engine.ContainerEvent) {
	a := p.byID[c.Container.Attempt.Application]
	if a == nil {
		return
	}
	p.stir = p.now
	if c.Born {
		p.born(a, c)
		return
	}
	b := p.boxes[c.Container]
	if b == nil || !b.live {
		return
	}
	b.live = false
	delete(p.boxes, b.id)
	if b.end != Forever {
		p.finite--
	}
	if c.Exit == yarn.ExitPreempted {
		a.out.Preempted++
	}
	m := p.masters[b.id.Attempt]
	switch {
	case c.Master:
		a.masterEnded(p.now)
		if m != nil {
			m.gone = true
		}
	case !b.fetched:
		a.fetched(p.now, 0)
		if m != nil {
			m.repeat(c.Priority)
		}
	case m != nil && !b.surplus:
		m.ended(b, c.Exit)
	}
}

// born enters a new container. Its master hears of it with its next call.
func (p *player) born(a *client, c *engine.ContainerEvent) {
	n := p.byNode[c.Node]
	if p.boxes[c.Container] != nil || n == nil {
		return // its node has registered anew with it
	}
	b := &box{id: c.Container, node: n, client: a, live: true, end: Forever, fetched: c.Master}
	p.boxes[b.id] = b
	n.boxes = append(n.boxes, b)
	if c.Master {
		a.started(p.now, b)
		return
	}
	a.granted(p.now)
	if m := p.masters[b.id.Attempt]; m != nil {
		m.call()
	}
}
