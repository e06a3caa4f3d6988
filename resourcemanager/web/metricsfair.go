package web

import (
	"math"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// fairShare is what only queues of the FairScheduler have.
//
// compat: vcores without a limit are the largest number of 32 bits, memory without one is that of 64.
func fairShare(q *queue.Info) []introspect.Attribute {
	f := q.Fair
	if f == nil {
		return nil
	}
	out := []introspect.Attribute{{Name: "tag.SchedulingPolicy", Value: f.Policy}}
	for _, x := range []struct {
		name, what string
		r          yarn.Resource
	}{
		{"AmResourceUsage", "of masters", f.AMUsed},
		{"FairShare", "that the queue is entitled to among those with applications that run", f.FairShare},
		{"MaxAMShare", "that masters may have, as of the last look at one that waits", f.AMLimit},
		{"MaxShare", "that the queue may have at most", f.MaxShare},
		{"MinShare", "that the queue has at least, if it wants them", f.MinShare},
		{"SteadyFairShare", "that the queue is entitled to among all queues", f.SteadyShare},
	} {
		out = append(out, introspect.Gauge(x.name+"MB", x.r.MemoryMB(), "memory "+x.what+", MiB"),
			introspect.Gauge(x.name+"VCores", min(x.r.VCoreCount(), math.MaxInt32), "vcores "+x.what))
	}
	return append(out, introspect.Gauge("MaxApps", f.MaxApps, "applications that may run at once"))
}

// room is what the queue could still get in a partition.
//
// compat: under the CapacityScheduler that is what it is guaranteed and has not used, under the FairScheduler only the root has it, of the whole
// cluster.
func room(q *queue.Info, label string, s *queue.Share, total yarn.Resource) (free yarn.Resource) {
	if q.Capacity == nil {
		if q.Parent == "" || q.Fair == nil {
			return total.Sub(s.Used)
		}
		return yarn.Resource{}
	}
	part := q.Capacity.Default.AbsoluteCapacity
	if label != "" {
		part = q.Capacity.Partitions[label].AbsoluteCapacity
	}
	for i, n := range total {
		free[i] = int64(float64(n)*float64(part)) - s.Used[i]
	}
	return free
}

// totalOf is what a partition has; under the FairScheduler, what the cluster has.
func totalOf(c *view.Cluster, label string) yarn.Resource {
	switch root := &c.Queues.Queues[0]; {
	case label != "":
		return root.Partitions[label].EffectiveMax
	case root.Capacity != nil:
		return c.Metrics.Default.Total
	}
	return c.Metrics.Total
}
