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

// sharesShown bounds the applications that one update of shares compares with what readers see of them.
const sharesShown = 500

// shown is what readers see of an application that changes with updates of shares.
type shown struct {
	share yarn.Resource
	why   yarn.Code
}

// showShares has some applications drawn again, in turn, whose part of their queue's share or whose reason to wait has changed.
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

// underNotice are the containers of an application that are about to be taken from it.
//
// compat: masters under the FairScheduler are told of none; others are not told at all.
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
