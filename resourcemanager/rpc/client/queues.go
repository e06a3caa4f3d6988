package client

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

func (s *client) queue(c *ipc.Call, m *pb.GetQueueInfoRequest) {
	s.withViews(c, view.Queues|view.Applications, func(v *loop.Views) {
		queues := v.Queues()
		q := queues.Only()
		if q == nil {
			q, _ = queues.Find(m.GetQueueName())
		}
		if q == nil {
			// compat: for an unknown queue the answer has no queue; it is no error.
			serve.Answer(c, &pb.GetQueueInfoResponse{})
			return
		}
		out := s.queueInfo(queues, q, v.LiveByQueue(), m.GetIncludeChildQueues(), m.GetRecursive())
		if m.GetIncludeApplications() {
			below := inQueues(queues, []string{q.Path})
			for _, a := range v.Applications() {
				if counts, _ := a.InQueue(); !counts || !below[a.Queue] {
					continue
				}
				r, err := s.applicationReport(c.Caller, a)
				if err != nil {
					rpc.Fail(c, err)
					return
				}
				out.Applications = append(out.Applications, r)
			}
		}
		serve.Answer(c, &pb.GetQueueInfoResponse{QueueInfo: out})
	})
}

var queueStates = map[queue.State]pb.QueueState{
	queue.Running: pb.QueueState_Q_RUNNING, queue.Draining: pb.QueueState_Q_DRAINING, queue.Stopped: pb.QueueState_Q_STOPPED,
}

func (s *client) queueInfo(all *queue.Snapshot, q *queue.Info, apps map[string]view.LiveApps, children, recursive bool) *pb.QueueInfo {
	out := &pb.QueueInfo{QueueName: &q.Name, QueuePath: &q.Path, State: queueStates[q.State].Enum(), AccessibleNodeLabels: q.Labels, QueueStatistics: statistics(q, apps[q.Path])}
	switch {
	case q.Capacity != nil:
		s.capacity(out, q)
	case q.Fair != nil:
		fair(out, q, &all.Queues[0])
	case q.Fifo != nil: // compat: it has no path
		whole := float32(1)
		out.QueuePath, out.Capacity, out.MaximumCapacity, out.CurrentCapacity = nil, &whole, &whole, &q.Fifo.UsedCapacity
	}
	if q.DefaultLabel != "" {
		out.DefaultNodeLabelExpression = &q.DefaultLabel
	}
	if children {
		for _, path := range q.Children {
			if child, ok := all.ByPath(path); ok {
				out.ChildQueues = append(out.ChildQueues, s.queueInfo(all, child, apps, recursive, recursive))
			}
		}
	}
	return out
}

// capacity fills in what only queues of the CapacityScheduler have.
func (s *client) capacity(out *pb.QueueInfo, q *queue.Info) {
	c := q.Capacity
	out.SchedulerType = proto.String("CapacityScheduler")
	out.Capacity, out.MaximumCapacity, out.CurrentCapacity, out.Weight = &c.Default.Capacity, &c.Default.MaxCapacity, &c.Default.UsedCapacity, &c.Default.Weight
	out.MaxParallelApps, out.PreemptionDisabled, out.IntraQueuePreemptionDisabled = &c.MaxParallelApps, &c.PreemptionDisabled, &c.IntraQueuePreemptionDisabled
	out.QueueConfigurationsMap = s.partitions(q)
}

// fair fills in what queues of the FairScheduler have. Shares are of the cluster's memory; the steady share of the root is the cluster.
//
// compat: there is no path, the name is one. The maximum of vcores is where the minimum should be, and its own place is empty.
// PreemptionDisabled tells whether it may be preempted. Stock commands expect all of that.
func fair(out *pb.QueueInfo, q, root *queue.Info) {
	f, cluster := q.Fair, root.Fair.SteadyShare
	part := func(a, of yarn.Resource) *float32 {
		share := float32(0)
		if of.MemoryMB() > 0 {
			share = float32(a.MemoryMB()) / float32(of.MemoryMB())
		}
		return &share
	}
	amount := func(r yarn.Resource) (memory *int64, vcores *int32) {
		return proto.Int64(r.MemoryMB()), proto.Int32(int32(min(r.VCoreCount(), math.MaxInt32)))
	}
	out.SchedulerType, out.QueueName, out.QueuePath = proto.String("FairScheduler"), &q.Path, nil
	out.Capacity, out.CurrentCapacity = part(f.FairShare, cluster), part(q.Default.Used.Sub(q.Default.Reserved), f.FairShare)
	out.Weight, out.MaxRunningApp, out.PreemptionDisabled = &f.Weight, &f.MaxApps, &f.Preemptable
	out.MinResourceMemory, _ = amount(f.MinShare)
	out.MaxResourceMemory, out.MinResourceVCore = amount(f.Most(cluster))
	out.ReservedResourceMemory, out.ReservedResourceVCore = amount(q.Default.Reserved)
	out.SteadyFairShareMemory, out.SteadyFairShareVCore = amount(f.SteadyShare)
}

// statistics are what a queue's metrics tell.
//
// compat: of the FairScheduler's queues only the root has something available.
func statistics(q *queue.Info, apps view.LiveApps) *pb.QueueStatistics {
	d := &q.Default
	n := func(v int64) *int64 { return &v }
	allocated := d.Used.Sub(d.Reserved)
	free := d.EffectiveMin.Sub(d.Used)
	if q.Fair != nil {
		free = yarn.Resource{}
		if q.Parent == "" {
			free = q.Fair.SteadyShare.Sub(d.Used)
		}
	}
	return &pb.QueueStatistics{
		NumAppsSubmitted: n(q.Counts.Submitted), NumAppsRunning: &apps.Running, NumAppsPending: &apps.Pending,
		NumAppsCompleted: n(q.Counts.Completed), NumAppsFailed: n(q.Counts.Failed), NumAppsKilled: n(q.Counts.Killed),
		NumActiveUsers: n(int64(q.ActiveUsers)), AvailableMemoryMB: n(max(free.MemoryMB(), 0)), AvailableVCores: n(max(free.VCoreCount(), 0)),
		AllocatedMemoryMB: n(allocated.MemoryMB()), AllocatedVCores: n(allocated.VCoreCount()),
		PendingMemoryMB: n(d.Pending.MemoryMB()), PendingVCores: n(d.Pending.VCoreCount()),
		ReservedMemoryMB: n(d.Reserved.MemoryMB()), ReservedVCores: n(d.Reserved.VCoreCount()),
		AllocatedContainers: n(int64(d.AllocatedContainers)), PendingContainers: n(int64(d.PendingContainers)), ReservedContainers: n(int64(d.ReservedContainers)),
	}
}

func (s *client) partitions(q *queue.Info) []*pb.QueueConfigurationsMap {
	out := []*pb.QueueConfigurationsMap{s.partition(q, "")}
	labels := q.Labels
	if slices.Contains(labels, "*") { // all labels
		labels = slices.Sorted(maps.Keys(q.Partitions))
	}
	for _, label := range labels {
		if _, ok := q.Partitions[label]; ok {
			out = append(out, s.partition(q, label))
		}
	}
	return out
}

// partition is the queue's configuration for a partition.
//
// compat: parents have a maximum share for ApplicationMasters, too, although it has an effect in leaves alone.
func (s *client) partition(q *queue.Info, label string) *pb.QueueConfigurationsMap {
	d, c := q.In(label), q.Capacity.In(label)
	return &pb.QueueConfigurationsMap{PartitionName: &label, QueueConfigurations: &pb.QueueConfigurations{
		Capacity: &c.Capacity, AbsoluteCapacity: &c.AbsoluteCapacity, MaxCapacity: &c.MaxCapacity, AbsoluteMaxCapacity: &c.AbsoluteMax,
		MaxAMPercentage: &c.MaxAMShare, EffectiveMinCapacity: convert.ToResource(d.EffectiveMin, s.Types), EffectiveMaxCapacity: convert.ToResource(d.EffectiveMax, s.Types),
		ConfiguredMinCapacity: convert.ToResource(c.ConfiguredMin, s.Types), ConfiguredMaxCapacity: convert.ToResource(c.ConfiguredMax, s.Types)}}
}

func (s *client) queueACLs(c *ipc.Call, _ *pb.GetQueueUserAclsInfoRequest) {
	s.withViews(c, view.Queues, func(v *loop.Views) {
		queues := v.Queues()
		paths := make([]string, len(queues.Queues))
		for i := range queues.Queues {
			paths[i] = queues.Queues[i].Path
		}
		out := &pb.GetQueueUserAclsInfoResponse{}
		for i, r := range s.Access.QueueRights(c.Caller, paths) {
			info := &pb.QueueUserACLInfo{QueueName: &paths[i]}
			if r.Submit {
				info.UserAcls = append(info.UserAcls, pb.QueueACL_QACL_SUBMIT_APPLICATIONS)
			}
			if r.Administer {
				info.UserAcls = append(info.UserAcls, pb.QueueACL_QACL_ADMINISTER_QUEUE)
			}
			out.QueueUserAcls = append(out.QueueUserAcls, info)
		}
		serve.Answer(c, out)
	})
}
