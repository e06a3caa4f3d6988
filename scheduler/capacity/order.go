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
	list  []ranked        // with room for all children
	mixed bool            // compareQueues may have to decide
	count uint32          // of those that moved; allMoved: everything has to be sorted
	moved [maxMoved]int32 // their places among the children
}

// ranked is a child with what nearly always decides about its place, so that the
// other children need not be looked at to find it. Both numbers are 1 or more; 0:
// compareQueues has to decide.
type ranked struct {
	child    int32  // its place among the children of its parent
	used     uint32 // grows with the part in use
	entitled uint32 // breaks ties: it falls with what the child is entitled to
}

const (
	maxMoved = 32 // bounds how many children are put right one by one
	allMoved = maxMoved + 1
	longList = 32 // bounds in how many steps a child finds its place
)

func (o *childOrder) note(child int32) {
	n := o.count
	if n == allMoved {
		return
	}
	for i := range n {
		if o.moved[i] == child {
			return
		}
	}
	if n < maxMoved {
		o.moved[n] = child
	}
	o.count++
}

// has tells whether the child is served; one that a refresh took out of the tree
// may still have applications.
func (q *Queue) has(child *Queue) bool {
	return int(child.listed) < len(q.children) && q.children[child.listed] == child
}

// resort notes that what a child uses in a partition changed.
func (q *Queue) resort(child *Queue, p part) {
	if int(p) < len(q.orders) && q.has(child) {
		o := &q.orders[p]
		o[respect].note(child.listed)
		o[ignore].note(child.listed)
	}
}

// enlist notes that what a child wants in a partition has come to be or ended.
func (q *Queue) enlist(child *Queue, p part) {
	if !q.has(child) {
		return
	}
	if int(p) < len(q.orders) {
		q.orders[p][respect].note(child.listed)
	}
	if p == 0 {
		for i := range q.orders {
			q.orders[i][ignore].note(child.listed)
		}
	}
}

// reorder forgets the order, after children came, went or changed their shares.
func (q *Queue) reorder() { q.orders = nil }

// inOrder is the children that want something, in the order of this walk. Those
// that moved are all taken out before any is put in: compareQueues goes by what
// they use now.
func (r *round) inOrder(q *Queue) []ranked {
	if int(r.part) >= len(q.orders) {
		r.newOrders(q)
	}
	o := &q.orders[r.part][r.mode]
	if o.count == allMoved {
		r.sort(q, o)
	}
	moved := o.moved[:o.count]
	if len(o.list) > longList && len(moved) == 1 && r.shift(q, o, moved[0]) {
		o.count = 0
		return o.list
	}
	for _, child := range moved {
		o.remove(child)
	}
	for _, child := range moved {
		r.enter(q, o, child)
	}
	o.count = 0
	return o.list
}

func (r *round) newOrders(q *Queue) {
	for len(q.orders) <= int(r.part) {
		q.orders = append(q.orders, [2]childOrder{{count: allMoved}, {count: allMoved}})
	}
}

// sort finds the place of every child anew.
func (r *round) sort(q *Queue, o *childOrder) {
	o.list, o.mixed, o.count = slices.Grow(o.list[:0], len(q.children)), false, 0
	for _, c := range q.children {
		if r.wants(c) {
			e := r.rank(q, c)
			o.list = append(o.list, e)
			o.mixed = o.mixed || e.entitled == 0
		}
	}
	slices.SortFunc(o.list, func(a, b ranked) int { return r.order(q, &a, &b) })
}

// shift brings one child of a long list to its new place, if it is listed and
// stays so. Most of the list stays where it is.
func (r *round) shift(q *Queue, o *childOrder, child int32) bool {
	list, c := o.list, q.children[child]
	i := find(list, child)
	if i < 0 || !r.wants(c) {
		return false
	}
	e := r.rank(q, c)
	o.mixed = o.mixed || e.entitled == 0
	if after := list[i+1:]; len(after) > 0 && r.order(q, &after[0], &e) < 0 {
		n := r.placeOf(q, after, e)
		copy(list[i:], after[:n])
		list[i+n] = e
		return true
	}
	n := r.placeOf(q, list[:i], e)
	copy(list[n+1:], list[n:i])
	list[n] = e
	return true
}

func (o *childOrder) remove(child int32) {
	if i := find(o.list, child); i >= 0 {
		copy(o.list[i:], o.list[i+1:])
		o.list = o.list[:len(o.list)-1]
	}
}

// find is the child's place in a list, or -1.
func find(list []ranked, child int32) int {
	for i := range list {
		if list[i].child == child {
			return i
		}
	}
	return -1
}

// enter puts a child in its place if it wants something. It is looked for from the
// end: who was just served often comes last.
func (r *round) enter(q *Queue, o *childOrder, child int32) {
	c := q.children[child]
	if !r.s.calc.Positive(&r.s.books.Total, &c.shares[r.asks].pending) {
		return
	}
	e := r.rank(q, c)
	if e.entitled == 0 {
		o.mixed = true
	}
	i := len(o.list)
	list := o.list[:i+1]
	if o.mixed || i > longList {
		i = r.makeRoom(q, list, e)
	} else {
		for ; i > 0; i-- {
			b := &list[i-1]
			if b.used < e.used || b.used == e.used && (b.entitled < e.entitled || b.entitled == e.entitled && b.child < e.child) {
				break
			}
			list[i] = *b
		}
	}
	list[i] = e
	o.list = o.list[:len(list)]
}

// makeRoom moves the gap at the end of a list to the place of the child.
func (r *round) makeRoom(q *Queue, list []ranked, e ranked) int {
	n := len(list) - 1
	i := r.placeOf(q, list[:n], e)
	copy(list[i+1:], list[i:n])
	return i
}

// placeOf is where the child belongs in a sorted list.
func (r *round) placeOf(q *Queue, list []ranked, e ranked) int {
	lo, hi := 0, len(list)
	for lo < hi {
		if mid := (lo + hi) / 2; r.order(q, &list[mid], &e) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// rank is the entry of a child in a list.
func (r *round) rank(q, c *Queue) ranked {
	sh := &c.shares[r.part]
	e := ranked{child: c.listed}
	used := math.Float32bits(sh.usedCapacity)
	if r.label != "" || q.conf.ByPriority || !(sh.absolute > 0) || used > infinite {
		return e
	}
	e.used = used + 1
	if !sh.hasMin {
		e.entitled = ^math.Float32bits(sh.absolute)
	}
	return e
}

// infinite are the bits of the largest number. Those of all others from 0 on are
// in their order below, those of negative ones and of NaN above.
const infinite = 0x7f800000

// order is that of children with the place in the parent's list as the last word.
// Where ranks decide, compareQueues would say the same.
func (r *round) order(q *Queue, a, b *ranked) int {
	n := cmp.Compare(a.used, b.used)
	switch {
	case a.used == 0 || b.used == 0 || n == 0 && (a.entitled == 0 || b.entitled == 0):
		n = compareQueues(q, q.children[a.child], q.children[b.child], r.part, r.label)
	case n == 0:
		n = cmp.Compare(a.entitled, b.entitled)
	}
	return cmp.Or(n, int(a.child)-int(b.child))
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
