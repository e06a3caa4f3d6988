package users

import (
	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Refuse notes that a walk refused an application of the user, which has so much reserved.
func (b *Block) Refuse(version int64, reserved *yarn.Resource) {
	if b.Refused != version || b.Reserved.FitsIn(*reserved) {
		b.Refused, b.Reserved = version, *reserved
	}
}

// Block brings the limit of a user up to date, for a walk.
func (l *Users) Block(q *tree.Queue, u *User, p cluster.Part, m Mode) *Block {
	b := &u.Shares[p].Blocks[m]
	core.Keep(l.core.Journal, b)
	l.core.Calc.Set(&b.Limit, l.Limit(q, p, m))
	if u.Weight != 1 { // it is a multiple of the least container already
		l.core.Calc.ScaleDown(&b.Limit, float64(u.Weight), &l.core.Min)
	}
	return b
}

// Limit is the limit of a user of weight 1 in a partition (UsersManager): the
// configured percentage of what the queue may grow to, or one share among the
// active users of what these use, within bounds.
func (l *Users) Limit(q *tree.Queue, p cluster.Part, m Mode) *yarn.Resource {
	c := &l.Shares[p].Limits[m]
	if c.Version == l.Version {
		return &c.Value
	}
	core.Keep(l.core.Journal, c)
	core.Keep(l.core.Journal, &l.onlyPending)
	c.Version, l.onlyPending = l.Version, l.onlyPendingIs
	l.compute(q, p, m, false, &c.Value)
	return &c.Value
}

// LimitOfAll is what each user of weight 1 might use if all who have applications shared the queue, those included who ask for nothing.
func (l *Users) LimitOfAll(q *tree.Queue, p cluster.Part) *yarn.Resource {
	c := &l.Shares[p].OfAll
	if c.Version != l.Version {
		c.Version, l.onlyPending = l.Version, l.onlyPendingIs
		l.compute(q, p, Respect, true, &c.Value)
	}
	return &c.Value
}

// LimitNow is Limit times a weight, for queries: it writes neither the limit, which is to
// stand for this version only once a call has computed it, nor the number of users who
// only wait, by which masters are admitted.
func (l *Users) LimitNow(q *tree.Queue, p cluster.Part, m Mode, weight float32) (limit yarn.Resource) {
	if c := &l.Shares[p].Limits[m]; c.Version == l.Version {
		limit = c.Value
	} else {
		l.compute(q, p, m, false, &limit)
	}
	l.core.Calc.ScaleDown(&limit, float64(weight), &l.core.Min)
	return limit
}

// LimitIf is LimitNow by the rules of q, which may be others than those in force.
func (l *Users) LimitIf(q *tree.Queue, p cluster.Part, m Mode, weight float32) (limit yarn.Resource) {
	l.compute(q, p, m, false, &limit)
	l.core.Calc.ScaleDown(&limit, float64(weight), &l.core.Min)
	return limit
}

// LimitOf is what a user may use as one who asks for something, whether it does or not, and what it uses.
func (l *Users) LimitOf(q *tree.Queue, p cluster.Part, name string) (limit, used yarn.Resource) {
	u, weight := l.byName[name], q.Conf.Weight(name)
	if u != nil {
		used = u.Shares[p].Used
	}
	if u != nil && u.IsActive {
		return l.LimitNow(q, p, Respect, weight), used
	}
	all := &l.Shares[p]
	keptUsed, keptWeight := all.ActiveUsed, l.activeWeight
	l.core.Calc.Increase(&all.ActiveUsed, &used)
	l.activeWeight = javanum.Add(l.activeWeight, weight)
	limit = l.LimitIf(q, p, Respect, weight)
	all.ActiveUsed, l.activeWeight = keptUsed, keptWeight
	return limit, used
}

// compute finds the limit. ofAll: users who ask for nothing share, too.
//
// compat: the percentage is divided in integers, the share in single precision.
func (l *Users) compute(q *tree.Queue, p cluster.Part, m Mode, ofAll bool, limit *yarn.Resource) {
	all, calc, step := &l.Shares[p], l.core.Calc, &l.core.Min
	total, sh := &l.core.Books.Partition(p).Total, &q.Shares[p]
	entitled := calc.Max(total, &sh.EffMin, step)
	least, most := *total, *total
	calc.ScaleUp(&least, float64(all.UsageRatio), step)
	if calc.Less(total, &least, entitled) {
		least = *entitled
	} else {
		calc.Increase(&least, step)
	}
	if ofAll {
		*limit = least
		calc.DivideUp(limit, l.weight())
	} else {
		*limit = all.ActiveUsed
		calc.Increase(limit, step)
		calc.DivideUp(limit, l.activeWeight)
	}
	calc.Percent(&least, float64(q.Rules.UserLimit))
	if calc.Less(total, limit, &least) {
		*limit = least
	}
	switch {
	case m == Ignore:
	case q.Rules.UserFactor != -1 && !sh.EffMin.IsZero():
		most = measure.Scale(*entitled, float64(q.Rules.UserFactor))
	default:
		most = sh.EffMax
		calc.RoundDown(&most, step)
	}
	if calc.More(total, limit, &most) {
		*limit = most
	}
	calc.RoundUp(limit, step)
}
