package capacity

import (
	"testing"

	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// TestKeptContainersCount: containers that outlive their attempt go on counting for their user, who leaves with the last of them.
func TestKeptContainersCount(t *testing.T) {
	one := yarn.NewResource(1024, 1)
	for _, again := range []bool{true, false} {
		x := newSmall(t, nil)
		uses := func(want *resource) {
			t.Helper()
			x.sound()
			u := leafOf(x.tree.ByPath("root.a")).Named("ann")
			if (u == nil) != (want == nil) || u != nil && u.Shares[0].Used != *want {
				t.Fatalf("another attempt %t: ann is %+v, and should use %v", again, u, want)
			}
		}
		n := x.node("h", 1, 4096, 8, "")
		c := x.place(n, one)
		x.EndAttempt(x.app, true)
		uses(&one)
		if again {
			x.AddAttempt(x.app, demand.Attempt{ID: yarn.AttemptID{Application: x.App(x.app).ID, Attempt: 2}, KeepContainers: true})
			uses(&one)
			x.Vacate(c)
			uses(&resource{})
			x.EndAttempt(x.app, false)
		} else {
			x.Vacate(c)
		}
		uses(nil)
	}
}
