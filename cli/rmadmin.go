package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/client"
)

// adminCommand is one command of yarn rmadmin. Each is the first word of the
// command line, with a dash.
type adminCommand struct {
	name string
	args string // in usage texts
	help string
	bare bool // takes no words
	ha   bool // only with high availability
	// absent: Hadoop has it and Heddle has not; usage texts leave it out
	absent bool
	run    func(c *call, args []string) error
}

// adminCommands lists them in the order of the usage text.
func adminCommands() []adminCommand {
	return []adminCommand{
		{name: "-refreshQueues", bare: true, help: "Has the scheduler's queues, limits and ACLs read again.", run: refresh((*client.Client).RefreshQueues)},
		{name: "-refreshNodes", args: "[-g|graceful [timeout in seconds] -client|server]", run: refreshNodes,
			help: "Has the include and exclude lists of nodes read again. With -g, excluded nodes keep their containers until they end, at most for the timeout; without a timeout or with -1, for ever. -client waits here and prints what is left, -server leaves the waiting to the ResourceManager."},
		{name: "-refreshNodesResources", bare: true, help: "Has the resources of nodes read again.", run: refresh((*client.Client).RefreshNodesResources)},
		{name: "-refreshSuperUserGroupsConfiguration", bare: true, help: "Has the rules of who may act for whom read again.", run: refresh((*client.Client).RefreshSuperUserGroups)},
		{name: "-refreshUserToGroupsMappings", bare: true, help: "Has the groups of users looked up again.", run: refresh((*client.Client).RefreshUserGroups)},
		{name: "-refreshAdminAcls", bare: true, help: "Has the list of administrators read again.", run: refresh((*client.Client).RefreshAdminACLs)},
		{name: "-refreshServiceAcl", bare: true, help: "Has the policy of who may use which protocol read again.", run: refresh((*client.Client).RefreshServiceACLs)},
		{name: "-getGroups", args: "[username]", help: "Prints the groups of users as the ResourceManager sees them.", run: getGroups},
		{name: "-addToClusterNodeLabels", args: `<"label1(exclusive=true),label2(exclusive=false),label3">`, run: addLabels,
			help: "Makes node labels known; exclusive unless said otherwise."},
		{name: "-removeFromClusterNodeLabels", args: `<label1,label2,label3> (label splitted by ",")`, run: removeLabels,
			help: "Makes the cluster forget node labels."},
		{name: "-replaceLabelsOnNode", args: `<"node1[:port]=label1 node2[:port]=label2"> [-failOnUnknownNodes] `, run: replaceLabels,
			help: "Sets the label of nodes, one at most for each. With -failOnUnknownNodes a node that is not known is an error."},
		{name: "-directlyAccessNodeLabelStore", absent: true, help: "Changes the label store without the ResourceManager. Deprecated in Hadoop, and not built here."},
		{name: "-refreshClusterMaxPriority", bare: true, help: "Has the highest priority of applications read again.", run: refresh((*client.Client).RefreshMaxPriority)},
		{name: "-updateNodeResource", args: "[NodeID] [MemSize] [vCores] ([OvercommitTimeout]) \n\t\tor\n\t\t[NodeID] [resourcetypes] ([OvercommitTimeout]). ",
			run: updateNodeResource, help: "Changes what a node offers."},
		{name: "-transitionToActive", args: "[--forceactive] <serviceId>", ha: true, help: "Makes a ResourceManager active", run: transitionToActive},
		{name: "-transitionToStandby", args: "<serviceId>", ha: true, help: "Makes a ResourceManager a standby", run: transitionToStandby},
		{name: "-getServiceState", args: "<serviceId>", ha: true, help: "Prints the state of a ResourceManager", run: serviceState},
		{name: "-getAllServiceState", ha: true, help: "Prints the states of all ResourceManagers", run: allServiceStates},
		{name: "-checkHealth", args: "<serviceId>", ha: true, help: "Asks a ResourceManager whether it is healthy; fails if it is not", run: checkHealth},
	}
}

func findAdmin(name string) *adminCommand {
	for _, k := range adminCommands() {
		if k.name == name {
			return &k
		}
	}
	return nil
}

// adminArgument is a mistake in the words of an rmadmin command; the usage
// follows it.
type adminArgument struct{ message string }

func (e adminArgument) Error() string { return e.message }

func badArgument(format string, args ...any) error {
	return adminArgument{fmt.Sprintf(format, args...)}
}

// rmadmin runs one administrator's command.
func rmadmin(c *call) error {
	if len(c.args) == 0 {
		c.adminUsage("")
		return failed
	}
	name, args := c.args[0], c.args[1:]
	if name == "-help" {
		if len(args) > 0 {
			c.adminUsage(args[0])
		} else {
			c.adminHelp()
		}
		return nil
	}
	if name != "-getAllServiceState" && name != "-getGroups" {
		if err := c.textOnly(); err != nil {
			return err
		}
	}
	k := findAdmin(name)
	switch {
	case k == nil || k.absent:
		return unknownAdmin(c)
	case k.ha && !c.ha():
		fmt.Fprintf(c.Stdout, "Cannot run %s when ResourceManager HA is not enabled\n", name)
		return failed
	case k.ha:
		return c.haResult(k.run(c, args))
	case k.bare && len(args) > 0:
		c.adminUsage(name)
		return nil // compat: not a failure
	}
	return c.adminResult(name, k.run(c, args))
}

func unknownAdmin(c *call) error {
	fmt.Fprintf(c.Stderr, "%s: Unknown command\n", dashless(c.args[0]))
	c.adminUsage("")
	return failed
}

// dashless drops the first character, as Hadoop's tool does to print a command.
func dashless(name string) string {
	if name == "" {
		return ""
	}
	return name[1:]
}

func (c *call) ha() bool {
	return strings.EqualFold(strings.TrimSpace(c.props.Get("yarn.resourcemanager.ha.enabled")), "true")
}

// adminResult prints what an rmadmin command failed with; the exit code is -1.
func (c *call) adminResult(name string, err error) error {
	var exit Exit
	var argument adminArgument
	var remote *client.Error
	name = dashless(name)
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.As(err, &argument):
		fmt.Fprintf(c.Stderr, "%s: %s\n", name, argument.message)
		c.adminUsage("-" + name)
	case errors.As(err, &remote):
		// compat: with the server's whole text, its stack trace included.
		fmt.Fprintf(c.Stderr, "%s: %s\n", name, remote.Message)
	default:
		fmt.Fprintf(c.Stderr, "%s: %v\n", name, err)
	}
	return failed
}

// adminUsage prints to standard error the syntax of one command, or of all.
func (c *call) adminUsage(name string) {
	if k := findAdmin(name); k != nil {
		fmt.Fprintf(c.Stderr, "Usage: yarn rmadmin [%s]\n", k.syntax())
		if k.ha {
			fmt.Fprintf(c.Stderr, "%s can only be used when RM HA is enabled", k.name)
		}
	} else {
		fmt.Fprintln(c.Stderr, "Usage: yarn rmadmin")
		for _, k := range c.adminListed() {
			fmt.Fprintf(c.Stderr, "   %s\n", k.row())
		}
		fmt.Fprintln(c.Stderr, "   -help [cmd]")
	}
	fmt.Fprintln(c.Stderr)
	writeGenericUsage(c.Stderr)
}

// adminListed are the commands that the configuration allows.
func (c *call) adminListed() []adminCommand {
	var out []adminCommand
	for _, k := range adminCommands() {
		if (!k.ha || c.ha()) && !k.absent {
			out = append(out, k)
		}
	}
	return out
}

func (k adminCommand) syntax() string {
	if k.args == "" {
		return k.name
	}
	return k.name + " " + k.args
}

// row is a line of the usage; compat: commands without words have a space after them.
func (k adminCommand) row() string {
	if k.ha && k.args == "" {
		return k.name
	}
	return k.name + " " + k.args
}

func (c *call) adminHelp() {
	w := c.Stdout
	fmt.Fprint(w, "rmadmin is the command to execute YARN administrative commands.\nThe full syntax is: \n\nyarn rmadmin")
	for _, k := range c.adminListed() {
		fmt.Fprintf(w, " [%s]", strings.TrimSpace(strings.NewReplacer("\n", "", "\t", " ").Replace(k.syntax())))
	}
	fmt.Fprint(w, " [-help [cmd]]\n\n")
	for _, k := range c.adminListed() {
		fmt.Fprintf(w, "   %s: %s\n", k.syntax(), k.help)
	}
	fmt.Fprint(w, "   -help [cmd]: Prints the syntax of one command, or this text.\n\n")
	writeGenericUsage(w)
}

// refresh runs a call without words.
func refresh(do func(*client.Client, context.Context) error) func(*call, []string) error {
	return func(c *call, _ []string) error {
		rm, err := c.client()
		if err != nil {
			return err
		}
		return do(rm, c.ctx)
	}
}

func getGroups(c *call, users []string) error {
	rm, err := c.client()
	if err != nil {
		return err
	}
	if len(users) == 0 {
		users = []string{c.caller()}
	}
	all := []document{}
	for _, user := range users {
		groups, err := rm.Groups(c.ctx, user)
		if err != nil {
			return err
		}
		if c.json {
			all = append(all, document{{"user", user}, {"groups", words(groups)}})
			continue
		}
		fmt.Fprintln(c.Stdout, strings.Join(append([]string{user, ":"}, groups...), " "))
	}
	if c.json {
		return c.writeDocument("groups", document{{"users", all}})
	}
	return nil
}
