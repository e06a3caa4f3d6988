package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/yarn"
)

const logsTitle = "yarn logs -applicationId <Application ID> [OPTIONS]"

var logsOptions = []option{
	{name: "applicationId", arg: "Application ID", values: 1, help: "The application. Not needed with -applicationAttemptId or -containerId."},
	{name: "applicationAttemptId", arg: "Application Attempt ID", values: 1, help: "Only the containers of this attempt."},
	{name: "containerId", arg: "Container ID", values: 1, help: "Only this container."},
	{name: "am", arg: "AM Containers", values: many, separate: ',', help: "Only containers of the ApplicationMaster: 1 is the first attempt's, -1 the last one's, ALL means all; several are separated by commas."},
	{name: "nodeAddress", arg: "Node Address", values: 1, help: "Only this node, as host:port. Logs are printed only together with -containerId."},
	{name: "appOwner", arg: "Application Owner", values: 1, help: "The application's user, if neither the ResourceManager nor the file system tells."},
	{name: "log_files", arg: "Log File Name", values: many, separate: ',', help: "Only log files with these names, separated by commas. ALL or * means all."},
	{name: "logFiles", arg: "Log File Name", values: many, separate: ',', help: "Deprecated: use -log_files."},
	{name: "log_files_pattern", arg: "Log File Pattern", values: many, separate: ',', help: "Only log files in whose names any of these regular expressions is found, separated by commas."},
	{name: "size", arg: "size", values: 1, help: "Prints so many bytes of each log file from its beginning, or from its end if negative."},
	{name: "size_limit_mb", arg: "Size Limit", values: 1, help: "Fails if there would be more than this to print, in MiB. -1 means no limit; 10240 if left out."},
	{name: "out", arg: "Local Directory", values: 1, help: "Writes into files <node>/<container> below this directory instead of printing."},
	{name: "show_application_log_info", help: "Lists the containers that have logs."},
	{name: "show_container_log_info", help: "Lists the log files of containers, with sizes and times."},
	{name: "list_nodes", help: "Lists the nodes whose logs have been collected. Only for applications that have ended."},
	{name: "client_max_retries", arg: "Max Retries", values: 1, help: "How often a node that cannot be reached is tried; 30 if left out, a negative number means for ever."},
	{name: "client_retry_interval_ms", arg: "Retry Interval", values: 1, help: "Milliseconds between those; 1000 if left out."},
	{name: "clusterId", arg: "Cluster ID", values: 1, help: "Id of the cluster, in place of the configured one."},
	{name: "help", help: "Prints this text."},
}

// defaultLogsLimit is that of -size_limit_mb.
const defaultLogsLimit = 10240

// logsRequest is what yarn logs was asked for.
type logsRequest struct {
	app       yarn.ApplicationID
	attempt   *yarn.AttemptID
	container *yarn.ContainerID
	masters   []string // of -am: ALL or numbers
	node      string   // host:port as typed, or ""
	owner     string
	report    *client.Application // nil if the ResourceManager does not tell
	files     logsFilter
	size      int64 // of each file, as aggregated.Window takes it
	limitMB   int64
	left      int64 // bytes until the limit; negative: there is none
	limited   bool
	out       string
	retries   int64
	interval  time.Duration
}

// ended tells that logs are on the file system; an application that the
// ResourceManager does not know must have ended.
func (r *logsRequest) ended() bool {
	return r.report == nil || slices.Contains([]yarn.PublicState{yarn.PublicFinished, yarn.PublicFailed, yarn.PublicKilled}, r.report.State)
}

// runLogs is yarn logs. It parses its own words, since its failures have texts
// of their own.
func runLogs(c *call) error {
	if len(c.args) == 0 {
		return c.misused()
	}
	if c.args[0] == "-help" {
		c.usage()
		return nil
	}
	var err error
	if c.opts, err = parse(logsOptions, c.args); err != nil {
		fmt.Fprintf(c.Stderr, "options parsing failed: %s\n", strings.TrimPrefix(err.Error(), "org.apache.commons.cli.UnrecognizedOptionException: "))
		return c.misused()
	}
	if !c.opts.has("show_application_log_info") && !c.opts.has("show_container_log_info") && !c.opts.has("list_nodes") {
		if err := c.textOnly(); err != nil {
			return err
		}
	}
	r, err := c.logsRequest()
	if err != nil {
		return err
	}
	if err := c.findApplication(r); err != nil {
		return err
	}
	store, err := c.logsStore()
	if err != nil {
		return err
	}
	defer store.Close()
	if err := c.findOwner(r, store); err != nil {
		return err
	}
	if r.ended() {
		return (&endedLogs{call: c, ask: r, store: store}).run()
	}
	return (&runningLogs{endedLogs{call: c, ask: r, store: store}, newLogsWeb(c, r)}).run()
}

// say prints what went wrong, in Hadoop's words, and is exit code -1.
func (c *call) say(format string, args ...any) error {
	fmt.Fprintf(c.Stderr, format+"\n", args...)
	return failed
}

// logsRequest reads the command line.
func (c *call) logsRequest() (*logsRequest, error) {
	r := &logsRequest{size: math.MaxInt64, limitMB: defaultLogsLimit, retries: 30, interval: time.Second, node: c.opts.first("nodeAddress"),
		owner: c.opts.first("appOwner"), out: c.opts.first("out")}
	if err := c.mastersOption(r); err != nil {
		return nil, err
	}
	var interval int64 = 1000
	for name, to := range map[string]*int64{"size": &r.size, "client_max_retries": &r.retries, "client_retry_interval_ms": &interval, "size_limit_mb": &r.limitMB} { //tidy:unordered any of several mistakes is told
		if c.opts.has(name) {
			var err error
			if *to, err = parseNumber(c.opts.first(name), 64); err != nil {
				return nil, err
			}
		}
	}
	r.interval = time.Duration(min(max(interval, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	r.left, r.limited = min(r.limitMB, math.MaxInt64>>20)<<20, r.limitMB >= 0
	if err := c.idOptions(r); err != nil {
		return nil, err
	}
	return r, c.filterOptions(r)
}

func (c *call) mastersOption(r *logsRequest) error {
	for _, word := range c.opts.all("am") {
		word = strings.TrimSpace(word)
		if strings.EqualFold(word, "ALL") {
			r.masters = append(r.masters, "ALL")
			return nil
		}
		if n, err := parseNumber(word, 32); err != nil || n != -1 && n <= 0 {
			c.usage()
			return c.say("Invalid input for option -am. Valid inputs are 'ALL', -1 and any other integer which is larger than 0.")
		}
		r.masters = append(r.masters, word)
	}
	return nil
}

// idOptions reads the ids, any of which names the application.
func (c *call) idOptions(r *logsRequest) error {
	app, attempt, container := c.opts.first("applicationId"), c.opts.first("applicationAttemptId"), c.opts.first("containerId")
	if !c.opts.has("applicationId") && !c.opts.has("applicationAttemptId") && !c.opts.has("containerId") {
		fmt.Fprintln(c.Stderr, "None of applicationId, appAttemptId and containerId is available,  one of them must be specified.")
		return c.misused()
	}
	var err error
	if c.opts.has("applicationId") {
		if r.app, err = yarn.ParseApplicationID(app); err != nil {
			return c.say("Invalid ApplicationId specified")
		}
	}
	if c.opts.has("applicationAttemptId") {
		id, err := yarn.ParseAttemptID(attempt)
		switch {
		case err != nil:
			return c.say("Invalid AppAttemptId specified")
		case app != "" && id.Application != r.app:
			return c.say("The Application:%s does not have the AppAttempt:%s", r.app, id)
		}
		r.app, r.attempt = id.Application, &id
	}
	if c.opts.has("containerId") {
		id, err := yarn.ParseContainerID(container)
		switch {
		case err != nil:
			return c.say("Invalid ContainerId specified")
		case r.attempt != nil && *r.attempt != id.Attempt:
			return c.say("The AppAttempt:%s does not have the container:%s", r.attempt, id)
		case app != "" && id.Attempt.Application != r.app:
			return c.say("The Application:%s does not have the container:%s", r.app, id)
		}
		r.app, r.container = id.Attempt.Application, &id
	}
	return nil
}

// filterOptions reads what is to be shown.
func (c *call) filterOptions(r *logsRequest) error {
	if c.opts.has("show_application_log_info") && c.opts.has("show_container_log_info") {
		return c.say("Invalid options. Can only accept one of show_application_log_info/show_container_log_info.")
	}
	names, patterns := c.opts.all("log_files"), c.opts.all("log_files_pattern")
	if !c.opts.has("log_files") {
		names = c.opts.all("logFiles")
	}
	if len(names) > 0 && len(patterns) > 0 {
		return c.say("Invalid options. Can only accept one of log_files/log_files_pattern.")
	}
	if info, err := os.Stat(r.out); r.out != "" && err == nil && !info.IsDir() {
		return c.say("Invalid value for -out option. Please provide a directory.")
	}
	var err error
	r.files, err = newLogsFilter(names, patterns)
	return err
}

// findApplication asks the ResourceManager.
func (c *call) findApplication(r *logsRequest) error {
	rm, err := c.client()
	if err != nil {
		return err
	}
	a, err := rm.Application(c.ctx, r.app)
	if err != nil {
		if c.ctx.Err() != nil {
			return err
		}
		fmt.Fprintln(c.Stderr, "Unable to get ApplicationState. Attempting to fetch logs directly from the filesystem.")
		if !client.Is(err, client.ClassApplicationNotFound) {
			fmt.Fprintf(c.Stderr, "yarn logs: %v\n", err)
		}
		return nil
	}
	r.report = a
	if r.owner == "" {
		r.owner = a.User
	}
	if slices.Contains([]yarn.PublicState{yarn.PublicNew, yarn.PublicNewSaving, yarn.PublicSubmitted}, a.State) {
		return c.say("Logs are not available right now.")
	}
	return nil
}

// findOwner looks on the file system for whose logs they are, if nobody says.
func (c *call) findOwner(r *logsRequest, store *aggregated.Store) error {
	if r.owner != "" {
		return nil
	}
	var err error
	if r.owner, err = store.Owner(r.app, c.caller()); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		fmt.Fprintf(c.Stderr, "yarn logs: looking for the owner: %v\n", err)
	}
	if r.owner == "" || err != nil {
		fmt.Fprintln(c.Stderr, "Can not find the appOwner. Please specify the correct appOwner")
		return c.say("Could not locate application logs for %s", r.app)
	}
	return nil
}
