package capacity

import (
	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// What the core tells; see core.Policy.

// Used charges the application's user, and brings the fractions in use up to date. Who has
// more or less may come later or earlier.
func (s *Scheduler) Used(leaf *queue.Queue, of *core.App, p part, amount *resource, moved bool) {
	q, a := queueOf(leaf), appOf(of)
	if !moved {
		s.markStale(a)
	}
	leafOf(q).Charge(q, a.User, &a.member, p, amount)
	for total := &s.Books.Partition(p).Total; q != nil; q = q.Up {
		tree.UpdateUsed(s.Calc, q, p, total)
	}
}

// Asked counts the application among those that ask.
func (s *Scheduler) Asked(of *core.App, fresh bool) {
	a := appOf(of)
	switch {
	case fresh:
		leafOf(a.queue).Want(a.queue, a.User, &a.member)
	case !a.Wants.Wanting():
		leafOf(a.queue).Unwant(a.queue, a.User, &a.member)
	}
}

// Ask enters asks; see the facade.
func (s *Scheduler) Ask(ref AppRef, asks []yarn.Ask) {
	a := s.app(ref)
	s.Core.Ask(ref, asks)
	if a.Running && len(asks) > 0 && a.Mastered && a.queue.Conf.SizeWeight {
		s.markStale(a)
	}
}

// MasterMoved has admission look for the master in another partition.
func (s *Scheduler) MasterMoved(of *core.App, container *cluster.Container, from, to part) {
	a := appOf(of)
	q := a.queue
	if a.waits {
		leafOf(q).pending.Exit(&a.wait)
	}
	charged, asked := a.active, a.wait.Master
	if s.AsApache {
		charged = s.chargedAsApache(a, from, container)
	}
	if charged {
		s.chargeMaster(q, leafOf(q).Enter(q, a.User), a, -1)
	}
	a.wait.Master = s.master(to, container.Resource)
	if charged {
		s.chargeMaster(q, leafOf(q).Enter(q, a.User), a, 1)
	}
	a.wait.Master = s.master(to, s.stray(a, asked, container.Resource, from, to))
	if a.waits {
		leafOf(q).pending.Enter(&a.wait)
	}
}
