package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/capacity/users"
	"github.com/heddle-project/heddle/scheduler/capacity/waiting"
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
	queue    *Queue // Leaf, as this policy has it
	member   users.Member
	idle     bool // active, and passed by; see lineup
	stale    bool // its place in a fair order is out of date
	active   bool // admitted
	runnable bool // not held back by max-parallel-apps
	counted  bool // among the runnable ones of its leaf
	waits    bool // in the leaf's pending list
	// What the master's headroom is computed from: the leaf and the user that the last
	// walk found.
	headLeaf *Queue
	headUser *user

	core.App

	wait waiting.Waiter // for admission, with its master

	waitsSince uint64 // pending.Passes when it began to wait

	orderUsed, orderPending int64 // memory, as the fair order knows it
}

// enters puts the application into a leaf.
func (a *app) enters(q *Queue) { a.queue, a.Leaf = q, &q.Queue }

// appOf is the application, as this policy has it.
func appOf(a *core.App) *app { return a.Outer.(*app) }

func (s *Scheduler) app(ref AppRef) *app { return appOf(s.Apps[ref]) }

// Admit enters an application into its leaf.
func (s *Scheduler) Admit(in *demand.Application, path string) (*core.App, yarn.Reason) {
	q, priority, why := s.admitApplication(in, path)
	if !why.OK() {
		return nil, why
	}
	a := &app{App: core.App{Kept: in.Kept(), Priority: priority}}
	a.Outer, a.wait.App, a.wait.Master = a, &a.App, &s.noMaster
	a.enters(q)
	return &a.App, yarn.Reason{}
}

func (s *Scheduler) admitApplication(in *demand.Application, path string) (*Queue, int32, yarn.Reason) {
	if n := s.tree.Root.NumApps(); n >= s.cfg.MaxSystemApps && !in.Recovering {
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
		q.AppRecovered()
	} else if why := s.meetUser(q, in.User); !why.OK() {
		return nil, 0, why
	}
	q.LastSubmit = s.Now.Mono
	for p := q.Up; p != nil; p = p.Up {
		parentOf(p).apps++
	}
	return q, priority, yarn.Reason{}
}

// destination is the leaf of that name, created where that is allowed.
func (s *Scheduler) destination(in *demand.Application, path string) (*Queue, yarn.Reason) {
	q := s.find(path)
	if plan := s.planOf(q, path, in.Recovering); plan != nil {
		return s.planLeaf(in, plan)
	}
	if q == nil {
		if s.tree.Names.Ambiguous(path) {
			return nil, yarn.Reason{Code: fit.AmbiguousQueue, Subject: path}
		}
		var why yarn.Reason
		if q, why = s.live().Create(path); !why.OK() {
			return nil, why
		}
	}
	if !q.Leaf {
		return nil, yarn.Reason{Code: fit.NotALeaf, Subject: path}
	}
	if !in.Recovering {
		return q, mayUseManaged(q, in.Placed, path)
	}
	return q, yarn.Reason{}
}

// meetUser is maySubmitNow for an application that comes.
//
// compat: unless the leaf itself takes no applications, it has the user among its users
// from then on, even if one of the other limits refuses the application.
func (s *Scheduler) meetUser(q *Queue, name string) yarn.Reason {
	if s.leafTakes(q).OK() {
		leafOf(q).Enter(q, name)
	}
	return s.maySubmitNow(q, name)
}

// maySubmitNow checks the states and limits of the queue and of those above.
func (s *Scheduler) maySubmitNow(q *Queue, name string) yarn.Reason {
	if why := s.leafTakes(q); !why.OK() {
		return why
	}
	if l := leafOf(q); !q.ManagedLeaf() {
		n := int32(0)
		if u := l.Named(name); u != nil {
			n = u.Active + u.Pending
		}
		if n >= q.MaxAppsPerUser {
			return yarn.Reason{Code: fit.TooManyUserApps, Subject: q.Path, Count: int64(n), Max: int64(q.MaxAppsPerUser),
				Key: tree.MaxAppsKey(s.cfg, q) + ", minimum-user-limit-percent and user-limit-factor"}
		}
	}
	for p := q.Up; p != nil; p = p.Up {
		if p.State != queue.Running {
			return yarn.Reason{Code: fit.QueueStopped, Subject: p.Path}
		}
	}
	return yarn.Reason{}
}

// leafTakes checks the leaf's state and how many applications it may have.
func (s *Scheduler) leafTakes(q *Queue) yarn.Reason {
	if q.State != queue.Running {
		return yarn.Reason{Code: fit.QueueStopped, Subject: q.Path}
	}
	if n := q.NumApps(); n >= q.MaxApps && !q.ManagedLeaf() {
		return yarn.Reason{Code: fit.TooManyQueueApps, Subject: q.Path, Count: int64(n), Max: int64(q.MaxApps), Key: tree.MaxAppsKey(s.cfg, q)}
	}
	return yarn.Reason{}
}

// Removed takes the application off the counts of its leaf and of those above.
func (s *Scheduler) Removed(gone *core.App) {
	a := appOf(gone)
	q := a.queue
	leafOf(q).Unwant(q, a.User, &a.member)
	q.AppGone()
	for p := q.Up; p != nil; p = p.Up {
		parentOf(p).apps--
		p.AppGone()
	}
}

// Started has an attempt wait for admission.
func (s *Scheduler) Started(of *core.App, at *demand.Attempt) {
	a := appOf(of)
	delete(s.strays, a)
	a.wait.Master = s.master(s.Part(at.AMLabel), at.AM)
	if a.Unmanaged {
		a.wait.Master = s.master(0, s.Min)
	}
	a.waits, a.active, a.Apart = false, false, true
	a.orderUsed, a.orderPending, a.stale = 0, 0, false
	if !at.KeepContainers {
		a.headLeaf, a.headUser = nil, nil
	}
	a.runnable = s.mayRun(a)
	s.track(a)
	s.join(a.queue, a)
}

// master is what admission looks at of a master. Most are like the one before, and share it.
func (s *Scheduler) master(p part, size resource) *waiting.Master {
	if m := s.lastMaster; m == nil || m.Part != p || m.Size != size {
		s.lastMaster = &waiting.Master{Part: p, Size: size}
	}
	return s.lastMaster
}

// join puts the attempt into the leaf's lists and admits who can be.
func (s *Scheduler) join(q *Queue, a *app) {
	l := leafOf(q)
	u := l.Enter(q, a.User)
	if a.counted = a.runnable; a.runnable {
		s.enterLine(q, u, a)
	} else {
		l.waiting = append(l.waiting, a)
	}
	s.reordered(q)
}

// enterLine has the attempt wait for admission.
func (s *Scheduler) enterLine(q *Queue, u *user, a *app) {
	l := leafOf(q)
	l.runnable++
	l.Count(u, 0, 1)
	if !a.waits {
		l.pending.Enter(&a.wait)
		a.waits, a.waitsSince = true, l.pending.Passes
	}
	if s.Calc.Positive(&l.lastCluster, &l.lastCluster) {
		s.activate(q)
	}
}

// reordered reports that the leaf's applications or users, or their order, have changed.
func (s *Scheduler) reordered(q *Queue) {
	s.Report(core.Change{What: core.Members, Queue: &q.Queue})
}

// separate takes the attempt out of the leaf's lists: it has ended (to is nil), or moves to
// another leaf or to the same.
func (s *Scheduler) separate(q *Queue, a *app, to *Queue) {
	l := leafOf(q)
	u := leafOf(q).Enter(q, a.User)
	if a.counted {
		l.runnable--
	} else {
		l.waiting = slices.DeleteFunc(l.waiting, func(o *app) bool { return o == a })
		l.pending.Miscounted = true
	}
	unmarkStale(q, a)
	if a.active {
		l.active.exit(a, policyOf(q))
		a.active = false
		s.chargeMaster(q, u, a, -1)
		l.Count(u, -1, 0)
		s.waitOn(q, a, to)
	} else {
		if a.waits {
			l.pending.Exit(&a.wait)
			a.waits = false
		}
		// compat: an attempt that max-parallel-apps held back was never counted
		// as pending, but is taken off that count.
		l.Count(u, 0, -1)
	}
	if u.Active+u.Pending == 0 {
		l.Leave(q, u)
	}
	s.activate(q)
	s.reordered(q)
}

func (s *Scheduler) chargeMaster(q *Queue, u *user, a *app, sign int64) {
	size := a.wait.Size
	for i := range size {
		size[i] *= sign
	}
	sh, us := &q.Shares[a.wait.Part], &u.Shares[a.wait.Part]
	sh.AMUsed = sh.AMUsed.Add(size)
	us.AMUsed = us.AMUsed.Add(size)
}

// Stopped takes an attempt out of its leaf, and lets others run in its place.
func (s *Scheduler) Stopped(of *core.App) {
	a := appOf(of)
	s.separate(a.queue, a, nil)
	s.untrack(a)
	if a.runnable {
		s.promote(a)
	}
}

// MoveTarget finds the leaf and checks its limits.
//
// compat: once somebody tries to move an application, its headroom is that of the other
// partitions alone, until it asks for something in the default one; and the target has its
// user among its users. Both stay if the move is refused.
func (s *Scheduler) MoveTarget(of *core.App, target string, moving bool) (*queue.Queue, yarn.Reason) {
	a := appOf(of)
	q, why := s.leafToMoveTo(a, target)
	if !why.OK() {
		return nil, why
	}
	if moving && s.comparesLabels(a) {
		a.Own().ForgetAsked()
	}
	if why := s.keepsAccess(a, q); !why.OK() {
		return nil, why
	}
	if moving {
		return &q.Queue, s.meetUser(q, a.User)
	}
	return &q.Queue, s.maySubmitNow(q, a.User)
}

// leafToMoveTo finds the target, if the application's queue can be left for it.
func (s *Scheduler) leafToMoveTo(a *app, target string) (*Queue, yarn.Reason) {
	q := s.find(target)
	if q != nil && q.Conf.Kind == config.Reservable {
		q = q.Default()
	}
	switch {
	case s.find(a.queue.Path) == nil:
		// compat: a refresh has taken its queue out of the tree.
		return nil, yarn.Reason{Code: fit.UnknownQueue, Subject: a.queue.Path}
	case q == nil && s.tree.Names.Ambiguous(target):
		return nil, yarn.Reason{Code: fit.AmbiguousQueue, Subject: target}
	case q == nil:
		return nil, yarn.Reason{Code: fit.UnknownQueue, Subject: target}
	case !q.Leaf:
		return nil, yarn.Reason{Code: fit.NotALeaf, Subject: q.Path}
	}
	return q, yarn.Reason{}
}

// comparesLabels tells whether a move depends on the partitions that were asked for.
func (s *Scheduler) comparesLabels(a *app) bool { return s.cfg.Cluster.LabelsEnabled && a.Running }

// keepsAccess tells whether the queue may use all partitions that the application has
// asked for.
func (s *Scheduler) keepsAccess(a *app, q *Queue) yarn.Reason {
	if !s.comparesLabels(a) {
		return yarn.Reason{}
	}
	for p, asked := range a.Wants.Asked() {
		if label := s.Books.Partition(part(p)).Name; asked && !q.MayUse(label) {
			return yarn.Reason{Code: fit.AccessChanges, Subject: q.Path, Detail: label}
		}
	}
	return yarn.Reason{}
}

// Moved takes the application out of one leaf and puts it into another.
func (s *Scheduler) Moved(of *core.App, fromLeaf, toLeaf *queue.Queue) {
	a, from, to := appOf(of), queueOf(fromLeaf), queueOf(toLeaf)
	to.LastSubmit = s.Now.Mono
	for p := to.Up; p != nil; p = p.Up {
		parentOf(p).apps++
	}
	if a.Running {
		s.separate(from, a, to)
		a.enters(to)
		s.moveParallel(a, from)
		s.join(to, a)
		s.moveDemand(a, from, to)
	} else {
		leafOf(from).Unwant(from, a.User, &a.member) // what an attempt wanted is counted until its application goes
	}
	a.enters(to)
	from.AppGone()
	for p := from.Up; p != nil; p = p.Up {
		parentOf(p).apps--
		p.AppGone()
	}
	if a.Running && s.movesParallel() {
		s.promoteMoved(a, from)
	}
}

// moveParallel moves the application's place among those that run at the same time.
// Who waits for one keeps its turn among the user's others.
func (s *Scheduler) moveParallel(a *app, from *Queue) {
	if a.runnable && s.movesParallel() {
		countParallel(from, -1)
		countParallel(a.queue, 1)
	}
}

func (s *Scheduler) moveDemand(a *app, from, to *Queue) {
	s.MoveDemand(&a.App, &from.Queue, &to.Queue)
	leafOf(from).Unwant(from, a.User, &a.member)
	if len(a.Wants.Keys()) > 0 {
		leafOf(to).Want(to, a.User, &a.member)
	}
}

// Prioritize takes the application to its place among those that are served, or wait.
func (s *Scheduler) Prioritize(of *core.App, priority int32) {
	a := appOf(of)
	q := a.queue
	l, compare := leafOf(q), policyOf(q)
	unmarkStale(q, a)
	if a.active {
		l.active.exit(a, compare)
	}
	if a.waits {
		l.pending.Exit(&a.wait)
	}
	a.Priority = priority
	s.admitHeldBack(q, a)
	if a.active {
		l.active.enter(a, compare)
	}
	if a.waits {
		l.pending.Enter(&a.wait)
	}
}
