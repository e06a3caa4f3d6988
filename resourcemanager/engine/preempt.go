package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// updateShares has the scheduler compute shares; see UpdateShares.
func (e *Engine) updateShares(c UpdateShares) {
	defer e.showShares()
	if !c.Preempting {
		e.sched.Recompute(e.now)
		return
	}
	e.takings = e.sched.Due(e.now, e.takings[:0])
	for i := range e.takings {
		e.preempt(&e.takings[i], e.containerAt(e.takings[i].Ref))
	}
	e.takings = e.sched.Preempt(e.now, e.takings[:0])
	for i := range e.takings {
		t := &e.takings[i]
		e.noteTaking(t, view.Noticed)
		e.fx.Notices = append(e.fx.Notices, e.sched.Container(t.Ref).ID)
	}
}

// preempt ends a container for the one that it is taken for.
func (e *Engine) preempt(t *scheduler.Taking, c *container) {
	if c == nil || c.state.Final() {
		return
	}
	e.noteTaking(t, view.Preempted)
	e.end(c, scheduler.Preempted, yarn.ExitPreempted, "Container preempted by scheduler")
}

// sharesShown is how many applications one update of shares compares with what readers see of them.
const sharesShown = 500

// shown is what readers see of an application that changes with updates of shares.
type shown struct {
	share yarn.Resource
	why   yarn.Code
}

// showShares looks at some applications, in turn, and publishes those anew whose queue's share or whose reason to wait has changed.
func (e *Engine) showShares() {
	for range min(sharesShown, len(e.byRef)) {
		e.nextShown = (e.nextShown + 1) % len(e.byRef)
		a := e.byRef[e.nextShown]
		if a == nil || a.ending() {
			continue
		}
		got := e.sched.Admission(a.ref)
		if now := (shown{got.Share, got.Why.Code}); a.shown == nil && now != (shown{}) || a.shown != nil && now != *a.shown {
			a.shown = &now
			e.touchApp(a)
		}
	}
}

// underNotice is what the strict contract of a preemption message names: the FairScheduler's containers under notice. The CapacityScheduler's are in
// the other one; see negotiable.
//
// compat: under the FairScheduler an empty list is sent as well.
func (e *Engine) underNotice(a *application) []yarn.ContainerID {
	if !e.set.Fair {
		return nil
	}
	ids := []yarn.ContainerID{}
	e.preempted = e.sched.UnderNotice(a.ref, e.preempted[:0])
	for _, ref := range e.preempted {
		if c := e.containerAt(ref); c == nil || !c.withheld {
			ids = append(ids, e.sched.Container(ref).ID)
		}
	}
	if a.onNodes != nil { // containers for which their nodes have become too small
		a.noticed = slices.DeleteFunc(a.noticed, func(c *container) bool { return c.state.Final() })
		var on *node
		var ends []scheduler.ContainerRef // there
		for _, c := range a.noticed {
			if c.node != on {
				on, ends = c.node, e.excess(c.node)
			}
			if !c.withheld && slices.Contains(ends, c.ref) && !slices.Contains(ids, c.id) {
				ids = append(ids, c.id)
			}
		}
	}
	return ids
}

// Notices and ends of a round are counted in units of the slice; see MaxSlice.
const looksPerEnd = 2 // how many containers and applications a round looks at in the time in which one container ends

// monitorQueues carries out a round of preemption in slices; see MonitorQueues.
func (e *Engine) monitorQueues() {
	if e.monitoring {
		return
	}
	e.monitoring = true
	var decided *scheduler.Preemption
	e.begin(func(budget int) (used int, done bool) {
		if decided == nil {
			looks := 0
			looks, decided = e.sched.Monitor(e.now, looksPerEnd*budget)
			if used = looks / looksPerEnd; decided == nil {
				return used, false
			}
		}
		for ; used < budget; used++ {
			if !e.carryOut(decided) {
				e.monitoring = false
				return used, true
			}
		}
		return used, false
	})
}

// carryOut does the next thing that a round has decided, and tells whether there was one.
func (e *Engine) carryOut(p *scheduler.Preemption) bool {
	next := func(list *[]scheduler.Taking) *scheduler.Taking {
		t := &(*list)[0]
		*list = (*list)[1:]
		return t
	}
	switch {
	case len(p.Moved) > 0:
		m := p.Moved[0]
		p.Moved = p.Moved[1:]
		e.moveReservation(&m)
	case len(p.Observed) > 0:
		if t := next(&p.Observed); e.sched.Stands(t) {
			e.noteTaking(t, view.Observed)
		}
	case len(p.Noticed) > 0:
		if t := next(&p.Noticed); e.sched.Stands(t) {
			e.notice(t)
		}
	case len(p.Due) > 0:
		if t := next(&p.Due); e.sched.Stands(t) {
			e.preempt(t, e.containerAt(t.Ref))
		}
	case len(p.Killable) > 0:
		if t := next(&p.Killable); e.sched.Stands(t) {
			e.markKillable(t)
		}
	case len(p.Unreserved) > 0:
		if t := next(&p.Unreserved); e.sched.Stands(t) && e.sched.Container(t.Ref).Reserved { // it may have become a container since
			e.noteTaking(t, view.Unreserved)
			e.sched.Unreserve(e.sched.Container(t.Ref).Node)
		}
	default:
		return false
	}
	return true
}

// moveReservation has a reservation hold another node.
func (e *Engine) moveReservation(m *scheduler.Move) {
	if !e.sched.Stands(&m.Taking) {
		return
	}
	from := e.sched.Container(m.Ref).Node
	if e.sched.MoveReservation(m) {
		e.noteTaking(&m.Taking, view.Moved)
		e.touchNode(e.nodeByRef[from])
		e.touchNode(e.nodeByRef[m.To])
	}
}

// markKillable lets a container run on, whose notice has run out, until somebody needs its room.
func (e *Engine) markKillable(t *scheduler.Taking) {
	c := e.containerAt(t.Ref)
	if c == nil || c.state.Final() || !e.sched.MarkKillable(t.Ref) {
		return
	}
	e.killable[c.id] = t.Rule
	e.noteTaking(t, view.Killable)
	e.sweepDue = true
}

// takenFor follows the end of a killable container, which the scheduler has ended to place another one.
//
// compat: what its master has not fetched is not asked for anew, as it is when another end comes before. So this does in heartbeat mode, in which
// decisions are compared with Apache's, but not where nodes are offered asynchronously, and not with what a gang has.
func (e *Engine) takenFor(d scheduler.Decision) {
	c, book, to := e.containerAt(d.Container), *e.sched.Container(d.Container), e.byRef[d.For]
	e.noteTaking(&scheduler.Taking{Ref: d.Container, ID: book.ID, Rule: e.killable[book.ID], ForQueue: e.sched.LeafOf(d.For), ForApp: to.sub.ID}, view.Preempted)
	if e.set.Sweeps || c.withheld {
		e.restoreAsk(c)
	}
	e.followEnd(scheduler.Ended{Ref: d.Container, Container: book, Cause: scheduler.Preempted, Vacated: !book.Launched}, yarn.ExitPreempted,
		"Container preempted by scheduler")
	if !book.Launched {
		e.sched.Vacate(d.Container)
	}
}

// notice has the master told that a container is about to go.
func (e *Engine) notice(t *scheduler.Taking) {
	c := e.containerAt(t.Ref)
	if c == nil || c.state.Final() {
		return
	}
	e.noteTaking(t, view.Noticed)
	e.fx.Notices = append(e.fx.Notices, c.id)
	if !c.noticed {
		c.noticed = true
		on := c.app.visited()
		on.noticed = append(on.noticed, c)
	}
}

// negotiable is the containers of the application that have had notice and of which no master knows.
func (e *Engine) negotiable(a *application) (n Negotiable) {
	if e.set.Fair || a.onNodes == nil || len(a.noticed) == 0 {
		return n
	}
	var sum yarn.Resource
	left := a.noticed[:0] // of which the master does not know
	for _, c := range a.noticed {
		if c.withheld && !c.state.Final() {
			left = append(left, c)
			continue
		}
		if c.noticed = false; !c.state.Final() {
			n.Containers = append(n.Containers, c.id)
			size := e.sched.Container(c.ref).Resource
			sum = sum.Add(size)
		}
	}
	if a.noticed = left; len(left) == 0 {
		a.noticed = nil
	}
	n.Count, n.Size = e.sched.InContainers(sum)
	return n
}
