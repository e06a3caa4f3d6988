package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/users"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// maxReasons bounds an answer; reasons that repeat are given once.
const maxReasons = 64

// maxContests bounds on how many nodes it is found out who comes first.
const maxContests = 2

// reasons is the answer to why an application waits.
type reasons []yarn.Reason

func (e *reasons) add(why yarn.Reason) {
	same := func(o yarn.Reason) bool { return o.Code == why.Code && o.Subject == why.Subject }
	if !why.OK() && len(*e) < maxReasons && !slices.ContainsFunc(*e, same) {
		*e = append(*e, why)
	}
}

// inTheWay is the reasons without those nodes that only have to be offered, unless
// there is nothing else.
func (e reasons) inTheWay() []yarn.Reason {
	rest := slices.DeleteFunc(slices.Clone(e), func(why yarn.Reason) bool { return why.Code == fit.ComesNext })
	if len(rest) == 0 {
		return e
	}
	return rest
}

// Explain says why the application waits; see the facade. It takes the walks that an
// offer takes, under a journal by which it takes back what they write.
func (s *Scheduler) Explain(ref AppRef, max int) []yarn.Reason {
	return s.explain(s.app(ref), nil, max)
}

// ExplainAsk says why one kind of what the application asks for is not granted; see the facade.
func (s *Scheduler) ExplainAsk(ref AppRef, at, max int) []yarn.Reason {
	a := s.app(ref)
	if keys := a.Wants.Keys(); at < len(keys) {
		return s.explain(a, keys[at], max)
	}
	return nil
}

// explain is Explain, or with only as if nothing else were asked for.
func (s *Scheduler) explain(a *app, only *demand.Want, max int) []yarn.Reason {
	if why := s.outsideWalks(a); !why.OK() {
		return []yarn.Reason{why}
	}
	var out reasons
	s.Journal = &core.Journal{}
	contests := maxContests
	for i := 0; i < s.Books.NodeSlots() && max > 0; i++ {
		if n := s.Books.Node(NodeRef(i)); n.Member {
			max--
			if s.explainNode(a, only, NodeRef(i), &out, contests > 0) {
				contests--
			}
		}
	}
	s.Journal = nil
	return out.inTheWay()
}

// outsideWalks is why no walk comes to the application; zero where one may.
func (s *Scheduler) outsideWalks(a *app) yarn.Reason {
	switch {
	case !a.Running || len(a.Wants.Keys()) == 0:
		return yarn.Reason{Code: fit.NothingAsked}
	case s.cutOff(a.queue) != nil:
		q := s.cutOff(a.queue)
		return yarn.Reason{Code: fit.QueueRemoved, Subject: q.Path, Key: settingOf(q.Up, "", "queues")}
	case !a.runnable:
		return s.parallelReason(a)
	case s.Books.Count == 0:
		return yarn.Reason{Code: fit.NoNodes}
	case !a.active:
		return s.masterRefusal(a) // OK if no limit refuses it, which happens only while the nodes have no resources
	}
	return yarn.Reason{}
}

// cutOff is the queue, or the one above, that a refresh has taken out of the
// tree, or nil.
func (s *Scheduler) cutOff(q *Queue) *Queue {
	for ; q.Up != nil; q = q.Up {
		if !q.Up.Has(q) {
			return q
		}
	}
	return nil
}

// parallelReason says which limit on parallel applications holds it back.
func (s *Scheduler) parallelReason(a *app) yarn.Reason {
	for q := a.queue; q != nil; q = q.Up {
		if n := runnableApps(q); n >= q.Conf.MaxParallel {
			return yarn.Reason{Code: fit.ParallelApps, Subject: q.Path, Count: int64(n) + 1, Max: int64(q.Conf.MaxParallel), Key: settingOf(q, "", parallelApps)}
		}
	}
	return yarn.Reason{Code: fit.ParallelApps, Subject: a.User, Count: int64(s.userRunnable[a.User]) + 1, Max: int64(s.cfg.UserParallel(a.User)),
		Key: userParallel(a.User)}
}

// explainNode adds why the application gets nothing on a node. First the walk goes to
// it as if nobody else wanted anything. Where that would bring it a container,
// contest, if wished, finds out who comes before it; then the answer is true.
func (s *Scheduler) explainNode(a *app, only *demand.Want, ref NodeRef, out *reasons, contest bool) bool {
	n := s.Books.Node(ref)
	r := &round{why: &explanation{app: a, turn: a, only: only}}
	r.begin(s, ref, n)
	switch {
	case !n.Accepting:
		r.noteNode(fit.NodeUnavailable, 0, nil, nil)
	case n.Reserved >= 0 && s.Books.Container(n.Reserved).App != a.Ref:
		r.noteHolder(n.Reserved)
	case n.Reserved < 0 && !s.roomForAny(ref, n):
		free, size := n.Free(), sizeIn(a, n.Part)
		if none(size) && r.lends() {
			size = sizeIn(a, 0)
		}
		if none(size) { // nothing that it asks for could come there
			for _, w := range a.Wants.Keys() {
				if only == nil || only == w {
					r.note(fit.OtherPartition, s.Books.Partition(n.Part).Name, w.Label, 0, 0)
				}
			}
			break
		}
		if !s.Calc.FitsIn(&size, &n.Total) {
			r.noteNode(fit.NodeTooSmall, 0, &size, &n.Total)
		} else {
			r.noteNode(fit.NodeFull, 0, &size, &free)
		}
	}
	if r.why.tell(out); len(r.why.noted) > 0 {
		return false
	}
	gets := r.alone(a, respect, out)
	lent := r.lends() && !none(a.Wants.Pending(0)) && r.alone(a, ignore, out)
	if !contest || !gets && !lent {
		return false
	}
	switch {
	case n.Reserved >= 0:
		r.ownReservation(a, n.Reserved, out)
	case gets:
		r.contest(a, respect, true, out)
	case !r.contest(a, respect, false, out): // room is lent to those who come after
		r.contest(a, ignore, true, out)
	}
	s.Journal.Undo()
	return true
}

// roomForAny tells whether a walk for the node goes anywhere: the smallest container has room there, or would have without the killable ones.
func (s *Scheduler) roomForAny(ref NodeRef, n *cluster.NodeBook) bool {
	room := n.Free()
	if n.Killable > 0 {
		room = s.Books.RoomByKilling(ref)
	}
	return s.Calc.HasRoom(&room, &s.Min) && s.Calc.FitsIn(&s.Min, &room)
}

// alone walks straight to the application. It tells whether that brings it a container.
func (r *round) alone(a *app, m mode, out *reasons) bool {
	gets := r.tell(&explanation{app: a, alone: true, only: r.why.only}, m)
	r.why.tell(out)
	r.s.Journal.Undo()
	return gets
}

// tell walks for an explanation, and tells whether its application would get a container.
func (r *round) tell(why *explanation, m mode) bool {
	r.why = why
	r.found = outcome{Placement: core.Placement{From: cluster.NoContainer, Excess: cluster.NoContainer}}
	r.walk(m)
	o := &r.found
	return o.kind == core.Allocated && o.app == why.app && r.s.accepts(r, o)
}

// contest finds out who comes before the application: in queues that are served
// before its own, and in its leaf. It tells whether the walk brings anything; with
// until, it ends with the application.
func (r *round) contest(a *app, m mode, until bool, out *reasons) bool {
	gets := r.tell(&explanation{app: a, until: until, only: r.why.only}, m)
	switch o := &r.found; {
	case o.kind != core.Nothing && o.app != a:
		out.add(r.before())
	case gets:
		r.noteNode(fit.ComesNext, 0, nil, nil)
		r.why.tell(out)
	case until:
		r.why.tell(out)
	}
	return r.found.kind != core.Nothing
}

// before is the reason of an application that comes after another: what the walk proposes
// for the other one is placed first, or refused again and again because of its amounts.
func (r *round) before() yarn.Reason {
	o := &r.found
	r.why.last = yarn.Reason{}
	r.s.accepts(r, o)
	return comesFirst(o.app, &r.why.last)
}

// comesFirst is the reason of those who come after an application, and the amounts that
// are in its way, if any.
func comesFirst(a *app, why *yarn.Reason) yarn.Reason {
	return yarn.Reason{Code: fit.OthersFirst, Subject: a.queue.Path, Detail: a.ID.String(), Needed: why.Needed, Limit: why.Limit}
}

// ownReservation says why an application gets nothing of a node that is held for it.
func (r *round) ownReservation(a *app, c ContainerRef, out *reasons) {
	r.why, r.found = &explanation{app: a, turn: a, only: r.why.only}, outcome{Placement: core.Placement{From: cluster.NoContainer, Excess: cluster.NoContainer}}
	r.reservation(a, &limits{limit: r.s.Books.Partition(0).Total}, c)
	switch o := &r.found; {
	case o.kind == core.Allocated && r.s.accepts(r, o):
		r.noteNode(fit.ComesNext, 0, nil, nil)
	case o.kind == core.Nothing && o.Excess >= 0: // it is about to be given up
		r.noteHolder(c)
	}
	r.why.tell(out)
}

// explanation is the visitor of a walk: it directs the walk to an application, and
// notes what is in that one's way. Nil is that of a command, which directs and notes
// nothing.
type explanation struct {
	app   *app
	alone bool         // the walk goes straight to the application
	until bool         // the walk ends with the application
	only  *demand.Want // it has no other; nil: it has all that it asks for

	record *recorder // nil: what the walk does is not recorded

	turn   *app          // whose turn it is
	keeper *Queue        // for whom room is kept on the way to the application
	noted  []yarn.Reason // what is in the application's way
	last   yarn.Reason   // what was last in anybody's
}

// tell adds what was noted to the answer. Limits that are lower because room is kept
// for another queue are named after that queue.
func (e *explanation) tell(out *reasons) {
	for _, why := range e.noted {
		if e.keeper != nil && (why.Code == fit.QueueLimit || why.Code == fit.ParentLimit || why.Code == fit.Headroom) {
			why.Code, why.Detail = fit.RoomKept, e.keeper.Path
		}
		out.add(why)
	}
}

// childOf is the child of a queue by which the walk comes to the application.
func (e *explanation) childOf(q *Queue) *Queue {
	for c := e.app.queue; c != nil; c = c.Up {
		if c.Up == q {
			return c
		}
	}
	return nil
}

// above tells whether the application is in the queue or below it.
func (e *explanation) above(q *Queue) bool {
	if e.app == nil {
		return false
	}
	for up := e.app.queue; up != nil; up = up.Up {
		if up == q {
			return true
		}
	}
	return false
}

// visits tells whether the walk comes to an application of a leaf.
func (e *explanation) visits(a *app) bool { return e == nil || !e.alone || a == e.app }

// endsWith tells whether the walk is over with an application of a leaf.
func (e *explanation) endsWith(a *app) bool {
	return e != nil && (e.until && a == e.app || e.record.full())
}

// leavesOut tells whether the walk passes by what an application asks for.
func (e *explanation) leavesOut(a *app, w *demand.Want) bool {
	return e != nil && e.only != nil && a == e.app && w != e.only
}

// turnOf notes whose turn it is.
func (e *explanation) turnOf(a *app) {
	if e != nil {
		e.turn = a
	}
}

// kept notes that room is kept for a queue.
func (e *explanation) kept(q *Queue) {
	if e != nil && !e.above(q) && e.above(q.Up) {
		e.keeper = q
	}
}

// heldUp notes which application ended the walk over the leaf of the one that is asked
// about before it was that one's turn, and passes on how it ended it.
func (e *explanation) heldUp(a *app, end skip) skip {
	if e != nil && e.until && end == skipQueue && a != e.app && a.queue == e.app.queue {
		e.noted, e.keeper = append(e.noted, comesFirst(a, &e.last)), nil
		return over
	}
	return end
}

// add notes a refusal. inTheWay: it concerns the application that is asked about.
func (e *explanation) add(why yarn.Reason, inTheWay bool) {
	if e.last = why; e.record != nil {
		e.record.refused(why)
	}
	if inTheWay && e.app != nil {
		e.noted = append(e.noted, why)
	}
}

// Each of the functions below notes one reason, if the walk is a query's. One that names no
// queue is in the way of the application whose turn it is.

func (r *round) note(code yarn.Code, subject, detail string, count, max int64) {
	if r.why != nil {
		r.noteReason(yarn.Reason{Code: code, Subject: subject, Detail: detail, Count: count, Max: max})
	}
}

func (r *round) noteReason(why yarn.Reason) { r.why.add(why, r.why.turn == r.why.app) }

// noteNode is for what lies with the node; amounts may be nil.
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
	r.noteReason(why)
}

// noteHolder is for a node that is held for somebody.
func (r *round) noteHolder(c ContainerRef) {
	container := r.s.Books.Container(c)
	r.noteReason(yarn.Reason{Code: fit.NodeReserved, Subject: r.book.ID.String(), Needed: container.Resource, Detail: r.s.app(container.App).ID.String()})
}

// noteDenied is for nodes that the queue may not use.
func (r *round) noteDenied(q *Queue) {
	if r.why != nil {
		r.why.add(yarn.Reason{Code: fit.PartitionDenied, Subject: q.Path, Detail: r.label, Key: settingOf(q, "", "accessible-node-labels")}, r.why.above(q))
	}
}

// noteList is for an application that is in another list of its leaf than the node serves.
func (r *round) noteList(a *app) {
	r.why.turnOf(a)
	r.note(fit.OtherList, r.label, a.Label, 0, 0)
}

// noteQueue is for a queue's limit and what is to be within it.
func (r *round) noteQueue(q *Queue, used, limit *resource) {
	if r.why == nil {
		return
	}
	code := fit.QueueLimit
	if !q.Leaf {
		code = fit.ParentLimit
	}
	r.why.add(yarn.Reason{Code: code, Subject: q.Path, Needed: *used, Limit: *limit, Key: settingOf(q, r.label, maximumCapacity)}, r.why.above(q))
}

// noteHeadroom is for an ask for more than the queue has left.
func (r *round) noteHeadroom(q *Queue, size, room *resource) {
	if r.why != nil {
		r.noteReason(yarn.Reason{Code: fit.Headroom, Subject: q.Path, Needed: *size, Limit: *room, Key: settingOf(q, r.label, maximumCapacity)})
	}
}

// noteUser is for a user's limit and what is to be within it.
func (r *round) noteUser(a *app, used *resource, b *users.Block) {
	switch {
	case r.why == nil:
	case r.s.Calc.More(&r.s.Books.Total, used, &b.Limit):
		r.noteReason(yarn.Reason{Code: fit.UserLimit, Subject: a.User, Needed: *used, Limit: b.Limit, Key: userSettings(a.queue)})
	default: // refused while the leaf did not know the user
		r.noteUnknownUser(a)
	}
}

// noteUnknownUser is for a user whom the leaf does not have.
func (r *round) noteUnknownUser(a *app) { r.note(fit.UserUnknown, a.User, a.queue.Path, 0, 0) }

// noteEarlier is for keys that come after one that ended the turn of its application.
func (r *round) noteEarlier(a *app, at int) {
	if keys := a.Wants.Keys(); r.why != nil && r.why.only == nil && r.found.kind == core.Nothing && at+1 < len(keys) {
		r.note(fit.EarlierAsk, a.queue.Path, "", int64(keys[at].Priority), 0)
	}
}

// noteElsewhere is for an application that wants nothing in the partition of the walk.
func (r *round) noteElsewhere(a *app) {
	if r.why == nil {
		return
	}
	for _, w := range a.Wants.Keys() {
		r.note(fit.OtherPartition, r.s.Books.Partition(r.asks).Name, w.Label, 0, 0)
	}
}
