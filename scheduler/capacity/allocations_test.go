package capacity

import (
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// Decisions and ends are too many for each to leave something behind for the collector.
func TestDecisionsAndEndsAllocateNothing(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h1", 1, 8192, 8, "")
	x.ask(1_000_000, yarn.NewResource(512, 1))
	out := make([]cluster.Decision, 0, 8)
	turn := func() {
		if out = x.Offer(n, x.Now, out[:0]); len(out) == 0 {
			t.Fatal("nothing is placed")
		}
		for i := range out {
			x.Finish(out[i].Container, cluster.Completed)
		}
	}
	if each := testing.AllocsPerRun(1000, turn); each > 0 {
		t.Errorf("a decision and an end allocate %v times", each)
	}
}
