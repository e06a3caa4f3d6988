package capacity

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// NodesChanged goes through the queues once more if anybody waits for admission.
//
// compat: Apache does so when a node comes, goes or changes its size, because it takes
// that for news of the node's partition, too. Who waits is looked at again, after the
// first time has counted anew the users with whom the share of masters is divided.
func (s *Scheduler) NodesChanged() {
	waits := func(q *Queue) bool { return q != nil && q.Leaf && q.leaf.pending.count > 0 }
	if slices.ContainsFunc(s.tree.Queues, waits) {
		s.Entitle()
	}
}

// recalculateFrom brings the entitlement of a queue, and of those below it, up to date.
// It is due when a node comes, goes, changes its size or its partition, when
// the configuration changes and when a dynamic queue comes or goes.
func (s *Scheduler) recalculateFrom(q *Queue, limit resource) {
	if s.cfg.Legacy {
		s.update(q, limit)
		return
	}
	s.updateVectors(q)
}

// update is the recalculation in legacy mode, top down.
func (s *Scheduler) update(q *Queue, limit resource) {
	q.Touch()
	if q.Leaf {
		s.updateLeaf(q, limit)
		return
	}
	if q.Up == nil {
		for p := range q.Shares {
			if sh := &q.Shares[p]; sh.Known && sh.Weight > 0 {
				sh.Normalized = 1
			}
		}
	}
	updateAbsolute(q, true)
	s.normalizeWeights(q)
	for i := range q.set {
		p := q.set[i].p
		if q.Up == nil {
			total := s.Books.Partition(p).Total
			q.Shares[p].EffMin, q.Shares[p].EffMax = total, total
		} else {
			s.updateEffective(q)
		}
		s.scaleMinima(q, p)
	}
	for _, c := range q.Children {
		var below resource
		s.childLimit(q, c, &limit, &resource{}, 0, &below)
		s.update(c, below)
	}
	s.updateStatistics(q)
}

func (s *Scheduler) updateLeaf(q *Queue, limit resource) {
	l := q.leaf
	l.lastCluster = s.Books.Total
	updateAbsolute(q, true)
	s.updateEffective(q)
	s.updateMaxApps(q, true)
	s.refreshLeaf(q, limit)
}

// refreshLeaf is what a leaf does after its entitlement was recalculated.
func (s *Scheduler) refreshLeaf(q *Queue, limit resource) {
	l := q.leaf
	s.visit(q, &limit)
	l.queueLimit = l.visitLimit
	for p := range q.Shares {
		s.sumRatios(l, part(p))
	}
	s.updateStatistics(q)
	s.activate(q)
	l.version++
	for _, a := range l.active.apps {
		s.noteHeadroom(q, a, 0, respect)
	}
}

// childLimit finds what a child may use of what its parent may, and puts it into
// room; blocked is kept for siblings that wait.
func (s *Scheduler) childLimit(q, c *Queue, limit, blocked *resource, p part, room *resource) {
	if own := &q.Shares[p]; s.Calc.More(&s.Books.Total, limit, &own.EffMax) {
		limit = &own.EffMax
	}
	var left resource
	s.Calc.Sub(&left, limit, blocked)
	s.Calc.Decrease(&left, &q.Ledger[p].Used)
	s.childRoom(room, &left, &c.Ledger[p].Used)
}

// visit remembers the limit that the leaf was last walked with, for headrooms.
func (s *Scheduler) visit(q *Queue, limit *resource) {
	most := &q.leaf.visitLimit
	core.Keep(s.Journal, most)
	s.Calc.Set(most, &q.Shares[0].EffMax)
	s.Calc.RoundDown(most, &s.Min)
	if s.Calc.More(&s.Books.Total, most, limit) {
		s.Calc.Set(most, limit)
	}
}

// updateAbsolute derives fractions of the cluster from those of the parent.
//
// compat: nothing is stored for a fraction of zero; what was there stays.
func updateAbsolute(q *Queue, legacy bool) {
	for p := range q.Shares {
		sh := &q.Shares[p]
		if !sh.Known {
			continue
		}
		above, aboveMax := float32(1), float32(1)
		if q.Up != nil {
			above, aboveMax = q.Up.Shares[p].Absolute, q.Up.Shares[p].AbsoluteMax
		}
		if legacy {
			if c := javaMax(sh.Capacity, sh.Normalized); c > 0 {
				sh.Absolute = javanum.Mul(c, above)
			}
		} else {
			sh.Absolute = javanum.Mul(sh.Capacity, above)
		}
		if sh.MaxCapacity > 0 {
			sh.AbsoluteMax = javanum.Mul(sh.MaxCapacity, aboveMax)
		}
	}
}

// javaMax is Math.max: NaN wins.
func javaMax(a, b float32) float32 {
	if a != a || b != b {
		return float32(math.NaN())
	}
	return max(a, b)
}

// capacityType is how the capacities of a set of queues are written.
type capacityType uint8

const (
	byWeight capacityType = iota
	byAmount
	byPercent
)

// typeOf is the way in which the queues' capacities are written; mixed tells
// that they contradict each other.
//
// compat: of percentages and amounts the later ones win, in the order of the
// queues.
func (s *Scheduler) typeOf(parent *Queue, queues []*Queue) (t capacityType, mixed bool) {
	var percent, weight, amount bool
	for _, q := range queues {
		for p := range parent.Shares {
			if !parent.Shares[p].Known {
				continue
			}
			sh := &q.Shares[p]
			percent = percent || sh.Capacity > 0
			weight = weight || sh.Weight >= 0
			if q.isAmount(part(p)) {
				amount, percent = true, false
			}
		}
	}
	kinds := 0
	for _, is := range []bool{percent, weight, amount} {
		if is {
			kinds++
		}
	}
	mixed = kinds > 1 && queues[0].Up != nil
	switch {
	case weight || len(queues) == 0:
		return byWeight, mixed
	case amount:
		return byAmount, mixed
	}
	return byPercent, mixed
}

// isAmount tells whether the capacity in the partition is written as amounts.
func (q *Queue) isAmount(p part) bool {
	for i := range q.set {
		if q.set[i].p == p {
			return q.set[i].Absolute
		}
	}
	return false
}

func (s *Scheduler) normalizeWeights(q *Queue) {
	for p := range q.Shares {
		if !q.Shares[p].Known {
			continue
		}
		for _, c := range q.Children {
			if c.Dynamic && c.Shares[p].Weight == -1 {
				c.Shares[p].Weight, c.Shares[p].Known = 1, true
			}
		}
	}
	if t, _ := s.typeOf(q, q.Children); t != byWeight {
		return
	}
	for p := range q.Shares {
		if !q.Shares[p].Known {
			continue
		}
		var sum float32
		for _, c := range q.Children {
			if c.Shares[p].Known {
				sum = javanum.Add(sum, max(0, c.Shares[p].Weight))
			}
		}
		if math.Abs(float64(sum)) <= 1e-6 {
			continue
		}
		for _, c := range q.Children {
			if c.Shares[p].Known {
				c.Shares[p].Normalized = javanum.Div(c.Shares[p].Weight, sum)
			}
		}
	}
}

// updateEffective turns fractions or configured amounts into resources.
func (s *Scheduler) updateEffective(q *Queue) {
	for i := range q.set {
		p := q.set[i].p
		total, sh := s.Books.Partition(p).Total, &q.Shares[p]
		if !q.absolute {
			sh.EffMin = measure.Scale(total, float64(sh.Absolute))
			sh.EffMax = measure.Scale(total, float64(sh.AbsoluteMax))
			continue
		}
		up := &q.Up.Shares[p]
		sh.EffMin = sh.ConfMin
		for i, scaled := range up.scaled {
			if scaled {
				sh.EffMin[i] = javanum.Long(float64(javanum.Mul(float32(sh.ConfMin[i]), up.scale[i])))
			}
		}
		above := up.ConfMax
		if none(above) {
			above = up.EffMax
		}
		sh.EffMax = above
		if !none(sh.ConfMax) {
			sh.EffMax = *s.Calc.Min(&total, &sh.ConfMax, &above)
		}
		s.deriveFractions(sh, up)
	}
}

func (s *Scheduler) deriveFractions(sh, up *Share) {
	finite := func(f float32) float32 {
		if math.IsInf(float64(f), 0) {
			return 0
		}
		return f
	}
	sh.Known = true
	sh.Capacity = finite(s.Calc.Divide(&s.Books.Total, &sh.EffMin, &up.EffMin))
	sh.MaxCapacity = finite(s.Calc.Divide(&s.Books.Total, &sh.EffMax, &up.EffMax))
	sh.Absolute = javanum.Mul(sh.Capacity, up.Absolute)
	sh.AbsoluteMax = javanum.Mul(sh.MaxCapacity, up.AbsoluteMax)
}

// scaleMinima finds by how much the children's minima must be cut.
//
// compat: where the sum is too large in the calculator's order, every resource
// is scaled, also those of which there is more than enough.
func (s *Scheduler) scaleMinima(q *Queue, p part) {
	sh := &q.Shares[p]
	sh.scaled = [yarn.MaxResourceTypes]bool{}
	var sum resource
	for _, c := range q.Children {
		sum = sum.Add(c.Shares[p].ConfMin)
	}
	have := sh.EffMin
	if q.Up == nil {
		have = s.Books.Partition(p).Total
		if none(have) {
			return
		}
	}
	if !s.Calc.Less(&s.Books.Total, &have, &sum) {
		return
	}
	for i := range s.cfg.Cluster.Types {
		if sum[i] != 0 {
			sh.scaled[i] = true
			sh.scale[i] = float32(float32(have[i]) / float32(sum[i]))
		}
	}
}

// updateStatistics brings the used fractions up to date in all partitions.
func (s *Scheduler) updateStatistics(q *Queue) {
	if q.Up != nil {
		q.Up.reorder()
	}
	for p := range q.Shares {
		sh := &q.Shares[p]
		sh.Measured = s.guaranteed(q, part(p))
		if has := &q.Ledger[p]; sh.Known || !none(has.Used) || !none(has.Pending) || !none(has.Reserved) {
			s.updateUsed(q, part(p), &s.Books.Partition(part(p)).Total)
		}
	}
}

// updateUsed brings the fractions that order queues up to date.
func (s *Scheduler) updateUsed(q *Queue, p part, total *resource) {
	sh, used := &q.Shares[p], &q.Ledger[p].Used
	sh.Known = true
	sh.AbsoluteUsed, sh.UsedCapacity = s.Calc.Fractions(total, used, &sh.Measured)
	s.resort(q, p)
}

// guaranteed is what used fractions are measured against.
func (s *Scheduler) guaranteed(q *Queue, p part) resource {
	sh := &q.Shares[p]
	total := s.Books.Partition(p).Total
	g := sh.EffMin
	if q.ManagedLeaf() && sh.Absolute == 0 {
		g = measure.Scale(total, float64(q.Up.template(s, p)))
	}
	return *s.Calc.Max(&total, &g, &s.Min)
}

// ManagedLeaf tells whether the queue was created below a legacy managed parent.
func (q *Queue) ManagedLeaf() bool { return q.Up != nil && q.Up.Conf.Kind == config.Managed }

// updateMaxApps sets how many applications the leaf takes, in all and per user.
func (s *Scheduler) updateMaxApps(q *Queue, ready bool) {
	base := s.cfg.MaxSystemApps
	if s.cfg.MaxQueueApps > 0 {
		base = min(s.cfg.MaxQueueApps, s.cfg.MaxSystemApps)
	}
	most := q.Conf.MaxApps
	switch {
	case most >= 0:
	case !ready, s.cfg.MaxQueueApps > 0 && !q.absolute:
		most = base
	default:
		for i := range q.set {
			most = max(most, javanum.Int(javanum.Mul(float32(base), q.Shares[q.set[i].p].Absolute)))
		}
	}
	l := q.leaf
	l.maxApps, l.maxAppsPerUser = most, most
	if f := q.Conf.UserFactor; f != -1 {
		each := javanum.Mul(javanum.Mul(float32(most), javanum.Div(q.Conf.UserLimit, 100)), f)
		l.maxAppsPerUser = min(most, javanum.Int(each))
	}
}

// maxAppsKey names the setting that updateMaxApps has taken.
func (s *Scheduler) maxAppsKey(q *Queue) string {
	switch {
	case q.Conf.MaxApps >= 0:
		return config.Prefix + q.Path + ".maximum-applications"
	case s.cfg.MaxQueueApps > 0:
		return config.Prefix + "global-queue-max-application"
	}
	return config.Prefix + "maximum-applications, the queue's share of it"
}
