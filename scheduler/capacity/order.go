package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/order"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
)

// children goes through those children of a queue that want something, in their order.
type children struct {
	s    *Scheduler
	o    *order.Children
	from int    // what is left out from there on is to be taken back
	last *Queue // whom next has returned
	only *Queue // or nil
}

// children begins with the first child, or with the only one that leads to the
// application which somebody asks about.
func (r *round) children(q *Queue) children {
	if r.why != nil && r.why.alone {
		return children{only: r.why.childOf(q)}
	}
	o := r.s.orderOf(q, r.part, r.mode)
	if !o.Made() {
		core.Keep(r.s.Journal, o)
		o.Make(&r.s.Core, q, r.part, r.asks)
	}
	return children{s: r.s, o: o, from: len(r.s.leftOut)}
}

// next is the child after the last one, or nil.
func (c *children) next() *Queue {
	if c.o == nil {
		c.last, c.only = c.only, nil
		return c.last
	}
	if c.last != nil {
		c.s.leftOut = append(c.s.leftOut, leftOut{c.last.Place, c.o.LeaveOut(c.last)})
	}
	c.last = c.o.First()
	return c.last
}

// done puts everybody back into the order.
func (c *children) done() {
	if c.o == nil {
		return
	}
	for _, l := range c.s.leftOut[c.from:] {
		c.o.TakeBack(l.child, l.key)
	}
	c.s.leftOut = c.s.leftOut[:c.from]
}

// leftOut is a child that a walk is done with, and its key.
type leftOut struct {
	child int32
	key   uint64
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
		if n := cmp.Compare(a.StartWall, b.StartWall); n != 0 {
			return n
		}
		x, y := a.orderUsed+a.orderPending, b.orderUsed+b.orderPending
		switch {
		case x == 0 && y > 0:
			return 1
		case y == 0 && x > 0:
			return -1
		}
		return order.Age(&a.App, &b.App)
	}
}

func compareFifo(a, b *app) int    { return order.Fifo(&a.App, &b.App) }
func comparePending(a, b *app) int { return order.Pending(&a.App, &b.App) }

// policy is how the leaf orders its active applications.
func policyOf(q *Queue) func(a, b *app) int {
	switch q.Conf.Ordering {
	case config.FairOrder:
		return compareFair(q.Conf.SizeWeight)
	case config.FifoForPending:
		return comparePending
	}
	return compareFifo
}

// markStale notes that the application's place in a fair order is out of date.
func (s *Scheduler) markStale(a *app) {
	q := a.queue
	if q.Rules.Ordering == config.FairOrder && !a.stale && (a.active || s.ordersInactive(a)) {
		a.stale = true
		leafOf(q).stale = append(leafOf(q).stale, a)
	}
}

// unmarkStale lets the application keep the place it has, or none if it leaves the list.
//
// compat: also when only its priority changes.
func unmarkStale(q *Queue, a *app) {
	if a.stale {
		a.stale = false
		leafOf(q).stale = slices.DeleteFunc(leafOf(q).stale, func(o *app) bool { return o == a })
	}
}

// reorderStale puts applications whose places are out of date into their places, before a
// walk.
func (s *Scheduler) reorderStale(q *Queue) {
	l, j := leafOf(q), s.Journal
	if len(l.stale) == 0 {
		return
	}
	core.KeepList(j, &l.stale)
	core.KeepList(j, &l.active.apps)
	if j != nil {
		core.Keep(j, &l.active.busy)
		l.active.busy = l.active.busy.Clone()
	}
	compare := policyOf(q)
	for _, a := range l.stale {
		core.Keep(j, &a.stale)
		core.Keep(j, &a.active)
		core.Keep(j, &a.idle)
		core.Keep(j, &a.orderUsed)
		core.Keep(j, &a.orderPending)
		a.stale = false
		if a.queue != q {
			continue
		}
		if a.active {
			l.active.exit(a, compare)
		}
		a.active = true
		a.orderUsed, a.orderPending = a.Memory()
		l.active.enter(a, compare)
	}
	l.stale = l.stale[:0]
}
