package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The options of daemons; each does something in place of running the daemon (Daemons.Actions).
var (
	resourceManagerOptions = []option{
		{name: "format-state-store", help: "Set the state store aside (one in ZooKeeper is removed), so that the next start begins with an empty one and knows nothing of earlier applications. " +
			"The ResourceManager must be stopped."},
		{name: "import-state-store", help: "Put what Apache's ResourceManager has stored with LeveldbRMStateStore into the state store, which must be empty. The directory, " +
			"yarn.resourcemanager.leveldb-state-store.path, stays as it is. Both ResourceManagers must be stopped."},
		{name: "remove-application-from-state-store", arg: "appId", values: 1, help: "Remove an application and its attempts from the state store. The ResourceManager must be stopped."},
		{name: "check-state-store", help: "Read the state store and the node labels, and tell what is damaged."},
		{name: "repair-state-store", help: "Keep what can be read of damaged ones."},
		{name: "recover-lost-quorum", help: "With yarn.resourcemanager.store.class heddle.raft, once most of the ResourceManagers have lost their disks for good: make the copy of this one the whole store. " +
			"What was acknowledged and is not in this copy is lost. All ResourceManagers must be stopped; start this one, and the others with empty directories."},
		{name: "format-conf-store", help: "Take capacity-scheduler.xml instead of what the store of the queues' configuration holds, for the next start. The ResourceManager must be stopped."},
		helpOption,
	}
	nodeManagerOptions = []option{
		{name: "check-recovery-store", help: "Read the store of containers and tell what is damaged."},
		{name: "repair-recovery-store", help: "Keep what can be read of a damaged one."},
		helpOption,
	}
	helpOption = option{name: "help", help: "Print this text."}
)

// helps tells whether the first word asks for help.
func helps(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"-help", "--help", "-h", "--h"}, args[0])
}

// refuse says why a command line is refused, and prints the usage behind it.
func (c *call) refuse(format string, args ...any) error {
	fmt.Fprintf(c.Stderr, "yarn %s: %s\n", c.command.name, fmt.Sprintf(format, args...))
	c.command.explain(c.Stderr)
	return Exit(1)
}

// explain prints a usage text for options with long names: the description is below each option.
func (k *command) explain(w io.Writer) {
	fmt.Fprintf(w, "usage: %s\n", k.heading())
	for _, o := range present(k.options) {
		fmt.Fprintf(w, "%s\n", o.syntax())
		writeWrapped(w, "     "+o.help, 5)
	}
}

// action returns what an option on the command line asks for instead of running the daemon d, with the option's values; d
// itself if there is no such option.
func (c *call) action(d Daemon, args []string) (Daemon, []string, error) {
	p, err := parse(c.command.options, args)
	switch {
	case err != nil:
		if java, ok := err.(javaError); ok { //nolint:errorlint // parse wraps nothing
			return nil, nil, c.refuse("%s", java.message)
		}
		return nil, nil, c.refuse("%v", err)
	case len(p.words) > 0:
		return nil, nil, c.refuse("%s: unknown argument", p.words[0])
	case len(p.values) > 1:
		return nil, nil, c.refuse("one option at a time, not %s", strings.Join(args, " "))
	}
	for name, values := range p.values {
		action := c.Daemons.Actions[c.command.name+" -"+name]
		switch {
		case action == nil:
			return nil, nil, c.refuse("-%s: not built yet in this version", name)
		case c.global.daemon != "":
			return nil, nil, c.refuse("-%s runs in the foreground, without --daemon", name)
		}
		return action, values, nil
	}
	return d, nil, nil
}

// javaUsage prints the usage of the commands that Java carries out.
func (c *call) javaUsage(w io.Writer, name string) {
	switch name {
	case "jar":
		fmt.Fprintln(w, "usage: yarn jar <jar> [mainClass] args...")
	case "classpath":
		fmt.Fprintln(w, "usage: yarn classpath [--glob|--jar <path>]")
	default:
		fmt.Fprintf(w, "usage: yarn %s args...\n", name)
	}
}
