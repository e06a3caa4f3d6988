package engine

import (
	"container/heap"
	"fmt"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// drain is a node's graceful decommission: nothing new comes to the node, and it leaves when it has no container and every
// application that had one there has ended, or at its deadline.
type drain struct {
	since   int64         // wall-clock milliseconds: when it was first asked for
	timeout int32         // seconds from then on; negative: no deadline
	whole   yarn.Resource // what the node offers once it is taken back
}

// deadline is a wall-clock time in milliseconds; 0 is never.
func (d *drain) deadline() int64 {
	if d.timeout < 0 {
		return 0
	}
	return d.since + int64(d.timeout)*1000
}

// drainEnd is the deadline of a draining node. A node may have stale ones in the heap; only the one that equals its own counts.
type drainEnd struct {
	at   int64
	node *node
}

type drainEnds []drainEnd

func (d drainEnds) Len() int { return len(d) }
func (d drainEnds) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].node.id.Compare(d[j].node.id) < 0
}
func (d drainEnds) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *drainEnds) Push(x any)   { *d = append(*d, x.(drainEnd)) }
func (d *drainEnds) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// startDrain begins a drain, or changes the timeout of one that goes on; the clock is not set back.
func (e *Engine) startDrain(n *node, timeout int32) {
	if n.drain == nil {
		n.drain = &drain{since: e.now.Wall, whole: n.total}
		if n.ref != scheduler.NoNode {
			e.sched.SetNodeAccepting(n.ref, false)
			e.sched.Unreserve(n.ref)
		}
		e.countNode(n, yarn.NodeDecommissioning)
		e.logNode(n)
	}
	n.drain.timeout, n.drainTimeout = timeout, &timeout
	if at := n.drain.deadline(); at > 0 {
		heap.Push(&e.drainEnds, drainEnd{at, n})
	}
	e.touchNode(n)
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
	at := n.drain.deadline()
	if e.drained(n) || at > 0 && at <= e.now.Wall {
		e.endDrain(n)
		return true
	}
	if n.ref == scheduler.NoNode || n.leaving {
		return false
	}
	if used := e.sched.NodeUsage(n.ref).Used; used != n.total {
		n.total, n.resized = used, true
		e.sched.SetNodeTotal(n.ref, used)
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
	n.total, n.resized = n.drain.whole, true
	n.drain = nil
	if !n.health.Healthy || n.leaving {
		e.countNode(n, yarn.NodeUnhealthy)
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
			d := heap.Pop(&e.drainEnds).(drainEnd)
			if n := d.node; n.drain != nil && n.drain.deadline() == d.at {
				left -= workOfNode + n.held
				e.endDrain(n)
			}
		}
	})
	return left
}
