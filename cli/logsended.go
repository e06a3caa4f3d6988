package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/progress"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// logsStore is where aggregated logs are, as the configuration says.
func (c *call) logsStore() (*aggregated.Store, error) {
	layouts, err := aggregated.ReadLayouts(c.props.Get)
	if err != nil {
		return nil, err
	}
	systems, err := filesystem.New(filesystem.Config{Default: c.props.Get("fs.defaultFS"), Property: c.props.Get, Site: c.props.HDFSSite()})
	if err != nil {
		return nil, err
	}
	return aggregated.NewStore(layouts, func(u filesystem.URL) (filesystem.FileSystem, error) {
		if u = systems.Resolve(u); !systems.Serves(u) {
			return nil, fmt.Errorf("cannot read collected logs on %s: only Java programs can read %s. Hadoop's own command reads them, with the same options: "+
				"yarn org.apache.hadoop.yarn.client.cli.LogsCLI -applicationId …; HADOOP_HOME must name a Hadoop with the connector of that file system. "+
				"Heddle's NodeManagers do not collect logs there: those of containers that they ran are on their nodes", u, u.Scheme)
		}
		return systems.Connect(c.ctx, u, c.caller())
	}), nil
}

// endedLogs prints the logs of an application that has ended, from the file
// system.
type endedLogs struct {
	*call
	ask     *logsRequest
	store   *aggregated.Store
	nowhere bool  // there is nothing at all on the file system
	bytes   int64 // of the log files that match found
}

func (l *endedLogs) run() error {
	switch {
	case l.opts.has("show_container_log_info"):
		return l.listFiles()
	case l.opts.has("list_nodes"):
		return l.listNodes()
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

// containerLogs are the log files that one node had of a container.
type containerLogs struct {
	id    string
	node  aggregated.NodeLogs
	on    string // what the node is called
	files []aggregated.File
}

// wantsContainer tells whether a container was asked for.
func (r *logsRequest) wantsContainer(id string) bool {
	switch {
	case r.container != nil:
		return id == r.container.String()
	case r.attempt != nil:
		c, err := yarn.ParseContainerID(id)
		return err == nil && c.Attempt == *r.attempt
	}
	return true
}

// each calls f for every container that was asked for; f may read its files.
// Damaged files are skipped with a warning. The error is that of f, or says
// that there are no files.
func (l *endedLogs) each(f func(n aggregated.NodeLogs, id string, r *aggregated.Reader) error) error {
	nodes, err := l.store.Nodes(l.ask.app, l.ask.owner)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if !n.Complete() || !n.Of(l.ask.node) {
			continue
		}
		if err := l.eachOf(n, f); err != nil {
			return err
		}
	}
	return nil
}

// printing is a failure to write the output, which ends the command: another
// log file would fail as well.
type printing struct{ error }

func (p printing) Unwrap() error { return p.error }

func (l *endedLogs) eachOf(n aggregated.NodeLogs, f func(n aggregated.NodeLogs, id string, r *aggregated.Reader) error) error {
	r, err := l.store.Open(n)
	if err == nil {
		defer r.Close()
	}
	for err == nil {
		var id string
		if id, err = r.NextContainer(); err == nil && l.ask.wantsContainer(id) {
			err = f(n, id, r)
		}
	}
	var out printing
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &out), l.ctx.Err() != nil:
		return err
	}
	fmt.Fprintf(l.Stderr, "WARN the logs of node %s are damaged, or not complete: %v\n", n.Name, err)
	return nil
}

// metas lists the log files of the containers that were asked for.
func (l *endedLogs) metas() ([]containerLogs, error) {
	var out []containerLogs
	err := l.each(func(n aggregated.NodeLogs, id string, r *aggregated.Reader) error {
		out = append(out, containerLogs{id: id, node: n, on: n.NameIn(r)})
		for {
			f, err := r.NextFile()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			k := &out[len(out)-1]
			k.files = append(k.files, f)
		}
	})
	return out, err
}

// noLogs prints why there are none on the file system.
func (l *endedLogs) noLogs(err error) {
	fmt.Fprintln(l.Stderr, err)
	var none *aggregated.NotFound
	l.nowhere = errors.As(err, &none)
}

// match counts the log files to print and drops all others from files; it
// returns false if none is left.
func (l *endedLogs) match() (bool, error) {
	all, err := l.metas()
	if err != nil {
		if l.ctx.Err() != nil {
			return false, err
		}
		l.noLogs(err)
		return false, nil
	}
	var files []aggregated.File
	for _, k := range all {
		files = append(files, k.files...)
	}
	for _, f := range files {
		if l.ask.files.wants(f.Name) {
			_, length := aggregated.Window(f.Size, l.ask.size)
			l.bytes += length
		}
	}
	names, err := l.ask.wanted(files)
	return len(names) > 0, err
}

// application prints everything that was asked for.
func (l *endedLogs) application() error {
	found, err := l.match()
	if err != nil {
		return err
	}
	if !found {
		fmt.Fprintf(l.Stderr, "Can not find any log file matching the pattern: %s for the application: %s\n", l.ask.files, l.ask.app)
	} else if found, err = l.print(); err != nil {
		return err
	}
	if !found {
		fmt.Fprintf(l.Stderr, "Can not find the logs for the application: %s with the appOwner: %s\n", l.ask.app, l.ask.owner)
		l.whereLogsAre()
		return failed
	}
	return nil
}

func (l *endedLogs) oneContainer() error {
	found, err := l.match()
	if err != nil {
		return err
	}
	if !found {
		l.noMatch(l.ask.container.String())
		l.whereLogsAre()
		return failed
	}
	if found, err = l.print(); err != nil {
		return err
	}
	if !found {
		return l.say("Logs for container %s are not present in this log-file.", l.ask.container)
	}
	return nil
}

func (l *endedLogs) noMatch(container string) {
	fmt.Fprintf(l.Stderr, "Can not find any log file matching the pattern: %s for the container: %s within the application: %s\n", l.ask.files, container, l.ask.app)
}

// print prints the log files that were asked for and tells whether there were any.
func (l *endedLogs) print() (found bool, err error) {
	out, err := newLogsOut(l.call, l.ask.out)
	if err != nil {
		return false, err
	}
	defer out.Close()
	var meter *progress.Meter // of what goes to files; the logs themselves show their progress
	if l.ask.out != "" {
		meter = progress.New(l.errScreen, l.Now, "copying logs", progress.Bytes)
		meter.Total(l.bytes)
		defer meter.End()
	}
	err = l.each(func(n aggregated.NodeLogs, id string, r *aggregated.Reader) error {
		w, err := out.to(n.Name, id)
		if errors.Is(err, errNoContainer) {
			fmt.Fprintf(l.Stderr, "WARN the logs of node %s: %v\n", n.Name, err)
			return nil
		}
		if err != nil {
			return printing{err}
		}
		for {
			f, err := r.NextFile()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if !l.ask.files.wants(f.Name) {
				continue
			}
			found = true
			if err := l.printFile(meter.Writer(w), n, id, f, r); err != nil {
				return err
			}
		}
	})
	return found, errors.Join(err, out.Close())
}

func (l *endedLogs) printFile(w io.Writer, n aggregated.NodeLogs, id string, f aggregated.File, r *aggregated.Reader) error {
	h := aggregated.Heading{Container: id, Node: n.Name, Kind: aggregated.Aggregated, File: f.Name, Modified: l.longTime(n.Modified(f)), Size: f.Size}
	if _, err := io.WriteString(w, h.String()); err != nil {
		return printing{err}
	}
	skip, length := aggregated.Window(f.Size, l.ask.size)
	err := r.Skip(skip)
	if err == nil {
		err = copyLog(w, r, length)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) { // told, and perhaps the rest can be read
		fmt.Fprintf(l.Stderr, "WARN %s of %s is shorter than announced\n", f.Name, id)
		err = nil
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, aggregated.Ending(f.Name)); err != nil {
		return printing{err}
	}
	return nil
}

// copyLog copies n bytes and tells failures of either side apart.
func copyLog(w io.Writer, r io.Reader, n int64) error {
	wrong, err := aggregated.Copy(w, r, n)
	if wrong != nil {
		return printing{wrong}
	}
	return err
}

// logFileDocument is a log file; the size is in bytes and the time in milliseconds, where they are known.
func logFileDocument(container, node, name string, size, modified any, kind string) document {
	return document{{"container", container}, {"node", node}, {"name", name}, {"size", size}, {"modified", modified}, {"kind", kind}}
}

// filesHeading begins the table of a container's log files.
func (c *call) filesHeading(container, node string) {
	first := aggregated.OnNode(container, node)
	fmt.Fprintf(c.Stdout, "%s\n%s\n", first, strings.Repeat("=", len(first)))
	c.filesRow("LogFile", "LogLength", "LastModificationTime", "LogAggregationType")
	fmt.Fprintln(c.Stdout, strings.Repeat("=", 2*len(first)))
}

// filesRow is a line of it: name, size, time, where the file is.
func (c *call) filesRow(cells ...string) {
	for i, cell := range cells {
		cell = visible.Line(cell)
		cells[i] = strings.Repeat(" ", max(30-len(utf16.Encode([]rune(cell))), 0)) + cell // compat: Java counts 16-bit units
	}
	fmt.Fprintln(c.Stdout, strings.Join(cells, "\t"))
}

func (l *endedLogs) listFiles() error {
	all, err := l.metas()
	if err != nil {
		l.noLogs(err)
		l.whereLogsAre()
		return failed
	}
	if l.json && len(all) > 0 {
		var rows []document
		for _, k := range all {
			for _, f := range k.files {
				rows = append(rows, logFileDocument(k.id, k.on, f.Name, f.Size, k.node.Modified(f), aggregated.Aggregated))
			}
		}
		return l.writeDocument("logFiles", document{{"application", l.ask.app.String()}, {"files", rows}})
	}
	for _, k := range all {
		l.filesHeading(k.id, k.on)
		for _, f := range k.files {
			l.filesRow(f.Name, strconv.FormatInt(f.Size, 10), l.longTime(k.node.Modified(f)), aggregated.Aggregated)
		}
	}
	switch {
	case len(all) > 0:
		return nil
	case l.ask.container != nil && l.ask.node != "":
		return l.say("The container %s couldn't be found on the node specified: %s", l.ask.container, l.ask.node)
	case l.ask.node != "":
		return l.say("Can not find log metadata for any containers on %s", l.ask.node)
	case l.ask.container != nil:
		return l.say("Can not find log metadata for container: %s", l.ask.container)
	}
	return failed
}

// listNodes succeeds whatever there is.
func (l *endedLogs) listNodes() error {
	nodes, err := l.store.Nodes(l.ask.app, l.ask.owner)
	if err != nil {
		l.noLogs(err)
		l.whereLogsAre()
		return nil
	}
	if l.json {
		return l.writeDocument("logNodes", document{{"application", l.ask.app.String()}, {"nodes", items(nodes, func(n aggregated.NodeLogs) document {
			return document{{"node", n.Name}, {"modified", n.ModTime}}
		})}})
	}
	for _, n := range nodes {
		fmt.Fprintln(l.Stdout, visible.Line(n.Name))
	}
	fmt.Fprintln(l.Stdout)
	return nil
}

// listContainers succeeds whatever there is.
func (l *endedLogs) listContainers() error {
	if !l.json {
		fmt.Fprintln(l.Stdout, "Application State: Completed.")
	}
	all, err := l.metas()
	if err != nil {
		l.noLogs(err)
	}
	if l.json && len(all) > 0 {
		return l.writeDocument("logContainers", document{{"application", l.ask.app.String()}, {"state", "Completed"}, {"containers", items(all, func(k containerLogs) document {
			return document{{"container", k.id}, {"node", k.on}, {"files", len(k.files)}}
		})}})
	}
	for _, k := range all {
		fmt.Fprintln(l.Stdout, aggregated.OnNode(k.id, k.on))
	}
	switch {
	case len(all) > 0:
	case l.ask.node != "":
		fmt.Fprintf(l.Stderr, "Can not find information for any containers on %s\n", l.ask.node)
	default:
		fmt.Fprintf(l.Stderr, "Can not find any container information for the application: %s\n", l.ask.app)
		l.whereLogsAre()
	}
	return nil
}
