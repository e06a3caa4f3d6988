package capacity

import "github.com/heddle-project/heddle/scheduler/config"

// late is what refusals that came late have left behind, where they are to leave
// as much as in Apache; see LikeApache. Apache keeps the list by which queues are
// found apart from the tree, and the two come to differ.
type late struct {
	astray []*Queue        // found, but not in the tree
	lost   map[string]bool // paths in the tree that are not found
}

// reconfigureLate tries the new configuration and then, if need be, the old one.
//
// compat: Apache changes queue by queue and goes back by applying the old
// configuration like a new one. That is refused as well when queues were added,
// because they are not stopped; then everything stays as the first attempt left it.
func (s *Scheduler) reconfigureLate(cfg *config.Capacity) error {
	err := s.attempt(cfg)
	if err != nil {
		s.Most = cfg.Cluster.MaxAllocation
		s.reapplyLate()
		return err
	}
	s.promoteAll()
	return nil
}

func (s *Scheduler) reapplyLate() {
	if s.attempt(s.cfg) == nil {
		s.Most = s.cfg.Cluster.MaxAllocation
	}
}

// attempt applies a configuration until something is in the way.
func (s *Scheduler) attempt(cfg *config.Capacity) error {
	fresh, err := s.build(cfg)
	if err != nil {
		return err
	}
	if err := s.checkLate(cfg, fresh); err != nil {
		return err
	}
	t, became := s.tree.clone()
	err = s.renew(cfg, t.Root, fresh.Root)
	s.relist(fresh, err == nil)
	t.reindex()
	if err != nil {
		s.stay(cfg, &renewed{s.tree, t, became})
		return err
	}
	old := s.cfg
	s.swap(cfg, &renewed{s.tree, t, became})
	if err = s.checkRules(cfg, s.tree); err != nil {
		s.hold(old, s.tree)
	}
	return err
}

// checkLate is checkChanges for the queues that are found.
func (s *Scheduler) checkLate(cfg *config.Capacity, fresh *tree) error {
	for _, old := range s.tree.Queues {
		if old != nil && !s.late.lost[old.Path] && !s.isAstray(old.Path) {
			if err := s.checkKind(cfg, old, fresh.ByPath(old.Path)); err != nil {
				return err
			}
		}
	}
	for _, old := range s.late.astray {
		if err := s.checkKind(cfg, old, fresh.ByPath(old.Path)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scheduler) isAstray(path string) bool {
	if s.late == nil {
		return false
	}
	for _, q := range s.late.astray {
		if q.Path == path {
			return true
		}
	}
	return s.late.lost[path]
}

// relist brings the list of queues up to date, which Apache does before it
// changes the first of them. applied tells that all of them were changed.
func (s *Scheduler) relist(fresh *tree, applied bool) {
	l := s.late
	for _, q := range fresh.Queues {
		known := s.tree.ByPath(q.Path) != nil
		if !s.isAstray(q.Path) && !known && !applied || l.lost[q.Path] {
			l.astray = append(l.astray, q)
			delete(l.lost, q.Path)
		}
	}
	kept := l.astray[:0]
	for _, q := range l.astray {
		if fresh.ByPath(q.Path) != nil {
			kept = append(kept, q)
		}
	}
	l.astray = kept
	for _, q := range s.tree.Queues {
		if q != nil && !q.Dynamic && !q.ManagedLeaf() && fresh.ByPath(q.Path) == nil {
			l.lost[q.Path] = !applied
		}
	}
}

// stay puts a tree in the place of the present one that was changed in part. No
// limit is computed anew.
//
// compat: leaves that were changed take no applications, unless they have a
// maximum of their own.
func (s *Scheduler) stay(cfg *config.Capacity, r *renewed) {
	before := s.tree
	s.replace(r)
	r.tree.Root.Each(func(q *Queue) {
		if old := before.ByPath(q.Path); q.Leaf && old != nil && old.Conf != q.Conf {
			s.adopt(q)
			if q.leaf.maxApps = q.Conf.MaxApps; q.leaf.maxApps < 0 && cfg.MaxQueueApps > 0 {
				q.leaf.maxApps = cfg.MaxQueueApps
			}
		}
		q.Change++
	})
}
