package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// fixedBasis is a basis that does not change.
type fixedBasis struct{ tree.Basis }

// Prepare does what can be done of a Refresh beforehand; see the facade.
func (m fixedBasis) Prepare(all *config.Config) core.Prepared {
	return tree.Prepare(partOf(all), m.Basis)
}

// Basis is a copy of what trees are computed from now.
func (s *Scheduler) Basis() core.Basis {
	b := s.basis()
	b.Parts = b.Parts.Clone()
	return fixedBasis{b}
}

// basis is what trees are computed from now. Its partitions are those of the books, which
// may change.
func (s *Scheduler) basis() tree.Basis {
	return tree.Basis{Config: s.cfg, Calc: s.Calc, Min: s.Min, Total: s.Books.Total, Parts: &s.Books.Parts, Apache: s.apache}
}

// live is the tree in force, with its basis.
func (s *Scheduler) live() *tree.Live {
	return &tree.Live{Basis: s.basis(), Tree: s.tree, Server: s, Now: s.Now}
}

// Validate tells whether Reconfigure would take the configuration.
func (s *Scheduler) Validate(all *config.Config) error {
	_, err := s.live().Next(all.Capacity, nil)
	return err
}

// Refresh replaces the configuration, or applies the one in use once more where there
// is no new one; see the facade.
//
// compat: Apache applies the old one once more after every refused refresh, which
// puts children in the order of a refresh and recalculates all limits.
func (s *Scheduler) Refresh(all *config.Config, prepared core.Prepared) error {
	cfg := partOf(all)
	if s.apache != nil {
		return s.refreshAsApache(cfg)
	}
	var refused error
	p, _ := prepared.(*tree.Prepared)
	if cfg != nil {
		next, err := s.live().Next(cfg, p)
		if err == nil {
			s.apply(cfg, next)
			s.promoteAll()
			return nil
		}
		refused = err
	}
	if next, err := s.live().Next(s.cfg, p); err == nil {
		s.apply(s.cfg, next)
	}
	return refused
}

// partOf is what this policy reads of a configuration, or of none.
func partOf(all *config.Config) *config.Capacity {
	if all == nil {
		return nil
	}
	return all.Capacity
}

// apply puts a configuration and its tree in the place of those before. It cannot fail.
func (s *Scheduler) apply(cfg *config.Capacity, next *tree.Next) {
	s.replaceTree(cfg, next)
	s.SetSizes(cfg.Cluster.MinAllocation, cfg.Cluster.MaxAllocation)
	s.configureAll()
	s.Recalculate()
}

// replaceTree puts a tree in the place of the present one, and applications into what
// their queues have become.
func (s *Scheduler) replaceTree(cfg *config.Capacity, next *tree.Next) {
	s.enterParts(next.Parts)
	s.setTree(cfg, next.Tree)
	for _, held := range s.Apps {
		if held == nil {
			continue
		}
		a := appOf(held)
		a.enters(next.Became(a.queue))
		if a.headLeaf != nil {
			a.headLeaf = next.Became(a.headLeaf)
		}
	}
}

// enterParts gives partitions of a tree the same indexes in the books.
func (s *Scheduler) enterParts(parts *cluster.Parts) {
	for p := s.Books.Partitions(); p < parts.Partitions(); p++ {
		s.Part(parts.Partition(part(p)).Name)
	}
}

// setTree puts a configuration and a tree in the place of those before. Queues that come
// have facts from then on.
func (s *Scheduler) setTree(cfg *config.Capacity, t *tree.Tree) {
	s.cfg, s.tree = cfg, t
	s.Adopt(&cfg.Cluster, &t.Tree)
	t.Root.Each(s.attach)
}

// attach gives a queue facts, if it has none.
func (s *Scheduler) attach(q *Queue) {
	switch {
	case q.Facts != nil:
	case q.Leaf:
		q.Facts = newLeaf(&s.Core, s.Books.Partitions())
	default:
		q.Facts = &parent{}
	}
}

// Added lets a queue that was created on demand be served.
func (s *Scheduler) Added(q *Queue) {
	tree.EachLabel(q.Conf, func(label string) { s.Part(label) })
	s.attach(q)
	if q.Leaf {
		s.configure(q)
	}
}

// configureAll lets all leaves follow their settings.
func (s *Scheduler) configureAll() {
	s.tree.Root.Each(func(q *Queue) {
		if q.Leaf {
			s.configure(q)
		}
	})
}

// configure lets a leaf follow the queue's settings.
func (s *Scheduler) configure(q *Queue) {
	l := leafOf(q)
	l.lastCluster = s.Books.Total
	l.visitLimit, l.queueLimit = s.Books.Total, s.Books.Total
	most, least := q.Conf.MaxAllocation, s.Min
	span := most.Sub(least)
	l.minFactor = s.Calc.Ratio(&span, &most)
	l.Configure(q)
	l.active.sort(policyOf(q))
	// compat: a fair order keeps the places that it had; what it did not come to
	// look at yet is forgotten.
	for _, a := range l.stale {
		a.stale = false
	}
	l.stale = l.stale[:0]
}

// Fit makes the books of queues as long as there are partitions.
func (s *Scheduler) Fit(parts int) {
	if s.tree == nil {
		return
	}
	grow := func(q *Queue) {
		if q.Grow(parts); q.Leaf {
			leafOf(q).Grow(parts)
		}
	}
	s.tree.Root.Each(grow)
	for _, of := range s.Apps { // its leaf may have gone from the tree
		if of == nil {
			continue
		}
		if u := appOf(of).headUser; u != nil {
			u.Grow(parts)
		}
		for _, q := range []*Queue{appOf(of).queue, appOf(of).headLeaf} {
			for ; q != nil && len(q.Shares) < parts; q = q.Up {
				grow(q)
			}
		}
	}
}

// Entitle brings every queue's entitlement up to date, and once more if anybody waits for
// admission after a change of nodes.
//
// compat: Apache does so when a node comes, goes or changes its size, because it takes
// that for news of the node's partition, too. Who waits is looked at again, after the
// first time has counted anew the users with whom the share of masters is divided.
func (s *Scheduler) Entitle(nodes bool) {
	s.live().Entitle(s.tree.Root)
	waits := func(q *Queue) bool { return q != nil && q.Leaf && leafOf(q).pending.Count > 0 }
	if nodes && slices.ContainsFunc(s.tree.Queues, waits) {
		s.live().Entitle(s.tree.Root)
	}
}

// SharesChanged reports that what a queue may use, or who is below it, has changed.
func (s *Scheduler) SharesChanged(q *Queue) {
	s.Report(core.Change{What: core.Shares, Queue: &q.Queue})
}

// Entitled lets a leaf follow what it is entitled to.
func (s *Scheduler) Entitled(q *Queue, limit *yarn.Resource) {
	l := leafOf(q)
	l.lastCluster = s.Books.Total
	s.visit(q, limit)
	l.queueLimit = l.visitLimit
	for p := range q.Shares {
		l.Resized(part(p))
	}
	s.activate(q)
	l.Version++
	for _, a := range l.active.apps {
		s.noteHeadroom(q, a, 0, respect)
	}
}

// visit remembers the limit that the leaf was last walked with, for headrooms.
func (s *Scheduler) visit(q *Queue, limit *resource) {
	most := &leafOf(q).visitLimit
	core.Keep(s.Journal, most)
	s.Calc.Set(most, &q.Shares[0].EffMax)
	s.Calc.RoundDown(most, &s.Min)
	if s.Calc.More(&s.Books.Total, most, limit) {
		s.Calc.Set(most, limit)
	}
}

// RunDynamicQueues removes empty dynamic queues, or shares out guarantees; see the facade.
func (s *Scheduler) RunDynamicQueues(deleting bool, now yarn.Now) {
	s.Advance(now)
	if deleting {
		s.live().RemoveEmpty()
	} else {
		s.live().ShareGuarantees()
	}
}
