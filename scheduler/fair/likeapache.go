package fair

import (
	"math"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// LikeApache takes over four defects; see the facade. A refused submission leaves the queue that was created for it; limits count the moving
// application twice; the master of a moved application is charged to no leaf; a refresh may end half-way (see dropped).
func (s *Scheduler) LikeApache() {
	s.AsApache = true
	for _, q := range s.leaves {
		// The ResourceManager of the recorded traces sets its clock only after it has created the queues of its first file, so that the time at
		// which these last had their minimum share is far in the future.
		q.atMinimum = math.MaxInt64 / 2
	}
}

// CountUsers does nothing: limits of users are on running applications, which are counted anyway.
func (s *Scheduler) CountUsers() {}

// dropped makes the queues dynamic that the file no longer names. It is false if the rest of the refresh is to be left out.
//
// compat: Apache's refresh ends at the first of them that was never created, because another queue was in its way.
func (s *Scheduler) dropped(before []*allocation.Queue) bool {
	names := make([]string, len(before))
	for i, conf := range before {
		names[i] = conf.Path
	}
	if s.AsApache {
		sorted := make([]string, len(names))
		for i, at := range javanum.HashOrder(names) {
			sorted[i] = names[at]
		}
		names = sorted
	}
	for _, name := range names {
		if s.cfg.Queue(name) != nil {
			continue
		}
		q := s.find(name)
		if q == nil && s.AsApache {
			return false
		}
		if q != nil && q != s.root {
			q.dynamic = true
		}
	}
	return true
}

// forgetMaxChild gives a queue that the file does not name the maximum of any such queue.
//
// compat: a refresh of Apache's that ends half-way does not come to the maxChildResources of parents.
func (s *Scheduler) forgetMaxChild(q *Queue) {
	if q.up == nil || q.up.conf.MaxChild == nil || s.cfg.Queue(q.Path) != nil {
		return
	}
	conf := *q.conf
	conf.Max = s.cfg.Defaults.QueueMax
	s.configure(q, &conf)
}

// blocked notes a queue of the file that another one is in the way of.
func (s *Scheduler) blocked(conf *allocation.Queue) {
	if s.AsApache {
		s.tasks = append(s.tasks, conf)
	}
}

// unblock creates the noted queues that nothing is in the way of any more.
//
// compat: Apache forgets one if a sweep has removed the queue in its way, and creates one that the file no longer names.
func (s *Scheduler) unblock() {
	tasks := s.tasks
	s.tasks = nil
	slices.SortStableFunc(tasks, func(a, b *allocation.Queue) int { return strings.Compare(a.Path, b.Path) }) // Apache's order is random
	for _, conf := range tasks {
		switch wrong := s.inTheWay(conf); {
		case wrong == nil:
		case !wrong.empty():
			s.tasks = append(s.tasks, conf)
		default:
			s.remove(wrong)
			if q, why := s.create(conf.Path, conf.Kind == allocation.Leaf); why.OK() && s.cfg.Queue(conf.Path) != nil {
				q.dynamic = false
			}
		}
	}
}
