package capacity

import (
	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/capacity/waiting"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
)

// What goes wrong in Apache goes wrong here in replays of its decisions (AsApache), and
// nowhere else. What concerns the queues alone is in likeapache.go of package tree, what
// concerns every policy in that of package core.

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

// keepPart puts a tree in force of which only a part has the new settings. No limit is
// computed anew.
//
// compat: leaves that the attempt reached take no applications, unless they have a
// maximum of their own.
func (s *Scheduler) keepPart(cfg *config.Capacity, next *tree.Next) {
	before := s.tree
	s.replaceTree(s.cfg, next)
	s.Report(core.Change{What: core.Shares, Queue: &s.tree.Root.Queue})
	s.tree.Root.Each(func(q *Queue) {
		if old := before.ByPath(q.Path); q.Leaf && old != nil && (s.apache.Renewed(q) || old.Conf != q.Conf) {
			s.configure(q)
			if q.MaxApps = q.Conf.MaxApps; q.MaxApps < 0 && cfg.MaxQueueApps > 0 {
				q.MaxApps = cfg.MaxQueueApps
			}
		}
	})
}

// CountUsers computes the limits of users that are shown; see the facade.
func (s *Scheduler) CountUsers() {
	s.tree.Root.Each(func(q *Queue) {
		if q.Leaf && len(leafOf(q).All) > 0 {
			leafOf(q).Limit(q, 0, respect)
		}
	})
}

// miscountListedTwice is for an application that a pass over who waits for
// max-parallel-apps comes to a second time.
//
// compat: Apache starts it again, as one too many, which is not counted off when it ends.
func (s *Scheduler) miscountListedTwice(a *app) {
	if s.AsApache {
		a.runnable = false
	}
}

// movesParallel tells whether an application that moves takes along its place among those
// that max-parallel-apps lets run.
//
// compat: Apache leaves the place with the old parents, and counts it off from the new
// ones in the end.
func (s *Scheduler) movesParallel() bool { return !s.AsApache }

// ordersInactive tells whether a fair order takes in an application that is not active.
//
// compat: in Apache one that waits for admission, as after a move of what runs; so it is
// served past the limits on masters.
func (s *Scheduler) ordersInactive(a *app) bool { return s.AsApache && a.Running }

// chargedAsApache tells whether something is taken off what masters use in a partition
// that the master's node leaves, and makes that what the container has.
//
// compat: Apache does so also where nothing was charged there: of who waits for
// admission, and of a master that does not run where it was asked for.
func (s *Scheduler) chargedAsApache(a *app, from part, container *cluster.Container) bool {
	a.wait.Master = s.master(from, container.Resource)
	return leafOf(a.queue).Named(a.User) != nil
}

// stray is what the application's master is taken to need once its node has gone from one partition to another.
//
// compat: Apache adds up, by partition, what was asked for and what came with the node, and takes what came off where it came from.
func (s *Scheduler) stray(a *app, asked *waiting.Master, size resource, from, to part) resource {
	if !s.AsApache {
		return size
	}
	if s.strays == nil {
		s.strays = map[*app][]resource{}
	}
	of := s.strays[a]
	if of == nil {
		of = make([]resource, s.Books.Partitions())
		of[asked.Part] = asked.Size
	}
	for int(max(from, to)) >= len(of) {
		of = append(of, resource{})
	}
	of[from], of[to] = of[from].Sub(size), of[to].Add(size)
	s.strays[a] = of
	return of[to]
}

// admitHeldBack has an application wait for admission that max-parallel-apps holds back,
// and that gets another priority.
//
// compat: Apache alone does so. What counts the user's applications is wrong from then on.
func (s *Scheduler) admitHeldBack(q *Queue, a *app) {
	if s.AsApache && a.Running && !a.active && !a.waits {
		leafOf(q).pending.Miscounted = true
		a.waits, a.waitsSince = true, leafOf(q).pending.Passes
	}
}

// waitOn is for an attempt that leaves a leaf, was active there and waits once more: after
// admitHeldBack, or where ordersInactive has taken it into the order. Something in its
// place waits on there, unless it goes back to the same leaf.
//
// compat: admitted a second time, it counts for ever.
func (s *Scheduler) waitOn(q *Queue, a *app, to *Queue) {
	if !a.waits || to == q {
		return
	}
	pending := &leafOf(q).pending
	pending.Exit(&a.wait)
	a.waits = false
	rest := *a
	rest.App = a.Bare()
	rest.Outer, rest.wait = &rest, waiting.Waiter{Master: a.wait.Master, App: &rest.App}
	rest.member.User, rest.waits, rest.active = nil, true, false
	pending.Enter(&rest.wait)
	pending.Miscounted = true
}
