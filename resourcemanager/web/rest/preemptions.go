package rest

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// mostPreemptions is how many events one answer has unless limit says otherwise.
const mostPreemptions = 1000

// preemptions answers GET /preemptions, which Hadoop does not have: what was taken from queues, by whom and for whom, the youngest first.
// docs/rest.md has the fields.
func (s *server) preemptions(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	most, err := limitOf(q.Get("limit"))
	if err != nil {
		return nil, err
	}
	if most == 0 {
		most = mostPreemptions
	}
	queue := q.Get("queue")
	if queue != "" {
		c, err := s.Source.Cluster(r.Context(), view.Queues)
		if err != nil {
			return nil, err
		}
		at, ok := c.Queues.Find(queue)
		if !ok {
			return nil, notFound("there is no queue %s", queue)
		}
		queue = at.Path
	}
	list, err := s.Source.Preemptions(r.Context(), queue, yarn.ApplicationID{}, most)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("preemptions", tree.New().Add("preemption", tree.Stream(func(yield func(tree.Value) bool) {
		for i := range list {
			if !yield(preemption(&list[i])) {
				return
			}
		}
	}))), nil
}

func preemption(p *view.Preemption) *tree.Object {
	lost := p.Lost()
	return tree.New().Add("time", p.At).Add("event", p.Event.String()).Add("containerId", p.Container.String()).
		Add("appId", p.Container.Attempt.Application.String()).Add("queue", p.Queue).
		Add("memoryMB", p.Resource.MemoryMB()).Add("vCores", p.Resource.VCoreCount()).Add("master", p.Master).
		Add("ageMillis", p.Age).Add("rule", p.Rule).
		AddIf(p.ForQueue != "", "forQueue", p.ForQueue).
		AddIf(p.ForApp.Sequence != 0, "forAppId", p.ForApp.String()).
		Add("lostMemorySeconds", lost.MemoryMB()).Add("lostVcoreSeconds", lost.VCoreCount())
}

// preemptionSentences are sentences about what was taken from an application, or for it, the youngest first, as text rewrites them.
func (s *server) preemptionSentences(r *http.Request, id yarn.ApplicationID, text func(string) string) (tree.List, error) {
	list, err := s.Source.Preemptions(r.Context(), "", id, view.MostTold)
	if err != nil {
		return nil, err
	}
	out := make(tree.List, len(list))
	for i := range list {
		out[i] = text(list[i].Sentence(id))
	}
	return out, nil
}
