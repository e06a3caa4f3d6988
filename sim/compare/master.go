package compare

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// master models the ApplicationMaster of an attempt: it follows a plan.
type master struct {
	p          *player
	client     *client
	id         yarn.AttemptID
	plan       *Plan
	box        *box // its container; nil: it runs outside of the cluster
	registered bool
	at         int64 // of its registration
	responseID int32
	step       int     // of the plan, that comes next
	stepping   bool    // that step is due at a known time
	stepped    int64   // when the last one was
	ends       []int64 // when its containers ended
	rows       []*row  // as they were first asked for
	runs       map[Kin][]*Run
	usual      map[Kin]int64 // time of a container that the plan does not know

	calling     bool // its next call is due at a known time
	release     []yarn.ContainerID
	blacklist   []string
	unblacklist []string
	gone        bool // it has unregistered, or its container has ended
}

// row is one row of what it asks for.
type row struct {
	yarn.Ask      // Count is what the master knows to be outstanding
	dirty    bool // the ResourceManager has another number
}

func (r *row) kin() Kin { return Kin{r.Priority, r.AllocationRequestID} }

// begin has the master of an attempt start.
func (p *player) begin(id yarn.AttemptID) {
	a := p.byID[id.Application]
	if a == nil || p.masters[id] != nil {
		return
	}
	plans := a.app.Plans
	if a.app.Sub.Unmanaged {
		a.started(p.now, nil)
	}
	if len(plans) == 0 {
		return
	}
	m := &master{p: p, client: a, id: id, plan: plans[min(a.crashes, len(plans)-1)], box: a.master, runs: map[Kin][]*Run{}, usual: map[Kin]int64{}}
	for i := range m.plan.Runs {
		r := &m.plan.Runs[i]
		m.runs[r.Kin] = append(m.runs[r.Kin], r)
	}
	for k, list := range m.runs { //tidy:unordered into a map
		m.usual[k] = median(list)
	}
	p.masters[id] = m
	p.later(p.now+m.plan.Boot, true, m.register)
}

// median is the middle one of the known times, or Forever.
func median(list []*Run) int64 {
	var known []int64
	for _, r := range list {
		if r.Time != Forever {
			known = append(known, r.Time)
		}
	}
	if len(known) == 0 {
		return Forever
	}
	slices.Sort(known)
	return known[(len(known)-1)/2]
}

func (m *master) register() {
	if m.gone {
		return
	}
	m.p.ask(func(t engine.Ticket) engine.Command {
		return engine.RegisterMaster{Ticket: t, Attempt: m.id, Host: "h", RPCPort: 1}
	}, func(_ any, err *engine.Error) {
		if err != nil {
			m.client.note("its master cannot register: " + err.Error())
			return
		}
		m.registered, m.at = true, m.p.now
		m.advance()
	})
}

// advance has the next step done at its time, if that is known.
func (m *master) advance() {
	if m.stepping || m.gone || !m.registered || m.step >= len(m.plan.Steps) || m.plan.Steps[m.step].After > len(m.ends) {
		return
	}
	s := &m.plan.Steps[m.step]
	from := m.at
	if s.After > 0 {
		from = m.ends[s.After-1]
	}
	m.stepping = true
	m.p.later(max(from+s.Delay, m.stepped), true, func() {
		m.stepping, m.stepped = false, m.p.now
		m.step++
		if !m.gone {
			m.do(s)
		}
		m.advance()
	})
}

// do takes a step.
func (m *master) do(s *Step) {
	switch {
	case s.Finish:
		m.p.ask(func(t engine.Ticket) engine.Command {
			return engine.FinishMaster{Ticket: t, Attempt: m.id, FinalStatus: s.Final}
		}, nil)
		m.leave(0)
	case s.Crash:
		m.client.crashes++
		m.leave(s.Exit)
	default:
		for i := range s.Asks {
			m.change(&s.Asks[i])
		}
		for i := range s.Asks {
			m.level(Kin{s.Asks[i].Priority, s.Asks[i].AllocationRequestID})
		}
		m.count()
		m.blacklist, m.unblacklist = append(m.blacklist, s.BlacklistAdd...), append(m.unblacklist, s.BlacklistRemove...)
		m.allocate()
	}
}

// leave ends the master's container, as its node will report.
func (m *master) leave(exit int32) {
	m.gone = true
	m.client.wants(m.p.now, 0)
	if m.box != nil && m.box.live {
		m.box.end, m.box.exit = m.p.now, exit
		m.p.finite++
	}
}

// change adds to what the master wants, or takes away.
func (m *master) change(a *yarn.Ask) {
	r := m.row(place{Kin{a.Priority, a.AllocationRequestID}, a.Where})
	count := int32(max(int64(r.Count)+int64(a.Count), 0))
	r.Ask, r.dirty = *a, true
	r.Count = count
}

func (m *master) row(at place) *row {
	for _, r := range m.rows {
		if r.kin() == at.Kin && r.Where == at.where {
			return r
		}
	}
	r := &row{Ask: yarn.Ask{Priority: at.Priority, AllocationRequestID: at.RequestID, Where: at.where}}
	m.rows = append(m.rows, r)
	return r
}

// level has no place wanted more often than any node: what asked for it has got a container elsewhere.
func (m *master) level(k Kin) {
	most := m.row(place{k, yarn.AnyHost}).Count
	for _, r := range m.rows {
		if r.kin() == k && r.Count > most {
			r.Count, r.dirty = most, true
		}
	}
}

// count tells the client how many containers the master wants.
func (m *master) count() {
	var n int64
	for _, r := range m.rows {
		if r.Where == yarn.AnyHost {
			n += int64(r.Count)
		}
	}
	m.client.wants(m.p.now, n)
}

// call has the master call at its next regular time.
func (m *master) call() {
	if m.calling || m.gone || !m.registered {
		return
	}
	m.calling = true
	every := max(m.plan.Every, 1)
	m.p.later(m.at+((m.p.now-m.at)/every+1)*every, true, func() {
		m.calling = false
		m.allocate()
	})
}

// allocate is a call of the master: it fetches what it has been granted, and then says what it wants, so that nothing is asked
// for twice.
func (m *master) allocate() {
	if m.gone || !m.registered {
		return
	}
	release := m.release
	m.release = nil
	m.heard(&engine.Allocate{Attempt: m.id, Release: release}, func() {
		c := &engine.Allocate{Attempt: m.id, BlacklistAdd: m.blacklist, BlacklistRemove: m.unblacklist}
		m.blacklist, m.unblacklist = nil, nil
		for _, r := range m.rows {
			if r.dirty {
				c.Asks = append(c.Asks, r.Ask)
				r.dirty = false
			}
		}
		if len(c.Asks)+len(c.BlacklistAdd)+len(c.BlacklistRemove) > 0 {
			m.heard(c, func() {})
		}
	})
}

// heard makes a call, takes the answer and goes on.
func (m *master) heard(c *engine.Allocate, then func()) {
	c.Progress = 0.5
	asked := slices.Clone(c.Asks) // the engine rounds them
	m.p.ask(func(t engine.Ticket) engine.Command {
		c.Ticket, c.ResponseID = t, m.responseID
		return c
	}, func(v any, err *engine.Error) {
		if err != nil {
			m.refused(asked, err)
			return
		}
		r := v.(*engine.AllocateReply)
		m.responseID = r.ResponseID
		for i := range r.Granted {
			m.take(&r.Granted[i])
		}
		then()
	})
}

// refused forgets asks that the ResourceManager does not take.
func (m *master) refused(asked []yarn.Ask, err *engine.Error) {
	if len(asked) == 0 {
		return
	}
	m.client.note("asks are refused: " + err.Error())
	for i := range asked {
		r := m.row(place{Kin{asked[i].Priority, asked[i].AllocationRequestID}, asked[i].Where})
		r.Count, r.dirty = 0, false
	}
	m.count()
}

// take has a container run that the master has fetched.
func (m *master) take(g *engine.Grant) {
	b := m.p.boxes[g.ID]
	if b == nil || b.fetched {
		return
	}
	b.fetched, b.grant = true, *g
	k := Kin{g.Priority, g.AllocationRequestID}
	if m.row(place{k, yarn.AnyHost}).Count <= 0 {
		b.surplus = true
		m.release = append(m.release, g.ID)
		m.client.fetched(m.p.now, 0)
		m.call()
		return
	}
	for _, r := range m.rows {
		if r.kin() == k && r.Count > 0 && (r.Where == yarn.AnyHost || r.Where == b.node.rack || r.Where == b.node.id.Host) {
			r.Count--
		}
	}
	m.level(k)
	m.client.fetched(m.p.now, 1)
	if slices.ContainsFunc(m.rows, func(r *row) bool { return r.dirty }) {
		m.call()
	}
	time, known := m.usual[k]
	if list := m.runs[k]; len(list) > 0 {
		b.run, time, known = list[0], list[0].Time, true
		m.runs[k] = list[1:]
	}
	if known && time != Forever {
		b.end = m.p.now + time
		m.p.finite++
	}
}

// ended takes the end of a container that the master has fetched. For one that the ResourceManager took it asks again: the work
// of that container begins anew.
func (m *master) ended(b *box, exit int32) {
	if m.gone {
		return
	}
	if !taken(exit) {
		m.ends = append(m.ends, m.p.now)
		m.advance()
		return
	}
	k := Kin{b.grant.Priority, b.grant.AllocationRequestID}
	if b.run != nil {
		m.runs[k] = append([]*Run{b.run}, m.runs[k]...)
	}
	r := m.row(place{k, yarn.AnyHost})
	r.Count, r.dirty = r.Count+1, true
	m.count()
	m.call()
}

// repeat asks again for containers of a priority: one ended before the master had fetched it.
func (m *master) repeat(priority int32) {
	if m.gone {
		return
	}
	for _, r := range m.rows {
		if r.Priority == priority && r.Count > 0 {
			r.dirty = true
		}
	}
	m.call()
}
