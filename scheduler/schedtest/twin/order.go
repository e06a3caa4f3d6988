package twin

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// UsedCapacity is what a queue uses of what it is guaranteed, and of the whole
// partition.
func (w *World) UsedCapacity(q *Queue, label string) (ofGuaranteed, ofAll float32) {
	total, used := w.Partition(label), w.Used(q, label)
	if !w.more(total, total, resource{}) {
		return 0, 0
	}
	return w.divide(total, used, w.larger(total, q.Shares[label].Min, w.least())), w.divide(total, used, total)
}

// Children are the children of a parent in the order in which a walk for a node
// of the partition serves them.
func (w *World) Children(q *Queue, label string) []*Queue {
	type sample struct {
		q              *Queue
		usedA, usedAll float32
	}
	var list []sample
	for _, c := range q.Children {
		a, b := w.UsedCapacity(c, label)
		list = append(list, sample{c, a, b})
	}
	byPriority := q.Conf.ByPriority
	slices.SortStableFunc(list, func(x, y sample) int {
		if a, b := x.q.Conf.MayUse(label), y.q.Conf.MayUse(label); a != b {
			return first(a)
		}
		sx, sy := x.q.Shares[label], y.q.Shares[label]
		if a, b := sx.Absolute == 0, sy.Absolute == 0; a != b {
			return first(b)
		}
		ux, uy := x.usedA, y.usedA
		if sx.Absolute == 0 {
			ux, uy = x.usedAll, y.usedAll
		}
		px, py := x.q.Conf.Priority, y.q.Conf.Priority
		if byPriority && px != py && (ux < 1) == (uy < 1) {
			return cmp.Compare(py, px)
		}
		if n := javanum.Compare(float64(ux), float64(uy)); n != 0 {
			return n
		}
		if mx, my := sx.confMin, sy.confMin; !none(mx) || !none(my) {
			return slices.Compare(my[:], mx[:])
		}
		return javanum.Compare(float64(sy.Absolute), float64(sx.Absolute))
	})
	var out []*Queue
	for _, s := range list {
		out = append(out, s.q)
	}
	return out
}

func first(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// Active are the active applications of a leaf in the order in which they are
// served.
func (w *World) Active(q *Queue) []*App {
	return w.sorted(func(a *App) bool { return a.Active && a.Queue == q }, func(a, b *App) int {
		switch q.Conf.Ordering {
		case config.FairOrder:
			return q.fair(a, b)
		case config.FifoForPending:
			return forPending(a, b)
		}
		return fifo(a, b)
	})
}

// PendingApps are the applications of a leaf that wait to become active, in order.
func (w *World) PendingApps(q *Queue) []*App {
	return w.sorted(func(a *App) bool { return a.Waits && a.Queue == q }, forPending)
}

func (w *World) sorted(which func(*App) bool, order func(a, b *App) int) []*App {
	var out []*App
	for _, a := range w.Apps {
		if which(a) {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, order)
	return out
}

func fifo(a, b *App) int {
	if a.Priority != b.Priority {
		return cmp.Compare(b.Priority, a.Priority)
	}
	return age(a, b)
}

func age(a, b *App) int {
	if n := cmp.Compare(a.ID.ClusterTimestamp, b.ID.ClusterTimestamp); n != 0 {
		return n
	}
	if n := cmp.Compare(a.ID.Sequence, b.ID.Sequence); n != 0 {
		return n
	}
	return cmp.Compare(a.Start, b.Start)
}

func forPending(a, b *App) int {
	if a.Recovering != b.Recovering {
		return first(a.Recovering)
	}
	return fifo(a, b)
}

// fair compares what applications had when the order was last put right.
func (q *Queue) fair(a, b *App) int {
	if n := cmp.Compare(q.magnitude(a), q.magnitude(b)); n != 0 {
		return n
	}
	if n := cmp.Compare(a.Start, b.Start); n != 0 {
		return n
	}
	if x, y := a.FairUsed+a.FairPending > 0, b.FairUsed+b.FairPending > 0; x != y {
		return first(x)
	}
	return age(a, b)
}

func (q *Queue) magnitude(a *App) float64 {
	used, demand := float64(a.FairUsed), float64(a.FairUsed+a.FairPending)
	if q.Conf.SizeWeight && used != 0 && demand != 0 {
		return used / (math.Log1p(demand) / math.Log(2))
	}
	return used
}

// ReorderStale puts applications whose places in a fair order are out of date into their places.
func (w *World) ReorderStale(q *Queue) {
	for _, a := range w.Apps {
		if a.Queue != q || !a.Stale {
			continue
		}
		a.Stale = false
		a.FairUsed, a.FairPending = 0, 0
		for _, l := range w.Labels {
			a.FairUsed += w.sum(l.Name, func(c *Container) bool { return c.App == a && !c.Reserved })[0]
			a.FairPending += a.PendingOf(l.Name)[0]
		}
	}
}
