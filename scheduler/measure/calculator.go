// Package measure compares and scales amounts of resources in the way that the
// cluster is configured for: by memory alone or by the dominant share.
package measure

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Resource is an amount of each resource type.
type Resource = yarn.Resource

// Calculator is one way to measure
// (yarn.scheduler.capacity.resource-calculator). Its zero value must not be used.
type Calculator struct {
	Dominant bool // all types count, by dominant share; else memory alone
	Types    int  // how many types the cluster has, at least 2; no more where memory alone counts
}

// OfMemory is an amount given by its memory alone.
//
// compat: Apache counts one vcore with any memory.
func OfMemory(mb int64) (r Resource) {
	SetMemory(&r, mb)
	return r
}

// SetMemory makes r what OfMemory is.
func SetMemory(r *Resource, mb int64) {
	cores := int64(0)
	if mb > 0 {
		cores = 1
	}
	r[yarn.Memory], r[yarn.VCores] = mb, cores
}

// Compare is negative, zero or positive as a is less than, equal to or more
// than b, seen from a cluster of that size.
func (c Calculator) Compare(cluster, a, b *Resource) int {
	if !c.Dominant {
		return sign(a[yarn.Memory], b[yarn.Memory])
	}
	return c.compare(cluster, a, b)
}

func (c Calculator) compare(cluster, a, b *Resource) int {
	if *a == *b {
		return 0
	}
	if cluster.IsZero() {
		return c.compareAmounts(a, b)
	}
	if c.Types == 2 {
		return compareTwo(cluster, a, b)
	}
	return c.compareShares(cluster, a, b)
}

func sign(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareAmounts serves the empty cluster: mixed signs are a tie.
func (c Calculator) compareAmounts(a, b *Resource) int {
	var more, less bool
	for i := 0; i < c.Types; i++ {
		more = more || a[i] > b[i]
		less = less || a[i] < b[i]
	}
	switch {
	case more && !less:
		return 1
	case less && !more:
		return -1
	}
	return 0
}

func share(amount, cluster int64) float64 {
	if cluster == 0 {
		return math.Inf(1)
	}
	return float64(amount) / float64(cluster)
}

func compareTwo(cluster, a, b *Resource) int {
	aDom, aSub := share(a[0], cluster[0]), share(a[1], cluster[1])
	bDom, bSub := share(b[0], cluster[0]), share(b[1], cluster[1])
	if aSub > aDom {
		aDom, aSub = aSub, aDom
	}
	if bSub > bDom {
		bDom, bSub = bSub, bDom
	}
	switch {
	case aDom > bDom:
		return 1
	case aDom < bDom:
		return -1
	case aSub > bSub:
		return 1
	case aSub < bSub:
		return -1
	}
	return 0
}

func (c Calculator) compareShares(cluster, a, b *Resource) int {
	var as, bs [yarn.MaxResourceTypes]float64
	for i := 0; i < c.Types; i++ {
		as[i], bs[i] = share(a[i], cluster[i]), share(b[i], cluster[i])
	}
	insertionSort(as[:c.Types])
	insertionSort(bs[:c.Types])
	for i := c.Types - 1; i >= 0; i-- {
		if math.IsInf(as[i], 1) || math.IsInf(bs[i], 1) {
			continue
		}
		if d := as[i] - bs[i]; d != 0 {
			if d > 0 {
				return 1
			}
			return -1
		}
	}
	return 0
}

func insertionSort(s []float64) {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// Less tells whether a is less than b.
func (c Calculator) Less(cluster, a, b *Resource) bool {
	if !c.Dominant {
		return a[yarn.Memory] < b[yarn.Memory]
	}
	return c.compare(cluster, a, b) < 0
}

// More tells whether a is more than b.
func (c Calculator) More(cluster, a, b *Resource) bool {
	if !c.Dominant {
		return a[yarn.Memory] > b[yarn.Memory]
	}
	return c.compare(cluster, a, b) > 0
}

// Positive tells whether a is more than nothing.
func (c Calculator) Positive(cluster, a *Resource) bool {
	if !c.Dominant {
		return a[yarn.Memory] > 0
	}
	return c.compare(cluster, a, &Resource{}) > 0
}

// Min is the lesser of both, a on a tie.
func (c Calculator) Min(cluster, a, b *Resource) *Resource {
	if c.More(cluster, a, b) {
		return b
	}
	return a
}

// Max is the greater of both, a on a tie.
func (c Calculator) Max(cluster, a, b *Resource) *Resource {
	if c.Less(cluster, a, b) {
		return b
	}
	return a
}

// Increase adds b to a in place, in the types that the cluster has. Of others there
// is nothing, and most clusters have two of the eight that an amount has room for.
func (c Calculator) Increase(a, b *Resource) {
	for i := range c.Types {
		a[i] += b[i]
	}
}

// Decrease takes b away from a in place, as Increase adds it.
func (c Calculator) Decrease(a, b *Resource) {
	for i := range c.Types {
		a[i] -= b[i]
	}
}

// Set makes a what b is. It looks as Increase does.
func (c Calculator) Set(a, b *Resource) {
	for i := range c.Types {
		a[i] = b[i]
	}
}

// Clear makes a nothing. It looks as Increase does.
func (c Calculator) Clear(a *Resource) { clear(a[:c.Types]) }

// Sub makes r a without b. It looks as Increase does.
func (c Calculator) Sub(r, a, b *Resource) {
	for i := range c.Types {
		r[i] = a[i] - b[i]
	}
}

// Nothing tells whether every amount is zero. It looks as Increase does.
func (c Calculator) Nothing(a *Resource) bool {
	for i := range c.Types {
		if a[i] != 0 {
			return false
		}
	}
	return true
}

// FitsIn tells whether a fits in b, in everything that counts.
func (c Calculator) FitsIn(a, b *Resource) bool {
	if !c.Dominant {
		return a[yarn.Memory] <= b[yarn.Memory]
	}
	return c.fitsIn(a, b)
}

func (c Calculator) fitsIn(a, b *Resource) bool {
	for i := 0; i < c.Types; i++ {
		if a[i] > b[i] {
			return false
		}
	}
	return true
}

// SumFits tells whether a and b together fit in sum, in everything that counts.
func (c Calculator) SumFits(a, b, sum *Resource) bool {
	if !c.Dominant {
		return a[yarn.Memory]+b[yarn.Memory] <= sum[yarn.Memory]
	}
	for i := 0; i < c.Types; i++ {
		if a[i]+b[i] > sum[i] {
			return false
		}
	}
	return true
}

// AnyPositive tells whether something that counts is above zero.
func (c Calculator) AnyPositive(a *Resource) bool {
	if !c.Dominant {
		return a[yarn.Memory] > 0
	}
	for i := 0; i < c.Types; i++ {
		if a[i] > 0 {
			return true
		}
	}
	return false
}

// Divide is how many times b goes into a: the ratio of memory, or of the
// dominant shares. It may be NaN or infinite.
func (c Calculator) Divide(cluster, a, b *Resource) float32 {
	if !c.Dominant {
		return javanum.Ratio(a[yarn.Memory], b[yarn.Memory])
	}
	return c.divideShares(cluster, a, b)
}

func (c Calculator) divideShares(cluster, a, b *Resource) float32 {
	var as, bs float64
	for i := 0; i < c.Types; i++ {
		if cluster[i] == 0 {
			continue
		}
		as = math.Max(as, share(a[i], cluster[i]))
		bs = math.Max(bs, share(b[i], cluster[i]))
	}
	return float32(as / bs)
}

// Fractions is how many times the cluster and b go into a, as Divide has it, and
// nothing while the cluster is empty.
func (c Calculator) Fractions(cluster, a, b *Resource) (ofCluster, ofB float32) {
	if !c.Positive(cluster, cluster) {
		return 0, 0
	}
	return c.Divide(cluster, a, cluster), c.Divide(cluster, a, b)
}

// Ratio is the largest ratio of a type's amounts.
func (c Calculator) Ratio(a, b *Resource) float32 {
	if !c.Dominant {
		return javanum.Ratio(a[yarn.Memory], b[yarn.Memory])
	}
	return c.largestRatio(a, b)
}

func (c Calculator) largestRatio(a, b *Resource) float32 {
	var most float32
	for i := 0; i < c.Types; i++ {
		r := javanum.Ratio(a[i], b[i])
		if r != r {
			return r
		}
		most = max(most, r)
	}
	return most
}

// RoundDown rounds every type that counts towards zero to a multiple of step, in
// place, as all scalings do.
func (c Calculator) RoundDown(r, step *Resource) {
	if !c.Dominant {
		SetMemory(r, javanum.RoundDown(r[yarn.Memory], step[yarn.Memory]))
		return
	}
	for i := 0; i < c.Types; i++ {
		if step[i] != 0 {
			r[i] = javanum.RoundDown(r[i], step[i])
		}
	}
}

// RoundUp rounds every type that counts up to a multiple of step.
func (c Calculator) RoundUp(r, step *Resource) {
	if !c.Dominant {
		SetMemory(r, javanum.RoundUp(r[yarn.Memory], step[yarn.Memory]))
		return
	}
	for i := 0; i < c.Types; i++ {
		if step[i] != 0 {
			r[i] = javanum.RoundUp(r[i], step[i])
		}
	}
}

// Percent makes r so many percent of r, rounded up, in every type that counts.
func (c Calculator) Percent(r *Resource, by float64) {
	for i := range c.counted() {
		r[i] = (javanum.Scale(r[i], by) + 99) / 100
	}
}

// DivideUp makes r what by times goes into it, rounded up, in every type that counts.
func (c Calculator) DivideUp(r *Resource, by float32) {
	for i := range c.counted() {
		r[i] = javanum.DivCeilFloat(r[i], by)
	}
}

// counted is how many types count. Memory is the first.
func (c Calculator) counted() int {
	if !c.Dominant {
		return 1
	}
	return c.Types
}

// ScaleUp makes r r·by, rounded up to a multiple of step.
func (c Calculator) ScaleUp(r *Resource, by float64, step *Resource) {
	if !c.Dominant {
		n := javanum.Long(float64(float64(r[yarn.Memory])*by) + 0.5)
		SetMemory(r, javanum.RoundUp(n, step[yarn.Memory]))
		return
	}
	for i := 0; i < c.Types; i++ {
		r[i] = javanum.Ceil(float64(float32(float64(r[i]) * by)))
		if step[i] != 0 {
			r[i] = javanum.RoundUp(r[i], step[i])
		}
	}
}

// ScaleDown makes r r·by, rounded down to a multiple of step.
func (c Calculator) ScaleDown(r *Resource, by float64, step *Resource) {
	if !c.Dominant {
		SetMemory(r, javanum.RoundDown(javanum.Scale(r[yarn.Memory], by), step[yarn.Memory]))
		return
	}
	for i := 0; i < c.Types; i++ {
		r[i] = javanum.Scale(r[i], by)
		if step[i] != 0 {
			r[i] = javanum.RoundDown(r[i], step[i])
		}
	}
}

// HasRoom tells whether a container of that size finds room. What does not
// count, or is not asked for, need not be there.
func (c Calculator) HasRoom(room, size *Resource) bool {
	if !c.Dominant {
		return size[yarn.Memory] == 0 || room[yarn.Memory] >= size[yarn.Memory]
	}
	for i := 0; i < c.Types; i++ {
		if size[i] != 0 && room[i] < size[i] {
			return false
		}
	}
	return true
}

// Leaves tells whether HasRoom would find room in total without what is used.
func (c Calculator) Leaves(total, used, size *Resource) bool {
	for i := range c.counted() {
		if size[i] != 0 && total[i]-used[i] < size[i] {
			return false
		}
	}
	return true
}

// Normalize raises an ask to at least lo, rounds it up to a multiple of step and
// cuts it at hi.
func (c Calculator) Normalize(r, lo, hi, step Resource) Resource {
	if !c.Dominant {
		s := step[yarn.Memory]
		if s == 0 {
			s = lo[yarn.Memory]
		}
		n := javanum.RoundUp(max(r[yarn.Memory], lo[yarn.Memory]), s)
		return OfMemory(min(n, hi[yarn.Memory]))
	}
	for i := 0; i < c.Types; i++ {
		n := max(r[i], lo[i])
		if step[i] != 0 {
			n = javanum.RoundUp(n, step[i])
		}
		r[i] = min(n, hi[i])
	}
	return r
}

// Scale is ⌊r·by⌋ for every type.
func Scale(r Resource, by float64) Resource {
	for i := range r {
		if r[i] != 0 {
			r[i] = javanum.Scale(r[i], by)
		}
	}
	return r
}

// Times is r, n times.
func Times(r Resource, n int64) Resource {
	for i := range r {
		r[i] *= n
	}
	return r
}

// Least is the smaller amount of every type.
func Least(a, b Resource) Resource {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

// Most is the larger amount of every type.
func Most(a, b Resource) Resource {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

// SubFloor is a-b, where memory and vcores do not go below zero.
//
// compat: Resources.subtractNonNegative leaves other types alone.
func SubFloor(a, b Resource) Resource {
	r := a.Sub(b)
	r[yarn.Memory] = max(r[yarn.Memory], 0)
	r[yarn.VCores] = max(r[yarn.VCores], 0)
	return r
}
