// Package fair decides as Apache's FairScheduler does: queues and applications get what is free in proportion to their weights, those below
// their minimum first. Queues come with the applications that name them, and go when they are empty.
package fair

import (
	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

type resource = yarn.Resource

// Scheduler is the whole state.
type Scheduler struct {
	core.Core
	core.NoFacts
	cfg       *config.Fair
	tree      queue.Tree
	root      *Queue
	leaves    []*Queue            // by their creation
	unsettled bool                // the file names a queue that cannot be made yet
	tasks     []*allocation.Queue // see unblock

	steadyDue bool // queues have come since steady shares were computed, or the cluster has changed

	users map[string]*user
	racks map[cluster.Place]int32 // how many nodes each has; nil: to be counted

	// free is what of the cluster was free after the last heartbeat, end of a container or change of nodes.
	free     resource
	offering bool // a heartbeat is being served: free stays as it is
	plain    bool // nobody is passed by for bounds, for tests

	preemption preemption
}

// user has the applications of one user.
type user struct {
	running int32  // those that may run
	waiting []*app // those that may not yet, by arrival
}

// New is a scheduler without nodes and applications.
func New(cfg *config.Fair) *Scheduler {
	s := &Scheduler{cfg: cfg, tree: queue.NewTree(len(cfg.Allocation.All())), users: map[string]*user{}}
	s.tree.Rooted = true
	s.Core = core.New(&cfg.Cluster, measure.Calculator{Dominant: true, Types: len(cfg.Cluster.Types)}, s)
	s.Step = cfg.Increment
	s.root = s.add(nil, cfg.Root)
	s.root.dynamic = false
	s.Adopt(&cfg.Cluster, &s.tree)
	s.SetLabels(cfg.Cluster.Labels)
	s.settle()
	s.steadyDue = true
	return s
}

// types is how many types of resources there are.
func (s *Scheduler) types() int { return len(s.cfg.Cluster.Types) }

// fits tells whether every type of a is at most that of b.
func (s *Scheduler) fits(a, b *resource) bool {
	for i := range s.types() {
		if a[i] > b[i] {
			return false
		}
	}
	return true
}

// sumFits tells whether a and b together fit in most.
func (s *Scheduler) sumFits(a, b, most *resource) bool {
	for i := range s.types() {
		if a[i]+b[i] > most[i] {
			return false
		}
	}
	return true
}

// below tells whether a queue or an application with that policy has less than a share of the cluster.
//
// compat: under drf the largest fractions alone are compared.
func (s *Scheduler) below(p allocation.Policy, used, share *resource) bool {
	if p != allocation.DRF {
		return used[yarn.Memory] < share[yarn.Memory]
	}
	if *used == *share {
		return false
	}
	return s.largest(used) < s.largest(share)
}

// largest is the largest fraction of the cluster.
func (s *Scheduler) largest(r *resource) (most float64) {
	for i := range s.types() {
		if total := s.Books.Total[i]; total != 0 || r[i] != 0 {
			most = max(most, float64(r[i])/float64(total))
		}
	}
	return most
}

// compare is negative, zero or positive as a is less than, equal to or more than b under that policy.
func (s *Scheduler) compare(p allocation.Policy, a, b *resource) int {
	c := s.Calc
	c.Dominant = p == allocation.DRF
	return c.Compare(&s.Books.Total, a, b)
}

// noteFree brings up to date what is free.
func (s *Scheduler) noteFree() {
	if !s.offering {
		used := s.used(s.root)
		s.free = s.Books.Total.Sub(used)
	}
}

// Entitle follows a change of the cluster.
func (s *Scheduler) Entitle(nodes bool) {
	s.racks = nil
	s.root.each(func(q *Queue) { s.setMax(q) })
	s.steadyDue = true
	s.noteFree()
	s.reorder(s.root) // fractions of the cluster have changed
}
