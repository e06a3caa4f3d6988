package resourcemanager

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// TestTally: containers count for their queue and those above it; steps to a registered master are timed, and others are forgotten.
func TestTally(t *testing.T) {
	x := newTally()
	app := func(n int32) yarn.ApplicationID { return yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n} }
	step := func(n int32, at int64, from, to yarn.AttemptState) {
		x.attempt(&events.Event{Kind: events.Attempt, Queue: "root.a.b", Application: app(n), Attempt: 1, At: at, From: from.String(), To: to.String()})
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
	for _, c := range []engine.ContainerEvent{{Queue: "root.a.b", User: "u", Born: true}, {Queue: "root.a.b", User: "v", Born: true, Locality: scheduler.RackLocal}, {Queue: "root.a.b", User: "u"},
		{Queue: "root.c", User: "u", Born: true, Locality: scheduler.OffSwitch}, {},
		{Queue: "root.a.b", User: "v", Resource: yarn.NewResource(512, 2), Exit: yarn.ExitPreempted}} {
		x.container(&c)
	}
	for n, steps := range [][]yarn.ApplicationState{
		{yarn.AppSubmitted, yarn.AppAccepted, yarn.AppRunning, yarn.AppFinalSaving, yarn.AppFinished},
		{yarn.AppSubmitted, yarn.AppAccepted, yarn.AppFinalSaving, yarn.AppKilled},
		{yarn.AppSubmitted, yarn.AppFinalSaving, yarn.AppFailed}, // its queue has refused it
		{yarn.AppRunning, yarn.AppAccepted},                      // another attempt
	} {
		for i, to := range steps[1:] {
			x.application(&engine.Transition{Application: app(int32(n)), Queue: "root.a.b", User: "u", From: steps[i].String(), To: to.String()})
		}
	}
	got := x.now(true)
	if got.MasterAllocation != (access.Timing{Count: 1, Total: 40 * time.Millisecond}) || got.MasterLaunch != (access.Timing{Count: 1, Total: 20 * time.Millisecond}) ||
		got.MasterRegistration != (access.Timing{Count: 1, Total: 500 * time.Millisecond}) || len(x.masters)+len(x.ending) != 0 {
		t.Errorf("%+v, %d are left", got, len(x.masters))
	}
	once := access.Timing{Count: 1, Total: 40 * time.Millisecond}
	below := access.QueueTally{Allocated: 2, Released: 2, PreemptedMB: 512, PreemptedVCores: 2, NodeLocal: 1, RackLocal: 1, MasterAllocation: once}
	all := below
	all.Allocated, all.OffSwitch = 3, 1
	for path, want := range map[string]access.QueueTally{"root": all, "root.a": below, "root.a.b": below, "root.c": {Allocated: 1, OffSwitch: 1}} {
		if got.Queues[path] != want {
			t.Errorf("%s: %+v", path, got.Queues[path])
		}
	}
	for key, want := range map[access.UserInQueue]access.UserTally{
		{Queue: "root.a.b", User: "u"}: {Submitted: 2, Completed: 1, Killed: 1, QueueTally: access.QueueTally{Allocated: 1, Released: 1, NodeLocal: 1}},
		{Queue: "root.a", User: "v"}:   {QueueTally: access.QueueTally{Allocated: 1, Released: 1, RackLocal: 1, PreemptedMB: 512, PreemptedVCores: 2}},
		{Queue: "root", User: "u"}:     {Submitted: 2, Completed: 1, Killed: 1, QueueTally: access.QueueTally{Allocated: 2, Released: 1, NodeLocal: 1, OffSwitch: 1}},
	} {
		if got.Users[key] != want {
			t.Errorf("%v: %+v", key, got.Users[key])
		}
	}
	for n, to := range []yarn.ApplicationState{yarn.AppNewSaving, yarn.AppSubmitted, yarn.AppFinalSaving, yarn.AppFailed} { // what no queue has accepted
		from := []yarn.ApplicationState{yarn.AppNew, yarn.AppNewSaving, yarn.AppSubmitted, yarn.AppFinalSaving}[n]
		x.application(&engine.Transition{Application: app(9), Queue: strings.Repeat(".", 4096), User: "w", From: from.String(), To: to.String()})
	}
	if len(x.queues) != 2 || len(x.users) != 3 || len(x.now(true).Queues) != 4 {
		t.Errorf("counted for %d queues and %d users, told of %d queues", len(x.queues), len(x.users), len(x.now(true).Queues))
	}
	if x.now(false).Users != nil {
		t.Error("users are told unasked")
	}
}
