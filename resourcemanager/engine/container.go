package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// container is a granted container's life. What it is and where stands in the
// scheduler's books; here is how far it has come.
type container struct {
	ref     scheduler.ContainerRef
	id      yarn.ContainerID
	state   yarn.ContainerState
	app     *application
	attempt *attempt
	node    *node
	lease   lease // between being handed out and running
	created int64
	grant   int32 // its place among those that the master has not fetched

	launched bool            // its node reported it; so it does the end, too
	released bool            // its master gave it back, and a later slice ends it
	reported bool            // its node has reported its end, and a later slice follows it
	seen     *view.Container // nil when it must be made anew
}

// born enters a container that the scheduler has just placed.
func (e *Engine) born(ref scheduler.ContainerRef) {
	book := e.sched.Container(ref)
	if !book.Update.IsZero() {
		return // a part of a container that grows: the scheduler's own affair until it has grown
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
	e.touchApp(a)
	e.touchNode(c.node)
	e.fx.Containers = append(e.fx.Containers, ContainerEvent{Container: c.id, Node: c.node.id,
		Resource: book.Resource, Priority: book.Priority, Master: book.AM, Born: true})
	if c.attempt.state == yarn.AttemptScheduled && c.attempt.master == nil {
		e.masterGranted(c.attempt, c)
	} else {
		c.grant = int32(len(c.attempt.grants))
		c.attempt.grants = append(c.attempt.grants, c)
	}
}

// acquire hands the container out: from now on its node may hear of it.
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
		a.ranOn = append(a.ranOn, n)
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

// grantUnclaimed: the container was handed out and never started.
func (e *Engine) grantUnclaimed(c *container) {
	if c.state == yarn.ContainerAcquired {
		e.end(c, scheduler.Expired, yarn.ExitAborted, "Container expired since it was unused")
	}
}

// end takes the container out of the books. Its node's room stays taken until
// the node reports the end, if the node ever reported the beginning.
func (e *Engine) end(c *container, cause scheduler.Cause, exit int32, diagnostics string) {
	e.restoreAsk(c)
	e.endForGood(c, cause, exit, diagnostics)
}

// endForGood is end for a container that nobody is to have in its stead.
func (e *Engine) endForGood(c *container, cause scheduler.Cause, exit int32, diagnostics string) {
	book := *e.sched.Container(c.ref)
	vacated := e.sched.Finish(c.ref, cause)
	e.followEnd(scheduler.Ended{Ref: c.ref, Container: book, Cause: cause, Vacated: vacated}, exit, diagnostics)
}

// restoreAsk asks once more for a container that ends before its master has
// heard of it: the master will not know that anything is missing.
func (e *Engine) restoreAsk(c *container) {
	if c.state == yarn.ContainerAllocated {
		e.sched.RestoreAsk(c.ref)
	}
}

// restoreIncrease does the same for what was placed to enlarge a container and is not
// part of it yet.
func (e *Engine) restoreIncrease(ref scheduler.ContainerRef) {
	if e.sched.Container(ref).Live {
		e.sched.RestoreAsk(ref)
	}
}

// endStates tells how a container's end is called.
var endStates = map[scheduler.Cause]yarn.ContainerState{
	scheduler.Completed:    yarn.ContainerCompleted,
	scheduler.ReleasedByAM: yarn.ContainerReleased,
	scheduler.Expired:      yarn.ContainerExpired,
}

// followEnd does the rest once the scheduler has ended a container: its node,
// its master and its application hear of it.
func (e *Engine) followEnd(ended scheduler.Ended, exit int32, diagnostics string) {
	c := e.lookup(ended)
	if c == nil && !ended.Container.Update.IsZero() && !ended.Container.Reserved {
		e.partEnded(ended, exit, diagnostics)
	}
	if c == nil || c.state.Final() {
		return
	}
	before, book := c.state, &ended.Container
	c.seen = nil
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
	e.fx.Containers = append(e.fx.Containers, ContainerEvent{Container: c.id, Node: c.node.id,
		Resource: book.Resource, Priority: book.Priority, Master: book.AM, Exit: exit})
	e.sweepDue = true
	e.touchApp(c.app)
	e.touchNode(c.node)
	if before == yarn.ContainerAllocated && ended.Cause == scheduler.ReleasedByAM {
		c.app.current().ungrant(c) // nobody has ever heard of it
		return
	}
	e.tell(c, CompletedContainer{ID: c.id, ExitStatus: exit, Diagnostics: clip(diagnostics, MaxDiagnostics),
		Resource: book.Resource, Execution: book.Execution})
}

// partEnded tells the master of the end of a part of a container that grows.
//
// compat: the part has an id of its own, which the master has never seen.
func (e *Engine) partEnded(ended scheduler.Ended, exit int32, diagnostics string) {
	book := &ended.Container
	t := e.byRef[book.App].current()
	if t.gone || book.ID.Attempt != t.id && !t.app.sub.KeepContainers {
		return
	}
	end := CompletedContainer{ID: book.ID, ExitStatus: exit, Diagnostics: clip(diagnostics, MaxDiagnostics),
		Resource: book.Resource, Execution: book.Execution}
	t.finished = append(t.finished, finishedContainer{end, e.nodeByRef[book.Node].id})
	e.unheard[book.ID] = true
}

// lookup is the container that a scheduler's record speaks of; a reservation has none.
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

// containerAt is the container with that index, or nil: reservations, and parts
// of containers that grow, are the scheduler's alone.
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

// account adds what the container has used.
func (e *Engine) account(c *container, book *scheduler.Container, cause scheduler.Cause) {
	for i, amount := range book.Resource {
		used := amount * (e.now.Wall - c.created) / 1000
		c.app.seconds[i] += used
		if cause == scheduler.Preempted {
			c.app.preempted[i] += used
		}
	}
}

// tell sends the end to the master, unless it is the master's own.
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
	t.finished = append(t.finished, finishedContainer{end, c.node.id})
	e.unheard[c.id] = true
}

// ungrant forgets a container that its master has not fetched. Its place stays
// empty; when half of them are, the others close up.
func (t *attempt) ungrant(c *container) {
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

// acknowledge lets the nodes forget containers whose master knows their end.
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
		x.node.signals = append(x.node.signals, SignalContainer{Container: c.Container, Signal: c.Signal})
		e.reply(c.Ticket, nil)
		return
	}
	e.fail(c.Ticket, refuse(Failed, "Trying to signal an absent container %s", c.Container))
}
