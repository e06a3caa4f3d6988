package shell

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

func grant(n int64) client.Grant {
	return client.Grant{ID: containerID(n), Node: yarn.NodeID{Host: "h", Port: 1}}
}

func end(n int64, exit int32) client.Completion {
	return client.Completion{ID: containerID(n), ExitStatus: exit, Diagnostics: "why"}
}

// check compares how many tasks are in each state: waiting, starting, running,
// draining, over.
func check(t *testing.T, ts *tasks, want string) {
	t.Helper()
	if got := fmt.Sprint(ts.counts); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	n := 0
	for _, c := range ts.counts {
		n += c
	}
	if n != len(ts.list) || len(ts.queue) != ts.missing() {
		t.Fatalf("%d of %d tasks, %d in the queue", n, len(ts.list), len(ts.queue))
	}
}

func TestTheLivesOfTasks(t *testing.T) {
	ts := newTasks(3, 2)
	check(t, ts, "[3 0 0 0 0]")
	for n := int64(1); n <= 3; n++ {
		if k := ts.granted(grant(n)); k == nil || k.number != int(n-1) || k.try != 1 {
			t.Fatal(k)
		}
	}
	if ts.granted(grant(4)) != nil || ts.granted(grant(3)) != nil {
		t.Error("a task has two containers")
	}
	check(t, ts, "[0 3 0 0 0]")
	if ts.started(containerID(1)) == nil || ts.started(containerID(1)) != nil || ts.started(containerID(9)) != nil {
		t.Error("started")
	}
	// 0 ends well, 1 cannot be started, 2 is preempted before its start is known.
	if k, again := ts.completed(end(1, 0)); k == nil || again || k.why != "" {
		t.Error(k, again)
	}
	if k, again := ts.completed(end(1, 0)); k != nil || again {
		t.Error("ended twice")
	}
	if k, again := ts.failed(containerID(2), "no room"); k == nil || !again || k.exit != yarn.ExitInvalid {
		t.Error(k, again)
	}
	if k, again := ts.completed(end(3, yarn.ExitPreempted)); k == nil || !again {
		t.Error(k, again)
	}
	check(t, ts, "[2 0 0 1 0]")
	if ts.started(containerID(3)) != nil {
		t.Error("a lost container started")
	}
	if k, again := ts.failed(containerID(3), ""); k != nil || again {
		t.Error("a lost container failed")
	}
	if k := ts.drained(containerID(1), ""); k == nil || ts.drained(containerID(1), "") != nil || ts.progress() <= 0 {
		t.Error(k)
	}
	// 1 runs out of memory, 2 out of tries.
	if k := ts.granted(grant(5)); k.number != 1 || k.try != 2 {
		t.Error(k)
	}
	ts.granted(grant(6))
	ts.started(containerID(5))
	if k, again := ts.completed(end(5, yarn.ExitKilledExceededPMem)); again || k.why != "why" {
		t.Error(k, again)
	}
	if k := ts.drained(containerID(5), "half"); k.why != "why; half" || k.exit != yarn.ExitKilledExceededPMem {
		t.Error(k)
	}
	if k, again := ts.completed(end(6, yarn.ExitAborted)); again || k.exit != yarn.ExitAborted || k.why != "tried 2 times; last: why" {
		t.Error(k, again)
	}
	check(t, ts, "[0 0 0 0 3]")
	if ok, text := ts.verdict(); !ts.allOver() || ok || text != "1 of 3 containers ended with exit code 0; container 1 with -104" {
		t.Error(ok, text)
	}
}

func TestTheVerdict(t *testing.T) {
	ts := newTasks(1, 1)
	ts.granted(grant(1))
	ts.completed(end(1, 0))
	ts.drained(containerID(1), "note")
	if ok, text := ts.verdict(); !ok || text != "1 of 1 containers ended with exit code 0" {
		t.Error(ok, text)
	}
	ts = newTasks(1, 1)
	ts.granted(grant(1))
	if k, again := ts.failed(containerID(1), "no"); again || k.why != "no" {
		t.Error(k, again)
	}
	if ok, _ := ts.verdict(); ok {
		t.Error("a container that never ran is a success")
	}
}

func TestWhoIsToBlame(t *testing.T) {
	for _, exit := range []int32{-100, -101, -102, -106, -1000} {
		if !blameless(exit) {
			t.Error(exit)
		}
	}
	for _, exit := range []int32{0, 1, 137, 143, 154, -103, -104, -105, -107, -108} {
		if blameless(exit) {
			t.Error(exit)
		}
	}
}
