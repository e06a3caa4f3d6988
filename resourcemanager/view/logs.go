package view

// LogStatus is how far an application's logs have been collected by its nodes
// (LogAggregationStatus; the values are those on the wire).
type LogStatus uint8

// The states of logs.
const (
	LogsDisabled LogStatus = iota + 1
	LogsNotStarted
	LogsRunning
	LogsSucceeded
	LogsFailed
	LogsTimedOut
	LogsRunningWithFailure
)

// LogStatusAt is how far the logs are at a moment (milliseconds since 1970): a
// node that has not finished long after the application's end counts as failed.
// 0 means that there is nothing to tell yet.
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
