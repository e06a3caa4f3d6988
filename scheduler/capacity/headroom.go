package capacity

import (
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// noteHeadroom is what a walk that comes by an application leaves behind for
// its headroom. It returns the application's user, if the leaf knows it, and
// what is known of the user's limit.
func (s *Scheduler) noteHeadroom(q *Queue, a *app, p part, m mode) (*user, *userBlock) {
	u := q.known(a)
	if u == nil {
		return nil, nil
	}
	s.Calc.Set(&q.leaf.queueLimit, &q.leaf.visitLimit)
	a.headLeaf, a.headUser = q, u
	b := of(&u.shares[p].blocked, m)
	s.Calc.Set(&b.limit, s.anyLimit(q, p, m))
	if u.weight != 1 { // it is a multiple of the least container already
		s.Calc.ScaleDown(&b.limit, float64(u.weight), &s.Min)
	}
	return u, b
}

// Headroom is what the master is told; see the facade.
func (s *Scheduler) Headroom(ref AppRef) resource {
	a := s.app(ref)
	q := a.headLeaf
	if q == nil {
		return resource{}
	}
	var sum resource
	plain := true
	for p, asked := range a.Wants.Asked() {
		plain = plain && (p == 0 || !asked)
	}
	if plain {
		sum = s.headroomIn(q, a, 0)
	} else {
		for p, asked := range a.Wants.Asked() {
			if asked {
				sum = sum.Add(s.headroomIn(q, a, part(p)))
			}
		}
	}
	sum[yarn.Memory] = max(sum[yarn.Memory], 0)
	return sum
}

func (s *Scheduler) headroomIn(q *Queue, a *app, p part) resource {
	limit, weight := *s.anyLimit(q, p, respect), float32(1)
	if u := q.known(a); u != nil {
		weight = u.weight
	}
	s.Calc.ScaleDown(&limit, float64(weight), &s.Min)
	ofQueue := q.leaf.queueLimit
	if p != 0 {
		ofQueue = q.shares[p].effMax
	}
	h := measure.Least(measure.SubFloor(limit, a.headUser.shares[p].used), measure.SubFloor(ofQueue, q.Ledger[p].Used))
	s.Calc.RoundDown(&h, &s.Min)
	total := s.Books.Partition(p).Total
	left := total.Sub(s.tree.root.Ledger[p].Used)
	return *s.Calc.Min(&total, &left, &h)
}
