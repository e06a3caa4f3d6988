package rest

import (
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// onlyQueue is the FifoScheduler's queue and nodes; it has only memory.
func onlyQueue(q *queue.Info, c *view.Cluster) *tree.Object {
	m := &c.Metrics.Amounts
	o := &tree.Object{Type: "fifoScheduler"}
	return o.Add("capacity", float32(1)).
		Add("usedCapacity", q.Fifo.UsedCapacity).
		Add("qstate", q.State.String()).
		Add("minQueueMemoryCapacity", c.MinAllocation.MemoryMB()).
		Add("maxQueueMemoryCapacity", q.MaxAllocation.MemoryMB()).
		Add("numNodes", c.Metrics.NodesByState[yarn.NodeRunning]).
		Add("usedNodeCapacity", m.Allocated.MemoryMB()).
		Add("availNodeCapacity", m.Available.MemoryMB()).
		Add("totalNodeCapacity", m.Total.MemoryMB()).
		Add("numContainers", q.Default.AllocatedContainers)
}
