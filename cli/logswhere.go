package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

// maxHints bounds the ApplicationMasters whose nodes are printed.
const maxHints = 5

// whereLogsAre prints, after Hadoop's own message, why there are no logs on the
// file system and where they are instead.
func (l *endedLogs) whereLogsAre() {
	if !l.nowhere {
		return
	}
	fmt.Fprintln(l.Stderr, l.whyNowhere())
	if l.ask.report == nil {
		return
	}
	l.whereMastersRan()
	if l.ask.report.LogAggregation == "DISABLED" {
		fmt.Fprintf(l.Stderr, "To have logs collected, set yarn.log-aggregation-enable to true, and yarn.nodemanager.remote-app-log-dir to a directory that all nodes reach "+
			"(here %s), in yarn-site.xml of the ResourceManager and of every NodeManager, and restart them. This helps applications that start afterwards.\n", l.property("yarn.nodemanager.remote-app-log-dir"))
	}
}

// whereMastersRan names the nodes that are known: of ended applications only
// those of the masters are. Their pages show nothing of ended containers.
func (l *endedLogs) whereMastersRan() {
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
		fmt.Fprintf(l.Stderr, "  The ApplicationMaster's %s ran on %s.\n", visible.Line(m.Container), visible.Line(m.Node))
	}
}

// stay says where logs are that were not aggregated.
func (l *endedLogs) stay() string {
	return fmt.Sprintf("the logs stay on the nodes that ran the containers, each in %s/CONTAINER below yarn.nodemanager.log-dirs (here %s), "+
		"and are deleted there %s after the application's end (yarn.nodemanager.log.retain-seconds)", l.ask.app, l.property("yarn.nodemanager.log-dirs"), l.kept())
}

// kept says how long nodes keep them, as far as this configuration tells.
func (l *endedLogs) kept() string {
	text := strings.TrimSpace(l.props.Get("yarn.nodemanager.log.retain-seconds"))
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n > 0 {
		return (time.Duration(n) * time.Second).String()
	}
	return visible.Line(text) + " seconds"
}

// property is a value as this machine's configuration has it; a node's may have
// another.
func (l *endedLogs) property(name string) string { return visible.Line(l.props.Get(name)) }

func (l *endedLogs) whyNowhere() string {
	looked := "this command looked below yarn.nodemanager.remote-app-log-dir = " + l.property("yarn.nodemanager.remote-app-log-dir")
	if l.ask.report == nil {
		return "The ResourceManager does not know the application, so whether its logs were collected is not known; " + looked + "."
	}
	switch status := l.ask.report.LogAggregation; status {
	case "DISABLED":
		return "Log aggregation is off (yarn.log-aggregation-enable), so nobody has collected the logs: " + l.stay() + "."
	case "NOT_START", "RUNNING", "RUNNING_WITH_FAILURE":
		return fmt.Sprintf("Log aggregation has not finished (%s): try again in a while. Until then the logs are on the nodes that ran the containers, below yarn.nodemanager.log-dirs.", status)
	case "FAILED", "TIME_OUT":
		return fmt.Sprintf("Log aggregation has failed (%s); the page of the application says which node failed and why. What was not collected: %s.", status, l.stay())
	case "SUCCEEDED":
		return "The nodes have collected the logs, but elsewhere, or they have been deleted since (yarn.log-aggregation.retain-seconds): " + looked + "."
	}
	return "The state of log aggregation is not known; " + looked + "."
}
