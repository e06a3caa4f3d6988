package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// LogReport is a node's report on the aggregation of one application's logs.
type LogReport struct {
	Application yarn.ApplicationID
	Status      view.LogStatus
	Diagnostics string // of a failure
}

// Bounds of what is kept of failures.
const (
	maxLogFailures    = 10  // of a node; the last ones
	maxFailingNodes   = 100 // of an application
	maxLogDiagnostics = 512 // bytes of one
)

// logs is how far the aggregation of an application's logs is, on each node that ran
// something of it. Once all nodes have succeeded only that is kept.
type logs struct {
	byNode map[yarn.NodeID]view.LogStatus
	all    bool // all have succeeded

	failures map[yarn.NodeID][]string // what nodes said about failures, the last ones
}

// LogNodes asks how far the aggregation of an application's logs is on each node. The reply is a []view.NodeLogs by node, empty once all
// have succeeded.
type LogNodes struct {
	Ticket      Ticket
	Application yarn.ApplicationID
}

func (e *Engine) logNodes(c LogNodes) {
	out := []view.NodeLogs{}
	if a := e.apps[c.Application]; a != nil && a.onNodes != nil {
		for _, id := range slices.SortedFunc(maps.Keys(a.logs.byNode), yarn.NodeID.Compare) {
			out = append(out, view.NodeLogs{Node: id, Status: a.logs.byNode[id], Failures: slices.Clone(a.logs.failures[id])})
		}
	}
	e.reply(c.Ticket, out)
}

// remember keeps what a node said about a failure.
func (l *logs) remember(node yarn.NodeID, r LogReport) {
	failed := r.Status == view.LogsFailed || r.Status == view.LogsTimedOut || r.Status == view.LogsRunningWithFailure
	known := l.failures[node]
	if !failed || r.Diagnostics == "" || known == nil && len(l.failures) == maxFailingNodes {
		return
	}
	if l.failures == nil {
		l.failures = map[yarn.NodeID][]string{}
	}
	if len(known) == maxLogFailures {
		known = slices.Delete(known, 0, 1)
	}
	l.failures[node] = append(known, strings.Clone(clip(r.Diagnostics, maxLogDiagnostics)))
}

// expectLogs: the application leaves logs on the node.
func (e *Engine) expectLogs(a *application, n *node) {
	if !e.set.LogAggregation {
		return
	}
	l := &a.visited().logs
	if l.all {
		return
	}
	if l.byNode == nil {
		l.byNode = map[yarn.NodeID]view.LogStatus{}
	}
	if l.byNode[n.id] == 0 {
		l.byNode[n.id] = view.LogsNotStarted
	}
}

// followLogs enters a node's reports on the aggregation of logs.
//
// compat: RUNNING does not replace RUNNING_WITH_FAILURE.
func (e *Engine) followLogs(n *node, reports []LogReport) {
	for _, r := range reports {
		a := e.apps[r.Application]
		if a == nil || !e.set.LogAggregation {
			continue
		}
		if e.expectLogs(a, n); a.logs.all {
			continue
		}
		a.logs.remember(n.id, r)
		if r.Status == view.LogsRunning && a.logs.byNode[n.id] == view.LogsRunningWithFailure {
			continue
		}
		a.logs.byNode[n.id] = r.Status
		if a.state.Final() && a.logs.summary(true) == view.LogsSucceeded {
			a.logs = logs{all: true}
		}
		e.touchApp(a)
	}
}

// summary is the state of all nodes together. It is SUCCEEDED or FAILED only for an
// application that has ended.
func (l *logs) summary(ended bool) view.LogStatus {
	if l.all {
		return view.LogsSucceeded
	}
	var counts [view.LogsRunningWithFailure + 1]int
	for _, s := range l.byNode { //tidy:unordered they are only counted
		if int(s) < len(counts) {
			counts[s]++
		}
	}
	failed, late := counts[view.LogsFailed], counts[view.LogsTimedOut]
	switch all := len(l.byNode); {
	case counts[view.LogsNotStarted] == all:
		return view.LogsNotStarted
	case counts[view.LogsSucceeded]+failed+late == all && failed > 0 && ended:
		return view.LogsFailed
	case counts[view.LogsSucceeded]+failed+late == all && late > 0:
		return view.LogsTimedOut
	case counts[view.LogsSucceeded] == all && ended:
		return view.LogsSucceeded
	case counts[view.LogsSucceeded]+failed+late < all && counts[view.LogsRunningWithFailure] > 0:
		return view.LogsRunningWithFailure
	}
	return view.LogsRunning
}

// viewLogs fills in the view's fields about log aggregation.
func (e *Engine) viewLogs(a *application, v *view.Application) {
	v.Logs = view.LogsDisabled
	if e.set.LogAggregation {
		l := &logs{}
		if a.onNodes != nil {
			l = &a.logs
		}
		v.Logs, v.LogNodes = l.summary(a.state.Final()), len(l.byNode)
	}
}
