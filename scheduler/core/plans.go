package core

import (
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Plan is a queue whose capacity can be reserved.
type Plan struct {
	Path     string
	Conf     *config.Plan
	Capacity yarn.Resource // what it is entitled to in the cluster as it is now
}

// Promise is what a reservation is to have now.
type Promise = queue.Promise

// PlanFollower is a policy whose queues may be reserved.
type PlanFollower interface {
	// Plans appends the queues that can be reserved, in the order of the tree.
	Plans(out []Plan) []Plan
	// Follow gives the queues below a plan what the reservations that are due are to have, and the rest to the one for applications without a
	// reservation. Queues are made for those that come. over are the paths of the queues whose reservation is over: they get nothing
	// more, and are to be emptied and removed. refused says of whom nothing changed.
	Follow(plan string, due []Promise) (over []string, refused []yarn.Reason)
	// RemovePlanQueues removes those of the queues below a plan that are empty and whose reservation is over.
	RemovePlanQueues(plan string, paths []string)
}

// NoPlans are for a policy to embed whose queues cannot be reserved.
type NoPlans struct{}

// Plans appends nothing.
func (NoPlans) Plans(out []Plan) []Plan { return out }

// Follow does nothing.
func (NoPlans) Follow(string, []Promise) ([]string, []yarn.Reason) { return nil, nil }

// RemovePlanQueues does nothing.
func (NoPlans) RemovePlanQueues(string, []string) {}

// QueueOf is the path of the application's queue as everybody sees it: of a plan rather than of the queue below it.
func (s *Core) QueueOf(ref AppRef) string {
	q := s.App(ref).Leaf
	if q.Inner {
		q = q.Parent
	}
	return q.Path
}

// LeafOf is the path of the leaf that the application is in.
func (s *Core) LeafOf(ref AppRef) string { return s.App(ref).Leaf.Path }

// Members are the applications of each of the leaves, those between two attempts included.
func (s *Core) Members(paths []string) [][]AppRef {
	at := make(map[string]int, len(paths))
	for i, p := range paths {
		at[p] = i
	}
	out := make([][]AppRef, len(paths))
	for _, a := range s.Apps {
		if a == nil || a.Gone {
			continue
		}
		if i, ok := at[a.Leaf.Path]; ok {
			out[i] = append(out[i], a.Ref)
		}
	}
	return out
}
