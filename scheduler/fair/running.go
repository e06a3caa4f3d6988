package fair

import (
	"cmp"
	"slices"

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

// forget drops a user without applications.
func (s *Scheduler) forget(name string) {
	if u := s.users[name]; u != nil && u.running == 0 && len(u.waiting) == 0 {
		delete(s.users, name)
	}
}

// run counts an attempt among those that run, and lines it up.
func (s *Scheduler) run(a *app) {
	a.runnable = true
	s.user(a.User).running++
	a.queue.running = append(a.queue.running, a)
	for q := a.queue; q != nil; q = q.up {
		q.runnable++
	}
	s.comes(a)
	s.lineUp(a)
}

// stop counts an attempt off those that run.
func (s *Scheduler) stop(a *app) {
	q := a.queue
	s.goes(a)
	s.user(a.User).running--
	s.forget(a.User)
	q.running = drop(q.running, a)
	for up := q; up != nil; up = up.up {
		up.runnable--
	}
	if a.hasAM {
		s.chargeMaster(a, -1)
	}
	if a.in {
		q.wanting.remove(&a.place, s.numbers(q.policy))
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
	s.forget(a.User)
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
	var list []*app
	most := 0
	if highest != nil {
		list, most = heldBelow(highest, nil, 0)
	}
	running := int32(0)
	u := s.users[name]
	if u != nil {
		running = u.running
	}
	if running == s.cfg.UserMaxApps(name)-1 && u != nil {
		list, most = append(list, u.waiting...), most+1
	} else if running == s.cfg.UserMaxApps(name)-1 {
		most++
	}
	s.runEarliest(list, most)
}

// promoteAll lets all applications run that may after a change of limits. Nobody who runs is stopped.
func (s *Scheduler) promoteAll() {
	list, _ := heldBelow(s.root, nil, 0)
	s.runEarliest(list, len(list))
}

// heldBelow are the applications that wait to run in leaves below, as far as the queues have room for one, and how many leaves were looked at.
func heldBelow(q *Queue, list []*app, leaves int) ([]*app, int) {
	if q.runnable >= q.conf.MaxApps {
		return list, leaves
	}
	if q.Leaf {
		return append(list, q.waiting...), leaves + 1
	}
	for _, c := range q.children {
		list, leaves = heldBelow(c, list, leaves)
	}
	return list, leaves
}

// runEarliest lets at most so many of the applications run, those that started first.
func (s *Scheduler) runEarliest(list []*app, most int) {
	slices.SortFunc(list, func(a, b *app) int { return cmp.Or(cmp.Compare(a.order, b.order), a.ID.Compare(b.ID)) })
	for _, a := range slices.Compact(list) {
		if most <= 0 {
			return
		}
		if s.mayRun(a.queue, a.User, nil).OK() {
			s.unhold(a)
			s.run(a)
			most--
		}
	}
}
