package tree

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// Apache has a tree go wrong as Apache's does, for replays of recorded decisions.
//
// compat: Apache changes queue by queue when a configuration is refreshed, and a refusal
// that comes late leaves some of them changed. It keeps the list by which queues are found
// apart from the tree, and the two come to differ.
type Apache struct {
	keepsFractions bool            // see keepFractions
	extra          []*Queue        // found, but not in the tree
	lost           map[string]bool // paths in the tree that are not found
	renewed        map[*Queue]bool // queues of the last attempt's tree that it reached
}

// LikeApache begins a replay. Apache keeps fractions as they are written if legacy is true
// at the start and later is not.
func LikeApache(legacy bool) *Apache {
	return &Apache{keepsFractions: legacy, lost: map[string]bool{}}
}

// Hides tells whether nobody finds the queue of the tree which has that path.
func (a *Apache) Hides(path string) bool {
	return a.lost[path] || slices.ContainsFunc(a.extra, func(q *Queue) bool { return q.Path == path })
}

// Attempt applies a configuration until something is in the way. With an error there may
// still be a tree: that of which a part was changed.
func (a *Apache) Attempt(l *Live, cfg *config.Capacity) (*Next, error) {
	a.renewed = map[*Queue]bool{}
	built, err := l.Build(cfg)
	if err != nil {
		return nil, err
	}
	if err := a.check(cfg, l.Tree, built.Tree); err != nil {
		return nil, err
	}
	n, err := l.renewed(cfg, built)
	a.relist(l.Tree, built.Tree, err == nil)
	return n, err
}

// Renewed tells whether the last attempt reached that queue of its tree.
func (a *Apache) Renewed(q *Queue) bool { return a.renewed[q] }

// check is checkChanges for the queues that are found.
func (a *Apache) check(cfg *config.Capacity, before, fresh *Tree) error {
	for _, old := range before.Queues {
		if old != nil && !a.Hides(old.Path) {
			if err := checkKind(cfg, old, fresh.ByPath(old.Path)); err != nil {
				return err
			}
		}
	}
	for _, old := range a.extra {
		if err := checkKind(cfg, old, fresh.ByPath(old.Path)); err != nil {
			return err
		}
	}
	return nil
}

// relist brings the list of queues up to date, which Apache does before it
// changes the first of them. applied tells that all of them were changed.
func (a *Apache) relist(before, fresh *Tree, applied bool) {
	for _, q := range fresh.Queues {
		known := before.ByPath(q.Path) != nil
		if !a.Hides(q.Path) && !known && !applied || a.lost[q.Path] {
			a.extra = append(a.extra, q)
			delete(a.lost, q.Path)
		}
	}
	a.extra = slices.DeleteFunc(a.extra, func(q *Queue) bool { return fresh.ByPath(q.Path) == nil })
	for _, q := range before.Queues {
		if q != nil && !q.Dynamic && !q.GivenOut() && fresh.ByPath(q.Path) == nil {
			a.lost[q.Path] = !applied
		}
	}
}

// guaranteedTooMuch refuses, in replays, a managed parent whose leaves are not to have more than
// its guarantee.
//
// compat: Apache compares a share of the parent, the sum of the leaves, with a share
// of the parent's own parent. So leaves that it has created itself have it refuse
// every refresh, until enough of them are gone.
func (b *Basis) guaranteedTooMuch(cfg *config.Capacity, q, fresh *Queue) error {
	if b.Apache == nil || fresh.Conf.Kind != config.Managed || !fresh.Conf.FailOnExceeding {
		return nil
	}
	var sum float32
	for _, c := range q.Children {
		sum = javanum.Add(sum, c.Shares[0].Capacity)
	}
	if q.Shares[0].Capacity >= sum {
		return nil
	}
	return refusal(cfg, q, "auto-create-child-queue.fail-on-exceeding-parent-capacity",
		fmt.Sprintf("guarantees of its leaves, %g, exceed its own, %g", sum, q.Shares[0].Capacity))
}

// keepsFractions tells whether keepFractions takes the place of deriveAll.
func (b *Basis) keepsFractions() bool { return b.Apache != nil && b.Apache.keepsFractions }

// keepFractions leaves the child's fractions as they are written, but for amounts.
//
// compat: a queue with a weight has none then, and takes no applications.
func (b *Basis) keepFractions(q, c *Queue) {
	for i := range c.set {
		p, label, v := c.set[i].p, c.set[i].label, c.set[i].Vector
		if slices.Contains(v.Unit[:], config.Absolute) {
			b.derive(q, c, p)
		}
		if slices.Contains(v.Unit[:], config.Weight) {
			c.Shares[p].Normalized = meanWeight(q, c, label)
			c.Shares[p].Known = true
		}
		if !v.Empty() {
			updateAbsolute(c, false)
		}
	}
}

// meanWeight is the part that the child's weights are of those of all children, as the
// mean over the resources that are given by weight.
func meanWeight(q, c *Queue, label string) float32 {
	sum, n := 0.0, 0
	v := c.Conf.Amount(label).Vector
	for i, unit := range v.Unit {
		if unit != config.Weight {
			continue
		}
		all := 0.0
		for _, o := range q.Children {
			if other := o.Conf.Amount(label).Vector; other.Unit[i] == config.Weight {
				all += other.Value[i]
			}
		}
		sum += v.Value[i] / all
		n++
	}
	return float32(sum / float64(n))
}
