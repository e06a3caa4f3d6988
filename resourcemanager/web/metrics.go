package web

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
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
func beans(ctx context.Context, s access.Source, m *introspect.Means) []introspect.Bean {
	d := s.Daemon(ctx)
	out := []introspect.Bean{{Name: "Hadoop:service=ResourceManager,name=RMInfo", Type: "RMInfo", Attributes: []introspect.Attribute{
		{Name: "State", Value: strings.ToLower(d.HAState)}, {Name: "SecurityEnabled", Value: false}}}}
	if d.ClientAddress != "" {
		out[0].Attributes = append(out[0].Attributes, introspect.Attribute{Name: "HostAndPort", Value: d.ClientAddress})
	}
	if d.Role != nil {
		out = append(out, roleBean(&d))
	}
	c, err := s.Cluster(ctx, view.Everything)
	if err != nil {
		return out
	}
	t := s.Tallies()
	out = append(out, loopBean(&d.Holds), storeBean(&d), clusterBean(c, &t, m), nodesBean(c))
	if lent := c.Metrics.Opportunistic; lent != nil {
		out = append(out, opportunisticBean(lent))
	}
	if d.Allocations != nil {
		out = append(out, allocationsBean(d.Allocations))
	}
	counts := countApplications(c)
	for i := range c.Queues.Queues {
		q := &c.Queues.Queues[i]
		out = append(out, queueBean(c, q, counts[q.Path], t.Queues[q.Path], m))
		out = append(out, partitionBeans(c, q)...)
	}
	out = append(out, userBeans(c, &t)...)
	return append(out, waitBeans(ctx, s)...)
}

func clusterBean(c *view.Cluster, t *access.Tallies, m *introspect.Means) introspect.Bean {
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
	_, granted := m.Of("grants", c.Metrics.GrantsTotal, 0)
	b.Attributes = append(b.Attributes,
		introspect.Gauge("RmDispatcherEventQueueSize", t.Waiting, "commands that wait for the loop"),
		introspect.Gauge("SchedulerDispatcherEventQueueSize", t.Waiting, "the same: the loop does the scheduler's work, too"),
		introspect.Gauge("ContainerAssignedPerSecond", int64(granted+0.5), "containers that were allocated, a second, lately"))
	for _, x := range []struct {
		name, help string
		t          access.Timing
	}{
		{"AMContainerAllocationDelay", "containers of masters, from the ask until they were allocated", t.MasterAllocation},
		{"AMLaunchDelay", "masters, from the allocation until their node had been told to start them", t.MasterLaunch},
		{"AMRegisterDelay", "masters, from there until they registered", t.MasterRegistration},
	} {
		b.Attributes = append(b.Attributes, m.Timed("ClusterMetrics", x.name, x.t.Count, x.t.Total, x.help)...)
	}
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

// storeMetrics is a bean that Hadoop does not have.
const storeMetrics = "StateStoreMetrics"

// storeBean counts what could not be used of the state store; which records those are is in /ws/v1/cluster/info.
func storeBean(d *access.Daemon) introspect.Bean {
	return introspect.Metrics(service, storeMetrics, "yarn",
		introspect.Gauge("RecordsSetAside", d.Aside, "records of the state store that could not be used when this ResourceManager became active, and were left there as they are"))
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
type appCounts struct {
	pending, running                   int64
	unmanagedPending, unmanagedRunning int64
	ages                               [len(runtimeBuckets) + 1]int64 // of those that run, by how long they do
}

// runtimeBuckets are the minutes at which Hadoop divides applications by how long they run, if nothing else is configured
// (yarn.resourcemanager.metrics.runtime.buckets).
var runtimeBuckets = [...]int64{60, 300, 1440}

func (n *appCounts) add(x *appCounts) {
	n.pending += x.pending
	n.running += x.running
	n.unmanagedPending += x.unmanagedPending
	n.unmanagedRunning += x.unmanagedRunning
	for i := range n.ages {
		n.ages[i] += x.ages[i]
	}
}

// ageOf is the place of an application that runs in ages.
func ageOf(a *view.Application, now int64) (at int) {
	minutes := (now - max(a.LaunchTime, a.StartTime)) / 60_000
	for at < len(runtimeBuckets) && minutes >= runtimeBuckets[at] {
		at++
	}
	return at
}

// countApplication is what one application adds to the counts; false: nothing.
func countApplication(c *view.Cluster, a *view.Application) (one appCounts, counts bool) {
	counts, runs := a.InQueue()
	switch {
	case !counts:
		return one, false
	case runs:
		one.running = 1
		one.ages[ageOf(a, c.At.Wall)] = 1
	default:
		one.pending = 1
	}
	if a.Unmanaged {
		one.unmanagedPending, one.unmanagedRunning = one.pending, one.running
	}
	return one, true
}

// countApplications counts those that have not ended, by queue.
func countApplications(c *view.Cluster) map[string]appCounts {
	out := map[string]appCounts{}
	for _, a := range c.Applications {
		one, counts := countApplication(c, a)
		if !counts {
			continue
		}
		for path := a.Queue; path != ""; path = queue.ParentPath(path) {
			n := out[path]
			n.add(&one)
			out[path] = n
		}
	}
	return out
}

// queueKeys are the part of a bean's name that is a queue's path.
func queueKeys(q *queue.Info) string {
	var keys strings.Builder
	for i, part := range strings.Split(q.Path, ".") {
		keys.WriteString(",q" + strconv.Itoa(i) + "=" + introspect.KeyValue(part))
	}
	return keys.String()
}

// queueBean has the metrics of a queue in the default partition.
func queueBean(c *view.Cluster, q *queue.Info, apps appCounts, t access.QueueTally, m *introspect.Means) introspect.Bean {
	b := introspect.Metrics(service, "QueueMetrics"+queueKeys(q), "yarn", queueShare(q, totalOf(c, ""))...)
	b.Attributes = append([]introspect.Attribute{{Name: "tag.Queue", Value: q.Path}}, b.Attributes...)
	if q.Parent == "" {
		apps.pending, apps.running = c.Metrics.Pending, c.Metrics.Running
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
		t.Allocated = c.Metrics.GrantsTotal
	}
	b.Attributes = append(b.Attributes,
		introspect.Counter("AggregateContainersAllocated", t.Allocated, "containers that were allocated"),
		introspect.Counter("UnmanagedAppsSubmitted", q.Counts.Unmanaged.Submitted, "applications with an unmanaged master that the queue accepted"),
		introspect.Counter("UnmanagedAppsCompleted", q.Counts.Unmanaged.Completed, "of those: that FINISHED"),
		introspect.Counter("UnmanagedAppsFailed", q.Counts.Unmanaged.Failed, "of those: that FAILED"),
		introspect.Counter("UnmanagedAppsKilled", q.Counts.Unmanaged.Killed, "of those: that were KILLED"))
	b.Attributes = append(b.Attributes, m.Timed("QueueMetrics"+queueKeys(q), "AppAttemptFirstContainerAllocationDelay", t.MasterAllocation.Count, t.MasterAllocation.Total,
		"attempts, from the ask for their first container until it was allocated")...)
	b.Attributes = append(b.Attributes, containerCounts(&t)...)
	b.Attributes = append(b.Attributes, appGauges(&apps)...)
	return b
}

// containerCounts are what a queue and a user in it have.
func containerCounts(t *access.QueueTally) []introspect.Attribute {
	return []introspect.Attribute{
		introspect.Counter("AggregateNodeLocalContainersAllocated", t.NodeLocal, "of the containers allocated: on a host that was asked for"),
		introspect.Counter("AggregateRackLocalContainersAllocated", t.RackLocal, "of the containers allocated: in a rack that was asked for"),
		introspect.Counter("AggregateOffSwitchContainersAllocated", t.OffSwitch, "of the containers allocated: elsewhere, or where any host will do"),
		introspect.Counter("AggregateContainersReleased", t.Released, "containers that have ended"),
		introspect.Counter("AggregateMemoryMBPreempted", t.PreemptedMB, "memory of containers that were taken, MiB"),
		introspect.Counter("AggregateVcoresPreempted", t.PreemptedVCores, "vcores of containers that were taken"),
	}
}

// appGauges are what a queue and a user in it have.
func appGauges(apps *appCounts) []introspect.Attribute {
	out := []introspect.Attribute{
		introspect.Gauge("UnmanagedAppsPending", apps.unmanagedPending, "applications with an unmanaged master that wait"),
		introspect.Gauge("UnmanagedAppsRunning", apps.unmanagedRunning, "applications with an unmanaged master that run"),
	}
	for i, n := range apps.ages {
		from := int64(0)
		if i > 0 {
			from = runtimeBuckets[i-1]
		}
		out = append(out, introspect.Gauge("running_"+strconv.FormatInt(from, 10), n, "applications that have run for that many minutes or more, up to the next number"))
	}
	return out
}

// partitionBeans have what a queue has in each partition; those of the root are also there under the partition's name alone.
func partitionBeans(c *view.Cluster, q *queue.Info) (out []introspect.Bean) {
	add := func(label string, s *queue.Share) {
		names := []string{queueKeys(q)}
		if q.Parent == "" {
			names = append(names, "")
		}
		for _, keys := range names {
			b := introspect.Metrics(service, "PartitionQueueMetrics,partition="+label+keys, "yarn", shareOf(s, room(q, label, s, totalOf(c, label)))...)
			tags := []introspect.Attribute{{Name: "tag.Partition", Value: label}}
			if keys != "" {
				tags = append(tags, introspect.Attribute{Name: "tag.Queue", Value: q.Path})
			}
			b.Attributes = append(tags, b.Attributes...)
			out = append(out, b)
		}
	}
	if q.Fair != nil {
		return nil // compat: the FairScheduler knows of no partitions
	}
	add("", &q.Default)
	for _, label := range slices.Sorted(maps.Keys(q.Partitions)) {
		s := q.Partitions[label]
		add(label, &s)
	}
	return out
}

// shareOf is what containers and asks come to.
func shareOf(d *queue.Share, free yarn.Resource) []introspect.Attribute {
	allocated := d.Used.Sub(d.Reserved)
	return []introspect.Attribute{
		introspect.Gauge("AllocatedContainers", d.AllocatedContainers, "containers"),
		introspect.Gauge("AllocatedMB", allocated.MemoryMB(), "memory of containers, MiB"),
		introspect.Gauge("AllocatedVCores", allocated.VCoreCount(), "vcores of containers"),
		introspect.Gauge("AvailableMB", max(free.MemoryMB(), 0), "memory that is guaranteed and not used, MiB; of the FairScheduler's root all that is free"),
		introspect.Gauge("AvailableVCores", max(free.VCoreCount(), 0), "vcores that are guaranteed and not used; of the FairScheduler's root all that are free"),
		introspect.Gauge("PendingContainers", d.PendingContainers, "containers asked for"),
		introspect.Gauge("PendingMB", d.Pending.MemoryMB(), "memory asked for, MiB"),
		introspect.Gauge("PendingVCores", d.Pending.VCoreCount(), "vcores asked for"),
		introspect.Gauge("ReservedContainers", d.ReservedContainers, "reservations"),
		introspect.Gauge("ReservedMB", d.Reserved.MemoryMB(), "reserved memory, MiB"),
		introspect.Gauge("ReservedVCores", d.Reserved.VCoreCount(), "reserved vcores"),
	}
}

func queueShare(q *queue.Info, total yarn.Resource) []introspect.Attribute {
	d := &q.Default
	return append(append(append(capacityShare(q), fairShare(q)...),
		introspect.Gauge("ActiveApplications", q.ActiveApps, "active applications"),
		introspect.Gauge("ActiveUsers", q.ActiveUsers, "active users")), shareOf(d, room(q, "", d, total))...)
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
