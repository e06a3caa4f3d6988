package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// mostExpected bounds the number of applications for which memory is reserved: a recording may claim any number.
const mostExpected = 1 << 20

// recover brings back what was stored before the restart.
func (e *Engine) recover(c Recover) {
	e.recoveredAt = e.now.Mono
	e.recoverLabels(c) // before the applications, whose asks name them
	e.recoverDrains(c)
	e.recoverReservations(c.Reservations)
	e.coming = c.Coming > 0
	if n := min(len(c.Applications)+min(max(c.Coming, 0), mostExpected), mostExpected); len(e.apps) == 0 {
		e.apps, e.order = make(map[yarn.ApplicationID]*application, n), make([]*application, 0, n)
		e.byRef, e.dirtyApps = make([]*application, 0, n), make([]*application, 0, n)
		e.sched.Expect(n)
	}
	e.recoverApplications(c.Applications)
}

// recoverApplications brings applications back. Those that had ended are remembered;
// the others go on: a master that may still run has time to register again, and its
// containers are adopted when their nodes register.
func (e *Engine) recoverApplications(apps []RecoveredApplication) {
	e.quiet = true // these transitions were logged before the restart
	masters := normalizer{}
	for i := range apps {
		e.recoverApp(&apps[i], masters)
	}
	e.quiet = false
}

func (e *Engine) recoverApp(r *RecoveredApplication, masters normalizer) {
	if _, known := e.apps[r.Submission.ID]; known {
		return // no store has two of one id, but a recording may
	}
	rec := r.Record
	a := &application{sub: r.Submission, ref: scheduler.NoApp, submitTime: rec.SubmitTime, launchTime: rec.LaunchTime,
		choices: choices{queue: rec.Queue, planQueue: rec.PlanQueue, priority: rec.Priority}, updateNodes: e.nodeLogStart + len(e.nodeLog)}
	for _, t := range rec.Timeouts {
		a.expireAt = t.ExpireAt
	}
	if len(rec.CallerSignature)+len(rec.Unknown) > 0 {
		a.restored = &restoredApp{rec.CallerSignature, rec.Unknown}
	}
	a.gang, _ = gangOfTags(a.sub.Tags) // an application that was accepted stays so
	e.apps[a.sub.ID] = a
	e.order = append(e.order, a)
	for _, t := range r.Attempts {
		e.restoreAttempt(a, t)
	}
	if rec.Final != yarn.AppNew {
		a.finishTime, a.final, a.diagnostics = rec.FinishTime, rec.FinalStatus, rec.Diagnostics
		a.state = rec.Final
		if t := a.current(); t != nil && !t.gone { // the record of its end could not be stored
			t.endWith(a)
		}
		e.touchApp(a)
		e.retain(a)
		return
	}
	e.appTo(a, yarn.AppNewSaving)
	e.setDeadline(a, a.expireAt)
	e.appTo(a, yarn.AppSubmitted)
	if !a.sub.Unmanaged {
		// An application that was accepted stays so, even if limits were lowered since.
		a.sub.AMAsks = masters.of(e.sched, a)
	}
	if e.enter(a, true) {
		e.resume(a)
	}
}

// normalizer normalizes the asks for masters of applications that are brought back together. Most applications of a queue ask for the same, so it keeps, by
// queue, the asks that it normalized last, and the result.
type normalizer map[string]normalized

type normalized struct {
	label         string
	labelSet      bool
	asked, result []yarn.Ask
}

// of returns the normalized asks for the application's master. It does not write to the submission's own, which others share.
func (n normalizer) of(s *scheduler.Scheduler, a *application) []yarn.Ask {
	last := n[a.queue]
	if last.label == a.sub.Label && last.labelSet == a.sub.LabelSet && slices.Equal(last.asked, a.sub.AMAsks) {
		return last.result
	}
	last = normalized{a.sub.Label, a.sub.LabelSet, a.sub.AMAsks, slices.Clone(a.sub.AMAsks)}
	_ = s.NormalizeAM(a.queue, last.result, last.label, last.labelSet)
	if _, why := s.Resolve(a.queue); why.OK() { // else the queue is made for this application, and may have other limits for the next one
		n[a.queue] = last
	}
	return last.result
}

// restoreAttempt puts an attempt back as its record has it.
func (e *Engine) restoreAttempt(a *application, r state.Attempt) {
	t := &attempt{id: r.ID, app: a, state: r.Final, restored: &r, masterID: r.MasterContainer, exitStatus: r.ExitStatus, host: r.Host, rpcPort: r.RPCPort,
		trackingURL: r.TrackingURL, responseID: -1, startTime: r.StartTime, finishTime: r.FinishTime, final: r.FinalStatus, diagnostics: r.Diagnostics,
		containers: r.TotalContainers}
	if t.gone = r.Final.Final(); !t.gone {
		t.meet()
	}
	t.counts = ownFault(r.ExitStatus)
	a.attempts = append(a.attempts, t)
	used := a.charge()
	used.seconds, used.preempted = r.UsageSeconds, r.PreemptedUsage
}

// endWith ends an attempt in the way its application ended.
func (t *attempt) endWith(a *application) {
	t.gone, t.final, t.finishTime, t.diagnostics = true, a.final, a.finishTime, a.diagnostics
	switch a.state {
	case yarn.AppFinished:
		t.state = yarn.AttemptFinished
	case yarn.AppKilled:
		t.state = yarn.AttemptKilled
	default:
		t.state = yarn.AttemptFailed
	}
}

// note adds a container to a set, which may be nil.
func note(set *map[yarn.ContainerID]bool, id yarn.ContainerID) {
	if *set == nil {
		*set = map[yarn.ContainerID]bool{}
	}
	(*set)[id] = true
}

// resume goes on with an application that is back in its queue.
func (e *Engine) resume(a *application) {
	t := a.current()
	if t == nil {
		e.startAttempt(a)
		return
	}
	if t.state.Final() {
		e.attemptOver(a, t)
		return
	}
	e.enterAttempt(t)
	e.attemptTo(t, yarn.AttemptLaunched)
	e.openLogin(t)
	e.masterLeases.renew(&t.meet().lease, e.now.Mono)
}

// adopt takes over a container that was started before the restart and that its node
// reports. It returns false if it was adopted before, or if no application that goes on
// has a use for it.
func (e *Engine) adopt(n *node, r RecoveredContainer) bool {
	a := e.apps[r.ID.Attempt.Application]
	if a == nil || a.ref == scheduler.NoApp || a.ending() || n.ref == scheduler.NoNode {
		return false
	}
	t := a.current()
	if t == nil || t.restored == nil || t.ending() || t.adopted[r.ID] || r.ID.Number>>yarn.EpochShift >= e.set.Epoch ||
		r.ID.Attempt != t.id && !a.sub.KeepContainers {
		return false
	}
	note(&t.adopted, r.ID)
	master := r.ID == t.masterID
	if !master && r.Execution == yarn.Guaranteed {
		e.gangHad(t, r.Priority)
	}
	if r.Complete {
		e.endedMeanwhile(n, t, r, master)
		return true
	}
	ref := e.sched.RecoverContainer(scheduler.Recovered{ID: r.ID, App: a.ref, Node: n.ref, Resource: r.Resource, Priority: r.Priority,
		AllocationRequestID: r.AllocationRequestID, Label: r.Label, Version: r.Version, Floor: e.versionFloor(), Execution: r.Execution, AM: master, CreatedWall: r.CreatedAt})
	c := &container{ref: ref, id: r.ID, state: yarn.ContainerRunning, app: a, attempt: t, node: n, created: r.CreatedAt, launched: true}
	c.lease.container = c
	*at(&e.containers, int(ref)) = c
	e.byID[c.id] = c
	n.held++
	n.launched++
	if r.Execution == yarn.Opportunistic {
		e.lent.Allocated++
	}
	e.counts.grant(a)
	e.runsOn(a, n)
	e.touchContainers(a)
	e.touchNode(n)
	e.fx.Containers = append(e.fx.Containers, ContainerEvent{Container: c.id, Node: n.id, Queue: a.queue, User: a.sub.User, Locality: scheduler.OffSwitch, Resource: r.Resource, Priority: r.Priority, Master: master, Born: true})
	if master {
		t.master, t.masterNode = c, n
	}
	switch {
	case t.released[c.id]:
		delete(t.released, c.id)
		e.release(t, c.id)
	case c.id.Attempt != t.id && t.state == yarn.AttemptRunning: // its master has registered already, without this one
		t.previous = append(t.previous, e.grant(c))
	}
	return true
}

// endedMeanwhile handles a container that ended while the ResourceManager was down.
func (e *Engine) endedMeanwhile(n *node, t *attempt, r RecoveredContainer, master bool) {
	e.runsOn(t.app, n)
	if master {
		n.remove = append(n.remove, r.ID)
		e.masterEnded(t, r.ExitStatus, r.Diagnostics)
		return
	}
	t.finished = append(t.finished, finishedContainer{CompletedContainer{ID: r.ID, ExitStatus: r.ExitStatus,
		Diagnostics: clip(r.Diagnostics, MaxDiagnostics), Resource: r.Resource, Execution: r.Execution}, n.id})
	e.unheard[r.ID] = true
}
