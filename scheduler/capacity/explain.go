package capacity

import (
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// maxReasons bounds an explanation; reasons that repeat are given once.
const maxReasons = 64

// explanation collects why a walk passes an application by.
type explanation struct{ reasons []yarn.Reason }

func (r *round) note(q *Queue, a *app, why yarn.Reason) {
	if r.why != nil {
		r.why.add(why)
	}
}

// noteNode is note for a reason that lies with the node.
func (r *round) noteNode(why yarn.Reason) {
	if r.why != nil {
		why.Subject = r.book.ID.String()
		r.why.add(why)
	}
}

func (e *explanation) add(why yarn.Reason) {
	for _, known := range e.reasons {
		if known.Code == why.Code && known.Subject == why.Subject {
			return
		}
	}
	if len(e.reasons) < maxReasons {
		e.reasons = append(e.reasons, why)
	}
}

// Explain says why the application waits; see the facade.
func (s *Scheduler) Explain(ref AppRef, max int) []yarn.Reason {
	a := s.app(ref)
	switch {
	case !a.running || len(a.wants.Keys()) == 0:
		return []yarn.Reason{{Code: fit.NothingAsked}}
	case !a.runnable:
		return []yarn.Reason{s.parallelReason(a)}
	case !a.active:
		if why := s.masterRefusal(a); !why.OK() {
			return []yarn.Reason{why}
		}
		return []yarn.Reason{{Code: fit.NotActivated, Subject: a.queue.path}}
	}
	e := &explanation{}
	undo := s.remember(a)
	for i := 0; i < s.books.NodeSlots() && max > 0; i++ {
		if n := s.books.Node(NodeRef(i)); n.Member {
			max--
			s.explainNode(a, NodeRef(i), e)
			undo()
		}
	}
	return e.reasons
}

// parallelReason says which limit on parallel applications holds it back.
func (s *Scheduler) parallelReason(a *app) yarn.Reason {
	for q := a.queue; q != nil; q = q.parent {
		if n := q.runnableApps(); n >= q.conf.MaxParallel {
			return yarn.Reason{Code: fit.ParallelApps, Subject: q.path, Count: int64(n) + 1, Max: int64(q.conf.MaxParallel)}
		}
	}
	return yarn.Reason{Code: fit.ParallelApps, Subject: a.User, Count: int64(s.userRunnable[a.User]) + 1, Max: int64(s.cfg.UserParallel(a.User))}
}

// explainNode takes the way of a walk to the application, on one node.
func (s *Scheduler) explainNode(a *app, ref NodeRef, e *explanation) {
	n := s.books.Node(ref)
	switch {
	case !n.Accepting:
		e.add(yarn.Reason{Code: fit.NodeUnavailable, Subject: n.ID.String()})
		return
	case n.Reserved >= 0:
		if box := s.books.Container(n.Reserved); box.App != a.ref {
			e.add(yarn.Reason{Code: fit.NodeReserved, Subject: n.ID.String(), Needed: box.Resource, Detail: s.app(box.App).ID.String()})
			return
		}
	case !s.hasRoom(n):
		e.add(yarn.Reason{Code: fit.NodeFull, Subject: n.ID.String(), Needed: s.min, Limit: n.Free()})
		return
	}
	r := s.round(ref, n)
	r.why = e
	r.path(a)
	if n.Part != 0 && !s.books.Partition(n.Part).Exclusive {
		r.mode = ignore
		r.path(a)
	}
}

// path checks the queues from the root to the application, and then its keys.
func (r *round) path(a *app) {
	var way []*Queue
	for q := a.queue; q != nil; q = q.parent {
		way = append(way, q)
	}
	start := r.part
	if r.mode == ignore {
		start = 0
	}
	lim := limits{limit: r.s.books.Partition(start).Total}
	lim.start()
	for i := len(way) - 1; i >= 0; i-- {
		q := way[i]
		if r.mode == respect && !q.mayUse(r.label) {
			r.note(q, a, yarn.Reason{Code: fit.PartitionDenied, Subject: q.path, Detail: r.label})
			return
		}
		held := &q.shares[0].promised
		if q.isLeaf() {
			held = &a.shares[0].reserved
		}
		if !r.canAssign(q, &lim, held) {
			return
		}
		if i > 0 {
			lim.limit = r.s.childLimit(q, way[i-1], &lim.limit, &resource{}, r.part)
			lim.start()
		}
	}
	if !r.userMay(a.queue, a, &lim) {
		return
	}
	for i, w := range a.wants.Keys() {
		if _, next := r.key(a, w, &lim); !next {
			if i+1 < len(a.wants.Keys()) {
				r.note(a.queue, a, yarn.Reason{Code: fit.EarlierAsk, Count: int64(w.Priority)})
			}
			return
		}
	}
}

// remember keeps everything that an explanation leaves behind; the function
// that it returns puts it back.
func (s *Scheduler) remember(a *app) (undo func()) {
	q := a.queue
	l := *q.leaf
	limits := [2][]cachedLimit{append([]cachedLimit(nil), l.limits[respect]...), append([]cachedLimit(nil), l.limits[ignore]...)}
	u := l.users[a.User]
	var blocked [2][]userBlock
	if u != nil {
		blocked = [2][]userBlock{append([]userBlock(nil), u.blocked[respect]...), append([]userBlock(nil), u.blocked[ignore]...)}
	}
	var counters []demand.Want
	for _, w := range a.wants.Keys() {
		counters = append(counters, *w)
	}
	headLeaf, headUser := a.headLeaf, a.headUser
	return func() {
		now := q.leaf
		now.visitLimit, now.queueLimit, now.onlyPending = l.visitLimit, l.queueLimit, l.onlyPending
		copy(now.limits[respect], limits[respect])
		copy(now.limits[ignore], limits[ignore])
		if u != nil {
			copy(u.blocked[respect], blocked[respect])
			copy(u.blocked[ignore], blocked[ignore])
		}
		for i, w := range a.wants.Keys() {
			w.Opportunities, w.Missed = counters[i].Opportunities, counters[i].Missed
		}
		a.headLeaf, a.headUser = headLeaf, headUser
	}
}
