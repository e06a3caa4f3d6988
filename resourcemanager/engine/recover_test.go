package engine

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler/config"
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

// Two applications of one id are in no store, but may be in a recording: the first one stays.
func TestRecoveredTwice(t *testing.T) {
	r := newRig(t, settings())
	r.do(Recover{Coming: 2})
	r.do(RecoverApplications{Applications: append(recovered(1, 0), recovered(1, 0)...), Last: true})
	if len(r.e.order) != 1 || r.e.order[0] != r.e.apps[appID(1)] {
		t.Errorf("%d applications", len(r.e.order))
	}
}

// Applications that come back together share what they ask for. Each asks for what it would ask for if they came one by one.
func TestAsksForMastersOfRecovered(t *testing.T) {
	asks := func(mb int64) []yarn.Ask {
		return []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(mb, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}
	}
	config := []config.Property{{Name: "root.queues", Value: "default,other,made"}, {Name: "root.other.default-node-label-expression", Value: "x"},
		{Name: "root.made.capacity", Value: "0"}, {Name: "root.made.auto-create-child-queue.enabled", Value: "true"},
		{Name: "root.made.leaf-queue-template.capacity", Value: "0"}, {Name: "root.made.leaf-queue-template.default-node-label-expression", Value: "x"},
		{Name: "root.accessible-node-labels", Value: "x"}, {Name: "root.other.accessible-node-labels", Value: "x"}, {Name: "root.made.accessible-node-labels", Value: "x"},
		{Name: "root.made.leaf-queue-template.accessible-node-labels", Value: "x"}}
	recover := func(together bool) *rig {
		set := settings()
		set.Labels = true
		r, shared := newRig(t, set, config...), asks(1000)
		var apps []RecoveredApplication
		for i, queue := range []string{"default", "other", "made.ann", "default", "other", "made.ann", "default", "made.ann"} {
			id, mine := appID(int32(i+1)), shared
			if i > 5 {
				mine = asks(3000)
			}
			var attempts []state.Attempt
			if i == 5 { // its master may still run, so there is no new attempt
				attempts = []state.Attempt{{ID: yarn.AttemptID{Application: id, Attempt: 1}}}
			}
			apps = append(apps, RecoveredApplication{Attempts: attempts, Submission: &Submission{ID: id, User: "ann", Queue: "root." + queue, AMAsks: mine}, Record: &state.Application{ID: id, User: "ann", Queue: "root." + queue}})
		}
		r.do(Recover{Coming: len(apps), Labels: state.Labels{Known: []state.NodeLabel{{Name: "x"}}}})
		for i := range apps {
			if !together {
				r.do(RecoverApplications{Applications: apps[i : i+1]})
			}
		}
		if !together {
			apps = nil
		}
		r.do(RecoverApplications{Applications: apps, Last: true})
		if !slices.Equal(shared, asks(1000)) {
			t.Errorf("what the submissions share became %+v", shared)
		}
		return r
	}
	one, all := recover(false), recover(true)
	for i, want := range one.e.order {
		if got := all.e.order[i]; got.sub.ID != want.sub.ID || got.state != want.state || !slices.Equal(got.sub.AMAsks, want.sub.AMAsks) {
			t.Errorf("%s, %s, asks for %+v; one by one it is %s and asks for %+v", got.sub.ID, got.state, got.sub.AMAsks, want.state, want.sub.AMAsks)
		}
	}
	var said []string
	for _, a := range one.e.order {
		said = append(said, strconv.FormatInt(a.sub.AMAsks[0].Capability[yarn.Memory], 10)+a.sub.AMAsks[0].Label)
	}
	if want := []string{"1024", "1024x", "1024x", "1024", "1024x", "1024x", "3072", "3072x"}; !slices.Equal(said, want) {
		t.Errorf("they ask for %q, want %q", said, want)
	}
}
