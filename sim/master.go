package sim

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// master models an ApplicationMaster: it asks for containers until so many have
// ended, in whatever way, and then unregisters.
type master struct {
	caller
	id         yarn.AttemptID
	grant      engine.Grant
	registered bool
	responseID int32
	wanted     int // containers still to be asked for
	asked      bool
	open       map[yarn.ContainerID]yarn.NodeID // granted and not known to have ended
	told       map[yarn.ContainerID]bool        // known to have ended
	versions   map[yarn.ContainerID]int32
	wishes     map[wish]bool // what else it has asked for
	lent       []yarn.Ask    // likewise, of opportunistic containers
	calmed     bool          // it has given up its wishes
	resend     *engine.Allocate
	restarted  bool // the ResourceManager was, since this master began
	release    []yarn.ContainerID
	got        map[yarn.ContainerID]bool // granted, ever
	welcomed   int64                     // the epoch in which it registered
	epoch      int64                     // likewise, and knows it
	leaving    bool
	dead       bool
}

// launch has a master's container started on its node.
func (t *term) launch(l engine.Launch) {
	c := t.c
	failed := func() {
		if !t.over {
			t.post(posted{cmd: engine.LaunchFailed{Attempt: l.Attempt, Why: "the node does not answer"}})
		}
	}
	if !c.chance(lostLaunches) {
		c.start(l, failed, func() { t.post(posted{cmd: engine.Launched{Attempt: l.Attempt}}) })
		return
	}
	c.Done["launches lost"]++
	switch c.rng.IntN(3) {
	case 0:
		c.after(patience, failed)
	case 1:
		c.after(patience, failed)
		c.late(func() { c.start(l, func() {}, func() {}) })
	case 2:
		c.start(l, failed, failed)
	}
}

func (c *Cluster) start(l engine.Launch, failed, launched func()) {
	n := c.find(l.Grant.Node)
	if n == nil || !n.start(l.Grant, 0, true) {
		failed()
		return
	}
	if c.masters[l.Attempt] == nil {
		c.masters[l.Attempt] = &master{caller: caller{c: c, node: n, at: n.at}, id: l.Attempt, grant: l.Grant, wanted: 1 + c.rng.IntN(6), open: map[yarn.ContainerID]yarn.NodeID{},
			versions: map[yarn.ContainerID]int32{}, wishes: map[wish]bool{}, told: map[yarn.ContainerID]bool{}, got: map[yarn.ContainerID]bool{}}
		c.order = append(c.order, l.Attempt)
	}
	launched()
}

// alive tells whether the node still runs the master's process.
func (m *master) alive() bool {
	p := m.c.find(m.grant.Node).containers[m.grant.ID]
	return p != nil && !p.complete
}

func (m *master) step() {
	if m.dead || !m.alive() {
		m.dead = true
		return
	}
	if m.c.chance(masterCrash) {
		m.leave(1)
		return
	}
	if m.busy {
		return
	}
	switch {
	case !m.registered:
		m.register()
	case m.leaving:
		m.finish()
	default:
		m.allocate()
	}
}

// leave ends the master's process.
func (m *master) leave(exit int32) {
	m.dead = true
	m.c.find(m.grant.Node).end(m.grant.ID, exit)
}

func (m *master) register() {
	m.ask(func(t engine.Ticket) engine.Command {
		return engine.RegisterMaster{Ticket: t, Attempt: m.id, Host: "h", RPCPort: 1}
	}, func(v any, err *engine.Error) {
		if err != nil {
			m.leave(2)
			return
		}
		m.registered, m.epoch = true, m.welcomed
		for _, g := range v.(engine.RegisterReply).Previous {
			m.hold(g)
		}
	})
}

func (m *master) hold(g engine.Grant) { m.open[g.ID], m.versions[g.ID] = g.Node, g.Version }

// again starts over with a ResourceManager that does not know the master yet.
func (m *master) again() {
	m.registered, m.responseID, m.resend, m.asked, m.restarted = false, 0, nil, false, true
	clear(m.told)
	m.calmed = false
	m.connections++
}

// giveUp forgets containers of which the master may never hear: no node has them, so
// that a new ResourceManager knows nothing of them.
func (m *master) giveUp() {
	for id, node := range m.open {
		if m.restarted && m.c.find(node).containers[id] == nil {
			delete(m.open, id)
		}
	}
}

func (m *master) allocate() {
	call := m.resend
	if call == nil {
		call = &engine.Allocate{Attempt: m.id, ResponseID: m.responseID, Release: slices.Clone(m.release)}
		m.wish(call)
		if !m.asked {
			m.asked = true
			call.Asks = append(call.Asks, yarn.Ask{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: int32(max(m.wanted, 0)), RelaxLocality: true, AllocationRequestID: -1})
		}
	}
	m.resend = nil
	m.call(func(t engine.Ticket) engine.Command {
		again := *call
		again.Ticket, again.Asks = t, append([]yarn.Ask(nil), call.Asks...)
		return &again
	}, func(v any, err *engine.Error) {
		if err != nil && err.Kind == engine.NotRegistered {
			m.again()
			return
		}
		if err != nil && (err.Kind == engine.InvalidRequest || err.Kind == engine.InvalidLabel) {
			m.asked = m.asked && len(call.Asks) == 0
			return // one of its wishes was for something that does not exist
		}
		if err != nil {
			m.leave(3)
			return
		}
		m.answered(call, v.(*engine.AllocateReply))
	}, func() { m.resend = call })
}

func (m *master) answered(call *engine.Allocate, r *engine.AllocateReply) {
	m.release = slices.DeleteFunc(m.release, func(id yarn.ContainerID) bool { return slices.Contains(call.Release, id) })
	for _, g := range r.Granted {
		if m.got[g.ID] {
			m.c.fail("%s was given %s twice", m.id, g.ID)
		}
		m.got[g.ID] = true
		m.use(g)
	}
	for _, e := range r.UpdateErrors {
		m.c.Done[e.Reason]++
	}
	for _, u := range r.Updated {
		m.c.Done[map[yarn.UpdateType]string{yarn.IncreaseResource: "enlarged", yarn.DecreaseResource: "shrunk", yarn.PromoteExecutionType: "promoted",
			yarn.DemoteExecutionType: "demoted"}[u.Type]]++
		m.versions[u.Grant.ID] = u.Grant.Version
		if n := m.c.find(u.Grant.Node); n != nil && u.Type != yarn.DecreaseResource && !m.c.chance(neverStarted) {
			n.resize(u.Grant)
		}
	}
	for _, f := range r.Completed {
		if m.told[f.ID] {
			m.c.fail("%s was told twice that %s ended", m.id, f.ID)
		}
		m.told[f.ID] = true
		delete(m.open, f.ID)
	}
	m.responseID = r.ResponseID
	m.giveUp()
	m.leaving = m.wanted <= 0 && len(m.open) == 0
}

// use starts a granted container, gives it back, or forgets about it.
func (m *master) use(g engine.Grant) {
	m.wanted--
	m.hold(g)
	switch {
	case m.c.chance(neverStarted):
		return
	case m.c.chance(givenBack):
		m.release = append(m.release, g.ID) // with the next call
	default:
		if n := m.c.find(g.Node); n == nil || !n.start(g, 1+m.c.rng.IntN(50)+m.c.script.lasts(), false) {
			return // it expires
		}
	}
}

func (m *master) finish() {
	m.ask(func(t engine.Ticket) engine.Command {
		return engine.FinishMaster{Ticket: t, Attempt: m.id, FinalStatus: yarn.FinalSucceeded}
	}, func(v any, err *engine.Error) {
		if err != nil && err.Kind == engine.NotRegistered {
			m.again()
			return
		}
		if err != nil || v.(engine.FinishReply).Unregistered {
			m.leave(0)
		}
	})
}
