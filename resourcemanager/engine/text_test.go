package engine

import (
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

func TestRejectionsReadAsClientsExpect(t *testing.T) {
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 7}
	for _, c := range []struct {
		why  yarn.Reason
		want string
	}{
		{yarn.Reason{Code: fit.UnknownQueue}, "Application application_1_0007 submitted by user bob to unknown queue: nowhere"},
		{yarn.Reason{Code: fit.NotALeaf}, "Application application_1_0007 submitted by user : bob to non-leaf queue : nowhere"},
		{yarn.Reason{Code: fit.QueueStopped, Subject: "root.closed"},
			"org.apache.hadoop.security.AccessControlException: Queue root.closed is STOPPED. Cannot accept submission of application: application_1_0007"},
		{yarn.Reason{Code: fit.TooManyQueueApps, Subject: "root.a", Count: 3, Max: 3, Key: "k"},
			"org.apache.hadoop.security.AccessControlException: Queue root.a already has 3 applications, cannot accept submission of application: application_1_0007; at most 3 may be there (k)"},
		{yarn.Reason{Code: fit.TooManyUserApps, Subject: "root.a", Count: 2, Max: 2, Key: "a, b and c"},
			"org.apache.hadoop.security.AccessControlException: Queue root.a already has 2 applications from user bob cannot accept submission of application: application_1_0007; at most 2 may be there (a, b and c)"},
		{yarn.Reason{Code: fit.TooManyApps, Max: 9, Key: "k"}, "Maximum system application limit reached,cannot accept submission of application: application_1_0007; at most 9 may be there (k)"},
	} {
		a := &application{sub: &Submission{ID: id, User: "bob"}, choices: choices{queue: "nowhere"}}
		if got := (&Engine{}).rejection(a, c.why); got != c.want {
			t.Errorf("%s: got %q, want %q", c.why.Code, got, c.want)
		}
	}
}

func TestExhaustedNamesBothLimits(t *testing.T) {
	e := &Engine{set: Settings{GlobalMaxAttempts: 4, Pages: "http://rm:8088"}}
	a := &application{sub: &Submission{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 7}, ValidityInterval: 500}}
	last := &attempt{id: yarn.AttemptID{Application: a.sub.ID, Attempt: 2}, app: a}
	last.diagnostics = e.masterCrashed(last, 7, "it fell\n")
	want := "Application application_1_0007 failed 2 times in previous 500 milliseconds (global limit =4; local limit is =2) due to " +
		"AM Container for appattempt_1_0007_000002 exited with  exitCode: 7\nFailing this attempt.Diagnostics: it fell\n" +
		"For more detailed output, check the application tracking page: http://rm:8088/cluster/app/application_1_0007 Then click on links to logs of each attempt.\n" +
		". Failing the application."
	if got := e.exhausted(a, last, 2); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := e.exhausted(a, last, 4); strings.Contains(got, "global limit") {
		t.Errorf("the limits are the same, yet: %q", got)
	}
}

func TestLogsTogether(t *testing.T) {
	const none, runs, done, failed, late, trouble = view.LogsNotStarted, view.LogsRunning, view.LogsSucceeded, view.LogsFailed, view.LogsTimedOut, view.LogsRunningWithFailure
	for _, c := range []struct {
		nodes []view.LogStatus
		ended bool
		want  view.LogStatus
	}{
		{nil, true, none},
		{[]view.LogStatus{none, none}, false, none},
		{[]view.LogStatus{none, runs}, false, runs},
		{[]view.LogStatus{done, done}, false, runs},
		{[]view.LogStatus{done, done}, true, done},
		{[]view.LogStatus{done, none}, true, runs},
		{[]view.LogStatus{done, failed}, true, failed},
		{[]view.LogStatus{done, late}, true, late},
		{[]view.LogStatus{trouble, runs}, false, trouble},
	} {
		l := logs{byNode: map[yarn.NodeID]view.LogStatus{}}
		for i, s := range c.nodes {
			l.byNode[yarn.NodeID{Host: "n", Port: int32(i)}] = s
		}
		if got := l.summary(c.ended); got != c.want {
			t.Errorf("%v, ended %t: %d, want %d", c.nodes, c.ended, got, c.want)
		}
	}
}

// The logs of an ended application are forgotten node by node once all are there.
func TestLogsAreForgottenWhenAllAreThere(t *testing.T) {
	e := &Engine{set: Settings{LogAggregation: true}, apps: map[yarn.ApplicationID]*application{}}
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	a := &application{sub: &Submission{ID: id}, state: yarn.AppFinished}
	e.apps[id] = a
	one, two := &node{id: yarn.NodeID{Host: "a"}}, &node{id: yarn.NodeID{Host: "b"}}
	e.expectLogs(a, one)
	e.expectLogs(a, two)
	e.followLogs(one, []LogReport{{Application: id, Status: view.LogsSucceeded}})
	if a.logs.all || a.logs.summary(true) != view.LogsRunning {
		t.Fatalf("one of two nodes is through: %+v", a.logs)
	}
	for i := range 12 {
		e.followLogs(two, []LogReport{{id, view.LogsRunningWithFailure, strings.Repeat("x", maxLogDiagnostics-2) + "€" + strconv.Itoa(i)}, {id, view.LogsRunningWithFailure, strconv.Itoa(i)}})
	}
	e.followLogs(two, []LogReport{{id, view.LogsRunning, "not a failure"}})
	ask := func() []view.NodeLogs {
		e.fx = &Effects{}
		e.logNodes(LogNodes{1, id})
		return e.fx.Replies[0].Value.([]view.NodeLogs)
	}
	got := ask()
	if len(got) != 2 || got[0].Node != one.id || got[0].Status != view.LogsSucceeded || got[0].Failures != nil || got[1].Status != view.LogsRunningWithFailure ||
		len(got[1].Failures) != maxLogFailures || got[1].Failures[9] != "11" || got[1].Failures[8] != strings.Repeat("x", maxLogDiagnostics-2) {
		t.Errorf("%+v", got)
	}
	e.followLogs(two, []LogReport{{Application: id, Status: view.LogsSucceeded}})
	if !a.logs.all || a.logs.byNode != nil || a.logs.summary(true) != view.LogsSucceeded {
		t.Fatalf("both nodes are through: %+v", a.logs)
	}
	if got := ask(); len(got) != 0 {
		t.Errorf("all nodes are through: %+v", got)
	}
}
