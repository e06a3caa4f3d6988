package capacity

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
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
func (s *Scheduler) grants(parent *Queue) ([]grant, error) {
	return s.grantsOf(s.cfg, parent)
}

func (s *Scheduler) grantsOf(cfg *config.Config, parent *Queue) ([]grant, error) {
	conf, err := cfg.ManagedTemplate(parent.conf)
	if err != nil {
		return nil, err
	}
	var out []grant
	for _, label := range conf.Configured {
		a, p := conf.Amount(label), s.Part(label)
		up := &parent.shares[p]
		g := grant{p: p, capacity: a.Capacity, max: a.MaxCapacity, confMin: a.Min}
		if parent.absolute {
			s.grantAmounts(&g, &a, up)
		}
		if g.capacity > 0 {
			g.absolute = javanum.Mul(g.capacity, up.absolute)
		}
		if g.max > 0 {
			g.absoluteMax = javanum.Mul(g.max, up.absoluteMax)
		}
		out = append(out, g)
	}
	return out, nil
}

func (s *Scheduler) grantAmounts(g *grant, a *config.Amount, up *share) {
	most := a.Max
	if none(most) {
		most = up.confMax
	}
	g.capacity = s.Calc.Divide(&s.Books.Total, &a.Min, &up.confMin)
	g.max = s.Calc.Divide(&s.Books.Total, s.Calc.Min(&s.Books.Total, &most, &up.confMax), &up.confMax)
}

// template is the guarantee of the template in a partition, as a fraction.
func (q *Queue) template(s *Scheduler, p part) float32 {
	list, _ := s.grants(q)
	for _, g := range list {
		if g.p == p {
			return g.absolute
		}
	}
	return 0
}

func (s *Scheduler) createManaged(parent *Queue, name string) (*Queue, yarn.Reason) {
	q, why := s.newDynamic(parent, name, config.Leaf)
	if !why.OK() {
		return nil, why
	}
	list, err := s.grants(parent)
	if err != nil {
		return nil, yarn.Reason{Code: fit.BadRequest, Subject: q.Path, Detail: err.Error()}
	}
	s.withhold(parent, q, list)
	if n := len(parent.children); n >= int(parent.conf.MaxChildren) {
		return nil, yarn.Reason{Code: fit.TooManyQueues, Subject: parent.Path, Count: int64(n), Max: int64(parent.conf.MaxChildren)}
	}
	if parent.conf.FailOnExceeding && s.exceeds(parent, list) {
		return nil, yarn.Reason{Code: fit.TooManyQueues, Subject: parent.Path, Detail: "guarantees of its leaves have reached its own"}
	}
	s.hang(parent, q)
	for _, g := range list {
		parent.room(g.p)
		q.room(g.p)
		free := javanum.Add(javanum.Add(parent.shares[g.p].absolute, -parent.granted[g.p]), slack)
		if free >= g.absolute {
			s.entitle(q, g)
			q.parent.grantTo(q, g)
		} else {
			s.entitle(q, grant{p: g.p, max: g.max})
		}
	}
	s.recalculateFrom(parent, s.Books.Total)
	return q, yarn.Reason{}
}

func (s *Scheduler) exceeds(parent *Queue, list []grant) bool {
	var sum float32
	for _, c := range parent.children {
		sum = javanum.Add(sum, c.shares[0].absolute)
	}
	return len(list) > 0 && javanum.Add(list[0].absolute, sum) > parent.shares[0].absolute
}

// withhold takes every guarantee from a leaf, as when it is new.
//
// compat: the maximum of any partition becomes that of the default one.
func (s *Scheduler) withhold(parent, q *Queue, list []grant) {
	parent.reorder()
	for p := range parent.shares {
		if !parent.shares[p].known {
			continue
		}
		var most float32
		for _, g := range list {
			if g.p == part(p) {
				most = g.max
			}
		}
		sh := &q.shares[p]
		sh.known, sh.capacity = true, 0
		sh.absolute = javanum.Mul(parent.shares[p].absolute, 0)
		q.shares[0].maxCapacity = most
		q.shares[0].absoluteMax = javanum.Mul(parent.shares[0].absoluteMax, most)
		sh.measured = s.guaranteed(q, part(p))
		s.updateUsed(q, part(p), &s.Books.Partition(part(p)).Total)
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
func (s *Scheduler) entitle(q *Queue, g grant) {
	sh, total := &q.shares[g.p], s.Books.Partition(g.p).Total
	sh.known = true
	sh.capacity, sh.absolute, sh.maxCapacity, sh.absoluteMax = g.capacity, g.absolute, g.max, g.absoluteMax
	if q.absolute && g.absolute > 0 {
		sh.effMin = g.confMin
	} else {
		sh.effMin = measure.Scale(total, float64(g.absolute))
	}
	sh.effMax = measure.Scale(total, float64(g.absoluteMax))
	if g.absolute == 0 && g.capacity == 0 {
		sh.confMin, sh.hasMin = resource{}, false
	}
	sh.measured = s.guaranteed(q, g.p)
	q.Touch()
	if q.parent != nil {
		q.parent.reorder()
	}
}

// manage shares out guarantees below all managed parents anew.
func (s *Scheduler) manage() {
	for _, q := range s.tree.all {
		if q != nil && q.conf.Kind == config.Managed && !q.conf.FailOnExceeding {
			if list, err := s.grants(q); err == nil {
				s.managePart(q, list)
			}
		}
	}
}

// managePart takes guarantees from leaves without applications and gives them
// to those whose applications are the oldest.
func (s *Scheduler) managePart(q *Queue, list []grant) {
	for _, g := range list {
		q.room(g.p)
		var taken []*Queue
		var back float32
		for _, c := range q.children {
			c.room(g.p)
			if c.hasGrant[g.p] && c.numApps() == 0 {
				taken = append(taken, c)
				back = javanum.Add(back, g.absolute)
			}
		}
		free := javanum.Add(javanum.Add(javanum.Add(q.shares[g.p].absolute, -q.granted[g.p]), back), slack)
		var given []*Queue
		if free >= g.absolute {
			given = q.neediest(g.p, int(math.Floor(float64(javanum.Div(free, g.absolute)))))
		}
		for _, c := range taken {
			s.entitle(c, grant{p: g.p, max: g.max})
			c.hasGrant[g.p] = false
			q.granted[g.p] = javanum.Add(q.granted[g.p], -g.absolute)
		}
		for _, c := range given {
			s.entitle(c, g)
			q.grantTo(c, g)
		}
	}
}

// neediest are up to most leaves without a guarantee, those with the oldest
// applications first.
func (q *Queue) neediest(p part, most int) []*Queue {
	var apps []*app
	for _, c := range q.children {
		apps = c.leaf.pending.appendTo(append(apps, c.leaf.active.apps...))
	}
	slices.SortFunc(apps, func(a, b *app) int { return a.ID.Compare(b.ID) })
	var out []*Queue
	for i, a := range apps {
		if len(out) >= most || i >= len(apps) {
			break
		}
		leaf := q.childNamed(a.queue.Path)
		if leaf != nil && !leaf.hasGrant[p] && !slices.Contains(out, leaf) {
			out = append(out, leaf)
		}
	}
	return out
}

func (q *Queue) childNamed(path string) *Queue {
	for _, c := range q.children {
		if c.Path == path {
			return c
		}
	}
	return nil
}

// renewManaged applies new settings below a managed parent: all guarantees are
// withdrawn and given out again.
func (s *Scheduler) renewManaged(cfg *config.Config, q *Queue) error {
	q.granted, q.hasGrant = nil, nil
	if len(q.children) == 0 {
		q.reorder()
		return nil
	}
	list, err := s.grantsOf(cfg, q)
	if err != nil {
		return err
	}
	for _, c := range q.children {
		conf, err := cfg.Dynamic(q.conf, c.Name, config.Leaf)
		if err != nil {
			return err
		}
		if !c.conf.MaxAllocation.FitsIn(conf.MaxAllocation) {
			return s.lessAllocation(cfg, c)
		}
		c.obey(conf)
		c.granted, c.hasGrant = nil, nil
		if err := s.setup(cfg, c, nil); err != nil {
			return err
		}
		s.withhold(q, c, list)
	}
	q.reorder()
	s.managePart(q, list)
	return nil
}

// mayUseManaged lets only mapping rules submit to leaves of a managed parent.
func mayUseManaged(q *Queue, placed bool, path string) yarn.Reason {
	if !q.managedLeaf() {
		return yarn.Reason{}
	}
	up := queue.ParentPath(path)
	if !placed || up != q.parent.Path && up != q.parent.Name {
		return yarn.Reason{Code: fit.SubmitDenied, Subject: q.Path, Detail: "only a mapping rule may choose this queue"}
	}
	return yarn.Reason{}
}
