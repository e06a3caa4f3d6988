package fair

import (
	"cmp"
	"container/heap"
	"math"

	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// mayRun tells whether limits let one more application of the user run in the leaf. The application besides, which moves there, is not counted.
func (s *Scheduler) mayRun(q *Queue, name string, besides *app) yarn.Reason {
	counted := func(within *Queue) int32 {
		if besides != nil && besides.runnable && besides.Running && (within == nil || above(within, besides.queue)) {
			return 1
		}
		return 0
	}
	if u := s.users[name]; u != nil {
		if n, most := u.runnable-counted(nil), s.cfg.UserMaxApps(name); n >= most {
			return yarn.Reason{Code: fit.UserRunningApps, Subject: name, Count: int64(n), Max: int64(most), Key: keyUserMax}
		}
	} else if s.cfg.UserMaxApps(name) <= 0 {
		return yarn.Reason{Code: fit.UserRunningApps, Subject: name, Max: int64(s.cfg.UserMaxApps(name)), Key: keyUserMax}
	}
	for ; q != nil; q = q.up {
		if n := q.runnable - counted(q); n >= q.conf.MaxApps {
			return yarn.Reason{Code: fit.RunningApps, Subject: q.Path, Count: int64(n), Max: int64(q.conf.MaxApps), Key: keyMaxApps}
		}
	}
	return yarn.Reason{}
}

func (s *Scheduler) user(name string) *user {
	u := s.users[name]
	if u == nil {
		u = &user{}
		s.users[name] = u
	}
	return u
}

// forgetUser drops a user without applications.
func (s *Scheduler) forgetUser(name string) {
	if u := s.users[name]; u != nil && u.runnable == 0 && len(u.waiting) == 0 {
		delete(s.users, name)
	}
}

// addRunnable has an attempt run.
func (s *Scheduler) addRunnable(a *app) {
	s.countRunnable(a)
	s.enterLeaf(a)
}

// countRunnable counts an attempt against the limits on running applications.
func (s *Scheduler) countRunnable(a *app) {
	a.runnable = true
	s.user(a.User).runnable++
	for q := a.queue; q != nil; q = q.up {
		q.runnable++
	}
}

// enterLeaf puts an attempt that may run into its leaf, and lines it up.
func (s *Scheduler) enterLeaf(a *app) {
	a.queue.runnableApps = append(a.queue.runnableApps, a)
	if a.hasAM {
		s.chargeAM(a, 1)
	}
	s.addDemand(a)
	s.lineUp(a)
}

// removeRunnable takes an attempt out of those that run.
func (s *Scheduler) removeRunnable(a *app) {
	q := a.queue
	s.dropDemand(a)
	s.user(a.User).runnable--
	s.forgetUser(a.User)
	q.runnableApps = drop(q.runnableApps, a)
	for up := q; up != nil; up = up.up {
		up.runnable--
	}
	if a.hasAM {
		s.chargeAM(a, -1)
	}
	if a.in {
		q.lineupOf(a).remove(&a.candidate, s.numbers(q.policy))
		s.noteReserver(a)
	}
	s.lineUpQueue(q)
}

// addWaiting has an attempt wait until it may run.
func (s *Scheduler) addWaiting(a *app) {
	s.waitIn(a)
	u := s.user(a.User)
	u.waiting = append(u.waiting, a)
}

// waitIn has an attempt wait in its leaf. If it has moved there, it keeps its place among its user's.
func (s *Scheduler) waitIn(a *app) {
	a.runnable = false
	a.queue.waiting = append(a.queue.waiting, a)
	s.addDemand(a)
}

// removeWaiting takes an attempt out of those that wait.
func (s *Scheduler) removeWaiting(a *app) {
	s.leaveWaiting(a)
	u := s.user(a.User)
	u.waiting = drop(u.waiting, a)
	s.forgetUser(a.User)
}

// leaveWaiting takes a waiting attempt out of its leaf.
func (s *Scheduler) leaveWaiting(a *app) {
	s.dropDemand(a)
	a.queue.waiting = drop(a.queue.waiting, a)
}

// noteAM notes that the attempt's master has a container of that size.
func (s *Scheduler) noteAM(a *app, size *resource) {
	if a.in {
		a.queue.awaitingAM.remove(&a.candidate, s.numbers(a.queue.policy))
	}
	a.hasAM, a.am = true, *size
	if len(a.Wants.Keys()) == 0 {
		a.bounds = narrowest // the asks were for the master, and are met
	}
	if a.runnable {
		s.chargeAM(a, 1)
	}
}

// chargeAM adds the attempt's master to what masters of its leaf use, or subtracts it.
func (s *Scheduler) chargeAM(a *app, sign int64) {
	used := &a.queue.ams.used
	for t := range used {
		used[t] += sign * a.am[t]
	}
}

// promote lets waiting applications run after one of that user has left the leaf. Candidates are those that wait in leaves below the highest queue
// that was at its limit, and those of the user if the user was. At most as many run as there are such lists.
func (s *Scheduler) promote(leaf *Queue, name string) {
	var highest *Queue
	for q := leaf; q != nil; q = q.up {
		if q.runnable == q.conf.MaxApps-1 {
			highest = q
		}
	}
	var lists [][]*app
	if highest != nil {
		lists = waitingBelow(highest, nil)
	}
	running, waiting := int32(0), []*app(nil)
	if u := s.users[name]; u != nil {
		running, waiting = u.runnable, u.waiting
	}
	if running == s.cfg.UserMaxApps(name)-1 {
		lists = append(lists, waiting)
	}
	s.runEarliest(lists, len(lists))
}

// promoteAll lets all waiting applications run that may after a change of limits. Those that run go on.
func (s *Scheduler) promoteAll() { s.runEarliest(waitingBelow(s.root, nil), math.MaxInt) }

// waitingBelow is the waiting applications of q and the leaves below, leaf by leaf, without queues that are at their limit.
func waitingBelow(q *Queue, lists [][]*app) [][]*app {
	if q.runnable >= q.conf.MaxApps {
		return lists
	}
	if q.Leaf {
		return append(lists, q.waiting)
	}
	for _, c := range q.children {
		lists = waitingBelow(c, lists)
	}
	return lists
}

// runEarliest lets at most so many of the applications run, in order of their start. Each list is taken from its front.
func (s *Scheduler) runEarliest(lists [][]*app, most int) {
	h := earliest{}
	for _, l := range lists {
		if len(l) > 0 {
			h = append(h, l)
		}
	}
	heap.Init(&h)
	var chosen []*app
	for last := (*app)(nil); len(h) > 0 && len(chosen) < most; {
		a := h[0][0]
		if h[0] = h[0][1:]; len(h[0]) == 0 {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
		if a == last || a.runnable {
			continue // it is in two lists
		}
		if last = a; s.mayRun(a.queue, a.User, nil).OK() {
			chosen = append(chosen, a)
			s.countRunnable(a)
		}
	}
	for _, a := range chosen {
		s.removeWaiting(a)
		s.enterLeaf(a)
	}
}

// earliest is a heap of lists by who is the first in each.
type earliest [][]*app

func (h earliest) Len() int { return len(h) }
func (h earliest) Less(i, j int) bool {
	a, b := h[i][0], h[j][0]
	return cmp.Or(cmp.Compare(a.order, b.order), a.ID.Compare(b.ID)) < 0
}
func (h earliest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *earliest) Push(any)     {}

// Pop takes the last list out.
func (h *earliest) Pop() any {
	n := len(*h) - 1
	last := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	return last
}
