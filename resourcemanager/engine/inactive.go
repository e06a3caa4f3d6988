package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// Nodes that have left stay known for readers, MaxInactiveNodes of them. Beside them are placeholders: nodes and hosts that the lists or
// orders name and of which no node has registered since the ResourceManager started.

// Ports of placeholders for a whole host, as in Apache. No node has them: the edge refuses negative ones.
const (
	excludedPort     = -1 // the exclude list named the host when the ResourceManager started, or an order is for it
	unregisteredPort = -2 // the include list names the host
)

// active tells whether the node belongs to the cluster. One that does not has left, or is a placeholder.
func (n *node) active() bool { return n.state.Usable() || n.state == yarn.NodeUnhealthy }

// setUntracked notes whether the node is untracked, which is to say that no list names it. One that has left is then removed after
// Settings.UntrackedTimeout.
func (e *Engine) setUntracked(n *node, untracked bool) {
	n.untracked = untracked
	switch {
	case !untracked:
		e.removals.drop(&n.removal)
	case !n.removal.held && e.removable(n):
		e.removals.renew(&n.removal, e.now.Mono)
	}
}

// removable tells whether the node is removed once it is untracked: it has left, with one of Settings.RemovedStates.
func (e *Engine) removable(n *node) bool {
	return !n.active() && (len(e.set.RemovedStates) == 0 || slices.Contains(e.set.RemovedStates, n.state))
}

// removeUntracked removes the nodes that have been untracked for long enough, until left, the work that this slice may still do, is used
// up. It returns what is left of that. Apache looks at them every half of that time, so there they go up to as much later.
func (e *Engine) removeUntracked(left int) int {
	for left > 0 {
		x := e.removals.expired(e.now.Mono, e.set.UntrackedTimeout)
		switch {
		case x == nil:
			return left
		case x.node.leaving: // a registration under its name waits for the end of that
			e.removals.renew(x, e.now.Mono)
		default:
			e.forgetInactive(x.node.id)
		}
		left -= workOfNode
	}
	return left
}

// addNode makes the node known.
func (e *Engine) addNode(n *node) {
	e.nodes[n.id] = n
	e.hosts[strings.ToLower(n.id.Host)]++
}

// removeNode makes the node unknown.
func (e *Engine) removeNode(n *node) {
	delete(e.nodes, n.id)
	host := strings.ToLower(n.id.Host)
	if e.hosts[host]--; e.hosts[host] == 0 {
		delete(e.hosts, host)
	}
	if n.id.Port < 0 {
		delete(e.placeholders, host)
	}
}

// excludedHosts makes placeholders for the hosts that the exclude list names when the ResourceManager starts.
func (e *Engine) excludedHosts(c ExcludedHosts) {
	e.showHosts(c.Hosts, excludedPort, yarn.NodeDecommissioned, "The exclude list names it, and no node of it has registered")
}

// showHosts makes a placeholder for each host of which no node is known, until a node of it registers. It stops at MaxInactiveNodes rather
// than have a placeholder take the place of a node that has left.
func (e *Engine) showHosts(hosts []string, port int32, state yarn.NodeState, why string) {
	for _, host := range hosts {
		if len(e.inactive) >= MaxInactiveNodes {
			return
		}
		if e.hosts[strings.ToLower(host)] > 0 {
			continue
		}
		id := yarn.NodeID{Host: host, Port: port}
		e.placeholders[strings.ToLower(host)] = id
		e.showPlaceholder(id, state, why)
	}
}

// showPlaceholder makes a placeholder, which readers see as a node that has left.
func (e *Engine) showPlaceholder(id yarn.NodeID, state yarn.NodeState, why string) {
	n := &node{id: id, ref: scheduler.NoNode, state: yarn.NodeNew, http: fmt.Sprintf("%s:%d", id.Host, id.Port), label: e.labels.of(id), version: "unknown",
		health: Health{Healthy: true, Report: "Healthy", At: e.now.Wall}, lostReason: why, notAdmitted: id.Port == excludedPort, placeholder: true}
	n.lease.node, n.removal.node = n, n
	e.addNode(n)
	e.counts.nodes[yarn.NodeNew]++
	e.countNode(n, state)
	e.inactive = append(e.inactive, id)
}

// showOrdered makes placeholders for nodes and hosts that orders keep away, so that they can be seen and taken back after a restart. A host
// whose nodes have some needs none.
func (e *Engine) showOrdered() {
	names := slices.SortedFunc(maps.Keys(e.drainOrders), yarn.NodeID.Compare)
	for _, name := range names {
		if name.Port != 0 && e.nodes[name] == nil && len(e.inactive) < MaxInactiveNodes {
			e.showPlaceholder(name, yarn.NodeDecommissioned, "It was drained before the ResourceManager started, and has not registered")
		}
	}
	for _, name := range names {
		if name.Port == 0 {
			e.showHosts([]string{name.Host}, excludedPort, yarn.NodeDecommissioned, "It was drained before the ResourceManager started, and no node of it has registered")
		}
	}
}

// dropPlaceholder removes the placeholder of a host of which a node registers.
func (e *Engine) dropPlaceholder(host string) {
	if id, ok := e.placeholders[strings.ToLower(host)]; ok {
		e.forgetInactive(id)
	}
}
