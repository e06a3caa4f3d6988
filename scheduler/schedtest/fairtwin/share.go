package fairtwin

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

const (
	fair = allocation.Fair
	drf  = allocation.DRF
	fifo = allocation.FIFO
)

// MaxShare is the most that the queue may use.
func (w *World) MaxShare(q *Queue) resource {
	most := q.Conf.Max.Of(w.Cluster())
	for i := range w.types() {
		most[i] = max(most[i], q.Conf.Min[i])
	}
	return most
}

// Sharer is a queue or an application that gets a part of its parent's fair share, of one type of resource.
type Sharer struct {
	Min, Max int64
	Weight   float32
	Idle     bool // a queue in which nothing runs; it gets nothing
}

// Shares are the parts of that total: each has its weight times a number R that is the same for all, but not less than its minimum and not more than
// its maximum. R is searched for so that the parts add up to the total.
func Shares(total int64, list []Sharer) []int64 {
	out := make([]int64, len(list))
	var free []int
	most, fixed := int64(0), int64(0)
	for i, s := range list {
		switch {
		case s.Max <= 0 || s.Idle:
		case s.Weight <= 0:
			out[i] = max(s.Min, 0)
			fixed = saturated(fixed, out[i])
		default:
			free = append(free, i)
			most = saturated(most, s.Max)
		}
	}
	total = min(most, max(total-fixed, 0))
	part := func(i int, r float64) int64 {
		s := list[i]
		return javanum.Long(min(max(float64(s.Weight)*r, float64(s.Min)), float64(s.Max)))
	}
	sum := func(r float64) (n int64) {
		for _, i := range free {
			n = saturated(n, part(i, r))
		}
		return n
	}
	if len(free) == 0 {
		return out
	}
	lo, hi := 0.0, 1.0
	for sum(hi) < total && !math.IsInf(hi, 1) {
		hi *= 2
	}
	for range 25 {
		mid := (lo + hi) / 2
		n := sum(mid)
		if n == total {
			hi = mid
			break
		}
		if n < total {
			lo = mid
		} else {
			hi = mid
		}
	}
	for _, i := range free {
		out[i] = part(i, hi)
	}
	return out
}

func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Update computes demands and fair shares.
func (w *World) Update() {
	w.demand(w.Root)
	w.Root.FairShare = w.Cluster()
	w.share(w.Root)
	w.noteFree()
	w.starvation()
}

func (w *World) noteFree() { w.free = w.Cluster().Sub(w.Used(w.Root)) }

// demand is what a queue's applications use and ask for, above leaves of memory and vcores alone, and no more than the queue may use.
func (w *World) demand(q *Queue) {
	var sum resource
	if q.Leaf {
		for _, a := range w.Apps {
			if a.Queue == q && a.Running {
				a.Demand = w.Usage(a).Add(a.pending())
				sum = sum.Add(a.Demand)
			}
		}
		q.Demand = least(sum, w.MaxShare(q))
		return
	}
	for _, c := range q.Children {
		w.demand(c)
		sum = sum.Add(c.Demand)
	}
	sum = least(sum, w.MaxShare(q))
	q.Demand = yarn.NewResource(sum[0], sum[1])
}

// counted are the types of resources that the queue shares by.
func (w *World) counted(q *Queue) int {
	switch q.Policy {
	case drf:
		return w.types()
	case fair:
		return 1
	}
	return 0
}

// share divides the queue's fair share among those below.
func (w *World) share(q *Queue) {
	if q.Leaf {
		w.shareApps(q)
		return
	}
	for t := range w.counted(q) {
		var list []Sharer
		for _, c := range q.Children {
			list = append(list, Sharer{Min: c.Conf.Min[t], Max: w.MaxShare(c)[t], Weight: c.Conf.Weight, Idle: w.Runnable(c) == 0})
		}
		for i, n := range Shares(q.FairShare[t], list) {
			q.Children[i].FairShare[t] = n
		}
	}
	for _, c := range q.Children {
		w.share(c)
	}
}

func (w *World) shareApps(q *Queue) {
	apps := w.running(q)
	if q.Policy == fifo {
		var first *App
		for _, a := range apps {
			if first == nil || a.Start < first.Start {
				first = a
			}
		}
		if first != nil {
			first.FairShare = q.FairShare
		}
		return
	}
	unbounded := allocation.Unbounded(w.Config.Cluster.Types)
	for t := range w.counted(q) {
		var list []Sharer
		for _, a := range apps {
			list = append(list, Sharer{Max: unbounded[t], Weight: w.weight(a)})
		}
		for i, n := range Shares(q.FairShare[t], list) {
			apps[i].FairShare[t] = n
		}
	}
}

// weight is that of an application among those of its leaf.
func (w *World) weight(a *App) float32 {
	if w.Config.SizeWeight {
		return float32(math.Log1p(float64(a.Demand[0])) / math.Log(2))
	}
	return 1
}

// steady computes the fair shares that queues would have if something ran in all of them.
func (w *World) steady() {
	w.Root.SteadyShare = w.Cluster()
	w.Root.each(func(q *Queue) {
		if q.Leaf {
			return
		}
		for t := range w.counted(q) {
			var list []Sharer
			for _, c := range q.Children {
				list = append(list, Sharer{Min: c.Conf.Min[t], Max: w.MaxShare(c)[t], Weight: c.Conf.Weight})
			}
			for i, n := range Shares(q.SteadyShare[t], list) {
				q.Children[i].SteadyShare[t] = n
			}
		}
	})
}
