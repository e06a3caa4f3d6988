package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// limits travel down a walk.
type limits struct {
	limit     resource // what the queue may use, seen from above
	headroom  resource // what is left of it: for the children of a parent, or found by canAssign for a leaf
	blocked   resource // of the children of a parent that wait for more than there is
	unreserve resource // what an application must give up first, found by userMay
	below     *limits  // of the children of a parent
}

// skip says how a walk ended, and why it brought nothing.
type skip uint8

const (
	skipNone  skip = iota
	skipOther      // the next application may have more luck
	skipQueue      // the queue's limit is in the way: room is kept for it
	skipKey        // the next key of the application may have more luck
	found          // it brought something: round.found
)

// outcome is what a walk proposes.
type outcome struct {
	kind  core.Outcome
	place int32 // of the application in the lineup, unless From is set
	app   *app  // App, as this policy has it
	core.Placement
}

// round is one walk for one node.
type round struct {
	s     *Scheduler
	node  NodeRef
	book  *cluster.NodeBook
	part  part
	asks  part // that of the asks that the walk serves
	label string
	free  resource // what the node has left
	mode  mode
	// local counts what depended on the node or left something behind: a walk
	// without any of it would end the same way on every node.
	local   int
	keys    int     // of asks that were passed by
	waiting bool    // somebody was passed by who comes nearer to its turn by that
	found   outcome // what the walk proposes
	// why collects reasons in explain mode.
	why *explanation
}

// Try is one walk, or the try to serve a reservation.
func (s *Scheduler) Try(ref NodeRef, out []cluster.Decision) (core.Try, []cluster.Decision) {
	n := s.Books.Node(ref)
	if n.Reserved >= 0 {
		return s.offerReserved(ref, n, out)
	}
	if n.Part == 0 && s.fruitless(0, respect) {
		return core.Try{AnyNode: true}, out
	}
	r := &round{}
	r.begin(s, ref, n)
	s.Calc.Sub(&r.free, &n.Total, &n.Used)
	if !s.Calc.FitsIn(&s.Min, &r.free) {
		// The node may have less than nothing of one resource, and of others enough.
		return core.Try{AnyNode: !s.Calc.HasRoom(&r.free, &s.Min) || !r.wants(s.tree.Root)}, out
	}
	for m := respect; ; m = ignore {
		r.turn(m)
		if k := (walkKind{r.part, m}); s.lastWalk != k {
			s.lastWalk = k
			s.walkTurn++
		}
		lim := &s.limits[0]
		s.Calc.Set(&lim.limit, &s.Books.Partition(r.asks).Total)
		r.parent(s.tree.Root, lim)
		out = s.commit(r, &r.found, out)
		if r.found.kind != core.Nothing || n.Part == 0 || m == ignore || s.Books.Partition(n.Part).Exclusive {
			return core.Try{Outcome: r.found.kind, Locality: r.found.Locality, Keys: r.keys, Waiting: r.waiting, AnyNode: r.local == 0}, out
		}
	}
}

func (r *round) begin(s *Scheduler, ref NodeRef, n *cluster.NodeBook) {
	r.s, r.node, r.book, r.part, r.label = s, ref, n, n.Part, n.Label
	r.asks = n.Part
	r.found.From, r.found.Excess = cluster.NoContainer, cluster.NoContainer
}

// turn lets the round go on in a mode.
func (r *round) turn(m mode) {
	r.mode, r.asks = m, r.part
	if m == ignore {
		r.asks = 0
	}
}

// offerReserved gives a reserved node to whom it is reserved for.
func (s *Scheduler) offerReserved(ref NodeRef, n *cluster.NodeBook, out []cluster.Decision) (core.Try, []cluster.Decision) {
	a := s.app(s.Books.Container(n.Reserved).App)
	r := &round{}
	r.begin(s, ref, n)
	s.Calc.Sub(&r.free, &n.Total, &n.Used)
	// compat: the limit is that of the default partition, also on other nodes,
	// and limits of parents are not looked at.
	lim := &s.limits[0]
	lim.limit = s.Books.Partition(0).Total
	if a.Running {
		s.visit(a.queue, &lim.limit)
		r.reservation(a, lim, n.Reserved)
	} else {
		r.leaf(a.queue, lim)
	}
	out = s.commit(r, &r.found, out)
	return core.Try{Keys: r.keys, Waiting: r.waiting, AnyNode: true}, out
}

// wants tells whether anything below the queue is outstanding for the walk.
func (r *round) wants(q *Queue) bool {
	s := r.s
	return s.Calc.Positive(&s.Books.Total, &q.Ledger[r.asks].Pending)
}

// denied tells whether the queue may not use nodes like this one.
//
//go:noinline
func (r *round) denied(q *Queue) bool {
	if r.mode == ignore || q.MayUse(r.label) {
		return false
	}
	r.noteDenied(q)
	return true
}

// parent tries the children of a queue whose own limit leaves room. Only those that
// want something are in its order.
func (r *round) parent(q *Queue, lim *limits) skip {
	s := r.s
	if r.why != nil {
		r.why.keep(q)
	}
	if r.label != "" && r.denied(q) {
		return skipNone
	}
	mark := q.mark(r.mode)
	if mark.valid {
		if r.known(q, mark, lim) {
			return mark.skip
		}
		mark.valid = false
	}
	s.Calc.Clear(&lim.blocked)
	before, last := r.local, skipNone
	own, has := &q.Shares[r.part], &q.Ledger[r.part]
	left := min(lim.limit[yarn.Memory], own.EffMax[yarn.Memory]) - has.Used[yarn.Memory]
	if lim.headroom[yarn.Memory] = left; left <= 0 || r.mode == ignore || s.Calc.Dominant {
		if !r.leavesRoom(q, lim) {
			r.learn(q, mark, lim, skipNone, true)
			return skipNone
		}
	}
	below := lim.below
	o := q.order(r.part, r.mode)
	if o == nil {
		o = r.newOrder(q)
	}
	from := len(s.leftOut)
	for c := o.first(); c != nil; c = o.first() {
		if used := &c.Ledger[r.part].Used; s.Calc.Dominant { // else the same without a call
			s.childRoom(&below.limit, &lim.headroom, used)
		} else {
			measure.SetMemory(&below.limit, javanum.RoundDown(lim.headroom[yarn.Memory]+used[yarn.Memory], s.Min[yarn.Memory]))
		}
		var end skip
		if c.Leaf {
			end = r.leaf(c, below)
		} else {
			end = r.parent(c, below)
		}
		if end == found {
			if len(s.leftOut) > from {
				s.takeBack(o, from)
			}
			return end
		}
		s.leaveOut(o, c)
		if end == skipQueue {
			last = skipQueue
			s.keepRoom(c, lim)
		}
	}
	s.takeBack(o, from)
	r.learn(q, mark, lim, last, r.local == before)
	return last
}

// leavesRoom finds what the children of a queue share, and tells whether its own limit
// leaves room. Where memory alone counts, that is mostly known from what is left of it.
//
//go:noinline
func (r *round) leavesRoom(q *Queue, lim *limits) bool {
	s, limit := r.s, &lim.limit
	own, used := &q.Shares[r.part], &q.Ledger[r.part].Used
	if s.Calc.More(&s.Books.Total, limit, &own.EffMax) {
		limit = &own.EffMax
	}
	s.Calc.Sub(&lim.headroom, limit, used)
	if r.mode == ignore {
		limit = &s.Books.Partition(r.part).Total
	}
	return s.Calc.Less(&s.Books.Total, used, limit) || r.lessWithout(q, used, nil, limit)
}

// keepRoom keeps room from the siblings of a child that waits for more than there is.
//
//go:noinline
func (s *Scheduler) keepRoom(c *Queue, lim *limits) {
	room := &lim.below.headroom
	if !c.Leaf {
		room = &lim.below.blocked
	}
	if !s.Calc.Less(&s.Books.Total, room, &resource{}) {
		s.Calc.Increase(&lim.blocked, room)
		s.Calc.Decrease(&lim.headroom, room)
	}
}

// childRoom is what a child may use that uses so much, where so much is left for all.
func (s *Scheduler) childRoom(room, left, used *resource) {
	s.Calc.Set(room, left)
	s.Calc.Increase(room, used)
	s.Calc.RoundDown(room, &s.Min)
}

// canAssign checks the queue's limit. What could be given up counts as unused: held,
// or nil for what a parent takes for reserved.
func (r *round) canAssign(q *Queue, lim *limits, held *resource) bool {
	s, sh, used := r.s, &q.Shares[r.part], &q.Ledger[r.part].Used
	current := &sh.EffMax
	if r.mode == ignore || s.Calc.Dominant {
		current = r.current(sh, lim)
	} else if current[yarn.Memory] > lim.limit[yarn.Memory] {
		current = &lim.limit
	}
	s.Calc.Sub(&lim.headroom, current, used)
	if lim.headroom[yarn.Memory] > 0 && !s.Calc.Dominant {
		return true
	}
	return s.Calc.Less(&s.Books.Total, used, current) || r.lessWithout(q, used, held, current)
}

// current is a leaf's own limit in a walk, where canAssign does not find it by memory.
func (r *round) current(sh *Share, lim *limits) *resource {
	s := r.s
	switch {
	case r.mode == ignore:
		return &s.Books.Partition(r.part).Total
	case s.Calc.More(&s.Books.Total, &sh.EffMax, &lim.limit):
		return &lim.limit
	}
	return &sh.EffMax
}

// lessWithout tells whether less than current is used without what is held, if that
// counts.
//
//go:noinline
func (r *round) lessWithout(q *Queue, used, held, current *resource) bool {
	s := r.s
	if held == nil {
		promised := &q.Ledger[0].Promised
		held = &resource{promised[0], promised[1]}
	}
	left := *used
	s.Calc.Decrease(&left, held)
	if s.cfg.ContinueLooking && s.Calc.Positive(&s.Books.Total, held) && s.Calc.Less(&s.Books.Total, &left, current) {
		return true
	}
	r.noteQueue(q, used, current)
	return false
}

// leaf tries the applications of a leaf in their order.
func (r *round) leaf(q *Queue, lim *limits) skip {
	s, l := r.s, q.leaf
	if r.why != nil {
		r.why.keep(q)
	}
	s.visit(q, &lim.limit)
	if r.label != "" && r.denied(q) {
		return skipNone
	}
	if q.Ledger[r.asks].Pending[yarn.Memory] <= 0 { // or else it wants something
		if !r.wants(q) {
			return skipNone
		}
	}
	if q.Rules.Ordering == config.FairOrder {
		q.settle()
	}
	mark := q.mark(r.mode)
	if mark.valid {
		if r.userBlocked(q, mark, lim) {
			return skipNone
		}
		mark.valid = false
	}
	before := r.local
	// The queue's limit is checked with whoever comes first. Who rests is one of
	// the leaf's users, has nothing reserved and needs no look, unless nobody is
	// awake: somebody must leave behind what headrooms are taken from.
	check, i := true, 0
	free, met := true, false // free of reservations; met a user
	byList := q.Rules.Ordering == config.FifoWithPartitions
	if first := l.active.next(0); first > 0 && !byList {
		if !r.canAssign(q, lim, &resource{}) {
			return skipNone
		}
		check, i = false, first
	}
	for ; uint(i) < uint(l.active.len()); i = l.active.after(i, check) {
		a := l.active.apps[i]
		if byList && !q.sameList(a, r.label) {
			continue
		}
		if check {
			held := &resource{}
			if a.Held > 0 {
				held = &a.Shares[0].Reserved
			}
			if !r.canAssign(q, lim, held) {
				return skipNone
			}
			if check = !s.Calc.Nothing(held); check {
				free, check = false, s.cfg.ContinueLooking
			}
		}
		if end := r.application(q, a, lim); end != skipOther {
			r.found.place = int32(i)
			return end
		}
		met = met || a.user != nil
		if len(a.Wants.Keys()) == 0 && !s.plain {
			l.active.rest(i)
		}
	}
	if free && met && r.local == before {
		r.learnUsers(q, mark)
	}
	return skipNone
}

// sameList tells whether the application is in the list that serves the node.
//
//go:noinline
func (q *Queue) sameList(a *app, label string) bool {
	return q.listOf(a.Label) == q.listOf(label)
}

func (q *Queue) listOf(label string) string {
	for _, p := range q.Conf.Enforced {
		if p == label {
			return p
		}
	}
	return ""
}

// userMay checks the user's limit, once per user and state of the leaf.
//
// compat: what was found out for an application holds for the others of the
// user that have nothing more reserved.
func (r *round) userMay(q *Queue, a *app, lim *limits) bool {
	s := r.s
	if r.why != nil {
		r.why.keepApp(a)
	}
	u, b := s.noteHeadroom(q, a, r.part, r.mode)
	if u == nil {
		r.strangerMayNot(q, a)
		return false
	}
	used := u.shares[r.part].used[yarn.Memory]
	if b.refused == q.leaf.version || used > b.limit[yarn.Memory] || s.Calc.Dominant {
		return r.userMayWithout(q, a, lim, b)
	}
	s.Calc.Clear(&lim.unreserve)
	return true
}

// userMayWithout is userMay where more than memory counts, and where the user was
// refused before or is beyond the limit, maybe only for what could be given up.
//
//go:noinline
func (r *round) userMayWithout(q *Queue, a *app, lim *limits, b *userBlock) bool {
	s := r.s
	held, used := &a.Shares[0].Reserved, &a.user.shares[r.part].used
	if b.refused == q.leaf.version && held.FitsIn(b.reserved) {
		r.noteUser(a, used, b)
		return false
	}
	lim.unreserve = resource{}
	if !s.Calc.More(&s.Books.Total, used, &b.limit) {
		return true
	}
	if s.cfg.ContinueLooking {
		var left resource
		s.Calc.Sub(&left, &a.user.shares[0].used, held)
		if !s.Calc.More(&s.Books.Total, &left, &b.limit) {
			lim.unreserve = used.Sub(b.limit)
			return true
		}
	}
	b.refuse(q.leaf.version, held)
	r.noteUser(a, used, b)
	return false
}

// strangerMayNot refuses whom the leaf does not have among its users any more.
//
// compat: the refusal still holds when the user has come back, for one state of
// the leaf.
func (r *round) strangerMayNot(q *Queue, a *app) {
	if r.why != nil {
		r.why.add(yarn.Reason{Code: fit.UserUnknown, Subject: a.User, Detail: q.Path})
		return
	}
	r.local++ // the leaf does not take note of its limit: not the end of a walk that marks stand for
	l := q.leaf
	l.gone(a.User, len(q.Shares)).shares[r.part].blocked[r.mode].refuse(l.version, &a.Shares[0].Reserved)
}

// application tries the keys of one application in their order.
func (r *round) application(q *Queue, a *app, lim *limits) skip {
	if !r.userMay(q, a, lim) || !a.Wants.Outstanding(r.asks) {
		return skipOther
	}
	for i, w := range a.Wants.Keys() {
		if end := r.key(a, w, lim); end != skipKey {
			r.keys += i
			return end
		}
	}
	r.keys += len(a.Wants.Keys())
	return skipOther
}

// reservation tries to serve what the node is held for.
func (r *round) reservation(a *app, lim *limits, c ContainerRef) {
	box := r.s.Books.Container(c)
	lim.headroom, lim.unreserve = lim.limit, resource{}
	r.local++
	w := a.Wants.Find(core.KeyOf(box))
	if w == nil || !w.HasAny || w.Any.Count == 0 {
		r.found.app, r.found.Excess = a, c
		return
	}
	if a.Avoids(r.book) {
		return
	}
	w.Opportunities++
	r.found.From = c
	r.onNode(a, w, lim)
}

// key makes the checks that come before any node is looked at.
func (r *round) key(a *app, w *demand.Want, lim *limits) skip {
	s := r.s
	size := &w.Any.Size
	if r.mode == ignore && !a.Mastered && !s.cfg.Cluster.AMSharing {
		if w.Part != r.part {
			r.note(fit.OtherPartition, r.label, w.Label, 0, 0)
		}
		return skipOther
	}
	if !s.cfg.ContinueLooking {
		if !s.worthMore(a, w, size) {
			r.note(fit.ReservationsEnough, a.queue.Path, "", int64(len(w.Reservations)), int64(w.Left()))
			r.local++ // re-reservations may make it worth more: the leaf is not remembered as full
			return skipKey
		}
	}
	if a.Held > 0 && s.cfg.ContinueLooking {
		if !r.fitsWithHeld(a, size, lim) {
			return skipQueue
		}
	} else if !s.Calc.FitsIn(size, &lim.headroom) {
		r.noteHeadroom(a.queue, size, &lim.headroom)
		return skipQueue
	}
	r.local++
	if w.Part == 0 {
		w.Missed++
	}
	if r.mode == ignore && !r.missedEnough(w) {
		return skipOther
	}
	if w.Part != r.asks {
		r.note(fit.OtherPartition, s.Books.Partition(r.asks).Name, w.Label, 0, 0)
		return skipKey
	}
	if a.Avoids(r.book) {
		r.noteNode(fit.Blacklisted, 0, nil, nil)
		return skipOther
	}
	w.Opportunities++
	waiting := r.waiting
	end := r.onNode(a, w, lim)
	if end == skipKey {
		w.Opportunities--
		r.waiting = waiting
	}
	return end
}

// fitsWithHeld tells whether the queue has room if what the application has reserved
// counts as unused.
//
//go:noinline
func (r *round) fitsWithHeld(a *app, size *resource, lim *limits) bool {
	room := lim.headroom.Add(a.Shares[r.part].Reserved)
	if r.s.Calc.FitsIn(size, &room) {
		return true
	}
	r.noteHeadroom(a.queue, size, &room)
	return false
}

// missedEnough tells whether a key without a label has passed by as many nodes as
// there are, so that it may have the room that a partition lends.
func (r *round) missedEnough(w *demand.Want) bool {
	s := r.s
	if w.Part != 0 {
		r.note(fit.OtherPartition, "", w.Label, 0, 0)
		return false
	}
	if int(w.Missed) >= s.Books.Count {
		return true
	}
	r.waiting = true
	r.note(fit.ShareDelay, r.label, "", int64(w.Missed), int64(s.Books.Count))
	return false
}

// worthMore tells whether the key deserves another container or reservation:
// there is more outstanding than reserved, or its reservations starve.
func (s *Scheduler) worthMore(a *app, w *demand.Want, size *resource) bool {
	held := int32(len(w.Reservations))
	starved := int32(0)
	if held > 0 {
		factor := s.Calc.Ratio(size, &a.queue.Conf.MaxAllocation)
		part := javanum.Add(1, -min(factor, a.queue.leaf.minFactor))
		starved = javanum.Int(javanum.Mul(javanum.Div(float32(w.Rereserved), float32(held)), part))
	}
	return starved+w.Left()-held > 0
}
