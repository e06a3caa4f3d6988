package capacity

import (
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Plans appends the queues that can be reserved; see core.PlanFollower.
func (s *Scheduler) Plans(out []core.Plan) []core.Plan {
	b := s.basis()
	for _, q := range s.tree.Queues {
		if q != nil && q.Conf.Kind == config.Reservable {
			out = append(out, core.Plan{Path: q.Path, Conf: &q.Conf.Plan, Capacity: b.PlanCapacity(q)})
		}
	}
	return out
}

// Follow gives reservations what they are to have now; see core.PlanFollower.
func (s *Scheduler) Follow(path string, due []core.Promise) (over []string, refused []yarn.Reason) {
	plan := s.plan(path)
	if plan == nil {
		return nil, []yarn.Reason{{Code: fit.NotAPlan, Subject: path}}
	}
	gone, refused := s.live().Follow(plan, due)
	for _, q := range gone {
		over = append(over, q.Path)
	}
	return over, refused
}

// RemovePlanQueues removes empty queues; see core.PlanFollower.
func (s *Scheduler) RemovePlanQueues(path string, paths []string) {
	plan := s.plan(path)
	if plan == nil {
		return
	}
	var gone []*Queue
	for i, members := range s.Members(paths) {
		if q := s.tree.ByPath(paths[i]); q != nil && q.Up == plan && q != plan.Default() && len(members) == 0 && q.Shares[0].Capacity == 0 {
			gone = append(gone, q)
		}
	}
	s.live().RemovePlanLeaves(plan, gone)
}

// plan is the reservable queue of that path, or nil.
func (s *Scheduler) plan(path string) *Queue {
	if q := s.tree.ByPath(path); q != nil && q.Conf.Kind == config.Reservable {
		return q
	}
	return nil
}

// planOf is the reservable queue of that path, or the one above a queue that is gone, which an application was in that comes back; or nil.
func (s *Scheduler) planOf(q *Queue, path string, recovering bool) *Queue {
	switch {
	case q != nil && q.Conf.Kind == config.Reservable:
		return q
	case q == nil && recovering:
		return s.plan(queue.ParentPath(path))
	}
	return nil
}

// planLeaf is where an application goes that comes to a reservable queue.
func (s *Scheduler) planLeaf(in *demand.Application, plan *Queue) (*Queue, yarn.Reason) {
	if in.Reservation == "" {
		return plan.Default(), yarn.Reason{}
	}
	if q := s.tree.ByPath(plan.Path + "." + in.Reservation); q != nil {
		return q, yarn.Reason{}
	}
	if in.Recovering && plan.Conf.Plan.MoveOnExpiry {
		return plan.Default(), yarn.Reason{}
	}
	if q := s.tree.Find(in.Reservation); q != nil {
		return nil, yarn.Reason{Code: fit.OtherPlan, Subject: plan.Path, Detail: in.Reservation}
	}
	return nil, yarn.Reason{Code: fit.ReservationOver, Subject: plan.Path, Detail: in.Reservation}
}
