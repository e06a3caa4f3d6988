package fair

import (
	"math"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Remedy is what would do away with the reason why an application waits; see the facade.
func (s *Scheduler) Remedy(ref cluster.AppRef, why yarn.Reason) core.Remedy {
	a := s.app(ref)
	switch why.Code {
	case fit.RunningApps, fit.UserRunningApps:
		return s.moreRunning(a, why)
	case fit.AMLimit:
		return s.moreForMasters(a, why)
	case fit.QueueLimit, fit.ParentLimit:
		return s.moreForQueue(a, why)
	case fit.NextUpdate:
		return core.Remedy{Act: core.Act{Do: core.Update, Count: 1}}
	case fit.LocalityDelay:
		return core.Remedy{Act: core.Act{Do: core.Offers, Count: s.offersLeft(a)}}
	}
	return s.Core.Remedy(ref, why)
}

// moreRunning is how many applications would have to be allowed to run at once. Others that wait longer come first.
func (s *Scheduler) moreRunning(a *app, why yarn.Reason) core.Remedy {
	ofUser := why.Code == fit.UserRunningApps
	q := s.find(why.Subject)
	counts := func(o *core.App) bool {
		return o.Running && (ofUser && o.User == a.User || !ofUser && q != nil && core.Within(o.Leaf, &q.Queue))
	}
	need := why.Count + 1
	for _, of := range s.Apps {
		if of != nil && of != &a.App && counts(of) {
			if o := appOf(of); !o.runnable && o.order < a.order {
				need++
			}
		}
	}
	set := core.Setting{Name: keyMaxApps, Value: strconv.FormatInt(need, 10), Element: "queue " + why.Subject}
	if ofUser {
		set.Element = "user " + a.User
	}
	return core.Remedy{Settings: []core.Setting{set}, Holders: s.Holders(func(o *core.App) (resource, int64) {
		if counts(o) && appOf(o).runnable {
			return s.Holding(o)
		}
		return resource{}, 0
	})}
}

// shares of masters that are tried, in thousandths, go up to this.
const shares = 1000

// moreForMasters is the share of masters with which this one may start, or that there is no limit.
func (s *Scheduler) moreForMasters(a *app, why yarn.Reason) core.Remedy {
	r := s.LackOf(why)
	q, value := a.queue, "-1.0"
	with := *q
	conf := *q.conf
	with.conf = &conf
	for k := 1; k <= shares; k++ {
		conf.MaxAMShare = float32(k) / shares
		if limit := s.amLimit(&with); s.fits(&why.Needed, &limit) {
			value = strconv.FormatFloat(float64(k)/shares, 'f', -1, 64)
			break
		}
	}
	r.Settings = []core.Setting{{Name: keyAMShare, Value: value, Element: "queue " + q.Path}}
	r.Holders = s.Holders(func(o *core.App) (resource, int64) {
		if x := appOf(o); x.queue == q && x.hasAM && x.runnable {
			return x.am, 1
		}
		return resource{}, 0
	})
	return r
}

// moreForQueue is the maxima with which the queue, and those above it, have room for the container that the reason is about.
func (s *Scheduler) moreForQueue(a *app, why yarn.Reason) core.Remedy {
	r := s.LackOf(why)
	limited := s.find(why.Subject)
	if limited == nil {
		return r
	}
	used := s.used(limited)
	size := why.Needed.Sub(used)
	r.Holders = s.Holders(func(o *core.App) (resource, int64) {
		if !core.Within(o.Leaf, &limited.Queue) {
			return resource{}, 0
		}
		return s.appUsed(appOf(o)), int64(o.Live.Len())
	})
	r.TooLarge = !s.fits(&size, &limited.max)
	for q := a.queue; q != nil; q = q.up {
		used := s.used(q)
		if need := used.Add(size); !s.fits(&need, &q.max) {
			r.Settings = append(r.Settings, core.Setting{Name: keyMax, Value: s.amount(&need), Element: "queue " + q.Path})
		}
	}
	return r
}

// amount is how an amount is written in the allocation file.
func (s *Scheduler) amount(r *resource) string {
	var out []string
	for i, t := range s.cfg.Cluster.Types {
		out = append(out, t.Name+"="+strconv.FormatInt(r[i], 10))
	}
	return strings.Join(out, ", ")
}

// offersLeft is how many nodes have to be offered until a key that names places takes any, at most.
func (s *Scheduler) offersLeft(a *app) int64 {
	left := 0.0
	for _, w := range a.Wants.Keys() {
		if len(w.Rows) == 0 {
			continue
		}
		need := -float64(w.Opportunities)
		for l := w.Level; l != cluster.OffSwitch; l++ {
			need += math.Floor(s.patience(l)) + 1
		}
		left = max(left, need+1)
	}
	return max(int64(left), 1)
}

// Line is the application's place among those who wait for the same in its queue; see the facade.
func (s *Scheduler) Line(ref cluster.AppRef) (l core.Line) {
	a := s.app(ref)
	if !a.Running {
		return l
	}
	l.Queue = a.queue.Path
	if !a.runnable {
		l.For = core.LineSlot
		for i, o := range a.queue.waiting {
			if l.Of++; o == a {
				l.Place = i + 1
			}
		}
		return l
	}
	if len(a.Wants.Keys()) == 0 {
		return l
	}
	l.For = core.LineRoom
	if !a.hasAM {
		l.For = core.LineMaster
	}
	line := merged{q: a.queue, numbers: s.numbers(a.queue.policy)}
	for p := line.next(); p != nil; p = line.next() {
		if l.Of++; p.app == a {
			l.Place = l.Of
		}
	}
	return l
}

// Rooms is what a leaf could still get; see the facade. Users have no limits on amounts.
func (s *Scheduler) Rooms(free *core.Free, of *queue.Queue, _ string) []core.Headroom {
	return s.Core.Rooms(free, of, func(cluster.Part) (out []core.Ceiling) {
		for q := queueOf(of); q != nil; q = q.up {
			out = append(out, core.Ceiling{Used: s.used(q), Limit: q.max, Why: yarn.Reason{Code: limitCode(q), Subject: q.Path, Key: keyMax}})
		}
		return out
	})
}
