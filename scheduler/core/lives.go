package core

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// AddApplication enters an application; see the facade.
func (s *Core) AddApplication(in demand.Application, path string) (AppRef, yarn.Reason) {
	s.entering = in
	a, why := s.policy.Admit(&s.entering, path)
	if !why.OK() {
		return cluster.NoApp, why
	}
	a.Asked, a.Live, a.Wants = a.Priority, cluster.NewOwned(), &s.none
	s.fit(a)
	if k := len(s.freeApps); k > 0 {
		a.Ref, s.freeApps = s.freeApps[k-1], s.freeApps[:k-1]
	} else {
		a.Ref = AppRef(len(s.Apps))
		s.Apps = append(s.Apps, nil)
	}
	s.Apps[a.Ref] = a
	s.Known++
	for q := a.Leaf; q != nil; q = q.Parent {
		q.Counts.Submitted++
		if a.Unmanaged {
			q.Counts.Unmanaged.Submitted++
		}
	}
	return a.Ref, yarn.Reason{}
}

// Expect is told how many applications will be added, before the first one.
func (s *Core) Expect(apps int) {
	s.Apps = slices.Grow(s.Apps, apps)
}

// AddAttempt starts an attempt; see the facade. What the one before has left behind
// goes, but for containers that are kept.
func (s *Core) AddAttempt(ref AppRef, at demand.Attempt) {
	a := s.App(ref)
	a.StartWall, a.Running = at.StartWall, true
	a.Priority = a.Asked // compat: an attempt does not take over what was changed for the one before
	a.Mastered = a.Unmanaged
	a.Attempt, a.Newest = at.ID.Attempt, at.Epoch<<yarn.EpochShift
	a.Wants = &s.none
	a.AvoidAM = nil
	a.updates = nil
	if !at.KeepContainers {
		s.forgetAvoided(a)
		s.fit(a)
		a.Live = cluster.NewOwned()
	} else {
		a.Own()
	}
	s.starting = at
	s.policy.Started(a, &s.starting)
}

// EndAttempt ends the running attempt; see the facade.
func (s *Core) EndAttempt(ref AppRef, keepContainers bool) []cluster.Ended {
	a := s.App(ref)
	if !a.Running {
		return nil
	}
	ended, _ := s.endSome(a, keepContainers, math.MaxInt, nil)
	ended = s.endReservations(a, ended)
	a.Running = false
	s.withdraw(a)
	s.policy.Stopped(a)
	return ended
}

// EndContainers ends some of what EndAttempt would end; see the facade.
func (s *Core) EndContainers(ref AppRef, keepContainers bool, most int) (ended []cluster.Ended, more bool) {
	a := s.App(ref)
	if !a.Running || a.Live.Len() <= most {
		return nil, false
	}
	ended = s.endReservations(a, nil)
	s.withdraw(a)
	s.policy.Asked(a, false)
	return s.endSome(a, keepContainers, most, ended)
}

// endSome ends at most so many of the attempt's containers. With keep, those that were
// launched stay, but for the master's. more tells that some are left.
func (s *Core) endSome(a *App, keep bool, most int, ended []cluster.Ended) (_ []cluster.Ended, more bool) {
	for _, c := range s.Books.OfOwner(&a.Live, nil) {
		if container := s.Books.Container(c); keep && container.Launched && !container.AM {
			continue
		}
		if len(ended) >= most {
			return ended, true
		}
		ended = append(ended, s.End(c, cluster.AttemptOver))
	}
	return ended, false
}

func (s *Core) endReservations(a *App, ended []cluster.Ended) []cluster.Ended {
	for _, c := range a.reservations() {
		ended = append(ended, s.End(c, cluster.AttemptOver))
	}
	return ended
}

// withdraw forgets what the attempt asks for.
func (s *Core) withdraw(a *App) {
	if a.updates != nil {
		a.updates.increases = nil
	}
	for _, d := range a.Own().Clear(&s.Books.Places, nil) {
		s.addPending(a.Leaf, &d)
	}
}

// CountEnd counts how the application ended; see the facade.
func (s *Core) CountEnd(ref AppRef, end yarn.ApplicationState) {
	a := s.App(ref)
	for q := a.Leaf; q != nil; q = q.Parent {
		all, unmanaged := &q.Counts.Completed, &q.Counts.Unmanaged.Completed
		switch end {
		case yarn.AppKilled:
			all, unmanaged = &q.Counts.Killed, &q.Counts.Unmanaged.Killed
		case yarn.AppFailed:
			all, unmanaged = &q.Counts.Failed, &q.Counts.Unmanaged.Failed
		}
		*all++
		if a.Unmanaged {
			*unmanaged++
		}
	}
}

// Stands tells whether what is to be taken is still there; see the facade.
func (s *Core) Stands(t *Taking) bool {
	return s.Books.Is(t.Ref, t.ID)
}

// CountPreempted counts a container that was taken from the application, and what it had used; see the facade.
func (s *Core) CountPreempted(ref AppRef, seconds resource) {
	for q := s.App(ref).Leaf; q != nil; q = q.Parent {
		q.Counts.Preempted++
		q.Counts.PreemptedSeconds.Increase(&seconds)
	}
}

// RemoveApplication forgets the application, but for the slots of its containers.
func (s *Core) RemoveApplication(ref AppRef) {
	a := s.App(ref)
	if a.Running {
		s.EndAttempt(ref, false)
	}
	s.policy.Removed(a)
	s.Known--
	a.Gone = true
	s.dropPlaces(a)
	s.freeApp(a)
	s.Report(Change{What: Members, Queue: a.Leaf, App: a})
}

// freeApp reuses the slot of a removed application once nothing refers to it.
func (s *Core) freeApp(a *App) {
	if a.Gone && a.Open == 0 {
		s.Apps[a.Ref] = nil
		s.freeApps = append(s.freeApps, a.Ref)
	}
}

// MayMove checks a move; see the facade.
func (s *Core) MayMove(ref AppRef, target string) yarn.Reason {
	_, why := s.policy.MoveTarget(s.App(ref), target, false)
	return why
}

// PrepareMove is the first half of a move; see the facade.
func (s *Core) PrepareMove(ref AppRef, target string) yarn.Reason {
	_, why := s.policy.MoveTarget(s.App(ref), target, true)
	return why
}

// MoveApplication moves the application; see the facade.
func (s *Core) MoveApplication(ref AppRef, target string) yarn.Reason {
	a := s.App(ref)
	to, why := s.policy.MoveTarget(a, target, true)
	if !why.OK() {
		return why
	}
	from := a.Leaf
	s.rebookAll(a, from, to)
	s.policy.Moved(a, from, to)
	s.Report(Change{What: Members, Queue: from, App: a})
	s.Report(Change{What: Members, Queue: to, App: a})
	return yarn.Reason{}
}

// MoveDemand takes what the application asks for from one leaf to another.
func (s *Core) MoveDemand(a *App, from, to *queue.Queue) {
	for _, w := range a.Wants.Keys() {
		n := int64(w.Any.Count)
		s.addPending(from, &demand.Delta{Part: w.Part, Size: times(w.Any.Size, -n), Count: -n})
		s.addPending(to, &demand.Delta{Part: w.Part, Size: times(w.Any.Size, n), Count: n})
	}
}

// SetPriority changes the priority; see the facade.
//
// compat: with the priority of the submission the place in the order stays.
func (s *Core) SetPriority(ref AppRef, priority int32) {
	a := s.App(ref)
	if priority == a.Asked {
		return
	}
	s.policy.Prioritize(a, priority)
	a.Priority = priority
	s.Report(Change{What: Members, Queue: a.Leaf, App: a})
}

// CheckPriority is the priority that a submission gets; see the facade.
func (s *Core) CheckPriority(in *demand.Application, path string) (int32, yarn.Reason) {
	var acls []queue.PriorityACL
	var otherwise int32
	if q := s.Tree.Find(path); q != nil && q.Leaf {
		acls, otherwise = q.Settings.PriorityACLs, q.Settings.DefaultPriority
	}
	priority := in.Priority
	if !in.PrioritySet {
		priority = otherwise
		for _, acl := range acls {
			if acl.Who.Allows(in.User, in.RealUser, in.Groups) {
				priority = acl.Default
			}
		}
	}
	priority = min(priority, s.cluster.MaxPriority)
	if !s.cluster.ACLEnabled || len(acls) == 0 {
		return priority, yarn.Reason{}
	}
	for _, acl := range acls {
		if priority <= acl.Max && acl.Who.Allows(in.User, in.RealUser, in.Groups) {
			return priority, yarn.Reason{}
		}
	}
	return priority, yarn.Reason{Code: fit.PriorityDenied, Subject: path, Count: int64(priority), Detail: in.User}
}

// Lifetime is how long an application may last; see the facade.
func (s *Core) Lifetime(path string, asked int64) int64 {
	q := s.Tree.Find(path)
	if q == nil || !q.Leaf {
		return max(asked, 0)
	}
	most, otherwise := q.Settings.MaxLifetime, q.Settings.DefaultLifetime
	switch {
	case asked <= 0:
		return max(otherwise, 0)
	case most > 0:
		return min(asked, most)
	}
	return asked
}
