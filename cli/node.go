package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// nodeRow is a line of the list: id, state, web address, running containers.
const nodeRow = "%16s\t%15s\t%17s\t%28s\n"

var nodeOptions = append([]option{
	{name: "list", help: "Lists running nodes, or those that -states or -all ask for; -showDetails prints more of each."},
	{name: "states", arg: "States", values: many, separate: ',', help: "With -list: nodes in these states, separated by commas. " + validNodeStates()},
	{name: "all", help: "With -list: nodes in every state."},
	{name: "showDetails", help: "With -list: resources, use and labels as well."},
	{name: "status", arg: "NodeId", values: 1, help: "Prints the report on a node."},
	{name: "help", help: "Prints this text."},
}, drainOptions...)

// validNodeStates ends the error message about an unknown state.
func validNodeStates() string {
	var names []string
	for _, s := range yarn.NodeStates() {
		names = append(names, s.String())
	}
	return "The valid node state can be one of the following: " + strings.Join(names, ",") + "."
}

// node is yarn node. compat: -status takes exactly one word and nothing else;
// stray words after -list are ignored.
func node(c *call) error {
	switch {
	case c.opts.has("status"):
		if len(c.args) != 2 {
			return c.misused()
		}
		return nodeStatus(c)
	case c.opts.has("list"):
		return nodeList(c)
	case c.opts.has("drain"):
		return drain(c)
	case c.opts.has("undrain"):
		return undrain(c)
	case c.opts.has("drain-status"):
		return drainStatus(c)
	case c.opts.has("help"):
		c.usage()
		return nil
	}
	return c.invalid(0)
}

// nodeList prints nodes in the order received, with details on request.
func nodeList(c *call) error {
	states, err := c.nodeStates()
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	nodes, err := rm.Nodes(c.ctx, states...)
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("nodes", document{{"nodes", items(nodes, nodeDocument)}})
	}
	fmt.Fprintf(c.Stdout, "Total Nodes:%d\n", len(nodes))
	fmt.Fprintf(c.Stdout, nodeRow, "Node-Id", "Node-State", "Node-Http-Address", "Number-of-Running-Containers")
	for _, n := range nodes {
		c.row(nodeRow, n.ID, n.State, orNull(n.HTTPAddress), fmt.Sprint(n.Containers))
		if c.opts.has("showDetails") {
			c.writeNodeDetails(n)
		}
	}
	return nil
}

// nodeStates reads -all and -states; RUNNING without either.
func (c *call) nodeStates() ([]yarn.NodeState, error) {
	if c.opts.has("all") {
		return yarn.NodeStates(), nil
	}
	if !c.opts.has("states") {
		return []yarn.NodeState{yarn.NodeRunning}, nil
	}
	var states []yarn.NodeState
	for _, word := range c.opts.all("states") {
		if strings.TrimSpace(word) == "" {
			continue
		}
		s, ok := yarn.ParseNodeState(strings.ToUpper(strings.TrimSpace(word)))
		if !ok {
			fmt.Fprintf(c.Stdout, "The node state %s is invalid.\n%s\n", word, validNodeStates())
			return nil, failed
		}
		states = append(states, s)
	}
	return states, nil
}

// writeNodeDetails prints what -showDetails adds below a node's line.
func (c *call) writeNodeDetails(n *client.Node) {
	used := ""
	if n.Used != nil {
		used = resource(*n.Used)
	}
	fmt.Fprintf(c.Stdout, "Detailed Node Information :\n\tConfigured Resources : %s\n\tAllocated Resources : %s\n"+
		"\tResource Utilization by Node : %s\n\tResource Utilization by Containers : %s\n\tNode-Labels : %s\n",
		resource(n.Capability), used, utilization(n.NodeUse), utilization(n.ContainersUse), visible.Line(labels(n.Labels)))
}

// utilization prints measured use, or nothing before the first measurement.
func utilization(u *client.Utilization) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("PMem:%d MB, VMem:%d MB, VCores:%s", u.PhysicalMB, u.VirtualMB, float(u.CPU))
}

// labels prints a node's labels, sorted, without twins.
func labels(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// nodeStatus prints one node. There is no call for one node: the list of all is
// searched. compat: an unknown node is exit code 0.
func nodeStatus(c *call) error {
	word := c.opts.first("status")
	id, err := parseNode(word)
	if err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	nodes, err := rm.Nodes(c.ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(nodes, func(n *client.Node) bool { return n.ID == id })
	if at < 0 {
		if c.json {
			return fmt.Errorf("no node %s", word)
		}
		fmt.Fprintf(c.Stdout, "Could not find the node report for node id : %s\n", word)
		return nil
	}
	if c.json {
		return c.writeDocument("node", document{{"node", nodeDocument(nodes[at])}})
	}
	c.writeNode(nodes[at])
	return nil
}

// writeNode prints the block of -status.
func (c *call) writeNode(n *client.Node) {
	var b strings.Builder
	line := func(key string, value any) { writeLine(&b, key, value) }
	used := client.Resource{}
	if n.Used != nil {
		used = *n.Used
	}
	b.WriteString("Node Report : \n")
	line("Node-Id", n.ID)
	line("Rack", orNull(n.Rack))
	line("Node-State", n.State)
	line("Node-Http-Address", orNull(n.HTTPAddress))
	line("Last-Health-Update", c.healthTime(n.LastHealthUpdate))
	writeLines(&b, "Health-Report", n.Health)
	line("Containers", n.Containers)
	line("Memory-Used", fmt.Sprintf("%dMB", used.MemoryMB))
	line("Memory-Capacity", fmt.Sprintf("%dMB", n.Capability.MemoryMB))
	line("CPU-Used", fmt.Sprintf("%d vcores", used.VCores))
	line("CPU-Capacity", fmt.Sprintf("%d vcores", n.Capability.VCores))
	line("Node-Labels", labels(n.Labels))
	b.WriteString("\tNode Attributes : ")
	for i, a := range n.Attributes {
		if i > 0 {
			fmt.Fprintf(&b, "\n\t%18s", "")
		}
		b.WriteString(visible.Line(attribute(a)))
	}
	b.WriteString("\n")
	line("Resource Utilization by Node", utilization(n.NodeUse))
	line("Resource Utilization by Containers", utilization(n.ContainersUse))
	fmt.Fprintln(c.Stdout, b.String())
}

// attribute prints prefix/name(type)=value.
func attribute(a client.NodeAttribute) string {
	return fmt.Sprintf("%s/%s(%s)=%s", a.Prefix, a.Name, a.Type, orNull(a.Value))
}

func nodeDocument(n *client.Node) document {
	d := document{{"id", n.ID.String()}, {"state", n.State.String()}, {"rack", n.Rack}, {"httpAddress", n.HTTPAddress},
		{"containers", n.Containers}, {"capability", resourceDocument(n.Capability)}, {"used", nil},
		{"health", n.Health}, {"lastHealthUpdate", n.LastHealthUpdate}, {"labels", words(n.Labels)},
		{"attributes", items(n.Attributes, func(a client.NodeAttribute) document {
			return document{{"prefix", a.Prefix}, {"name", a.Name}, {"type", a.Type}, {"value", a.Value}}
		})},
		{"nodeUtilization", utilizationDocument(n.NodeUse)}, {"containersUtilization", utilizationDocument(n.ContainersUse)},
		{"decommissioningSecondsLeft", n.DecommissioningDeadline}}
	if n.Used != nil {
		d[6].value = resourceDocument(*n.Used)
	}
	return d
}

func utilizationDocument(u *client.Utilization) any {
	if u == nil {
		return nil
	}
	return document{{"physicalMemoryMB", u.PhysicalMB}, {"virtualMemoryMB", u.VirtualMB}, {"vcores", u.CPU}}
}
