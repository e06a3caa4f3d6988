package fair

import (
	"cmp"
	"container/heap"
	"math"

	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// mayRun tells whether one more application of the user may run in the leaf. besides does not count: it moves there.
func (s *Scheduler) mayRun(q *Queue, name string, besides *app) yarn.Reason {
	counted := func(within *Queue) int32 {
		if besides != nil && besides.runnable && besides.Running && (within == nil || above(within, besides.queue)) {
			return 1
		}
		return 0
	}
	if u := s.users[name]; u != nil {
		if n, most := u.running-counted(nil), s.cfg.UserMaxApps(name); n >= most {
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
	if u := s.users[name]; u != nil && u.running == 0 && len(u.waiting) == 0 {
		delete(s.users, name)
	}
}

// run counts an attempt among those that run, and lines it up.
func (s *Scheduler) run(a *app) {
	s.count(a)
	s.enter(a)
}

// count counts an attempt among those that run.
func (s *Scheduler) count(a *app) {
	a.runnable = true
	s.user(a.User).running++
	for q := a.queue; q != nil; q = q.up {
		q.runnable++
	}
}

// enter puts an attempt that runs into its leaf, and lines it up.
func (s *Scheduler) enter(a *app) {
	a.queue.running = append(a.queue.running, a)
	if a.hasAM {
		s.chargeMaster(a, 1)
	}
	s.comes(a)
	s.lineUp(a)
}

// stop counts an attempt off those that run.
func (s *Scheduler) stop(a *app) {
	q := a.queue
	s.goes(a)
	s.user(a.User).running--
	s.forgetUser(a.User)
	q.running = drop(q.running, a)
	for up := q; up != nil; up = up.up {
		up.runnable--
	}
	if a.hasAM {
		s.chargeMaster(a, -1)
	}
	if a.in {
		q.lineupOf(a).remove(&a.place, s.numbers(q.policy))
		s.noteHolder(a)
	}
	s.lineUpQueue(q)
}

// hold has an attempt wait until it may run.
func (s *Scheduler) hold(a *app) {
	a.runnable = false
	a.queue.waiting = append(a.queue.waiting, a)
	s.comes(a)
	u := s.user(a.User)
	u.waiting = append(u.waiting, a)
}

// unhold ends the wait.
func (s *Scheduler) unhold(a *app) {
	s.goes(a)
	a.queue.waiting = drop(a.queue.waiting, a)
	u := s.user(a.User)
	u.waiting = drop(u.waiting, a)
	s.forgetUser(a.User)
}

// hasMaster notes that the attempt's master has a container of that size.
func (s *Scheduler) hasMaster(a *app, size *resource) {
	if a.in {
		a.queue.masterless.remove(&a.place, s.numbers(a.queue.policy))
	}
	a.hasAM, a.am = true, *size
	if len(a.Wants.Keys()) == 0 {
		a.bounds = narrowest // what was asked for it is over
	}
	if a.runnable {
		s.chargeMaster(a, 1)
	}
}

// chargeMaster adds a master to what masters of the leaf use, or takes it off.
func (s *Scheduler) chargeMaster(a *app, sign int64) {
	used := &a.queue.masters.used
	for t := range used {
		used[t] += sign * a.am[t]
	}
}

// promote lets applications run in the place of one of that user that ran in the leaf. One more may do so for each leaf, and for the user,
// whose limit that one had reached.
func (s *Scheduler) promote(leaf *Queue, name string) {
	var highest *Queue
	for q := leaf; q != nil; q = q.up {
		if q.runnable == q.conf.MaxApps-1 {
			highest = q
		}
	}
	var lists [][]*app
	if highest != nil {
		lists = heldBelow(highest, nil)
	}
	running, waiting := int32(0), []*app(nil)
	if u := s.users[name]; u != nil {
		running, waiting = u.running, u.waiting
	}
	if running == s.cfg.UserMaxApps(name)-1 {
		lists = append(lists, waiting)
	}
	s.runEarliest(lists, len(lists))
}

// promoteAll lets all applications run that may after a change of limits. Nobody who runs is stopped.
func (s *Scheduler) promoteAll() { s.runEarliest(heldBelow(s.root, nil), math.MaxInt) }

// heldBelow are the applications that wait to run in leaves below, leaf by leaf, as far as the queues have room for one.
func heldBelow(q *Queue, lists [][]*app) [][]*app {
	if q.runnable >= q.conf.MaxApps {
		return lists
	}
	if q.Leaf {
		return append(lists, q.waiting)
	}
	for _, c := range q.children {
		lists = heldBelow(c, lists)
	}
	return lists
}

// runEarliest lets at most so many of the applications run, those that started first. Of each list the first that is left is looked at next.
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
			s.count(a)
		}
	}
	for _, a := range chosen {
		s.unhold(a)
		s.enter(a)
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
