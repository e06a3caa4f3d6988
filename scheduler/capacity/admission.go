package capacity

import (
	"container/heap"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// activate admits the pending applications of a leaf whose masters fit in the
// share of masters (maximum-am-resource-percent).
func (s *Scheduler) activate(q *Queue) {
	l := leafOf(q)
	for p := range q.Shares {
		if s.hasMasterLimit(q, part(p)) {
			s.masterLimit(q, part(p))
		}
	}
	if l.pending.Count == 0 {
		return
	}
	l.pending.Begin(len(q.Shares))
	if s.pass != nil {
		s.pass(q)
	} else {
		s.admitPending(q)
	}
}

// admitPending admits applications that wait, in their order. One that is refused stays
// refused in this pass: during it masters only come to use more.
func (s *Scheduler) admitPending(q *Queue) {
	w := &leafOf(q).pending
	for of := w.First(); of != nil; of = w.First() {
		a := appOf(of)
		switch s.admits(q, a) {
		case overQueue:
			w.RefuseClass()
		case overUser:
			if limit := &w.Limits[a.wait.Part].Value; !w.Miscounted && !s.Calc.FitsIn(&a.wait.Size, limit) {
				w.RefuseClass() // it is too large for everybody
			} else {
				w.RefuseLine()
			}
		case fits:
			s.admit(q, a)
		}
	}
	w.End()
}

// hasMasterLimit tells whether the limit on masters is kept up to date in the partition.
func (s *Scheduler) hasMasterLimit(q *Queue, p part) bool {
	if q.Conf.AllLabels() {
		sh, has := &q.Shares[p], &q.Ledger[p]
		return p == 0 || sh.Known || !none(has.Used) || !none(has.Pending)
	}
	return q.MayUse(s.Books.Partition(p).Name)
}

// masterLimit is how much the masters of a leaf may use.
func (s *Scheduler) masterLimit(q *Queue, p part) resource {
	sh := &q.Shares[p]
	var current resource
	if p == 0 {
		current = leafOf(q).queueLimit
	}
	sh.AMLimit = sh.EffMin
	if s.Calc.FitsIn(&sh.EffMin, &current) {
		sh.AMLimit = current
	}
	s.Calc.ScaleUp(&sh.AMLimit, float64(sh.MaxAM), &s.Min)
	return sh.AMLimit
}

// userMasterLimit is how much the masters of one user may use.
func (s *Scheduler) userMasterLimit(q *Queue, u *user, p part) resource {
	sh, l := &q.Shares[p], leafOf(q)
	share := max(javanum.Div(q.Conf.UserLimit, 100), javanum.Div(1, float32(max(l.ActiveUsers(), 1))))
	share = min(javanum.Mul(share, u.Weight), 1)
	by := javanum.Mul(javanum.Mul(sh.MaxAM, share), q.Conf.UserFactor)
	if q.Conf.UserFactor == -1 {
		by = sh.MaxAM
	}
	limit := sh.EffMin
	s.Calc.ScaleUp(&limit, float64(by), &s.Min)
	return *s.Calc.Min(&l.lastCluster, &limit, &sh.AMLimit)
}

// verdict is whether an application may become active, or what is in the way.
type verdict uint8

const (
	fits verdict = iota
	overQueue
	overUser
)

// admits checks the share of masters.
//
// compat: the limit of one user is looked up once in a pass for each partition
// and then serves for all users.
func (s *Scheduler) admits(q *Queue, a *app) verdict {
	sh := &q.Shares[a.wait.Part]
	free := leafOf(q).active.len() < 1 || !s.Calc.Positive(&leafOf(q).lastCluster, &sh.AMUsed)
	if with := a.wait.Size.Add(sh.AMUsed); !free && !s.Calc.FitsIn(&with, &sh.AMLimit) {
		return overQueue
	}
	u := leafOf(q).Enter(q, a.User)
	limit := &leafOf(q).pending.Limits[a.wait.Part]
	if !limit.Known {
		limit.Known, limit.Value = true, s.userMasterLimit(q, u, a.wait.Part)
	}
	if with := a.wait.Size.Add(u.Shares[a.wait.Part].AMUsed); !free && !s.Calc.FitsIn(&with, &limit.Value) {
		return overUser
	}
	return fits
}

// masterRefusal is the limit on masters that keeps the application from being admitted, by
// what they use now. It is zero where none is in the way, or no pass has come to it yet.
func (s *Scheduler) masterRefusal(a *app) yarn.Reason {
	q, w := a.queue, &leafOf(a.queue).pending
	if !a.waits || w.Passes == a.waitsSince {
		return yarn.Reason{}
	}
	sh, label := &q.Shares[a.wait.Part], s.Books.Partition(a.wait.Part).Name
	if with := a.wait.Size.Add(sh.AMUsed); !s.Calc.FitsIn(&with, &sh.AMLimit) {
		return yarn.Reason{Code: fit.AMLimit, Subject: q.Path, Needed: with, Limit: sh.AMLimit, Key: settingOf(q, label, masterShare)}
	}
	var used resource
	if u := leafOf(q).Named(a.User); u != nil {
		used = u.Shares[a.wait.Part].AMUsed
	}
	if int(a.wait.Part) < len(w.Limits) && w.Limits[a.wait.Part].Known {
		limit := w.Limits[a.wait.Part].Value
		if with := a.wait.Size.Add(used); !s.Calc.FitsIn(&with, &limit) {
			return yarn.Reason{Code: fit.UserAMLimit, Subject: q.Path, Needed: with, Limit: limit, Detail: a.User,
				Key: settingOf(q, label, masterShare) + ", " + userSettings(q)}
		}
	}
	return yarn.Reason{}
}

func (s *Scheduler) admit(q *Queue, a *app) {
	l := leafOf(q)
	u := leafOf(q).Enter(q, a.User)
	l.pending.Exit(&a.wait)
	l.Count(u, 1, -1)
	a.waits = false
	if !a.active { // in replays one may be admitted that is active
		a.active = true
		l.active.enter(a, policyOf(q))
	}
	s.chargeMaster(q, u, a, 1)
	u.Shares[a.wait.Part].AMLimit = l.pending.Limits[a.wait.Part].Value
}

// mayRun tells whether max-parallel-apps lets one more application run.
func (s *Scheduler) mayRun(a *app) bool {
	if s.userRunnable[a.User] >= s.cfg.UserParallel(a.User) {
		return false
	}
	for q := a.queue; q != nil; q = q.Up {
		if runnableApps(q) >= q.Conf.MaxParallel {
			return false
		}
	}
	return true
}

// track counts an attempt that runs, or remembers that it waits.
func (s *Scheduler) track(a *app) {
	if !a.runnable {
		s.userWaiting[a.User] = append(s.userWaiting[a.User], a)
		return
	}
	countParallel(a.queue, 1)
	s.userRunnable[a.User]++
}

// countParallel counts applications that run for the parents of a leaf.
func countParallel(q *Queue, n int32) {
	for q = q.Up; q != nil; q = q.Up {
		parentOf(q).runnable += n
	}
}

func (s *Scheduler) untrack(a *app) {
	if !a.runnable {
		s.unwait(a)
		return
	}
	if s.userRunnable[a.User]--; s.userRunnable[a.User] == 0 {
		delete(s.userRunnable, a.User)
	}
	countParallel(a.queue, -1)
}

func (s *Scheduler) unwait(a *app) {
	left := slices.DeleteFunc(s.userWaiting[a.User], func(o *app) bool { return o == a })
	if s.userWaiting[a.User] = left; len(left) == 0 {
		delete(s.userWaiting, a.User)
	}
}

// promote lets applications run that waited for the one that has ended.
func (s *Scheduler) promote(a *app) {
	lists := waitingFor(a.queue)
	if s.userRunnable[a.User] == s.cfg.UserParallel(a.User)-1 {
		lists = append(lists, slices.Clone(s.userWaiting[a.User]))
	}
	s.run(lists, len(lists))
}

// promoteMoved lets applications run that waited for the place of one that has moved,
// or lets it run itself where it has come.
func (s *Scheduler) promoteMoved(a *app, from *Queue) {
	lists := [][]*app{{a}}
	if a.runnable {
		lists = waitingFor(from)
	}
	s.run(lists, len(lists))
}

// waitingFor are the applications that may run after one of the leaf has ended or moved.
func waitingFor(leaf *Queue) [][]*app {
	var highest *Queue
	for q := leaf; q != nil; q = q.Up {
		if runnableApps(q) == q.Conf.MaxParallel-1 {
			highest = q
		}
	}
	if highest == nil {
		return nil
	}
	return waitingBelow(highest, nil)
}

// promoteAll lets everybody run who may, after limits have changed.
func (s *Scheduler) promoteAll() {
	lists := waitingBelow(s.tree.Root, nil)
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	s.run(lists, n)
}

// waitingBelow appends the applications that wait in leaves below, where no limit on the
// way is reached.
func waitingBelow(q *Queue, lists [][]*app) [][]*app {
	if runnableApps(q) >= q.Conf.MaxParallel {
		return lists
	}
	if q.Leaf {
		return append(lists, slices.Clone(leafOf(q).waiting))
	}
	for _, c := range q.Children {
		lists = waitingBelow(c, lists)
	}
	return lists
}

// run starts up to most of the applications, the earliest attempts first.
func (s *Scheduler) run(lists [][]*app, most int) {
	var started []*app
	for a := range byTheirStart(lists) {
		if len(started) >= most {
			break
		}
		if a.runnable { // it stands in two lists
			s.miscountListedTwice(a)
			continue
		}
		if !s.mayRun(a) {
			continue
		}
		s.unwait(a)
		a.runnable = true
		s.track(a)
		started = append(started, a)
		leafOf(a.queue).waiting = slices.DeleteFunc(leafOf(a.queue).waiting, func(o *app) bool { return o == a })
		s.join(a.queue, a)
	}
}

// byTheirStart yields the applications of the lists, the earliest attempts first, each list from its front.
func byTheirStart(lists [][]*app) func(yield func(*app) bool) {
	return func(yield func(*app) bool) {
		h := &byStart{}
		for i, l := range lists {
			if len(l) > 0 {
				heap.Push(h, startOf{l[0].StartWall, i, 0})
			}
		}
		var last *app
		for h.Len() > 0 {
			next := (*h)[0]
			a := lists[next.list][next.at]
			if next.at+1 < len(lists[next.list]) {
				(*h)[0].at++
				(*h)[0].start = lists[next.list][next.at+1].StartWall
				heap.Fix(h, 0)
			} else {
				heap.Pop(h)
			}
			if a == last {
				continue
			}
			if last = a; !yield(a) {
				return
			}
		}
	}
}

type startOf struct {
	start    int64
	list, at int
}

type byStart []startOf

func (h byStart) Len() int { return len(h) }
func (h byStart) Less(i, j int) bool {
	if h[i].start != h[j].start {
		return h[i].start < h[j].start
	}
	return h[i].list < h[j].list
}
func (h byStart) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byStart) Push(x any)   { *h = append(*h, x.(startOf)) }
func (h *byStart) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// workflowPriority is the priority that the application's workflow has in the
// queue or in the nearest one above, where the application gives none or the
// mappings override it.
func (s *Scheduler) workflowPriority(in *demand.Application, q *Queue) (int32, yarn.Reason) {
	var workflow string
	for _, tag := range in.Tags {
		if id, ok := strings.CutPrefix(strings.ToLower(tag), "workflowid:"); ok {
			workflow = id
		}
	}
	if workflow == "" || !s.cfg.WorkflowsOverride {
		return in.Priority, yarn.Reason{}
	}
	for at := q; at != nil; at = at.Up {
		for _, m := range s.cfg.Workflows {
			if m.Name == workflow && (m.Path == at.Path || s.tree.Find(m.Path) == at) {
				asked := *in
				asked.Priority, asked.PrioritySet = m.Priority, true
				return s.CheckPriority(&asked, q.Path)
			}
		}
	}
	return in.Priority, yarn.Reason{}
}
