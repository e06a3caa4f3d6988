package engine

import (
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
