package web

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// service is the daemon's name in /jmx and /prom.
const service = "ResourceManager"

// beans are the metrics of the cluster and of its queues, as Hadoop names them.
// A ResourceManager that is not active tells its state only.
func beans(ctx context.Context, s access.Source) []introspect.Bean {
	d := s.Daemon(ctx)
	out := []introspect.Bean{{Name: "Hadoop:service=ResourceManager,name=RMInfo", Type: "RMInfo", Attributes: []introspect.Attribute{
		{Name: "State", Value: strings.ToLower(d.HAState)}, {Name: "SecurityEnabled", Value: false}}}}
	c, err := s.Cluster(ctx, view.Everything)
	if err != nil {
		return out
	}
	out = append(out, loopBean(&d.Holds), clusterBean(c), nodesBean(c))
	counts := countApplications(c)
	for i := range c.Queues.Queues {
		q := &c.Queues.Queues[i]
		out = append(out, queueBean(c, q, counts[q.Path]))
	}
	return out
}

func clusterBean(c *view.Cluster) introspect.Bean {
	n := func(state yarn.NodeState) int { return c.Metrics.NodesByState[state] }
	var mb int64
	var cpu float64
	for _, node := range c.Nodes {
		if node.State.Usable() {
			mb += int64(node.NodeUse.PhysicalMemoryMB)
			cpu += float64(node.NodeUse.CPU)
		}
	}
	b := introspect.Metrics(service, "ClusterMetrics", "yarn",
		introspect.Gauge("CapabilityMB", c.Metrics.Total.MemoryMB(), "memory of all active nodes, MiB"),
		introspect.Gauge("CapabilityVirtualCores", c.Metrics.Total.VCoreCount(), "vcores of all active nodes"),
		introspect.Gauge("NumActiveNMs", n(yarn.NodeRunning), "nodes that run"),
		introspect.Gauge("NumDecommissionedNMs", n(yarn.NodeDecommissioned), "nodes taken out"),
		introspect.Gauge("NumDecommissioningNMs", n(yarn.NodeDecommissioning), "nodes being drained"),
		introspect.Gauge("NumLostNMs", n(yarn.NodeLost), "nodes that fell silent"),
		introspect.Gauge("NumRebootedNMs", n(yarn.NodeRebooted), "nodes that came back as others"),
		introspect.Gauge("NumShutdownNMs", n(yarn.NodeShutdown), "nodes that said good-bye"),
		introspect.Gauge("NumUnhealthyNMs", n(yarn.NodeUnhealthy), "nodes that call themselves unfit"),
		introspect.Gauge("UtilizedMB", mb, "memory that the nodes' machines measure as used, MiB"),
		introspect.Gauge("UtilizedVirtualCores", int64(cpu), "cores that the nodes' machines measure as busy"),
	)
	b.Attributes = append([]introspect.Attribute{{Name: "tag.ClusterMetrics", Value: service}}, b.Attributes...)
	return b
}

// loopMetrics is the one record that Hadoop does not have.
const loopMetrics = "LoopMetrics"

// loopBean tells what has held the loop for long; the last of it as a text of JSON.
func loopBean(h *access.Holds) introspect.Bean {
	last := h.Last
	if last == nil {
		last = []access.Hold{}
	}
	text, _ := json.Marshal(last)
	b := introspect.Metrics(service, loopMetrics, "yarn",
		introspect.Counter("LongHolds", h.Count, "commands that held the loop for 5 ms or more"),
		introspect.Gauge("LongestHoldMillis", h.Longest.Millis, "the longest time for which one command held the loop"),
		introspect.Counter("Publications", h.Publications, "publications of views for readers"),
		introspect.Counter("PublishingMillis", h.PublishingMillis, "the loop's time for them, ms"))
	b.Attributes = append(b.Attributes, introspect.Attribute{Name: "LongestHold", Value: h.Longest.What},
		introspect.Attribute{Name: "LastHolds", Value: string(text)})
	return b
}

// nodesBean lists the nodes that can be used, as a text of JSON.
func nodesBean(c *view.Cluster) introspect.Bean {
	type node struct {
		HostName, Rack, State, NodeID, NodeHTTPAddress string
		LastHealthUpdate                               int64
		HealthReport, NodeManagerVersion               string
		NumContainers                                  int
		UsedMemoryMB, AvailableMemoryMB                int64
	}
	list := []node{}
	for _, n := range c.Nodes {
		if n.State.Usable() {
			list = append(list, node{n.ID.Host, n.Rack, n.State.String(), n.ID.String(), n.HTTPAddress, n.LastHealth, n.HealthReport, n.Version,
				n.Containers, n.Used.MemoryMB(), n.Available.MemoryMB()})
		}
	}
	text, _ := json.Marshal(list)
	spelled := strings.ReplaceAll(string(text), `"NodeID":`, `"NodeId":`)
	return introspect.Bean{Name: "Hadoop:service=ResourceManager,name=RMNMInfo", Type: "RMNMInfo",
		Attributes: []introspect.Attribute{{Name: "LiveNodeManagers", Value: spelled}}}
}

// appCounts are the applications of a queue and of those below it.
type appCounts struct{ pending, running int64 }

func countApplications(c *view.Cluster) map[string]appCounts {
	out := map[string]appCounts{}
	for _, a := range c.Applications {
		var one appCounts
		switch {
		case a.State.Final(), a.Current() == nil: // compat: one without an attempt, be it rejected, does not wait in the queue
			continue
		case a.PublicState == yarn.PublicRunning:
			one.running = 1
		default:
			one.pending = 1
		}
		for path := a.Queue; path != ""; {
			n := out[path]
			out[path] = appCounts{n.pending + one.pending, n.running + one.running}
			i := strings.LastIndexByte(path, '.')
			path = path[:max(i, 0)]
		}
	}
	return out
}

// queueBean is one queue in the default partition. The containers ever granted are told for the root alone: the others' are not kept.
func queueBean(c *view.Cluster, q *queue.Info, apps appCounts) introspect.Bean {
	name := "QueueMetrics"
	for i, part := range strings.Split(q.Path, ".") {
		name += ",q" + strconv.Itoa(i) + "=" + part
	}
	b := introspect.Metrics(service, name, "yarn", queueShare(q)...)
	b.Attributes = append([]introspect.Attribute{{Name: "tag.Queue", Value: q.Path}}, b.Attributes...)
	if q.Parent == "" {
		apps = appCounts{c.Metrics.Pending, c.Metrics.Running}
	}
	b.Attributes = append(b.Attributes,
		introspect.Gauge("AppsPending", apps.pending, "applications before their master runs"),
		introspect.Gauge("AppsRunning", apps.running, "applications whose master runs"))
	b.Attributes = append(b.Attributes,
		introspect.Counter("AppsSubmitted", q.Counts.Submitted, "applications that the queue took"),
		introspect.Counter("AppsCompleted", q.Counts.Completed, "of these, those that ended by themselves"),
		introspect.Counter("AppsFailed", q.Counts.Failed, "of these, those that failed"),
		introspect.Counter("AppsKilled", q.Counts.Killed, "of these, those that were killed"))
	if q.Parent == "" {
		b.Attributes = append(b.Attributes, introspect.Counter("AggregateContainersAllocated", c.Metrics.GrantsTotal, "containers ever granted"))
	}
	return b
}

func queueShare(q *queue.Info) []introspect.Attribute {
	d := &q.Default
	free, allocated := d.EffectiveMax.Sub(d.Used), d.Used.Sub(d.Reserved)
	return append(capacityShare(q),
		introspect.Gauge("ActiveApplications", q.ActiveApps, "applications that compete"),
		introspect.Gauge("ActiveUsers", q.ActiveUsers, "users with applications"),
		introspect.Gauge("AllocatedContainers", d.AllocatedContainers, "containers"),
		introspect.Gauge("AllocatedMB", allocated.MemoryMB(), "memory of containers, MiB"),
		introspect.Gauge("AllocatedVCores", allocated.VCoreCount(), "vcores of containers"),
		introspect.Gauge("AvailableMB", max(free.MemoryMB(), 0), "memory up to the maximum, MiB"),
		introspect.Gauge("AvailableVCores", max(free.VCoreCount(), 0), "vcores up to the maximum"),
		introspect.Gauge("PendingContainers", d.PendingContainers, "containers asked for"),
		introspect.Gauge("PendingMB", d.Pending.MemoryMB(), "memory asked for, MiB"),
		introspect.Gauge("PendingVCores", d.Pending.VCoreCount(), "vcores asked for"),
		introspect.Gauge("ReservedContainers", d.ReservedContainers, "reservations"),
		introspect.Gauge("ReservedMB", d.Reserved.MemoryMB(), "reserved memory, MiB"),
		introspect.Gauge("ReservedVCores", d.Reserved.VCoreCount(), "reserved vcores"),
	)
}

// capacityShare is what only the CapacityScheduler's queues tell.
func capacityShare(q *queue.Info) []introspect.Attribute {
	if q.Capacity == nil {
		return nil
	}
	d, c := &q.Default, &q.Capacity.Default
	return []introspect.Attribute{
		introspect.Gauge("AMResourceLimitMB", c.AMLimit.MemoryMB(), "memory that masters may have, MiB"),
		introspect.Gauge("AMResourceLimitVCores", c.AMLimit.VCoreCount(), "vcores that masters may have"),
		introspect.Gauge("AbsoluteUsedCapacity", c.AbsoluteUsed, "part of the cluster that is used"),
		introspect.Gauge("GuaranteedAbsoluteCapacity", c.AbsoluteCapacity, "part of the cluster that is guaranteed"),
		introspect.Gauge("GuaranteedCapacity", c.Capacity, "part of the parent that is guaranteed"),
		introspect.Gauge("GuaranteedMB", d.EffectiveMin.MemoryMB(), "guaranteed memory, MiB"),
		introspect.Gauge("GuaranteedVCores", d.EffectiveMin.VCoreCount(), "guaranteed vcores"),
		introspect.Gauge("MaxAbsoluteCapacity", c.AbsoluteMax, "part of the cluster that it may grow to"),
		introspect.Gauge("MaxCapacity", c.MaxCapacity, "part of the parent that it may grow to"),
		introspect.Gauge("MaxCapacityMB", d.EffectiveMax.MemoryMB(), "memory that it may grow to, MiB"),
		introspect.Gauge("MaxCapacityVCores", d.EffectiveMax.VCoreCount(), "vcores that it may grow to"),
		introspect.Gauge("UsedAMResourceMB", c.AMUsed.MemoryMB(), "memory of masters, MiB"),
		introspect.Gauge("UsedAMResourceVCores", c.AMUsed.VCoreCount(), "vcores of masters"),
		introspect.Gauge("UsedCapacity", c.UsedCapacity, "part of what is guaranteed that is used"),
	}
}
