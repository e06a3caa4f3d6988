package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// orderedNames are names of an order: h1* is the whole host, h1 its node.
func orderedNames(words []string) (names []yarn.NodeID) {
	for _, w := range words {
		host, whole := strings.CutSuffix(w, "*")
		id := nodeID(host)
		if whole {
			id.Port = 0
		}
		names = append(names, id)
	}
	return names
}

// TestNodesTold: a master learns of very many changed nodes in several answers, of each once.
func TestNodesTold(t *testing.T) {
	p, nodes, masters := newPlant(t, 2*MaxNodesTold+1, 1)
	told := func() (ids []yarn.NodeID) {
		for _, n := range p.poll(masters[0], nil).Nodes {
			ids = append(ids, n.ID)
		}
		return ids
	}
	for len(told()) > 0 { // of their registration
	}
	excluded := map[yarn.NodeID]Exclusion{}
	for _, id := range nodes {
		excluded[id] = Exclusion{Timeout: -1}
	}
	for p.do(RefreshNodes{Ticket: 1, How: Graceful, Excluded: excluded}); p.e.Working(); {
		p.do(Tick{})
	}
	seen := map[yarn.NodeID]bool{}
	for _, want := range []int{MaxNodesTold, MaxNodesTold, 1, 0} {
		ids := told()
		if len(ids) != want {
			t.Fatalf("an answer tells of %d nodes, want %d", len(ids), want)
		}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%s is told of twice", id)
			}
			seen[id] = true
		}
	}
}

// watchDrains sees that no draining node goes with something on it before its deadline, unless somebody had that done: lists or force,
// or a NodeManager that has started anew without it.
func (r *rig) watchDrains(c Command) (check func()) {
	until := map[*node]int64{}
	for _, n := range r.e.nodes {
		if n.drain != nil {
			until[n] = n.drain.deadline
		}
	}
	_, refresh := c.(RefreshNodes)
	registers, _ := c.(RegisterNode)
	if working := r.e.Working(); refresh || working {
		return func() {}
	}
	return func() {
		for n, at := range until {
			if n.state == yarn.NodeDecommissioned && n.cutShort && (at == 0 || at > r.now.Wall) && registers.Node != n.id {
				panic(fmt.Sprintf("%T has %s go at %d, before its deadline %d, and something needs it", c, n.id, r.now.Wall, at))
			}
		}
	}
}
