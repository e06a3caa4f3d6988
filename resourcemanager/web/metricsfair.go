package web

import (
	"math"

	"github.com/heddle-project/heddle/internal/introspect"
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

// room is what the queue could still get.
//
// compat: under the FairScheduler only the root has it, of the whole cluster.
func room(q *queue.Info, cluster yarn.Resource) yarn.Resource {
	switch {
	case q.Fair == nil:
		return q.Default.EffectiveMax.Sub(q.Default.Used)
	case q.Parent == "":
		return cluster.Sub(q.Default.Used)
	}
	return yarn.Resource{}
}
