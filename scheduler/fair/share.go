package fair

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// claim is somebody among whom one type of resources is shared.
type claim struct {
	weight      float64
	least, most int64
	inactive    bool // it gets nothing
	share       int64
}

// fixed tells whether the share follows from the claim alone, and sets it then.
func (c *claim) fixed() bool {
	switch {
	case c.most <= 0 || c.inactive:
		c.share = 0
	case c.weight <= 0:
		c.share = max(c.least, 0)
	default:
		return false
	}
	return true
}

// same tells whether another claim always has the same share.
func (c *claim) same(o *claim) bool {
	return c.weight == o.weight && c.least == o.least && c.most == o.most
}

// at is the share at so much for a weight of 1.
func (c *claim) at(each float64) int64 {
	return javanum.Long(min(max(float64(c.weight*each), float64(c.least)), float64(c.most)))
}

// steps is how often the right amount for a weight of 1 is looked for between two bounds.
//
// compat: so many, so that shares may add up to more than there is.
const steps = 25

// divide shares an amount among claims in proportion to their weights, none below its least or above its most.
func divide(claims []claim, total int64) {
	type run struct { // of equal claims, one after the other
		*claim
		count int64
	}
	open, most, taken := make([]run, 0, 8), int64(0), int64(0)
	for i := range claims {
		c := &claims[i]
		if c.fixed() {
			taken = plus(taken, c.share)
			continue
		}
		most = plus(most, c.most)
		if last := len(open) - 1; last >= 0 && open[last].same(c) {
			open[last].count++
		} else {
			open = append(open, run{c, 1})
		}
	}
	if len(open) == 0 {
		return
	}
	total = min(most, max(total-taken, 0))
	used := func(each float64) (sum int64) {
		for _, c := range open {
			if sum = plus(sum, times(c.at(each), c.count)); sum == math.MaxInt64 {
				break
			}
		}
		return sum
	}
	high, low := 1.0, 0.0
	for used(high) < total && !math.IsInf(high, 1) { // which amounts have that are too large for a float
		high *= 2
	}
	for range steps {
		middle := (low + high) / 2
		sum := used(middle)
		if sum == total {
			high = middle
			break
		}
		if sum < total {
			low = middle
		} else {
			high = middle
		}
	}
	for i := range claims {
		if c := &claims[i]; !c.fixed() {
			c.share = c.at(high)
		}
	}
}

// times is a product of amounts that does not overflow.
func times(a, n int64) int64 {
	if a > math.MaxInt64/n {
		return math.MaxInt64
	}
	return a * n
}

// plus is a sum that does not overflow.
func plus(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// shared is how many types a policy shares.
func (s *Scheduler) shared(p allocation.Policy) int {
	if p == allocation.DRF {
		return s.types()
	}
	return 1
}

// steady computes steady shares, if that is due.
//
// compat: queues that go change none.
func (s *Scheduler) steady() {
	if s.steadyDue {
		s.steadyDue = false
		s.root.steady = s.Books.Total
		s.steadyShares(s.root)
	}
}

// steadyShares computes what queues below would have if all of them were busy.
func (s *Scheduler) steadyShares(q *Queue) {
	if q.Leaf {
		return
	}
	s.shareAmong(q, &q.steady, true)
	for _, c := range q.children {
		s.steadyShares(c)
	}
}

// shareAmong shares an amount among the children of a queue. Types that its policy does not share stay as they are.
func (s *Scheduler) shareAmong(q *Queue, total *resource, steady bool) {
	if q.policy == allocation.FIFO {
		return
	}
	claims := s.claims(len(q.children))
	for t := range s.shared(q.policy) {
		for i, c := range q.children {
			claims[i] = claim{weight: float64(c.conf.Weight), least: c.conf.Min[t], most: c.max[t], inactive: !steady && c.runnable == 0}
		}
		divide(claims, total[t])
		for i, c := range q.children {
			if steady {
				c.steady[t] = claims[i].share
			} else {
				c.share[t] = claims[i].share
			}
		}
	}
}

func (s *Scheduler) claims(n int) []claim { return make([]claim, n) }

// fairShares computes what queues and applications below are entitled to now.
func (s *Scheduler) fairShares(q *Queue) {
	if q.Leaf {
		if q.reshare || q.shared != q.share {
			q.reshare, q.shared = false, q.share
			s.shareAmongApps(q)
		}
		return
	}
	s.shareAmong(q, &q.share, false)
	for _, c := range q.children {
		s.fairShares(c)
	}
}

// shareAmongApps shares what a leaf is entitled to among its applications.
//
// compat: under fifo the first gets all of it, and others keep what they had.
func (s *Scheduler) shareAmongApps(q *Queue) {
	if q.policy == allocation.FIFO {
		var first *app
		for _, a := range q.running {
			if first == nil || a.order < first.order {
				first = a
			}
		}
		if first != nil {
			first.share = q.share
			s.noteHolder(first)
		}
		return
	}
	claims := s.claims(len(q.running))
	for t := range s.shared(q.policy) {
		most := int64(math.MaxInt64)
		if t == yarn.VCores {
			most = allocation.MaxVCores
		}
		for i, a := range q.running {
			claims[i] = claim{weight: float64(s.weight(a)), most: most}
		}
		divide(claims, q.share[t])
		for i, a := range q.running {
			a.share[t] = claims[i].share
		}
	}
	for _, a := range q.running {
		s.noteHolder(a)
	}
}

// weight is that of an application.
func (s *Scheduler) weight(a *app) float32 {
	if s.cfg.SizeWeight {
		return float32(math.Log1p(float64(a.demand[yarn.Memory])) / math.Ln2)
	}
	return 1
}

// Recompute brings demands and shares up to date; see the facade. Of applications only those are looked at that have changed.
func (s *Scheduler) Recompute(now yarn.Now) {
	s.Advance(now)
	s.demands(s.root)
	s.root.share = s.Books.Total
	s.fairShares(s.root)
	s.noteFree()
	s.findStarved()
}

// change notes that an application uses or asks for something else than when demands were last looked at.
func (a *app) change() {
	if !a.changed {
		a.changed = true
		a.queue.changed = append(a.queue.changed, a)
		a.queue.outdate()
	}
}

// demands looks at what queues and applications use and ask for, and lines them up by it. Only those are looked at that may have changed.
func (s *Scheduler) demands(q *Queue) {
	if !q.outdated {
		return
	}
	q.outdated = false
	if q.Leaf {
		for _, a := range q.changed {
			a.changed = false
			s.Calc.Decrease(&q.wanted, &a.demand)
			a.demand = s.wants(a)
			s.Calc.Increase(&q.wanted, &a.demand)
			s.lineUpApp(a)
		}
		q.reshare = q.reshare || len(q.changed) > 0 && s.cfg.SizeWeight
		clear(q.changed)
		q.changed = q.changed[:0]
	} else {
		q.wanted = resource{}
		for _, c := range q.children {
			s.demands(c)
			s.Calc.Increase(&q.wanted, &c.demand)
		}
	}
	q.demand = q.wanted
	for t := range s.types() {
		q.demand[t] = min(q.demand[t], q.max[t])
	}
	if !q.Leaf {
		clear(q.demand[yarn.VCores+1:]) // compat: parents have no demand of other types
	}
	if s.tighten(q); q.up != nil {
		s.lineUpOne(q)
	}
}

// wants is what an application uses and asks for.
func (s *Scheduler) wants(a *app) resource {
	sum := s.appUsed(a)
	for p := range s.Books.Partitions() {
		asked := a.Wants.Pending(cluster.Part(p))
		s.Calc.Increase(&sum, &asked)
	}
	return sum
}

// comes has an attempt count for its leaf's demand and shares, goes has it not do so any more.
func (s *Scheduler) comes(a *app) {
	s.Calc.Increase(&a.queue.wanted, &a.demand)
	a.queue.reshare = true
	a.change()
}

func (s *Scheduler) goes(a *app) {
	q := a.queue
	s.Calc.Decrease(&q.wanted, &a.demand)
	q.reshare = true
	q.outdate()
	if a.changed {
		a.changed = false
		q.changed = drop(q.changed, a)
	}
}
