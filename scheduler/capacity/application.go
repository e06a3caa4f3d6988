package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// app is one application and its running attempt. What every walk reads stands
// together, before the rest.
type app struct {
	queue     *Queue
	user      *user // as last looked up, see Queue.known
	ref       AppRef
	held      int32 // reservations
	open      int32
	running   bool                   // has an attempt that has not ended
	mastered  bool                   // the master's container was found, or none is needed
	rests     bool                   // active, and passed by; see lineup
	wanting   bool                   // counted among the asking applications of its user
	unsettled bool                   // the fair order has to look at it again
	active    bool                   // admitted
	runnable  bool                   // not held back by max-parallel-apps
	listed    bool                   // its leaf counts it among those
	waits     bool                   // in the leaf's pending list
	avoid     map[cluster.Place]bool // hosts and racks, for all but masters
	// What the master's headroom is computed from: the leaf and the user of the
	// last walk that came by.
	headLeaf *Queue
	headUser *user
	newest   yarn.ContainerID // of the running attempt
	live     cluster.Owned    // what the running attempt has
	shares   []appShare
	own      [1]appShare // where shares lie while there is only the default partition
	wants    demand.Demand
	attempt  demand.Attempt

	demand.Application
	priority int32
	asked    int32 // the priority of the submission
	gone     bool  // removed; the slot waits for its last container
	amPart   part
	amSize   resource
	avoidAM  map[cluster.Place]bool // hosts and racks, for the master

	line   *line // that it waits in, and its place there
	lineAt int
	joined uint64 // how many passes over who waits had been when it came

	orderUsed, orderPending int64 // memory, as the fair order knows it
	updates                 updates
}

type appShare struct{ used, reserved resource }

func (a *app) grow(parts int) {
	if a.shares == nil {
		a.shares = a.own[:0]
	}
	for len(a.shares) < parts {
		a.shares = append(a.shares, appShare{})
	}
}

// memory is what the application has and wants in all partitions.
func (a *app) memory() (used, pending int64) {
	for p := range a.shares {
		used += a.shares[p].used[yarn.Memory]
		pending += a.wants.Pending(part(p))[yarn.Memory]
	}
	return used, pending
}

func (s *Scheduler) app(ref AppRef) *app { return s.apps[ref] }

// AddApplication enters an application; see the facade.
func (s *Scheduler) AddApplication(in demand.Application, path string) (AppRef, yarn.Reason) {
	if _, ok := s.byID[in.ID]; ok {
		return cluster.NoApp, yarn.Reason{Code: fit.AlreadyKnown, Subject: in.ID.String()}
	}
	q, priority, why := s.admitApplication(&in, path)
	if !why.OK() {
		return cluster.NoApp, why
	}
	a := &app{Application: in, queue: q, priority: priority, asked: priority, live: cluster.NewOwned()}
	a.grow(s.books.Partitions())
	if k := len(s.freeApps); k > 0 {
		a.ref, s.freeApps = s.freeApps[k-1], s.freeApps[:k-1]
	} else {
		a.ref = AppRef(len(s.apps))
		s.apps = append(s.apps, nil)
	}
	s.apps[a.ref] = a
	s.byID[in.ID] = a.ref
	return a.ref, yarn.Reason{}
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
	q.lastSubmit = s.now.Mono
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
	if a.running {
		s.EndAttempt(ref, false)
	}
	q := a.queue
	s.unwant(q, a)
	q.finished()
	for p := q.parent; p != nil; p = p.parent {
		p.apps--
		p.finished()
	}
	delete(s.byID, a.ID)
	a.gone = true
	s.dropPlaces(a)
	s.freeApp(a)
	q.Touch()
}

// freeApp reuses the slot of a removed application once nothing refers to it.
func (s *Scheduler) freeApp(a *app) {
	if a.gone && a.open == 0 {
		s.apps[a.ref] = nil
		s.freeApps = append(s.freeApps, a.ref)
	}
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
	kept := a.live
	headLeaf, headUser := a.headLeaf, a.headUser
	a.attempt, a.running = at, true
	a.priority = a.asked // compat: an attempt does not take over what was changed for the one before
	a.amPart, a.amSize = s.part(at.AMLabel), at.AM
	if a.Unmanaged {
		a.amPart, a.amSize = 0, s.min
	}
	a.mastered = a.Unmanaged
	a.newest = yarn.ContainerID{Attempt: at.ID, Number: at.Epoch << yarn.EpochShift}
	a.wants = demand.Demand{}
	a.waits, a.active = false, false
	a.orderUsed, a.orderPending, a.unsettled = 0, 0, false
	a.headLeaf, a.headUser, a.avoidAM = nil, nil, nil
	a.updates = updates{}
	if at.KeepContainers {
		a.live, a.headLeaf, a.headUser = kept, headLeaf, headUser
	} else {
		s.forgetAvoided(a)
		for p := range a.shares {
			a.shares[p] = appShare{}
		}
		a.live = cluster.NewOwned()
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
	if s.calc.Positive(&l.lastCluster, &l.lastCluster) {
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
	if !a.running {
		return nil
	}
	var ended []cluster.Ended
	for _, c := range s.books.OfOwner(&a.live, nil) {
		if box := s.books.Container(c); keepContainers && box.Launched && !box.AM {
			continue
		}
		ended = append(ended, s.end(c, cluster.AttemptOver))
	}
	for _, c := range s.reservationsOf(a) {
		ended = append(ended, s.end(c, cluster.AttemptOver))
	}
	q := a.queue
	a.running = false
	for _, d := range a.wants.Clear(&s.books.Places, nil) {
		s.addPending(q, &d)
	}
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
	if !a.running || a.live.Len() <= most {
		return nil, false
	}
	for _, c := range s.reservationsOf(a) {
		ended = append(ended, s.end(c, cluster.AttemptOver))
	}
	for _, d := range a.wants.Clear(&s.books.Places, nil) {
		s.addPending(a.queue, &d)
	}
	s.unwant(a.queue, a)
	for _, c := range s.books.OfOwner(&a.live, nil) {
		if box := s.books.Container(c); keepContainers && box.Launched && !box.AM {
			continue
		}
		if len(ended) >= most {
			return ended, true
		}
		ended = append(ended, s.end(c, cluster.AttemptOver))
	}
	return ended, false
}

func (s *Scheduler) reservationsOf(a *app) []ContainerRef {
	var out []ContainerRef
	for _, w := range a.wants.All() {
		out = append(out, w.Reservations...)
	}
	return out
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
	if s.cfg.Cluster.LabelsEnabled && a.running {
		// compat: from here on the headroom is that of the other partitions alone,
		// whatever comes of the move, until something is asked for in the default one.
		a.wants.ForgetAsked()
		for p, asked := range a.wants.Asked() {
			label := s.books.Partition(part(p)).Name
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
	to.lastSubmit = s.now.Mono
	for p := to.parent; p != nil; p = p.parent {
		p.apps++
	}
	s.rebookAll(a, append(s.books.OfOwner(&a.live, nil), s.reservationsOf(a)...), from, to)
	if a.running {
		s.separate(from, a)
		a.queue = to
		s.moveParallel(a, from)
		s.join(to, a)
		s.moveDemand(a, from, to)
	} else {
		s.unwant(from, a) // what an attempt wanted is counted until its application goes
	}
	a.queue = to
	from.finished()
	for p := from.parent; p != nil; p = p.parent {
		p.apps--
		p.finished()
	}
	from.Touch()
	to.Touch()
	if a.running && !s.likeApache() {
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
	if a.runnable && !s.likeApache() {
		countParallel(from, -1)
		countParallel(a.queue, 1)
	}
}

// manyRebooked is how many containers are moved one by one.
const manyRebooked = 2000

// rebookAll moves the usage of containers from one leaf to another; that of very
// many as one sum for each partition, which the shares of users notice in their
// last digits.
func (s *Scheduler) rebookAll(a *app, list []ContainerRef, from, to *Queue) {
	if len(list) <= manyRebooked {
		for _, c := range list {
			s.rebook(a, c, from, to)
		}
		return
	}
	sums, counts := make([]resource, s.books.Partitions()), make([]int32, s.books.Partitions())
	for _, c := range list {
		box := s.books.Container(c)
		if box.Reserved {
			s.rebook(a, c, from, to)
			continue
		}
		if p := s.books.Node(box.Node).Part; box.Execution == yarn.Guaranteed {
			sums[p] = sums[p].Add(box.Resource)
			counts[p]++
		}
	}
	for p, sum := range sums {
		if counts[p] > 0 {
			minus := resource{}.Sub(sum)
			s.use(from, a, part(p), &minus, -counts[p], nil)
			s.use(to, a, part(p), &sum, counts[p], nil)
		}
	}
}

// rebook moves one container's usage from one leaf to another.
func (s *Scheduler) rebook(a *app, c ContainerRef, from, to *Queue) {
	box := s.books.Container(c)
	if box.Execution != yarn.Guaranteed {
		return
	}
	p := s.books.Node(box.Node).Part
	minus := resource{}.Sub(box.Resource)
	s.use(from, a, p, &minus, -1, nil)
	s.use(to, a, p, &box.Resource, 1, nil)
	if box.Reserved {
		s.movePromise(from, p, minus, -1)
		s.movePromise(to, p, box.Resource, 1)
	}
}

// movePromise takes a reservation along with a move, but for what queue.Share calls
// ReservedUsage.
func (s *Scheduler) movePromise(q *Queue, p part, amount resource, count int32) {
	for ; q != nil; q = q.parent {
		q.Ledger[p].Promised = q.Ledger[p].Promised.Add(amount)
		q.Ledger[p].Held += count
	}
}

func (s *Scheduler) moveDemand(a *app, from, to *Queue) {
	for _, w := range a.wants.Keys() {
		n := int64(w.Any.Count)
		s.addPending(from, &demand.Delta{Part: w.Part, Size: times(w.Any.Size, -n), Count: -n})
		s.addPending(to, &demand.Delta{Part: w.Part, Size: times(w.Any.Size, n), Count: n})
	}
	s.unwant(from, a)
	if len(a.wants.Keys()) > 0 {
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
		return a.priority, why
	case priority == a.asked:
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
		a.priority = priority
		l.active.enter(a, compare)
		if a.waits {
			l.pending.enter(a)
		}
	case a.waits:
		l.pending.exit(a)
		a.priority = priority
		l.pending.enter(a)
	case a.running && s.likeApache():
		// compat: who is held back by max-parallel-apps gets into the line for admission.
		a.priority = priority
		l.pending.enter(a)
		l.pending.miscounted = true
		a.waits, a.joined = true, l.pending.passes
	}
	a.priority = priority
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
