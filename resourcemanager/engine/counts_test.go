package engine

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// told are the counters of applications as readers see them.
func (r *rig) told() string {
	r.e.Publish(r.now, &r.reader)
	m := &r.reader.metrics
	return fmt.Sprintf("submitted %d, pending %d, running %d, completed %d, failed %d, killed %d", m.Submitted, m.Pending, m.Running, m.Completed, m.Failed, m.Killed)
}

// TestCountsOfRejected: an application counts from the moment that its queue has taken it, and one that no queue takes never.
func TestCountsOfRejected(t *testing.T) {
	r := newRig(t, settings(), config.Property{Name: "root.other.maximum-applications", Value: "1"})
	submit := func(n int32, queue string) {
		r.do(Submit{Ticket: r.next(), Application: Submission{ID: appID(n), User: "ann", Queue: queue,
			AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(256, 1), Count: 1, RelaxLocality: true}}}})
	}
	expect := func(when, want string) {
		t.Helper()
		if got := r.told(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	r.hold = true
	submit(1, "other")
	expect("while the first is being stored", "submitted 0, pending 0, running 0, completed 0, failed 0, killed 0")
	for len(r.pending) > 0 {
		r.confirm(nil)
	}
	r.hold = false
	expect("when it is in its queue", "submitted 1, pending 1, running 0, completed 0, failed 0, killed 0")
	submit(2, "other")   // full
	submit(3, "nowhere") // unknown
	submit(4, "root")    // no leaf
	for n := int32(2); n <= 4; n++ {
		r.told()
		if a := r.reader.apps[appID(n)]; a == nil || a.State != yarn.AppFailed {
			t.Errorf("application %d is %+v, not rejected", n, a)
		}
	}
	expect("after three were rejected", "submitted 1, pending 1, running 0, completed 0, failed 0, killed 0")
	r.do(Kill{Ticket: r.next(), Application: appID(1), Diagnostics: "enough"})
	expect("when the first was killed", "submitted 1, pending 0, running 0, completed 0, failed 0, killed 1")
	subs := map[yarn.ApplicationID]Submission{}
	for n := int32(1); n <= 4; n++ {
		subs[appID(n)] = Submission{ID: appID(n), User: "ann"}
	}
	r = r.restart(t, settings(), subs)
	expect("in the next life", "submitted 0, pending 0, running 0, completed 0, failed 0, killed 0")
	if len(r.reader.apps) != 4 {
		t.Errorf("%d applications are remembered", len(r.reader.apps))
	}
}
