package tree

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Below a managed parent (auto-create-child-queue.enabled) leaves come to be on
// demand. They have the guarantee of the parent's template, or none while the
// parent's own is used up by others that have applications.

// slack is by how much guarantees may exceed the parent's.
const slack float32 = 0.001

// grant is the template's entitlement in one partition.
type grant struct {
	p                     part
	capacity, max         float32
	absolute, absoluteMax float32
	confMin               resource
}

// grants are the entitlements of the parent's template, by partition.
func (b *Basis) grants(cfg *config.Capacity, parent *Queue) ([]grant, error) {
	conf, err := cfg.ManagedTemplate(parent.Conf)
	if err != nil {
		return nil, err
	}
	var out []grant
	for _, label := range conf.Configured {
		a, p := conf.Amount(label), b.part(label)
		up := &parent.Shares[p]
		g := grant{p: p, capacity: a.Capacity, max: a.MaxCapacity, confMin: a.Min}
		if parent.absolute {
			b.grantAmounts(&g, &a, up)
		}
		if g.capacity > 0 {
			g.absolute = javanum.Mul(g.capacity, up.Absolute)
		}
		if g.max > 0 {
			g.absoluteMax = javanum.Mul(g.max, up.AbsoluteMax)
		}
		out = append(out, g)
	}
	return out, nil
}

func (b *Basis) grantAmounts(g *grant, a *config.Amount, up *Share) {
	most := a.Max
	if most.IsZero() {
		most = up.ConfMax
	}
	g.capacity = b.Calc.Divide(&b.Total, &a.Min, &up.ConfMin)
	g.max = b.Calc.Divide(&b.Total, b.Calc.Min(&b.Total, &most, &up.ConfMax), &up.ConfMax)
}

// template is the guarantee of the template in a partition, as a fraction.
func (b *Basis) template(q *Queue, p part) float32 {
	list, _ := b.grants(b.Config, q)
	for _, g := range list {
		if g.p == p {
			return g.absolute
		}
	}
	return 0
}

func (l *Live) createManaged(parent *Queue, name string) (*Queue, yarn.Reason) {
	q, why := l.newDynamic(parent, name, config.Leaf)
	if !why.OK() {
		return nil, why
	}
	list, err := l.grants(l.Config, parent)
	if err != nil {
		return nil, yarn.Reason{Code: fit.BadRequest, Subject: q.Path, Detail: err.Error()}
	}
	l.withhold(parent, q, list)
	if n := len(parent.Children); n >= int(parent.Conf.MaxChildren) {
		return nil, yarn.Reason{Code: fit.TooManyQueues, Subject: parent.Path, Count: int64(n), Max: int64(parent.Conf.MaxChildren)}
	}
	if parent.Conf.FailOnExceeding && exceeds(parent, list) {
		return nil, yarn.Reason{Code: fit.TooManyQueues, Subject: parent.Path, Detail: "guarantees of its leaves have reached its own"}
	}
	l.add(q)
	for _, g := range list {
		parent.room(g.p)
		q.room(g.p)
		free := javanum.Add(javanum.Add(parent.Shares[g.p].Absolute, -parent.granted[g.p]), slack)
		if free >= g.absolute {
			l.entitle(q, g)
			q.Up.grantTo(q, g)
		} else {
			l.entitle(q, grant{p: g.p, max: g.max})
		}
	}
	l.Entitle(parent)
	return q, yarn.Reason{}
}

func exceeds(parent *Queue, list []grant) bool {
	var sum float32
	for _, c := range parent.Children {
		sum = javanum.Add(sum, c.Shares[0].Absolute)
	}
	return len(list) > 0 && javanum.Add(list[0].absolute, sum) > parent.Shares[0].Absolute
}

// withhold takes every guarantee from a leaf, as when it is new.
//
// compat: the maximum of any partition becomes that of the default one.
func (b *Basis) withhold(parent, q *Queue, list []grant) {
	for p := range parent.Shares {
		if !parent.Shares[p].Known {
			continue
		}
		var most float32
		for _, g := range list {
			if g.p == part(p) {
				most = g.max
			}
		}
		sh := &q.Shares[p]
		sh.Known, sh.Capacity = true, 0
		sh.Absolute = javanum.Mul(parent.Shares[p].Absolute, 0)
		q.Shares[0].MaxCapacity = most
		q.Shares[0].AbsoluteMax = javanum.Mul(parent.Shares[0].AbsoluteMax, most)
		sh.Measured = b.guaranteed(q, part(p))
		UpdateUsed(b.Calc, q, part(p), &b.Parts.Partition(part(p)).Total)
	}
}

// room makes the lists of what was granted long enough for the partition.
func (q *Queue) room(p part) {
	for len(q.granted) <= int(p) {
		q.granted = append(q.granted, 0)
		q.hasGrant = append(q.hasGrant, false)
	}
}

// grantTo notes that a leaf has the guarantee of the template.
func (q *Queue) grantTo(c *Queue, g grant) {
	c.hasGrant[g.p] = true
	q.granted[g.p] = javanum.Add(q.granted[g.p], g.absolute)
}

// entitle gives a leaf its share of one partition at once.
func (b *Basis) entitle(q *Queue, g grant) {
	sh, total := &q.Shares[g.p], b.Parts.Partition(g.p).Total
	sh.Known = true
	sh.Capacity, sh.Absolute, sh.MaxCapacity, sh.AbsoluteMax = g.capacity, g.absolute, g.max, g.absoluteMax
	if q.absolute && g.absolute > 0 {
		sh.EffMin = g.confMin
	} else {
		sh.EffMin = measure.Scale(total, float64(g.absolute))
	}
	sh.EffMax = measure.Scale(total, float64(g.absoluteMax))
	if g.absolute == 0 && g.capacity == 0 {
		sh.ConfMin, sh.HasMin = resource{}, false
	}
	sh.Measured = b.guaranteed(q, g.p)
}

// ShareGuarantees shares out guarantees below all managed parents anew.
func (l *Live) ShareGuarantees() {
	for _, q := range l.Tree.Queues {
		if q != nil && q.Conf.Kind == config.Managed && !q.Conf.FailOnExceeding {
			if list, err := l.grants(l.Config, q); err == nil {
				l.shareGuarantees(q, list)
				l.Server.SharesChanged(q)
			}
		}
	}
}

// shareGuarantees takes guarantees from leaves without applications and gives them
// to those whose applications are the oldest.
func (b *Basis) shareGuarantees(q *Queue, list []grant) {
	for _, g := range list {
		q.room(g.p)
		var taken []*Queue
		var back float32
		for _, c := range q.Children {
			c.room(g.p)
			if c.hasGrant[g.p] && c.NumApps() == 0 {
				taken = append(taken, c)
				back = javanum.Add(back, g.absolute)
			}
		}
		free := javanum.Add(javanum.Add(javanum.Add(q.Shares[g.p].Absolute, -q.granted[g.p]), back), slack)
		var given []*Queue
		if free >= g.absolute {
			given = q.neediest(g.p, javanum.Int(javanum.Div(free, g.absolute)))
		}
		for _, c := range taken {
			b.entitle(c, grant{p: g.p, max: g.max})
			c.hasGrant[g.p] = false
			q.granted[g.p] = javanum.Add(q.granted[g.p], -g.absolute)
		}
		for _, c := range given {
			b.entitle(c, g)
			q.grantTo(c, g)
		}
	}
}

// neediest are up to most leaves without a guarantee, those with the oldest
// applications first.
func (q *Queue) neediest(p part, most int32) []*Queue {
	type member struct {
		id   yarn.ApplicationID
		leaf *Queue
	}
	var apps []member
	for _, c := range q.Children {
		if c.Facts != nil {
			for _, id := range c.Facts.Applications(nil) {
				apps = append(apps, member{id, c})
			}
		}
	}
	slices.SortFunc(apps, func(a, b member) int { return a.id.Compare(b.id) })
	var out []*Queue
	for _, a := range apps {
		if len(out) >= int(most) {
			break
		}
		if !a.leaf.hasGrant[p] && !slices.Contains(out, a.leaf) {
			out = append(out, a.leaf)
		}
	}
	return out
}

// renewManaged applies new settings below a managed parent: all guarantees are
// withdrawn and given out again.
func (b *Basis) renewManaged(cfg *config.Capacity, q *Queue) error {
	q.granted, q.hasGrant = nil, nil
	if len(q.Children) == 0 {
		return nil
	}
	list, err := b.grants(cfg, q)
	if err != nil {
		return err
	}
	for _, c := range q.Children {
		conf, err := cfg.Dynamic(q.Conf, c.Name, config.Leaf)
		if err != nil {
			return err
		}
		if !c.Conf.MaxAllocation.FitsIn(conf.MaxAllocation) {
			return lessAllocation(cfg, c)
		}
		c.configure(conf)
		c.granted, c.hasGrant = nil, nil
		if err := b.setup(cfg, c, nil); err != nil {
			return err
		}
		b.withhold(q, c, list)
	}
	b.shareGuarantees(q, list)
	return nil
}
