package core

import (
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// manyRebooked is how many containers are moved one by one.
const manyRebooked = 2000

// use adds to what a leaf and all queues above use; negative amounts take away. For moved
// see Facts.Used.
func (s *Core) use(leaf *queue.Queue, a *App, p part, amount *resource, count int32, moved bool) {
	for q := leaf; q != nil; q = q.Parent {
		has := &q.Ledger[p]
		s.Calc.Increase(&has.Used, amount)
		has.Containers += count
	}
	s.Calc.Set(&s.amount, amount) // otherwise the amount would be put on the heap for the policy
	s.policy.Used(leaf, a, p, &s.amount, moved)
	s.Report(Change{What: Usage, Queue: leaf, App: a, Part: p})
}

// addPending changes what is outstanding in a leaf and in all queues above it.
func (s *Core) addPending(q *queue.Queue, d *demand.Delta) {
	for ; q != nil; q = q.Parent {
		has := &q.Ledger[d.Part]
		if len(s.watchers) == 0 { // nobody hears of it
			s.Calc.Increase(&has.Pending, &d.Size)
			has.Waiting += d.Count
			continue
		}
		before := s.Calc.Positive(&s.Books.Total, &has.Pending)
		s.Calc.Increase(&has.Pending, &d.Size)
		has.Waiting += d.Count
		if before != s.Calc.Positive(&s.Books.Total, &has.Pending) {
			s.Report(Change{What: Demand, Queue: q, Part: d.Part})
		}
	}
}

// lessPending counts one container less as outstanding.
func (s *Core) lessPending(q *queue.Queue, w *demand.Want) {
	s.addPending(q, &demand.Delta{Part: w.Part, Size: times(w.Any.Size, -1), Count: -1})
}

func (s *Core) addReserved(q *queue.Queue, p part, amount resource, count int32) {
	for ; q != nil; q = q.Parent {
		has := &q.Ledger[p]
		has.Reserved, has.Promised = has.Reserved.Add(amount), has.Promised.Add(amount)
		has.Held += count
	}
}

// rebookAll moves the usage of the application's containers and reservations from one leaf
// to another. Of more than manyRebooked it moves the sum of each partition, by which users'
// shares may differ in their last digits.
func (s *Core) rebookAll(a *App, from, to *queue.Queue) {
	list := append(s.Books.OfOwner(&a.Live, nil), a.reservations()...)
	if len(list) <= manyRebooked {
		for _, c := range list {
			s.rebook(a, c, from, to)
			container := s.Books.Container(c)
			p := s.Books.Node(container.Node).Part
			s.moveKillable(container, from, to, p, p)
		}
		return
	}
	sums, counts := make([]resource, s.Books.Partitions()), make([]int32, s.Books.Partitions())
	for _, c := range list {
		container := s.Books.Container(c)
		if container.Reserved {
			s.rebook(a, c, from, to)
			continue
		}
		if p := s.Books.Node(container.Node).Part; container.Execution == yarn.Guaranteed {
			sums[p] = sums[p].Add(container.Resource)
			counts[p]++
		}
	}
	for p, sum := range sums {
		if counts[p] > 0 {
			minus := resource{}.Sub(sum)
			s.use(from, a, part(p), &minus, -counts[p], true)
			s.use(to, a, part(p), &sum, counts[p], true)
		}
	}
	for _, c := range list {
		container := s.Books.Container(c)
		p := s.Books.Node(container.Node).Part
		s.moveKillable(container, from, to, p, p)
	}
}

// rebook moves one container's usage from one leaf to another.
func (s *Core) rebook(a *App, c ContainerRef, from, to *queue.Queue) {
	container := s.Books.Container(c)
	if container.Execution != yarn.Guaranteed {
		return
	}
	p := s.Books.Node(container.Node).Part
	minus := resource{}.Sub(container.Resource)
	s.use(from, a, p, &minus, -1, true)
	s.use(to, a, p, &container.Resource, 1, true)
	if container.Reserved {
		s.movePromise(from, p, minus, -1)
		s.movePromise(to, p, container.Resource, 1)
	}
}

// movePromise takes a reservation along with a move, but for what queue.Share calls
// ReservedUsage.
func (s *Core) movePromise(q *queue.Queue, p part, amount resource, count int32) {
	for ; q != nil; q = q.Parent {
		q.Ledger[p].Promised = q.Ledger[p].Promised.Add(amount)
		q.Ledger[p].Held += count
	}
}

func times(r resource, n int64) resource { return measure.Times(r, n) }

// none tells whether an amount is nothing.
func none(r resource) bool { return r.IsZero() }
