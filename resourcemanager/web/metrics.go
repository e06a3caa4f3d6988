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

// beans are the metrics of the cluster and of its queues, under Hadoop's names. A
// ResourceManager that is not active has only those about its state.
func beans(ctx context.Context, s access.Source) []introspect.Bean {
	d := s.Daemon(ctx)
	out := []introspect.Bean{{Name: "Hadoop:service=ResourceManager,name=RMInfo", Type: "RMInfo", Attributes: []introspect.Attribute{
		{Name: "State", Value: strings.ToLower(d.HAState)}, {Name: "SecurityEnabled", Value: false}}}}
	if d.Role != nil {
		out = append(out, roleBean(&d))
	}
	c, err := s.Cluster(ctx, view.Everything)
	if err != nil {
		return out
	}
	out = append(out, loopBean(&d.Holds), clusterBean(c), nodesBean(c))
	if lent := c.Metrics.Opportunistic; lent != nil {
		out = append(out, opportunisticBean(lent))
	}
	if d.Allocations != nil {
		out = append(out, allocationsBean(d.Allocations))
	}
	counts := countApplications(c)
	for i := range c.Queues.Queues {
		q := &c.Queues.Queues[i]
		out = append(out, queueBean(c, q, counts[q.Path]))
	}
	return append(out, waitBeans(ctx, s)...)
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
		introspect.Gauge("NumActiveNMs", n(yarn.NodeRunning), "nodes that are RUNNING"),
		introspect.Gauge("NumDecommissionedNMs", n(yarn.NodeDecommissioned), "nodes that are DECOMMISSIONED"),
		introspect.Gauge("NumDecommissioningNMs", n(yarn.NodeDecommissioning), "nodes that are DECOMMISSIONING"),
		introspect.Gauge("NumLostNMs", n(yarn.NodeLost), "nodes that are LOST: no heartbeat for too long"),
		introspect.Gauge("NumRebootedNMs", n(yarn.NodeRebooted), "nodes that are REBOOTED: told to resync"),
		introspect.Gauge("NumShutdownNMs", n(yarn.NodeShutdown), "nodes that are SHUTDOWN: unregistered, or in neither list"),
		introspect.Gauge("NumUnhealthyNMs", n(yarn.NodeUnhealthy), "nodes that report themselves UNHEALTHY"),
		introspect.Gauge("UtilizedMB", mb, "measured memory use of the nodes' machines, MiB"),
		introspect.Gauge("UtilizedVirtualCores", int64(cpu), "measured use of the nodes' machines, cores"),
	)
	b.Attributes = append([]introspect.Attribute{{Name: "tag.ClusterMetrics", Value: service}}, b.Attributes...)
	return b
}

// opportunisticBean counts opportunistic containers. How long they wait for a node is not told.
func opportunisticBean(o *view.Opportunistics) introspect.Bean {
	const name = "OpportunisticSchedulerMetrics"
	b := introspect.Metrics(service, name, "yarn",
		introspect.Gauge("AllocatedOContainers", o.Allocated-o.Released, "opportunistic containers that have not ended"),
		introspect.Counter("AggregateOContainersAllocated", o.Allocated, "opportunistic containers that were allocated, or made so by a demotion"),
		introspect.Counter("AggregateOContainersReleased", o.Released, "opportunistic containers that have ended, or were promoted"),
		introspect.Counter("AggregateNodeLocalOContainersAllocated", o.NodeLocal, "of those that were allocated: on a host that was asked for"),
		introspect.Counter("AggregateRackLocalOContainersAllocated", o.RackLocal, "of those that were allocated: in a rack that was asked for"),
		introspect.Counter("AggregateOffSwitchOContainersAllocated", o.OffSwitch, "of those that were allocated: anywhere"))
	b.Attributes = append([]introspect.Attribute{{Name: "tag." + name, Value: service}}, b.Attributes...)
	return b
}

// loopMetrics is a bean that Hadoop does not have.
const loopMetrics = "LoopMetrics"

// loopBean has the commands that held the loop for long; the last ones as a JSON text.
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
		introspect.Counter("PublishingMillis", h.PublishingMillis, "time that publications of views took, ms"))
	b.Attributes = append(b.Attributes, introspect.Attribute{Name: "LongestHold", Value: h.Longest.What},
		introspect.Attribute{Name: "LastHolds", Value: string(text)})
	return b
}

// electionMetrics is a bean that Hadoop does not have.
const electionMetrics = "ElectionMetrics"

// roleBean tells who is active, as far as this ResourceManager knows.
func roleBean(d *access.Daemon) introspect.Bean {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	r := d.Role
	b := introspect.Metrics(service, electionMetrics, "yarn",
		introspect.Gauge("Active", flag(d.HAState == "ACTIVE"), "1 while this ResourceManager is the active one"),
		introspect.Gauge("Since", r.Since, "when it has become active, or a standby, ms since 1970"),
		introspect.Counter("Actives", r.Actives, "how often it has become active"),
		introspect.Gauge("Connected", flag(r.Connected), "1 while it is in touch with the election's ZooKeeper"))
	if c := r.Copy; c != nil {
		b.Attributes = append(b.Attributes,
			introspect.Gauge("CopyWhole", flag(c.Whole), "1 while a standby has a copy of the state store, so that it need not read all to take over"),
			introspect.Gauge("CopyRecords", c.Records, "records of that copy"),
			introspect.Gauge("CopyBytes", c.Bytes, "bytes of that copy"),
			introspect.Gauge("CopyBehind", c.Behind, "changes of the state store that a standby knows of and has not read yet"))
	}
	for _, a := range [][2]string{{"Id", r.ID}, {"Why", r.Why}, {"Election", r.Election}, {"Holder", r.Holder}} {
		b.Attributes = append(b.Attributes, introspect.Attribute{Name: a[0], Value: a[1]})
	}
	return b
}

// allocationMetrics is a bean that Hadoop does not have.
const allocationMetrics = "AllocationFileMetrics"

// allocationsBean tells whether the FairScheduler's allocation file is in force.
func allocationsBean(a *access.Allocations) introspect.Bean {
	refused := 0
	if a.Problem != "" {
		refused = 1
	}
	b := introspect.Metrics(service, allocationMetrics, "yarn",
		introspect.Gauge("Refused", refused, "1 while the allocation file cannot be used and the queues are those of an earlier one"),
		introspect.Gauge("RefusedSince", a.Since, "when that began, ms since 1970; 0: it has not"),
		introspect.Gauge("LoadedAt", a.LoadedAt, "when the allocation file in force was read, ms since 1970"))
	b.Attributes = append(b.Attributes, introspect.Attribute{Name: "File", Value: a.File}, introspect.Attribute{Name: "Problem", Value: a.Problem})
	return b
}

// nodesBean lists the usable nodes as a JSON text.
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

// countApplications counts those that have not ended, by queue.
//
// compat: an application counts as running once its master has a container. One without an attempt does not count.
func countApplications(c *view.Cluster) map[string]appCounts {
	out := map[string]appCounts{}
	for _, a := range c.Applications {
		var one appCounts
		switch {
		case a.State.Final(), a.Current() == nil:
			continue
		case a.PublicState == yarn.PublicRunning, !a.Current().MasterContainer.IsZero():
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

// queueBean has the metrics of a queue in the default partition. Only the root's has AggregateContainersAllocated: other queues do not count that.
func queueBean(c *view.Cluster, q *queue.Info, apps appCounts) introspect.Bean {
	name := "QueueMetrics"
	for i, part := range strings.Split(q.Path, ".") {
		name += ",q" + strconv.Itoa(i) + "=" + part
	}
	b := introspect.Metrics(service, name, "yarn", queueShare(q, c.Metrics.Total)...)
	b.Attributes = append([]introspect.Attribute{{Name: "tag.Queue", Value: q.Path}}, b.Attributes...)
	if q.Parent == "" {
		apps = appCounts{c.Metrics.Pending, c.Metrics.Running}
	}
	b.Attributes = append(b.Attributes,
		introspect.Gauge("AppsPending", apps.pending, "applications whose master has no container yet"),
		introspect.Gauge("AppsRunning", apps.running, "applications whose master has a container"))
	b.Attributes = append(b.Attributes,
		introspect.Counter("AppsSubmitted", q.Counts.Submitted, "applications that the queue accepted"),
		introspect.Counter("AppsCompleted", q.Counts.Completed, "applications of the queue that FINISHED"),
		introspect.Counter("AppsFailed", q.Counts.Failed, "applications of the queue that FAILED"),
		introspect.Counter("AppsKilled", q.Counts.Killed, "applications of the queue that were KILLED"),
		introspect.Counter("AggregateContainersPreempted", q.Counts.Preempted, "containers that were taken from the queue"),
		introspect.Counter("AggregateMemoryMBSecondsPreempted", q.Counts.PreemptedSeconds.MemoryMB(), "what they had used: MiB × seconds"),
		introspect.Counter("AggregateVcoreSecondsPreempted", q.Counts.PreemptedSeconds.VCoreCount(), "what they had used: vcores × seconds"))
	if q.Parent == "" {
		b.Attributes = append(b.Attributes, introspect.Counter("AggregateContainersAllocated", c.Metrics.GrantsTotal, "containers ever granted"))
	}
	return b
}

func queueShare(q *queue.Info, cluster yarn.Resource) []introspect.Attribute {
	d := &q.Default
	free, allocated := room(q, cluster), d.Used.Sub(d.Reserved)
	return append(append(capacityShare(q), fairShare(q)...),
		introspect.Gauge("ActiveApplications", q.ActiveApps, "active applications"),
		introspect.Gauge("ActiveUsers", q.ActiveUsers, "active users"),
		introspect.Gauge("AllocatedContainers", d.AllocatedContainers, "containers"),
		introspect.Gauge("AllocatedMB", allocated.MemoryMB(), "memory of containers, MiB"),
		introspect.Gauge("AllocatedVCores", allocated.VCoreCount(), "vcores of containers"),
		introspect.Gauge("AvailableMB", max(free.MemoryMB(), 0), "memory that it could still get, MiB"),
		introspect.Gauge("AvailableVCores", max(free.VCoreCount(), 0), "vcores that it could still get"),
		introspect.Gauge("PendingContainers", d.PendingContainers, "containers asked for"),
		introspect.Gauge("PendingMB", d.Pending.MemoryMB(), "memory asked for, MiB"),
		introspect.Gauge("PendingVCores", d.Pending.VCoreCount(), "vcores asked for"),
		introspect.Gauge("ReservedContainers", d.ReservedContainers, "reservations"),
		introspect.Gauge("ReservedMB", d.Reserved.MemoryMB(), "reserved memory, MiB"),
		introspect.Gauge("ReservedVCores", d.Reserved.VCoreCount(), "reserved vcores"),
	)
}

// capacityShare is what only queues of the CapacityScheduler have.
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
