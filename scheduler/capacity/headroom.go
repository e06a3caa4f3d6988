package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// noteHeadroom is what a walk that comes by an application leaves behind for
// its headroom. It returns the application's user, if the leaf knows it, and
// what is known of the user's limit.
func (s *Scheduler) noteHeadroom(q *Queue, a *app, p part, m mode) (*user, *userBlock) {
	u := s.userBy(q, a)
	if u == nil {
		return nil, nil
	}
	b := &u.shares[p].blocked[m]
	if j := s.Journal; j != nil {
		core.Keep(j, &leafOf(q).queueLimit)
		core.Keep(j, &a.headLeaf)
		core.Keep(j, &a.headUser)
		core.Keep(j, b)
	}
	s.Calc.Set(&leafOf(q).queueLimit, &leafOf(q).visitLimit)
	a.headLeaf, a.headUser = q, u
	s.Calc.Set(&b.limit, s.anyLimit(q, p, m))
	if u.weight != 1 { // it is a multiple of the least container already
		s.Calc.ScaleDown(&b.limit, float64(u.weight), &s.Min)
	}
	return u, b
}

// tellHeadroom is Headroom for an allocate call.
//
// compat: Apache computes the limits of users for it, and counts those who only wait.
// The limits then stand for this version of the leaf, and masters are admitted by
// that count.
func (s *Scheduler) tellHeadroom(a *app) resource {
	if a.headLeaf != nil {
		for p := range a.headroomParts {
			s.anyLimit(a.headLeaf, p, respect)
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
	limit, weight := s.limitNow(q, p, respect), float32(1)
	if u := leafOf(q).users[a.User]; u != nil {
		weight = u.weight
	}
	s.Calc.ScaleDown(&limit, float64(weight), &s.Min)
	ofQueue := leafOf(q).queueLimit
	if p != 0 {
		ofQueue = q.Shares[p].EffMax
	}
	h := measure.Least(measure.SubFloor(limit, a.headUser.shares[p].used), measure.SubFloor(ofQueue, q.Ledger[p].Used))
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
