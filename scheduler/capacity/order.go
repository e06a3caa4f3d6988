package capacity

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/shortcut"
)

// childOrder is the order in which a parent's children are served in one partition
// by one kind of walk. Each child that wants something stands in a tournament with a
// key: the least one is served first. See shortcuts for how it is kept up to date.
type childOrder struct {
	keys    shortcut.Tournament // nil until a walk asks for it
	fixed   []uint64            // by child: what its use does not change in its key
	byTie   []*Queue            // the children, by the lowest bits of their keys
	tieBits uint8               // how many bits those are; never all are set, so that no key is shortcut.NoKey
}

// A key is, from the highest bit down: whether the child must not use the partition,
// whether it is entitled to nothing there, whether it uses all that it is entitled to
// (of equals, the priority is looked at before the exact use), its place by priority
// among its siblings, the part of its capacity in use, and its place among siblings
// where all of this is the same. No two children have the same key.
const (
	keyDenied  = 1 << 63
	keyNothing = 1 << 62
	keyFull    = 1 << 61
	useBits    = 32
	orderBits  = 61 - useBits // for priority and ties
)

// first is the child with the least key, or nil when none is left.
func (o *childOrder) first() *Queue {
	if o.keys.Least() == shortcut.NoKey {
		return nil
	}
	return o.byTie[o.keys.Least()&(1<<o.tieBits-1)]
}

// place gives a child its place in a partition, by what it wants in the one that asks are for.
func (o *childOrder) place(s *Scheduler, c *Queue, p, asks part) {
	k := uint64(shortcut.NoKey)
	if s.Calc.Positive(&s.Books.Total, &c.Ledger[asks].Pending) {
		k = o.key(c.Place, &c.Shares[p])
	}
	o.keys.Set(c.Place, k)
}

// key is that of a child with so much in use.
//
// compat: those that are entitled to nothing go by their part of the cluster.
func (o *childOrder) key(child int32, sh *tree.Share) uint64 {
	k := o.fixed[child]
	used := sh.UsedCapacity
	if k&keyNothing != 0 {
		used = sh.AbsoluteUsed
	}
	if used != used { // greater than all numbers, and priorities do not count
		return k | keyFull | (1<<61-1)>>o.tieBits<<o.tieBits
	}
	if used >= 1 {
		k |= keyFull
	}
	// As integers, numbers are in their order if the signs are.
	n := math.Float32bits(used)
	n ^= uint32(int32(n)>>31) | 1<<31
	return k | uint64(n)<<o.tieBits
}

// children goes through those children of a queue that want something, in their order.
type children struct {
	s    *Scheduler
	o    *childOrder
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
	if o.keys == nil {
		core.Keep(r.s.Journal, o)
		o.make(r.s, q, r.part, r.asks)
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
		c.s.leaveOut(c.o, c.last)
	}
	c.last = c.o.first()
	return c.last
}

// done puts everybody back into the order.
func (c *children) done() {
	if c.o != nil {
		c.s.takeBack(c.o, c.from)
	}
}

// make gives all children their keys.
func (o *childOrder) make(s *Scheduler, q *Queue, p, asks part) {
	o.fix(s, q, p)
	o.keys = shortcut.NewTournament(len(q.Children))
	for _, c := range q.Children {
		o.place(s, c, p, asks)
	}
}

// fix finds what use does not change in the keys of a parent's children.
func (o *childOrder) fix(s *Scheduler, q *Queue, p part) {
	n := len(q.Children)
	o.tieBits = uint8(bits.Len(uint(n)))
	o.fixed, o.byTie = make([]uint64, n), make([]*Queue, n)
	children := slices.Clone(q.Children)
	slices.SortStableFunc(children, func(a, b *Queue) int { return compareEntitled(&a.Shares[p], &b.Shares[p]) })
	label := s.Books.Partition(p).Name
	ranks := rankPriorities(q)
	for tie, c := range children {
		o.byTie[tie] = c
		k := uint64(tie)
		if !c.MayUse(label) {
			k |= keyDenied
		}
		if f := c.Shares[p].Absolute; !(f > 0 || f != f) {
			k |= keyNothing
		}
		if q.Conf.ByPriority {
			rank, _ := slices.BinarySearch(ranks, -int64(c.Conf.Priority))
			k |= uint64(min(rank, 1<<(orderBits-o.tieBits)-1)) << (useBits + o.tieBits)
		}
		o.fixed[c.Place] = k
	}
}

// rankPriorities lists the priorities of the children, negated, the highest first.
func rankPriorities(q *Queue) []int64 {
	out := make([]int64, len(q.Children))
	for i, c := range q.Children {
		out[i] = -int64(c.Conf.Priority)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compareEntitled orders siblings that use the same part of their capacities: the
// one that is entitled to more comes first.
func compareEntitled(x, y *tree.Share) int {
	if x.HasMin || y.HasMin {
		return slices.Compare(y.ConfMin[:], x.ConfMin[:])
	}
	return javanum.Compare(float64(y.Absolute), float64(x.Absolute))
}

// leftOut is a child that a walk is done with, and its key.
type leftOut struct {
	child int32
	key   uint64
}

// leaveOut leaves a child out for the rest of the walk, so that the next one comes first.
func (s *Scheduler) leaveOut(o *childOrder, c *Queue) {
	s.leftOut = append(s.leftOut, leftOut{c.Place, o.keys.Least()})
	o.keys.Set(c.Place, shortcut.NoKey)
}

// takeBack ends the walk over the children of a parent: those that were left out since
// then, when s.leftOut was so long, are back in their places.
func (s *Scheduler) takeBack(o *childOrder, from int) {
	for _, l := range s.leftOut[from:] {
		o.keys.Set(l.child, l.key)
	}
	s.leftOut = s.leftOut[:from]
}

// compareFifo orders by priority, then by age.
func compareFifo(a, b *app) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), compareAge(a, b))
}

func compareAge(a, b *app) int {
	return cmp.Or(a.ID.Compare(b.ID), cmp.Compare(a.Attempt.StartWall, b.Attempt.StartWall))
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
		if n := cmp.Compare(a.Attempt.StartWall, b.Attempt.StartWall); n != 0 {
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
func policyOf(q *Queue) func(a, b *app) int {
	switch q.Conf.Ordering {
	case config.FairOrder:
		return compareFair(q.Conf.SizeWeight)
	case config.FifoForPending:
		return comparePending
	}
	return compareFifo
}

// unsettle notes that a fair order has to look at the application again.
//
// compat: in Apache also at one that waits, as after a move of what runs; that
// puts it into the order, past the limits on masters.
func (s *Scheduler) unsettle(a *app) {
	q := a.queue
	if q.Rules.Ordering == config.FairOrder && !a.unsettled && (a.active || a.Running && s.AsApache) {
		a.unsettled = true
		leafOf(q).stale = append(leafOf(q).stale, a)
	}
}

// calm forgets that the application was unsettled, as when it leaves the list.
//
// compat: also when it only changes its priority, so that it keeps its place.
func calm(q *Queue, a *app) {
	if a.unsettled {
		a.unsettled = false
		leafOf(q).stale = slices.DeleteFunc(leafOf(q).stale, func(o *app) bool { return o == a })
	}
}

// settle puts unsettled applications in their places, before a walk.
func (s *Scheduler) settle(q *Queue) {
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
		core.Keep(j, &a.unsettled)
		core.Keep(j, &a.active)
		core.Keep(j, &a.idle)
		core.Keep(j, &a.orderUsed)
		core.Keep(j, &a.orderPending)
		a.unsettled = false
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
