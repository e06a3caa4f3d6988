package capacity

import (
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// TestChangesOfANodeLookAtNoOther: what the largest nodes have follows from the node
// that leaves or changes alone. Another one has more without the books having been
// told, which a look at all nodes would find.
func TestChangesOfANodeLookAtNoOther(t *testing.T) {
	x := newSmall(t, nil)
	large, small, other := x.node("h1", 1, 4096, 4, ""), x.node("h2", 1, 2048, 2, ""), x.node("h3", 1, 1024, 1, "")
	expect := func(when string, mb, cores int64) {
		t.Helper()
		if got := x.MaximumAllocation(""); got != yarn.NewResource(mb, cores) {
			t.Errorf("%s: the largest container may have %v", when, got)
		}
	}
	expect("all are there", 4096, 4)
	told := x.Books.Node(other).Total
	x.Books.Node(other).Total = yarn.NewResource(8192, 8)
	x.SetNodeTotal(large, yarn.NewResource(3072, 4))
	expect("the largest has less", 3072, 4)
	x.RemoveNode(large)
	expect("it is gone", 2048, 2)
	x.Together(func() { x.SetNodeTotal(small, yarn.NewResource(1536, 2)) })
	expect("and the next has less, too", 1536, 2)
	x.Books.Node(other).Total = told
	x.sound()
	x.SetNodeTotal(other, yarn.NewResource(8192, 1))
	expect("the last has more, and the books know", 8192, 2)
	x.sound()
	x.Books.Largest[yarn.Memory]--
	if x.Check() == "" {
		t.Error("Check does not count anew what the largest nodes have")
	}
}
