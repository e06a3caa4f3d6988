package fairtwin

import (
	"math"
	"slices"
	"strings"
)

// member is one of those that a policy puts in order: a child queue, or an application.
type member struct {
	Name             string
	Start            int64
	Weight           float32
	Usage, Min, Need resource // Need is the demand
	queue            *Queue
	app              *App
}

// order sorts members by the policy of the queue or leaf that they are in.
func (w *World) order(q *Queue, list []member) {
	less := compareFIFO
	switch q.Policy {
	case fair:
		less = compareFair
	case drf:
		cluster, types := w.Cluster(), w.types()
		less = func(a, b *member) int { return compareDRF(cluster, types, a, b) }
	}
	slices.SortFunc(list, func(a, b member) int {
		if c := less(&a, &b); c != 0 {
			return c
		}
		return compareFIFO(&a, &b)
	})
}

// members are the children of a queue, or those running applications of a leaf that asked for something at the last Update, in order.
func (w *World) members(q *Queue) []member {
	var list []member
	for _, c := range q.Children {
		list = append(list, member{Name: c.Path, Weight: c.Conf.Weight, Usage: w.Used(c), Min: c.Conf.Min, Need: c.Demand, queue: c})
	}
	for _, a := range w.running(q) {
		if usage := w.Usage(a); usage != a.Demand {
			list = append(list, member{Name: a.ID.String(), Start: a.Start, Weight: w.weight(a), Usage: usage, Need: a.Demand, app: a})
		}
	}
	w.order(q, list)
	return list
}

// compareFIFO: who started first, then by name, as texts.
func compareFIFO(a, b *member) int {
	switch {
	case a.Start < b.Start:
		return -1
	case a.Start > b.Start:
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// sign is -1, 0 or 1; what is not a number is 0.
func sign(d float64) int {
	switch {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

// first is -1 where a is true and b is not.
func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

func compareFair(a, b *member) int {
	if c := first(a.Need[0] > 0, b.Need[0] > 0); c != 0 {
		return c
	}
	minA, minB := min(a.Min[0], a.Need[0]), min(b.Min[0], b.Need[0])
	needyA, needyB := a.Usage[0] < minA, b.Usage[0] < minB
	if c := first(needyA, needyB); c != 0 {
		return c
	}
	if needyA {
		if c := sign(float64(a.Usage[0])/float64(max(minA, 1)) - float64(b.Usage[0])/float64(max(minB, 1))); c != 0 {
			return c
		}
	}
	wa, wb := float64(a.Weight), float64(b.Weight)
	switch {
	case wa > 0 && wb > 0:
		return sign(float64(a.Usage[0])/wa - float64(b.Usage[0])/wb)
	case wa == wb:
		return sign(float64(a.Usage[0] - b.Usage[0]))
	}
	return sign(wb - wa)
}

func compareDRF(cluster resource, types int, a, b *member) int {
	if types == 2 {
		return compareTwo(cluster, a, b)
	}
	return compareMany(cluster, types, a, b)
}

// compareTwo is DRF with memory and vcores.
func compareTwo(cluster resource, a, b *member) int {
	dominant := func(m *member) int {
		if float64(m.Usage[1])/float64(cluster[1]) > float64(m.Usage[0])/float64(cluster[0]) {
			return 1
		}
		return 0
	}
	ofCluster := func(m *member, t int) float64 { return float64(m.Usage[t]) / float64(cluster[t]) / float64(m.Weight) }
	ofMin := func(m *member, t int) float64 { return float64(m.Usage[t]) / float64(m.Min[t]) }
	da, db := dominant(a), dominant(b)
	needyA, needyB := a.Usage[da] < a.Min[da], b.Usage[db] < b.Min[db]
	if c := first(needyA, needyB); c != 0 {
		return c
	}
	by := ofCluster
	if needyA {
		by = ofMin
	}
	if c := sign(by(a, da) - by(b, db)); c != 0 {
		return c
	}
	return sign(by(a, 1-da) - by(b, 1-db))
}

// compareMany is DRF with more types, in single precision.
func compareMany(cluster resource, types int, a, b *member) int {
	type ratio struct{ share, weighted, ofMin float32 }
	ratios := func(m *member) (list []ratio, dominant int) {
		for t := range types {
			share := float32(m.Usage[t]) / float32(cluster[t])
			list = append(list, ratio{share, share / m.Weight, float32(m.Usage[t]) / float32(m.Min[t])})
			if share > list[dominant].share {
				dominant = t
			}
		}
		slices.SortStableFunc(list, func(x, y ratio) int { return sign(float64(y.share) - float64(x.share)) })
		return list, dominant
	}
	ra, da := ratios(a)
	rb, db := ratios(b)
	needyA, needyB := a.Usage[da] < a.Min[da], b.Usage[db] < b.Min[db]
	if c := first(needyA, needyB); c != 0 {
		return c
	}
	for i := range ra {
		d := float64(ra[i].weighted - rb[i].weighted)
		if needyA {
			d = float64(ra[i].ofMin - rb[i].ofMin)
		}
		if c := sign(d); c != 0 {
			return c
		}
	}
	return 0
}

// compare compares amounts as the queue's policy measures them: by memory, or by dominant shares and then the next largest.
func (w *World) compare(q *Queue, a, b resource) int {
	if q.Policy != drf {
		return sign(float64(a[0] - b[0]))
	}
	x, y := w.sharesOf(a), w.sharesOf(b)
	for i := range x {
		if c := sign(x[i] - y[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Less tells whether an amount is less than another, by what the queue's policy looks at first.
func (w *World) Less(q *Queue, a, b resource) bool {
	if q.Policy != drf {
		return a[0] < b[0]
	}
	return w.sharesOf(a)[0] < w.sharesOf(b)[0]
}

// sharesOf are the parts of the cluster that an amount is, the largest first.
func (w *World) sharesOf(r resource) []float64 {
	cluster := w.Cluster()
	var out []float64
	for i := range w.types() {
		share := float64(r[i]) / float64(cluster[i])
		if cluster[i] == 0 {
			share = math.Inf(1)
		}
		out = append(out, share)
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}
