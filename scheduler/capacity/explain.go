package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// maxReasons bounds an explanation; reasons that repeat are given once.
const maxReasons = 64

// maxContests bounds on how many nodes it is found out who comes first.
const maxContests = 2

// explanation collects why a walk passes an application by, and how to take back
// what the walk leaves behind.
type explanation struct {
	reasons []yarn.Reason
	back    []func()
}

// The functions that note a reason do nothing unless reasons are collected. They
// are kept out of those that every walk goes through, so that these stay short.

//go:noinline
func (r *round) note(code yarn.Code, subject, detail string, count, max int64) {
	if r.why != nil {
		r.why.add(yarn.Reason{Code: code, Subject: subject, Detail: detail, Count: count, Max: max})
	}
}

// noteNode is for what lies with the node; amounts may be nil.
//
//go:noinline
func (r *round) noteNode(code yarn.Code, count int64, needed, limit *resource) {
	if r.why == nil {
		return
	}
	why := yarn.Reason{Code: code, Subject: r.book.ID.String(), Count: count}
	if needed != nil {
		why.Needed = *needed
	}
	if limit != nil {
		why.Limit = *limit
	}
	r.why.add(why)
}

// noteDenied is for nodes that the queue may not use.
//
//go:noinline
func (r *round) noteDenied(q *Queue) {
	if r.why != nil {
		r.why.add(yarn.Reason{Code: fit.PartitionDenied, Subject: q.Path, Detail: r.label, Key: q.setting("", "accessible-node-labels")})
	}
}

// noteHolder is for a node that is held for somebody.
func (r *round) noteHolder(c ContainerRef) {
	box := r.s.Books.Container(c)
	r.why.add(yarn.Reason{Code: fit.NodeReserved, Subject: r.book.ID.String(), Needed: box.Resource, Detail: r.s.app(box.App).ID.String()})
}

// noteQueue is for a queue's limit and what is to be within it.
//
//go:noinline
func (r *round) noteQueue(q *Queue, used, limit *resource) {
	if r.why == nil {
		return
	}
	code := fit.QueueLimit
	if !q.Leaf {
		code = fit.ParentLimit
	}
	r.why.add(yarn.Reason{Code: code, Subject: q.Path, Needed: *used, Limit: *limit, Key: q.setting(r.label, maximumCapacity)})
}

// noteSum is for a queue's limit and what would be used.
//
//go:noinline
func (r *round) noteSum(q *Queue, used, more, limit *resource) {
	sum := used.Add(*more)
	r.noteQueue(q, &sum, limit)
}

// noteHeadroom is for an ask for more than the queue has left.
//
//go:noinline
func (r *round) noteHeadroom(q *Queue, size, room *resource) {
	if r.why != nil {
		r.why.add(yarn.Reason{Code: fit.Headroom, Subject: q.Path, Needed: *size, Limit: *room, Key: q.setting(r.label, maximumCapacity)})
	}
}

//go:noinline
func (r *round) noteUser(a *app, used *resource, b *userBlock) {
	switch {
	case r.why == nil:
	case r.s.Calc.More(&r.s.Books.Total, used, &b.limit):
		r.why.add(yarn.Reason{Code: fit.UserLimit, Subject: a.User, Needed: *used, Limit: b.limit, Key: a.queue.userSettings()})
	default: // refused while the leaf did not know the user
		r.why.add(yarn.Reason{Code: fit.UserUnknown, Subject: a.User, Detail: a.queue.Path})
	}
}

func (e *explanation) add(why yarn.Reason) {
	if why.OK() {
		return
	}
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
	case !a.Running || len(a.Wants.Keys()) == 0:
		return []yarn.Reason{{Code: fit.NothingAsked}}
	case !a.runnable:
		return []yarn.Reason{s.parallelReason(a)}
	case !a.active:
		if why := s.masterRefusal(a); !why.OK() {
			return []yarn.Reason{why}
		}
		return []yarn.Reason{{Code: fit.NotActivated, Subject: a.queue.Path, Key: a.queue.setting(s.Books.Partition(a.amPart).Name, masterShare)}}
	}
	if q := s.cutOff(a.queue); q != nil {
		return []yarn.Reason{{Code: fit.QueueRemoved, Subject: q.Path, Key: q.Up.setting("", "queues")}}
	}
	if s.Books.Count == 0 {
		return []yarn.Reason{{Code: fit.NoNodes}}
	}
	e := &explanation{}
	plain := s.plain
	s.plain = true
	contests := maxContests
	for i := 0; i < s.Books.NodeSlots() && max > 0; i++ {
		if n := s.Books.Node(NodeRef(i)); n.Member {
			max--
			if s.explainNode(a, NodeRef(i), e, contests > 0) {
				contests--
			}
			e.undo()
		}
	}
	s.plain = plain
	return e.inTheWay()
}

// inTheWay is the reasons without those nodes that only have to be offered, unless
// there is nothing else.
func (e *explanation) inTheWay() []yarn.Reason {
	rest := slices.DeleteFunc(slices.Clone(e.reasons), func(why yarn.Reason) bool { return why.Code == fit.ComesNext })
	if len(rest) == 0 {
		return e.reasons
	}
	return rest
}

// cutOff is the queue, or the one above, that a refresh has taken out of the
// tree, or nil.
func (s *Scheduler) cutOff(q *Queue) *Queue {
	for ; q.Up != nil; q = q.Up {
		if !q.Up.has(q) {
			return q
		}
	}
	return nil
}

// parallelReason says which limit on parallel applications holds it back.
func (s *Scheduler) parallelReason(a *app) yarn.Reason {
	for q := a.queue; q != nil; q = q.Up {
		if n := q.runnableApps(); n >= q.Conf.MaxParallel {
			return yarn.Reason{Code: fit.ParallelApps, Subject: q.Path, Count: int64(n) + 1, Max: int64(q.Conf.MaxParallel), Key: q.setting("", parallelApps)}
		}
	}
	if s.mayRun(a) {
		return yarn.Reason{Code: fit.HeldBack, Subject: a.queue.Path, Key: a.queue.setting("", parallelApps)}
	}
	return yarn.Reason{Code: fit.ParallelApps, Subject: a.User, Count: int64(s.userRunnable[a.User]) + 1, Max: int64(s.cfg.UserParallel(a.User)),
		Key: userParallel(a.User)}
}

// explainNode takes the way of a walk to the application, on one node. Where
// that ends with a container for it, contest, if wished, finds out who comes
// before it; then the answer is true.
func (s *Scheduler) explainNode(a *app, ref NodeRef, e *explanation, contest bool) bool {
	n := s.Books.Node(ref)
	r := &round{}
	r.begin(s, ref, n)
	s.Calc.Sub(&r.free, &n.Total, &n.Used)
	r.why = e
	switch {
	case !n.Accepting:
		r.noteNode(fit.NodeUnavailable, 0, nil, nil)
		return false
	case n.Reserved >= 0:
		box := s.Books.Container(n.Reserved)
		if box.App != a.Ref {
			r.noteHolder(n.Reserved)
			return false
		}
	case !s.HasRoom(n) || !s.Calc.FitsIn(&s.Min, &r.free):
		free := n.Free()
		r.noteNode(fit.NodeFull, 0, &s.Min, &free)
		return false
	}
	way := wayTo(a.queue)
	shared := n.Part != 0 && !s.Books.Partition(n.Part).Exclusive
	gets, lent := r.path(way, a), false
	if shared && !none(a.Wants.Pending(0)) {
		r.turn(ignore)
		lent = r.path(way, a)
		r.turn(respect)
	}
	switch {
	case !gets && !lent || !contest:
		return false
	case n.Reserved >= 0:
		r.ownReservation(a, n.Reserved)
	case gets:
		r.contest(way, a)
	case r.wholeWalk(way[0], a): // room is lent to those who come after
		r.turn(ignore)
		r.contest(way, a)
	}
	return true
}

// wayTo is the queues from the root to the leaf.
func wayTo(q *Queue) (way []*Queue) {
	for ; q != nil; q = q.Up {
		way = append(way, q)
	}
	slices.Reverse(way)
	return way
}

// startLimits is how a walk begins.
func (r *round) startLimits() (lim limits) {
	lim.limit, lim.below = r.s.Books.Partition(r.asks).Total, &r.s.limits[0]
	return lim
}

// path checks the queues from the root to the application, and then its keys, as
// if nobody else wanted anything. It tells whether the application would get a
// container.
func (r *round) path(way []*Queue, a *app) (gets bool) {
	lim := r.startLimits()
	for i, q := range way {
		if r.mode == respect && !q.MayUse(r.label) {
			r.noteDenied(q)
			return false
		}
		if !r.canAssign(q, &lim, heldBelow(q, a)) {
			return false
		}
		if i+1 < len(way) {
			var below limits
			r.s.childLimit(q, way[i+1], &lim.limit, &resource{}, r.part, &below.limit)
			lim = below
		}
	}
	if q := a.queue; q.Conf.Ordering == config.FifoWithPartitions && !q.sameList(a, r.label) {
		r.note(fit.OtherList, r.label, a.Label, 0, 0)
		return false
	}
	return r.offered(a, &lim)
}

// heldBelow is the reservations that canAssign takes for unused.
func heldBelow(q *Queue, a *app) *resource {
	if q.Leaf {
		return &a.Shares[0].Reserved
	}
	held := resource{q.Ledger[0].Promised[0], q.Ledger[0].Promised[1]}
	return &held
}

// offered offers the node to the application. It tells whether it gets anything.
func (r *round) offered(a *app, lim *limits) (gets bool) {
	r.why.keep(a.queue)
	if !r.userMay(a.queue, a, lim) {
		return false
	}
	for i, w := range a.Wants.Keys() {
		end := r.key(a, w, lim)
		if o := &r.found; end == found && o.kind == core.Allocated && o.From < 0 {
			return r.s.accepts(r, o)
		}
		if end != skipKey {
			if i+1 < len(a.Wants.Keys()) {
				r.note(fit.EarlierAsk, a.queue.Path, "", int64(w.Priority), 0)
			}
			return false
		}
	}
	return false
}

// ownReservation says why an application gets nothing of a node that is held for it.
func (r *round) ownReservation(a *app, c ContainerRef) {
	r.why.keepApp(a)
	lim := r.startLimits()
	lim.limit = r.s.Books.Partition(0).Total
	r.found = outcome{Placement: core.Placement{From: cluster.NoContainer, Excess: cluster.NoContainer}}
	r.reservation(a, &lim, c)
	switch o := &r.found; {
	case a.Avoids(r.book):
		r.noteNode(fit.Blacklisted, 0, nil, nil)
	case o.kind == core.Allocated && r.s.accepts(r, o):
		r.noteNode(fit.ComesNext, 0, nil, nil)
	case o.Excess >= 0: // it is about to be given up
		r.noteHolder(c)
	}
}

// wholeWalk tells whether a walk brings nothing; else it notes who comes before
// the application. If that is itself, what is in its way is noted already.
func (r *round) wholeWalk(root *Queue, a *app) bool {
	e := r.why
	r.why = &explanation{}
	lim := r.startLimits()
	end := r.parent(root, &lim)
	if end == found && r.found.app != a {
		e.add(r.before())
	}
	e.back = append(e.back, r.why.back...)
	r.why = e
	return end != found
}

// before is the reason of those who come after somebody else: what is proposed is
// made before theirs, or refused each time because of the numbers.
func (r *round) before() yarn.Reason {
	o := &r.found
	why := yarn.Reason{Code: fit.OthersFirst, Subject: o.app.queue.Path, Detail: o.app.ID.String()}
	r.why.reasons = nil
	if !r.s.accepts(r, o) && len(r.why.reasons) > 0 {
		why.Needed, why.Limit = r.why.reasons[0].Needed, r.why.reasons[0].Limit
	}
	return why
}

// contest finds out who comes before the application: in queues that are served
// before its own, and in its leaf.
func (r *round) contest(way []*Queue, a *app) {
	e := r.why
	r.why = &explanation{}
	lim := r.startLimits()
	var keeper *Queue // whom room is kept for
	for i, q := range way[:len(way)-1] {
		r.why.reasons = nil
		if !r.canAssign(q, &lim, heldBelow(q, a)) {
			e.addKept(r.why.reasons, keeper)
			break
		}
		k, why := r.ahead(q, way[i+1], &lim)
		if e.add(why); !why.OK() {
			break
		}
		if k != nil {
			keeper = k
		}
		if i+2 == len(way) {
			e.addKept(r.line(a, &lim, e), keeper)
		}
	}
	e.back = append(e.back, r.why.back...)
	r.why = e
}

// ahead walks over the children of a queue that are served before one of them,
// and brings the limits to that one. It returns for whom room is kept, or why the
// walk ends there.
func (r *round) ahead(q, child *Queue, lim *limits) (keeper *Queue, why yarn.Reason) {
	below := limits{below: &r.s.limits[0]}
	o := q.order(r.part, r.mode)
	if o == nil {
		o = r.newOrder(q)
	}
	defer r.s.takeBack(o, len(r.s.leftOut))
	for c := o.first(); c != nil; c = o.first() {
		r.s.childLimit(q, c, &lim.limit, &lim.blocked, r.part, &below.limit)
		if c == child {
			break
		}
		var end skip
		kept := &below.headroom
		if c.Leaf {
			end = r.leaf(c, &below)
		} else {
			end = r.parent(c, &below)
			kept = &below.blocked
		}
		if end == found {
			return nil, r.before()
		}
		r.s.leaveOut(o, c)
		if end == skipQueue {
			keeper = c
			lim.blocked.Increase(r.s.Calc.Max(&r.s.Books.Total, kept, &resource{}))
		}
	}
	*lim = limits{limit: below.limit}
	return keeper, yarn.Reason{}
}

// line walks over the applications of a leaf that come before one of them, and
// offers the node to that one. It returns what is in the way with these limits.
func (r *round) line(a *app, lim *limits, e *explanation) []yarn.Reason {
	q, l := a.queue, a.queue.leaf
	r.why.keep(q)
	q.settle()
	partly := q.Conf.Ordering == config.FifoWithPartitions
	check, from := true, 0
	if first := l.active.next(0); first > 0 && !partly {
		from = first
	}
	for i := from; i < l.active.len(); i++ {
		if !check {
			if i = l.active.next(i); i < 0 {
				break
			}
		}
		b := l.active.apps[i]
		if partly && !q.sameList(b, r.label) {
			continue
		}
		r.why.reasons = nil
		if check {
			held := &b.Shares[0].Reserved
			if from > 0 {
				held = &resource{}
			}
			if !r.canAssign(q, lim, held) {
				return r.why.reasons
			}
			check = from == 0 && r.s.cfg.ContinueLooking && !none(*held)
		}
		if b == a {
			break
		}
		end := r.application(q, b, lim)
		if end == found {
			e.add(r.before())
			return nil
		}
		if end != skipOther {
			return r.heldUp(b)
		}
	}
	r.why.reasons = nil
	if r.offered(a, lim) {
		r.noteNode(fit.ComesNext, 0, nil, nil)
	}
	return r.why.reasons
}

// heldUp is the reason of those who stand behind an application that ended the
// walk over its leaf: what was found out about it last.
func (r *round) heldUp(b *app) []yarn.Reason {
	why := yarn.Reason{Code: fit.OthersFirst, Subject: b.queue.Path, Detail: b.ID.String()}
	if n := len(r.why.reasons); n > 0 {
		why.Needed, why.Limit = r.why.reasons[n-1].Needed, r.why.reasons[n-1].Limit
	}
	return []yarn.Reason{why}
}

// addKept adds reasons. Limits that are lower because room is kept for another
// queue are named after that queue.
func (e *explanation) addKept(reasons []yarn.Reason, keeper *Queue) {
	for _, why := range reasons {
		if keeper != nil && (why.Code == fit.QueueLimit || why.Code == fit.ParentLimit || why.Code == fit.Headroom) {
			why.Code, why.Detail = fit.RoomKept, keeper.Path
		}
		e.add(why)
	}
}

// undo takes back what walks have left behind, the last first.
func (e *explanation) undo() {
	for _, back := range slices.Backward(e.back) {
		back()
	}
	clear(e.back)
	e.back = e.back[:0]
}

// keep remembers what a walk leaves behind at a queue.
func (e *explanation) keep(q *Queue) {
	marks := q.marks
	e.back = append(e.back, func() { q.marks = marks })
	l := q.leaf
	if l == nil {
		return
	}
	visitLimit, queueLimit, onlyPending := l.visitLimit, l.queueLimit, l.onlyPending
	shares := slices.Clone(l.shares)
	e.back = append(e.back, func() {
		l.visitLimit, l.queueLimit, l.onlyPending = visitLimit, queueLimit, onlyPending
		copy(l.shares, shares)
	})
	if len(l.stale) > 0 {
		e.keepOrder(l)
	}
}

// keepOrder remembers an order that is about to be put right.
func (e *explanation) keepOrder(l *leaf) {
	apps, awake, stale := slices.Clone(l.active.apps), slices.Clone(l.active.awake), slices.Clone(l.stale)
	was := make([]app, len(stale))
	for i, a := range stale {
		was[i] = app{rests: a.rests, orderUsed: a.orderUsed, orderPending: a.orderPending}
	}
	e.back = append(e.back, func() {
		l.active.apps, l.active.awake, l.stale = apps, awake, stale
		for i, a := range stale {
			a.unsettled, a.rests, a.orderUsed, a.orderPending = true, was[i].rests, was[i].orderUsed, was[i].orderPending
		}
	})
}

// keepApp remembers what a walk leaves behind at an application and its user.
func (e *explanation) keepApp(a *app) {
	headLeaf, headUser, user := a.headLeaf, a.headUser, a.user
	counters := make([]demand.Want, 0, len(a.Wants.Keys()))
	for _, w := range a.Wants.Keys() {
		counters = append(counters, *w)
	}
	e.back = append(e.back, func() {
		a.headLeaf, a.headUser, a.user = headLeaf, headUser, user
		for i, w := range a.Wants.Keys() {
			w.Opportunities, w.Missed = counters[i].Opportunities, counters[i].Missed
		}
	})
	if u := a.queue.leaf.users[a.User]; u != nil {
		shares := slices.Clone(u.shares)
		e.back = append(e.back, func() { copy(u.shares, shares) })
	}
}
