package fair

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// A plan has a leaf for each reservation that is due, by the name of its id, and the default one, for applications without a reservation. What they
// are entitled to are their weights, which add up to 1.

// isPlan tells whether the queue can be reserved.
func (q *Queue) isPlan() bool { return q.conf.Kind == allocation.Plan && !q.Leaf }

// planned tells whether Follow decides about the queue: it keeps its weight, and stays while it is empty.
func (q *Queue) planned() bool { return q.promised && q.up.isPlan() }

// defaultPath is the path of a plan's queue for applications without a reservation.
func (q *Queue) defaultPath() string { return queue.PlanDefaultPath(q.Path) }

// plan is the plan of that path, or nil.
func (s *Scheduler) plan(path string) *Queue {
	if q := s.find(path); q != nil && q.isPlan() {
		return q
	}
	return nil
}

// Plans appends the queues that can be reserved; see core.PlanFollower.
func (s *Scheduler) Plans(out []core.Plan) []core.Plan {
	for _, p := range s.cfg.Plans {
		if q := s.plan(p.Path); q != nil {
			s.updateSteadyShares()
			out = append(out, core.Plan{Path: p.Path, Conf: p.Conf, Capacity: s.planCapacity(q)})
		}
	}
	return out
}

// planCapacity is the steady share of the queue. A policy that divides only memory leaves steady shares of other types as they are: of these the
// queue has the same part of the queue above.
func (s *Scheduler) planCapacity(q *Queue) resource {
	if q.up == nil {
		return q.steady
	}
	divided := s.sharedTypes(q.up.policy)
	if divided == s.types() {
		return q.steady
	}
	of, r := s.planCapacity(q.up), q.steady
	for t := divided; t < s.types(); t++ {
		r[t] = 0
		if of[yarn.Memory] > 0 {
			r[t] = javanum.Scale(of[t], min(1, float64(q.steady[yarn.Memory])/float64(of[yarn.Memory])))
		}
	}
	return r
}

// Follow gives reservations what they are to have now; see core.PlanFollower.
//
// compat: memory alone says which part of the plan a reservation is, under every policy, and nothing keeps a reservation from having more (gangs).
func (s *Scheduler) Follow(path string, due []core.Promise) (over []string, refused []yarn.Reason) {
	plan := s.plan(path)
	if plan == nil {
		return nil, []yarn.Reason{{Code: fit.NotAPlan, Subject: path}}
	}
	s.updateSteadyShares()
	capacity := s.planCapacity(plan)
	wanted := make(map[string]bool, len(due))
	for _, p := range due {
		wanted[plan.Path+"."+p.Name] = true
	}
	for _, q := range plan.children {
		if q.Leaf && q.Path != plan.defaultPath() && !wanted[q.Path] {
			s.entitle(q, 0)
			over = append(over, q.Path)
		}
	}
	give := func(path string, share float32) {
		q, why := s.leafFor(path)
		if !why.OK() {
			refused = append(refused, why)
			return
		}
		s.entitle(q, share)
	}
	var given float32
	for _, p := range s.byChange(plan, due) {
		var share float32
		if capacity[yarn.Memory] > 0 && capacity[yarn.VCores] > 0 {
			share = javanum.Div(float32(p.Resource[yarn.Memory]), float32(capacity[yarn.Memory]))
		}
		give(plan.Path+"."+p.Name, share)
		given = javanum.Add(given, share)
	}
	give(plan.defaultPath(), max(0, javanum.Add(1, -given)))
	return over, refused
}

// byChange are the promises in the order in which queues are made for them: those first that get the least more than they have.
func (s *Scheduler) byChange(plan *Queue, due []core.Promise) []core.Promise {
	more := make(map[string]resource, len(due))
	for _, p := range due {
		more[p.Name] = p.Resource
		if q := s.find(plan.Path + "." + p.Name); q != nil {
			more[p.Name] = p.Resource.Sub(q.steady)
		}
	}
	out := slices.Clone(due)
	slices.SortStableFunc(out, func(a, b core.Promise) int {
		x, y := more[a.Name], more[b.Name]
		return cmp.Or(cmp.Compare(x[yarn.Memory], y[yarn.Memory]), cmp.Compare(x[yarn.VCores], y[yarn.VCores]))
	})
	return out
}

// entitle gives a queue below a plan its weight.
func (s *Scheduler) entitle(q *Queue, weight float32) {
	q.promised = true
	if q.weight == weight {
		return
	}
	q.weight, s.steadyDue = weight, true
	s.lineUpQueue(q)
}

// RemovePlanQueues removes empty queues; see core.PlanFollower.
func (s *Scheduler) RemovePlanQueues(path string, paths []string) {
	plan := s.plan(path)
	if plan == nil {
		return
	}
	s.updateSteadyShares()
	before := s.tree.Changes
	for i, members := range s.Members(paths) {
		if q := s.find(paths[i]); q != nil && q.up == plan && q.Path != plan.defaultPath() && q.Leaf && q.weight == 0 && len(members) == 0 && q.empty() {
			s.forget(q)
		}
	}
	if s.tree.Changes != before {
		plan.dropGone()
		s.dropLeaves()
		s.steadyDue = true
	}
}

// withinPlan is path, or for a plan the path of the leaf where the application goes. A queue below a plan that is not there is no queue to be made:
// its applications go where those without a reservation go.
func (s *Scheduler) withinPlan(in *demand.Application, path string) (string, yarn.Reason) {
	q := s.find(path)
	if q == nil && !s.AsApache {
		up := rooted(path)
		for s.find(up) == nil {
			up = queue.ParentPath(up)
		}
		if plan := s.plan(up); plan != nil {
			return plan.defaultPath(), yarn.Reason{}
		}
	}
	if q == nil || !q.isPlan() {
		return path, yarn.Reason{}
	}
	if in.Reservation == "" {
		return q.defaultPath(), yarn.Reason{}
	}
	if leaf := s.find(q.Path + "." + in.Reservation); leaf != nil && leaf.up == q && leaf.Leaf {
		return leaf.Path, yarn.Reason{}
	}
	if in.Recovering {
		return q.defaultPath(), yarn.Reason{}
	}
	return "", yarn.Reason{Code: fit.ReservationOver, Subject: q.Path, Detail: in.Reservation}
}
