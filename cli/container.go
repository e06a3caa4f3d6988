package cli

import (
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// containerRow is a line of the list: id, two times, state, node, node's web
// address, URL of the logs.
const containerRow = "%30s\t%20s\t%20s\t%20s\t%20s\t%20s\t%35s\n"

var containerOptions = []option{
	{name: "list", arg: "Application Name or Attempt ID", values: 1, help: "Lists the containers of an attempt. A name needs the service framework, which is not built yet."},
	{name: "status", arg: "Container ID", values: 1, help: "Prints the report on a container."},
	{name: "signal", arg: "container ID [signal command]", values: 3, help: "Signals a container: OUTPUT_THREAD_DUMP (the default), GRACEFUL_SHUTDOWN or FORCEFUL_SHUTDOWN."},
	{name: "shell", arg: "Container ID [bash|sh]", values: 3, help: "Opens a shell in a container.", absent: " is not built yet; use Hadoop's own command"},
	{name: "appTypes", arg: "Types", values: many, separate: ',', help: notService, absent: needsService},
	{name: "components", arg: "arg", values: many, separate: ',', help: notService, absent: needsService},
	{name: "states", arg: "arg", values: many, separate: ',', help: notService, absent: needsService},
	{name: "version", arg: "arg", values: 1, help: notService, absent: needsService},
	{name: "clusterId", arg: "Cluster ID", values: 1, help: "Id of the cluster, in place of the configured one."},
	{name: "help", help: "Prints this text."},
}

// container is yarn container. Of several actions the first in this order counts.
func container(c *call) error {
	switch {
	case len(c.opts.words) > 0:
		return c.misused()
	case c.opts.has("status"):
		return containerStatus(c)
	case c.opts.has("list"):
		return containerList(c)
	case c.opts.has("signal"):
		return containerSignal(c)
	case c.opts.has("help"):
		c.usage()
		return nil
	}
	return c.invalid(0)
}

// containerStatus prints one container. Three different things can be unknown,
// and each is said in its own way, with exit code -1.
func containerStatus(c *call) error {
	if !c.opts.only("status", "appTypes", "clusterId") {
		return c.misused()
	}
	word := c.opts.first("status")
	id, err := parseContainer(word)
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	r, err := rm.Container(c.ctx, id)
	for class, what := range map[string]string{
		client.ClassApplicationNotFound: "Application for Container",
		client.ClassAttemptNotFound:     "Application Attempt for Container",
		client.ClassContainerNotFound:   "Container",
	} {
		if client.Is(err, class) {
			fmt.Fprintf(c.Stdout, "%s with id '%s' doesn't exist in RM or Timeline Server.\n", what, word)
			return failed
		}
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("container", document{{"container", containerDocument(r)}})
	}
	c.writeContainer(r)
	return nil
}

// writeContainer prints the block of -status; what the ResourceManager left out
// shows as null, N/A or nothing, depending on the line.
func (c *call) writeContainer(r *client.Container) {
	var b strings.Builder
	line := func(key string, value any) { writeLine(&b, key, value) }
	b.WriteString("Container Report : \n")
	line("Container-Id", r.ID)
	line("Start-Time", r.CreationTime)
	line("Finish-Time", r.FinishTime)
	line("State", r.State)
	line("Execution-Type", r.ExecutionType)
	line("LOG-URL", orNull(r.LogURL))
	line("Host", nodeOrNull(r.Node))
	line("NodeHttpAddress", orNA(r.NodeHTTPAddress))
	line("ExposedPorts", orEmpty(r.ExposedPorts))
	writeLines(&b, "Diagnostics", orNull(r.Diagnostics))
	fmt.Fprint(c.Stdout, b.String())
}

// nodeOrNull prints a container's node; there is none before it is allocated.
func nodeOrNull(id *yarn.NodeID) string {
	if id == nil {
		return "null"
	}
	return id.String()
}

func containerDocument(r *client.Container) document {
	d := document{{"id", r.ID.String()}, {"state", r.State}, {"executionType", r.ExecutionType}, {"node", nil},
		{"nodeHttpAddress", r.NodeHTTPAddress}, {"resource", resourceDocument(r.Resource)}, {"priority", r.Priority},
		{"creationTime", r.CreationTime}, {"finishTime", r.FinishTime}, {"exitStatus", r.ExitStatus}, {"logUrl", r.LogURL},
		{"exposedPorts", r.ExposedPorts}, {"diagnostics", r.Diagnostics}}
	if r.Node != nil {
		d[3].value = r.Node.String()
	}
	return d
}

// containerList prints the live containers of an attempt.
func containerList(c *call) error {
	if !c.opts.only("list", "appTypes", "version", "components", "states", "clusterId") {
		return c.misused()
	}
	word := c.opts.first("list")
	id, err := parseAttempt(word)
	if err != nil {
		return noService(fmt.Sprintf("-list %s: not an attempt id, and a name", word))
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	all, err := rm.Containers(c.ctx, id)
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("containers", document{{"attempt", id.String()}, {"containers", items(all, containerDocument)}})
	}
	fmt.Fprintf(c.Stdout, "Total number of containers :%d\n", len(all))
	fmt.Fprintf(c.Stdout, containerRow, "Container-Id", "Start Time", "Finish Time", "State", "Host", "Node Http Address", "LOG-URL")
	for _, r := range all {
		c.row(containerRow, r.ID, c.longTime(r.CreationTime), c.longTime(r.FinishTime), r.State,
			nodeOrNull(r.Node), orNA(r.NodeHTTPAddress), orNull(r.LogURL))
	}
	return nil
}

// containerSignal sends a signal; a third word after -signal is ignored, and
// then so is the second (compat).
func containerSignal(c *call) error {
	if !c.opts.only("signal", "clusterId") {
		return c.misused()
	}
	if err := c.textOnly(); err != nil {
		return err
	}
	words := c.opts.all("signal")
	signal := client.OutputThreadDump
	if len(words) == 2 {
		var ok bool
		if signal, ok = client.ParseSignal(words[1]); !ok {
			return illegalArgument("No enum constant org.apache.hadoop.yarn.api.records.SignalContainerCommand.%s", words[1])
		}
	}
	id, err := parseContainer(words[0])
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Signalling container %s\n", words[0])
	return rm.SignalContainer(c.ctx, id, signal)
}
