package fair

import (
	"math"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// LikeApache has refused submissions leave the queue that was made for them, moves count the application that moves, masters that move be
// charged to nobody, and refreshes end half-way (see dropped); see the facade.
func (s *Scheduler) LikeApache() {
	s.AsApache = true
	for _, q := range s.leaves {
		// The ResourceManager that traces are recorded from gets its clock after the queues of its first file: they believe to have had their
		// minimum until long after.
		q.atMinimum = math.MaxInt64 / 2
	}
}

// CountUsers counts nobody: limits of users are of applications that run.
func (s *Scheduler) CountUsers() {}

// dropped makes those queues dynamic that the file names no more. It is false if the rest of a refresh is left out.
//
// compat: in Apache a refresh ends at the first of them that never came to be, because another one was in its way.
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

// blocked notes a queue of the file that another one is in the way of.
func (s *Scheduler) blocked(conf *allocation.Queue) {
	if s.AsApache {
		s.tasks = append(s.tasks, conf)
	}
}

// unblock makes those queues whose way has become free.
//
// compat: in Apache one is forgotten once nothing is in its way any more, if a sweep has removed what was; and one is made that no file names
// by now.
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
