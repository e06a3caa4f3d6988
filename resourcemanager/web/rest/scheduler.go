package rest

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
)

func (s *server) scheduler(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context())
	if err != nil {
		return nil, err
	}
	snapshot, err := s.Source.Queues(r.Context())
	if err != nil {
		return nil, err
	}
	o := tree.New()
	if len(snapshot.Queues) > 0 {
		switch root := &snapshot.Queues[0]; {
		case root.Capacity != nil:
			w := &queueWriter{all: snapshot, cluster: c, now: s.now(), applications: applications(snapshot), left: maxQueues}
			o.Add("schedulerInfo", w.root(root))
		case root.Fifo != nil:
			o.Add("schedulerInfo", onlyQueue(root, c))
		}
	}
	return answer.Wrapped("scheduler", o), nil
}
