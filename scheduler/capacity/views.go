package capacity

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// Admission is how far the application has come; see the facade.
func (s *Scheduler) Admission(ref AppRef) core.Admission {
	a := s.app(ref)
	return core.Admission{Runnable: a.runnable, Active: a.active, AM: a.wait.Size}
}

// QueueInfo is a picture of one queue.
func (s *Scheduler) QueueInfo(of *queue.Queue) queue.Info {
	q := queueOf(of)
	c, b := q.Conf, s.basis()
	capacity := &queue.Capacity{
		Default: s.capacityShare(q, 0), Mode: b.Mode(q), Priority: c.Priority, MaxParallelApps: c.MaxParallel, UserLimitPercent: c.UserLimit, UserLimitFactor: c.UserFactor,
		OrderingPolicy: c.Order, PreemptionDisabled: c.PreemptionDisabled, IntraQueuePreemptionDisabled: c.IntraPreemptionDisabled,
		CreatesQueues: q.Flexible(), CreatesLegacyLeaves: c.Kind == config.Managed, Templates: c.Templates, ConfiguredMaxAM: c.Amount("").MaxAM,
		Plan: c.Kind == config.Reservable, HidesQueues: c.Kind == config.Reservable && !c.Plan.ShowQueues,
	}
	if q.PlanLeaf() {
		capacity.ConfiguredMaxAM = 1 // compat: nothing goes by it
	}
	i := s.Info(of)
	i.Dynamic, i.SubmittedApps, i.Capacity = q.Dynamic, q.NumApps(), capacity
	i.Default.EffectiveMin, i.Default.EffectiveMax = q.Shares[0].EffMin, q.Shares[0].EffMax
	for _, child := range q.Children {
		i.Children = append(i.Children, child.Path)
	}
	for p := 1; p < len(q.Shares); p++ {
		if capacity.Partitions == nil {
			capacity.Partitions = map[string]queue.CapacityShare{}
		}
		label := s.Books.Partition(part(p)).Name
		capacity.Partitions[label] = s.capacityShare(q, part(p))
		share := i.Partitions[label]
		share.EffectiveMin, share.EffectiveMax = q.Shares[p].EffMin, q.Shares[p].EffMax
		i.Partitions[label] = share
	}
	if q.Leaf {
		l := leafOf(q)
		i.ActiveApps, i.PendingApps, i.WaitingApps, i.ActiveUsers = int32(l.active.len()), int32(l.pending.Count), int32(len(l.waiting)), l.Askers()
		capacity.MaxApps, capacity.MaxAppsPerUser = q.MaxApps, q.MaxAppsPerUser
		capacity.Users = s.userInfo(q)
	}
	return i
}

func (s *Scheduler) capacityShare(q *Queue, p part) queue.CapacityShare {
	sh := &q.Shares[p]
	v := queue.CapacityShare{
		ConfiguredMin: sh.ConfMin, ConfiguredMax: sh.ConfMax, AMUsed: sh.AMUsed, AMLimit: sh.AMLimit, Capacity: sh.Capacity, MaxCapacity: sh.MaxCapacity,
		AbsoluteCapacity: sh.Absolute, AbsoluteMax: sh.AbsoluteMax, UsedCapacity: sh.UsedCapacity, AbsoluteUsed: sh.AbsoluteUsed,
		Weight: sh.Weight, NormalizedWeight: sh.Normalized, MaxAMShare: sh.MaxAM, Known: sh.Known,
	}
	b := s.basis()
	if v.Vector = b.Capacity(q, p); !b.Config.Legacy {
		v.NormalizedWeight = 0 // nothing goes by it
	}
	v.ReservedCapacity, v.AbsoluteReserved = b.ReservedFractions(q, p)
	return v
}

// userInfo is the users of a leaf by name, with limits as of now.
func (s *Scheduler) userInfo(q *Queue) []queue.UserUsage {
	var out []queue.UserUsage
	for _, u := range leafOf(q).All {
		v := queue.UserUsage{Name: u.Name, Used: u.Shares[0].Used, AMUsed: u.Shares[0].AMUsed, AMLimit: u.Shares[0].AMLimit,
			Limit: leafOf(q).LimitNow(q, 0, respect, u.Weight), ActiveApps: u.Active, PendingApps: u.Pending, Active: u.IsActive, Weight: u.Weight}
		for p := 1; p < len(u.Shares); p++ {
			if sh := &u.Shares[p]; sh.Known {
				if v.Partitions == nil {
					v.Partitions = map[string]queue.UserShare{}
				}
				v.Partitions[s.Books.Partition(part(p)).Name] = queue.UserShare{Used: sh.Used, AMUsed: sh.AMUsed, AMLimit: sh.AMLimit}
			}
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b queue.UserUsage) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
