package capacity

import (
	"math"
	"slices"
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
	"pgregory.net/rapid"
)

// TestChildrenMoveToTheirPlaces sees that the short ways of comparing and moving
// children come to what comparing everything and sorting anew come to.
func TestChildrenMoveToTheirPlaces(t *testing.T) {
	negativeZero := float32(math.Copysign(0, -1))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rapid.Check(t, func(t *rapid.T) {
		s := &Scheduler{calc: measure.Calculator{Types: 2}, books: cluster.NewBooks(false)}
		r := &round{s: s}
		parent := &Queue{conf: &config.Queue{ByPriority: rapid.Bool().Draw(t, "by priority")}}
		used := rapid.SampledFrom([]float32{0, negativeZero, 0.25, 0.5, 1, 2, inf})
		absolute := rapid.SampledFrom([]float32{0.1, 0.1, 0.2, 0, negativeZero, nan})
		if rapid.Bool().Draw(t, "all entitled") {
			absolute = rapid.SampledFrom([]float32{0.1, 0.2})
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "children") {
			c := &Queue{conf: &config.Queue{Priority: rapid.Int32Range(0, 2).Draw(t, "priority")}, listed: int32(i), shares: make([]share, 1)}
			sh := &c.shares[0]
			sh.usedCapacity, sh.absUsed, sh.absolute = used.Draw(t, "used"), used.Draw(t, "of all"), absolute.Draw(t, "absolute")
			sh.confMin = yarn.NewResource(rapid.Int64Range(0, 1).Draw(t, "minimum"), 0)
			sh.hasMin = !none(sh.confMin)
			sh.pending = yarn.NewResource(1024, 1)
			parent.children = append(parent.children, c)
		}
		whole := func(a, b *Queue) int {
			if n := compareQueues(parent, a, b, 0, ""); n != 0 {
				return n
			}
			return int(a.listed) - int(b.listed)
		}
		sign := func(n int) int { return min(max(n, -1), 1) }
		for _, a := range parent.children {
			for _, b := range parent.children {
				x, y := r.rank(parent, a), r.rank(parent, b)
				if got, want := sign(r.order(parent, &x, &y)), sign(whole(a, b)); a != b && got != want {
					t.Fatalf("%+v and %+v compare as %d, not %d", a.shares[0], b.shares[0], got, want)
				}
			}
		}

		sane := consistent(parent.children, whole)
		r.inOrder(parent)
		for range rapid.IntRange(1, maxMoved+1).Draw(t, "moves") {
			moved := rapid.SampledFrom(parent.children).Draw(t, "moved")
			moved.shares[0].usedCapacity = used.Draw(t, "used now")
			parent.resort(moved, 0)
			if rapid.Bool().Draw(t, "wants or not") {
				moved.shares[0].pending = yarn.NewResource(1024, 1).Sub(moved.shares[0].pending)
				parent.enlist(moved, 0)
			}
		}
		var list []*Queue
		for _, e := range r.inOrder(parent) {
			c := parent.children[e.child]
			list = append(list, c)
			if now := r.rank(parent, c); e != now {
				t.Fatalf("%+v stands in the list as %+v, not %+v", c.shares[0], e, now)
			}
		}
		for _, c := range parent.children {
			if r.wants(c) != slices.Contains(list, c) {
				t.Fatalf("child %d of %d, which wants something: %v", c.listed, len(parent.children), r.wants(c))
			}
		}
		if !sane || !consistent(parent.children, whole) {
			return // queues with and without an entitlement may go round in circles, as Apache's do
		}
		if !slices.IsSortedFunc(list, whole) {
			t.Fatal("the list is not in order after children have moved")
		}
	})
}

// consistent tells whether no three queues contradict each other.
func consistent(list []*Queue, compare func(a, b *Queue) int) bool {
	for _, a := range list {
		for _, b := range list {
			for _, c := range list {
				if compare(a, b) < 0 && compare(b, c) < 0 && compare(a, c) >= 0 {
					return false
				}
			}
		}
	}
	return true
}
