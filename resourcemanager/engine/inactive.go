package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// Ports that stand for a whole host of which no node has registered. No node has them: the edge refuses negative ones.
const (
	excludedPort     = -1 // the exclude list named it when the ResourceManager started
	unregisteredPort = -2 // the include list names it
)

// active tells whether the node belongs to the cluster; one that has left is kept for readers alone.
func (n *node) active() bool { return n.state.Usable() || n.state == yarn.NodeUnhealthy }

// track notes whether the lists name the node. One that has left, and that they do not name, is removed in a while.
func (e *Engine) track(n *node, untracked bool) {
	n.untracked = untracked
	switch {
	case !untracked:
		e.removals.drop(&n.removal)
	case !n.removal.held && e.removable(n):
		e.removals.renew(&n.removal, e.now.Mono)
	}
}

// removable tells whether the node is one of those that are removed once the lists do not name them.
func (e *Engine) removable(n *node) bool {
	return !n.active() && (len(e.set.RemovedStates) == 0 || slices.Contains(e.set.RemovedStates, n.state))
}

// removeUntracked removes the nodes that have been untracked for long enough, as many as a slice of work has room for; it says what is
// left of that. compat: Apache looks at them every half of that time, so there they go up to as much later.
func (e *Engine) removeUntracked(left int) int {
	for left > 0 {
		x := e.removals.expired(e.now.Mono, e.set.UntrackedTimeout)
		switch {
		case x == nil:
			return left
		case x.node.leaving: // who registers under its name waits for that
			e.removals.renew(x, e.now.Mono)
		default:
			e.forgetInactive(x.node.id)
		}
		left -= workOfNode
	}
	return left
}

// enlist makes the node known.
func (e *Engine) enlist(n *node) {
	e.nodes[n.id] = n
	e.hosts[strings.ToLower(n.id.Host)]++
}

// strike makes the node unknown.
func (e *Engine) strike(n *node) {
	delete(e.nodes, n.id)
	host := strings.ToLower(n.id.Host)
	if e.hosts[host]--; e.hosts[host] == 0 {
		delete(e.hosts, host)
	}
	if n.id.Port < 0 {
		delete(e.absent, host)
	}
}

// excludedHosts shows the hosts that the exclude list names when the ResourceManager starts.
func (e *Engine) excludedHosts(c ExcludedHosts) {
	e.showHosts(c.Hosts, excludedPort, yarn.NodeDecommissioned, "The exclude list names it, and no node of it has registered")
}

// showHosts shows hosts of which no node is known as nodes that have left, each until a node of it registers. There are no more of them than
// may be kept without forgetting one that was here.
func (e *Engine) showHosts(hosts []string, port int32, state yarn.NodeState, why string) {
	for _, host := range hosts {
		if len(e.inactive) >= MaxInactiveNodes {
			return
		}
		if e.hosts[strings.ToLower(host)] > 0 {
			continue
		}
		id := yarn.NodeID{Host: host, Port: port}
		e.absent[strings.ToLower(host)] = id
		e.showGone(id, state, why)
	}
}

// showGone shows a node that has not registered since the ResourceManager started as one that has left.
func (e *Engine) showGone(id yarn.NodeID, state yarn.NodeState, why string) {
	n := &node{id: id, ref: scheduler.NoNode, state: yarn.NodeNew, http: fmt.Sprintf("%s:%d", id.Host, id.Port), label: e.labels.of(id), version: "unknown",
		health: Health{Healthy: true, Report: "Healthy", At: e.now.Wall}, lostReason: why, barred: id.Port == excludedPort, standIn: true}
	n.lease.node, n.removal.node = n, n
	e.enlist(n)
	e.counts.nodes[yarn.NodeNew]++
	e.countNode(n, state)
	e.inactive = append(e.inactive, id)
}

// showOrdered shows the nodes and hosts that orders keep away and of which nothing is known: a host only if none of its nodes is shown.
func (e *Engine) showOrdered() {
	names := slices.SortedFunc(maps.Keys(e.drainOrders), yarn.NodeID.Compare)
	for _, name := range names {
		if name.Port != 0 && e.nodes[name] == nil && len(e.inactive) < MaxInactiveNodes {
			e.showGone(name, yarn.NodeDecommissioned, "It was drained before the ResourceManager started, and has not registered")
		}
	}
	for _, name := range names {
		if name.Port == 0 {
			e.showHosts([]string{name.Host}, excludedPort, yarn.NodeDecommissioned, "It was drained before the ResourceManager started, and no node of it has registered")
		}
	}
}

// hostRegisters removes what stood for a host of which no node had registered.
func (e *Engine) hostRegisters(host string) {
	if id, ok := e.absent[strings.ToLower(host)]; ok {
		e.forgetInactive(id)
	}
}
