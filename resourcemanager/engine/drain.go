package engine

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// drain is the graceful decommission of a node. A draining node gets no new container. It leaves when it has no container and every
// application that had one there has ended, or at the deadline.
//
// The lists of nodes begin a drain by way of RefreshNodes, or an order does (drainorder.go). A drain is stored before it begins.
type drain struct {
	requestedAt int64         // wall-clock milliseconds, of the first request; another deadline or reason does not change it
	deadline    int64         // wall-clock milliseconds; 0: none
	capacity    yarn.Resource // what the node offers again when it is taken back
	overcommit  *Overcommit   // for what it then has no room for; nil: the capacity was not changed
	user        string        // who requested it first
	reason      string
	source      string // as in state.NodeDeadline
	ordered     bool   // an order began it: the lists do not end it
}

// timeout is the deadline as reports give it: seconds from the first request, negative without a deadline.
func (d *drain) timeout() int32 {
	if d.deadline == 0 {
		return -1
	}
	return int32(min((d.deadline-d.requestedAt)/1000, math.MaxInt32))
}

// resize changes what the node offers when it is taken back. Only then do timeouts begin.
func (d *drain) resize(total yarn.Resource, o Overcommit) {
	if total != d.capacity {
		d.capacity, d.overcommit = total, &o
	}
}

// deadlineOf is the deadline of a drain that was requested at that time; 0: none.
func (x Exclusion) deadlineOf(requestedAt int64) int64 {
	switch {
	case x.Deadline > 0:
		return max(x.Deadline, requestedAt)
	case x.Timeout < 0:
		return 0
	}
	return requestedAt + int64(x.Timeout)*1000
}

// requestDrain stores a drain that the lists ask for, or a new deadline or reason of the one under way. It takes effect when it is stored.
func (e *Engine) requestDrain(n *node, x Exclusion, user string, refusal **Error) {
	if e.ordersPending[n.id] > 0 { // the order has the same record: the lists have their turn only if it cannot be stored
		e.whenStored(func() {
			if e.nodes[n.id] == n && n.active() && n.notAdmitted && n.drain == nil {
				e.requestDrain(n, x, user, refusal)
			}
		})
		return
	}
	d := &drain{requestedAt: e.now.Wall, capacity: n.total, user: user, source: sourceLists}
	before := cmp.Or(n.pendingDrain, n.drain)
	if before != nil {
		*d = *before
	}
	d.deadline, d.reason = x.deadlineOf(d.requestedAt), x.Reason
	if before != nil && d.deadline == before.deadline && d.reason == before.reason {
		return
	}
	n.pendingDrain = d
	e.save(state.Put(e.drainRecord(n, d)), saved{what: savedDrain, node: n, drain: d, refusal: refusal})
}

// drainRecord is what a restart needs of the drain.
func (e *Engine) drainRecord(n *node, d *drain) state.NodeDeadline {
	return state.NodeDeadline{Node: n.id, Deadline: d.deadline, RequestedAt: d.requestedAt, RequestedBy: d.user, Reason: d.reason, Source: d.source, Capacity: d.capacity}
}

// drainStored begins a drain, unless the node has left or was taken back meanwhile.
func (e *Engine) drainStored(s saved, err error) {
	n := s.node
	if err != nil && *s.refusal == nil {
		*s.refusal = refuse(NotStored, "Cannot store that %s is decommissioned gracefully; it goes on as before: %v", n.id, err)
	}
	if n.pendingDrain != s.drain {
		return
	}
	n.pendingDrain = nil
	if err == nil {
		e.beginDrain(n, s.drain)
	}
}

// beginDrain puts a stored drain in force: the node begins to drain, or goes on with another deadline or reason.
func (e *Engine) beginDrain(n *node, d *drain) {
	first := n.drain == nil
	if d.capacity, d.overcommit = n.total, nil; !first { // an administrator may have changed it while this was being stored
		d.capacity, d.overcommit = n.drain.capacity, n.drain.overcommit
	}
	timeout := d.timeout()
	n.drain, n.drainTimeout = d, &timeout
	if first {
		if n.ref != scheduler.NoNode {
			e.sched.SetNodeAccepting(n.ref, false)
			e.sched.Unreserve(n.ref)
		}
		e.countNode(n, yarn.NodeDecommissioning)
		e.logNode(n)
	}
	if d.deadline > 0 {
		e.drainEnds.add(d.deadline, n, len(e.nodes), func(d deadline[*node]) bool { return d.of.drain == nil || d.of.drain.deadline != d.at })
	}
	e.touchNode(n)
}

// forgetDrain drops the node's drain, and its record unless that is an order's.
func (e *Engine) forgetDrain(n *node) {
	stored := n.pendingDrain != nil || n.drain != nil && !n.drain.ordered
	n.drain, n.pendingDrain = nil, nil
	if _, ordered := e.drainOrders[n.id]; stored && !ordered && e.ordersPending[n.id] == 0 {
		e.save(state.Remove(state.NodeDeadline{Node: n.id}), saved{what: savedNothing})
	}
}

// recoverDrains brings back stored drains, which go on when their nodes register, and orders.
func (e *Engine) recoverDrains(c Recover) {
	e.interruptedDrains = make(map[yarn.NodeID]state.NodeDeadline, len(c.Drains))
	for _, r := range c.Drains {
		if r.Source == sourceLists {
			e.interruptedDrains[r.Node] = r
		} else {
			e.drainOrders[r.Node] = r
		}
	}
	e.showOrdered()
}

// mayResumeDrain tells whether a node that the lists do not admit may register to go on with a drain from before the restart.
func (e *Engine) mayResumeDrain(id yarn.NodeID) bool {
	r, ok := e.interruptedDrains[id]
	if !ok {
		r, ok = e.orderOf(id)
	}
	return ok && (r.Deadline == 0 || r.Deadline > e.now.Wall)
}

// resumeDrain is the drain with which a registering node goes on, or nil. The deadline is that from before the restart.
func (e *Engine) resumeDrain(c RegisterNode) *drain {
	if r, ordered := e.orderOf(c.Node); ordered {
		return orderedDrain(r, c.Total)
	}
	r, ok := e.interruptedDrains[c.Node]
	if !ok {
		return nil
	}
	delete(e.interruptedDrains, c.Node)
	if c.Excluded == "" {
		e.save(state.Remove(r), saved{what: savedNothing})
		return nil
	}
	return &drain{requestedAt: r.RequestedAt, deadline: r.Deadline, capacity: c.Total, user: r.RequestedBy, reason: r.Reason, source: r.Source}
}

// forgetInterrupted drops the drains of nodes that have not come back since the restart. Had they registered, they would be LOST by now.
func (e *Engine) forgetInterrupted() {
	for _, id := range slices.SortedFunc(maps.Keys(e.interruptedDrains), yarn.NodeID.Compare) {
		if _, ordered := e.drainOrders[id]; !ordered && e.ordersPending[id] == 0 { // else it is the order's record by now
			e.save(state.Remove(state.NodeDeadline{Node: id}), saved{what: savedNothing})
		}
	}
	clear(e.interruptedDrains)
}

// drained tells whether nothing needs the draining node any more. Containers count from their allocation on, reported or not.
func (e *Engine) drained(n *node) bool {
	if n.held > 0 {
		return false
	}
	for id := range n.apps { //tidy:unordered whether there is any
		if a := e.apps[id]; a != nil && !a.state.Final() {
			return false
		}
	}
	return true
}

// followDrain looks at a draining node after its heartbeat. It decommissions the node if nothing needs it or the deadline has passed (left);
// else it lowers what the node offers to what is in use there.
func (e *Engine) followDrain(n *node) (left bool) {
	if at := n.drain.deadline; e.drained(n) || at > 0 && at <= e.now.Wall {
		e.endDrain(n)
		return true
	}
	if n.ref == scheduler.NoNode || n.leaving {
		return false
	}
	if used := e.sched.NodeUsage(n.ref).Used; used != n.total {
		n.total, n.resized = used, true
		e.sched.ShrinkNode(n.ref, used)
		e.infos = nil
	}
	return false
}

// endDrain decommissions a draining node, whatever it still has.
func (e *Engine) endDrain(n *node) {
	why := "Its decommissioning has come to its deadline"
	if e.drained(n) {
		why = "Nothing needs it any more, and it was to be decommissioned"
	}
	e.loseNode(n, yarn.NodeDecommissioned, why)
}

// readyToGo is what a drained node is told with the order to shut down. compat: Apache's words.
func readyToGo(id yarn.NodeID) string {
	return fmt.Sprintf("DECOMMISSIONING %s is ready to be decommissioned", id)
}

// recommission takes a draining node back: it is RUNNING or UNHEALTHY, by its last report, and offers its capacity again.
func (e *Engine) recommission(n *node) {
	d := n.drain
	e.forgetDrain(n)
	if d == nil { // the drain was still being stored
		return
	}
	n.total, n.resized = d.capacity, true
	if d.overcommit != nil {
		defer e.followOvercommit(n, *d.overcommit)
	}
	if !n.health.Healthy || n.leaving {
		e.countNode(n, yarn.NodeUnhealthy)
		if n.ref != scheduler.NoNode {
			e.sched.SetNodeTotal(n.ref, n.total) // depart may take several slices, and the node's books must fit until then
		}
		e.depart(n, "The node is unhealthy: "+clip(n.health.Report, 1024))
		e.logNode(n)
		return
	}
	if n.ref == scheduler.NoNode {
		e.join(n)
		return
	}
	e.countNode(n, yarn.NodeRunning)
	e.sched.SetNodeTotal(n.ref, n.total)
	e.sched.SetNodeAccepting(n.ref, true)
	e.infos, e.sweepDue = nil, true
	e.logNode(n)
}

// endDrains decommissions nodes whose deadline has passed, until left, the work that this slice may still do, is used up. It returns what is
// left of that.
func (e *Engine) endDrains(left int) int {
	e.sched.Together(func() {
		for ; len(e.drainEnds) > 0 && e.drainEnds[0].at <= e.now.Wall && left > 0; left-- {
			d := heap.Pop(&e.drainEnds).(deadline[*node])
			if n := d.of; n.drain != nil && n.drain.deadline == d.at {
				left -= workOfNode + n.held
				e.endDrain(n)
			}
		}
	})
	return left
}

// drainView is what readers see of the node's drain, or of the order that keeps it away; nil: neither.
func (e *Engine) drainView(n *node) *view.Drain {
	d := n.drain
	if d == nil && !n.state.Usable() {
		if r, ordered := e.orderOf(n.id); ordered {
			d = orderedDrain(r, n.total)
		}
	}
	if d == nil {
		return nil
	}
	v := &view.Drain{RequestedAt: d.requestedAt, RequestedBy: d.user, Reason: d.reason, Source: d.source, Deadline: d.deadline, Containers: n.held}
	var waits []yarn.ApplicationID
	for id := range n.apps { //tidy:unordered sorted below
		if a := e.apps[id]; a != nil && !a.state.Final() {
			waits = append(waits, id)
		}
	}
	slices.SortFunc(waits, yarn.ApplicationID.Compare)
	v.WaitsFor, v.Applications = waits[:min(len(waits), view.MaxWaitsFor)], len(waits)
	return v
}
