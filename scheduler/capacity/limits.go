package capacity

import (
	"github.com/heddle-project/heddle/scheduler/core"
)

// The limits that a walk checks on its way: of queues, of users, and what is left of
// both for one ask.

// denied tells whether the queue may not use nodes like this one.
func (r *round) denied(q *Queue) bool {
	if r.mode == ignore || q.MayUse(r.label) {
		return false
	}
	r.noteDenied(q)
	return true
}

// limitOf is what the queue may use by its own maximum or, if that is less, by what is left
// above it.
func (r *round) limitOf(q *Queue, lim *limits) *resource {
	if most := &q.Shares[r.part].EffMax; r.s.Calc.More(&r.s.Books.Total, &lim.limit, most) {
		return most
	}
	return &lim.limit
}

// usageLimit is what the queue's usage is compared with: its limit or, where a partition
// lends its room, all that the partition has.
func (r *round) usageLimit(limit *resource) *resource {
	if r.mode == ignore {
		return &r.s.Books.Partition(r.part).Total
	}
	return limit
}

// parentMay tells whether a parent's limit leaves room, and finds what its children
// share. What is reserved below counts as unused, and so does what is killable.
func (r *round) parentMay(q *Queue, lim *limits) bool {
	limit, used := r.limitOf(q, lim), &q.Ledger[r.part].Used
	if len(r.s.Killable) > 0 {
		used = r.withoutKillable(q)
	}
	r.s.Calc.Sub(&lim.headroom, limit, used)
	promised := &q.Ledger[0].Promised
	return r.usesLess(q, used, r.usageLimit(limit), &resource{promised[0], promised[1]})
}

// leafMay tells whether a leaf's limit leaves room, and finds what its applications
// share. What the first of them holds counts as unused.
func (r *round) leafMay(q *Queue, lim *limits, held *resource) bool {
	most := r.usageLimit(r.limitOf(q, lim))
	r.s.Calc.Sub(&lim.headroom, most, &q.Ledger[r.part].Used)
	return r.usesLess(q, &q.Ledger[r.part].Used, most, held)
}

// usesLess tells whether less than the limit is used, or would be without what is held.
func (r *round) usesLess(q *Queue, used, limit, held *resource) bool {
	s := r.s
	if s.Calc.Less(&s.Books.Total, used, limit) {
		return true
	}
	if s.cfg.ContinueLooking && s.Calc.Positive(&s.Books.Total, held) {
		left := *used
		s.Calc.Decrease(&left, held)
		if s.Calc.Less(&s.Books.Total, &left, limit) {
			return true
		}
	}
	r.noteQueue(q, used, limit)
	return false
}

// keepRoom keeps room from the siblings of a child that waits for more than there is.
func (r *round) keepRoom(c *Queue, lim *limits) {
	s, room := r.s, &lim.below.headroom
	if !c.Leaf {
		room = &lim.below.blocked
	}
	if !s.Calc.Less(&s.Books.Total, room, &resource{}) {
		s.Calc.Increase(&lim.blocked, room)
		s.Calc.Decrease(&lim.headroom, room)
	}
	r.why.kept(c)
}

// childRoom makes room what a child may use: what is left for all, and what it uses already.
func (s *Scheduler) childRoom(room, left, used *resource) {
	s.Calc.Set(room, left)
	s.Calc.Increase(room, used)
	s.Calc.RoundDown(room, &s.Min)
}

// userMay checks the user's limit, once per user and state of the leaf.
//
// compat: what was found out for an application holds for the others of the
// user that have nothing more reserved.
func (r *round) userMay(q *Queue, a *app, lim *limits) bool {
	s := r.s
	u, b := s.noteHeadroom(q, a, r.part, r.mode)
	if u == nil {
		r.refuseUnknown(q, a)
		return false
	}
	held, used := &a.Shares[0].Reserved, &u.Shares[r.part].Used
	if b.Refused == leafOf(q).Version && held.FitsIn(b.Reserved) {
		r.noteUser(a, used, b)
		return false
	}
	s.Calc.Clear(&lim.unreserve)
	if !s.Calc.More(&s.Books.Total, used, &b.Limit) {
		return true
	}
	if s.cfg.ContinueLooking {
		var left resource
		s.Calc.Sub(&left, &u.Shares[0].Used, held)
		if !s.Calc.More(&s.Books.Total, &left, &b.Limit) {
			lim.unreserve = used.Sub(b.Limit)
			return true
		}
	}
	core.Keep(s.Journal, b)
	b.Refuse(leafOf(q).Version, held)
	r.noteUser(a, used, b)
	return false
}

// refuseUnknown refuses an application whose user the leaf has forgotten.
//
// compat: the refusal still holds when the user has come back, for one state of
// the leaf.
func (r *round) refuseUnknown(q *Queue, a *app) {
	r.noteUnknownUser(a)
	if r.s.Journal != nil { // a query leaves nothing behind
		return
	}
	r.local++ // the leaf does not take note of its limit: not the end of a walk that marks stand for
	l := leafOf(q)
	l.Left(a.User).Shares[r.part].Blocks[r.mode].Refuse(l.Version, &a.Shares[0].Reserved)
}

// fitsHeadroom tells whether the queue has room for the ask. What the application has
// reserved may count as unused.
func (r *round) fitsHeadroom(a *app, size *resource, lim *limits) bool {
	room := lim.headroom
	if a.Held > 0 && r.s.cfg.ContinueLooking {
		r.s.Calc.Increase(&room, &a.Shares[r.part].Reserved)
	}
	if r.s.Calc.FitsIn(size, &room) {
		return true
	}
	r.noteHeadroom(a.queue, size, &room)
	return false
}
