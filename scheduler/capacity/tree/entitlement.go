package tree

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Entitle brings the entitlement of a queue, and of those below it, up to date. It is due
// when a node comes, goes, changes its size or its partition, when the configuration
// changes and when a dynamic queue comes or goes.
func (l *Live) Entitle(q *Queue) {
	if l.Config.Legacy {
		l.update(q, l.Total)
	} else {
		if q.Up != nil {
			q = q.Up // what its children have is found for all of them together
		}
		l.updateVectors(q)
	}
	l.Server.SharesChanged(q)
}

// update is Entitle in legacy mode, top down. limit is what the queue may use in the
// default partition, seen from above.
func (l *Live) update(q *Queue, limit resource) {
	if q.Leaf {
		updateAbsolute(q, true)
		l.updateEffective(q)
		l.refreshLeaf(q, &limit, true)
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
	normalizeWeights(q)
	for i := range q.set {
		p := q.set[i].p
		if q.Up == nil {
			total := l.Parts.Partition(p).Total
			q.Shares[p].EffMin, q.Shares[p].EffMax = total, total
		} else {
			l.updateEffective(q)
		}
		l.scaleMinima(q, p)
	}
	for _, c := range q.Children {
		l.update(c, l.childLimit(q, c, &limit))
	}
	l.updateStatistics(q)
}

// refreshLeaf ends the recalculation of a leaf. sized: its number of applications follows
// from what it is entitled to.
func (l *Live) refreshLeaf(q *Queue, limit *resource, sized bool) {
	l.updateMaxApps(q, sized)
	l.updateStatistics(q)
	l.Server.Entitled(q, limit)
}

// LimitOf is what a queue may use in the default partition now, seen from above, as it is told to leaves that are entitled.
func (b *Basis) LimitOf(q *Queue) resource {
	if q.Up == nil {
		return b.Total
	}
	above := b.LimitOf(q.Up)
	return b.childLimit(q.Up, q, &above)
}

// childLimit is what a child may use of what its parent may, in the default partition.
func (b *Basis) childLimit(q, c *Queue, limit *resource) (room resource) {
	if own := &q.Shares[0]; b.Calc.More(&b.Total, limit, &own.EffMax) {
		limit = &own.EffMax
	}
	b.Calc.Sub(&room, limit, &q.Ledger[0].Used)
	b.Calc.Increase(&room, &q.Ledger[0].Killable)
	b.Calc.Increase(&room, &c.Ledger[0].Used)
	b.Calc.RoundDown(&room, &b.Min)
	return room
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
			if c := max(sh.Capacity, sh.Normalized); c > 0 {
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
func typeOf(parent *Queue, queues []*Queue) (t capacityType, mixed bool) {
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

// normalizeWeights finds which parts the children's weights are of their sum. Queues that
// were created on demand without a weight have the weight 1.
func normalizeWeights(q *Queue) {
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
	if t, _ := typeOf(q, q.Children); t != byWeight {
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
func (b *Basis) updateEffective(q *Queue) {
	for i := range q.set {
		p := q.set[i].p
		total, sh := b.Parts.Partition(p).Total, &q.Shares[p]
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
		if above.IsZero() {
			above = up.EffMax
		}
		sh.EffMax = above
		if !sh.ConfMax.IsZero() {
			sh.EffMax = *b.Calc.Min(&total, &sh.ConfMax, &above)
		}
		b.deriveFractions(sh, up, &b.Total)
		sh.Absolute = javanum.Mul(sh.Capacity, up.Absolute)
		sh.AbsoluteMax = javanum.Mul(sh.MaxCapacity, up.AbsoluteMax)
	}
}

// deriveFractions finds which parts a queue's resources are of its parent's. Nothing is no
// part of nothing.
func (b *Basis) deriveFractions(sh, up *Share, total *resource) {
	finite := func(f float32) float32 {
		if math.IsInf(float64(f), 0) {
			return 0
		}
		return f
	}
	sh.Known = true
	sh.Capacity = finite(b.Calc.Divide(total, &sh.EffMin, &up.EffMin))
	sh.MaxCapacity = finite(b.Calc.Divide(total, &sh.EffMax, &up.EffMax))
}

// scaleMinima finds by how much the children's minima must be cut.
//
// compat: where the sum is too large in the calculator's order, every resource
// is scaled, also those of which there is more than enough.
func (b *Basis) scaleMinima(q *Queue, p part) {
	sh := &q.Shares[p]
	sh.scaled = [yarn.MaxResourceTypes]bool{}
	var sum resource
	for _, c := range q.Children {
		sum = sum.Add(c.Shares[p].ConfMin)
	}
	have := sh.EffMin
	if q.Up == nil {
		have = b.Parts.Partition(p).Total
		if have.IsZero() {
			return
		}
	}
	if !b.Calc.Less(&b.Total, &have, &sum) {
		return
	}
	for i := range b.Config.Cluster.Types {
		if sum[i] != 0 {
			sh.scaled[i] = true
			sh.scale[i] = float32(float32(have[i]) / float32(sum[i]))
		}
	}
}

// updateStatistics brings the used fractions up to date in all partitions.
func (b *Basis) updateStatistics(q *Queue) {
	for p := range q.Shares {
		sh := &q.Shares[p]
		sh.Measured = b.guaranteed(q, part(p))
		if has := &q.Ledger[p]; sh.Known || !has.Used.IsZero() || !has.Pending.IsZero() || !has.Reserved.IsZero() {
			UpdateUsed(b.Calc, q, part(p), &b.Parts.Partition(part(p)).Total)
		}
	}
}

// UpdateUsed brings the fractions that order queues up to date in one partition, which
// has so much in all.
func UpdateUsed(calc measure.Calculator, q *Queue, p cluster.Part, total *yarn.Resource) {
	sh := &q.Shares[p]
	sh.Known = true
	sh.AbsoluteUsed, sh.UsedCapacity = calc.Fractions(total, &q.Ledger[p].Used, &sh.Measured)
}

// ReservedFractions are the parts that reservations take of what is the queue's in the
// partition, and of the partition.
func (b *Basis) ReservedFractions(q *Queue, p cluster.Part) (ofQueue, ofPartition float32) {
	total, has := b.Parts.Partition(p).Total, &q.Ledger[p]
	if has.Reserved.IsZero() || !b.Calc.Positive(&total, &total) {
		return 0, 0
	}
	guaranteed := b.guaranteed(q, p)
	return b.Calc.Divide(&total, &has.Reserved, &guaranteed), b.Calc.Divide(&total, &has.Reserved, &total)
}

// guaranteed is what used fractions are measured against.
func (b *Basis) guaranteed(q *Queue, p part) resource {
	sh := &q.Shares[p]
	total := b.Parts.Partition(p).Total
	g := sh.EffMin
	if q.ManagedLeaf() && sh.Absolute == 0 {
		g = measure.Scale(total, float64(b.template(q.Up, p)))
	}
	return *b.Calc.Max(&total, &g, &b.Min)
}

// updateMaxApps sets how many applications the leaf takes, in all and per user. ready:
// what it is entitled to is known.
func (b *Basis) updateMaxApps(q *Queue, ready bool) {
	if q.PlanLeaf() {
		q.planQuotas()
		return
	}
	base := b.Config.MaxSystemApps
	if b.Config.MaxQueueApps > 0 {
		base = min(b.Config.MaxQueueApps, b.Config.MaxSystemApps)
	}
	most := q.Conf.MaxApps
	switch {
	case most >= 0:
	case !ready, b.Config.MaxQueueApps > 0 && !q.absolute:
		most = base
	default:
		for i := range q.set {
			most = max(most, javanum.Int(javanum.Mul(float32(base), q.Shares[q.set[i].p].Absolute)))
		}
	}
	q.MaxApps, q.MaxAppsPerUser = most, most
	if f := q.Conf.UserFactor; f != -1 {
		each := javanum.Mul(javanum.Mul(float32(most), javanum.Div(q.Conf.UserLimit, 100)), f)
		q.MaxAppsPerUser = min(most, javanum.Int(each))
	}
}

// MaxAppsKey names the setting that updateMaxApps has taken.
func MaxAppsKey(cfg *config.Capacity, q *Queue) string {
	switch {
	case q.Conf.MaxApps >= 0:
		return config.Prefix + q.Path + ".maximum-applications"
	case cfg.MaxQueueApps > 0:
		return config.Prefix + "global-queue-max-application"
	}
	return config.Prefix + "maximum-applications, the queue's share of it"
}
