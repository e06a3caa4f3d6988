package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/yarn"
)

// node is one NodeManager's life, from its registration on.
type node struct {
	id              yarn.NodeID
	ref             scheduler.NodeRef // NoNode while the scheduler does not use it
	state           yarn.NodeState
	http            string
	rack            string
	label           string
	version         string
	total, physical yarn.Resource
	health          Health
	containersUse   Utilization
	nodeUse         Utilization
	opportunistic   Opportunistic
	lastHeartbeat   int64
	lostReason      string
	drainTimeout    *int32 // of the last drain, seconds; compat: told even after the node was taken back

	responseID   int32 // of the last answered heartbeat
	lease        lease
	drain        *drain                      // its graceful decommission; nil: it does not drain
	cutShort     bool                        // it left while it drained, before everything had ended for which it waited
	pendingDrain *drain                      // a drain of the lists, or a change of it, that is being stored
	placeholder  bool                        // no node: the lists or an order name it, and it has not registered (inactive.go)
	notAdmitted  bool                        // by the lists when they were last read: excluded, or not included
	untracked    bool                        // no list named it then; see setUntracked
	removal      lease                       // since when that holds, once it has left
	held         int                         // containers that the node may still have
	leaving      bool                        // the scheduler, while slices end what the node holds
	waiting      []RegisterNode              // under the same name, until then
	launched     int                         // of those: that it has reported
	load         *opportunistic.Node         // its queue of opportunistic containers; nil: none are placed here
	apps         map[yarn.ApplicationID]bool // that may have something here

	// What the next answer to a heartbeat brings.
	cleanup    []yarn.ContainerID
	cleanApps  []yarn.ApplicationID
	remove     []yarn.ContainerID
	signals    []SignalContainer
	updates    updates
	resized    bool
	overcommit overcommit
	dirty      bool
	published  bool       // readers may know it
	told       uint64     // the last answer to a master that spoke of the node
	seen       *view.Node // as of the last touch; nil when it must be made anew
}

const nodeLostState = yarn.NodeLost

// MaxCleanup bounds what one answer to a heartbeat tells a node to drop; the
// rest goes with the next one.
const MaxCleanup = 10_000

func (e *Engine) registerNode(c RegisterNode) {
	if why := e.turnAway(c); why != "" {
		e.reply(c.Ticket, RegisterNodeReply{Action: NodeShutdown, Diagnostics: why})
		return
	}
	if n := e.nodes[c.Node]; n != nil && n.drain != nil && len(c.Applications)+len(c.Containers) == 0 {
		e.loseNode(n, yarn.NodeDecommissioned, "The node registered anew while it was decommissioned, and has nothing")
		e.reply(c.Ticket, RegisterNodeReply{Action: NodeShutdown, Diagnostics: readyToGo(n.id)})
		return
	}
	if n := e.nodes[c.Node]; n != nil && n.leaving {
		n.waiting = append(n.waiting, c)
		return
	}
	resumed := e.resumeDrain(c)
	accepted, problem := e.nameLabels(c.Node, c.Labels)
	if label := e.labels.of(c.Node); label != "" {
		c.Label = label
	}
	e.dropPlaceholder(c.Node.Host)
	n := e.nodes[c.Node]
	switch {
	case n == nil:
		n = e.newNode(c)
	case !n.state.Usable() && n.state != yarn.NodeUnhealthy:
		e.forgetInactive(n.id)
		n = e.newNode(c)
	default:
		e.reconnect(n, c)
	}
	n.notAdmitted, n.untracked = c.Excluded != "", c.Untracked
	n.resized = n.resized || c.Resized
	if resumed != nil && n.drain == nil {
		e.beginDrain(n, resumed)
	}
	if n.leaving {
		n.waiting = append(n.waiting, c)
		return
	}
	e.nodeLeases.renew(&n.lease, e.now.Mono)
	n.lastHeartbeat, n.responseID = e.now.Wall, 0
	e.fx.Forgotten = append(e.fx.Forgotten, n.id)
	e.bringIn(n, c, RegisterNodeReply{Action: NodeNormal, Diagnostics: problem, LabelsAccepted: accepted})
}

// bringIn follows what a registering node has, and answers it; of very many containers
// the later ones in slices, and until then nothing new comes to the node.
func (e *Engine) bringIn(n *node, c RegisterNode, answer RegisterNodeReply) {
	left, later := c.Containers, false
	follow := func(budget int) (used int, done bool) {
		ended := ends{node: n}
		for ; len(left) > 0 && used < budget; left = left[1:] {
			if r := left[0]; e.byID[r.ID] != nil || !e.adopt(n, r) {
				e.status(n, r.ContainerStatus, &ended)
				if c := e.onNode(n, r.ID); c != nil && c.state == yarn.ContainerRunning && !r.Complete {
					e.heardSize(c, r.Resource)
				}
			}
			used++
		}
		e.followLater(ended)
		if len(left) > 0 {
			return used, false
		}
		for _, id := range c.Applications {
			e.reportedApp(n, id)
		}
		e.followLogs(n, c.Logs)
		e.reply(c.Ticket, answer)
		e.touchNode(n)
		if later && n.ref != scheduler.NoNode && !n.leaving {
			e.sched.SetNodeAccepting(n.ref, n.drain == nil)
			e.sweepDue = true
		}
		return used, true
	}
	if _, done := follow(e.slice()); done {
		return
	}
	if later = true; n.ref != scheduler.NoNode {
		e.sched.SetNodeAccepting(n.ref, false)
	}
	e.jobs = append(e.jobs, follow)
}

// turnAway says why the node may not join, or nothing. One that is draining may come back with what runs there.
func (e *Engine) turnAway(c RegisterNode) string {
	if why := e.refusedByOrder(c); why != "" {
		return why
	}
	if n := e.nodes[c.Node]; c.Excluded != "" && (n == nil || n.drain == nil && n.pendingDrain == nil) && !e.mayResumeDrain(c.Node) {
		return c.Excluded
	}
	if len(e.nodes) >= MaxNodes && e.nodes[c.Node] == nil {
		return fmt.Sprintf("NodeManager %s cannot join: there are %d nodes already, which is the most that one ResourceManager takes", c.Node, len(e.nodes))
	}
	if !e.set.NodeMinimum.FitsIn(c.Total) {
		return fmt.Sprintf("NodeManager from %s doesn't satisfy minimum allocations, Sending SHUTDOWN signal to the NodeManager. Node capabilities are %s; minimums are %dmb and %d vcores",
			c.Node.Host, c.Total, e.set.NodeMinimum.MemoryMB(), e.set.NodeMinimum.VCoreCount())
	}
	return ""
}

func (e *Engine) newNode(c RegisterNode) *node {
	n := &node{
		id: c.Node, ref: scheduler.NoNode, state: yarn.NodeNew,
		apps: map[yarn.ApplicationID]bool{},
	}
	n.lease.node, n.removal.node = n, n
	e.addNode(n)
	e.describeNode(n, c)
	e.counts.nodes[yarn.NodeNew]++
	if c.Health.Healthy {
		e.join(n)
	} else {
		e.countNode(n, yarn.NodeUnhealthy)
	}
	return n
}

func (e *Engine) describeNode(n *node, c RegisterNode) {
	n.http = fmt.Sprintf("%s:%d", c.Node.Host, c.HTTPPort)
	n.rack, n.label, n.version = c.Rack, c.Label, c.Version
	n.total, n.physical, n.health = c.Total, c.Physical, c.Health
	e.redraw(n)
}

// redraw has views made anew of what runs on the node, whose name or label has changed.
func (e *Engine) redraw(n *node) {
	if n.ref == scheduler.NoNode || n.held == 0 {
		return
	}
	for _, ref := range e.sched.ContainersOn(n.ref, math.MaxInt) {
		if c := e.containerAt(ref); c != nil {
			c.seen = nil
			e.touchContainers(c.app)
		}
	}
}

// join makes the node usable.
func (e *Engine) join(n *node) {
	e.countNode(n, yarn.NodeRunning)
	e.putIn(n)
	e.logNode(n)
}

// putIn lets the scheduler use the node.
func (e *Engine) putIn(n *node) {
	e.infos = nil
	n.ref = e.sched.AddNode(scheduler.Node{ID: n.id, Rack: n.rack, Label: n.label, Total: n.total})
	*at(&e.nodeByRef, int(n.ref)) = n
	if n.drain != nil {
		e.sched.SetNodeAccepting(n.ref, false)
	}
	e.sweepDue = true
}

// reconnect: the node registers again without having been missed. One that knows of
// no application and no container has lost all that ran there, also what it had
// started and not reported yet. One that has to leave first, and holds very many
// containers, is leaving afterwards.
func (e *Engine) reconnect(n *node, c RegisterNode) {
	e.forgetQueue(n)
	if n.drain != nil {
		n.drain.resize(c.Total, Overcommit{})
		if n.ref != scheduler.NoNode {
			c.Total, n.resized = n.total, true // it goes on offering what is in use
		}
	} else if c.Total != n.total {
		n.overcommit = overcommit{} // which was said of another size
	}
	if n.ref != scheduler.NoNode && (len(c.Applications)+len(c.Containers) == 0 || n.rack != c.Rack || n.label != c.Label) {
		e.depart(n, "The node registered anew")
	}
	switch {
	case n.leaving:
		return
	case n.ref == scheduler.NoNode:
		e.describeNode(n, c)
		if n.state == yarn.NodeRunning || n.drain != nil {
			e.putIn(n)
		} else {
			e.followHealth(n, c.Health)
		}
		return
	}
	if n.total != c.Total {
		e.sched.SetNodeTotal(n.ref, c.Total)
		e.infos = nil
		e.sweepDue = true
	}
	e.describeNode(n, c)
	e.missing(n, 0, func(yield func(yarn.ContainerID)) {
		for _, r := range c.Containers {
			yield(r.ID)
		}
	})
}

// reportedApp: a registering node still has something of this application.
func (e *Engine) reportedApp(n *node, id yarn.ApplicationID) {
	if a := e.apps[id]; a != nil && !a.state.Final() {
		e.runsOn(a, n)
		return
	}
	if len(n.cleanApps) < MaxCleanup {
		n.cleanApps = append(n.cleanApps, id)
	}
}

// heartbeat is a node's sign of life and, in the mode that Apache's traces
// record, the only opportunity to place something on it.
func (e *Engine) heartbeat(c *Heartbeat) {
	n := e.nodes[c.Node]
	if n == nil || !n.state.Usable() && n.state != yarn.NodeUnhealthy {
		e.strangerBeats(n, c)
		return
	}
	e.nodeLeases.renew(&n.lease, e.now.Mono)
	n.lastHeartbeat = e.now.Wall
	if nextResponse(c.ResponseID) == n.responseID {
		e.reply(c.Ticket, &HeartbeatReply{Duplicate: true})
		return
	}
	if c.ResponseID != n.responseID {
		text := fmt.Sprintf("Too far behind rm response id:%d nm response id:%d", n.responseID, c.ResponseID)
		e.loseNode(n, yarn.NodeRebooted, text)
		e.reply(c.Ticket, &HeartbeatReply{Action: NodeResync, Diagnostics: text})
		return
	}
	n.containersUse, n.nodeUse, n.opportunistic = c.ContainersUse, c.NodeUse, c.Opportunistic
	e.touchNode(n)
	e.followHealth(n, c.Health)
	e.followLogs(n, c.Logs)
	if n.state != yarn.NodeUnhealthy {
		e.statuses(n, c.Containers)
		e.heardSizes(n, c.Increased)
		for _, id := range c.KeepAlive {
			e.reportedApp(n, id)
		}
		e.endOvercommitted(n)
		if n.state == yarn.NodeRunning {
			e.offer(n)
		}
	}
	if e.loads != nil {
		e.heardQueue(n)
	}
	if n.drain != nil && e.followDrain(n) {
		e.endMasters()
		e.reply(c.Ticket, &HeartbeatReply{Action: NodeShutdown, Diagnostics: readyToGo(n.id)})
		return
	}
	accepted, problem := e.nameLabels(n.id, c.Labels)
	if label := e.labels.of(n.id); accepted && label != n.label {
		e.relabel(n, label)
	}
	e.endMasters()
	e.answerHeartbeat(n, c, accepted, problem)
}

// strangerBeats answers a node that is not, or no longer, one of the cluster's.
func (e *Engine) strangerBeats(n *node, c *Heartbeat) {
	if _, ordered := e.orderOf(c.Node); n != nil && n.state == yarn.NodeDecommissioned && (n.notAdmitted || ordered) {
		e.reply(c.Ticket, &HeartbeatReply{Action: NodeShutdown, Diagnostics: fmt.Sprintf("Disallowed NodeManager nodeId: %s hostname: %s", n.id, n.id.Host)})
		return
	}
	e.reply(c.Ticket, &HeartbeatReply{Action: NodeResync, Diagnostics: fmt.Sprintf("Node not found resyncing %s", c.Node)})
}

func (e *Engine) answerHeartbeat(n *node, c *Heartbeat, labels bool, problem string) {
	n.responseID = nextResponse(n.responseID)
	r := &HeartbeatReply{ResponseID: n.responseID, LabelsAccepted: labels, Diagnostics: problem}
	r.CleanupContainers, n.cleanup = takeFirst(distinct(n.cleanup))
	r.CleanupApplications, n.cleanApps = takeFirst(n.cleanApps)
	r.RemoveContainers, n.remove = takeFirst(distinct(n.remove))
	r.Signals, n.signals = takeFirst(n.signals)
	r.Updates = n.updates.take(MaxCleanup)
	for _, id := range r.CleanupApplications {
		delete(n.apps, id)
	}
	if n.resized {
		total := n.total
		r.Total, n.resized = &total, false
	}
	if e.loads != nil {
		r.Queue = e.queueLimit()
	}
	e.reply(c.Ticket, r)
}

// distinct says each container once: a master's word and its node's may both
// have led to an entry.
func distinct(ids []yarn.ContainerID) []yarn.ContainerID {
	if len(ids) < 2 {
		return ids
	}
	slices.SortFunc(ids, yarn.ContainerID.Compare)
	return slices.Compact(ids)
}

// takeFirst takes the first MaxCleanup entries.
func takeFirst[T any](list []T) (taken, rest []T) {
	if len(list) <= MaxCleanup {
		return list, nil
	}
	return list[:MaxCleanup:MaxCleanup], list[MaxCleanup:]
}

// followHealth moves the node between RUNNING and UNHEALTHY.
func (e *Engine) followHealth(n *node, h Health) {
	n.health = h
	switch {
	case n.state == yarn.NodeRunning && !h.Healthy:
		e.countNode(n, yarn.NodeUnhealthy)
		e.depart(n, "The node is unhealthy: "+clip(h.Report, 1024))
		e.logNode(n)
	case n.state == yarn.NodeUnhealthy && h.Healthy && !n.leaving:
		e.join(n)
	}
}

// statuses follows the containers of a heartbeat: first those that run, then
// those that have ended, each in the order of the report.
func (e *Engine) statuses(n *node, list []ContainerStatus) {
	running := 0
	ended := ends{node: n}
	for _, s := range list {
		if !s.Complete && e.status(n, s, &ended) {
			running++
		}
	}
	for _, s := range list {
		if s.Complete {
			e.status(n, s, &ended)
		}
	}
	e.followLater(ended)
	e.missing(n, running, func(yield func(yarn.ContainerID)) {
		for _, s := range list {
			yield(s.ID)
		}
	})
}

// ends are containers of one call that are no longer on their node. Of very many
// the later ones are followed in slices, for a node tells most ends only once.
type ends struct {
	node  *node
	now   int // followed at once
	later []lateEnd
}

type lateEnd struct {
	*container
	status ContainerStatus // not Complete: the node does not tell of it any more
}

func (e *Engine) follow(x *ends, c *container, s ContainerStatus) {
	if x.now < e.slice() {
		x.now++
		e.completed(x.node, c, s)
		return
	}
	c.reported = true
	x.later = append(x.later, lateEnd{c, s})
}

func (e *Engine) followLater(x ends) {
	if len(x.later) == 0 {
		return
	}
	n, later := x.node, x.later
	e.jobs = append(e.jobs, func(budget int) (used int, done bool) {
		for ; len(later) > 0 && used < budget; later = later[1:] {
			if c := later[0].container; e.byID[c.id] == c {
				e.completed(n, c, later[0].status)
			}
			used++
		}
		return used, len(later) == 0
	})
}

// status follows one container. What nobody here knows is cleaned up, or
// acknowledged so that the node may forget it. running tells that it is one of
// ours and has not ended on the node.
func (e *Engine) status(n *node, s ContainerStatus, ended *ends) (running bool) {
	c := e.onNode(n, s.ID)
	switch {
	case c == nil && s.Complete:
		if !e.unheard[s.ID] {
			n.remove = append(n.remove, s.ID)
		}
	case c == nil || !s.Complete && c.state.Final():
		e.stranger(n, s.ID)
	case s.Complete:
		if !c.reported {
			e.follow(ended, c, s)
		}
	case c.state == yarn.ContainerAcquired:
		e.running(c)
	case c.demoted != 0:
		e.heardExecution(c, s.Execution)
	}
	return c != nil && c.launched && !s.Complete
}

// stranger: the node runs a container that it should not. It will be reported
// again, so nothing is lost when the list is full.
func (e *Engine) stranger(n *node, id yarn.ContainerID) {
	if len(n.cleanup) < MaxCleanup {
		n.cleanup = append(n.cleanup, id)
	}
	app := id.Attempt.Application
	if a := e.apps[app]; (a == nil || a.state.Final()) && !n.apps[app] && len(n.cleanApps) < MaxCleanup {
		n.apps[app] = true
		n.cleanApps = append(n.cleanApps, app)
	}
}

// onNode is the container with that id if this node has it.
func (e *Engine) onNode(n *node, id yarn.ContainerID) *container {
	if c := e.byID[id]; c != nil && c.node == n {
		return c
	}
	return nil
}

// completed: the container's process has ended, its node says, or tells no longer
// of it.
func (e *Engine) completed(n *node, c *container, s ContainerStatus) {
	if !s.Complete {
		s.ExitStatus, s.Diagnostics = yarn.ExitAborted, fmt.Sprintf("Container %s was running but not reported from %s", c.id, n.id)
	}
	if !c.state.Final() {
		e.end(c, scheduler.Completed, s.ExitStatus, s.Diagnostics)
	}
	e.vacate(c)
	if s.Complete && !e.unheard[c.id] {
		n.remove = append(n.remove, c.id)
	}
}

// missing ends containers that the node has reported once and no longer does,
// and gives the room of those back that have ended meanwhile. reported counts
// the report's running containers; only a short one is looked at in full.
func (e *Engine) missing(n *node, reported int, each func(func(yarn.ContainerID))) {
	if reported >= n.launched {
		return
	}
	seen := make(map[yarn.ContainerID]bool, reported)
	each(func(id yarn.ContainerID) { seen[id] = true })
	ended := ends{node: n}
	for _, ref := range e.sched.ContainersOn(n.ref, math.MaxInt) {
		c := e.containerAt(ref)
		if c == nil || c.node != n || !c.launched || c.reported || seen[c.id] {
			continue
		}
		e.follow(&ended, c, ContainerStatus{ID: c.id})
	}
	e.followLater(ended)
}

// vacate gives the room of a container back that is no longer on its node.
func (e *Engine) vacate(c *container) {
	if e.byID[c.id] == c {
		e.sched.Vacate(c.ref)
		e.forget(c)
		e.sweepDue = true
	}
}

// depart takes the node out of the scheduler; all that ran there is lost. One that
// holds very many containers is leaving until all of them have ended in slices:
// nothing new comes to it, and who registers under its name waits.
func (e *Engine) depart(n *node, why string) {
	e.forgetQueue(n)
	switch {
	case n.ref == scheduler.NoNode || n.leaving:
	case n.held <= e.slice():
		e.takeOut(n, why)
	default:
		n.leaving = true
		e.sched.SetNodeAccepting(n.ref, false)
		e.begin(func(budget int) (used int, done bool) {
			if n.held > budget {
				e.lose(n, budget, why)
				return budget, false
			}
			used = workOfNode + n.held
			e.takeOut(n, why)
			waiting := n.waiting
			n.leaving, n.waiting = false, nil
			for _, c := range waiting {
				e.registerNode(c)
			}
			return used, true
		})
	}
}

// lose ends the first so many containers of a node that is leaving.
func (e *Engine) lose(n *node, count int, why string) {
	for _, ref := range e.sched.ContainersOn(n.ref, count) {
		c := e.containerAt(ref)
		switch {
		case c == nil || c.node != n:
			if c == nil {
				e.restoreIncrease(ref)
			}
			e.sched.Vacate(ref)
			continue
		case !c.state.Final():
			e.end(c, scheduler.NodeGone, yarn.ExitAborted, lostWith+why)
		}
		e.vacate(c)
	}
}

const lostWith = "Container released on a *lost* node: "

// takeOut takes the node and all that is left there out at once.
func (e *Engine) takeOut(n *node, why string) {
	ref := n.ref
	held := e.sched.ContainersOn(ref, math.MaxInt)
	for _, r := range held {
		if c := e.containerAt(r); c == nil {
			e.restoreIncrease(r)
		} else if c.node == n {
			e.restoreAsk(c)
		}
	}
	lost := e.sched.RemoveNode(ref)
	e.infos = nil
	n.ref = scheduler.NoNode
	for _, ended := range lost {
		e.followEnd(ended, yarn.ExitAborted, lostWith+why)
	}
	e.nodeByRef[ref] = nil
	for _, r := range held { // those that had ended and waited for the node's word
		if c := e.containerAt(r); c != nil && c.node == n {
			e.forget(c)
		}
	}
}

// loseNode ends the node's life: it was lost, rebooted, excluded or left.
func (e *Engine) loseNode(n *node, to yarn.NodeState, why string) {
	e.nodeLeases.drop(&n.lease)
	n.cutShort = n.drain != nil && !e.drained(n)
	e.forgetDrain(n)
	n.lostReason = why
	usable := n.state.Usable()
	e.countNode(n, to)
	e.depart(n, why)
	n.cleanup, n.cleanApps, n.remove, n.signals, n.updates = nil, nil, nil, nil, updates{}
	e.fx.Forgotten = append(e.fx.Forgotten, n.id)
	if usable {
		e.logNode(n)
	}
	e.inactive = append(e.inactive, n.id)
	e.setUntracked(n, n.untracked)
	if len(e.inactive) > MaxInactiveNodes {
		e.forgetInactive(e.inactive[0])
	}
}

// forgetInactive drops a node that left.
func (e *Engine) forgetInactive(id yarn.NodeID) {
	for i, x := range e.inactive {
		if x == id {
			e.inactive = append(e.inactive[:i], e.inactive[i+1:]...)
			break
		}
	}
	if n := e.nodes[id]; n != nil {
		e.counts.nodes[n.state]--
		e.removeNode(n)
		e.removals.drop(&n.removal)
		if n.published {
			e.goneNodes = append(e.goneNodes, id)
		}
	}
}

// logNode lets masters learn that the node's usability has changed.
func (e *Engine) logNode(n *node) {
	e.nodeLog = append(e.nodeLog, n)
	if len(e.nodeLog) > MaxNodeLog {
		e.nodeLog = append(e.nodeLog[:0], e.nodeLog[MaxNodeLog/2:]...)
		e.nodeLogStart += MaxNodeLog / 2
	}
}

func (e *Engine) countNode(n *node, to yarn.NodeState) {
	e.counts.nodes[n.state]--
	e.counts.nodes[to]++
	e.nodeTo(n, to)
}

func (e *Engine) unregisterNode(c UnregisterNode) {
	if n := e.nodes[c.Node]; n != nil && (n.state.Usable() || n.state == yarn.NodeUnhealthy) {
		e.loseNode(n, yarn.NodeShutdown, "The node said good-bye")
	}
	e.after(func() { e.reply(c.Ticket, nil) })
}

func (e *Engine) expireNode(c ExpireNode) {
	if n := e.nodes[c.Node]; n != nil && (n.state.Usable() || n.state == yarn.NodeUnhealthy) {
		e.loseNode(n, yarn.NodeLost, "declared lost")
	}
}
