package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// limits travel down a walk.
type limits struct {
	limit        resource // what the queue may use, seen from above
	headroom     resource // what is left of it
	blocked      resource // of the children that wait for more than there is
	unreserve    resource // what an application must give up first
	allowPreempt bool
}

// start is how limits begin their way.
func (l *limits) start(limit resource) { *l = limits{limit: limit, headroom: limit} }

// skip says why a walk brought nothing.
type skip uint8

const (
	skipNone  skip = iota
	skipOther      // the next application may have more luck
	skipQueue      // the queue's limit is in the way: room is kept for it
)

// outcome is what a walk proposes.
type outcome struct {
	kind     outcomeKind
	skip     skip
	app      *app
	want     *demand.Want
	size     resource
	locality cluster.Locality
	from     ContainerRef // the reservation that is served or renewed
	excess   ContainerRef // a reservation to give up
	mode     mode
}

type outcomeKind uint8

const (
	nothing outcomeKind = iota
	allocated
	reserved
)

func skipped(why skip) outcome {
	return outcome{skip: why, from: cluster.NoContainer, excess: cluster.NoContainer}
}

// round is one walk for one node.
type round struct {
	s     *Scheduler
	node  NodeRef
	book  *cluster.NodeBook
	part  part
	label string
	mode  mode
	depth int // of the parent that is walked, from 0
	// local counts what depended on the node or left something behind: a walk
	// without any of it would end the same way on every node.
	local int
	// why collects reasons in explain mode.
	why *explanation
}

// offerOnce is one try to place something on a node. ok is false when nothing
// more can come of this offer.
func (s *Scheduler) offerOnce(ref NodeRef, out []cluster.Decision) (o outcome, ok bool, _ []cluster.Decision) {
	n := s.books.Node(ref)
	if n.Reserved >= 0 {
		return skipped(skipNone), false, s.offerReserved(ref, n, out)
	}
	if s.calc.Containers(n.Free(), s.min) <= 0 {
		return skipped(skipNone), false, out
	}
	r := &round{s: s, node: ref, book: n, part: n.Part, label: n.Label}
	o = s.walk(r, respect)
	out = s.commit(r, &o, out)
	if o.kind != nothing {
		return o, true, out
	}
	if n.Part == 0 || s.books.Partition(n.Part).Exclusive {
		return o, false, out
	}
	o = s.walk(r, ignore)
	out = s.commit(r, &o, out)
	return o, o.kind != nothing, out
}

// walk goes from the root to one application.
func (s *Scheduler) walk(r *round, m mode) outcome {
	r.mode = m
	if k := (walkKind{r.part, m}); s.lastWalk != k {
		s.lastWalk = k
		s.walkTurn++
	}
	start := r.part
	if m == ignore {
		start = 0
	}
	lim := &s.rootLimits
	lim.start(s.books.Partition(start).Total)
	o := r.parent(s.tree.root, lim)
	s.felt += r.local
	o.mode = m
	return o
}

// offerReserved gives a reserved node to whom it is reserved for.
func (s *Scheduler) offerReserved(ref NodeRef, n *cluster.NodeBook, out []cluster.Decision) []cluster.Decision {
	a := s.app(s.books.Container(n.Reserved).App)
	r := &round{s: s, node: ref, book: n, part: n.Part, label: n.Label, mode: respect}
	// compat: the limit is that of the default partition, also on other nodes,
	// and limits of parents are not looked at.
	lim := &s.rootLimits
	lim.start(s.books.Partition(0).Total)
	o := r.leaf(a.queue, lim)
	return s.commit(r, &o, out)
}

// wants tells whether anything below the queue is outstanding for the walk.
func (r *round) wants(q *Queue) bool {
	p := r.part
	if r.mode == ignore {
		p = 0
	}
	return r.s.calc.Positive(r.s.books.Total, q.shares[p].pending)
}

func (r *round) parent(q *Queue, lim *limits) outcome {
	s := r.s
	if r.mode == respect && !q.mayUse(r.label) {
		r.note(q, nil, yarn.Reason{Code: fit.PartitionDenied, Subject: q.path, Detail: r.label})
		return skipped(skipNone)
	}
	if !r.wants(q) {
		return skipped(skipNone)
	}
	if r.book.Reserved >= 0 || !s.calc.FitsIn(s.min, r.book.Free()) {
		r.local++ // the node may have less than nothing of one resource, and of others enough
		return skipped(skipNone)
	}
	mark := &q.marks[r.mode]
	if r.known(q, mark, lim) {
		return skipped(mark.skip)
	}
	before := r.local
	o := r.below(q, lim)
	r.learn(q, mark, lim, &o, r.local == before)
	return o
}

// below tries the children of a parent whose own limit leaves room.
func (r *round) below(q *Queue, lim *limits) outcome {
	mark := &q.marks[r.mode]
	mark.given = lim.limit
	held := resource{q.shares[0].promised[0], q.shares[0].promised[1]}
	if why := r.canAssign(q, lim, held); !why.OK() {
		r.note(q, nil, why)
		return skipped(skipNone)
	}
	return r.childrenOf(q, lim)
}

func (r *round) childrenOf(q *Queue, lim *limits) outcome {
	s := r.s
	last := skipped(skipNone)
	below := &s.limits[r.depth]
	for _, c := range r.inOrder(q) {
		below.start(s.childLimit(q, c, &lim.limit, lim.blocked, r.part))
		var o outcome
		if c.isLeaf() {
			o = r.leaf(c, below)
		} else {
			r.depth++
			o = r.parent(c, below)
			r.depth--
		}
		if o.kind != nothing {
			return o
		}
		if o.skip != skipQueue {
			continue
		}
		if last.skip != skipQueue {
			last = o
		}
		room := below.headroom
		if !c.isLeaf() {
			room = below.blocked
		}
		lim.blocked = lim.blocked.Add(s.calc.Max(s.books.Total, room, resource{}))
	}
	return last
}

// childLimit is what a child may use. The parent's own limit is cut to its
// maximum on the way; blocked is kept for siblings that wait.
func (s *Scheduler) childLimit(q, c *Queue, limit *resource, blocked resource, p part) resource {
	*limit = s.calc.Min(s.books.Total, *limit, q.shares[p].effMax)
	room := limit.Sub(blocked).Sub(q.shares[p].used).Add(c.shares[p].used)
	return s.calc.RoundDown(room, s.min)
}

// canAssign checks the queue's limit. What could be given up counts as unused.
func (r *round) canAssign(q *Queue, lim *limits, held resource) yarn.Reason {
	s := r.s
	current := s.books.Partition(r.part).Total
	if r.mode == respect {
		current = s.calc.Min(s.books.Total, q.shares[r.part].effMax, lim.limit)
	}
	used := q.shares[r.part].used
	lim.headroom = current.Sub(used)
	if s.calc.Less(s.books.Total, used, current) {
		return yarn.Reason{}
	}
	if s.cfg.ContinueLooking && s.calc.More(s.books.Total, held, resource{}) &&
		s.calc.Less(s.books.Total, used.Sub(held), current) {
		return yarn.Reason{}
	}
	code := fit.QueueLimit
	if !q.isLeaf() {
		code = fit.ParentLimit
	}
	return yarn.Reason{Code: code, Subject: q.path, Needed: used, Limit: current}
}

func (r *round) leaf(q *Queue, lim *limits) outcome {
	s := r.s
	s.visit(q, lim.limit)
	sh := &q.shares[r.part]
	if none(sh.effMin) {
		lim.allowPreempt = sh.absUsed < sh.absolute
	} else {
		lim.allowPreempt = s.calc.Less(s.books.Total, sh.used, sh.effMin)
	}
	if c := r.book.Reserved; c >= 0 {
		if a := s.app(s.books.Container(c).App); a.queue == q && a.running {
			return r.reservation(a, lim, c)
		}
	}
	if r.mode == respect && !q.mayUse(r.label) {
		r.note(q, nil, yarn.Reason{Code: fit.PartitionDenied, Subject: q.path, Detail: r.label})
		return skipped(skipNone)
	}
	if !r.wants(q) {
		return skipped(skipNone)
	}
	q.settle()
	if o, ok := r.userBlocked(q, lim); ok {
		return o
	}
	before := r.local
	o, users := r.applications(q, lim)
	r.learnUsers(q, &o, users && r.local == before)
	return o
}

// applications tries the applications of a leaf in their order. users tells that
// nothing but limits of users was in the way, that there is such a user, and that
// nobody has reservations.
func (r *round) applications(q *Queue, lim *limits) (o outcome, users bool) {
	l := q.leaf
	check, free, met := true, true, false // free of reservations; met a user
	for i := 0; i < l.active.len(); i++ {
		// The queue's limit is checked with whoever comes first, awake or not.
		if !check {
			if i = l.active.next(i); i < 0 {
				break
			}
		}
		a := l.active.apps[i]
		if q.conf.Ordering == config.FifoWithPartitions && !q.sameList(a, r.label) {
			continue
		}
		if check {
			held := appReserved(a, 0)
			if why := r.canAssign(q, lim, held); !why.OK() {
				r.note(q, a, why)
				return skipped(skipNone), false
			}
			check = r.s.cfg.ContinueLooking && !none(held)
			free = free && none(held)
		}
		why := r.userMay(q, a, lim)
		met = met || q.known(a) != nil
		if !r.s.plain && l.active.rest(i) {
			continue
		}
		if !why.OK() {
			r.note(q, a, why)
			continue
		}
		o := r.application(a, lim)
		if o.kind != nothing || o.skip == skipQueue {
			return o, false
		}
		if o.skip == skipNone {
			return skipped(skipNone), false
		}
	}
	return skipped(skipNone), free && met
}

// sameList tells whether the application is in the list that serves the node.
func (q *Queue) sameList(a *app, label string) bool {
	return q.listOf(a.Label) == q.listOf(label)
}

func (q *Queue) listOf(label string) string {
	for _, p := range q.conf.Enforced {
		if p == label {
			return p
		}
	}
	return ""
}

func appReserved(a *app, p part) resource { return a.shares[p].reserved }

// userMay checks the user's limit, once per user and state of the leaf.
//
// compat: what was found out for an application holds for the others of the
// user that have nothing more reserved.
func (r *round) userMay(q *Queue, a *app, lim *limits) yarn.Reason {
	s := r.s
	limit := s.noteHeadroom(q, a, r.part, r.mode)
	u := q.known(a)
	if u == nil {
		return r.strangerMay(q, a)
	}
	b := &u.blocked[r.mode][r.part]
	if b.version != q.leaf.version {
		*b = userBlock{version: q.leaf.version, limit: limit}
	}
	held := appReserved(a, 0)
	used := u.shares[r.part].used
	if b.refused && held.FitsIn(b.reserved) {
		return yarn.Reason{Code: fit.UserLimit, Subject: a.User, Needed: used, Limit: b.limit}
	}
	lim.unreserve = resource{}
	if !s.calc.More(s.books.Total, used, b.limit) {
		return yarn.Reason{}
	}
	if s.cfg.ContinueLooking && !s.calc.More(s.books.Total, u.shares[0].used.Sub(held), b.limit) {
		lim.unreserve = used.Sub(b.limit)
		return yarn.Reason{}
	}
	if b.reserved.FitsIn(held) {
		b.refused, b.reserved = true, held
	}
	return yarn.Reason{Code: fit.UserLimit, Subject: a.User, Needed: used, Limit: b.limit}
}

// strangerMay refuses whom the leaf does not have among its users any more.
//
// compat: the refusal still holds when the user has come back, for one state of
// the leaf.
func (r *round) strangerMay(q *Queue, a *app) yarn.Reason {
	why := yarn.Reason{Code: fit.UserLimit, Subject: a.User}
	if r.why != nil {
		return why
	}
	r.local++ // the leaf does not take note of its limit: not the end of a walk that marks stand for
	b := &q.leaf.gone(a.User, len(q.shares)).blocked[r.mode][r.part]
	if b.version != q.leaf.version {
		*b = userBlock{version: q.leaf.version}
	}
	if held := appReserved(a, 0); b.reserved.FitsIn(held) {
		b.refused, b.reserved = true, held
	}
	return why
}

// application tries the keys of one application in their order.
func (r *round) application(a *app, lim *limits) outcome {
	p := r.part
	if r.mode == ignore {
		p = 0
	}
	if none(measure.SubFloor(a.wants.Pending(p), resource{})) {
		return skipped(skipOther)
	}
	for _, w := range a.wants.Keys() {
		o, next := r.key(a, w, lim)
		if !next {
			return o
		}
	}
	return skipped(skipOther)
}

// reservation tries to serve what the node is held for.
func (r *round) reservation(a *app, lim *limits, c ContainerRef) outcome {
	box := r.s.books.Container(c)
	r.local++
	w := a.wants.Find(keyOf(box))
	if w == nil || !w.HasAny || w.Any.Count == 0 {
		o := skipped(skipNone)
		o.app, o.excess = a, c
		return o
	}
	if a.avoids(r.book) {
		return skipped(skipOther)
	}
	w.Opportunities++
	o, _ := r.onNode(a, w, lim, c)
	o.app = a
	return o
}

// key makes the checks that come before any node is looked at. next tells that
// the application's next key is to be tried.
func (r *round) key(a *app, w *demand.Want, lim *limits) (o outcome, next bool) {
	s := r.s
	size := w.Any.Size
	if r.mode == ignore && !a.mastered && !s.cfg.Cluster.AMSharing {
		r.note(a.queue, a, yarn.Reason{Code: fit.OtherPartition, Subject: r.label})
		return skipped(skipOther), false
	}
	if !s.cfg.ContinueLooking && !s.worthMore(a, w, size) {
		r.local++ // re-reservations may make it worth more: the leaf is not remembered as full
		return outcome{}, true
	}
	room := lim.headroom
	if s.cfg.ContinueLooking {
		room = room.Add(appReserved(a, r.part))
	}
	if !s.calc.FitsIn(size, room) {
		r.note(a.queue, a, yarn.Reason{Code: fit.Headroom, Subject: a.queue.path, Needed: size, Limit: room})
		return skipped(skipQueue), false
	}
	r.local++
	missed := int32(0)
	if w.Label == "" {
		w.Missed++
		missed = w.Missed
		s.waited = s.waited || int(missed) <= s.books.Count
	}
	if r.mode == ignore && int(missed) < s.books.Count {
		r.note(a.queue, a, yarn.Reason{Code: fit.ShareDelay, Subject: r.label, Count: int64(missed), Max: int64(s.books.Count)})
		return skipped(skipOther), false
	}
	if served := r.servedLabel(); w.Label != served {
		r.note(a.queue, a, yarn.Reason{Code: fit.OtherPartition, Subject: served, Detail: w.Label})
		return outcome{}, true
	}
	if a.avoids(r.book) {
		r.note(a.queue, a, yarn.Reason{Code: fit.Blacklisted, Subject: r.book.ID.String()})
		return skipped(skipOther), false
	}
	w.Opportunities++
	o, next = r.onNode(a, w, lim, cluster.NoContainer)
	if next {
		w.Opportunities--
	} else if int(w.Opportunities) <= s.books.Count+1 {
		s.waited = true
	}
	return o, next
}

// servedLabel is the label that asks must name to be served by this walk.
func (r *round) servedLabel() string {
	if r.mode == ignore {
		return ""
	}
	return r.label
}

// worthMore tells whether the key deserves another container or reservation:
// there is more outstanding than reserved, or its reservations starve.
func (s *Scheduler) worthMore(a *app, w *demand.Want, size resource) bool {
	held := int32(len(w.Reservations))
	starved := int32(0)
	if held > 0 {
		factor := s.calc.Ratio(size, a.queue.conf.MaxAllocation)
		part := javanum.Add(1, -min(factor, a.queue.leaf.minFactor))
		starved = javanum.Int(javanum.Mul(javanum.Div(float32(w.Rereserved), float32(held)), part))
	}
	return starved+w.Left()-held > 0
}
