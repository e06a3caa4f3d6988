// Package fair decides as Apache's FairScheduler does: queues and applications get free resources in proportion to their weights, those below
// their minimum share first. Queues that the allocation file does not name are created for the applications that ask for them, and deleted when
// they are empty.
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
	core.NoMonitor
	cfg       *config.Fair
	tree      queue.Tree
	root      *Queue
	leaves    []*Queue            // in order of creation
	unsettled bool                // the file names a queue that cannot be made yet
	tasks     []*allocation.Queue // see unblock

	steadyDue bool // since steady shares were computed queues were created, or the cluster has changed

	evenly [yarn.MaxResourceTypes]evenly // by type
	claims []claim                       // of the running Recompute

	users map[string]*user
	racks map[cluster.Place]int32 // the number of nodes of each; nil: not counted yet

	// free is what was free in the cluster after the last heartbeat, end of a container or change of nodes.
	free       resource
	offering   bool // a heartbeat is being served: free stays as it is
	placing    bool // a container is being placed: Used follows Asked
	exhaustive bool // for tests: candidates are looked at whatever their bounds are

	preemption preemption
}

// user is the running and waiting applications of one user.
type user struct {
	runnable int32  // how many may run
	waiting  []*app // those that wait until they may, by arrival
}

// New is a scheduler without nodes and applications.
func New(cfg *config.Fair) *Scheduler {
	s := &Scheduler{cfg: cfg, tree: queue.NewTree(len(cfg.Allocation.All())), users: map[string]*user{}}
	s.tree.Rooted = true
	s.Core = core.New(&cfg.Cluster, measure.Calculator{Dominant: true, Types: len(cfg.Cluster.Types)}, s)
	s.Step, s.KeepReserved, s.ParentsLimit = cfg.Increment, true, true
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

// below tells whether used is less than share, as the policy measures it.
//
// compat: under drf only the dominant shares are compared.
func (s *Scheduler) below(p allocation.Policy, used, share *resource) bool {
	if p != allocation.DRF {
		return used[yarn.Memory] < share[yarn.Memory]
	}
	if *used == *share {
		return false
	}
	return s.largest(used) < s.largest(share)
}

// largest is the dominant share: the largest fraction of the cluster that r is of any type.
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

// noteFree updates free, except while a heartbeat is served.
func (s *Scheduler) noteFree() {
	if !s.offering {
		used := s.used(s.root)
		s.free = s.Books.Total.Sub(used)
	}
}

// Entitle adjusts to a change of the cluster.
func (s *Scheduler) Entitle(nodes bool) {
	s.racks = nil
	s.forgetLostNodes()
	s.root.each(func(q *Queue) { s.setMax(q) })
	s.steadyDue = true
	s.noteFree()
	s.rebuildLineups(s.root) // fractions of the cluster have changed
}
