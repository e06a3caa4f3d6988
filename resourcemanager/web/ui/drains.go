package ui

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// maxHolders bounds how many applications the page names for one node.
const maxHolders = 10

// drainRow is a row of the page: one node.
type drainRow struct {
	*view.Node
	Phase, Leaves string
	Holders       []holder
	More          int // how many more applications there are
}

// holder is an application that a node waits for.
type holder struct {
	view.Holder
	Shown   bool // the reader may see its user, queue and progress
	Percent float32
}

// drains is the page of the nodes that drain or that an order keeps away, with the applications that they wait for.
func (s *server) drains(r *http.Request) (*frame, error) {
	c, err := s.Source.Cluster(r.Context(), header|view.Applications)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *view.Node) bool { return n.Drain == nil })
	p := pageOf(r.URL.Path, r.URL.Query(), len(chosen))
	body := struct {
		Rows []drainRow
		paging
	}{nil, p}
	for _, n := range chosen[p.From:p.To] {
		body.Rows = append(body.Rows, s.drainRow(webgate.From(r.Context()), c, n))
	}
	return &frame{Title: "Draining nodes", Here: "drains", Metrics: s.metrics(r.Context(), c), Body: body}, nil
}

func (s *server) drainRow(caller webgate.Caller, c *view.Cluster, n *view.Node) drainRow {
	now, holders := s.Now().UnixMilli(), c.Holders(n)
	row := drainRow{Node: n, Phase: string(n.Phase(now)), Leaves: "-"}
	if n.State == yarn.NodeDecommissioning {
		row.Leaves = "unknown"
		if seconds := n.LeavesIn(holders, now); seconds != view.Unknown {
			row.Leaves = (time.Duration(min(seconds, math.MaxInt64/int64(time.Second))) * time.Second).String()
		}
	}
	shown := holders[:min(len(holders), maxHolders)]
	row.More = max(n.Drain.Applications, len(holders)) - len(shown)
	for _, h := range shown {
		x := holder{Holder: h, Shown: h.App != nil && s.Source.MayView(caller, h.App)}
		if x.Shown {
			x.Percent = h.App.Progress * 100
		}
		row.Holders = append(row.Holders, x)
	}
	return row
}
