package measure

import (
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// SetMemory makes r an amount given by its memory alone.
func SetMemory(r *Resource, mb int64) {
	cores := int64(0)
	if mb > 0 {
		cores = 1
	}
	r[yarn.Memory], r[yarn.VCores] = mb, cores
}

// SumDown makes r a and b together, rounded down to multiples of step as RoundDown
// does it.
func (c Calculator) SumDown(r, a, b, step *Resource) {
	if !c.Dominant {
		c.setMemory(r, javanum.RoundDown(a[yarn.Memory]+b[yarn.Memory], step[yarn.Memory]))
		return
	}
	for i := 0; i < c.Types; i++ {
		r[i] = a[i] + b[i]
		if step[i] != 0 {
			r[i] = javanum.RoundDown(r[i], step[i])
		}
	}
}
