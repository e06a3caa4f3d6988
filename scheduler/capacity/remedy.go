package capacity

import (
	"strconv"

	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Remedy is what would do away with the reason why an application waits; see the facade.
func (s *Scheduler) Remedy(ref AppRef, why yarn.Reason) core.Remedy {
	a := s.app(ref)
	switch why.Code {
	case fit.AMLimit:
		r := s.LackOf(why)
		r.Settings = s.moreForMasters(a, why)
		return r
	case fit.QueueLimit, fit.ParentLimit, fit.Headroom:
		r := s.LackOf(why)
		r.Settings = s.moreForQueues(a, why)
		return r
	case fit.NodeTooSmall:
		r := s.LackOf(why)
		r.Never = s.tooLargeForAll(&why.Needed)
		return r
	case fit.NodeFull, fit.UserLimit, fit.UserAMLimit:
		return s.LackOf(why)
	}
	return core.Remedy{}
}

// tooLargeForAll tells whether no node could ever have so much.
func (s *Scheduler) tooLargeForAll(size *resource) bool {
	for i := range s.Books.NodeSlots() {
		if n := s.Books.Node(NodeRef(i)); n.Member && s.Calc.FitsIn(size, &n.Total) {
			return false
		}
	}
	return true
}

// steps of percentages and fractions that are tried.
const steps = 1000

// least is the first of so many steps that is enough; 0 is none.
func least(enough func(step int) bool) int {
	lo, hi := 1, steps+1 // enough grows: what is enough stays so
	for lo < hi {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo > steps {
		return 0
	}
	return lo
}

// moreForMasters is the share of masters with which this one may start.
func (s *Scheduler) moreForMasters(a *app, why yarn.Reason) []core.Setting {
	q := a.queue
	sh := &q.Shares[a.wait.Part]
	base := sh.EffMin
	if now := leafOf(q).queueLimit; a.wait.Part == 0 && s.Calc.FitsIn(&sh.EffMin, &now) {
		base = now
	}
	k := least(func(step int) bool {
		limit := base
		s.Calc.ScaleUp(&limit, float64(javanum.Div(float32(step), steps)), &s.Min)
		return s.Calc.FitsIn(&why.Needed, &limit)
	})
	if k == 0 || why.Key != settingOf(q, s.Books.Partition(a.wait.Part).Name, masterShare) {
		return nil
	}
	return []core.Setting{{Name: why.Key, Value: strconv.FormatFloat(float64(k)/steps, 'f', -1, 64)}}
}

// moreForQueues are the maxima, from the top down, with which the queues above the application have room for what it asks for first. None are known where
// capacities are amounts or vectors, or where the cluster itself has too little.
func (s *Scheduler) moreForQueues(a *app, why yarn.Reason) (out []core.Setting) {
	p := part(-1)
	for i := range s.tree.Root.Shares {
		for q := a.queue; q != nil; q = q.Up {
			if q.Path == why.Subject && why.Key == settingOf(q, s.Books.Partition(part(i)).Name, maximumCapacity) {
				p = part(i)
			}
		}
	}
	if p < 0 || !s.cfg.Legacy {
		return nil
	}
	size := resource{}
	for _, w := range a.Wants.Keys() {
		if w.Part == p && w.HasAny && w.Any.Count > 0 {
			size = w.Any.Size
			break
		}
	}
	if none(size) {
		return nil
	}
	above := float32(1)
	total := s.Books.Partition(p).Total
	for q := range upwards(a.queue) {
		if q.Up == nil {
			if with := q.Ledger[p].Used.Add(size); !s.Calc.FitsIn(&with, &total) {
				return nil
			}
			continue
		}
		sh := &q.Shares[p]
		need := q.Ledger[p].Used.Add(size)
		most, share := sh.EffMax, javanum.Mul(sh.MaxCapacity, above)
		s.Calc.RoundDown(&most, &s.Min)
		if s.Calc.FitsIn(&need, &most) {
			above = share
			continue
		}
		if q.Dynamic || !sh.ConfMax.IsZero() {
			return nil
		}
		at := func(step int) float32 { return javanum.Mul(javanum.Div(javanum.Div(float32(step), 10), 100), above) }
		k := least(func(step int) bool {
			limit := measure.Scale(total, float64(at(step)))
			s.Calc.RoundDown(&limit, &s.Min)
			return s.Calc.FitsIn(&need, &limit)
		})
		if k == 0 {
			return nil
		}
		above = at(k)
		out = append(out, core.Setting{Name: settingOf(q, s.Books.Partition(p).Name, maximumCapacity), Value: strconv.FormatFloat(float64(k)/10, 'f', -1, 64)})
	}
	return out
}
