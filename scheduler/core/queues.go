package core

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Resolve is the full path of a queue; see the facade.
func (s *Core) Resolve(name string) (string, yarn.Reason) {
	if q := s.Tree.Find(name); q != nil {
		return q.Path, yarn.Reason{}
	}
	if s.Tree.Names.Ambiguous(name) {
		return "", yarn.Reason{Code: fit.AmbiguousQueue, Subject: name}
	}
	return "", yarn.Reason{Code: fit.UnknownQueue, Subject: name}
}

// MaximumAllocation is the largest ask that the queue takes.
func (s *Core) MaximumAllocation(path string) resource {
	if path == "" {
		return s.ClusterMaximum()
	}
	return s.MaximumFor(s.Tree.Find(path))
}

// MaySubmit checks ACLs; see the facade.
func (s *Core) MaySubmit(path, user, realUser string, groups []string) yarn.Reason {
	return s.permits(path, user, realUser, groups, fit.SubmitDenied)
}

// MayAdminister checks ACLs; see the facade.
func (s *Core) MayAdminister(path, user, realUser string, groups []string) yarn.Reason {
	return s.permits(path, user, realUser, groups, fit.AdminDenied)
}

// permits looks at the queue and at all above it. For a queue that does not
// exist yet the nearest one above counts.
//
// compat: what is submitted to a queue that does not exist and cannot be made
// is not denied; it fails for that, when it enters the queue.
func (s *Core) permits(path, user, realUser string, groups []string, code yarn.Code) yarn.Reason {
	if !s.cluster.ACLEnabled {
		return yarn.Reason{}
	}
	q := s.Tree.Find(path)
	if q == nil {
		for up := path; q == nil && up != ""; up = queue.ParentPath(up) {
			q = s.Tree.Find(up)
		}
		if code == fit.SubmitDenied && (q == nil || !q.Creates) {
			return yarn.Reason{}
		}
	}
	for ; q != nil; q = q.Parent {
		if q.Settings.Admin.Allows(user, realUser, groups) ||
			code == fit.SubmitDenied && q.Settings.Submit.Allows(user, realUser, groups) {
			return yarn.Reason{}
		}
	}
	return yarn.Reason{Code: code, Subject: path, Detail: user}
}

// Queues is an immutable picture of all queues.
func (s *Core) Queues() *queue.Snapshot {
	p := s.Picture()
	for {
		if _, all := p.Draw(math.MaxInt); all != nil {
			return all
		}
	}
}

// Queue is a picture of one queue; see the facade.
func (s *Core) Queue(path string) (queue.Info, bool) {
	if q := s.Tree.ByPath(path); q != nil {
		return s.policy.QueueInfo(q), true
	}
	return queue.Info{}, false
}

// DeleteQueue refuses: only the FairScheduler deletes queues on request.
func (s *Core) DeleteQueue(name string) yarn.Reason {
	return yarn.Reason{Code: fit.KeptAll, Subject: name}
}

// RootQueue is a picture of the queue above all others; see the facade.
func (s *Core) RootQueue() queue.Info { return s.policy.QueueInfo(s.Tree.Root()) }

// Info is a picture of a queue as far as the core knows it. A policy adds what the queue
// is entitled to, its children, how many of its applications are served, and its own.
func (s *Core) Info(q *queue.Queue) queue.Info {
	c := q.Settings
	i := queue.Info{
		Path: q.Path, Name: q.Name, Leaf: q.Leaf, State: q.State, Default: s.share(q, 0), Labels: c.Accessible, DefaultLabel: c.DefaultLabel, Counts: *q.Counts,
		MaxAllocation: c.MaxAllocation, MaxLifetime: c.MaxLifetime, DefaultLifetime: c.DefaultLifetime, DefaultPriority: c.DefaultPriority,
	}
	if q.Parent != nil {
		i.Parent = q.Parent.Path
	}
	if s.Books.Partitions() > 1 {
		i.Partitions = map[string]queue.Share{}
		for p := 1; p < s.Books.Partitions(); p++ {
			i.Partitions[s.Books.Partition(part(p)).Name] = s.share(q, part(p))
		}
	}
	return i
}

func (s *Core) share(q *queue.Queue, p part) queue.Share {
	has := &q.Ledger[p]
	return queue.Share{
		Used: has.Used, Pending: has.Pending, Reserved: has.Promised, ReservedUsage: has.Reserved, AllocatedContainers: has.Containers - has.Held,
		ReservedContainers: has.Held, PendingContainers: int32(has.Waiting), Accessible: q.MayUse(s.Books.Partition(p).Name),
	}
}

// Picture is a picture of all queues that is being drawn.
type Picture struct {
	s      *Core
	tree   *queue.Tree
	change uint64         // of the tree's queues
	left   []*queue.Queue // the next one is the last
	drawn  []queue.Info
}

// Picture begins a picture; see the facade.
func (s *Core) Picture() *Picture { return &Picture{s: s} }

// Draw draws a part of the picture that is worth about so many decisions and says
// what it was worth. all is nil until everything is drawn. Queues that were drawn
// earlier may have changed since; when one has come or gone it begins anew.
func (p *Picture) Draw(budget int) (used int, all *queue.Snapshot) {
	t := p.s.Tree
	if p.tree != t || p.change != t.Changes {
		p.tree, p.change = t, t.Changes
		p.left = []*queue.Queue{t.Root()}
		p.drawn = make([]queue.Info, 0, t.Len())
	}
	for len(p.left) > 0 && used < budget {
		q := p.left[len(p.left)-1]
		info := p.s.policy.QueueInfo(q)
		p.left = p.left[:len(p.left)-1]
		for _, child := range slices.Backward(info.Children) {
			p.left = append(p.left, t.ByPath(child))
		}
		p.drawn = append(p.drawn, info)
		used += 1 + len(q.Ledger)/2
		if info.Capacity != nil {
			used += len(info.Capacity.Users)
		} else {
			used += int(info.SubmittedApps) / 16 // it goes through them
		}
	}
	if len(p.left) > 0 {
		return used, nil
	}
	return used, queue.NewSnapshot(p.drawn)
}
