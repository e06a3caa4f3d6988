package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// childOrder is the order in which a parent's children are served in a
// partition. It is kept sorted; children whose place may have changed are
// listed in moved and put right before the next walk.
type childOrder struct {
	list  []*Queue
	moved []*Queue
	stale bool // everything has to be sorted
}

// resort notes that the key of a child changed.
func (q *Queue) resort(child *Queue, p part) {
	if int(p) >= len(q.orders) {
		return
	}
	o := &q.orders[p]
	if o.stale {
		return
	}
	if len(o.moved) > 8 {
		o.stale = true
		return
	}
	if !slices.Contains(o.moved, child) {
		o.moved = append(o.moved, child)
	}
}

// reorder forgets the order, after children came, went or changed their shares.
func (q *Queue) reorder() { q.orders = nil }

// inOrder is the children in the order of this walk.
func (s *Scheduler) inOrder(q *Queue, p part) []*Queue {
	for len(q.orders) <= int(p) {
		q.orders = append(q.orders, childOrder{stale: true})
	}
	o := &q.orders[p]
	label := s.books.Partition(p).Name
	if o.stale || len(o.list) != len(q.children) {
		o.list = append(o.list[:0], q.children...)
		slices.SortStableFunc(o.list, func(a, b *Queue) int { return compareQueues(q, a, b, p, label) })
		o.stale, o.moved = false, o.moved[:0]
		return o.list
	}
	o.settle(func(a, b *Queue) int {
		return cmp.Or(compareQueues(q, a, b, p, label), cmp.Compare(a.listed, b.listed))
	})
	return o.list
}

// settle moves the children whose keys changed to where they belong now.
func (o *childOrder) settle(compare func(a, b *Queue) int) {
	switch len(o.moved) {
	case 0:
		return
	case 1:
		o.shift(o.moved[0], compare)
	default:
		o.list = slices.DeleteFunc(o.list, func(c *Queue) bool { return slices.Contains(o.moved, c) })
		for _, c := range o.moved {
			i, _ := slices.BinarySearchFunc(o.list, c, compare)
			o.list = slices.Insert(o.list, i, c)
		}
	}
	o.moved = o.moved[:0]
}

// shift moves the only child that may be out of place.
func (o *childOrder) shift(c *Queue, compare func(a, b *Queue) int) {
	i := slices.Index(o.list, c)
	for i > 0 && compare(c, o.list[i-1]) < 0 {
		o.list[i] = o.list[i-1]
		i--
	}
	for i+1 < len(o.list) && compare(o.list[i+1], c) < 0 {
		o.list[i] = o.list[i+1]
		i++
	}
	o.list[i] = c
}

// compareQueues orders two children of a parent for a partition.
func compareQueues(parent, a, b *Queue, p part, label string) int {
	if label != "" {
		x, y := a.mayUse(label), b.mayUse(label)
		if x != y {
			if x {
				return -1
			}
			return 1
		}
	}
	x, y := &a.shares[p], &b.shares[p]
	xz, yz := isZero(x.absolute), isZero(y.absolute)
	switch {
	case above(x.absolute) && yz:
		return -1
	case above(y.absolute) && xz:
		return 1
	case xz && yz:
		return compareUse(parent, a, b, x, y, x.absUsed, y.absUsed)
	}
	return compareUse(parent, a, b, x, y, x.usedCapacity, y.usedCapacity)
}

// isZero and above are Float.compare with 0.
func isZero(f float32) bool { return f == 0 && !math.Signbit(float64(f)) }
func above(f float32) bool  { return f > 0 || f != f }

func compareUse(parent, a, b *Queue, x, y *share, usedA, usedB float32) int {
	n := 0
	if pa, pb := a.conf.Priority, b.conf.Priority; parent.conf.ByPriority && pa != pb &&
		(usedA < 1 && usedB < 1 || usedA >= 1 && usedB >= 1) {
		n = cmp.Compare(pb, pa)
	} else {
		n = javanum.Compare(float64(usedA), float64(usedB))
	}
	if n != 0 {
		return n
	}
	if !none(x.confMin) || !none(y.confMin) {
		return slices.Compare(y.confMin[:], x.confMin[:])
	}
	return javanum.Compare(float64(y.absolute), float64(x.absolute))
}

// compareFifo orders by priority, then by age.
func compareFifo(a, b *app) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), compareAge(a, b))
}

func compareAge(a, b *app) int {
	return cmp.Or(a.ID.Compare(b.ID), cmp.Compare(a.attempt.StartWall, b.attempt.StartWall))
}

// comparePending orders applications that wait for admission.
func comparePending(a, b *app) int {
	if a.Recovering != b.Recovering {
		if a.Recovering {
			return -1
		}
		return 1
	}
	return compareFifo(a, b)
}

// magnitude is the memory that the fair order goes by.
func (a *app) magnitude(weighted bool) float64 {
	m := float64(a.orderUsed)
	if weighted && m != 0 {
		if w := math.Log1p(float64(a.orderUsed+a.orderPending)) / math.Log(2); w != 0 {
			m /= w
		}
	}
	return m
}

func compareFair(weighted bool) func(a, b *app) int {
	return func(a, b *app) int {
		if x, y := a.magnitude(weighted), b.magnitude(weighted); x != y {
			return cmp.Compare(x, y)
		}
		if n := cmp.Compare(a.attempt.StartWall, b.attempt.StartWall); n != 0 {
			return n
		}
		x, y := a.orderUsed+a.orderPending, b.orderUsed+b.orderPending
		switch {
		case x == 0 && y > 0:
			return 1
		case y == 0 && x > 0:
			return -1
		}
		return compareAge(a, b)
	}
}

// policy is how the leaf orders its active applications.
func (q *Queue) policy() func(a, b *app) int {
	switch q.conf.Ordering {
	case config.Fair:
		return compareFair(q.conf.SizeWeight)
	case config.FifoForPending:
		return comparePending
	}
	return compareFifo
}

// enter puts an application into an ordered list.
func enter(list []*app, a *app, compare func(a, b *app) int) []*app {
	i, _ := slices.BinarySearchFunc(list, a, compare)
	return slices.Insert(list, i, a)
}

// exit takes an application out of a list.
func exit(list []*app, a *app, compare func(a, b *app) int) []*app {
	if i, ok := slices.BinarySearchFunc(list, a, compare); ok && list[i] == a {
		return slices.Delete(list, i, i+1)
	}
	if i := slices.Index(list, a); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// unsettle notes that a fair order has to look at the application again.
func (q *Queue) unsettle(a *app) {
	if q.conf.Ordering == config.Fair && a.active && !a.unsettled {
		a.unsettled = true
		q.leaf.stale = append(q.leaf.stale, a)
	}
}

// calm forgets that the application was unsettled, as when it leaves the list.
//
// compat: also when it only changes its priority, so that it keeps its place.
func (q *Queue) calm(a *app) {
	if a.unsettled {
		a.unsettled = false
		q.leaf.stale = slices.DeleteFunc(q.leaf.stale, func(o *app) bool { return o == a })
	}
}

// settle puts unsettled applications in their places, before a walk.
func (q *Queue) settle() {
	l := q.leaf
	if len(l.stale) == 0 {
		return
	}
	compare := q.policy()
	for _, a := range l.stale {
		a.unsettled = false
		if !a.active || a.queue != q {
			continue
		}
		l.active = exit(l.active, a, compare)
		a.orderUsed, a.orderPending = a.memory()
		l.active = enter(l.active, a, compare)
	}
	l.stale = l.stale[:0]
}
