package replica

import (
	"slices"
	"testing"
	"time"
)

// TestHandOverAmong: whoever hands over is followed at once, and not only after the others have waited for it.
func TestHandOverAmong(t *testing.T) {
	for _, members := range []int{3, 5, 7} {
		var most time.Duration
		for seed := range uint64(20) {
			seeded(t, seed)
			w := newFaultWorld(t, seed, members, nil)
			took, wrong := w.handsOver()
			if wrong != "" {
				t.Fatalf("%d members, seed %d: %s", members, seed, wrong)
			}
			most = max(most, took)
		}
		if most >= electionTime {
			t.Errorf("%d members: another one had a lease %v after a hand-over, of an election time of %v", members, most, electionTime)
		}
	}
}

// handsOver lets the leader hand over, and tells when another one has a lease.
func (w *faultWorld) handsOver() (took time.Duration, wrong string) {
	defer func() {
		if x := recover(); x != nil {
			wrong = string(x.(violation))
		}
	}()
	w.careful = true
	w.untilWhole("founding")
	a := w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.core.leads() })]
	began := w.now
	if !a.core.handOver(0) {
		w.violated("there is nobody to hand over to")
	}
	w.advance(a)
	for w.now < began+10*electionTime {
		w.step()
		for _, n := range w.nodes {
			if n != a && w.now < n.core.lease {
				return w.now - began, ""
			}
		}
	}
	return 0, "nobody follows"
}
