package client

import (
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// TestFairQueue: a queue of the FairScheduler is told as Apache tells it, so that the stock command prints what it prints of Apache's
// (test/compat/goldens, set fair: queue-status-root.prod.etl.slow and mapred-queue-list).
func TestFairQueue(t *testing.T) {
	mb := yarn.NewResource
	all := queue.NewSnapshot([]queue.Info{
		{Path: "root", Name: "root", Children: []string{"root.slow"}, Default: queue.Share{Used: mb(4096, 4)},
			Fair: &queue.Fair{Weight: 1, FairShare: mb(8192, 8), SteadyShare: mb(8192, 8), MaxShare: mb(1<<62, 1<<62), MaxApps: 20, Preemptable: true}},
		{Path: "root.slow", Name: "slow", Parent: "root", Leaf: true, Default: queue.Share{Used: mb(4096, 4), Reserved: mb(1024, 1)},
			Fair: &queue.Fair{Weight: 1, FairShare: mb(6144, 6), SteadyShare: mb(1024, 1), MinShare: mb(512, 3), MaxShare: mb(6144, 6), MaxApps: 20}},
	})
	for name, want := range map[string]bool{"root": true, "slow": true, "root.slow": true, "root.root.slow": false, "": false} {
		if _, got := all.Find(name); got != want {
			t.Errorf("%q is found: %v", name, got)
		}
	}
	s := &client{}
	attempts := []*view.Attempt{{Master: &view.Master{}}}
	ended := &view.Application{Queue: "root.slow", State: yarn.AppFinished, Attempts: attempts}
	apps := view.LiveByQueue([]*view.Application{ended, {Queue: "root.slow", State: yarn.AppAccepted}, // without an attempt
		{Queue: "root.slow", State: yarn.AppAccepted, Attempts: attempts},
		{Queue: "root.slow", State: yarn.AppRunning, PublicState: yarn.PublicRunning, Attempts: attempts},
		{Queue: "root.slow", State: yarn.AppAccepted, Attempts: []*view.Attempt{{Master: &view.Master{MasterContainer: yarn.ContainerID{Number: 1}}}}}})
	if below := s.queueInfo(all, &all.Queues[0], apps, false, true).ChildQueues; len(below) > 0 {
		t.Errorf("children that nobody asks for: %v", below)
	}
	root := s.queueInfo(all, &all.Queues[0], apps, true, true)
	for _, q := range []*pb.QueueInfo{root, root.ChildQueues[0]} {
		if n := q.GetQueueStatistics(); n.GetNumAppsRunning() != 2 || n.GetNumAppsPending() != 1 {
			t.Error(q)
		}
	}
	if root.GetCapacity() != 1 || root.GetCurrentCapacity() != 0.5 || root.GetMaxResourceMemory() != 8192 || root.GetMinResourceVCore() != 8 ||
		root.GetQueueStatistics().GetAvailableMemoryMB() != 4096 || !root.GetPreemptionDisabled() {
		t.Error(root)
	}
	slow := root.ChildQueues[0]
	if slow.GetQueueName() != "root.slow" || slow.QueuePath != nil || slow.MaximumCapacity != nil || slow.GetSchedulerType() != "FairScheduler" ||
		slow.GetState() != pb.QueueState_Q_RUNNING || slow.GetCapacity() != 0.75 || slow.GetCurrentCapacity() != 0.5 || slow.GetWeight() != 1 ||
		slow.GetMinResourceMemory() != 512 || slow.GetMinResourceVCore() != 6 || slow.MaxResourceVCore != nil || slow.GetMaxResourceMemory() != 6144 ||
		slow.GetReservedResourceMemory() != 1024 || slow.GetSteadyFairShareVCore() != 1 || slow.GetMaxRunningApp() != 20 ||
		slow.PreemptionDisabled == nil || *slow.PreemptionDisabled || slow.GetQueueStatistics().GetAvailableMemoryMB() != 0 {
		t.Error(slow)
	}
}
