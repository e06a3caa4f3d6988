package preempt

import (
	"cmp"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/measure"
)

// helps tells whether there is less left to take once a container of that size is taken or, with conservative, whether something of every type is
// left.
func (r *Round) helps(left, size *resource, conservative bool) bool {
	if conservative {
		return r.allPositive(left)
	}
	after := measure.Most(left.Sub(*size), resource{})
	before := measure.Most(*left, resource{})
	return r.calc.Less(&r.total, &after, &before)
}

// young tells whether a container has not run for as long as its leaf grants it, which Apache does not have.
func (r *Round) young(c *cluster.Container) bool {
	l := r.byPath[r.core.App(c.App).Leaf.Path]
	return l != nil && r.core.Now.Wall-c.CreatedWall < l.MinimumRuntime()
}

// allPositive tells whether everything that counts is above zero.
func (r *Round) allPositive(a *resource) bool {
	if !r.calc.Dominant {
		return a[0] > 0
	}
	for t := range r.calc.Types {
		if a[t] <= 0 {
			return false
		}
	}
	return true
}

// takenFirst orders containers so that the least important requests and among them the youngest containers come first.
func takenFirst(a, b *cluster.Container) int {
	if x, y := a.Update.IsZero(), b.Update.IsZero(); x != y { // increases come first
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.AllocationRequestID, a.AllocationRequestID), b.ID.Compare(a.ID))
}
