package capacity

import (
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

func (s *Scheduler) create(path string) (*Queue, yarn.Reason) {
	return nil, yarn.Reason{Code: fit.UnknownQueue, Subject: path}
}

func (q *Queue) template(s *Scheduler, p part) float32 { return 0 }

// RunDynamicQueues is one run of the care for dynamic queues; see the facade.
func (s *Scheduler) RunDynamicQueues(deleting bool, now yarn.Now) {}
