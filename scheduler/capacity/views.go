package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// QueueOf is the path of the application's queue.
func (s *Scheduler) QueueOf(ref AppRef) string { return s.app(ref).queue.Path }

// AppUsage is what the application has and wants; see the facade.
func (s *Scheduler) AppUsage(ref AppRef) core.AppUsage {
	a := s.app(ref)
	u := core.AppUsage{Queue: a.queue.Path, AM: a.amSize, Live: int32(a.Live.Len()), ReservedCount: a.Held,
		PendingCount: a.Wants.PendingContainers(), Priority: a.Priority, Active: a.active, Runnable: a.runnable}
	for p := range a.Shares {
		sh, pending := &a.Shares[p], a.Wants.Pending(part(p))
		u.Used, u.Reserved, u.Pending = u.Used.Add(sh.Used), u.Reserved.Add(sh.Reserved), u.Pending.Add(pending)
		if !none(sh.Used) || !none(sh.Reserved) || !none(pending) {
			u.Partitions = append(u.Partitions, core.PartitionUsage{Label: s.Books.Partition(part(p)).Name, Used: sh.Used, Reserved: sh.Reserved, Pending: pending})
		}
	}
	return u
}

// MaximumAllocation is the largest ask that the queue takes.
func (s *Scheduler) MaximumAllocation(path string) resource {
	if path == "" {
		return s.ClusterMaximum()
	}
	return s.MaximumFor(s.Tree.Find(path))
}

// Queues is an immutable picture of all queues.
func (s *Scheduler) Queues() *queue.Snapshot {
	p := s.Picture()
	for {
		if _, all := p.Draw(math.MaxInt); all != nil {
			return all
		}
	}
}

// Queue is a picture of one queue; see the facade.
func (s *Scheduler) Queue(path string) (queue.Info, bool) {
	if q := s.tree.ByPath(path); q != nil {
		return s.info(q), true
	}
	return queue.Info{}, false
}

// Picture is a picture of all queues that is being drawn.
type Picture struct {
	s      *Scheduler
	tree   *tree
	change uint64 // of the tree's queues
	left   []*Queue
	drawn  []queue.Info
}

// Picture begins a picture; see the facade.
func (s *Scheduler) Picture() *Picture { return &Picture{s: s} }

// Draw draws a part of the picture that is worth about so many decisions and says
// what it was worth. all is nil until everything is drawn. Queues that were drawn
// earlier may have changed since; when one has come or gone it begins anew.
func (p *Picture) Draw(budget int) (used int, all *queue.Snapshot) {
	s := p.s
	if p.tree != s.tree || p.change != s.tree.Changes {
		p.tree, p.change, p.left = s.tree, s.tree.Changes, nil
		s.tree.Root.Each(func(q *Queue) { p.left = append(p.left, q) })
		p.drawn = make([]queue.Info, 0, len(p.left))
	}
	for ; len(p.left) > 0 && used < budget; p.left = p.left[1:] {
		q := p.left[0]
		p.drawn = append(p.drawn, s.info(q))
		if used += 1 + len(q.Shares)/2; q.Leaf {
			used += len(q.leaf.ordered)
		}
	}
	if len(p.left) > 0 {
		return used, nil
	}
	return used, queue.NewSnapshot(p.drawn)
}

func (s *Scheduler) info(q *Queue) queue.Info {
	c := q.Conf
	i := queue.Info{
		Path: q.Path, Name: q.Name, Leaf: q.Leaf, Dynamic: q.Dynamic, State: q.State, Priority: c.Priority,
		Default: s.shareInfo(q, 0), Labels: c.Accessible, DefaultLabel: c.DefaultLabel,
		SubmittedApps: q.NumApps(), Counts: *q.Counts, MaxParallelApps: c.MaxParallel, UserLimitPercent: c.UserLimit,
		UserLimitFactor: c.UserFactor, MaxAllocation: c.MaxAllocation, OrderingPolicy: c.Order,
		PreemptionDisabled: c.PreemptionDisabled, IntraQueuePreemptionDisabled: c.IntraPreemptionDisabled,
		MaxLifetime: c.MaxLifetime, DefaultLifetime: c.DefaultLifetime, CreatesQueues: c.Flexible || q.Dynamic && !q.Leaf,
		CreatesLegacyLeaves: c.Kind == config.Managed, DefaultPriority: c.DefaultPriority, Mode: q.mode(),
	}
	if q.Up != nil {
		i.Parent = q.Up.Path
	}
	for _, child := range q.Children {
		i.Children = append(i.Children, child.Path)
	}
	if s.Books.Partitions() > 1 {
		i.Partitions = map[string]queue.Share{}
		for p := 1; p < s.Books.Partitions(); p++ {
			i.Partitions[s.Books.Partition(part(p)).Name] = s.shareInfo(q, part(p))
		}
	}
	if l := q.leaf; l != nil {
		i.ActiveApps, i.PendingApps, i.WaitingApps = int32(l.active.len()), int32(l.pending.count), int32(len(l.waiting))
		i.MaxApps, i.MaxAppsPerUser = l.maxApps, l.maxAppsPerUser
		i.Users = s.userInfo(q)
	}
	return i
}

// mode is how the queue's capacity is written, in operators' words.
func (q *Queue) mode() string {
	switch sh := &q.Shares[0]; {
	case q.absolute:
		return "absolute"
	case sh.Weight >= 0:
		return "weight"
	}
	return "percentage"
}

func (s *Scheduler) shareInfo(q *Queue, p part) queue.Share {
	sh, has := &q.Shares[p], &q.Ledger[p]
	v := queue.Share{
		Used: has.Used, Pending: has.Pending, Reserved: has.Promised, ReservedUsage: has.Reserved, EffectiveMin: sh.EffMin, EffectiveMax: sh.EffMax,
		ConfiguredMin: sh.ConfMin, ConfiguredMax: sh.ConfMax, AMUsed: sh.AMUsed, AMLimit: sh.AMLimit,
		Capacity: sh.Capacity, MaxCapacity: sh.MaxCapacity, AbsoluteCapacity: sh.Absolute, AbsoluteMax: sh.AbsoluteMax,
		UsedCapacity: sh.UsedCapacity, AbsoluteUsed: sh.AbsoluteUsed, Weight: sh.Weight, NormalizedWeight: sh.Normalized,
		MaxAMShare: sh.MaxAM, AllocatedContainers: has.Containers - has.Held, ReservedContainers: has.Held,
		PendingContainers: int32(has.Waiting), Accessible: q.MayUse(s.Books.Partition(p).Name),
	}
	total := s.Books.Partition(p).Total
	if !none(has.Reserved) && s.Calc.Positive(&total, &total) {
		guaranteed := s.guaranteed(q, p)
		v.ReservedCapacity = s.Calc.Divide(&total, &has.Reserved, &guaranteed)
		v.AbsoluteReserved = s.Calc.Divide(&total, &has.Reserved, &total)
	}
	return v
}

// userInfo is the users of a leaf by name, with limits as of now.
func (s *Scheduler) userInfo(q *Queue) []queue.UserUsage {
	var out []queue.UserUsage
	for _, u := range q.leaf.ordered {
		v := queue.UserUsage{Name: u.name, Used: u.shares[0].used, AMUsed: u.shares[0].amUsed, AMLimit: u.shares[0].amLimit,
			Limit: s.limitShown(q, u, 0, respect), ActiveApps: u.active, PendingApps: u.pending, Weight: u.weight}
		for p := 1; p < len(u.shares); p++ {
			if sh := &u.shares[p]; sh.known {
				if v.Partitions == nil {
					v.Partitions = map[string]queue.UserShare{}
				}
				v.Partitions[s.Books.Partition(part(p)).Name] = queue.UserShare{Used: sh.used, AMUsed: sh.amUsed, AMLimit: sh.amLimit}
			}
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b queue.UserUsage) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Resolve is the full path of a queue; see the facade.
func (s *Scheduler) Resolve(name string) (string, yarn.Reason) {
	if q := s.tree.Find(name); q != nil {
		return q.Path, yarn.Reason{}
	}
	if s.tree.Names.Ambiguous(name) {
		return "", yarn.Reason{Code: fit.AmbiguousQueue, Subject: name}
	}
	return "", yarn.Reason{Code: fit.UnknownQueue, Subject: name}
}

// MaySubmit checks ACLs; see the facade.
func (s *Scheduler) MaySubmit(path, user, realUser string, groups []string) yarn.Reason {
	return s.permits(path, user, realUser, groups, fit.SubmitDenied)
}

// MayAdminister checks ACLs; see the facade.
func (s *Scheduler) MayAdminister(path, user, realUser string, groups []string) yarn.Reason {
	return s.permits(path, user, realUser, groups, fit.AdminDenied)
}

// permits looks at the queue and at all above it. For a queue that does not
// exist yet the nearest one above counts.
//
// compat: what is submitted to a queue that does not exist and cannot be made
// is not denied; it fails for that, when it enters the queue.
func (s *Scheduler) permits(path, user, realUser string, groups []string, code yarn.Code) yarn.Reason {
	if !s.cfg.Cluster.ACLEnabled {
		return yarn.Reason{}
	}
	q := s.tree.Find(path)
	if q == nil {
		for up := path; q == nil && up != ""; up = queue.ParentPath(up) {
			q = s.tree.Find(up)
		}
		if mayCreate := q != nil && (q.Conf.Kind == config.Managed || q.Flexible()); code == fit.SubmitDenied && !mayCreate {
			return yarn.Reason{}
		}
	}
	for ; q != nil; q = q.Up {
		if q.Conf.Admin.Allows(user, realUser, groups) ||
			code == fit.SubmitDenied && q.Conf.Submit.Allows(user, realUser, groups) {
			return yarn.Reason{}
		}
	}
	return yarn.Reason{Code: code, Subject: path, Detail: user}
}
