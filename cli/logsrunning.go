package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/yarn"
)

// runningLogs prints the logs of a running application from its nodes. What the
// nodes have already aggregated is on the file system.
type runningLogs struct {
	endedLogs
	web *logsWeb
}

// liveContainer is a container that can be asked for at a node.
type liveContainer struct {
	id      yarn.ContainerID
	node    string
	address string   // of the node's web server; "" if unknown
	names   []string // of the log files to print
}

func (l *runningLogs) run() error {
	switch {
	case l.opts.has("show_container_log_info"):
		return l.listFiles()
	case l.opts.has("list_nodes"):
		return l.say("The -list_nodes command can be only used with finished applications")
	case l.opts.has("show_application_log_info"):
		return l.listContainers()
	case l.ask.masters != nil:
		return l.mastersLogs()
	case l.ask.container != nil:
		return l.oneContainer()
	case l.ask.node != "":
		fmt.Fprintln(l.Stderr, "Should at least provide ContainerId!")
		return l.misused()
	}
	return l.application()
}

// live lists the containers of all attempts that the ResourceManager still
// knows, by id.
func (l *runningLogs) live() ([]liveContainer, error) {
	rm, err := l.client()
	if err != nil {
		return nil, err
	}
	attempts, err := rm.Attempts(l.ctx, l.ask.app)
	if err != nil {
		return nil, err
	}
	var out []liveContainer
	for _, a := range attempts {
		containers, err := rm.Containers(l.ctx, a.ID)
		if err != nil {
			return nil, err
		}
		for _, c := range containers {
			if !slices.ContainsFunc(out, func(o liveContainer) bool { return o.id == c.ID }) {
				out = append(out, l.liveContainer(c))
			}
		}
	}
	slices.SortFunc(out, func(a, b liveContainer) int { return a.id.Compare(b.id) })
	return out, nil
}

func (l *runningLogs) liveContainer(c *client.Container) liveContainer {
	return liveContainer{id: c.ID, node: nodeOrNull(c.Node), address: strings.TrimPrefix(orEmpty(c.NodeHTTPAddress), l.web.scheme)}
}

// chosen are the live containers that were asked for.
func (l *runningLogs) chosen() ([]liveContainer, error) {
	all, err := l.live()
	return slices.DeleteFunc(all, func(c liveContainer) bool {
		return !l.ask.wantsContainer(c.id.String()) || l.ask.node != "" && !strings.EqualFold(c.node, l.ask.node)
	}), err
}

func (l *runningLogs) listContainers() error {
	all, err := l.chosen()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return l.say("Can not find any containers for the application:%s.", l.ask.app)
	}
	if l.json {
		return l.writeDocument("logContainers", document{{"application", l.ask.app.String()}, {"state", "Running"}, {"containers", items(all, func(c liveContainer) document {
			return document{{"container", c.id.String()}, {"node", c.node}}
		})}})
	}
	fmt.Fprintln(l.Stdout, "Application State: Running.")
	for _, c := range all {
		fmt.Fprintln(l.Stdout, aggregated.OnNode(c.id.String(), c.node))
	}
	return nil
}

func (l *runningLogs) listFiles() error {
	all, err := l.chosen()
	if err != nil {
		return err
	}
	if len(all) == 0 && l.ask.container != nil {
		if address := l.nodeAddress(); address != "" {
			all = []liveContainer{{id: *l.ask.container, node: l.ask.node, address: address}}
		}
	}
	if len(all) == 0 {
		return l.listCollectedFiles()
	}
	rows := []document{}
	for _, c := range all {
		if !l.json {
			l.filesHeading(c.id.String(), c.node)
		}
		files, err := l.web.files(c.address, c.id.String())
		if err != nil {
			fmt.Fprintf(l.Stderr, "WARN the log files of %s cannot be listed: %v\n", c.id, err)
		}
		for _, f := range files {
			if l.json {
				rows = append(rows, logFileDocument(c.id.String(), c.node, f.Name, f.bytes(), f.Modified, f.kind))
				continue
			}
			l.filesRow(f.Name, f.Size, f.Modified, f.kind)
		}
	}
	if l.json {
		return l.writeDocument("logFiles", document{{"application", l.ask.app.String()}, {"files", rows}})
	}
	return nil
}

// listCollectedFiles lists the log files of containers that no node knows any
// more.
func (l *runningLogs) listCollectedFiles() error {
	err := l.endedLogs.listFiles()
	if err == nil {
		return nil
	}
	if l.ask.container != nil {
		fmt.Fprintf(l.Stderr, "Trying to get container with ContainerId: %s\n", l.ask.container)
	}
	if l.ask.node != "" {
		fmt.Fprintf(l.Stderr, "Trying to get container from NodeManager: %s\n", l.ask.node)
	}
	fmt.Fprintf(l.Stderr, "Can not find any matched containers for the application: %s\n", l.ask.app)
	return err
}

// nodeAddress is the address of the web server of the node that was named, ""
// if the ResourceManager does not know it.
func (l *runningLogs) nodeAddress() string {
	if l.ask.node == "" {
		return ""
	}
	rm, err := l.client()
	if err != nil {
		return ""
	}
	nodes, err := rm.Nodes(l.ctx, yarn.NodeStates()...)
	if err != nil {
		fmt.Fprintf(l.Stderr, "WARN the nodes cannot be listed: %v\n", err)
	}
	for _, n := range nodes {
		if n.ID.String() == l.ask.node {
			return orEmpty(n.HTTPAddress)
		}
	}
	return ""
}

// application prints the logs of all live containers. compat: in the order of a
// Java hash table.
func (l *runningLogs) application() error {
	all, err := l.chosen()
	if err != nil {
		return err
	}
	found, err := l.printAll(all)
	if err != nil {
		return err
	}
	if !found {
		return l.say("Can not find the logs for the application: %s with the appOwner: %s", l.ask.app, l.ask.owner)
	}
	return nil
}

// printAll prints what is wanted of containers, after everything has been
// counted.
func (l *runningLogs) printAll(all []liveContainer) (found bool, err error) {
	byName := map[string]liveContainer{}
	var names []string
	for _, c := range all {
		ok, err := l.choose(&c)
		if err != nil {
			return false, err
		}
		if ok {
			byName[c.id.String()] = c
			names = append(names, c.id.String())
		}
	}
	for _, name := range hashOrder(names) {
		printed, err := l.printContainer(byName[name])
		if err != nil {
			return false, err
		}
		found = found || printed
	}
	return found, nil
}

// choose finds the names of the log files to print; false if there are none.
func (l *runningLogs) choose(c *liveContainer) (bool, error) {
	if c.address == "" {
		fmt.Fprintf(l.Stderr, "Can not get the logs for the container: %s\n", c.id)
		fmt.Fprintln(l.Stderr, "The node http address is required to get container logs for the Running application.")
		return false, nil
	}
	files, err := l.web.files(c.address, c.id.String())
	if err != nil {
		if l.ctx.Err() != nil {
			return false, err
		}
		var refused webRefusal
		if !errors.As(err, &refused) {
			fmt.Fprintln(l.Stderr, "Unable to fetch log files list")
		}
		fmt.Fprintf(l.Stderr, "WARN the log files of %s cannot be listed: %v\n", c.id, err)
	}
	var plain []aggregated.File
	for _, f := range files {
		plain = append(plain, aggregated.File{Name: f.Name, Size: f.bytes()})
	}
	if c.names, err = l.ask.wanted(plain); err != nil {
		return false, err
	}
	if len(c.names) == 0 {
		l.noMatch(c.id.String())
		return false, nil
	}
	return true, nil
}

// printContainer prints log files one by one. found is false if the node could
// not be asked for any of them.
func (l *runningLogs) printContainer(c liveContainer) (found bool, err error) {
	out, err := newLogsOut(l.call, l.ask.out)
	if err != nil {
		return false, err
	}
	defer out.Close()
	var w io.Writer
	if w, err = out.to(c.node, c.id.String()); err != nil {
		return false, err
	}
	for _, name := range hashOrder(c.names) {
		err := l.web.content(w, c.address, c.node, c.id.String(), name, l.ask.size)
		var wrong printing
		switch {
		case errors.As(err, &wrong) || err != nil && l.ctx.Err() != nil:
			return false, err
		case err != nil:
			fmt.Fprintf(l.Stderr, "Can not find the log file:%s for the container:%s in NodeManager:%s\n", name, c.id, c.node)
			fmt.Fprintf(l.Stderr, "WARN %v\n", err)
		default:
			found = true
		}
	}
	return found, out.Close()
}

// oneContainer prints one container's logs from its node, or, if no node knows
// it any more, what has been collected of it.
func (l *runningLogs) oneContainer() error {
	rm, err := l.client()
	if err != nil {
		return err
	}
	c := liveContainer{id: *l.ask.container, node: l.ask.node}
	report, err := rm.Container(l.ctx, *l.ask.container)
	if err == nil {
		c = l.liveContainer(report)
	} else if l.ctx.Err() != nil {
		return err
	} else if c.address = l.nodeAddress(); c.address == "" {
		return l.collectedContainer()
	}
	found, err := l.printAll([]liveContainer{c})
	if err == nil && !found {
		err = failed
	}
	return err
}

func (l *runningLogs) collectedContainer() error {
	found, err := l.match()
	if err != nil {
		return err
	}
	if !found {
		l.noMatch(l.ask.container.String())
	} else if found, err = l.print(); err != nil {
		return err
	}
	if !found {
		fmt.Fprintf(l.Stderr, "Unable to get logs for this container:%s for the application:%s with the appOwner: %s\n", l.ask.container, l.ask.app, l.ask.owner)
		return l.say("The application: %s is still running, and we can not get Container report for the container: %s. Please try later or after the application finishes.",
			l.ask.app, l.ask.container)
	}
	return nil
}
