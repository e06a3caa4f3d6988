package resourcemanager

import (
	"testing"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// TestTally: containers count for their queue and those above it; steps to a registered master are timed, and others are forgotten.
func TestTally(t *testing.T) {
	x := newTally()
	app := func(n int32) yarn.ApplicationID { return yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n} }
	step := func(n int32, at int64, from, to yarn.AttemptState) {
		x.count(&events.Event{Kind: events.Attempt, Application: app(n), Attempt: 1, At: at, From: from.String(), To: to.String()})
	}
	step(1, 1000, yarn.AttemptSubmitted, yarn.AttemptScheduled)
	step(2, 1000, yarn.AttemptSubmitted, yarn.AttemptScheduled)
	step(1, 1040, yarn.AttemptScheduled, yarn.AttemptAllocatedSaving)
	step(1, 1050, yarn.AttemptAllocatedSaving, yarn.AttemptAllocated)
	step(1, 1070, yarn.AttemptAllocated, yarn.AttemptLaunched)
	step(2, 1100, yarn.AttemptScheduled, yarn.AttemptFinalSaving)
	step(1, 1570, yarn.AttemptLaunched, yarn.AttemptRunning)
	step(1, 9000, yarn.AttemptRunning, yarn.AttemptFinalSaving)
	step(3, 9000, yarn.AttemptAllocated, yarn.AttemptLaunched) // it was restored
	for _, c := range []struct{ queue, what string }{{"root.a.b", "allocated"}, {"root.a.b", "allocated"}, {"root.a.b", "ended"}, {"root.a", "noticed"}, {"root.c", "allocated"}, {"", "ended"}} {
		x.count(&events.Event{Kind: events.Container, Queue: c.queue, What: c.what})
	}
	x.count(&events.Event{Kind: events.Container, Queue: "root.a.b", What: "ended", MemoryMB: 512, VCores: 2, Exit: yarn.ExitPreempted})
	got := x.now()
	if got.MasterAllocation != (access.Timing{Count: 1, Total: 40 * time.Millisecond}) || got.MasterLaunch != (access.Timing{Count: 1, Total: 20 * time.Millisecond}) ||
		got.MasterRegistration != (access.Timing{Count: 1, Total: 500 * time.Millisecond}) || len(x.masters) != 0 {
		t.Errorf("%+v, %d are left", got, len(x.masters))
	}
	for path, want := range map[string]access.QueueTally{"root": {Allocated: 3, Released: 2, PreemptedMB: 512, PreemptedVCores: 2}, "root.a": {Allocated: 2, Released: 2, PreemptedMB: 512, PreemptedVCores: 2},
		"root.a.b": {Allocated: 2, Released: 2, PreemptedMB: 512, PreemptedVCores: 2}, "root.c": {Allocated: 1}} {
		if got.Queues[path] != want {
			t.Errorf("%s: %+v", path, got.Queues[path])
		}
	}
}
