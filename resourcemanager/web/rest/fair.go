package rest

import (
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// fairWriter writes the FairScheduler's queues.
type fairWriter struct {
	all     *queue.Snapshot
	cluster *view.Cluster
	left    int // how many queues may still be written
	amounts map[yarn.Resource]*tree.Object
	none    *tree.Object // a minimum that is not configured
}

// fairScheduler is the scheduler with all its queues.
func fairScheduler(root *queue.Info, c *view.Cluster) *tree.Object {
	o := &tree.Object{Type: "fairScheduler"}
	return o.Add("rootQueue", newFairWriter(c, maxQueues).queue(root, 0))
}

// newFairWriter makes a writer of at most so many queues and the root.
func newFairWriter(c *view.Cluster, most int) *fairWriter {
	return &fairWriter{all: c.Queues, cluster: c, left: most, amounts: map[yarn.Resource]*tree.Object{},
		none: bounded(c.ResourceTypes, yarn.Resource{}, c.MinAllocation, c.MaxAllocation).Keep()}
}

// resource is the JSON of an amount. Many amounts are equal: each is made once.
func (w *fairWriter) resource(r yarn.Resource) *tree.Object {
	o := w.amounts[r]
	if o == nil {
		o = resource(w.cluster.ResourceTypes, r).Keep()
		if len(w.amounts) < maxOften {
			w.amounts[r] = o
		}
	}
	return o
}

// least is the configured minimum.
//
// compat: the rows of a queue without one have the bounds of a container.
func (w *fairWriter) least(r yarn.Resource) *tree.Object {
	if r.IsZero() {
		return w.none
	}
	return w.resource(r)
}

// queue writes a queue and those below it.
//
// compat: the queues of a plan are not shown, and such a queue is never preemptable. Of reservations only memory and vcores are shown.
func (w *fairWriter) queue(q *queue.Info, depth int) *tree.Object {
	d, f, total, reserved := &q.Default, q.Fair, w.cluster.Metrics.Total, q.Default.Reserved
	clear(reserved[yarn.VCores+1:])
	o := tree.New()
	if q.Leaf {
		o.Type = "fairSchedulerLeafQueueInfo"
	}
	o.Add("maxApps", f.MaxApps).
		Add("minResources", w.least(f.MinShare)).
		Add("maxResources", w.resource(f.Most(total))).
		Add("usedResources", w.resource(d.Used.Sub(d.Reserved))).
		Add("amUsedResources", w.resource(f.AMUsed)).
		Add("amMaxResources", w.resource(f.AMLimit)).
		Add("demandResources", w.resource(f.Demand)).
		Add("steadyFairResources", w.resource(f.SteadyShare)).
		Add("fairResources", w.resource(f.FairShare)).
		Add("clusterResources", w.resource(total)).
		Add("reservedResources", w.resource(reserved)).
		Add("maxContainerAllocation", w.resource(q.MaxAllocation)).
		Add("pendingContainers", d.PendingContainers).
		Add("allocatedContainers", d.AllocatedContainers).
		Add("reservedContainers", d.ReservedContainers).
		Add("queueName", q.Path).
		Add("schedulingPolicy", f.Policy).
		Add("preemptable", f.Preemptable && !f.Plan)
	switch {
	case q.Leaf:
		o.Add("numPendingApps", q.PendingApps).Add("numActiveApps", q.ActiveApps)
	case !f.Plan:
		o.Add("childQueues", w.children(q, depth+1))
	}
	return o
}

// children are the queues below, in order of creation. There may be very many, so the JSON of each is made only when it is written.
func (w *fairWriter) children(q *queue.Info, depth int) *tree.Object {
	return tree.New().Add("queue", tree.Stream(func(yield func(tree.Value) bool) {
		for _, path := range q.Children {
			child, ok := w.all.ByPath(path)
			if w.left--; ok && depth <= maxDepth && w.left >= 0 && !yield(w.queue(child, depth)) {
				return
			}
		}
	}))
}
