package engine

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// nextResponse is the response id after id; 0 follows 2^31-1.
func nextResponse(id int32) int32 { return (id + 1) & math.MaxInt32 }

func (e *Engine) registerMaster(c RegisterMaster) {
	t := e.findAttempt(c.Attempt)
	switch {
	case t == nil || t.gone:
		e.fail(c.Ticket, refuse(InvalidMaster, "Application doesn't exist in cache %s", c.Attempt))
	case t.registered && !(t.app.sub.Unmanaged && t.app.sub.KeepContainers):
		e.fail(c.Ticket, refuse(InvalidMaster, "Application Master is already registered : %s", c.Attempt.Application))
	case t.ending():
		e.fail(c.Ticket, refuse(InvalidMaster, "Attempt %s is ending and can no longer register", c.Attempt))
	case t.state == yarn.AttemptAllocated, t.state == yarn.AttemptLaunched, t.state == yarn.AttemptRunning:
		e.welcome(t, c)
	default:
		e.fail(c.Ticket, refuse(InvalidMaster, "Attempt %s is %s: its master has nothing to register yet", c.Attempt, t.state))
	}
}

// welcome enters the master as registered, and answers its registration.
func (e *Engine) welcome(t *attempt, c RegisterMaster) {
	t.registered, t.responseID = true, 0
	t.finished, t.told = append(t.told, t.finished...), nil // the last answer may have been lost
	t.host, t.rpcPort, t.trackingURL = c.Host, c.RPCPort, c.TrackingURL
	e.masterLeases.renew(&t.meet().lease, e.now.Mono)
	if t.state != yarn.AttemptRunning {
		e.attemptTo(t, yarn.AttemptRunning)
	}
	e.attemptLaunched(t.app)
	e.attemptRegistered(t.app)
	a := t.app
	e.reply(c.Ticket, RegisterReply{User: a.sub.User, Maximum: e.sched.MaximumAllocation(a.queue), Queue: a.queue,
		ViewACL: a.sub.ViewACL, ModifyACL: a.sub.ModifyACL, Previous: e.inherited(t)})
}

// inherited are the containers that earlier attempts left running, or that a master
// may have lost track of if it registers again.
func (e *Engine) inherited(t *attempt) []Grant {
	if !t.app.sub.KeepContainers {
		return nil
	}
	var out []Grant
	for _, ref := range e.sched.Containers(t.app.ref, nil) {
		if c := e.containerAt(ref); c != nil && c.id != t.masterID && (c.state == yarn.ContainerAcquired || c.state == yarn.ContainerRunning) {
			out = append(out, e.grant(c))
		}
	}
	return out
}

// allocate is the masters' heartbeat. If one part of it is invalid, the whole is
// refused, before anything has changed.
func (e *Engine) allocate(c *Allocate) {
	t := e.findAttempt(c.Attempt)
	if t == nil || t.gone {
		e.fail(c.Ticket, unknownAttempt(c.Attempt))
		return
	}
	if !t.ending() {
		e.masterLeases.renew(&t.meet().lease, e.now.Mono)
	}
	if !t.registered {
		e.fail(c.Ticket, refuse(NotRegistered, "AM is not registered for known application attempt: %s or RM had restarted after AM registered. AM should re-register.", c.Attempt))
		return
	}
	if nextResponse(c.ResponseID) == t.responseID {
		e.reply(c.Ticket, &AllocateReply{Duplicate: true})
		return
	}
	if c.ResponseID != t.responseID {
		e.fail(c.Ticket, refuse(InvalidMaster, "Invalid responseId in AllocateRequest from application attempt: %s, expect responseId to be %d, but get %d", c.Attempt, t.responseID, c.ResponseID))
		return
	}
	var lent []yarn.Ask
	if e.loads != nil {
		lent = e.splitAsks(c)
	}
	if err := e.checkAllocate(t, c, lent); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	reply := &AllocateReply{}
	if t.ending() { // its call has no effect, but its errors are reported
		reply.UpdateErrors = updateErrors(e.sched.CheckUpdates(t.app.ref, c.Updates))
		e.tellEnds(t, reply)
	} else {
		e.progressed(t, c)
		e.applyAllocate(t, c, reply)
		if e.loads != nil {
			e.placeOpportunistic(t, lent, reply)
		}
		if e.set.Sweeps && e.sweepDue {
			e.sweep() // an ask that fits is granted in the same answer
		}
	}
	e.answerAllocate(t, reply)
	e.reply(c.Ticket, reply)
}

// checkAllocate looks at every part of the call, in Apache's order, and changes
// nothing but the call itself: the asks are normalized in place.
func (e *Engine) checkAllocate(t *attempt, c *Allocate, lent []yarn.Ask) *Error {
	if c.HasConstraints {
		return refuse(Failed, "Found non empty SchedulingRequest of AllocateRequest for application=%s, however the configured placement constraints handler does not accept them; set yarn.resourcemanager.placement-constraints.handler, which is not built yet", t.id)
	}
	if len(c.Asks) > 0 && len(t.asks) > MaxAsksWaiting {
		return refuse(InvalidRequest, "Cannot take %d more asks of %s: %d of earlier calls are not entered yet; ask again", len(c.Asks), t.id, len(t.asks))
	}
	if why := e.sched.Normalize(t.app.ref, c.Asks); !why.OK() {
		return e.badRequest(why, "Invalid resource request of %s", t.id)
	}
	if err := e.checkGangs(t, c.Asks); err != nil {
		return err
	}
	if err := checkOpportunistic(t, lent); err != nil {
		return err
	}
	if slices.Contains(c.BlacklistAdd, yarn.AnyHost) {
		return refuse(InvalidBlacklist, "Cannot add * to the blacklist of %s: nothing would be left", t.id)
	}
	for _, id := range c.Release {
		if id.Attempt != t.id && !(t.app.sub.KeepContainers && id.Attempt.Application == t.id.Application) {
			return refuse(InvalidRelease, "Cannot release container : %s not belonging to this application attempt : %s", id, t.id)
		}
	}
	return nil
}

// progressed enters the master's progress and tracking URL.
func (e *Engine) progressed(t *attempt, c *Allocate) {
	p := c.Progress
	switch {
	case p != p || p < 0:
		p = 0
	case p > 1:
		p = 1
	}
	if t.progress != p || c.TrackingURL != "" && c.TrackingURL != t.trackingURL {
		e.touchApp(t.app)
	}
	t.progress = p
	if c.TrackingURL != "" {
		t.trackingURL = c.TrackingURL
	}
}

// applyAllocate carries the call out, in Apache's order.
func (e *Engine) applyAllocate(t *attempt, c *Allocate, reply *AllocateReply) {
	a := t.app
	if len(c.Updates) > 0 {
		reply.UpdateErrors = updateErrors(e.sched.Update(a.ref, c.Updates))
		e.sweepDue = true
	}
	e.releaseAll(t, c.Release)
	e.tellEnds(t, reply)
	if len(c.Asks) > 0 {
		e.correct(t, c.Asks)
		e.ask(t, c.Asks)
	}
	if len(c.BlacklistAdd)+len(c.BlacklistRemove) > 0 {
		e.sched.Blacklist(a.ref, c.BlacklistAdd, c.BlacklistRemove)
		e.sweepDue = true
	}
}

// updateErrors are the refused updates in the form of the answer.
func updateErrors(list []scheduler.UpdateError) []UpdateError {
	var out []UpdateError
	for _, x := range list {
		out = append(out, UpdateError{Update: x.Update, Reason: x.Reason, CurrentVersion: x.Version})
	}
	return out
}

// ask passes a master's asks to the scheduler; if they are very many, in slices. Asks
// of later calls wait until those before them have been passed on.
func (e *Engine) ask(t *attempt, rows []yarn.Ask) {
	waited := len(t.asks) > 0
	if waited {
		t.asks = append(t.asks, rows...)
	} else {
		t.asks = rows
	}
	enter := func(budget int) (used int, done bool) {
		if t.gone {
			t.asks = nil
			return 0, true
		}
		n := min(len(t.asks), budget)
		e.enterAsks(t, t.asks[:n])
		e.sweepDue = true
		e.touchApp(t.app)
		if t.asks = t.asks[n:]; len(t.asks) == 0 {
			t.asks = nil
		}
		return n, t.asks == nil
	}
	if waited {
		return
	}
	if _, done := enter(e.slice()); !done {
		e.jobs = append(e.jobs, enter)
	}
}

// releaseAll ends the containers that a master releases; if they are very many, in
// slices.
func (e *Engine) releaseAll(t *attempt, ids []yarn.ContainerID) {
	now := min(len(ids), e.slice())
	for _, id := range ids[:now] {
		e.release(t, id)
	}
	if len(ids) > now {
		e.releaseLater(t, ids[now:])
	}
}

// releaseLater ends containers in slices.
func (e *Engine) releaseLater(t *attempt, later []yarn.ContainerID) {
	if t.releasing { // a container that is released again meanwhile is not kept twice
		later = slices.DeleteFunc(slices.Clone(later), func(id yarn.ContainerID) bool {
			c := e.byID[id]
			if c == nil || c.state.Final() {
				e.release(t, id) // it ends nothing
				return true
			}
			again := c.released
			c.released = true
			return again
		})
	}
	if len(later) == 0 {
		return
	}
	t.releasing = true
	e.jobs = append(e.jobs, func(budget int) (used int, done bool) {
		for ; len(later) > 0 && used < budget; later = later[1:] {
			e.release(t, later[0])
			used++
		}
		done = len(later) == 0
		t.releasing = !done
		return used, done
	})
}

// release ends a container that its master releases. If it is not known, it has ended
// already, or its node has not registered since a restart: then it ends when the node
// reports it (see adopt).
func (e *Engine) release(t *attempt, id yarn.ContainerID) {
	switch c := e.byID[id]; {
	case c != nil && !c.state.Final():
		e.end(c, scheduler.ReleasedByAM, yarn.ExitAborted, "Container released by application")
	case c == nil && e.mayCome(t, id) && len(t.released) < MaxReleased:
		note(&t.released, id)
	}
}

// mayCome tells whether a node may still report this container, started before the
// restart.
func (e *Engine) mayCome(t *attempt, id yarn.ContainerID) bool {
	return t.restored != nil && !t.adopted[id] && id.Number>>yarn.EpochShift < e.set.Epoch && e.now.Mono-e.recoveredAt < e.set.NodeExpiry
}

// answerAllocate fills in the rest of the answer: for an attempt that is ending, only
// what concerns nodes, the cluster and the priority.
func (e *Engine) answerAllocate(t *attempt, reply *AllocateReply) {
	a := t.app
	if !t.ending() {
		e.tellGrants(t, reply)
		reply.Updated = e.updated(a)
		reply.Previous, t.previous = takeFirst(t.previous)
		reply.Preempt, reply.Negotiable = e.underNotice(a), e.negotiable(a)
		reply.Headroom = e.sched.AllocateDone(a.ref)
	}
	reply.Nodes = e.nodesChanged(a)
	reply.ClusterNodes = int32(e.counts.nodes[yarn.NodeRunning] + e.counts.nodes[yarn.NodeDecommissioning])
	reply.Priority = a.priority
	pending, cores := e.sched.Load()
	reply.Pending, reply.ActiveCores = int32(min(pending, math.MaxInt32)), int32(min(cores, math.MaxInt32))
	t.responseID = nextResponse(t.responseID)
	reply.ResponseID = t.responseID
}

// tellEnds reports ended containers to the master. Its call acknowledges those of the
// last answer.
func (e *Engine) tellEnds(t *attempt, reply *AllocateReply) {
	e.acknowledge(t.told)
	if t.told = t.told[:0]; len(t.finished) <= MaxTold {
		t.told, t.finished = t.finished, t.told
	} else {
		t.told = append(t.told, t.finished[:MaxTold]...)
		t.finished = t.finished[MaxTold:]
	}
	if len(t.told) > 0 {
		reply.Completed = make([]CompletedContainer, len(t.told))
	}
	for i := range t.told {
		reply.Completed[i] = t.told[i].CompletedContainer
	}
}

// tellGrants reports granted containers to the master, which thereby become ACQUIRED.
func (e *Engine) tellGrants(t *attempt, reply *AllocateReply) {
	if t.gangs != nil {
		e.handOut(t, MaxTold-len(reply.Granted))
	}
	if len(t.grants) == 0 {
		return
	}
	told := t.grants[:min(len(t.grants), MaxTold-len(reply.Granted))] // opportunistic ones are there already
	reply.Granted = slices.Grow(reply.Granted, len(told))
	for _, c := range told {
		if c == nil {
			t.ungranted--
			continue
		}
		e.acquire(c)
		reply.Granted = append(reply.Granted, e.grant(c))
	}
	left := copy(t.grants, t.grants[len(told):])
	clear(t.grants[left:])
	t.grants = t.grants[:left]
	for i, c := range t.grants {
		if c != nil {
			c.grant = int32(i)
		}
	}
	e.touchApp(t.app)
}

// updated are the containers that have been increased, decreased, promoted or demoted
// as their master asked, and before them those of which an increase was taken back.
func (e *Engine) updated(a *application) []UpdatedContainer {
	out := e.rolledBack(a)
	for _, ch := range e.sched.Updated(a.ref, nil) {
		c := e.containerAt(ch.Container)
		if c == nil {
			continue
		}
		c.seen = nil
		e.touchContainers(a)
		e.touchNode(c.node)
		g := e.grant(c)
		g.Resource, g.Version, g.Execution = ch.After, ch.Version, ch.Execution
		u := UpdatedContainer{Type: ch.Type, Grant: g}
		out = append(out, u)
		e.countUpdate(c, ch.Type)
		// An increase that follows a decrease of which the node has yet to hear takes its place: to the node it may be none.
		told := ch.Type == yarn.DecreaseResource || e.set.AutoUpdate || c.node.updates.has(c.id)
		e.watchSize(c, ch, told)
		if told {
			c.node.updates.put(u)
		}
	}
	return out
}

// nodesChanged are the nodes that became usable or unusable since the last answer to
// the master, each once, as they are now. Of very many the next answer has more.
func (e *Engine) nodesChanged(a *application) []*view.Node {
	from := max(a.updateNodes-e.nodeLogStart, 0)
	if from == len(e.nodeLog) {
		return nil
	}
	var out []*view.Node
	e.tellings++
	for _, n := range e.nodeLog[from:] {
		if n.told != e.tellings {
			if len(out) == MaxNodesTold {
				break
			}
			n.told = e.tellings
			out = append(out, e.seenNode(n))
		}
		from++
	}
	a.updateNodes = e.nodeLogStart + from
	return out
}

// finishMaster: the master unregisters. It calls again until the end is stored.
func (e *Engine) finishMaster(c FinishMaster) {
	t := e.findAttempt(c.Attempt)
	if t == nil {
		e.fail(c.Ticket, refuse(InvalidMaster, "Application attempt %s is unknown", c.Attempt))
		return
	}
	a := t.app
	if a.state.Final() || a.state == yarn.AppFinishing {
		e.reply(c.Ticket, FinishReply{Unregistered: true})
		return
	}
	if t.gone {
		e.fail(c.Ticket, refuse(InvalidMaster, "Application doesn't exist in cache %s", c.Attempt))
		return
	}
	if !t.registered {
		e.fail(c.Ticket, refuse(NotRegistered, "Application Master is trying to unregister before registering for: %s", c.Attempt.Application))
		return
	}
	if t.state == yarn.AttemptRunning {
		e.unregistered(t, c)
	}
	if a.sub.Unmanaged {
		e.replyAtEnd(a, c.Ticket, FinishReply{Unregistered: true})
		return
	}
	e.reply(c.Ticket, FinishReply{Unregistered: false})
}

func (e *Engine) unregistered(t *attempt, c FinishMaster) {
	t.trackingURL = c.TrackingURL
	target := yarn.AttemptFinishing
	if t.app.sub.Unmanaged {
		target = yarn.AttemptFinished
	}
	final := c.FinalStatus
	if final == yarn.FinalUndefined {
		final = yarn.FinalFailed
	}
	e.endAttempt(t, target, final, c.Diagnostics)
	if a := t.app; a.state == yarn.AppRunning || a.state == yarn.AppKilling {
		e.attemptUnregistered(a, t)
	}
}
