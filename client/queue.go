package client

import (
	"context"
	"reflect"

	"github.com/heddle-project/heddle/wire/pb"
)

// MaxQueueDepth bounds how deep a received queue tree is followed.
const MaxQueueDepth = 100

// Queue is the report on a queue. Capacities are fractions of the parent's; -1
// where the scheduler has no such number.
type Queue struct {
	Name                    string
	Path                    *string
	Scheduler               *string // CapacityScheduler, FairScheduler, …
	State                   string  // RUNNING, STOPPED, DRAINING
	Capacity                float32
	Current                 float32
	Maximum                 float32
	Weight                  float32
	MaxParallelApps         int32
	AccessibleLabels        []string
	DefaultLabel            *string
	PreemptionDisabled      *bool // as sent: a FairScheduler of Apache's sends the opposite
	IntraPreemptionDisabled *bool
	Children                []*Queue
	Statistics              *QueueStatistics // nil if the ResourceManager sends none
	// Of a FairScheduler, as sent. compat: Apache's ResourceManager sends the
	// maximum of vcores as MinVCores, and neither the true minimum nor MaxVCores.
	MinMemory, MaxMemory, ReservedMemory, SteadyMemory int64
	MinVCores, ReservedVCores, SteadyVCores            int32
	MaxVCores                                          *int32
}

// QueueStatistics are numbers of a queue and of all below it, in the default partition.
type QueueStatistics struct {
	Submitted, Running, Pending, Completed, Killed, Failed          int64 // applications
	ActiveUsers                                                     int64
	AvailableMB, AllocatedMB, PendingMB, ReservedMB                 int64
	AvailableVCores, AllocatedVCores, PendingVCores, ReservedVCores int64
	AllocatedContainers, PendingContainers, ReservedContainers      int64
}

// Add adds the numbers of another queue.
func (s *QueueStatistics) Add(o *QueueStatistics) {
	mine, others := reflect.ValueOf(s).Elem(), reflect.ValueOf(o).Elem()
	for i := range mine.NumField() {
		mine.Field(i).SetInt(mine.Field(i).Int() + others.Field(i).Int())
	}
}

func fromStatistics(m *pb.QueueStatistics) *QueueStatistics {
	if m == nil {
		return nil
	}
	return &QueueStatistics{Submitted: m.GetNumAppsSubmitted(), Running: m.GetNumAppsRunning(), Pending: m.GetNumAppsPending(),
		Completed: m.GetNumAppsCompleted(), Killed: m.GetNumAppsKilled(), Failed: m.GetNumAppsFailed(), ActiveUsers: m.GetNumActiveUsers(),
		AvailableMB: m.GetAvailableMemoryMB(), AllocatedMB: m.GetAllocatedMemoryMB(), PendingMB: m.GetPendingMemoryMB(), ReservedMB: m.GetReservedMemoryMB(),
		AvailableVCores: m.GetAvailableVCores(), AllocatedVCores: m.GetAllocatedVCores(), PendingVCores: m.GetPendingVCores(), ReservedVCores: m.GetReservedVCores(),
		AllocatedContainers: m.GetAllocatedContainers(), PendingContainers: m.GetPendingContainers(), ReservedContainers: m.GetReservedContainers()}
}

// Queue reports on one queue by its name or path, nil if there is none.
// children asks for the queues below, all levels of them if recursive.
func (c *Client) Queue(ctx context.Context, name string, children, recursive bool) (*Queue, error) {
	// compat: the stock client asks for the applications only when it asks for
	// one queue alone.
	apps := !children
	in := &pb.GetQueueInfoRequest{QueueName: &name, IncludeApplications: &apps, IncludeChildQueues: &children, Recursive: &recursive}
	out := &pb.GetQueueInfoResponse{}
	if err := c.user(ctx, "getQueueInfo", in, out); err != nil || out.QueueInfo == nil {
		return nil, err
	}
	return fromQueue(out.QueueInfo, MaxQueueDepth), nil
}

// or is a field's value, or what Hadoop's clients take for a missing one.
func or[T any](field *T, missing T) T {
	if field == nil {
		return missing
	}
	return *field
}

func fromQueue(m *pb.QueueInfo, depth int) *Queue {
	q := &Queue{
		Name: m.GetQueueName(), Path: m.QueuePath, Scheduler: m.SchedulerType, State: trimPrefix(m.GetState().String(), "Q_"),
		Capacity: or(m.Capacity, -1), Current: m.GetCurrentCapacity(), Maximum: or(m.MaximumCapacity, -1), Weight: or(m.Weight, -1),
		MaxParallelApps: or(m.MaxParallelApps, -1), AccessibleLabels: m.GetAccessibleNodeLabels(), DefaultLabel: m.DefaultNodeLabelExpression,
		PreemptionDisabled: m.PreemptionDisabled, IntraPreemptionDisabled: m.IntraQueuePreemptionDisabled,
		MinMemory: m.GetMinResourceMemory(), MaxMemory: m.GetMaxResourceMemory(),
		ReservedMemory: m.GetReservedResourceMemory(), SteadyMemory: m.GetSteadyFairShareMemory(),
		MinVCores: m.GetMinResourceVCore(), MaxVCores: m.MaxResourceVCore,
		ReservedVCores: m.GetReservedResourceVCore(), SteadyVCores: m.GetSteadyFairShareVCore(), Statistics: fromStatistics(m.QueueStatistics),
	}
	if depth > 0 {
		q.Children = each(m.GetChildQueues(), func(child *pb.QueueInfo) *Queue { return fromQueue(child, depth-1) })
	}
	return q
}
