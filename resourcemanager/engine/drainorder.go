package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// An order (DrainNodes) has nodes drain and keeps them from registering, whatever the lists of nodes say, until it is taken back
// (UndrainNodes). Then nodes that still drain are used again, and those that have left may register. An order is for one node, or with
// port 0 for every node of a host. It is stored as a state.NodeDeadline whose source is not sourceLists.
//
// An order for a node and a drain of that node by the lists have the same record: the order replaces the other.

// sourceLists is the source of a drain that the lists ask for.
const sourceLists = "file"

// drainNodes stores an order for each name; when all are stored their nodes drain.
func (e *Engine) drainNodes(c DrainNodes) {
	c.Nodes = orderNames(c.Nodes)
	if err := e.checkOrders(c); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	var refusal *Error
	for _, name := range c.Nodes {
		r := state.NodeDeadline{Node: name, Deadline: c.Deadline, RequestedAt: e.now.Wall, RequestedBy: c.User, Reason: c.Reason, Source: c.Source}
		if before, ok := e.drainOrders[name]; ok {
			r.RequestedAt = before.RequestedAt
		}
		e.ordersPending[name]++
		e.save(state.Put(r), saved{what: savedOrder, order: &r, refusal: &refusal})
	}
	e.whenStored(func() { e.followOrders(c.Ticket, &refusal) })
}

// checkOrders refuses orders for unknown names, and more orders than MaxNodes.
func (e *Engine) checkOrders(c DrainNodes) *Error {
	unknown := e.unknownNames(c.Nodes)
	switch {
	case len(unknown) > 0:
		return refuse(Failed, "Cannot drain %s: no such node; none of the nodes was touched", strings.Join(clipList(unknown), ", "))
	case len(e.drainOrders)+len(c.Nodes) > MaxNodes:
		return refuse(Failed, "Cannot drain %d nodes: there are orders for %d already, and %d are the most", len(c.Nodes), len(e.drainOrders), MaxNodes)
	}
	return nil
}

// unknownNames are the names of which neither a node nor an order is known. Nodes that have left count as known.
func (e *Engine) unknownNames(names []yarn.NodeID) (unknown []string) {
	known := make(map[yarn.NodeID]bool, 2*len(e.nodes))
	for id := range e.nodes { //tidy:unordered a set is made
		known[id], known[hostID(id)] = true, true
	}
	for _, name := range names {
		if _, ordered := e.drainOrders[name]; !ordered && !known[name] {
			unknown = append(unknown, nameOf(name))
		}
	}
	return unknown
}

// orderStored puts an order in force that is stored; followOrders then has nodes follow it.
func (e *Engine) orderStored(s saved, err error) {
	if e.ordersPending[s.order.Node]--; e.ordersPending[s.order.Node] == 0 {
		delete(e.ordersPending, s.order.Node)
	}
	switch {
	case err == nil:
		e.drainOrders[s.order.Node] = *s.order
	case *s.refusal == nil:
		*s.refusal = refuse(NotStored, "Cannot store that %s is to drain: %v", nameOf(s.order.Node), err)
	}
}

// undrainNodes takes orders back, also those that are being stored: for a host the host's own and those of its nodes, for a node that one.
func (e *Engine) undrainNodes(c UndrainNodes) {
	c.Nodes = orderNames(c.Nodes)
	byHost := map[string][]yarn.NodeID{}
	for id := range e.drainOrders { //tidy:unordered sorted below
		byHost[hostID(id).Host] = append(byHost[hostID(id).Host], id)
	}
	for id := range e.ordersPending { //tidy:unordered likewise
		byHost[hostID(id).Host] = append(byHost[hostID(id).Host], id)
	}
	end := map[yarn.NodeID]bool{} // names of the orders that end
	for _, name := range c.Nodes {
		found := byHost[name.Host]
		if name.Port != 0 {
			if found = nil; e.ordered(name) {
				found = []yarn.NodeID{name}
			}
		}
		if len(found) == 0 {
			e.fail(c.Ticket, e.noOrder(name))
			return
		}
		for _, id := range found {
			end[id] = true
		}
	}
	if n := e.stillExcluded(end); n != nil {
		e.fail(c.Ticket, refuse(Failed, "Cannot take %s back: the lists of nodes do not admit it; change them and run yarn rmadmin -refreshNodes first", n.id))
		return
	}
	var refusal *Error
	for _, name := range slices.SortedFunc(maps.Keys(end), yarn.NodeID.Compare) {
		e.save(state.Remove(state.NodeDeadline{Node: name}), saved{what: savedOrderEnd, order: &state.NodeDeadline{Node: name}, refusal: &refusal})
	}
	e.whenStored(func() { e.followOrders(c.Ticket, &refusal) })
}

// ordered tells whether an order of that name is in force, or is being stored.
func (e *Engine) ordered(name yarn.NodeID) bool {
	_, inForce := e.drainOrders[name]
	return inForce || e.ordersPending[name] > 0
}

// noOrder says why there is nothing to take back for the name.
func (e *Engine) noOrder(name yarn.NodeID) *Error {
	if e.ordered(hostID(name)) {
		return refuse(Failed, "Cannot take %s back alone: all nodes of %s were asked to drain; take back %s", nameOf(name), name.Host, name.Host)
	}
	if len(e.unknownNames([]yarn.NodeID{name})) > 0 {
		return refuse(Failed, "Cannot take %s back: no such node", nameOf(name))
	}
	return refuse(Failed, "Cannot take %s back: there is no yarn node -drain for it. If the lists of nodes exclude it, change them and run yarn rmadmin -refreshNodes",
		nameOf(name))
}

// stillExcluded is a draining node that one of the orders is for and that the lists do not admit either; nil: there is none.
func (e *Engine) stillExcluded(orders map[yarn.NodeID]bool) *node {
	for _, n := range e.sortedNodes() {
		if n.notAdmitted && n.drain != nil && (orders[n.id] || orders[hostID(n.id)]) {
			return n
		}
	}
	return nil
}

// orderEnded drops an order whose record has been removed.
func (e *Engine) orderEnded(s saved, err error) {
	switch {
	case err == nil:
		delete(e.drainOrders, s.order.Node)
	case *s.refusal == nil:
		*s.refusal = refuse(NotStored, "Cannot store that %s is taken back: %v", nameOf(s.order.Node), err)
	}
}

// followOrders has every node follow the orders in force, in slices, and then answers the caller.
func (e *Engine) followOrders(t Ticket, refusal **Error) {
	nodes := e.sortedNodes()
	e.begin(func(budget int) (used int, done bool) {
		for ; len(nodes) > 0 && used < budget; nodes = nodes[1:] {
			if n := nodes[0]; e.nodes[n.id] == n {
				used += e.followOrder(n)
			}
		}
		if done = len(nodes) == 0; done {
			if *refusal != nil {
				e.fail(t, *refusal)
			} else {
				e.reply(t, nil)
			}
		}
		return used, done
	})
}

// followOrder begins or ends the node's drain as the orders in force say. work is what that cost of a slice.
func (e *Engine) followOrder(n *node) (work int) {
	e.touchNode(n)
	r, ordered := e.orderOf(n.id)
	switch {
	case n.state != yarn.NodeUnhealthy && !n.state.Usable():
		return 1
	case ordered:
		e.beginOrdered(n, r)
	case n.drain != nil && n.drain.ordered:
		work = n.held
		e.recommission(n)
	}
	return work + workOfNode
}

// beginOrdered has a node drain as an order says. A drain that the lists began becomes the order's.
func (e *Engine) beginOrdered(n *node, r state.NodeDeadline) {
	d := orderedDrain(r, n.total)
	if n.drain != nil && n.drain.ordered && n.drain.deadline == d.deadline && n.drain.reason == d.reason {
		return
	}
	// An order of the host has a record of its own, beside that of the drain by the lists.
	if _, same := e.drainOrders[n.id]; !same &&
		(n.pendingDrain != nil || n.drain != nil && !n.drain.ordered) {
		e.save(state.Remove(state.NodeDeadline{Node: n.id}), saved{what: savedNothing})
	}
	n.pendingDrain = nil
	e.beginDrain(n, d)
}

// orderedDrain is the drain that an order asks for, of a node that offers capacity.
func orderedDrain(r state.NodeDeadline, capacity yarn.Resource) *drain {
	return &drain{requestedAt: r.RequestedAt, deadline: r.Deadline, capacity: capacity, user: r.RequestedBy, reason: r.Reason, source: r.Source, ordered: true}
}

// orderOf is the order in force for a node: its own, else its host's.
func (e *Engine) orderOf(id yarn.NodeID) (state.NodeDeadline, bool) {
	r, ok := e.drainOrders[id]
	if !ok {
		r, ok = e.drainOrders[hostID(id)]
	}
	return r, ok
}

// refusedByOrder says why an order keeps a registering node away; empty: none does. A node that is not known, as after a restart, may
// register to drain what runs there until the deadline.
func (e *Engine) refusedByOrder(c RegisterNode) string {
	r, ordered := e.orderOf(c.Node)
	if n := e.nodes[c.Node]; !ordered || n != nil && n.drain != nil {
		return ""
	} else if (n == nil || n.placeholder) && len(c.Applications)+len(c.Containers) > 0 && (r.Deadline == 0 || r.Deadline > e.now.Wall) {
		return ""
	}
	return "Disallowed NodeManager from  " + c.Node.Host + ", Sending SHUTDOWN signal to the NodeManager: " + r.RequestedBy +
		" has drained it" + because(r.Reason) + "; yarn node -undrain " + c.Node.Host + " lets it come back."
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// hostID is the name of an order for every node of the node's host.
//
// Its host is in small letters: the lists of nodes know no case either, and a placeholder has the host as a list writes it.
func hostID(id yarn.NodeID) yarn.NodeID { return yarn.NodeID{Host: strings.ToLower(id.Host)} }

// orderName is the name under which an order is kept.
func orderName(name yarn.NodeID) yarn.NodeID {
	if name.Port == 0 {
		return hostID(name)
	}
	return name
}

func orderNames(names []yarn.NodeID) []yarn.NodeID {
	out := make([]yarn.NodeID, len(names))
	for i, name := range names {
		out[i] = orderName(name)
	}
	return out
}

// nameOf is the name of an order as administrators write it: HOST, or HOST:PORT.
func nameOf(id yarn.NodeID) string {
	if id.Port == 0 {
		return id.Host
	}
	return id.String()
}

// clipList bounds what a message lists.
func clipList(words []string) []string {
	if len(words) > 10 {
		return append(slices.Clone(words[:10]), "…")
	}
	return words
}
