package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/cli/shell"
	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

var shellOptions = []option{
	{name: "n", long: "containers", arg: "N", values: 1, help: "How many containers run the command; 1 if left out."},
	{name: "memory", arg: "MB", values: 1, help: "Memory of each, in MiB; 256 if left out. The cluster rounds it up."},
	{name: "vcores", arg: "V", values: 1, help: "Virtual cores of each; 1 if left out."},
	{name: "queue", arg: "Queue", values: 1, help: "Where the application is submitted; default if left out."},
	{name: "node", arg: "HOST,...", values: 1, help: "Only on these hosts, as yarn node -list names them. May be repeated."},
	{name: "rack", arg: "RACK,...", values: 1, help: "Only on the hosts that are now in these racks, and those of -node. May be repeated."},
	{name: "label", arg: "Label", values: 1, help: "Only on nodes with this label."},
	{name: "env", arg: "NAME=VALUE", values: 1, help: "A variable for the command. May be repeated."},
	{name: "file", arg: "LOCAL[#NAME]", values: 1, help: "A file for the work directory of each container. May be repeated."},
	{name: "name", arg: "Name", values: 1, help: "Name of the application."},
	{name: "timeout", arg: "Time", values: 1, help: "Kills the application after so many seconds, or a time such as 90s, 10m, 2h. The exit code is then 124."},
	{name: "attempts", arg: "N", values: 1, help: "How often a container is tried that is preempted or lost; 3 if left out."},
	{name: "staging", arg: "URL", values: 1, help: "Directory where files are put for the nodes; by default .yarn-shell in the user's home on hdfs:, and on file: they stay where they are."},
	{name: "help", help: "Prints this text."},
}

const shellText = `
Runs COMMAND in N containers of the cluster and prints what it prints, each
line after the number of its container: standard output to standard output,
standard error and progress to standard error. COMMAND begins at the first word
that is not an option, or after --. One word is a line for bash; several are a
program and its arguments, passed on unchanged. The command finds its number,
from 0, in YARN_SHELL_CONTAINER, N in YARN_SHELL_CONTAINERS.

The exit code is 0 if it was 0 in all containers, else that of the first in
order with another one (255 for those that YARN ended), 130 after Ctrl-C, 124
after -timeout, 141 when the output is read no more, all of which kill the
application, 1 if the application failed otherwise.

--output json prints one object a line for each event. On a default file system
of file:///, files and this program itself are read by each node from its own
disks, by the same path: with several machines use a shared directory.
`

// hiddenShellMaster is the subcommand that the application's master runs.
const hiddenShellMaster = "shell-master"

// What a shell asks for besides its containers. A Go program maps 1.2 GB of
// address space, and nodes allow 2.1 times the memory by default.
const (
	shellMasterMB    = 768
	shellMasterFile  = "yarn-shell-master"
	shellKillTime    = 15 * time.Second
	shellLifetime    = time.Minute // of the application beyond -timeout, if the shell itself is gone
	shellTimedOut    = Exit(124)
	shellUnread      = Exit(141) // what a shell shows for a command that SIGPIPE has ended
	maxNodesInErrors = 10
)

// runShell is yarn shell.
func runShell(c *call) error {
	if c.opts.has("help") {
		c.shellUsage()
		return nil
	}
	if len(c.program) == 0 {
		c.shellUsage()
		return failed
	}
	if c.json && c.format != formatJSON {
		return fmt.Errorf("--output %s: this prints events as they come, one a line: use json", c.format)
	}
	s := &shellRun{call: c}
	if err := s.read(); err != nil {
		return err
	}
	var err error
	if s.rm, err = c.client(); err != nil {
		return err
	}
	return s.run()
}

func (c *call) shellUsage() {
	c.usage()
	fmt.Fprint(c.Stdout, shellText)
}

// shellRun is one run of yarn shell.
type shellRun struct {
	*call
	rm      *client.Client
	id      yarn.ApplicationID
	job     *shell.Job
	sources []shell.Source
	staged  *shell.Staged
	queue   string
	name    string
	timeout time.Duration // 0 for none
	print   *shellPrinter
	exits   map[int]int32 // of the containers that have ended

	explained bool // where nodes look for files
}

// read makes a job of the options.
func (s *shellRun) read() error {
	j := &shell.Job{User: s.user(), Command: s.program, Environment: s.opts.all("env"), Label: s.opts.first("label"), Secret: shell.NewSecret()}
	s.job, s.exits, s.print = j, map[int]int32{}, newShellPrinter(s.call)
	var n, tries int64
	for _, o := range []struct {
		option string
		value  *int64
		def    int64
	}{{"n", &n, 1}, {"memory", &j.MemoryMB, 256}, {"vcores", &j.VCores, 1}, {"attempts", &tries, 3}} {
		*o.value = o.def
		if text := s.opts.first(o.option); text != "" {
			v, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return fmt.Errorf("-%s %s: want a number", o.option, text)
			}
			*o.value = v
		}
	}
	j.Containers, j.Tries = int(n), int(tries)
	for _, text := range s.opts.all("file") {
		f, err := shell.ParseSource(text)
		if err != nil {
			return err
		}
		s.sources = append(s.sources, f)
	}
	var err error
	if s.timeout, err = shellTime(s.opts.first("timeout")); err != nil {
		return err
	}
	s.queue, s.name = s.opts.first("queue"), s.opts.first("name")
	if s.name == "" {
		s.name = "shell: " + strings.ToValidUTF8(strings.Fields(s.program[0] + " ?")[0], "?")
	}
	return j.Check()
}

// shellTime reads seconds, or a number with a unit.
func shellTime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if n, number := strconv.ParseUint(text, 10, 31); number == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("-timeout %s: want seconds, or a time such as 90s, 10m, 2h", text)
	}
	return d, nil
}

// user is whom the application belongs to.
func (s *shellRun) user() string {
	if as := s.Getenv("HADOOP_PROXY_USER"); as != "" {
		return as
	}
	return s.caller()
}

// places looks up the hosts of -node and -rack in the cluster, because the
// application would wait for ever for a wrong name. Racks are replaced by their
// hosts, since the CapacityScheduler grants nothing to a request for racks
// alone.
func (s *shellRun) places() error {
	hosts, racks := commas(s.opts.all("node")), commas(s.opts.all("rack"))
	if len(hosts)+len(racks) == 0 {
		return nil
	}
	nodes, err := s.rm.Nodes(s.ctx, yarn.NodeRunning)
	if err != nil {
		return err
	}
	rackOf := map[string]string{}
	withPort := s.props.Get("yarn.scheduler.include-port-in-node-name") == "true"
	for _, n := range nodes {
		name := n.ID.Host
		if withPort {
			name = n.ID.String()
		}
		rackOf[name] = ""
		if n.Rack != nil {
			rackOf[name] = *n.Rack
		}
	}
	for _, h := range hosts {
		rack, ok := rackOf[h]
		if !ok {
			return fmt.Errorf("-node %s: no running node has that name; the cluster has %s", h, some(rackOf, func(host, _ string) string { return host }))
		}
		s.job.Hosts = append(s.job.Hosts, client.Host{Name: h, Rack: rack})
	}
	for _, r := range racks {
		before := len(s.job.Hosts)
		for _, h := range slices.Sorted(maps.Keys(rackOf)) {
			if rackOf[h] == r {
				s.job.Hosts = append(s.job.Hosts, client.Host{Name: h, Rack: r})
			}
		}
		if len(s.job.Hosts) == before {
			return fmt.Errorf("-rack %s: no running node is in it; the cluster has %s", r, some(rackOf, func(_, rack string) string { return rack }))
		}
	}
	return nil
}

// commas splits words at commas and leaves empty parts out.
func commas(list []string) []string {
	var out []string
	for _, word := range list {
		for part := range strings.SplitSeq(word, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// some lists what there is, up to a bound.
func some(of map[string]string, pick func(k, v string) string) string {
	var names []string
	for k, v := range of {
		names = append(names, pick(k, v))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - maxNodesInErrors; more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:maxNodesInErrors], ", "), more)
	}
	return strings.Join(names, ", ")
}
