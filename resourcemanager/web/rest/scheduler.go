package rest

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/resourcemanager/view"
)

func (s *server) scheduler(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Queues|view.Counts)
	if err != nil {
		return nil, err
	}
	o := tree.New()
	if len(c.Queues.Queues) > 0 {
		switch root := &c.Queues.Queues[0]; {
		case root.Capacity != nil:
			w := &queueWriter{all: c.Queues, cluster: c, now: s.now(), applications: applications(c.Queues), left: maxQueues}
			o.Add("schedulerInfo", w.root(root))
		case root.Fair != nil:
			o.Add("schedulerInfo", fairScheduler(root, c))
		case root.Fifo != nil:
			o.Add("schedulerInfo", onlyQueue(root, c))
		}
	}
	return answer.Wrapped("scheduler", o), nil
}
