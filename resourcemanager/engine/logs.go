package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// LogReport is a node's report on the aggregation of one application's logs.
type LogReport struct {
	Application yarn.ApplicationID
	Status      view.LogStatus
}

// logs is how far the aggregation of an application's logs is, on each node that ran
// something of it. Once all nodes have succeeded only that is kept.
type logs struct {
	byNode map[yarn.NodeID]view.LogStatus
	all    bool // all have succeeded
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
		v.Logs, v.LogPatience, v.LogNodes = l.summary(a.state.Final()), e.set.LogPatience, len(l.byNode)
	}
}
