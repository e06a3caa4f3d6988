package engine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// labels are the labels of the cluster, and those of hosts and nodes. A node that was
// given none has its host's. One change is under way at a time; others wait, and are
// checked when it is done.
type labels struct {
	byNodes bool                          // each node gives itself its label; administrators give none
	known   []scheduler.Label             // by name
	given   map[yarn.NodeID]string        // port 0 is the host; "" for a node: no label, whatever its host has
	ofHost  map[string]map[int32]struct{} // ports in given, by host
	met     map[string]bool               // every name that the scheduler has been told, removed ones included
	changed *labelChange                  // under way, or nil
	waiting []Command                     // changes that wait for it
	seen    *view.Labels                  // as of the last change; nil when it must be made anew
}

// labelChange is a change that has been checked.
type labelChange struct {
	ticket Ticket
	known  []scheduler.Label   // after the change
	nodes  []view.LabelledNode // likewise, by id; empty with byNodes
	given  []labelling         // what changes, each host or node once
}

// labelling is the label that a host or a node is given.
type labelling struct {
	node    yarn.NodeID
	label   string
	nothing bool // it is removed from given
}

// of is the label of a node that registers.
func (l *labels) of(id yarn.NodeID) string {
	if label, ok := l.given[id]; ok {
		return label
	}
	return l.given[yarn.NodeID{Host: id.Host}]
}

func (l *labels) find(name string) (int, bool) {
	return slices.BinarySearchFunc(l.known, name, func(x scheduler.Label, name string) int { return cmp.Compare(x.Name, name) })
}

// ports are the ports of those of the host's nodes that have an entry in given.
func (l *labels) ports(host string) []int32 {
	var out []int32
	for port := range l.ofHost[host] { //tidy:unordered sorted below
		if port != 0 {
			out = append(out, port)
		}
	}
	slices.Sort(out)
	return out
}

func (l *labels) put(x labelling) {
	if x.nothing {
		delete(l.given, x.node)
		delete(l.ofHost[x.node.Host], x.node.Port)
		if len(l.ofHost[x.node.Host]) == 0 {
			delete(l.ofHost, x.node.Host)
		}
		return
	}
	if l.given == nil {
		l.given, l.ofHost = map[yarn.NodeID]string{}, map[string]map[int32]struct{}{}
	}
	l.given[x.node] = x.label
	if l.ofHost[x.node.Host] == nil {
		l.ofHost[x.node.Host] = map[int32]struct{}{}
	}
	l.ofHost[x.node.Host][x.node.Port] = struct{}{}
}

// view is what readers see.
func (l *labels) view() *view.Labels {
	if l.seen != nil {
		return l.seen
	}
	nodes := make([]view.LabelledNode, 0, len(l.given))
	for _, id := range slices.SortedFunc(maps.Keys(l.given), yarn.NodeID.Compare) {
		nodes = append(nodes, view.LabelledNode{Node: id, Label: l.given[id]})
	}
	l.seen = l.picture(nodes)
	return l.seen
}

func (l *labels) picture(nodes []view.LabelledNode) *view.Labels {
	out := &view.Labels{Nodes: nodes}
	for _, x := range l.known {
		out.Known = append(out.Known, view.Label(x))
	}
	return out
}

// changeLabels checks a change of labels and has it stored, or lets it wait for the
// one under way.
func (e *Engine) changeLabels(c Command) {
	l := &e.labels
	if l.changed != nil {
		if len(l.waiting) >= MaxLabelChanges {
			e.fail(labelTicket(c), refuse(Failed, "%d changes of node labels wait already; try again later", len(l.waiting)))
			return
		}
		l.waiting = append(l.waiting, c)
		return
	}
	change, err := e.planLabels(c)
	if err != nil {
		e.fail(labelTicket(c), err)
		return
	}
	change.ticket = labelTicket(c)
	change.given = slices.DeleteFunc(change.given, func(x labelling) bool {
		label, had := l.given[x.node]
		return had != x.nothing && label == x.label || !had && x.nothing
	})
	if len(change.given) == 0 && slices.Equal(change.known, l.known) {
		e.reply(change.ticket, nil) // nothing changes, and the present state is stored
		return
	}
	l.changed = change
	l.prepare(change)
	e.save(state.Put(l.record(change)), saved{what: savedLabels})
}

func labelTicket(c Command) Ticket {
	switch c := c.(type) {
	case AddLabels:
		return c.Ticket
	case RemoveLabels:
		return c.Ticket
	case ReplaceLabels:
		return c.Ticket
	}
	return 0
}

// NotCentralized is the refusal of an administrator's label for a node where nodes give themselves their labels.
const NotCentralized = "Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled."

// planLabels checks a change and works out what it brings.
func (e *Engine) planLabels(c Command) (*labelChange, *Error) {
	r, replaces := c.(ReplaceLabels)
	if replaces && e.set.LabelsByNodes {
		return nil, refuse(Failed, NotCentralized)
	}
	if replaces && r.FailOnUnknown {
		if unknown := e.unknownNodes(r.Nodes); len(unknown) > 0 {
			return nil, refuse(Failed, "Failed to replace labels as there are unknown nodes:[%s]", strings.Join(unknown, ", "))
		}
	}
	if !e.set.Labels {
		return nil, refuse(Failed, "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled")
	}
	switch c := c.(type) {
	case AddLabels:
		return e.planAdd(c)
	case RemoveLabels:
		return e.planRemove(c)
	case ReplaceLabels:
		return e.planReplace(c)
	}
	panic(fmt.Sprintf("engine: %T changes no labels", c))
}

// planAdd checks labels that are to be added. If a name occurs twice the first counts.
func (e *Engine) planAdd(c AddLabels) (*labelChange, *Error) {
	if len(c.Labels) > MaxLabelledOnce {
		return nil, refuse(Failed, "Cannot add %d labels at once, the most is %d: add them in several calls", len(c.Labels), MaxLabelledOnce)
	}
	var other []string
	for _, x := range c.Labels {
		x.Name = strings.TrimSpace(x.Name)
		if i, ok := e.labels.find(x.Name); ok && e.labels.known[i].Exclusive != x.Exclusive {
			other = append(other, fmt.Sprintf("<%s:exclusivity=%t>", x.Name, x.Exclusive))
		}
	}
	if len(other) > 0 {
		return nil, refuse(Failed, "Exclusivity cannot be modified for an existing label with : %s", strings.Join(other, ","))
	}
	change := &labelChange{known: slices.Clone(e.labels.known)}
	fresh, names := 0, map[string]bool{}
	for _, x := range c.Labels {
		x.Name = strings.TrimSpace(x.Name)
		if err := yarn.CheckLabel(x.Name); err != nil {
			return nil, refuse(Failed, "%v", err)
		}
		if _, ok := e.labels.find(x.Name); ok || names[x.Name] {
			continue
		}
		names[x.Name] = true
		change.known = append(change.known, x)
		if !e.labels.met[x.Name] {
			fresh++
		}
		if len(e.labels.met)+fresh > MaxLabels {
			return nil, refuse(Failed, "Cannot add label=%s: the cluster would have had more than %d labels since the ResourceManager was started", x.Name, MaxLabels)
		}
	}
	slices.SortFunc(change.known, func(a, b scheduler.Label) int { return cmp.Compare(a.Name, b.Name) })
	return change, nil
}

// planRemove checks labels that are to be removed: no queue may name them.
func (e *Engine) planRemove(c RemoveLabels) (*labelChange, *Error) {
	if len(c.Names) > MaxLabelledOnce {
		return nil, refuse(Failed, "Cannot remove %d labels at once, the most is %d: remove them in several calls", len(c.Names), MaxLabelledOnce)
	}
	gone, used := map[string]bool{}, e.usedLabels()
	for _, name := range c.Names {
		if name = strings.TrimSpace(name); used[name] != "" {
			return nil, refuse(Failed, "Cannot remove label=%s, because queue=%s is using this label. Please remove label on queue before remove the label", name, used[name])
		}
		gone[name] = true
	}
	for _, name := range c.Names {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, refuse(Failed, "Label to be removed is null or empty")
		}
		if _, ok := e.labels.find(name); !ok {
			return nil, refuse(Failed, "Node label=%s to be removed doesn't existed in cluster node labels collection.", clip(name, yarn.MaxLabelName))
		}
	}
	if len(gone) == 0 {
		return &labelChange{known: e.labels.known}, nil
	}
	change := &labelChange{known: slices.DeleteFunc(slices.Clone(e.labels.known), func(x scheduler.Label) bool { return gone[x.Name] })}
	var nodes []view.NodeLabels
	for _, x := range e.labels.view().Nodes {
		if gone[x.Label] {
			nodes = append(nodes, view.NodeLabels{Node: x.Node})
		}
	}
	e.giveLabels(change, nodes, false)
	return change, nil
}

// usedLabels are the labels that queues name, each with the first such queue.
func (e *Engine) usedLabels() map[string]string {
	out := map[string]string{}
	for _, q := range e.sched.Queues().Queues {
		for _, name := range q.Labels {
			if name != "*" && out[name] == "" {
				out[name] = q.Path
			}
		}
	}
	return out
}

// planReplace checks what nodes are to be given.
func (e *Engine) planReplace(c ReplaceLabels) (*labelChange, *Error) {
	if len(c.Nodes) > MaxLabelledOnce {
		return nil, refuse(Failed, "Cannot label %d hosts and nodes at once, the most is %d: label them in several calls", len(c.Nodes), MaxLabelledOnce)
	}
	for _, n := range c.Nodes {
		if n.Node.Host == "" || len(n.Node.Host) > MaxHostName || n.Node.Port < 0 || n.Node.Port > math.MaxUint16 {
			return nil, refuse(Failed, "Cannot label %q: it is not the name of a host, with a port or without", clip(n.Node.String(), MaxHostName))
		}
		if len(n.Labels) > 1 {
			return nil, refuse(Failed, "%d labels specified on host=%s, please note that we do not support specifying multiple labels on a single host for now.", len(n.Labels), n.Node.Host)
		}
	}
	nodes := slices.Clone(c.Nodes)
	for i, n := range nodes {
		if len(n.Labels) == 0 {
			continue
		}
		name := strings.TrimSpace(n.Labels[0])
		if nodes[i].Labels = []string{name}; name == "" {
			nodes[i].Labels = nil
		} else if _, ok := e.labels.find(name); !ok {
			return nil, refuse(Failed, "Not all labels being replaced contained by known label collections, please check, new labels=[%s]", clip(name, yarn.MaxLabelName))
		}
	}
	// Hosts first: a label for a node takes precedence over one for its host.
	slices.SortStableFunc(nodes, func(a, b view.NodeLabels) int { return cmp.Compare(min(a.Node.Port, 1), min(b.Node.Port, 1)) })
	change := &labelChange{known: e.labels.known}
	e.giveLabels(change, nodes, true)
	more := 0
	for _, x := range change.given {
		if _, had := e.labels.given[x.node]; !had && !x.nothing {
			more++
		}
	}
	if more > 0 && len(e.labels.given)+more > MaxLabelledNodes {
		return nil, refuse(Failed, "Cannot label so many nodes: more than %d hosts and nodes would have labels of their own", MaxLabelledNodes)
	}
	return change, nil
}

// maxUnknown bounds how many unknown nodes a refusal names.
const maxUnknown = 100

// unknownNodes are those that the ResourceManager does not know, not even as inactive.
func (e *Engine) unknownNodes(nodes []view.NodeLabels) (out []string) {
	hosts := map[string]bool{}
	for id := range e.nodes { //tidy:unordered only collected into a set
		hosts[id.Host] = true
	}
	for _, n := range nodes {
		if len(out) == maxUnknown {
			return append(out, "…")
		}
		if e.nodes[n.Node] == nil && (n.Node.Port != 0 || !hosts[n.Node.Host]) {
			out = append(out, clip(n.Node.String(), MaxHostName))
		}
	}
	return out
}

// giveLabels fills in change.given for nodes that are given labels.
//
// compat: with below, a label for a host also replaces what was given to its nodes,
// unless the host has that label already.
func (e *Engine) giveLabels(change *labelChange, nodes []view.NodeLabels, below bool) {
	at := map[yarn.NodeID]int{}
	give := func(id yarn.NodeID, label string) {
		i, ok := at[id]
		if !ok {
			i = len(change.given)
			at[id] = i
			change.given = append(change.given, labelling{node: id})
		}
		change.given[i].label = label
	}
	for _, n := range nodes {
		label := ""
		if len(n.Labels) > 0 {
			label = n.Labels[0]
		}
		give(n.Node, label)
		if n.Node.Port == 0 && below && label != e.labels.given[n.Node] {
			for _, port := range e.labels.ports(n.Node.Host) {
				give(yarn.NodeID{Host: n.Node.Host, Port: port}, label)
			}
		}
	}
	for i := range change.given {
		x := &change.given[i]
		host := yarn.NodeID{Host: x.node.Host}
		of := e.labels.given[host]
		if j, ok := at[host]; ok {
			of = change.given[j].label
		}
		x.nothing = x.label == "" && (x.node.Port == 0 || of == "")
	}
}

// record is everything that has to be stored for the change. Labels that nodes give
// themselves are not part of it: nodes send them again.
func (l *labels) record(change *labelChange) state.Labels {
	out := state.Labels{Known: make([]state.NodeLabel, 0, len(change.known))}
	for _, x := range change.known {
		out.Known = append(out.Known, state.NodeLabel{Name: x.Name, Exclusive: x.Exclusive})
	}
	if l.byNodes {
		return out
	}
	out.Nodes = make([]state.LabelledNode, len(change.nodes))
	for i, x := range change.nodes {
		out.Nodes[i] = state.LabelledNode{Node: x.Node, Label: x.Label}
	}
	return out
}

// prepare fills in change.nodes: it merges the change, which is usually small, into
// the sorted list of all hosts and nodes with labels, which may be very long.
func (l *labels) prepare(change *labelChange) {
	if l.byNodes {
		return
	}
	now := l.view().Nodes
	changes := slices.Clone(change.given)
	slices.SortFunc(changes, func(a, b labelling) int { return a.node.Compare(b.node) })
	change.nodes = make([]view.LabelledNode, 0, len(now)+len(changes))
	for _, x := range changes {
		at, had := slices.BinarySearchFunc(now, x.node, func(n view.LabelledNode, id yarn.NodeID) int { return n.Node.Compare(id) })
		change.nodes = append(change.nodes, now[:at]...)
		if now = now[at:]; had {
			now = now[1:]
		}
		if !x.nothing {
			change.nodes = append(change.nodes, view.LabelledNode{Node: x.node, Label: x.label})
		}
	}
	change.nodes = append(change.nodes, now...)
}

// labelsStored carries a change out once its record is stored, or refuses it if the
// record can never be stored.
func (e *Engine) labelsStored(err error) {
	change := e.labels.changed
	e.labels.changed = nil
	if err != nil {
		e.fail(change.ticket, refuse(NotStored, "Cannot store the change of node labels: %v", err))
		e.nextLabels()
		return
	}
	moved := e.applyLabels(change)
	e.labels.changed = change // until all nodes have moved
	e.begin(func(budget int) (used int, done bool) {
		e.sched.Together(func() {
			for ; len(moved) > 0 && used < budget; moved = moved[1:] {
				if n := moved[0]; e.nodes[n.id] == n && n.label != e.labels.of(n.id) {
					used += workOfNode + n.held
					e.relabel(n, e.labels.of(n.id))
				}
			}
		})
		if len(moved) > 0 {
			return used, false
		}
		e.labels.changed = nil
		e.reply(change.ticket, nil)
		e.nextLabels()
		return used, true
	})
}

// nextLabels goes on with the changes that wait.
func (e *Engine) nextLabels() {
	for e.labels.changed == nil && len(e.labels.waiting) > 0 {
		next := e.labels.waiting[0]
		e.labels.waiting = e.labels.waiting[1:]
		e.changeLabels(next)
	}
}

// applyLabels puts a change into force, and returns the nodes that it moves to another partition.
func (e *Engine) applyLabels(change *labelChange) []*node {
	l := &e.labels
	l.seen = nil
	hosts, nodes := map[string]bool{}, map[yarn.NodeID]bool{}
	for _, x := range change.given {
		l.put(x)
		if x.node.Port == 0 {
			hosts[x.node.Host] = true
		} else {
			nodes[x.node] = true
		}
	}
	l.known = change.known
	if !l.byNodes {
		l.seen = l.picture(change.nodes)
	}
	e.meetLabels()
	if l.byNodes { // a node may have given itself a label while its removal was being stored
		for id, label := range l.given { //tidy:unordered each on its own
			if _, ok := l.find(label); !ok {
				l.put(labelling{node: id, nothing: true})
				nodes[id] = true
			}
		}
	}
	var moved []*node
	for id, n := range e.nodes { //tidy:unordered sorted below
		if (nodes[id] || hosts[id.Host]) && n.label != l.of(id) {
			moved = append(moved, n)
		}
	}
	slices.SortFunc(moved, func(a, b *node) int { return a.id.Compare(b.id) })
	return moved
}

// meetLabels passes the known labels to the scheduler.
func (e *Engine) meetLabels() {
	if e.labels.met == nil {
		e.labels.met = map[string]bool{}
	}
	for _, x := range e.labels.known {
		e.labels.met[x.Name] = true
	}
	e.sched.SetLabels(e.labels.known)
	e.infos = nil
	e.sweepDue = true
}

// nameLabels takes over the labels that a node gives itself, if the configuration has
// nodes do so; nil changes nothing. problem is why they were refused.
func (e *Engine) nameLabels(id yarn.NodeID, said *[]string) (accepted bool, problem string) {
	if said == nil || !e.set.Labels || !e.set.LabelsByNodes {
		return false, ""
	}
	refusal := refuse(Failed, "Cannot label %s: a node without a port cannot be told from its host", id)
	var change *labelChange
	if id.Port != 0 {
		change, refusal = e.planReplace(ReplaceLabels{Nodes: []view.NodeLabels{{Node: id, Labels: *said}}})
	}
	if refusal != nil {
		return false, fmt.Sprintf("Node Labels {%s} reported from NM with ID %s was rejected from RM with exception message as : %s",
			clip(strings.Join(*said, ","), 2*yarn.MaxLabelName), id, refusal.Text)
	}
	for _, x := range change.given {
		if label, had := e.labels.given[id]; label != x.label || had == x.nothing {
			e.labels.put(x)
			e.labels.seen = nil
		}
	}
	return true, ""
}

// relabel moves the node to another partition.
func (e *Engine) relabel(n *node, label string) {
	n.label = label
	e.touchNode(n)
	e.redraw(n)
	if n.ref == scheduler.NoNode {
		return
	}
	e.infos = nil
	for _, ended := range e.sched.SetNodeLabel(n.ref, label) {
		e.followEnd(ended, yarn.ExitAborted, "The node has moved to another partition")
	}
	e.sweepDue = true
}

// recoverLabels brings labels back as they were stored before the restart. A node's
// label that is not known is left out.
func (e *Engine) recoverLabels(c Recover) {
	if !e.set.Labels {
		return
	}
	l := &e.labels
	for _, r := range c.Labels.Known {
		l.known = append(l.known, scheduler.Label{Name: r.Name, Exclusive: r.Exclusive})
	}
	slices.SortFunc(l.known, func(a, b scheduler.Label) int { return cmp.Compare(a.Name, b.Name) })
	for _, r := range c.Labels.Nodes {
		if _, ok := l.find(r.Label); !l.byNodes && (ok || r.Label == "") {
			l.put(labelling{node: r.Node, label: r.Label})
		}
	}
	l.seen = nil
	if len(l.known) > 0 {
		e.meetLabels()
	}
}
