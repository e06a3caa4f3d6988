package rest

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
)

// queueSettings lists the properties in force that govern a queue: its own, those of the queues above it, and those for all queues.
func (s *server) queueSettings(r *http.Request) (*answer.Response, error) {
	all, err := s.Source.Cluster(r.Context(), view.Queues)
	if err != nil {
		return nil, err
	}
	q, ok := all.Queues.Find(r.PathValue("queue"))
	if !ok {
		return nil, notFound("there is no queue %s", clipped(r.PathValue("queue")))
	}
	if c := webgate.From(r.Context()); !s.Source.QueueRights(c, q.Path).Administer {
		return nil, answer.Errorf(answer.Forbidden, "User %s may not administer the queue %s, and so not see its settings", c.User, q.Path)
	}
	list, err := s.Source.QueueSettings(r.Context(), q.Path)
	if err != nil {
		return nil, err
	}
	out := tree.List{}
	for _, p := range list {
		out = append(out, tree.New().Add("name", p.Name).Add("value", p.Value).AddIf(p.Origin != "", "origin", p.Origin))
	}
	return answer.Wrapped("queueSettings", tree.New().Add("queuePath", q.Path).Add("property", out)), nil
}
