package twin

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// The two calculators: by memory alone, or by the dominant share of all types.

func (w *World) types() int { return len(w.Config.Cluster.Types) }

// compare orders two amounts, seen from a cluster of that size.
func (w *World) compare(cluster, a, b resource) int {
	if !w.Config.Dominant {
		return cmp.Compare(a[yarn.Memory], b[yarn.Memory])
	}
	if a == b {
		return 0
	}
	if none(cluster) {
		return w.compareInNothing(a, b)
	}
	x, y := w.shares(cluster, a), w.shares(cluster, b)
	for i := range x {
		if w.types() > 2 && (math.IsInf(x[i], 1) || math.IsInf(y[i], 1)) {
			continue
		}
		if x[i] != y[i] {
			return cmp.Compare(x[i], y[i])
		}
	}
	return 0
}

// shares are the shares of the cluster, the largest first.
func (w *World) shares(cluster, r resource) []float64 {
	var out []float64
	for i := range w.types() {
		if cluster[i] == 0 {
			out = append(out, math.Inf(1))
		} else {
			out = append(out, float64(r[i])/float64(cluster[i]))
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// compareInNothing is how amounts compare while the cluster has nothing.
func (w *World) compareInNothing(a, b resource) int {
	bigger, smaller := 0, 0
	for i := range w.types() {
		switch {
		case a[i] > b[i]:
			bigger = 1
		case a[i] < b[i]:
			smaller = 1
		}
	}
	return bigger - smaller
}

func (w *World) less(cluster, a, b resource) bool { return w.compare(cluster, a, b) < 0 }

func (w *World) more(cluster, a, b resource) bool { return w.compare(cluster, a, b) > 0 }

func (w *World) smaller(cluster, a, b resource) resource {
	if w.compare(cluster, a, b) <= 0 {
		return a
	}
	return b
}

func (w *World) larger(cluster, a, b resource) resource {
	if w.compare(cluster, a, b) >= 0 {
		return a
	}
	return b
}

// each applies a function to what counts. By memory alone, vcores are lost: any
// memory comes with one.
func (w *World) each(r resource, f func(i int, n int64) int64) resource {
	if !w.Config.Dominant {
		var out resource
		if out[yarn.Memory] = f(yarn.Memory, r[yarn.Memory]); out[yarn.Memory] > 0 {
			out[yarn.VCores] = 1
		}
		return out
	}
	for i := range w.types() {
		r[i] = f(i, r[i])
	}
	return r
}

func (w *World) fits(a, b resource) bool {
	if !w.Config.Dominant {
		return a[yarn.Memory] <= b[yarn.Memory]
	}
	for i := range w.types() {
		if a[i] > b[i] {
			return false
		}
	}
	return true
}

// anything tells whether some amount that counts is above zero.
func (w *World) anything(r resource) bool {
	for i := range w.types() {
		if r[i] > 0 && (i == yarn.Memory || w.Config.Dominant) {
			return true
		}
	}
	return false
}

// step is the least allocation, by type, which amounts are rounded to.
func (w *World) least() resource { return w.Config.Cluster.MinAllocation }

func up(n, step int64) int64 {
	if step == 0 {
		return n
	}
	return (n + step - 1) / step * step
}

func down(n, step int64) int64 {
	if step == 0 {
		return n
	}
	return n / step * step
}

func (w *World) roundUp(r resource) resource {
	return w.each(r, func(i int, n int64) int64 { return up(n, w.least()[i]) })
}

func (w *World) roundDown(r resource) resource {
	return w.each(r, func(i int, n int64) int64 { return down(n, w.least()[i]) })
}

// scaleUp is r·by rounded up to steps: multiplyAndNormalizeUp.
func (w *World) scaleUp(r resource, by float32) resource {
	return w.each(r, func(i int, n int64) int64 {
		if !w.Config.Dominant {
			return up(javanum.Long(math.Floor(float64(float64(n)*float64(by))+0.5)), w.least()[i])
		}
		return up(javanum.Long(math.Ceil(float64(float32(float64(n)*float64(by))))), w.least()[i])
	})
}

// scaleDown is r·by rounded down to steps: multiplyAndNormalizeDown.
func (w *World) scaleDown(r resource, by float32) resource {
	return w.each(r, func(i int, n int64) int64 { return down(javanum.Long(float64(n)*float64(by)), w.least()[i]) })
}

// times is r·by, cut to whole numbers.
func times(r resource, by float32) resource {
	for i := range r {
		r[i] = javanum.Long(float64(r[i]) * float64(by))
	}
	return r
}

func (w *World) divideCeil(r resource, by float32) resource {
	return w.each(r, func(_ int, n int64) int64 {
		if by == 0 {
			return 0
		}
		return javanum.Long(math.Ceil(float64(float32(n) / by)))
	})
}

// hundredth is ⌈r/100⌉ in whole numbers.
func (w *World) hundredth(r resource) resource {
	return w.each(r, func(_ int, n int64) int64 { return (n + 99) / 100 })
}

// divide is how often b goes into a.
func (w *World) divide(cluster, a, b resource) float32 {
	if !w.Config.Dominant {
		return quotient(a[yarn.Memory], b[yarn.Memory])
	}
	x, y := 0.0, 0.0
	for i := range w.types() {
		if cluster[i] != 0 {
			x = math.Max(x, float64(a[i])/float64(cluster[i]))
			y = math.Max(y, float64(b[i])/float64(cluster[i]))
		}
	}
	return float32(x / y)
}

func quotient(a, b int64) float32 {
	if a == 0 && b == 0 {
		return 0
	}
	return float32(a) / float32(b)
}

// ratio is the largest quotient of a type.
func (w *World) ratio(a, b resource) float32 {
	if !w.Config.Dominant {
		return quotient(a[yarn.Memory], b[yarn.Memory])
	}
	most := float32(0)
	for i := range w.types() {
		q := quotient(a[i], b[i])
		if q != q {
			return q
		}
		most = max(most, q)
	}
	return most
}

// holds is how many containers of a size there is room for.
func (w *World) holds(room, size resource) int64 {
	most := int64(math.MaxInt32)
	for i := range w.types() {
		if size[i] != 0 && (i == yarn.Memory || w.Config.Dominant) {
			most = min(most, room[i]/size[i])
		}
	}
	return most
}

func lesser(a, b resource) resource {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

// minus is a-b, not below zero in memory and vcores.
func minus(a, b resource) resource {
	r := a.Sub(b)
	r[yarn.Memory], r[yarn.VCores] = max(0, r[yarn.Memory]), max(0, r[yarn.VCores])
	return r
}
