package rest

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// The resource /queues, which Hadoop does not have but for the access below it: where queues come from and why they are not deleted. A name may
// have slashes, so a queue is all the rest of the path. docs/rest.md has the fields.

// queues answers GET: all queues, parents before children.
func (s *server) queues(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Queues)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("queues", tree.New().Add("queue", tree.Stream(func(yield func(tree.Value) bool) {
		for i := range c.Queues.Queues {
			if !yield(lifeOf(&c.Queues.Queues[i])) {
				return
			}
		}
	}))), nil
}

func (s *server) oneQueue(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Queues)
	if err != nil {
		return nil, err
	}
	q, ok := c.Queues.Find(r.PathValue("queue"))
	if !ok {
		return nil, notFound("there is no queue %s", r.PathValue("queue"))
	}
	return answer.Wrapped("queue", lifeOf(q)), nil
}

// lifeOf is a queue with the reason for which it stays: a code and a sentence, of the FairScheduler's queues alone. Neither is there for one
// that can be deleted.
func lifeOf(q *queue.Info) *tree.Object {
	o := tree.New().Add("queuePath", q.Path).Add("leaf", q.Leaf).Add("dynamic", q.Dynamic)
	if q.Fair == nil {
		return o
	}
	why := q.Fair.Kept
	return o.Add("deletable", why.OK()).
		AddIf(!why.OK(), "keptFor", string(why.Code)).
		AddIf(!why.OK(), "keptBecause", view.Kept(why))
}

func (s *server) deleteQueue(r *http.Request) (*answer.Response, error) {
	path, err := s.Controller.DeleteQueue(r.Context(), webgate.From(r.Context()), r.PathValue("queue"))
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("deleted", tree.New().Add("queuePath", path)), nil
}
