package fair

import (
	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// policyNames are the names by which policies are shown.
var policyNames = [...]string{allocation.Fair: "fair", allocation.DRF: "DRF", allocation.FIFO: "FIFO"}

// QueueInfo shows the queue.
func (s *Scheduler) QueueInfo(of *queue.Queue) queue.Info {
	s.updateSteadyShares()
	q := queueOf(of)
	i := s.Info(of)
	i.Dynamic = q.dynamic
	i.Default.EffectiveMin, i.Default.EffectiveMax = q.conf.Min, q.max
	i.Default.Accessible = true
	i.MaxAllocation = s.MaximumFor(of)
	f := &queue.Fair{Policy: policyNames[q.policy], Weight: q.weight, Demand: q.demand, FairShare: q.share, SteadyShare: q.steady,
		MinShare: q.conf.Min, MaxShare: q.max, MaxApps: q.conf.MaxApps, Runnable: q.runnable, NonRunnable: int32(len(q.waiting)),
		MaxAMShare: q.conf.MaxAMShare, AMUsed: q.ams.used, AMLimit: q.ams.limit, Preemptable: q.conf.Preemptable,
		MinShareTimeout: q.conf.MinShareTimeout, FairShareTimeout: q.conf.FairShareTimeout, FairShareThreshold: q.conf.FairShareThreshold,
		Plan: q.conf.Kind == allocation.Plan, Kept: s.whyKept(q)}
	i.Fair = f
	for _, c := range q.children {
		i.Children = append(i.Children, c.Path)
	}
	users := map[string]bool{}
	for _, a := range q.runnableApps {
		if a.Live.Len() > 0 {
			i.ActiveApps++
		} else {
			i.PendingApps++
		}
		if len(a.Wants.Keys()) > 0 {
			users[a.User] = true
		}
	}
	for _, a := range q.waiting {
		if len(a.Wants.Keys()) > 0 {
			users[a.User] = true
		}
	}
	i.PendingApps += int32(len(q.waiting))
	i.WaitingApps = int32(len(q.waiting))
	i.ActiveUsers = int32(len(users))
	i.SubmittedApps = q.members
	return i
}

// whyKept is why a queue is not deleted; OK if it will be.
func (s *Scheduler) whyKept(q *Queue) yarn.Reason {
	switch {
	case q == s.root:
		return yarn.Reason{Code: fit.KeptRoot, Subject: q.Path}
	case !q.dynamic:
		return yarn.Reason{Code: fit.KeptNamed, Subject: q.Path}
	case q.planned():
		return yarn.Reason{Code: fit.KeptPlan, Subject: q.Path}
	case q.Leaf && q.members > 0:
		return yarn.Reason{Code: fit.KeptBusy, Subject: q.Path, Count: int64(q.members)}
	}
	for _, c := range q.children {
		if why := s.whyKept(c); !why.OK() {
			return yarn.Reason{Code: fit.KeptBelow, Subject: q.Path, Detail: c.Path}
		}
	}
	return yarn.Reason{}
}
