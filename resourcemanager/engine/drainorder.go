package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// An order is an administrator's request, made without the lists, that nodes drain and stay away. It names a node, or with port 0 every
// node of a host, and holds until it is taken back; then nodes that still drain are taken in again, and the others may register. It
// is stored as a state.NodeDeadline whose source is not the lists.

// sourceLists is the source of a drain that the lists ask for.
const sourceLists = "file"

// drainNodes stores an order for each name and then has their nodes drain.
func (e *Engine) drainNodes(c DrainNodes) {
	if err := e.mayOrder(c); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	var refusal *Error
	for _, name := range c.Nodes {
		r := state.NodeDeadline{Node: name, Deadline: c.Deadline, RequestedAt: e.now.Wall, RequestedBy: c.User, Reason: c.Reason, Source: c.Source}
		if before, ok := e.drainOrders[name]; ok {
			r.RequestedAt = before.RequestedAt
		}
		e.ordersAsked[name]++
		e.save(state.Put(r), saved{what: savedOrder, order: r, refusal: &refusal})
	}
	e.whenStored(func() { e.followOrders(c.Ticket, &refusal) })
}

// mayOrder refuses orders for what is no node, and too many of them.
func (e *Engine) mayOrder(c DrainNodes) *Error {
	unknown := e.withoutNode(c.Nodes)
	switch {
	case len(unknown) > 0:
		return refuse(Failed, "Cannot drain %s: no such node; none of the nodes was touched", strings.Join(clipList(unknown), ", "))
	case len(e.drainOrders)+len(c.Nodes) > MaxNodes:
		return refuse(Failed, "Cannot drain %d nodes: %d are ordered away already, and %d may be at most", len(c.Nodes), len(e.drainOrders), MaxNodes)
	}
	return nil
}

// withoutNode are those names that no node has, of this cluster or once of it, and no order.
func (e *Engine) withoutNode(names []yarn.NodeID) (unknown []string) {
	known := make(map[yarn.NodeID]bool, 2*len(e.nodes))
	for id := range e.nodes { //tidy:unordered a set is made
		known[id], known[hostOf(id)] = true, true
	}
	for _, name := range names {
		if _, ordered := e.drainOrders[name]; !ordered && !known[name] {
			unknown = append(unknown, nameOf(name))
		}
	}
	return unknown
}

// orderStored keeps an order that is stored.
func (e *Engine) orderStored(s saved, err error) {
	if e.ordersAsked[s.order.Node]--; e.ordersAsked[s.order.Node] == 0 {
		delete(e.ordersAsked, s.order.Node)
	}
	switch {
	case err == nil:
		e.drainOrders[s.order.Node] = s.order
	case *s.refusal == nil:
		*s.refusal = refuse(NotStored, "Cannot store that %s is to drain: %v", nameOf(s.order.Node), err)
	}
}

// undrainNodes takes orders back: all of a host's for a host, else that one.
func (e *Engine) undrainNodes(c UndrainNodes) {
	byHost := map[string][]yarn.NodeID{}
	for id := range e.drainOrders { //tidy:unordered sorted below
		byHost[id.Host] = append(byHost[id.Host], id)
	}
	end := map[yarn.NodeID]bool{}
	for _, name := range c.Nodes {
		found := byHost[name.Host]
		if _, one := e.drainOrders[name]; name.Port != 0 {
			if found = nil; one {
				found = []yarn.NodeID{name}
			}
		}
		if len(found) == 0 {
			e.fail(c.Ticket, e.nothingToTakeBack(name))
			return
		}
		for _, id := range found {
			end[id] = true
		}
	}
	if n := e.listedToo(end); n != nil {
		e.fail(c.Ticket, refuse(Failed, "Cannot take %s back: the lists of nodes do not admit it; change them and run yarn rmadmin -refreshNodes first", n.id))
		return
	}
	var refusal *Error
	for _, name := range slices.SortedFunc(maps.Keys(end), yarn.NodeID.Compare) {
		e.save(state.Remove(state.NodeDeadline{Node: name}), saved{what: savedNoOrder, order: state.NodeDeadline{Node: name}, refusal: &refusal})
	}
	e.whenStored(func() { e.followOrders(c.Ticket, &refusal) })
}

func (e *Engine) nothingToTakeBack(name yarn.NodeID) *Error {
	if _, host := e.drainOrders[hostOf(name)]; host {
		return refuse(Failed, "Cannot take %s back alone: all nodes of %s were asked to drain; take back %s", nameOf(name), name.Host, name.Host)
	}
	if len(e.withoutNode([]yarn.NodeID{name})) > 0 {
		return refuse(Failed, "Cannot take %s back: no such node", nameOf(name))
	}
	return refuse(Failed, "Cannot take %s back: nobody asked for it by yarn node -drain; what the lists of nodes exclude is taken back by changing them, and yarn rmadmin -refreshNodes",
		nameOf(name))
}

// listedToo is a draining node of the orders that the lists do not admit either.
func (e *Engine) listedToo(orders map[yarn.NodeID]bool) *node {
	for _, n := range e.sortedNodes() {
		if n.barred && n.drain != nil && (orders[n.id] || orders[hostOf(n.id)]) {
			return n
		}
	}
	return nil
}

// orderEnded forgets an order that is no longer stored.
func (e *Engine) orderEnded(s saved, err error) {
	switch {
	case err == nil:
		delete(e.drainOrders, s.order.Node)
	case *s.refusal == nil:
		*s.refusal = refuse(NotStored, "Cannot store that %s is taken back: %v", nameOf(s.order.Node), err)
	}
}

// followOrders has every node drain, or no longer, as the orders say by now; then the caller is answered.
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

func (e *Engine) followOrder(n *node) (work int) {
	e.touchNode(n)
	r, ordered := e.orderOf(n.id)
	switch {
	case n.state != yarn.NodeUnhealthy && !n.state.Usable():
		return 1
	case ordered:
		e.beginOrdered(n, r)
	case n.drain != nil && n.drain.ordered:
		e.recommission(n)
	}
	return workOfNode
}

// beginOrdered has a node drain as an order says, whatever the lists had begun.
func (e *Engine) beginOrdered(n *node, r state.NodeDeadline) {
	d := orderedDrain(r, n.total)
	if n.drain != nil && n.drain.ordered && n.drain.deadline == d.deadline && n.drain.reason == d.reason {
		return
	}
	if _, same := e.drainOrders[n.id]; !same && (n.wanted != nil || n.drain != nil && !n.drain.ordered) {
		e.save(state.Remove(state.NodeDeadline{Node: n.id}), saved{what: savedNothing})
	}
	n.wanted = nil
	e.beginDrain(n, d)
}

func orderedDrain(r state.NodeDeadline, whole yarn.Resource) *drain {
	return &drain{since: r.RequestedAt, deadline: r.Deadline, whole: whole, user: r.RequestedBy, reason: r.Reason, source: r.Source, ordered: true}
}

// orderOf is the order that a node is under: its own before its host's.
func (e *Engine) orderOf(id yarn.NodeID) (state.NodeDeadline, bool) {
	r, ok := e.drainOrders[id]
	if !ok {
		r, ok = e.drainOrders[hostOf(id)]
	}
	return r, ok
}

// orderedAway says why an order keeps a registering node away, or nothing. After a restart it may finish what runs there.
func (e *Engine) orderedAway(c RegisterNode) string {
	r, ordered := e.orderOf(c.Node)
	if n := e.nodes[c.Node]; !ordered || n != nil && n.drain != nil {
		return ""
	} else if (n == nil || n.standIn) && len(c.Applications)+len(c.Containers) > 0 && (r.Deadline == 0 || r.Deadline > e.now.Wall) {
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

func hostOf(id yarn.NodeID) yarn.NodeID { return yarn.NodeID{Host: id.Host} }

// nameOf is how an administrator names what an order is for.
func nameOf(id yarn.NodeID) string {
	if id.Port == 0 {
		return id.Host
	}
	return id.String()
}

// clipList is a list short enough for a message.
func clipList(words []string) []string {
	if len(words) > 10 {
		return append(slices.Clone(words[:10]), "…")
	}
	return words
}
