package cli

import "fmt"

// maxHints bounds the masters whose nodes are told.
const maxHints = 5

// whereLogsAre tells, after Hadoop's own words, why there is nothing on the file
// system and where the logs are instead.
func (l *endedLogs) whereLogsAre() {
	if !l.nowhere {
		return
	}
	fmt.Fprintln(l.Stderr, l.whyNowhere())
	if l.ask.report == nil {
		return
	}
	addresses, err := l.webAddresses()
	if err != nil {
		return
	}
	once := *l.ask
	once.retries = 1
	masters, err := newLogsWeb(l.call, &once).masters(addresses, l.ask.app)
	if err != nil {
		return // it was only a hint
	}
	for _, m := range masters[max(len(masters)-maxHints, 0):] {
		if m.Logs != "" {
			fmt.Fprintf(l.Stderr, "  The ApplicationMaster's %s ran on %s: %s\n", m.Container, m.Node, m.Logs)
		}
	}
}

func (l *endedLogs) whyNowhere() string {
	const stay = "the logs stay on the nodes that ran the containers, below yarn.nodemanager.log-dirs, and are deleted there yarn.nodemanager.log.retain-seconds after the application's end"
	looked := fmt.Sprintf("this command looked below yarn.nodemanager.remote-app-log-dir = %s", l.props.Get("yarn.nodemanager.remote-app-log-dir"))
	if l.ask.report == nil {
		return "The ResourceManager does not know the application, so whether its logs were collected is not known; " + looked + "."
	}
	switch status := l.ask.report.LogAggregation; status {
	case "DISABLED":
		return "Log aggregation is off (yarn.log-aggregation-enable): " + stay + "."
	case "NOT_START", "RUNNING", "RUNNING_WITH_FAILURE":
		return fmt.Sprintf("Log aggregation has not finished (%s): try again in a while. Until then the logs are on the nodes that ran the containers, below yarn.nodemanager.log-dirs.", status)
	case "FAILED", "TIME_OUT":
		return fmt.Sprintf("Log aggregation has failed (%s); the page of the application says which node failed and why. What was not collected: %s.", status, stay)
	case "SUCCEEDED":
		return "The nodes have collected the logs, but elsewhere, or they have been deleted since (yarn.log-aggregation.retain-seconds): " + looked + "."
	}
	return "How far log aggregation is, is not known; " + looked + "."
}
