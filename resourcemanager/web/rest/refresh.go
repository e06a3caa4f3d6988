package rest

import (
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
)

// mostRefreshed bounds the nodes that the answer to a refresh names.
const mostRefreshed = 1000

// refresh has the queues' file or the lists of nodes read anew, or, with dryRun, tells what that would change. Hadoop has it over RPC alone.
func (s *server) refresh(what string) answer.Handler {
	return func(r *http.Request) (*answer.Response, error) {
		q := r.URL.Query()
		in := access.RefreshRequest{What: what}
		var err error
		if in.DryRun, err = yes(q.Get("dryRun"), "dryRun"); err != nil {
			return nil, err
		}
		if in.Graceful, err = yes(q.Get("graceful"), "graceful"); err != nil {
			return nil, err
		}
		x, err := s.Controller.Refresh(r.Context(), webgate.From(r.Context()), in)
		if err != nil {
			return nil, err
		}
		o := tree.New().Add("what", what).Add("dryRun", in.DryRun).Add("accepted", x.Refusal == "").AddIf(x.Refusal != "", "refusal", x.Refusal)
		if x.Plan != nil {
			plan, err := s.planObject(r.Context(), x.Plan)
			if err != nil {
				return nil, err
			}
			o.Add("plan", plan)
		}
		var nodes tree.List
		for _, n := range x.Nodes[:min(len(x.Nodes), mostRefreshed)] {
			nodes = append(nodes, tree.New().Add("id", n.ID.String()).Add("state", n.State.String()).Add("becomes", n.Becomes.String()).
				Add("containers", n.Containers).AddIf(n.Reason != "", "reason", n.Reason))
		}
		if what == access.RefreshNodes {
			o.Add("nodes", len(x.Nodes)).AddIf(len(nodes) > 0, "node", nodes)
		}
		return answer.Wrapped("refresh", o), nil
	}
}

// yes reads a parameter that is true or false; without one it is false.
func yes(text, name string) (bool, error) {
	switch strings.ToLower(text) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, badRequest("%s is %q: it must be true or false", name, clipped(text))
}
