package webtest

import (
	"math"

	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// HostileQueue is the path of a queue that was made for a user who chose his name with care.
const HostileQueue = "root.users.<script>alert(1)</script>\u202e"

// NewFair is a source with the same cluster under the FairScheduler. Of its queues root.prod and what is below it and root.dev are in the allocation file, those below
// root.users were made on demand; one of these has an application.
func NewFair() *Source {
	s := New()
	s.Self.Scheduler, s.Picture.MaxAppPriority, s.Tree = access.Fair, 0, FairQueues()
	late := *s.Picture.Applications[4]
	late.ID, late.Queue, late.User, late.Name = App(10), HostileQueue, "<b>mallory", "late"
	s.Picture.Applications = append(s.Picture.Applications, &late)
	s.Picture.Metrics.Total = yarn.NewResource(8192, 8)
	return s
}

// FairQueues are the queues of NewFair.
func FairQueues() *queue.Snapshot {
	unbounded := yarn.NewResource(math.MaxInt64, math.MaxInt64)
	info := func(path string, leaf bool, used, steady, share int64, children ...string) queue.Info {
		q := queue.Info{Path: path, Name: queue.Short(path), Parent: queue.ParentPath(path), Leaf: leaf, Children: children, MaxAllocation: yarn.NewResource(4096, 4),
			Default: queue.Share{Used: yarn.NewResource(used, used/1024), AllocatedContainers: int32(used / 1024), Accessible: true},
			Fair: &queue.Fair{Policy: "DRF", Weight: 1, Demand: yarn.NewResource(used, used/1024), FairShare: yarn.NewResource(share, share/1024),
				SteadyShare: yarn.NewResource(steady, steady/1024), MaxShare: unbounded, MaxApps: math.MaxInt32, MaxAMShare: 0.5, Preemptable: true,
				MinShareTimeout: math.MaxInt64, FairShareTimeout: math.MaxInt64, FairShareThreshold: 0.5,
				Kept: yarn.Reason{Code: fit.KeptNamed, Subject: path}}}
		if leaf && used > 0 {
			q.ActiveApps, q.Fair.Runnable, q.ActiveUsers, q.SubmittedApps = 1, 1, 1, 1
			q.Fair.AMUsed, q.Fair.AMLimit = yarn.NewResource(1024, 1), yarn.NewResource(share/2, share/2048)
		}
		return q
	}
	made := func(q queue.Info, why yarn.Reason) queue.Info {
		q.Dynamic, q.Fair.Kept = true, why
		return q
	}
	root := info("root", false, 7168, 8192, 8192, "root.prod", "root.dev", "root.users")
	root.Fair.Kept = yarn.Reason{Code: fit.KeptRoot, Subject: "root"}
	adhoc := info("root.prod.adhoc", true, 5120, 3072, 4096)
	adhoc.Fair.Policy, adhoc.Fair.MaxShare, adhoc.Fair.FairShareTimeout = "fair", yarn.NewResource(6144, 6), 60_000
	etl := info("root.prod.etl", true, 0, 3072, 0)
	etl.Fair.Policy, etl.Fair.MinShare, etl.Fair.MaxApps, etl.Fair.Preemptable = "FIFO", yarn.NewResource(2048, 2), 5, false
	dev := info("root.dev", true, 1024, 2048, 2048)
	dev.Fair.MaxApps, dev.PendingApps, dev.WaitingApps, dev.Fair.NonRunnable = 1, 1, 1, 1
	dev.Default.Reserved, dev.Default.ReservedContainers = yarn.NewResource(1024, 1), 1
	dev.Default.Used = dev.Default.Used.Add(dev.Default.Reserved)
	hostile := made(info(HostileQueue, true, 1024, 1024, 1024), yarn.Reason{Code: fit.KeptBusy, Subject: HostileQueue, Count: 1})
	return queue.NewSnapshot([]queue.Info{root,
		info("root.prod", false, 5120, 6144, 4096, "root.prod.adhoc", "root.prod.etl"), adhoc, etl, dev,
		made(info("root.users", false, 1024, 2048, 2048, HostileQueue, "root.users.ann"), yarn.Reason{Code: fit.KeptBelow, Subject: "root.users", Detail: HostileQueue}),
		hostile, made(info("root.users.ann", true, 0, 1024, 0), yarn.Reason{})})
}
