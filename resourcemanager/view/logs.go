package view

import "github.com/heddle-project/heddle/yarn"

// LogStatus is how far an application's logs have been aggregated by its nodes
// (LogAggregationStatus; the values are those on the wire).
type LogStatus uint8

// The states of log aggregation.
const (
	LogsDisabled LogStatus = iota + 1
	LogsNotStarted
	LogsRunning
	LogsSucceeded
	LogsFailed
	LogsTimedOut
	LogsRunningWithFailure
)

var logStatusNames = [...]string{LogsDisabled: "DISABLED", LogsNotStarted: "NOT_START", LogsRunning: "RUNNING",
	LogsSucceeded: "SUCCEEDED", LogsFailed: "FAILED", LogsTimedOut: "TIME_OUT", LogsRunningWithFailure: "RUNNING_WITH_FAILURE"}

// String is Hadoop's name; "" where there is no state.
func (s LogStatus) String() string {
	if int(s) < len(logStatusNames) {
		return logStatusNames[s]
	}
	return ""
}

// NodeLogs is how far a node is with an application's logs.
type NodeLogs struct {
	Node     yarn.NodeID
	Status   LogStatus
	Failures []string // what it said about failures, the last ones
}

// LogStatusAt is the state of log aggregation at a time (milliseconds since 1970): it has
// timed out if nodes are not done LogPatience after the application's end. It is 0 before
// the first attempt.
func (a *Application) LogStatusAt(now int64) LogStatus {
	done := a.Logs == LogsSucceeded || a.Logs == LogsFailed || a.Logs == LogsDisabled
	switch {
	case a.Current() == nil:
		return 0
	case a.State.Final() && !done && a.LogPatience > 0 && now > a.FinishTime+a.LogPatience && a.LogNodes > 0:
		return LogsTimedOut
	}
	return a.Logs
}
