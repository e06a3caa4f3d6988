package engine

import (
	"slices"

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
	e.preempted = e.sched.Due(e.now, e.preempted[:0])
	for _, ref := range e.preempted {
		if c := e.containerAt(ref); c != nil && !c.state.Final() {
			e.end(c, scheduler.Preempted, yarn.ExitPreempted, "Container preempted by scheduler")
		}
	}
	e.preempted = e.sched.Preempt(e.now, e.preempted[:0])
	for _, ref := range e.preempted {
		e.fx.Notices = append(e.fx.Notices, e.sched.Container(ref).ID)
	}
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
		if now := (shown{got.Share, got.Why.Code}); now != a.shown {
			a.shown = now
			e.touchApp(a)
		}
	}
}

// underNotice is the containers of an application that have notice; nil under other schedulers.
//
// compat: under the FairScheduler a master is told also if there are none, by an empty list; under other schedulers it is told nothing.
func (e *Engine) underNotice(a *application) []yarn.ContainerID {
	if !e.set.Fair {
		return nil
	}
	ids := []yarn.ContainerID{}
	e.preempted = e.sched.UnderNotice(a.ref, e.preempted[:0])
	for _, ref := range e.preempted {
		ids = append(ids, e.sched.Container(ref).ID)
	}
	return ids
}

// Notices and ends of a round are counted in units of the slice; see MaxSlice.
const looksPerEnd = 10 // how many containers and applications a round looks at in the time in which one container ends

// monitorQueues carries out a round of preemption in slices; see MonitorQueues.
func (e *Engine) monitorQueues() {
	if e.monitoring {
		return
	}
	e.monitoring = true
	var due []*container
	e.begin(func(budget int) (used int, done bool) {
		if due == nil {
			looks, over := e.sched.Monitor(e.now, looksPerEnd*budget)
			if used = looks / looksPerEnd; over == nil {
				return used, false
			}
			due = e.carryOut(over)
		}
		for len(due) > 0 && used < budget {
			if c := due[0]; !c.state.Final() {
				e.end(c, scheduler.Preempted, yarn.ExitPreempted, "Container preempted by scheduler")
			}
			due = due[1:]
			used++
		}
		e.monitoring = len(due) > 0
		return used, !e.monitoring
	})
}

// carryOut gives up reservations and notes notices. It returns the containers that are to end.
func (e *Engine) carryOut(p *scheduler.Preemption) []*container {
	for _, ref := range p.Unreserved {
		e.sched.Unreserve(e.sched.Container(ref).Node)
	}
	for _, ref := range p.Noticed {
		if c := e.containerAt(ref); c != nil && !c.state.Final() {
			e.fx.Notices = append(e.fx.Notices, c.id)
			if t := c.app.current(); !slices.Contains(t.noticed, c) {
				t.noticed = append(t.noticed, c)
			}
		}
	}
	due := make([]*container, 0, len(p.Due))
	for _, ref := range p.Due {
		if c := e.containerAt(ref); c != nil {
			due = append(due, c)
		}
	}
	return due
}

// negotiable is the containers of the attempt that have had notice since its last call.
func (e *Engine) negotiable(t *attempt) (n Negotiable) {
	if len(t.noticed) == 0 {
		return n
	}
	var sum yarn.Resource
	for _, c := range t.noticed {
		if !c.state.Final() {
			n.Containers = append(n.Containers, c.id)
			size := e.sched.Container(c.ref).Resource
			sum = sum.Add(size)
		}
	}
	t.noticed = nil
	n.Count, n.Size = e.sched.InContainers(sum)
	return n
}
