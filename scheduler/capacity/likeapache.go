package capacity

import (
	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/capacity/waiting"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
)

// What goes wrong in Apache goes wrong here where replays of its decisions ask for it.
// What concerns the queues alone is in likeapache.go of package tree; the rest stands at
// the calls of AsApache, or here where it takes more than a line.

// LikeApache lets go wrong what goes wrong in Apache; see the facade.
func (s *Scheduler) LikeApache() {
	s.apache, s.AsApache = tree.LikeApache(s.cfg.Legacy), true
}

// find is the queue with that full or short name, or nil.
func (s *Scheduler) find(name string) *Queue {
	q := s.tree.Find(name)
	if q != nil && s.apache != nil && s.apache.Hides(q.Path) {
		return nil
	}
	return q
}

// refreshAsApache tries the new configuration, if there is one, and then, if need be, the
// old one.
//
// compat: Apache changes queue by queue and goes back by applying the old
// configuration like a new one. That is refused as well when queues were added,
// because they are not stopped; then everything stays as the first attempt left it.
func (s *Scheduler) refreshAsApache(cfg *config.Capacity) error {
	var refused error
	if cfg != nil {
		if refused = s.attempt(cfg); refused == nil {
			s.promoteAll()
			return nil
		}
		s.Most = cfg.Cluster.MaxAllocation
	}
	if s.attempt(s.cfg) == nil {
		s.Most = s.cfg.Cluster.MaxAllocation
	}
	return refused
}

// attempt applies a configuration until something is in the way.
func (s *Scheduler) attempt(cfg *config.Capacity) error {
	next, err := s.apache.Attempt(s.live(), cfg)
	switch {
	case next == nil:
		return err
	case err != nil:
		s.keepPart(cfg, next)
		return err
	}
	old := s.cfg
	s.apply(cfg, next)
	if err = s.tree.CheckRules(cfg); err != nil {
		s.setTree(old, s.tree)
	}
	return err
}

// keepPart puts a tree in the place of the present one that was changed in part. No
// limit is computed anew.
//
// compat: leaves that were changed take no applications, unless they have a
// maximum of their own.
func (s *Scheduler) keepPart(cfg *config.Capacity, next *tree.Next) {
	before := s.tree
	s.replaceTree(s.cfg, next)
	s.Report(core.Change{What: core.Shares, Queue: &s.tree.Root.Queue})
	s.tree.Root.Each(func(q *Queue) {
		if old := before.ByPath(q.Path); q.Leaf && old != nil && old.Conf != q.Conf {
			s.configure(q)
			if q.MaxApps = q.Conf.MaxApps; q.MaxApps < 0 && cfg.MaxQueueApps > 0 {
				q.MaxApps = cfg.MaxQueueApps
			}
		}
	})
}

// leaveInLine lets an attempt that was admitted, and waits once more, wait on when it
// has gone.
//
// compat: see SetPriority for how it got into the line. Admitted a second time, it
// counts for ever.
func (s *Scheduler) leaveInLine(q *Queue, a *app) {
	rest := *a
	rest.App = a.Bare()
	rest.Outer, rest.wait = &rest, waiting.Waiter{Master: a.wait.Master, App: &rest.App}
	rest.member.User, rest.waits, rest.active = nil, true, false
	leafOf(q).pending.Enter(&rest.wait)
	leafOf(q).pending.Miscounted = true
}
