package engine

import (
	"math"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// recovered is an application as it is stored, which must end at a time.
func recovered(n int32, expireAt int64) []RecoveredApplication {
	return []RecoveredApplication{{Submission: &Submission{ID: appID(n), User: "ann", Queue: "default", Unmanaged: true},
		Record: &state.Application{ID: appID(n), User: "ann", Queue: "root.default", Timeouts: []state.Timeout{{ExpireAt: expireAt}}}}}
}

// Nothing is due before the last application is back: what a restart comes to does not depend on how many parts they come in.
func TestNothingIsDueWhileApplicationsCome(t *testing.T) {
	r := newRig(t, settings())
	r.hold = true
	r.do(Recover{Coming: 2})
	for _, c := range []Command{RecoverApplications{Applications: recovered(1, 1)}, Tick{}, RecoverApplications{Applications: recovered(2, 1)}, Tick{}, Sweep{}} {
		r.do(c)
		if at, ok := r.e.NextDue(); ok || r.e.SweepDue() || r.e.Working() {
			t.Fatalf("%d is due after %T: %t", at, c, ok)
		}
	}
	if a, b := r.e.apps[appID(1)].state, r.e.apps[appID(2)].state; a != yarn.AppAccepted || b != yarn.AppAccepted {
		t.Errorf("they are %s and %s", a, b)
	}
	r.do(RecoverApplications{Last: true})
	if at, ok := r.e.NextDue(); !ok || at > r.now.Mono {
		t.Fatalf("%d is due afterwards: %t", at, ok)
	}
	r.do(Tick{})
	if a, b := r.e.apps[appID(1)].state, r.e.apps[appID(2)].state; a == yarn.AppAccepted || b == yarn.AppAccepted {
		t.Errorf("they are %s and %s", a, b)
	}
}

// A recording may say that any number of applications come.
func TestManyAreExpected(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MinInt, -1, 0} {
		r := newRig(t, settings())
		r.do(Recover{Coming: n})
		r.do(RecoverApplications{Applications: recovered(1, 0), All: n, Last: true})
		if len(r.e.apps) != 1 {
			t.Errorf("%d: %d applications", n, len(r.e.apps))
		}
	}
}
