package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

func (s *server) nodes(r *http.Request) (*answer.Response, error) {
	query := r.URL.Query()
	var wanted []yarn.NodeState
	err := tooMany(query)
	if err == nil && query.Has("states") {
		wanted, err = statesOf(query.Get("states"))
	}
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	list := tree.Stream(func(yield func(tree.Value) bool) {
		for _, n := range c.Nodes {
			if (!query.Has("states") || slices.Contains(wanted, n.State)) && !yield(nodeObject(c.ResourceTypes, n)) {
				return
			}
		}
	})
	return answer.Wrapped("nodes", tree.New().Add("node", list)), nil
}

// statesOf parses names of states as Hadoop does.
//
// compat: blanks belong to the names, and an empty name is an error; but commas alone name no state, so that no node matches.
func statesOf(text string) (out []yarn.NodeState, err error) {
	for _, name := range pieces([]string{text}) {
		state, ok := yarn.ParseNodeState(strings.ToUpper(name))
		if !ok {
			return nil, noNodeState(name)
		}
		out = append(out, state)
	}
	return out, nil
}

func noNodeState(name string) error {
	return answer.IllegalArgument("No enum constant org.apache.hadoop.yarn.api.records.NodeState.%s", strings.ToUpper(name))
}

// nodeStates parses names of states, in upper or lower case, separated by commas or in
// several parameters.
func nodeStates(params []string) ([]yarn.NodeState, error) {
	var out []yarn.NodeState
	for _, name := range words(params) {
		state, ok := yarn.ParseNodeState(strings.ToUpper(name))
		if !ok {
			return nil, noNodeState(name)
		}
		out = append(out, state)
	}
	return out, nil
}

func (s *server) node(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	n, err := nodeOf(c, r.PathValue("node"))
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("node", nodeObject(c.ResourceTypes, n)), nil
}

// nodeOf is the node with an id that a caller gave.
func nodeOf(c *view.Cluster, text string) (*view.Node, error) {
	id, err := nodeID(text)
	i := slices.IndexFunc(c.Nodes, func(n *view.Node) bool { return n.ID == id || n.ID.String() == text }) // also HOST:-1, which no node has
	switch {
	case i >= 0:
		return c.Nodes[i], nil
	case err != nil:
		return nil, err
	}
	return nil, notFound("nodeId, %s, is not found", text)
}

// nodeID reads host:port. Like Hadoop it accepts any number as a port, even one that no node can have.
func nodeID(text string) (yarn.NodeID, error) {
	host, port, ok := strings.Cut(text, ":")
	if !ok || port == "" || strings.Contains(port, ":") {
		return yarn.NodeID{}, answer.IllegalArgument("Invalid NodeId [%s]. Expected host:port", text)
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return yarn.NodeID{}, answer.IllegalArgument("For input string: %q", port)
	}
	return yarn.NodeID{Host: host, Port: int32(n)}, nil
}

// gone tells whether the node is inactive: Hadoop shows no address for such nodes.
func gone(s yarn.NodeState) bool {
	return s == yarn.NodeDecommissioned || s == yarn.NodeLost || s == yarn.NodeRebooted || s == yarn.NodeShutdown
}

func nodeObject(types yarn.ResourceTypes, n *view.Node) *tree.Object {
	o := tree.New().
		Add("rack", n.Rack).
		Add("state", n.State.String()).
		Add("id", n.ID.String()).
		Add("nodeHostName", n.ID.Host)
	if gone(n.State) {
		o.Add("nodeHTTPAddress", "")
	} else {
		o.Add("nodeHTTPAddress", n.HTTPAddress)
	}
	o.Add("lastHealthUpdate", n.LastHealth).
		Add("version", n.Version).
		Add("healthReport", n.HealthReport)
	nodeUse(o, n)
	labels := tree.List{}
	for _, l := range slices.Sorted(slices.Values(n.Labels)) {
		labels = append(labels, l)
	}
	return o.Add("nodeLabels", labels).
		Add("allocationTags", tree.New()).
		Add("resourceUtilization", utilization(n)).
		AddIf(n.State.Usable(), "usedResource", resource(types, n.Used)).
		AddIf(n.State.Usable(), "availableResource", resource(types, n.Available)).
		Add("nodeAttributesInfo", tree.New()).
		Add("totalResource", resource(types, n.Total))
}

// nodeUse adds the scheduler's data on the node; it has none if the node is not usable.
func nodeUse(o *tree.Object, n *view.Node) {
	var used, available yarn.Resource
	var containers int
	var memory, cpu float32
	if n.State.Usable() {
		used, available, containers = n.Used, n.Available, n.Containers
		memory, cpu = shares(n)
	}
	o.Add("numContainers", containers).
		Add("usedMemoryMB", used.MemoryMB()).
		Add("availMemoryMB", available.MemoryMB()).
		Add("usedVirtualCores", used.VCoreCount()).
		Add("availableVirtualCores", available.VCoreCount()).
		Add("memUtilization", memory).
		Add("cpuUtilization", cpu).
		Add("numRunningOpportContainers", n.Opportunistic.Running).
		Add("usedMemoryOpportGB", n.Opportunistic.MemoryMB). // compat: the name is wrong, the unit is MB
		Add("usedVirtualCoresOpport", n.Opportunistic.VCores).
		Add("numQueuedContainers", n.Opportunistic.Queued)
}

// shares are the measured use of the machine, in percent. If the machine's size is not
// known, its memory is what the node offers, and it has one core.
func shares(n *view.Node) (memory, cpu float32) {
	mb, cores := n.Physical.MemoryMB(), n.Physical.VCoreCount()
	if n.Physical.IsZero() {
		mb, cores = n.Used.MemoryMB()+n.Available.MemoryMB(), 1
	}
	if mb > 0 {
		memory = float32(n.NodeUse.PhysicalMemoryMB) * 100 / float32(mb)
	}
	if cores > 0 {
		cpu = n.NodeUse.CPU * 100 / float32(cores)
	}
	return memory, cpu
}

func utilization(n *view.Node) *tree.Object {
	return tree.New().
		Add("nodePhysicalMemoryMB", n.NodeUse.PhysicalMemoryMB).
		Add("nodeVirtualMemoryMB", n.NodeUse.VirtualMemoryMB).
		Add("nodeCPUUsage", float64(n.NodeUse.CPU)).
		Add("aggregatedContainersPhysicalMemoryMB", n.ContainersUse.PhysicalMemoryMB).
		Add("aggregatedContainersVirtualMemoryMB", n.ContainersUse.VirtualMemoryMB).
		Add("containersCPUUsage", float64(n.ContainersUse.CPU))
}
