package capacity

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// app is one application, with what this policy keeps of it. What every walk reads
// stands together, before the rest.
type app struct {
	queue     *Queue // Leaf, as this policy has it
	user      *user  // as last looked up, see Queue.known
	rests     bool   // active, and passed by; see lineup
	wanting   bool   // counted among the asking applications of its user
	unsettled bool   // the fair order has to look at it again
	active    bool   // admitted
	runnable  bool   // not held back by max-parallel-apps
	listed    bool   // its leaf counts it among those
	waits     bool   // in the leaf's pending list
	// What the master's headroom is computed from: the leaf and the user of the
	// last walk that came by.
	headLeaf *Queue
	headUser *user

	core.App

	amPart part
	amSize resource

	line   *line // that it waits in, and its place there
	lineAt int
	joined uint64 // how many passes over who waits had been when it came

	orderUsed, orderPending int64 // memory, as the fair order knows it
}

// enters puts the application into a leaf.
func (a *app) enters(q *Queue) { a.queue, a.Leaf = q, &q.Queue }

func (s *Scheduler) app(ref AppRef) *app { return s.apps[ref] }

// AddApplication enters an application; see the facade.
func (s *Scheduler) AddApplication(in demand.Application, path string) (AppRef, yarn.Reason) {
	if _, ok := s.ByID[in.ID]; ok {
		return cluster.NoApp, yarn.Reason{Code: fit.AlreadyKnown, Subject: in.ID.String()}
	}
	q, priority, why := s.admitApplication(&in, path)
	if !why.OK() {
		return cluster.NoApp, why
	}
	a := &app{App: core.App{Application: in, Priority: priority, Asked: priority}}
	a.enters(q)
	s.Enter(&a.App)
	for len(s.apps) < len(s.Apps) {
		s.apps = append(s.apps, nil)
	}
	s.apps[a.Ref] = a
	return a.Ref, yarn.Reason{}
}

func (s *Scheduler) admitApplication(in *demand.Application, path string) (*Queue, int32, yarn.Reason) {
	if n := s.tree.root.apps; n >= s.cfg.MaxSystemApps && !in.Recovering {
		return nil, 0, yarn.Reason{Code: fit.TooManyApps, Subject: queue.Root, Count: int64(n), Max: int64(s.cfg.MaxSystemApps),
			Key: config.Prefix + "maximum-applications"}
	}
	q, why := s.destination(in, path)
	if !why.OK() {
		return nil, 0, why
	}
	priority, why := s.workflowPriority(in, q)
	if !why.OK() {
		return nil, 0, why
	}
	if in.Recovering {
		q.drainForRecovery()
	} else if why := s.maySubmitNow(q, in.User); !why.OK() {
		return nil, 0, why
	}
	q.lastSubmit = s.Now.Mono
	for p := q; p != nil; p = p.parent {
		p.Counts.Submitted++
	}
	for p := q.parent; p != nil; p = p.parent {
		p.apps++
	}
	return q, priority, yarn.Reason{}
}

// destination is the leaf of that name, created where that is allowed.
func (s *Scheduler) destination(in *demand.Application, path string) (*Queue, yarn.Reason) {
	q := s.tree.find(path)
	if q != nil && s.isAstray(q.Path) {
		return nil, yarn.Reason{Code: fit.UnknownQueue, Subject: path}
	}
	if q == nil {
		if s.tree.Names.Ambiguous(path) {
			return nil, yarn.Reason{Code: fit.AmbiguousQueue, Subject: path}
		}
		var why yarn.Reason
		if q, why = s.create(path); !why.OK() {
			return nil, why
		}
	}
	if !q.isLeaf() {
		return nil, yarn.Reason{Code: fit.NotALeaf, Subject: path}
	}
	if !in.Recovering {
		return q, mayUseManaged(q, in.Placed, path)
	}
	return q, yarn.Reason{}
}

// maySubmitNow checks the states and limits of the queue and of those above.
func (s *Scheduler) maySubmitNow(q *Queue, name string) yarn.Reason {
	if q.State != queue.Running {
		return yarn.Reason{Code: fit.QueueStopped, Subject: q.Path}
	}
	l := q.leaf
	if n := q.numApps(); n >= l.maxApps && !q.managedLeaf() {
		return yarn.Reason{Code: fit.TooManyQueueApps, Subject: q.Path, Count: int64(n), Max: int64(l.maxApps), Key: s.maxAppsKey(q)}
	}
	u := q.userOf(name)
	if !q.managedLeaf() {
		if n := u.active + u.pending; n >= l.maxAppsPerUser {
			return yarn.Reason{Code: fit.TooManyUserApps, Subject: q.Path, Count: int64(n), Max: int64(l.maxAppsPerUser),
				Key: s.maxAppsKey(q) + ", minimum-user-limit-percent and user-limit-factor"}
		}
	}
	for p := q.parent; p != nil; p = p.parent {
		if p.State != queue.Running {
			return yarn.Reason{Code: fit.QueueStopped, Subject: p.Path}
		}
	}
	return yarn.Reason{}
}

// CountEnd counts how the application ended; see the facade.
func (s *Scheduler) CountEnd(ref AppRef, end yarn.ApplicationState) {
	for q := s.app(ref).queue; q != nil; q = q.parent {
		switch end {
		case yarn.AppKilled:
			q.Counts.Killed++
		case yarn.AppFailed:
			q.Counts.Failed++
		default:
			q.Counts.Completed++
		}
	}
}

// RemoveApplication forgets the application.
func (s *Scheduler) RemoveApplication(ref AppRef) {
	a := s.app(ref)
	if a.Running {
		s.EndAttempt(ref, false)
	}
	q := a.queue
	s.unwant(q, a)
	q.finished()
	for p := q.parent; p != nil; p = p.parent {
		p.apps--
		p.finished()
	}
	s.Leave(&a.App)
	q.Touch()
}

// finished ends the draining of a queue that has become empty.
func (q *Queue) finished() {
	if q.State == queue.Draining && q.numApps() == 0 {
		q.State = queue.Stopped
	}
}

func (q *Queue) drainForRecovery() {
	for ; q != nil && q.State == queue.Stopped; q = q.parent {
		q.State = queue.Draining
	}
}

// AddAttempt starts an attempt; see the facade.
func (s *Scheduler) AddAttempt(ref AppRef, at demand.Attempt) {
	a := s.app(ref)
	q := a.queue
	s.Begin(&a.App, at)
	a.amPart, a.amSize = s.Part(at.AMLabel), at.AM
	if a.Unmanaged {
		a.amPart, a.amSize = 0, s.Min
	}
	a.waits, a.active = false, false
	a.orderUsed, a.orderPending, a.unsettled = 0, 0, false
	if !at.KeepContainers {
		a.headLeaf, a.headUser = nil, nil
	}
	a.runnable = s.mayRun(a)
	s.track(a)
	s.join(q, a)
}

// join puts the attempt into the leaf's lists and admits who can be.
func (s *Scheduler) join(q *Queue, a *app) {
	l := q.leaf
	u := q.userOf(a.User)
	q.Touch()
	if a.listed = a.runnable; !a.runnable {
		l.waiting = append(l.waiting, a)
		return
	}
	l.runnable++
	l.counts(u, 0, 1)
	if !a.waits {
		l.pending.enter(a)
		a.waits, a.joined = true, l.pending.passes
	}
	if s.Calc.Positive(&l.lastCluster, &l.lastCluster) {
		s.activate(q)
	}
}

// part from the lists: the attempt has ended or moves away.
func (s *Scheduler) separate(q *Queue, a *app) {
	l := q.leaf
	u := q.userOf(a.User)
	if a.listed {
		l.runnable--
	} else {
		l.waiting = slices.DeleteFunc(l.waiting, func(o *app) bool { return o == a })
		l.pending.miscounted = true
	}
	wasActive := a.active
	q.calm(a)
	switch {
	case a.active:
		l.active.exit(a, q.policy())
		a.active = false
		s.chargeMaster(q, u, a, -1)
		l.counts(u, -1, 0)
	}
	if a.waits {
		l.pending.exit(a)
		a.waits = false
		if wasActive {
			s.leaveInLine(q, a)
		}
	}
	if !wasActive {
		// compat: an attempt that max-parallel-apps held back was never counted
		// as pending, but is taken off that count.
		l.counts(u, 0, -1)
	}
	if u.active+u.pending == 0 {
		q.leave(u)
	}
	s.activate(q)
	q.Touch()
}

func (s *Scheduler) chargeMaster(q *Queue, u *user, a *app, sign int64) {
	size := a.amSize
	for i := range size {
		size[i] *= sign
	}
	sh, us := &q.shares[a.amPart], &u.shares[a.amPart]
	sh.amUsed = sh.amUsed.Add(size)
	us.amUsed = us.amUsed.Add(size)
}

// EndAttempt ends the running attempt; see the facade.
func (s *Scheduler) EndAttempt(ref AppRef, keepContainers bool) []cluster.Ended {
	a := s.app(ref)
	if !a.Running {
		return nil
	}
	ended, _ := s.EndSome(&a.App, keepContainers, math.MaxInt, nil)
	ended = s.EndReservations(&a.App, ended)
	q := a.queue
	a.Running = false
	s.Withdraw(&a.App)
	s.separate(q, a)
	s.untrack(a)
	if a.runnable {
		s.promote(a)
	}
	return ended
}

// EndContainers ends some of what EndAttempt would end; see the facade.
func (s *Scheduler) EndContainers(ref AppRef, keepContainers bool, most int) (ended []cluster.Ended, more bool) {
	a := s.app(ref)
	if !a.Running || a.Live.Len() <= most {
		return nil, false
	}
	ended = s.EndReservations(&a.App, nil)
	s.Withdraw(&a.App)
	s.unwant(a.queue, a)
	return s.EndSome(&a.App, keepContainers, most, ended)
}

// MayMove checks a move; see the facade.
func (s *Scheduler) MayMove(ref AppRef, target string) yarn.Reason {
	a := s.app(ref)
	q := s.tree.find(target)
	switch {
	case s.tree.find(a.queue.Path) == nil || s.isAstray(a.queue.Path):
		// compat: a refresh has taken its queue out of the tree.
		return yarn.Reason{Code: fit.UnknownQueue, Subject: a.queue.Path}
	case q == nil && s.tree.Names.Ambiguous(target):
		return yarn.Reason{Code: fit.AmbiguousQueue, Subject: target}
	case q == nil || s.isAstray(q.Path):
		return yarn.Reason{Code: fit.UnknownQueue, Subject: target}
	case !q.isLeaf():
		return yarn.Reason{Code: fit.NotALeaf, Subject: q.Path}
	}
	if s.cfg.Cluster.LabelsEnabled && a.Running {
		// compat: from here on the headroom is that of the other partitions alone,
		// whatever comes of the move, until something is asked for in the default one.
		a.Wants.ForgetAsked()
		for p, asked := range a.Wants.Asked() {
			label := s.Books.Partition(part(p)).Name
			if asked && !q.MayUse(label) {
				return yarn.Reason{Code: fit.AccessChanges, Subject: q.Path, Detail: label}
			}
		}
	}
	return s.maySubmitNow(q, a.User)
}

// MoveApplication moves the application; see the facade.
func (s *Scheduler) MoveApplication(ref AppRef, target string) yarn.Reason {
	if why := s.MayMove(ref, target); !why.OK() {
		return why
	}
	a := s.app(ref)
	from, to := a.queue, s.tree.find(target)
	to.lastSubmit = s.Now.Mono
	for p := to.parent; p != nil; p = p.parent {
		p.apps++
	}
	s.Rebook(&a.App, &from.Queue, &to.Queue)
	if a.Running {
		s.separate(from, a)
		a.enters(to)
		s.moveParallel(a, from)
		s.join(to, a)
		s.moveDemand(a, from, to)
	} else {
		s.unwant(from, a) // what an attempt wanted is counted until its application goes
	}
	a.enters(to)
	from.finished()
	for p := from.parent; p != nil; p = p.parent {
		p.apps--
		p.finished()
	}
	from.Touch()
	to.Touch()
	if a.Running && !s.AsApache {
		s.promoteMoved(a, from)
	}
	return yarn.Reason{}
}

// moveParallel moves the application's place among those that run at the same time.
// Who waits for one keeps its turn among the user's others.
//
// compat: Apache leaves the place with the old parents, and counts it off from the new
// ones in the end.
func (s *Scheduler) moveParallel(a *app, from *Queue) {
	if a.runnable && !s.AsApache {
		countParallel(from, -1)
		countParallel(a.queue, 1)
	}
}

func (s *Scheduler) moveDemand(a *app, from, to *Queue) {
	s.MoveDemand(&a.App, &from.Queue, &to.Queue)
	s.unwant(from, a)
	if len(a.Wants.Keys()) > 0 {
		s.want(to, a)
	}
}

// SetPriority changes the priority; see the facade.
//
// compat: going back to the priority of the submission is answered like any
// other change, but the place in the order stays.
func (s *Scheduler) SetPriority(ref AppRef, priority int32) (int32, yarn.Reason) {
	a := s.app(ref)
	q := a.queue
	in := a.Application
	in.Priority, in.PrioritySet = priority, true
	priority, why := s.CheckPriority(&in, q.Path)
	switch {
	case !why.OK():
		return a.Priority, why
	case priority == a.Asked:
		return priority, why
	}
	l := q.leaf
	q.calm(a)
	switch {
	case a.active:
		compare := q.policy()
		l.active.exit(a, compare)
		if a.waits {
			l.pending.exit(a)
		}
		a.Priority = priority
		l.active.enter(a, compare)
		if a.waits {
			l.pending.enter(a)
		}
	case a.waits:
		l.pending.exit(a)
		a.Priority = priority
		l.pending.enter(a)
	case a.Running && s.AsApache:
		// compat: who is held back by max-parallel-apps gets into the line for admission.
		a.Priority = priority
		l.pending.enter(a)
		l.pending.miscounted = true
		a.waits, a.joined = true, l.pending.passes
	}
	a.Priority = priority
	q.Touch()
	return priority, yarn.Reason{}
}

// CheckPriority is the priority that a submission gets; see the facade.
func (s *Scheduler) CheckPriority(in *demand.Application, path string) (int32, yarn.Reason) {
	var acls []queue.PriorityACL
	var otherwise int32
	if q := s.tree.find(path); q != nil && q.isLeaf() {
		acls, otherwise = q.conf.PriorityACLs, q.conf.DefaultPriority
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
	priority = min(priority, s.cfg.Cluster.MaxPriority)
	if !s.cfg.Cluster.ACLEnabled || len(acls) == 0 {
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
func (s *Scheduler) Lifetime(path string, asked int64) int64 {
	q := s.tree.find(path)
	if q == nil || !q.isLeaf() {
		return max(asked, 0)
	}
	most, otherwise := q.conf.MaxLifetime, q.conf.DefaultLifetime
	switch {
	case asked <= 0:
		return max(otherwise, 0)
	case most > 0:
		return min(asked, most)
	}
	return asked
}
