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

// drain is a node's graceful decommission: nothing new comes to the node, and it leaves when it has no container and every
// application that had one there has ended, or at its deadline.
type drain struct {
	since    int64         // wall-clock milliseconds: when it was first asked for
	deadline int64         // wall-clock milliseconds; 0: none
	whole    yarn.Resource // what the node offers once it is taken back
	user     string        // who asked for it
	reason   string
	source   string // as in state.NodeDeadline
	ordered  bool   // by an order, which holds whatever the lists say
}

// timeout is what reports call the deadline: seconds from the first request on, negative without one.
func (d *drain) timeout() int32 {
	if d.deadline == 0 {
		return -1
	}
	return int32(min((d.deadline-d.since)/1000, math.MaxInt32))
}

// deadlineOf is when a drain that began at since comes to its end, as the lists have it.
func (x Exclusion) deadlineOf(since int64) int64 {
	switch {
	case x.Deadline > 0:
		return max(x.Deadline, since)
	case x.Timeout < 0:
		return 0
	}
	return since + int64(x.Timeout)*1000
}

// wantDrain has a drain stored, or another deadline or reason of one that goes on; a timeout still counts from the first request. It
// begins when it is stored.
func (e *Engine) wantDrain(n *node, x Exclusion, user string, refusal **Error) {
	if e.ordersAsked[n.id] > 0 { // an order that is being stored has the same record, and makes the node drain unless it is refused
		e.whenStored(func() {
			if e.nodes[n.id] == n && n.active() && n.barred && n.drain == nil {
				e.wantDrain(n, x, user, refusal)
			}
		})
		return
	}
	d := &drain{since: e.now.Wall, whole: n.total, user: user, source: sourceLists}
	before := cmp.Or(n.wanted, n.drain)
	if before != nil {
		*d = *before
	}
	d.deadline, d.reason = x.deadlineOf(d.since), x.Reason
	if before != nil && d.deadline == before.deadline && d.reason == before.reason {
		return
	}
	n.wanted = d
	e.save(state.Put(e.drainRecord(n, d)), saved{what: savedDrain, node: n, drain: d, refusal: refusal})
}

// drainRecord is what a restart would need of the drain.
func (e *Engine) drainRecord(n *node, d *drain) state.NodeDeadline {
	return state.NodeDeadline{Node: n.id, Deadline: d.deadline, RequestedAt: d.since, RequestedBy: d.user, Reason: d.reason, Source: d.source, Capacity: d.whole}
}

// drainStored begins a drain, unless the node has gone or was taken back meanwhile.
func (e *Engine) drainStored(s saved, err error) {
	n := s.node
	if err != nil && *s.refusal == nil {
		*s.refusal = refuse(NotStored, "Cannot store that %s is decommissioned gracefully; it goes on as before: %v", n.id, err)
	}
	if n.wanted != s.drain {
		return
	}
	n.wanted = nil
	if err == nil {
		e.beginDrain(n, s.drain)
	}
}

// beginDrain begins a drain that is stored, or changes its timeout.
func (e *Engine) beginDrain(n *node, d *drain) {
	first := n.drain == nil
	if d.whole = n.total; !first { // what it offers may have been changed while this was stored
		d.whole = n.drain.whole
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

// forgetDrain ends what there is of a drain, in the store too. An order stays until it is taken back.
func (e *Engine) forgetDrain(n *node) {
	stored := n.wanted != nil || n.drain != nil && !n.drain.ordered
	n.drain, n.wanted = nil, nil
	if _, ordered := e.drainOrders[n.id]; stored && !ordered && e.ordersAsked[n.id] == 0 {
		e.save(state.Remove(state.NodeDeadline{Node: n.id}), saved{what: savedNothing})
	}
}

// recoverDrains keeps the drains that were begun before the restart until their nodes register, and orders until they are taken back.
func (e *Engine) recoverDrains(c Recover) {
	e.interrupted = make(map[yarn.NodeID]state.NodeDeadline, len(c.Drains))
	for _, r := range c.Drains {
		if r.Source == sourceLists {
			e.interrupted[r.Node] = r
		} else {
			e.drainOrders[r.Node] = r
		}
	}
	e.showOrdered()
}

// resumable tells whether the node may finish what it began to drain before a restart.
func (e *Engine) resumable(id yarn.NodeID) bool {
	r, ok := e.interrupted[id]
	if !ok {
		r, ok = e.orderOf(id)
	}
	return ok && (r.Deadline == 0 || r.Deadline > e.now.Wall)
}

// resumeDrain is the drain that a registering node goes on with, to the same deadline, or nil.
func (e *Engine) resumeDrain(c RegisterNode) *drain {
	if r, ordered := e.orderOf(c.Node); ordered {
		return orderedDrain(r, c.Total)
	}
	r, ok := e.interrupted[c.Node]
	if !ok {
		return nil
	}
	delete(e.interrupted, c.Node)
	if c.Excluded == "" {
		e.save(state.Remove(r), saved{what: savedNothing})
		return nil
	}
	return &drain{since: r.RequestedAt, deadline: r.Deadline, whole: c.Total, user: r.RequestedBy, reason: r.Reason, source: r.Source}
}

// giveUpDrains forgets the drains of nodes that have not come back after a restart: by now they would be lost.
func (e *Engine) giveUpDrains() {
	for _, id := range slices.SortedFunc(maps.Keys(e.interrupted), yarn.NodeID.Compare) {
		if _, ordered := e.drainOrders[id]; !ordered && e.ordersAsked[id] == 0 { // else the record is the order's by now
			e.save(state.Remove(state.NodeDeadline{Node: id}), saved{what: savedNothing})
		}
	}
	clear(e.interrupted)
}

// drained tells whether nobody needs the draining node any more. What was allocated there and not reported yet needs it, too.
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

// followDrain lets a draining node go that nobody needs or whose time is up, and cuts down what it offers to what is in use. left tells
// that the node has gone.
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

func (e *Engine) endDrain(n *node) {
	why := "Its decommissioning has come to its deadline"
	if e.drained(n) {
		why = "Nothing needs it any more, and it was to be decommissioned"
	}
	e.loseNode(n, yarn.NodeDecommissioned, why)
}

// readyToGo is what the node is told that has been drained.
func readyToGo(id yarn.NodeID) string {
	return fmt.Sprintf("DECOMMISSIONING %s is ready to be decommissioned", id)
}

// recommission takes a draining node back, as healthy as it is, with all that it offers.
func (e *Engine) recommission(n *node) {
	d := n.drain
	e.forgetDrain(n)
	if d == nil { // it was not stored yet
		return
	}
	n.total, n.resized = d.whole, true
	if !n.health.Healthy || n.leaving {
		e.countNode(n, yarn.NodeUnhealthy)
		if n.ref != scheduler.NoNode {
			e.sched.SetNodeTotal(n.ref, n.total) // it may leave in slices
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

// endDrains decommissions nodes whose deadline has passed, as many as a slice of work has room for; it says what is left of that.
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

// drainView is what readers see of a node's drain, or of the order that keeps it away.
func (e *Engine) drainView(n *node) *view.Drain {
	d := n.drain
	if r, ordered := e.orderOf(n.id); d == nil && ordered && !n.state.Usable() {
		d = orderedDrain(r, n.total)
	}
	if d == nil {
		return nil
	}
	v := &view.Drain{RequestedAt: d.since, RequestedBy: d.user, Reason: d.reason, Source: d.source, Deadline: d.deadline, Containers: n.held}
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
