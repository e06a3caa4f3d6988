package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// container is the state of a granted container. Its size, priority and place are
// in the scheduler's books.
type container struct {
	ref     scheduler.ContainerRef
	id      yarn.ContainerID
	state   yarn.ContainerState
	app     *application
	attempt *attempt
	node    *node
	lease   lease // held from ACQUIRED until RUNNING, and while the node has to confirm an increase
	created int64 // wall clock
	grant   int32 // its index in the attempt's grants

	confirmed *yarn.Resource // the size that its node has, while it has not confirmed an increase; see increase.go

	demoted  int64           // when it was demoted, if its node has not heard of that; 0: it was not
	launched bool            // its node has reported it, and so will report its end
	noticed  bool            // it has notice of which its master does not know yet
	released bool            // its master released it, and a later slice ends it
	reported bool            // its node has reported its end, and a later slice carries that out
	withheld bool            // its gang is not complete, and its master must not know of it
	seen     *view.Container // its view; nil when it must be made anew
}

// born enters a container that the scheduler has just placed.
func (e *Engine) born(ref scheduler.ContainerRef) {
	book := e.sched.Container(ref)
	if !book.Update.IsZero() {
		return // the increase of a container: the scheduler's alone until it is part of that container
	}
	a := e.byRef[book.App]
	c := &container{ref: ref, id: book.ID, state: yarn.ContainerAllocated, app: a,
		attempt: a.current(), node: e.nodeByRef[book.Node], created: e.now.Wall}
	c.lease.container = c
	*at(&e.containers, int(ref)) = c
	e.byID[c.id] = c
	c.node.held++
	e.counts.grant(a)
	c.attempt.containers++
	e.touchContainers(a)
	e.touchNode(c.node)
	e.fx.Containers = append(e.fx.Containers, ContainerEvent{Container: c.id, Node: c.node.id, Queue: a.queue, User: a.sub.User,
		Locality: book.Locality, Resource: book.Resource, Priority: book.Priority, Master: book.AM, Born: true})
	if c.attempt.state == yarn.AttemptScheduled && c.attempt.master == nil {
		e.masterGranted(c.attempt, c)
		return
	}
	c.attempt.meet()
	if !e.withhold(c, book) {
		c.attempt.grant(c)
	}
}

// grant has the master told of the container.
func (t *attempt) grant(c *container) {
	c.grant = int32(len(t.grants))
	t.grants = append(t.grants, c)
}

// acquire marks the container as fetched: from now on its master may have its node start it.
func (e *Engine) acquire(c *container) {
	if c.state != yarn.ContainerAllocated {
		return
	}
	c.state = yarn.ContainerAcquired
	e.grantLeases.renew(&c.lease, e.now.Mono)
	e.runsOn(c.app, c.node)
}

// runsOn notes that the application may leave something on the node.
func (e *Engine) runsOn(a *application, n *node) {
	if !n.apps[a.sub.ID] {
		n.apps[a.sub.ID] = true
		on := a.visited()
		on.ranOn = append(on.ranOn, n)
	}
	e.expectLogs(a, n)
}

// running: the node reports the container for the first time.
func (e *Engine) running(c *container) {
	c.state, c.launched = yarn.ContainerRunning, true
	c.node.launched++
	e.grantLeases.drop(&c.lease)
	e.sched.Launched(c.ref)
}

// grantUnclaimed: the container was fetched, and its node has not reported it in time.
func (e *Engine) grantUnclaimed(c *container) {
	if c.state == yarn.ContainerAcquired {
		e.end(c, scheduler.Expired, yarn.ExitAborted, "Container expired since it was unused")
	}
}

// end ends the container in the scheduler's books. If its node has reported that it
// runs, its resources stay in use there until the node reports its end.
func (e *Engine) end(c *container, cause scheduler.Cause, exit int32, diagnostics string) {
	e.restoreAsk(c)
	e.endForGood(c, cause, exit, diagnostics)
}

// endForGood is end for a container that is not to be granted anew.
func (e *Engine) endForGood(c *container, cause scheduler.Cause, exit int32, diagnostics string) {
	book := *e.sched.Container(c.ref)
	vacated := e.sched.Finish(c.ref, cause)
	e.followEnd(scheduler.Ended{Ref: c.ref, Container: book, Cause: cause, Vacated: vacated}, exit, diagnostics)
}

// restoreAsk enters the ask again for a container that ends before its master has
// fetched it: the master does not know that it has to ask again.
func (e *Engine) restoreAsk(c *container) {
	if c.state == yarn.ContainerAllocated {
		e.sched.RestoreAsk(c.ref)
	}
}

// restoreIncrease does the same for the increase of a container that was placed and is
// not part of that container yet.
func (e *Engine) restoreIncrease(ref scheduler.ContainerRef) {
	if e.sched.Container(ref).Live {
		e.sched.RestoreAsk(ref)
	}
}

// endStates has the final state by cause; KILLED for any other.
var endStates = map[scheduler.Cause]yarn.ContainerState{
	scheduler.Completed:    yarn.ContainerCompleted,
	scheduler.ReleasedByAM: yarn.ContainerReleased,
	scheduler.Expired:      yarn.ContainerExpired,
}

// followEnd does the rest once the scheduler has ended a container: it informs the
// node and the master and charges the application.
func (e *Engine) followEnd(ended scheduler.Ended, exit int32, diagnostics string) {
	c := e.lookup(ended)
	if c == nil && !ended.Container.Update.IsZero() && !ended.Container.Reserved {
		e.partEnded(ended, exit, diagnostics)
	}
	if c == nil || c.state.Final() {
		return
	}
	delete(e.killable, c.id)
	before, book := c.state, &ended.Container
	c.seen = nil
	if book.Execution == yarn.Opportunistic {
		e.lent.Released++
	}
	c.state = yarn.ContainerKilled
	if s, ok := endStates[ended.Cause]; ok {
		c.state = s
	}
	e.grantLeases.drop(&c.lease)
	if ended.Vacated {
		e.forget(c)
	}
	if before != yarn.ContainerAllocated && ended.Cause != scheduler.Completed && (c.node.state.Usable() || c.node.state == yarn.NodeUnhealthy) {
		c.node.cleanup = append(c.node.cleanup, c.id)
	}
	e.account(c, book, ended.Cause)
	e.fx.Containers = append(e.fx.Containers, ContainerEvent{Container: c.id, Node: c.node.id, Queue: c.app.queue, User: c.app.sub.User,
		Locality: book.Locality, Resource: book.Resource, Priority: book.Priority, Master: book.AM, Exit: exit})
	e.sweepDue = true
	e.touchContainers(c.app)
	e.touchNode(c.node)
	if c.withheld {
		e.unhold(c, book.Priority)
		return
	}
	if before == yarn.ContainerAllocated && ended.Cause == scheduler.ReleasedByAM {
		c.app.current().ungrant(c) // its master does not know it
		return
	}
	e.tell(c, CompletedContainer{ID: c.id, ExitStatus: exit, Diagnostics: clip(diagnostics, MaxDiagnostics),
		Resource: book.Resource, Execution: book.Execution})
}

// partEnded reports to the master the end of an increase that was not part of its
// container yet.
//
// compat: the increase has a container id of its own, which the master does not know.
func (e *Engine) partEnded(ended scheduler.Ended, exit int32, diagnostics string) {
	book := &ended.Container
	t := e.byRef[book.App].current()
	if t.gone || book.ID.Attempt != t.id && !t.app.sub.KeepContainers {
		return
	}
	end := CompletedContainer{ID: book.ID, ExitStatus: exit, Diagnostics: clip(diagnostics, MaxDiagnostics),
		Resource: book.Resource, Execution: book.Execution}
	x := t.meet()
	x.finished = append(x.finished, finishedContainer{end, e.nodeByRef[book.Node].id})
	e.unheard[book.ID] = true
}

// lookup is the container that the scheduler has ended, or nil: a reservation has none.
func (e *Engine) lookup(ended scheduler.Ended) *container {
	if ended.Container.Reserved {
		return nil
	}
	c := e.containerAt(ended.Ref)
	if c == nil || c.id != ended.Container.ID {
		return nil
	}
	return c
}

// containerAt is the container with that index, or nil: reservations and increases
// that were placed are the scheduler's alone.
func (e *Engine) containerAt(ref scheduler.ContainerRef) *container {
	if int(ref) >= len(e.containers) {
		return nil
	}
	return e.containers[ref]
}

// forget drops a container whose slot in the scheduler is free.
func (e *Engine) forget(c *container) {
	e.containers[c.ref] = nil
	delete(e.byID, c.id)
	c.node.held--
	if c.launched {
		c.node.launched--
	}
}

// account charges the application for what the container has used.
func (e *Engine) account(c *container, book *scheduler.Container, cause scheduler.Cause) {
	lost := cause == scheduler.Preempted
	var seconds yarn.Resource
	for i, amount := range book.Resource {
		seconds[i] = amount * (e.now.Wall - c.created) / 1000
	}
	used := c.app.charge()
	used.seconds.Increase(&seconds)
	if lost {
		used.preempted.Increase(&seconds)
	}
	switch t := &used.taken; {
	case !lost:
		return
	case book.AM:
		t.masters++
	default:
		t.others++
	}
	used.taken.sum.Increase(&book.Resource)
	e.sched.CountPreempted(c.app.ref, seconds)
}

// taken is what was preempted of an application since the ResourceManager started.
type taken struct {
	sum             yarn.Resource
	masters, others int
}

// tell reports the end to the master, unless it is the end of the master itself.
func (e *Engine) tell(c *container, end CompletedContainer) {
	t := c.app.current()
	if c.attempt.masterID == c.id {
		e.lostMasters = append(e.lostMasters, lostMaster{c.attempt, end.ExitStatus, end.Diagnostics})
		return
	}
	t.ungrant(c)
	if t.gone || t != c.attempt && !c.app.sub.KeepContainers {
		return
	}
	x := t.meet()
	x.finished = append(x.finished, finishedContainer{end, c.node.id})
	e.unheard[c.id] = true
}

// ungrant forgets a container that its master has not fetched. Its entry becomes nil;
// once more than half are nil the list is compacted.
func (t *attempt) ungrant(c *container) {
	if t.exchange == nil {
		return
	}
	i := int(c.grant)
	if i >= len(t.grants) || t.grants[i] != c {
		return
	}
	t.grants[i] = nil
	if t.ungranted++; 2*t.ungranted <= len(t.grants) {
		return
	}
	t.grants = slices.DeleteFunc(t.grants, func(g *container) bool { return g == nil })
	t.ungranted = 0
	for i, g := range t.grants {
		g.grant = int32(i)
	}
}

// acknowledge lets the nodes forget containers of whose end the master knows.
func (e *Engine) acknowledge(ends []finishedContainer) {
	for _, f := range ends {
		delete(e.unheard, f.ID)
		if n := e.nodes[f.node]; n != nil && n.lease.held {
			n.remove = append(n.remove, f.ID)
		}
	}
}

// grant is the container as its master gets it.
func (e *Engine) grant(c *container) Grant {
	book := e.sched.Container(c.ref)
	return Grant{ID: c.id, Node: c.node.id, NodeHTTPAddress: c.node.http, User: c.app.sub.User,
		Resource: book.Resource, Priority: book.Priority, AllocationRequestID: book.AllocationRequestID,
		Execution: book.Execution, Version: book.Version, Label: c.node.label, CreatedAt: c.created, Master: c.attempt.masterID == c.id}
}

func (e *Engine) signalContainer(c SignalContainer) {
	if x := e.byID[c.Container]; x != nil && !x.state.Final() {
		if len(x.node.signals) >= MaxCleanup {
			e.fail(c.Ticket, refuse(Failed, "Cannot signal %s: %s has %d signals to fetch already; try again after its next heartbeat", c.Container, x.node.id, MaxCleanup))
			return
		}
		x.node.signals = append(x.node.signals, SignalContainer{Container: c.Container, Signal: c.Signal})
		e.reply(c.Ticket, nil)
		return
	}
	e.fail(c.Ticket, refuse(Failed, "Trying to signal an absent container %s", c.Container))
}
