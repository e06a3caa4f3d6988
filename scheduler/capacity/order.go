package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// childOrder is the order in which a parent's children are served by one kind of
// walk. Only those that want something are listed. The list is kept sorted:
// children whose place may have changed are noted and put right before the next
// walk.
type childOrder struct {
	list  []ranked
	moved []*Queue
	stale bool // everything has to be sorted
}

// ranked is a child with what nearly always decides about its place, so that the
// other children need not be looked at to find it.
type ranked struct {
	child    int32   // its place among the children of its parent
	used     float32 // the part in use; NaN: compareQueues has to decide
	absolute float32 // breaks ties; NaN: compareQueues has to
}

// maxMoved bounds how many children are put right one by one.
const maxMoved = 32

func (o *childOrder) note(child *Queue) {
	switch {
	case o.stale:
	case len(o.moved) >= maxMoved:
		o.stale = true
	case !slices.Contains(o.moved, child):
		o.moved = append(o.moved, child)
	}
}

// has tells whether the child is served; one that a refresh took out of the tree
// may still have applications.
func (q *Queue) has(child *Queue) bool {
	return int(child.listed) < len(q.children) && q.children[child.listed] == child
}

// resort notes that what a child uses in a partition changed.
func (q *Queue) resort(child *Queue, p part) {
	if int(p) < len(q.orders) && q.has(child) {
		q.orders[p][respect].note(child)
		q.orders[p][ignore].note(child)
	}
}

// enlist notes that what a child wants in a partition has come to be or ended.
func (q *Queue) enlist(child *Queue, p part) {
	if !q.has(child) {
		return
	}
	if int(p) < len(q.orders) {
		q.orders[p][respect].note(child)
	}
	if p == 0 {
		for i := range q.orders {
			q.orders[i][ignore].note(child)
		}
	}
}

// reorder forgets the order, after children came, went or changed their shares.
func (q *Queue) reorder() { q.orders = nil }

// inOrder is the children that want something, in the order of this walk.
func (r *round) inOrder(q *Queue) []ranked {
	for len(q.orders) <= int(r.part) {
		q.orders = append(q.orders, [2]childOrder{{stale: true}, {stale: true}})
	}
	o := &q.orders[r.part][r.mode]
	if !o.stale && len(o.moved) == 0 {
		return o.list
	}
	if !o.stale && len(o.moved) == 1 && r.shift(q, o.list, o.moved[0]) {
		o.moved = o.moved[:0]
		return o.list
	}
	if o.stale {
		o.list = o.list[:0]
		for _, c := range q.children {
			if r.wants(c) {
				o.list = append(o.list, r.rank(q, c))
			}
		}
		slices.SortFunc(o.list, func(a, b ranked) int { return r.order(q, &a, &b) })
	} else {
		for _, c := range o.moved {
			if i := find(o.list, c); i >= 0 {
				o.list = slices.Delete(o.list, i, i+1)
			}
		}
		for _, c := range o.moved {
			if r.wants(c) {
				e := r.rank(q, c)
				o.list = slices.Insert(o.list, r.placeOf(q, o.list, &e), e)
			}
		}
	}
	o.stale, o.moved = false, o.moved[:0]
	return o.list
}

// shift brings one child of a sorted list to its new place, if it is listed and
// stays so: this is what every container does to the queues above it.
func (r *round) shift(q *Queue, list []ranked, c *Queue) bool {
	i := find(list, c)
	if i < 0 || !r.wants(c) {
		return false
	}
	e := r.rank(q, c)
	list[i] = e
	if after := list[i+1:]; len(after) > 0 && r.precedes(q, &after[0], &e) {
		n := r.placeOf(q, after, &e)
		copy(list[i:], after[:n])
		list[i+n] = e
		return true
	}
	if before := list[:i]; i > 0 && r.order(q, &before[i-1], &e) > 0 {
		n := r.placeOf(q, before, &e)
		copy(list[n+1:], before[n:])
		list[n] = e
	}
	return true
}

// find is the child's place in a list, or -1.
func find(list []ranked, c *Queue) int {
	for i := range list {
		if list[i].child == c.listed {
			return i
		}
	}
	return -1
}

// rank is the entry of a child in a list.
func (r *round) rank(q, c *Queue) ranked {
	sh := &c.shares[r.part]
	e := ranked{c.listed, sh.usedCapacity, sh.absolute}
	if r.label != "" || q.conf.ByPriority || !(sh.absolute > 0) {
		e.used = float32(math.NaN())
	}
	if sh.hasMin {
		e.absolute = float32(math.NaN())
	}
	return e
}

// order is that of children with the place in the parent's list as the last word.
// Nearly always the use alone decides, or everything is equal; compareQueues
// would say the same.
func (r *round) order(q *Queue, a, b *ranked) int {
	switch {
	case a.used < b.used:
		return -1
	case a.used > b.used:
		return 1
	case a.used == b.used && a.absolute == b.absolute && math.Float32bits(a.used) == math.Float32bits(b.used):
		return int(a.child) - int(b.child)
	}
	if n := compareQueues(q, q.children[a.child], q.children[b.child], r.part, r.label); n != 0 {
		return n
	}
	return int(a.child) - int(b.child)
}

// precedes tells whether order puts a before b.
func (r *round) precedes(q *Queue, a, b *ranked) bool {
	return a.used < b.used || !(a.used > b.used) && r.order(q, a, b) < 0
}

// placeOf is where the child belongs in a sorted list.
func (r *round) placeOf(q *Queue, list []ranked, c *ranked) int {
	lo, hi := 0, len(list)
	for lo < hi {
		if mid := (lo + hi) / 2; r.precedes(q, &list[mid], c) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
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
	if x.hasMin || y.hasMin {
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
		l.active.exit(a, compare)
		a.orderUsed, a.orderPending = a.memory()
		l.active.enter(a, compare)
	}
	l.stale = l.stale[:0]
}
