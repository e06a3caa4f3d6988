package capacity

// A walk that nothing came of, and that never got as far as looking at the node,
// ends in the same way for every node until something changes. Marks remember
// such walks, so that the next one is over at once. Leaving out a walk must not
// be noticed: one that counts something is never left out, and what a walk
// leaves behind for headrooms is the same as the walk before left, unless one of
// another kind came between.

// walkKind tells walks apart that see queues differently.
type walkKind struct {
	part part
	mode mode
}

// mark is how a walk ended. A leaf has one only where every user is at the limit, whatever
// the queue's own is.
type mark struct {
	valid   bool
	skip    skip
	turn    uint64 // of walk kinds
	change  uint64 // of the queue
	part    part
	given   resource // the limit that the walk came with
	blocked resource
}

// marksOf are how the last walks over the queue ended, by mode.
func marksOf(q *Queue) *[2]mark {
	if q.Leaf {
		return &leafOf(q).marks
	}
	return &parentOf(q).marks
}

func (m *mark) fresh(s *Scheduler, q *Queue, p part) bool {
	return m.valid && !s.plain && m.change == q.Change && m.turn == s.walkTurn && m.part == p
}

// fruitless tells that a walk from the root would end as the last one did,
// without a look at the node.
func (s *Scheduler) fruitless(p part, m mode) bool {
	root := s.tree.Root
	last := &marksOf(root)[m]
	return last.fresh(s, root, p) && last.given == s.Books.Partition(p).Total
}

// known tells that the walk below a parent would end as the last one did.
func (r *round) known(q *Queue, lim *limits) (end skip, known bool) {
	m := &marksOf(q)[r.mode]
	if !m.valid || !r.quick() {
		return skipNone, false
	}
	if !m.fresh(r.s, q, r.part) || m.given != lim.limit {
		m.valid = false
		return skipNone, false
	}
	lim.blocked = m.blocked
	return m.skip, true
}

// learn remembers how a walk below a parent ended, if it would do so on any node.
func (r *round) learn(q *Queue, lim *limits, end skip, anyNode bool) {
	if anyNode && r.quick() {
		marksOf(q)[r.mode] = mark{true, end, r.s.walkTurn, q.Change, r.part, lim.limit, lim.blocked}
	}
}

// userBlocked tells that a walk over a leaf is at its end, because it is known that
// every user is at the limit. Only the queue's own limit is looked at again.
func (r *round) userBlocked(q *Queue, lim *limits) bool {
	m := &marksOf(q)[r.mode]
	if !m.valid || !r.quick() {
		return false
	}
	if !m.fresh(r.s, q, r.part) {
		m.valid = false
		return false
	}
	if r.leafMay(q, lim, &resource{}) {
		leafOf(q).queueLimit = leafOf(q).visitLimit
	}
	return true
}

// learnUsers remembers that a walk over a leaf met nothing but limits of users, that
// there is such a user, and that nobody has reservations.
func (r *round) learnUsers(q *Queue) {
	if r.quick() {
		marksOf(q)[r.mode] = mark{valid: true, turn: r.s.walkTurn, change: q.Change, part: r.part}
	}
}
