package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// admin is something that administrators do, or that happens to a node.
func (w *world) admin() {
	if len(w.nodes) == 0 {
		return
	}
	n := w.nodes[w.draw(len(w.nodes), "node")]
	t := w.next()
	switch w.draw(22, "deed") {
	case 15, 16:
		c := DrainNodes{Ticket: t, Nodes: []yarn.NodeID{w.maybeHost(n.id)}, User: "root", Source: "cli"}
		if w.chance(2, "bounded") {
			c.Deadline = w.now.Wall + int64(w.draw(60_000, "time"))
		}
		w.send(c)
	case 17:
		w.send(UndrainNodes{Ticket: t, Nodes: []yarn.NodeID{w.maybeHost(n.id)}})
	case 18, 19, 20:
		w.refreshLists(n.id, t)
	case 21:
		w.send(ExcludedHosts{Hosts: w.absentHosts()})
		delete(w.asked, t)
	case 12, 13:
		w.send(RefreshNodes{Ticket: t, How: Graceful, Excluded: map[yarn.NodeID]Exclusion{n.id: {Timeout: int32(w.draw(40, "timeout")) - 1}}})
	case 14:
		w.send(RefreshNodes{Ticket: t, How: Decommission(w.draw(3, "how"))})
	case 0:
		w.send(ExpireNode{Node: n.id})
		n.up = false
		delete(w.asked, t)
	case 1:
		w.send(UnregisterNode{Ticket: t, Node: n.id})
		n.up, n.running, n.done = false, nil, map[yarn.ContainerID]int32{}
	case 2:
		w.send(RefreshNodes{Ticket: t, Excluded: map[yarn.NodeID]Exclusion{n.id: {}}})
		w.send(RefreshNodes{Ticket: w.next()})
		n.up = false
	case 3:
		w.send(SetNodeResource{Ticket: t, Node: n.id, Total: yarn.NewResource(int64(512*(1+w.draw(12, "memory"))), 4)})
	case 4:
		w.send(RefreshQueues{Ticket: t, Config: w.configs[w.draw(len(w.configs), "config")]})
	case 5:
		w.send(AddLabels{Ticket: t, Labels: []scheduler.Label{w.label(), w.label()}})
	case 6:
		w.send(RemoveLabels{Ticket: t, Names: []string{w.label().Name}})
	case 7, 8:
		other := view.NodeLabels{Node: w.nodes[w.draw(len(w.nodes), "other node")].id}
		w.send(ReplaceLabels{Ticket: t, Nodes: []view.NodeLabels{{Node: yarn.NodeID{Host: n.id.Host, Port: n.id.Port * int32(w.draw(2, "whole host"))}, Labels: []string{w.label().Name}}, other}})
	default:
		w.send(Sweep{})
		delete(w.asked, t)
	}
}

// monitor is two rounds of preemption: what the first chooses may go in the second.
func (w *world) monitor() {
	for range 2 {
		w.send(MonitorQueues{})
		for n := 0; w.e.Working() && n < 1+w.draw(3, "ticks"); n++ {
			w.send(Tick{})
		}
	}
}

// refreshLists is a refresh by which nodes may be in no list, and hosts in the include list of which no node has come.
func (w *world) refreshLists(id yarn.NodeID, t Ticket) {
	c := RefreshNodes{Ticket: t, How: Decommission(w.draw(2, "how")), Unnamed: w.chance(2, "unnamed"), Unregistered: w.absentHosts()}
	if w.chance(2, "not included") {
		c.Excluded = map[yarn.NodeID]Exclusion{id: {Timeout: -1, Untracked: true}}
	}
	w.send(c)
}

// absentHosts are some hosts, of which nodes may have come or not, in any spelling.
func (w *world) absentHosts() (out []string) {
	for _, h := range []string{"h1", "H2", "h3", "h4"} {
		if w.chance(3, "listed") {
			out = append(out, h)
		}
	}
	return out
}

// maybeHost is the node, or all nodes of its host.
func (w *world) maybeHost(id yarn.NodeID) yarn.NodeID {
	if w.chance(2, "whole host") {
		return hostID(id)
	}
	return id
}

// greedy has the monitor take as much as it can, at once and for every reason; with the last one, lazily.
var greedy = []config.Property{
	{Name: config.PreemptionPrefix + "max_wait_before_kill", Value: "0"},
	{Name: config.PreemptionPrefix + "total_preemption_per_round", Value: "1"},
	{Name: config.PreemptionPrefix + "natural_termination_factor", Value: "1"},
	{Name: config.PreemptionPrefix + "max_ignored_over_capacity", Value: "0"},
	{Name: config.PreemptionPrefix + "select_based_on_reserved_containers", Value: "true"},
	{Name: config.PreemptionPrefix + "preemption-to-balance-queue-after-satisfied.enabled", Value: "true"},
	{Name: config.PreemptionPrefix + "intra-queue-preemption.enabled", Value: "true"},
	{Name: config.PreemptionPrefix + "intra-queue-preemption.minimum-threshold", Value: "0"},
	{Name: config.PreemptionPrefix + "intra-queue-preemption.max-allowable-limit", Value: "1"},
	{Name: "lazy-preemption-enabled", Value: "true"},
}
