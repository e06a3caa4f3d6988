// Package order has the orders in which a parent's children and a leaf's applications
// are served.
package order

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/shortcut"
)

// Children is the order in which a parent's children are served in one partition
// by one kind of walk. Each child that wants something stands in a tournament with a
// key: the least one is served first. Whoever keeps the order calls Place for a child when
// what it uses or wants has changed, and Make when anything else has.
type Children struct {
	keys    shortcut.Tournament // nil until a walk asks for it
	fixed   []uint64            // by child: what its use does not change in its key
	byTie   []*tree.Queue       // the children, by the lowest bits of their keys
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

// First is the child with the least key, or nil when none is left.
func (o *Children) First() *tree.Queue {
	if o.keys.Least() == shortcut.NoKey {
		return nil
	}
	return o.byTie[o.keys.Least()&(1<<o.tieBits-1)]
}

// Place gives a child its place in a partition, by what it wants in the one that asks are for.
func (o *Children) Place(s *core.Core, c *tree.Queue, p, asks cluster.Part) {
	k := uint64(shortcut.NoKey)
	if s.Calc.Positive(&s.Books.Total, &c.Ledger[asks].Pending) {
		k = o.key(c.Place, &c.Shares[p])
	}
	o.keys.Set(c.Place, k)
}

// key is that of a child with so much in use.
//
// compat: those that are entitled to nothing go by their part of the cluster.
func (o *Children) key(child int32, sh *tree.Share) uint64 {
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

// Make gives all children their keys.
func (o *Children) Make(s *core.Core, q *tree.Queue, p, asks cluster.Part) {
	o.fix(s, q, p)
	o.keys = shortcut.NewTournament(len(q.Children))
	for _, c := range q.Children {
		o.Place(s, c, p, asks)
	}
}

// fix finds what use does not change in the keys of a parent's children.
func (o *Children) fix(s *core.Core, q *tree.Queue, p cluster.Part) {
	n := len(q.Children)
	o.tieBits = uint8(bits.Len(uint(n)))
	o.fixed, o.byTie = make([]uint64, n), make([]*tree.Queue, n)
	children := slices.Clone(q.Children)
	slices.SortStableFunc(children, func(a, b *tree.Queue) int { return compareEntitled(&a.Shares[p], &b.Shares[p]) })
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
func rankPriorities(q *tree.Queue) []int64 {
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

// Made tells whether the children have their keys.
func (o *Children) Made() bool { return o.keys != nil }

// LeaveOut leaves the first child out, so that the next one comes first, and returns its key.
func (o *Children) LeaveOut(c *tree.Queue) uint64 {
	key := o.keys.Least()
	o.keys.Set(c.Place, shortcut.NoKey)
	return key
}

// TakeBack gives a child back the key that it had when it was left out.
func (o *Children) TakeBack(place int32, key uint64) { o.keys.Set(place, key) }

// Differs describes how the order differs from another; "" is not at all.
func (o *Children) Differs(from *Children) string {
	if slices.Equal(o.fixed, from.fixed) && slices.Equal(o.keys, from.keys) {
		return ""
	}
	return fmt.Sprintf("the keys of its children are kept as %x of %x, should be %x of %x", o.keys, o.fixed, from.keys, from.fixed)
}
