package capacity

import (
	"fmt"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// Validate tells whether Reconfigure would take the configuration.
func (s *Scheduler) Validate(all *config.Config) error {
	cfg := all.Capacity
	known := s.Books.Partitions()
	fresh, err := s.build(cfg)
	if err == nil {
		_, err = s.next(cfg, fresh)
	}
	s.ForgetParts(known)
	return err
}

// Refresh replaces the configuration, or applies the one in use once more where there
// is no new one; see the facade.
//
// compat: Apache applies the old one once more after every refused refresh, which
// puts children in the order of a refresh and recalculates all limits.
func (s *Scheduler) Refresh(all *config.Config, prepared core.Prepared) error {
	cfg := partOf(all)
	p, _ := prepared.(*Prepared)
	switch {
	case s.AsApache && cfg != nil:
		return s.reconfigureLate(cfg)
	case s.AsApache:
		s.reapplyLate()
		return nil
	case cfg == nil:
		s.reapply(p)
		return nil
	}
	known := s.Books.Partitions()
	t, err := s.buildNext(cfg, p)
	var r *renewed
	if err == nil {
		r, err = s.next(cfg, t)
	}
	if err != nil {
		s.ForgetParts(known)
		s.reapply(p)
		return err
	}
	s.swap(cfg, r)
	s.promoteAll()
	return nil
}

// partOf is what this policy reads of a configuration, or of none.
func partOf(all *config.Config) *config.Capacity {
	if all == nil {
		return nil
	}
	return all.Capacity
}

func (s *Scheduler) reapply(p *Prepared) {
	t, err := s.buildAgain(p)
	if err != nil {
		return
	}
	if r, err := s.next(s.cfg, t); err == nil {
		s.swap(s.cfg, r)
	}
}

// renewed is a tree and what the queues of the one before have become in it, by their
// indexes there, those included that it does not have any more.
type renewed struct {
	before, tree *tree
	became       []*Queue
}

// next is the tree that the configuration, of which fresh was built, makes of the
// present one. Nothing that is in use changes.
//
// compat: Apache stumbles when it goes back after a refusal that came late, and
// keeps a part of the new settings. Here all of the old ones stay.
func (s *Scheduler) next(cfg *config.Capacity, fresh *tree) (*renewed, error) {
	if err := s.checkChanges(cfg, fresh); err != nil {
		return nil, err
	}
	t, became := s.tree.clone()
	if err := s.renew(cfg, t.Root, fresh.Root); err != nil {
		return nil, err
	}
	t.reindex()
	if err := s.checkRules(cfg, t); err != nil {
		return nil, err
	}
	return &renewed{s.tree, t, became}, nil
}

// checkChanges refuses to let queues vanish or change their kind while in use.
func (s *Scheduler) checkChanges(cfg *config.Capacity, fresh *tree) error {
	for _, old := range s.tree.Queues {
		if old == nil {
			continue
		}
		q := fresh.ByPath(old.Path)
		if err := s.checkKind(cfg, old, q); err != nil {
			return err
		}
		if err := s.checkKept(cfg, old, q, fresh); err != nil {
			return err
		}
	}
	return nil
}

// checkKind compares a queue with what it is to become, which may be nothing.
func (s *Scheduler) checkKind(cfg *config.Capacity, old, q *Queue) error {
	stopped := old.State == queue.Stopped
	switch {
	case old.ManagedLeaf():
	case q == nil:
		if !stopped && !cfg.StoppedInSettings(old.Path) && !old.Dynamic {
			return s.refusal(cfg, old, "state", "a queue can only be removed when it is stopped; it is "+old.State.String())
		}
	case !old.Leaf && old.Conf.Kind != config.Managed && q.Conf.Kind == config.Managed,
		!old.Leaf && old.Conf.Kind == config.Managed && q.Conf.Kind != config.Managed:
		return s.refusal(cfg, old, "auto-create-child-queue.enabled", "cannot change while the parent is in use")
	case old.Leaf && !q.Leaf && !stopped && q.State != queue.Stopped:
		return s.refusal(cfg, old, "queues", "a leaf can only become a parent when it is stopped; it is "+old.State.String())
	}
	return nil
}

// checkKept refuses to take a leaf that was created on demand away from its
// applications, with its parent.
//
// compat: a configured leaf goes with its applications if the new settings name
// it STOPPED. They keep what they have and get nothing more.
func (s *Scheduler) checkKept(cfg *config.Capacity, old, q *Queue, fresh *tree) error {
	if q != nil || !old.Leaf || old.NumApps() == 0 || !old.Dynamic && !old.ManagedLeaf() || keepsCreated(old.Up, fresh) {
		return nil
	}
	return s.refusal(cfg, old, "state", fmt.Sprintf("a queue that was created can only go when it is empty; applications: %d", old.NumApps()))
}

// keepsCreated tells whether queues that were created below the parent stay.
func keepsCreated(parent *Queue, fresh *tree) bool {
	if q := fresh.ByPath(parent.Path); q != nil {
		return !q.Leaf
	}
	return parent.Dynamic && keepsCreated(parent.Up, fresh)
}

// renew applies new settings to a queue that exists and to all below it.
func (s *Scheduler) renew(cfg *config.Capacity, q, fresh *Queue) error {
	q.Dynamic = q.Dynamic && fresh == q
	if q.Leaf && !q.Conf.MaxAllocation.FitsIn(fresh.Conf.MaxAllocation) {
		return s.lessAllocation(cfg, q)
	}
	if fresh.Conf.Kind == config.Managed && s.AsApache {
		if err := s.guaranteedTooMuch(cfg, q, fresh); err != nil {
			return err
		}
	}
	var set []setting
	if fresh != q {
		q.obey(fresh.Conf)
		set = fresh.set
	}
	if q.Dynamic {
		conf, err := cfg.Dynamic(q.Up.Conf, q.Name, q.Conf.Kind)
		if err != nil {
			return err
		}
		q.obey(conf)
		set = nil
	}
	if err := s.setup(cfg, q, set); err != nil {
		return err
	}
	if q.Leaf {
		return nil
	}
	if q.Conf.Kind == config.Managed {
		return s.renewManaged(cfg, q)
	}
	children, err := s.renewChildren(cfg, q, fresh)
	if err != nil {
		return err
	}
	if len(children) == 0 {
		q.Children = children
		q.reorder()
		return nil
	}
	return s.setChildren(cfg, q, children)
}

// lessAllocation refuses to lower what containers of the leaf may have. It names
// the nearest property that could do so.
func (s *Scheduler) lessAllocation(cfg *config.Capacity, q *Queue) error {
	rule := fmt.Sprintf("must not become less in a refresh for %s, which has %s", q.Path, q.Conf.MaxAllocation)
	for up := q; up != nil; up = up.Up {
		for _, name := range []string{"maximum-allocation", "maximum-allocation-mb", "maximum-allocation-vcores"} {
			if _, set := cfg.Property(config.Prefix + up.Path + "." + name); set {
				return s.refusal(cfg, up, name, rule)
			}
		}
	}
	return s.refusal(cfg, q, "maximum-allocation", rule)
}

// renewChildren is the children of a parent after a refresh.
//
// compat: they take the order of a hash table of their paths, into which the
// old ones were put first and then the new ones in the order of theirs.
func (s *Scheduler) renewChildren(cfg *config.Capacity, q, fresh *Queue) ([]*Queue, error) {
	byPath := make(map[string]*Queue, len(q.Children))
	keys := make([]string, 0, len(q.Children))
	for _, c := range q.Children {
		byPath[c.Path] = c
		keys = append(keys, c.Path)
	}
	if fresh == q {
		fresh = &Queue{Children: q.Children}
	}
	keep := make(map[string]bool, len(fresh.Children))
	for _, c := range fresh.Children {
		keep[c.Path] = true
	}
	for _, c := range q.Children {
		if !keep[c.Path] && (c.Dynamic || c.ManagedLeaf()) {
			keep[c.Path] = true
			if err := s.renew(cfg, c, c); err != nil {
				return nil, err
			}
		}
	}
	for _, i := range hashOrder(fresh.Children) {
		next := fresh.Children[i]
		old := byPath[next.Path]
		switch {
		case old == nil:
			keys = append(keys, next.Path)
			next.hangBelow(q)
			byPath[next.Path] = next
		case old.Leaf != next.Leaf:
			next.hangBelow(q)
			byPath[next.Path] = next
		default:
			if err := s.renew(cfg, old, next); err != nil {
				return nil, err
			}
		}
	}
	children := make([]*Queue, 0, len(keep))
	for _, i := range javanum.HashOrder(keys) {
		if keep[keys[i]] {
			children = append(children, byPath[keys[i]])
		}
	}
	return children, nil
}

func hashOrder(queues []*Queue) []int {
	paths := make([]string, len(queues))
	for i, q := range queues {
		paths[i] = q.Path
	}
	return javanum.HashOrder(paths)
}

// swap puts a tree in the place of the present one. It cannot fail.
func (s *Scheduler) swap(cfg *config.Capacity, r *renewed) {
	t := r.tree
	s.cfg = cfg
	s.replace(r)
	s.Calc = measure.Calculator{Dominant: s.Calc.Dominant, Types: s.Calc.Types}
	s.Min, s.Most = cfg.Cluster.MinAllocation, cfg.Cluster.MaxAllocation
	t.Root.Each(func(q *Queue) {
		if q.Leaf {
			s.adopt(q)
		}
	})
	s.Recalculate()
	t.Root.Touch()
}

// replace puts a tree in the place of the present one, and applications into what
// their queues have become.
func (s *Scheduler) replace(r *renewed) {
	s.hold(s.cfg, r.tree)
	for _, held := range s.Apps {
		if held == nil {
			continue
		}
		a := mine(held)
		a.enters(r.follow(a.queue))
		if a.headLeaf != nil {
			a.headLeaf = r.follow(a.headLeaf)
		}
	}
}

// follow is what a queue has become. One that is gone from the tree lives on for
// the applications that it still has, below what its parent has become.
func (r *renewed) follow(old *Queue) *Queue {
	if i := int(old.Index); i < len(r.before.Queues) && r.before.Queues[i] == old {
		return r.became[i]
	}
	if old.Up != nil {
		old.hangBelow(r.follow(old.Up))
	}
	return old
}

// adopt lets a queue's leaf follow the queue's new settings.
func (s *Scheduler) adopt(q *Queue) {
	l := q.leaf
	l.grow(s.Books.Partitions())
	l.lastCluster = s.Books.Total
	l.visitLimit, l.queueLimit = s.Books.Total, s.Books.Total
	most, least := q.Conf.MaxAllocation, s.Min
	span := most.Sub(least)
	l.minFactor = s.Calc.Ratio(&span, &most)
	for _, u := range l.ordered {
		u.weight = q.Conf.Weight(u.name)
	}
	l.sumWeights(q)
	l.version++
	l.active.sort(q.policy())
	// compat: a fair order keeps the places that it had; what it did not come to
	// look at yet is forgotten.
	for _, a := range l.stale {
		a.unsettled = false
	}
	l.stale = l.stale[:0]
}
