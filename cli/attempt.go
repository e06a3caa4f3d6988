package cli

import (
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/client"
)

// attemptRow is a line of the list: id, state, the master's container, URL. Longer
// values push the rest to the right, as in Hadoop.
const attemptRow = "%30s\t%20s\t%35s\t%35s\n"

var attemptOptions = []option{
	{name: "list", arg: "Application ID", values: 1, help: "Lists the attempts of an application."},
	{name: "status", arg: "Application Attempt ID", values: 1, help: "Prints the report on an attempt."},
	{name: "fail", arg: "Application Attempt ID", values: 1, help: "Makes an attempt fail."},
	{name: "clusterId", arg: "Cluster ID", values: 1, help: "Id of the cluster, in place of the configured one."},
	{name: "help", help: "Prints this text."},
}

// applicationAttempt is yarn applicationattempt. Of several actions the first
// in this order counts.
func applicationAttempt(c *call) error {
	switch {
	case len(c.opts.words) > 0:
		return c.misused()
	case c.opts.has("status"):
		return attemptStatus(c)
	case c.opts.has("list"):
		return attemptList(c)
	case c.opts.has("fail"):
		return attemptFail(c)
	case c.opts.has("help"):
		c.usage()
		return nil
	}
	return c.invalid(0)
}

// attemptStatus prints one attempt; exit code -1 if it or its application is unknown.
func attemptStatus(c *call) error {
	if !c.opts.only("status", "clusterId") {
		return c.misused()
	}
	word := c.opts.first("status")
	id, err := parseAttempt(word)
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	a, err := rm.Attempt(c.ctx, id)
	switch {
	case client.Is(err, client.ClassApplicationNotFound):
		fmt.Fprintf(c.Stdout, "Application for AppAttempt with id '%s' doesn't exist in RM or Timeline Server.\n", word)
		return failed
	case client.Is(err, client.ClassAttemptNotFound):
		fmt.Fprintf(c.Stdout, "Application Attempt with id '%s' doesn't exist in RM or Timeline Server.\n", word)
		return failed
	case err != nil:
		return err
	case c.json:
		return c.writeDocument("attempt", document{{"attempt", attemptDocument(a)}})
	}
	c.writeAttempt(a)
	return nil
}

// writeAttempt prints the block of -status.
func (c *call) writeAttempt(a *client.Attempt) {
	var b strings.Builder
	line := func(key string, value any) { writeLine(&b, key, value) }
	b.WriteString("Application Attempt Report : \n")
	line("ApplicationAttempt-Id", a.ID)
	line("State", a.State)
	line("AMContainer", masterContainer(a))
	line("Tracking-URL", orNull(a.TrackingURL))
	line("RPC Port", a.RPCPort)
	line("AM Host", orNull(a.Host))
	writeLines(&b, "Diagnostics", orNull(a.Diagnostics))
	fmt.Fprint(c.Stdout, b.String())
}

// masterContainer is N/A until the attempt has been given one.
func masterContainer(a *client.Attempt) string {
	if a.Master == nil {
		return "N/A"
	}
	return a.Master.String()
}

func attemptDocument(a *client.Attempt) document {
	d := document{{"id", a.ID.String()}, {"state", a.State}, {"masterContainer", nil}, {"trackingUrl", a.TrackingURL},
		{"originalTrackingUrl", a.OriginalTrackingURL}, {"masterHost", a.Host}, {"masterRpcPort", a.RPCPort},
		{"diagnostics", a.Diagnostics}, {"startTime", a.StartTime}, {"finishTime", a.FinishTime}}
	if a.Master != nil {
		d[2].value = a.Master.String()
	}
	return d
}

// attemptList prints the attempts of an application. An unknown one is an
// exception here, unlike in -status.
func attemptList(c *call) error {
	if !c.opts.only("list", "clusterId") {
		return c.misused()
	}
	id, err := parseApplication(c.opts.first("list"))
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	attempts, err := rm.Attempts(c.ctx, id)
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("attempts", document{{"application", id.String()}, {"attempts", items(attempts, attemptDocument)}})
	}
	fmt.Fprintf(c.Stdout, "Total number of application attempts :%d\n", len(attempts))
	fmt.Fprintf(c.Stdout, attemptRow, "ApplicationAttempt-Id", "State", "AM-Container-Id", "Tracking-URL")
	for _, a := range attempts {
		c.row(attemptRow, a.ID, a.State, masterContainer(a), orNull(a.TrackingURL))
	}
	return nil
}

// attemptFail returns when the request is accepted, not when the attempt has failed.
func attemptFail(c *call) error {
	if err := c.textOnly(); err != nil {
		return err
	}
	id, err := parseAttempt(c.opts.first("fail"))
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Failing attempt %s of application %s\n", id, id.Application)
	return rm.FailAttempt(c.ctx, id)
}
