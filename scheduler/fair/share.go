package fair

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// claim is a queue or an application among which one type of resource is divided.
type claim struct {
	weight      float64
	least, most int64
	inactive    bool // it gets nothing
	share       int64
}

// fixed tells whether the share does not depend on other claims. If so it sets it.
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

// same tells whether two claims get the same share whatever the total is.
func (c *claim) same(o *claim) bool {
	return c.weight == o.weight && c.least == o.least && c.most == o.most
}

// at is the share if a weight of 1 gets so much.
func (c *claim) at(each float64) int64 {
	return javanum.Long(min(max(float64(c.weight*each), float64(c.least)), float64(c.most)))
}

// steps is how often the interval of amounts for a weight of 1 is halved.
//
// compat: no more often, so that shares may add up to more than there is.
const steps = 25

// run is equal claims, one after the other.
type run struct {
	*claim
	count int64
}

// divide shares an amount among claims in proportion to their weights, none below its least or above its most.
func divide(claims []claim, total int64) {
	open, taken := make([]run, 0, 8), int64(0)
	for i := range claims {
		c := &claims[i]
		if c.fixed() {
			taken = plus(taken, c.share)
		} else if last := len(open) - 1; last >= 0 && open[last].same(c) {
			open[last].count++
		} else {
			open = append(open, run{c, 1})
		}
	}
	if len(open) == 0 {
		return
	}
	each := level(open, max(total-taken, 0))
	for i := range claims {
		if c := &claims[i]; !c.fixed() {
			c.share = c.at(each)
		}
	}
}

// level is how much a weight of 1 gets of the total.
func level(open []run, total int64) float64 {
	most := int64(0)
	for _, c := range open {
		most = plus(most, times(c.most, c.count))
	}
	total = min(most, total)
	used := func(each float64) (sum int64) {
		for _, c := range open {
			if sum = plus(sum, times(c.at(each), c.count)); sum == math.MaxInt64 {
				break
			}
		}
		return sum
	}
	high, low := 1.0, 0.0
	for used(high) < total && !math.IsInf(high, 1) { // the loop would never end at infinity
		high *= 2
	}
	for range steps {
		middle := (low + high) / 2
		sum := used(middle)
		if sum == total {
			return middle
		}
		if sum < total {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// evenly divides amounts among a number of applications of the same weight. It keeps its last answer, since many leaves have the same share and
// as many applications: without it 10,000 leaves with new shares take twice as long.
type evenly struct{ most, total, count, share int64 }

func (e *evenly) divide(most, total, count int64) int64 {
	if e.most != most || e.total != total || e.count != count {
		c := claim{weight: 1, most: most}
		*e = evenly{most, total, count, c.at(level([]run{{&c, count}}, max(total, 0)))}
	}
	return e.share
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

// sharedTypes is how many types of resources a policy divides.
func (s *Scheduler) sharedTypes(p allocation.Policy) int {
	if p == allocation.DRF {
		return s.types()
	}
	return 1
}

// updateSteadyShares computes steady shares, if that is due.
//
// compat: it is not due because queues were removed.
func (s *Scheduler) updateSteadyShares() {
	if s.steadyDue {
		s.steadyDue = false
		s.root.steady = s.Books.Total
		s.steadySharesBelow(s.root)
	}
}

// steadySharesBelow computes the shares of the queues below, as if all had running applications.
func (s *Scheduler) steadySharesBelow(q *Queue) {
	if q.Leaf {
		return
	}
	s.shareAmong(q, &q.steady, true)
	for _, c := range q.children {
		s.steadySharesBelow(c)
	}
}

// shareAmong divides an amount among the children of a queue. Shares of types that its policy does not divide stay as they are.
func (s *Scheduler) shareAmong(q *Queue, total *resource, steady bool) {
	if q.policy == allocation.FIFO {
		return
	}
	for t := range s.sharedTypes(q.policy) {
		claims := s.claims[:0]
		for _, c := range q.children {
			claims = append(claims, claim{weight: float64(c.weight), least: c.least[t], most: c.max[t], inactive: !steady && c.runnable == 0})
		}
		s.claims = claims
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

// fairShares computes the fair shares of queues and applications below.
func (s *Scheduler) fairShares(q *Queue) {
	if q.Leaf {
		if q.redivide || q.lastShare != q.share {
			q.redivide, q.lastShare = false, q.share
			s.shareAmongApps(q)
		}
		return
	}
	s.shareAmong(q, &q.share, false)
	for _, c := range q.children {
		s.fairShares(c)
	}
}

// shareAmongApps divides the fair share of a leaf among its applications.
//
// compat: under fifo the first gets all of it, and others keep their old shares.
func (s *Scheduler) shareAmongApps(q *Queue) {
	if len(q.runnableApps) == 0 {
		return
	}
	if q.policy == allocation.FIFO {
		var first *app
		for _, a := range q.runnableApps {
			if first == nil || a.order < first.order {
				first = a
			}
		}
		first.share = q.share
		s.noteReserver(first)
		return
	}
	for t := range s.sharedTypes(q.policy) {
		most := int64(math.MaxInt64)
		if t == yarn.VCores {
			most = allocation.MaxVCores
		}
		if !s.cfg.SizeWeight {
			share := s.evenly[t].divide(most, q.share[t], int64(len(q.runnableApps)))
			for _, a := range q.runnableApps {
				a.share[t] = share
			}
			continue
		}
		claims := s.claims[:0]
		for _, a := range q.runnableApps {
			claims = append(claims, claim{weight: float64(s.weight(a)), most: most})
		}
		divide(claims, q.share[t])
		for i, a := range q.runnableApps {
			a.share[t] = claims[i].share
		}
		s.claims = claims
	}
	for _, a := range q.runnableApps {
		s.noteReserver(a)
	}
}

// weight is the weight of an application.
func (s *Scheduler) weight(a *app) float32 {
	if s.cfg.SizeWeight {
		return float32(math.Log1p(float64(a.demand[yarn.Memory])) / math.Ln2)
	}
	return 1
}

// Recompute updates demands and shares; see the facade. It looks only at applications that have changed.
func (s *Scheduler) Recompute(now yarn.Now) {
	s.Advance(now)
	s.demands(s.root)
	s.root.share = s.Books.Total
	s.fairShares(s.root)
	s.claims = nil // there may have been tens of thousands
	s.noteFree()
	s.findStarved()
}

// change notes that the application's demand is out of date.
func (a *app) change() {
	if !a.changed {
		a.changed = true
		a.queue.changed = append(a.queue.changed, a)
		a.queue.outdate()
	}
}

// demands updates the demands of outdated queues and of applications that have changed, and their places in lineups.
func (s *Scheduler) demands(q *Queue) {
	if !q.outdated {
		return
	}
	q.outdated = false
	if q.Leaf {
		for _, a := range q.changed {
			a.changed = false
			s.Calc.Decrease(&q.demandSum, &a.demand)
			a.demand = s.demandNow(a)
			s.Calc.Increase(&q.demandSum, &a.demand)
			s.lineUpApp(a)
		}
		q.redivide = q.redivide || len(q.changed) > 0 && s.cfg.SizeWeight
		clear(q.changed)
		q.changed = q.changed[:0]
	} else {
		q.demandSum = resource{}
		for _, c := range q.children {
			s.demands(c)
			s.Calc.Increase(&q.demandSum, &c.demand)
		}
	}
	q.demand = q.demandSum
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

// demandNow is what an application uses and asks for.
func (s *Scheduler) demandNow(a *app) resource {
	sum := s.appUsed(a)
	for p := range s.Books.Partitions() {
		asked := a.Wants.Pending(cluster.Part(p))
		s.Calc.Increase(&sum, &asked)
	}
	return sum
}

// addDemand counts an attempt in its leaf's demand and shares, dropDemand no longer does.
func (s *Scheduler) addDemand(a *app) {
	s.Calc.Increase(&a.queue.demandSum, &a.demand)
	a.queue.redivide = true
	a.change()
}

func (s *Scheduler) dropDemand(a *app) {
	q := a.queue
	s.Calc.Decrease(&q.demandSum, &a.demand)
	q.redivide = true
	q.outdate()
	if a.changed {
		a.changed = false
		q.changed = drop(q.changed, a)
	}
}
