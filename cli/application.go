package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

var applicationOptions = []option{
	{name: "list", help: "Lists applications: those submitted, accepted or running, unless -appStates says otherwise. -appTypes and -appTags narrow the list."},
	{name: "appStates", arg: "States", values: many, separate: ',', help: "With -list: only these states, separated by commas. " + validAppStates()},
	{name: "appTypes", arg: "Types", values: many, separate: ',', help: "With -list: only these types, separated by commas. With an application's name: its type."},
	{name: "appTags", arg: "Tags", values: many, separate: ',', help: "With -list: only applications with any of these tags, separated by commas."},
	{name: "status", arg: "Application Name or ID", values: 1, help: "Prints the report on an application. A name needs the service framework, which is not built yet."},
	{name: "kill", arg: "Application ID", values: many, separate: ' ', help: "Kills applications; several ids are separated by spaces."},
	{name: "movetoqueue", arg: "Application ID", values: 1, help: "Moves an application to the queue that -queue names. Deprecated: use -changeQueue."},
	{name: "queue", arg: "Queue Name", values: 1, help: "With -movetoqueue: where to."},
	{name: "changeQueue", arg: "Queue Name", values: 1, help: "Moves the application that -appId names to this queue."},
	{name: "appId", arg: "Application ID", values: 1, help: "The application that -changeQueue, -updatePriority and -updateLifetime are about."},
	{name: "updatePriority", arg: "Priority", values: 1, help: "Changes the priority of the application that -appId names."},
	{name: "updateLifetime", arg: "Timeout", values: 1, help: "Lets the application that -appId names live so many seconds from now."},
	{name: "why", arg: "Application ID", values: 1, help: "Says why an application waits, for its ApplicationMaster or for other containers, what would help, and what was taken from it or for it."},
	{name: "clusterId", arg: "Cluster ID", values: 1, help: "Id of the cluster, in place of the configured one."},
	{name: "help", help: "Prints this text."},
	{name: "launch", arg: "Application Name> <File Name", values: 2, help: notService, absent: needsService},
	{name: "save", arg: "Application Name> <File Name", values: 2, help: notService, absent: needsService},
	{name: "start", arg: "Application Name", values: 1, help: notService, absent: needsService},
	{name: "stop", arg: "Application Name or ID", values: 1, help: notService, absent: needsService},
	{name: "destroy", arg: "Application Name", values: 1, help: notService, absent: needsService},
	{name: "flex", arg: "Application Name or ID", values: 1, help: notService, absent: needsService},
	{name: "component", arg: "Component Name> <Count", values: 2, help: notService, absent: needsService},
	{name: "components", arg: "Components", values: many, separate: ',', help: notService, absent: needsService},
	{name: "instances", arg: "Component Instances", values: many, separate: ',', help: notService, absent: needsService},
	{name: "upgrade", arg: "Application Name", values: 1, help: notService, absent: needsService},
	{name: "initiate", arg: "File Name", values: 1, help: notService, absent: needsService},
	{name: "express", arg: "arg", values: 1, help: notService, absent: needsService},
	{name: "finalize", help: notService, absent: needsService},
	{name: "autoFinalize", help: notService, absent: needsService},
	{name: "cancel", help: notService, absent: needsService},
	{name: "decommission", arg: "Application Name", values: 1, help: notService, absent: needsService},
	{name: "enableFastLaunch", arg: "Destination Folder", values: 1, optional: true, help: notService, absent: needsService},
}

const notService = "Of the service framework: not built yet."

// needsService says of an option why it is not here.
const needsService = " needs the service framework of Hadoop, which is not built here; use Hadoop's own command"

// validAppStates ends the error message about an unknown state.
func validAppStates() string {
	names := "ALL"
	for _, s := range yarn.PublicStates() {
		names += "," + s.String()
	}
	return "The valid application state can be one of the following: " + names
}

// application does what the first of its actions on the command line says.
func application(c *call) error {
	if len(c.opts.words) > 0 {
		return c.misused()
	}
	for _, action := range []struct {
		option string
		run    func(*call) error
	}{
		{"status", applicationStatus}, {"list", applicationList}, {"kill", applicationKill}, {"movetoqueue", moveToQueue},
		{"fail", (*call).misused}, {"updatePriority", updatePriority}, {"updateLifetime", updateLifetime}, {"changeQueue", changeQueue},
		{"why", applicationWhy},
	} {
		if c.opts.has(action.option) {
			return action.run(c)
		}
	}
	if c.opts.has("help") {
		c.usage()
		return nil
	}
	return c.invalid(0)
}

// noService refuses what only the service framework (yarn-service) can do.
func noService(what string) error {
	return errors.New(what + needsService)
}

// applicationStatus prints one application; exit code -1 if it is unknown.
func applicationStatus(c *call) error {
	if !c.opts.only("status", "appTypes", "clusterId") {
		return c.misused()
	}
	word := c.opts.first("status")
	id, err := parseApplication(word)
	if err != nil {
		// compat: what is not an id is the name of a service.
		return noService(fmt.Sprintf("-status %s: not an application id, and a name", word))
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	a, err := rm.Application(c.ctx, id)
	if client.Is(err, client.ClassApplicationNotFound) {
		fmt.Fprintf(c.Stdout, "Application with id '%s' doesn't exist in RM or Timeline Server.\n", word)
		return failed
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("application", document{{"application", applicationDocument(a)}})
	}
	c.writeApplication(a)
	return nil
}

// writeApplication prints the block of -status. The URL is the one that the
// master registered, not the proxy's.
func (c *call) writeApplication(a *client.Application) {
	var b strings.Builder
	line := func(key string, value any) { writeLine(&b, key, value) }
	b.WriteString("Application Report : \n")
	line("Application-Id", a.ID)
	line("Application-Name", a.Name)
	line("Application-Type", a.Type)
	line("User", a.User)
	line("Queue", a.Queue)
	line("Application Priority", a.Priority)
	line("Start-Time", a.StartTime)
	line("Finish-Time", a.FinishTime)
	line("Progress", percent(a.Progress))
	line("State", a.State)
	line("Final-State", a.FinalStatus)
	line("Tracking-URL", orNull(a.OriginalTrackingURL))
	line("RPC Port", a.RPCPort)
	line("AM Host", orNull(a.Host))
	used, lost := "N/A", "N/A"
	if a.Usage != nil {
		used, lost = resourceSeconds(a.Usage.Seconds), resourceSeconds(a.Usage.PreemptedSeconds)
	}
	line("Aggregate Resource Allocation", used)
	line("Aggregate Resource Preempted", lost)
	logs := a.LogAggregation
	if logs == "" {
		logs = "N/A"
	}
	line("Log Aggregation Status", logs)
	writeLines(&b, "Diagnostics", orNull(a.Diagnostics))
	line("Unmanaged Application", a.Unmanaged)
	line("Application Node Label Expression", orNull(a.NodeLabel))
	line("AM container Node Label Expression", orNull(a.MasterNodeLabel))
	for _, t := range a.Timeouts {
		fmt.Fprintf(&b, "\tTimeoutType : %s\tExpiryTime : %s\tRemainingTime : %dseconds\n", t.Type, t.Expiry, t.Remaining)
	}
	if a.ClusterID != nil {
		line("RMClusterId", *a.ClusterID)
	}
	fmt.Fprintln(c.Stdout, b.String())
}

func applicationDocument(a *client.Application) document {
	d := document{{"id", a.ID.String()}, {"name", a.Name}, {"type", a.Type}, {"user", a.User}, {"queue", a.Queue},
		{"tags", words(a.Tags)}, {"priority", a.Priority}, {"state", a.State.String()}, {"finalStatus", a.FinalStatus.String()},
		{"progress", a.Progress}, {"startTime", a.StartTime}, {"launchTime", a.LaunchTime},
		{"finishTime", a.FinishTime}, {"trackingUrl", a.TrackingURL}, {"originalTrackingUrl", a.OriginalTrackingURL},
		{"masterHost", a.Host}, {"masterRpcPort", a.RPCPort}, {"currentAttempt", a.CurrentAttempt.String()},
		{"diagnostics", a.Diagnostics}, {"logAggregation", a.LogAggregation}, {"unmanaged", a.Unmanaged},
		{"nodeLabel", a.NodeLabel}, {"masterNodeLabel", a.MasterNodeLabel}, {"clusterId", a.ClusterID}}
	d = append(d, field{"timeouts", items(a.Timeouts, func(t client.Timeout) document {
		return document{{"type", t.Type}, {"expiry", t.Expiry}, {"remainingSeconds", t.Remaining}}
	})})
	if u := a.Usage; u != nil {
		d = append(d, field{"usage", document{{"usedContainers", u.UsedContainers}, {"reservedContainers", u.ReservedContainers},
			{"used", resourceDocument(u.Used)}, {"reserved", resourceDocument(u.Reserved)}, {"needed", resourceDocument(u.Needed)},
			{"queuePercent", u.QueuePercentage}, {"clusterPercent", u.ClusterPercentage},
			{"seconds", amounts(u.Seconds)}, {"preemptedSeconds", amounts(u.PreemptedSeconds)}}})
	}
	return d
}

func resourceDocument(r client.Resource) document {
	return append(document{{"memory-mb", r.MemoryMB}, {"vcores", r.VCores}}, amounts(r.Others)...)
}

// amounts makes an object of named amounts, in the order received.
func amounts(from []client.Amount) document {
	d := make(document, 0, len(from))
	for _, a := range from {
		d = append(d, field{a.Name, a.Value})
	}
	return d
}
