package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/users"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// noteHeadroom keeps what the application's headroom is computed from, when a walk comes to
// it. It returns the application's user and what is known of the user's limit, or nil if the
// leaf does not have the user.
func (s *Scheduler) noteHeadroom(q *Queue, a *app, p part, m mode) (*user, *users.Block) {
	l := leafOf(q)
	u := l.Of(a.User, &a.member)
	if u == nil {
		return nil, nil
	}
	if j := s.Journal; j != nil {
		core.Keep(j, &l.queueLimit)
		core.Keep(j, &a.headLeaf)
		core.Keep(j, &a.headUser)
	}
	s.Calc.Set(&l.queueLimit, &l.visitLimit)
	a.headLeaf, a.headUser = q, u
	return u, l.Block(q, u, p, m)
}

// tellHeadroom is Headroom for an allocate call.
//
// compat: Apache computes the limits of users for it, and counts those who only wait.
// The limits then stand for this version of the leaf, and masters are admitted by
// that count.
func (s *Scheduler) tellHeadroom(a *app) resource {
	if a.headLeaf != nil {
		for p := range a.headroomParts {
			leafOf(a.headLeaf).Limit(a.headLeaf, p, respect)
		}
	}
	return s.Headroom(a.Ref)
}

// Headroom is what the master would be told; see the facade.
func (s *Scheduler) Headroom(ref AppRef) (sum resource) {
	a := s.app(ref)
	if a.headLeaf == nil {
		return sum
	}
	for p := range a.headroomParts {
		sum = sum.Add(s.headroomIn(a.headLeaf, a, p))
	}
	sum[yarn.Memory] = max(sum[yarn.Memory], 0)
	return sum
}

// headroomParts are the partitions whose headrooms add up to the application's: those
// that it has ever asked for, or the default one.
func (a *app) headroomParts(yield func(part) bool) {
	asked := a.Wants.Asked()
	if len(asked) < 2 || !slices.Contains(asked[1:], true) {
		yield(0)
		return
	}
	for p, is := range asked {
		if is && !yield(part(p)) {
			return
		}
	}
}

func (s *Scheduler) headroomIn(q *Queue, a *app, p part) resource {
	l, weight := leafOf(q), float32(1)
	if u := l.Named(a.User); u != nil {
		weight = u.Weight
	}
	limit, ofQueue := l.LimitNow(q, p, respect, weight), l.queueLimit
	if p != 0 {
		ofQueue = q.Shares[p].EffMax
	}
	h := measure.Least(measure.SubFloor(limit, a.headUser.Shares[p].Used), measure.SubFloor(ofQueue, q.Ledger[p].Used))
	s.Calc.RoundDown(&h, &s.Min)
	total := s.Books.Partition(p).Total
	left := total.Sub(s.tree.Root.Ledger[p].Used)
	return *s.Calc.Min(&total, &left, &h)
}

// AllocateDone ends an allocate call; see the facade.
func (s *Scheduler) AllocateDone(ref AppRef) resource {
	a := s.app(ref)
	h := s.tellHeadroom(a)
	s.GiveBackFreed(&a.App)
	return h
}
