package rest

import (
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

func (s *server) info(r *http.Request) (*answer.Response, error) {
	d, v := s.Source.Daemon(r.Context()), s.Version
	build := v.Number + " from " + v.Build
	o := tree.New().
		Add("id", d.StartedAt).
		Add("startedOn", d.StartedAt).
		Add("state", d.State).
		Add("haState", d.HAState).
		Add("rmStateStoreName", d.Store).
		Add("resourceManagerVersion", v.Number).
		Add("resourceManagerBuildVersion", build).
		Add("resourceManagerVersionBuiltOn", v.Date).
		Add("hadoopVersion", v.Number).
		Add("hadoopBuildVersion", build).
		Add("hadoopVersionBuiltOn", v.Date).
		Add("haZooKeeperConnectionState", d.Connection)
	if d.StorePath != "" {
		o.Add("heddleStateStorePath", d.StorePath)
	}
	if d.Role != nil && d.Role.Copy != nil {
		c := d.Role.Copy
		copied := tree.New().Add("whole", c.Whole).Add("records", c.Records).Add("bytes", c.Bytes).Add("behind", c.Behind)
		if c.Why != "" {
			copied.Add("why", c.Why)
		}
		o.Add("heddleStandbyCopy", copied)
	}
	if d.Aside > 0 {
		var list tree.List
		for _, r := range d.SetAside {
			list = append(list, tree.New().Add("record", r.Record).Add("reason", r.Reason))
		}
		o.Add("heddleRecordsSetAside", d.Aside).Add("heddleSetAside", list)
	}
	if a := d.Allocations; a != nil {
		o.Add("heddleAllocationFile", a.File).Add("heddleAllocationFileLoadedAt", a.LoadedAt)
		if a.Problem != "" {
			o.Add("heddleAllocationFileProblem", a.Problem).Add("heddleAllocationFileProblemSince", a.Since)
		}
	}
	return answer.Wrapped("clusterInfo", o), nil
}

func (s *server) userInfo(r *http.Request) (*answer.Response, error) {
	return answer.Bare("clusterUserInfo", tree.New().
		Add("rmLoginUser", s.Source.Daemon(r.Context()).LoginUser).
		Add("requestedUser", webgate.From(r.Context()).User)), nil
}

func (s *server) metrics(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Counts|view.Nodes)
	if err != nil {
		return nil, err
	}
	o, capacity := tree.New(), s.capacity(r)
	appCounts(o, &c.Metrics)
	capacityCounts(o, c, s.busy(r))
	nodeCounts(o, &c.Metrics)
	m, types, containers := &c.Metrics, c.ResourceTypes, int64(0)
	o.Add("containerAssignedPerSecond", 0) // not measured here
	if capacity {
		containers = m.ContainersAllocated
		o.Add("totalUsedResourcesAcrossPartition", resource(types, m.Allocated)).
			Add("totalClusterResourcesAcrossPartition", resource(types, m.Total)).
			Add("totalReservedResourcesAcrossPartition", resource(types, m.Reserved))
	}
	o.Add("totalAllocatedContainersAcrossPartition", containers).
		Add("crossPartitionMetricsAvailable", capacity).
		Add("rmEventQueueSize", 0). // there are no event queues here
		Add("schedulerEventQueueSize", 0)
	return answer.Wrapped("clusterMetrics", o), nil
}

// capacity tells whether the CapacityScheduler is used.
func (s *server) capacity(r *http.Request) bool {
	return s.Source.Daemon(r.Context()).Scheduler == access.Capacity
}

// busy is how busy the scheduler is, in percent, which is not measured.
//
// compat: that is -1, and 0 for any scheduler but the CapacityScheduler.
func (s *server) busy(r *http.Request) int {
	if s.capacity(r) {
		return -1
	}
	return 0
}

func appCounts(o *tree.Object, m *view.Metrics) {
	o.Add("appsSubmitted", m.Submitted).
		Add("appsCompleted", m.Completed).
		Add("appsPending", m.Pending).
		Add("appsRunning", m.Running).
		Add("appsFailed", m.Failed).
		Add("appsKilled", m.Killed)
}

// capacityCounts adds the resources and containers of the cluster. As with the
// CapacityScheduler the total is the sum of available, allocated and reserved.
//
// compat: only the default partition counts, but measured use is that of all nodes.
func capacityCounts(o *tree.Object, c *view.Cluster, busy int) {
	m := &c.Metrics.Default
	total := m.Available.Add(m.Allocated).Add(m.Reserved)
	usedMB, usedCores := measured(c.Nodes)
	o.Add("reservedMB", m.Reserved.MemoryMB()).
		Add("availableMB", m.Available.MemoryMB()).
		Add("allocatedMB", m.Allocated.MemoryMB()).
		Add("pendingMB", m.PendingResource.MemoryMB()).
		Add("reservedVirtualCores", m.Reserved.VCoreCount()).
		Add("availableVirtualCores", m.Available.VCoreCount()).
		Add("allocatedVirtualCores", m.Allocated.VCoreCount()).
		Add("pendingVirtualCores", m.PendingResource.VCoreCount()).
		Add("containersAllocated", m.ContainersAllocated).
		Add("containersReserved", m.ContainersReserved).
		Add("containersPending", m.ContainersPending).
		Add("totalMB", total.MemoryMB()).
		Add("utilizedMB", usedMB).
		Add("totalVirtualCores", total.VCoreCount()).
		Add("utilizedVirtualCores", usedCores).
		Add("utilizedMBPercent", percentOf(usedMB, total.MemoryMB())).
		Add("utilizedVirtualCoresPercent", percentOf(usedCores, total.VCoreCount())).
		Add("rmSchedulerBusyPercent", busy)
}

// measured is the measured use of the usable nodes' machines.
func measured(nodes []*view.Node) (mb, cores int64) {
	var cpu float64
	for _, n := range nodes {
		if n.State.Usable() {
			mb += int64(n.NodeUse.PhysicalMemoryMB)
			cpu += float64(n.NodeUse.CPU)
		}
	}
	return mb, int64(cpu)
}

func percentOf(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return part * 100 / whole
}

func nodeCounts(o *tree.Object, m *view.Metrics) {
	total := 0
	for _, state := range yarn.NodeStates() {
		if state != yarn.NodeNew {
			total += m.NodesByState[state]
		}
	}
	o.Add("totalNodes", total).
		Add("lostNodes", m.NodesByState[yarn.NodeLost]).
		Add("unhealthyNodes", m.NodesByState[yarn.NodeUnhealthy]).
		Add("decommissioningNodes", m.NodesByState[yarn.NodeDecommissioning]).
		Add("decommissionedNodes", m.NodesByState[yarn.NodeDecommissioned]).
		Add("rebootedNodes", m.NodesByState[yarn.NodeRebooted]).
		Add("activeNodes", m.NodesByState[yarn.NodeRunning]).
		Add("shutdownNodes", m.NodesByState[yarn.NodeShutdown])
}

func (s *server) overview(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("scheduler", tree.New().
		Add("schedulerType", s.Source.Daemon(r.Context()).Scheduler).
		Add("schedulingResourceType", typesText(c.ResourceTypes)).
		Add("minimumAllocation", resource(c.ResourceTypes, c.MinAllocation)).
		Add("maximumAllocation", resource(c.ResourceTypes, c.MaxAllocation)).
		Add("applicationPriority", c.MaxAppPriority).
		Add("schedulerBusy", s.busy(r)).
		Add("rmDispatcherEventQueueSize", 0).
		Add("schedulerDispatcherEventQueueSize", 0)), nil
}

// typesText names the resource types with their units.
func typesText(types yarn.ResourceTypes) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
		if t.Units != "" {
			names[i] += " (unit=" + t.Units + ")"
		}
	}
	return strings.Join(names, ",")
}
