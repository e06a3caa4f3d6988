// Package capacity decides as Apache's CapacityScheduler does: who is admitted, in which
// order queues and applications are served and when a node is reserved. Package tree has
// the queues and what they are entitled to.
//
// A heartbeat walks from the root to one application and commits one container
// at a time (walk.go, allocate.go, commit.go). Everything that such a walk
// reads is kept up to date where it changes; entitlements only when the cluster or the
// configuration does.
package capacity

import (
	"github.com/heddle-project/heddle/scheduler/capacity/order"
	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Short names of what others define.
type (
	NodeRef      = cluster.NodeRef
	AppRef       = cluster.AppRef
	ContainerRef = cluster.ContainerRef
	Queue        = tree.Queue
	part         = cluster.Part
	resource     = yarn.Resource
)

// queueOf is the queue, as this policy has it.
func queueOf(q *queue.Queue) *Queue { return q.Outer.(*Queue) }

// leafOf is what is kept of a leaf, and parentOf of another queue, in a tree in force.
func leafOf(q *Queue) *leaf     { return q.Facts.(*leaf) }
func parentOf(q *Queue) *parent { return q.Facts.(*parent) }

// marksOf are how the last walks over the queue ended, by mode.
func marksOf(q *Queue) *[2]mark {
	if q.Leaf {
		return &leafOf(q).marks
	}
	return &parentOf(q).marks
}

// parent is what a queue that has queues has besides what every queue has.
type parent struct {
	marks    [2]mark             // by mode: how the last walk that nothing came of ended
	orders   [][2]order.Children // of its children, by partition and mode
	apps     int32               // submitted and not finished
	runnable int32               // not held back by max-parallel-apps
}

// NumApps is how many applications are below.
func (p *parent) NumApps() int32 { return p.apps }

// Applications are those of leaves only.
func (p *parent) Applications(ids []yarn.ApplicationID) []yarn.ApplicationID { return ids }

// runnableApps is how many applications of the queue max-parallel-apps does not hold back.
func runnableApps(q *Queue) int32 {
	if q.Leaf {
		return leafOf(q).runnable
	}
	return parentOf(q).runnable
}

// none tells whether an amount is nothing.
func none(r resource) bool { return r.IsZero() }
