package capacity

import (
	"github.com/heddle-project/heddle/scheduler/capacity/order"
	"github.com/heddle-project/heddle/scheduler/core"
)

// shortcuts spare walks that would end as before, and parts of them:
//
//   - marks remember walks that placed nothing, so that the next one is over at once;
//   - orders of children are kept, instead of sorted for every walk;
//   - applications that want nothing are idle: walks pass them by without a look.
//
// All of it is kept up to date here, by what the core and the policy report. A scheduler
// without shortcuts decides the same.
type shortcuts struct {
	s    *Scheduler
	last walkKind
	turn uint64 // counts how often last changed
}

// Changed brings up to date what a change concerns.
func (k *shortcuts) Changed(c core.Change) {
	if c.What == core.Room {
		return // what depends on a node is not remembered
	}
	q := queueOf(c.Queue)
	switch c.What {
	case core.Usage:
		for at := q; at != nil; at = at.Up {
			k.rekey(at, c.Part)
		}
	case core.Demand:
		if k.rekey(q, c.Part); c.Part == 0 {
			k.rekeyLent(q)
		}
	case core.Asks:
		if a := appOf(c.App); a.idle {
			leafOf(q).active.lookAt(a, policyOf(q))
		}
	case core.Members:
		if l := leafOf(q); l.LostActive && l.active.busy.Count < l.active.len() {
			l.active.allBusy()
		}
	case core.Shares:
		q.Each(k.forget)
		if q.Up != nil {
			parentOf(q.Up).orders = nil
		}
	}
	for ; q != nil; q = q.Up {
		*marksOf(q) = [2]mark{}
	}
}

// forget forgets what is known of a queue.
func (k *shortcuts) forget(q *Queue) {
	if *marksOf(q) = [2]mark{}; !q.Leaf {
		parentOf(q).orders = nil
	}
}

// begin tells of which kind the walk is that begins.
func (k *shortcuts) begin(kind walkKind) {
	if k != nil && k.last != kind {
		k.last = kind
		k.turn++
	}
}

// rekey gives a child its place among its siblings in a partition.
func (k *shortcuts) rekey(c *Queue, p part) {
	q := c.Up
	if q == nil || !q.Has(c) {
		return
	}
	orders := parentOf(q).orders
	if int(p) >= len(orders) {
		return
	}
	o := &orders[p]
	if o[respect].Made() {
		o[respect].Place(&k.s.Core, c, p, p)
	}
	if o[ignore].Made() {
		o[ignore].Place(&k.s.Core, c, p, 0)
	}
}

// rekeyLent does so in partitions that are lent to asks for the default one.
func (k *shortcuts) rekeyLent(c *Queue) {
	if c.Up == nil {
		return
	}
	for p := 1; p < len(parentOf(c.Up).orders); p++ {
		k.rekey(c, part(p))
	}
}

// orderOf is the order of a parent's children, for walks of one kind.
func (s *Scheduler) orderOf(q *Queue, p part, m mode) *order.Children {
	if s.shortcuts == nil {
		return &order.Children{}
	}
	f := parentOf(q)
	for len(f.orders) <= int(p) {
		core.Keep(s.Journal, &f.orders)
		f.orders = append(f.orders, [2]order.Children{})
	}
	return &f.orders[p][m]
}

// isIdle tells whether a walk that has just looked at an application need not look again
// before it wants something: nothing is reserved for it, its headroom is what a walk
// leaves behind, and its user is known. Where a leaf has forgotten a user whose
// applications go on, a walk may meet a new record of it, so that nobody counts as idle.
func (r *round) isIdle(q *Queue, a *app) bool {
	return r.quick() && len(a.Wants.Keys()) == 0 && a.Held == 0 && !leafOf(q).LostActive &&
		a.member.User != nil && a.headLeaf == q && a.headUser == a.member.User
}

// walkKind tells walks apart that see queues differently.
type walkKind struct {
	part part
	mode mode
}

// mark is how a walk ended that never got as far as looking at the node, and left nothing
// behind: until something changes, it would end in the same way on every node. What it
// leaves for headrooms is what the walk before left, unless one of another kind came
// between. A leaf has a mark only where every user is at the limit, whatever the
// queue's limit is.
type mark struct {
	valid   bool
	skip    skip
	turn    uint64 // of walk kinds
	part    part
	given   resource // the limit that the walk came with
	blocked resource
}

func (k *shortcuts) holds(m *mark, p part) bool { return m.valid && m.turn == k.turn && m.part == p }

// endsAsBefore tells that a walk from the root would place nothing, like the last one,
// which had no need to look at its node.
func (s *Scheduler) endsAsBefore(p part, m mode) bool {
	if s.shortcuts == nil {
		return false
	}
	last := &marksOf(s.tree.Root)[m]
	return s.shortcuts.holds(last, p) && last.given == s.Books.Partition(p).Total
}

// known tells that the walk below a parent would end as the last one did.
func (r *round) known(q *Queue, lim *limits) (end skip, known bool) {
	if !r.quick() {
		return skipNone, false
	}
	m := &marksOf(q)[r.mode]
	if !r.s.shortcuts.holds(m, r.part) || m.given != lim.limit {
		m.valid = false
		return skipNone, false
	}
	lim.blocked = m.blocked
	return m.skip, true
}

// learn remembers how a walk below a parent ended, if it would do so on any node.
func (r *round) learn(q *Queue, lim *limits, end skip, anyNode bool) {
	if anyNode && r.quick() {
		marksOf(q)[r.mode] = mark{true, end, r.s.shortcuts.turn, r.part, lim.limit, lim.blocked}
	}
}

// usersKnown tells that a walk over a leaf is at its end, because it is known that
// every user is at the limit. Only the queue's own limit is looked at again.
func (r *round) usersKnown(q *Queue, lim *limits) bool {
	if !r.quick() {
		return false
	}
	m := &marksOf(q)[r.mode]
	if !r.s.shortcuts.holds(m, r.part) {
		m.valid = false
		return false
	}
	if l := leafOf(q); r.leafMay(q, lim, &resource{}) {
		l.queueLimit = l.visitLimit
	}
	return true
}

// learnUsers remembers that a walk over a leaf met nothing but limits of users, that
// there is such a user, and that nobody has reservations.
func (r *round) learnUsers(q *Queue) {
	if r.quick() {
		marksOf(q)[r.mode] = mark{valid: true, turn: r.s.shortcuts.turn, part: r.part}
	}
}
