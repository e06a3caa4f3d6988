package sim

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// clients kill and move applications, and change their priorities.
func (c *Cluster) clients() {
	if len(c.ids) == 0 {
		return
	}
	id := c.ids[c.rng.IntN(len(c.ids))]
	if c.chance(clientKills) {
		c.user.ask(func(t engine.Ticket) engine.Command {
			return engine.Kill{Ticket: t, Application: id, Diagnostics: "killed by the simulation"}
		}, c.count("killed"))
	}
	if c.chance(clientMoves) {
		to := queueNames[c.rng.IntN(len(queueNames))]
		c.user.ask(func(t engine.Ticket) engine.Command { return engine.Move{Ticket: t, Application: id, Queue: to} }, c.count("moved"))
	}
	if c.chance(clientMoves) {
		priority := c.rng.Int32N(6)
		c.user.ask(func(t engine.Ticket) engine.Command {
			return engine.SetPriority{Ticket: t, Application: id, Priority: priority}
		}, c.count("given a priority"))
	}
	if c.chance(newLifetimes) {
		at := c.now.Wall + c.rng.Int64N(600_000)
		c.user.ask(func(t engine.Ticket) engine.Command {
			return engine.SetLifetime{Ticket: t, Application: id, ExpireAt: at}
		}, c.count("given a lifetime"))
	}
	if c.chance(newTokens) {
		c.newToken()
	}
	if len(c.tokens) > 0 && c.chance(newTokens) {
		c.cancelToken(c.tokens[c.rng.IntN(len(c.tokens))])
	}
	if c.chance(failures) {
		c.failAttempt(id)
	}
	if c.opt.Reserving && c.chance(newReservations) {
		c.changeReservations()
	}
}

// newToken gives somebody a delegation token, as the daemon does.
func (c *Cluster) newToken() {
	if c.owner == nil {
		return
	}
	c.owner.token++
	n := c.owner.token
	c.owner.d.deliver(func(t engine.Ticket) engine.Command {
		return engine.Remember{Ticket: t, Ops: []state.Op{state.Put(state.DelegationToken{Sequence: n, RenewBy: c.now.Wall}), state.Put(state.DelegationSequence{Last: n})}}
	}, func(_ any, err *engine.Error) {
		if err != nil {
			return
		}
		if slices.Contains(c.tokens, n) {
			c.fail("delegation token %d was given away twice", n)
		}
		c.tokens = append(c.tokens, n)
	}, nil)
}

// cancelToken takes a delegation token away from everybody.
func (c *Cluster) cancelToken(n int32) {
	if c.owner == nil {
		return
	}
	c.owner.d.deliver(func(t engine.Ticket) engine.Command {
		return engine.Remember{Ticket: t, Ops: []state.Op{state.Remove(state.DelegationToken{Sequence: n})}}
	}, func(_ any, err *engine.Error) {
		if err == nil {
			c.Done["tokens cancelled"]++
			c.cancelled[n] = true
		}
	}, nil)
	c.tokens = slices.DeleteFunc(c.tokens, func(x int32) bool { return x == n })
}

// failAttempt has an administrator end the present attempt of an application.
func (c *Cluster) failAttempt(id yarn.ApplicationID) {
	for _, x := range slices.Backward(c.order) {
		if x.Application == id {
			c.user.ask(func(t engine.Ticket) engine.Command { return engine.FailAttempt{Ticket: t, Attempt: x} }, c.count("failed"))
			return
		}
	}
}

// administrators refresh queues, change labels and sizes of nodes, and exclude and drain nodes.
func (c *Cluster) administrators() {
	n := c.nodes[c.rng.IntN(len(c.nodes))]
	if c.owner == nil {
		return
	}
	if ref, ok := c.owner.sched.FindNode(n.id); ok && c.owner.sched.NodeUsage(ref).Reserved != scheduler.NoContainer {
		c.Done["reserved"]++
	}
	if c.chance(refreshes) && len(c.opt.Others) > 0 {
		next := c.opt.Others[c.rng.IntN(len(c.opt.Others))]
		if c.rng.IntN(2) == 0 {
			next = c.opt.Queues
		}
		c.refresh(next)
	}
	if c.chance(newLabels) {
		c.label(n)
	}
	if c.chance(lessOrMore) {
		total := []yarn.Resource{yarn.NewResource(3072, 4), yarn.NewResource(12288, 12), nodeSize}[c.rng.IntN(3)]
		c.setNodeTotal(n, total, []int64{-1, 0, 1_000, 20_000}[c.rng.IntN(4)])
	}
	if c.chance(decommission) {
		c.out[n.id] = !c.out[n.id]
		c.exclude()
	}
	if c.chance(orders) {
		c.orderAway(n)
	}
}

func (c *Cluster) refresh(queues *Queues) {
	cfg, err := c.configuration(queues)
	if err == nil {
		c.proposed[cfg] = queues
	}
	c.user.ask(func(t engine.Ticket) engine.Command {
		if err != nil {
			return engine.RefreshQueues{Ticket: t, Problem: err.Error()}
		}
		return engine.RefreshQueues{Ticket: t, Config: cfg}
	}, c.count("refreshed"))
}

func (c *Cluster) exclude() {
	timeout := []int{3, 120}[c.rng.IntN(2)] // the shorter ones pass while there are containers
	c.refreshNodes(engine.Decommission(c.rng.IntN(3)), int32(c.rng.IntN(timeout)-1))
}

// refreshNodes hands over whom the lists exclude by now.
func (c *Cluster) refreshNodes(how engine.Decommission, timeout int32) {
	excluded := map[yarn.NodeID]engine.Exclusion{}
	for id, out := range c.out { //tidy:unordered a copy
		if out {
			excluded[id] = engine.Exclusion{Timeout: timeout}
		}
	}
	c.user.ask(func(t engine.Ticket) engine.Command {
		return engine.RefreshNodes{Ticket: t, How: how, Excluded: excluded}
	}, c.count("excluded"))
}

// orderAway has a node drain until it is taken back, or takes it back.
func (c *Cluster) orderAway(n *node) {
	name, begin, within := n.id, c.rng.IntN(3) > 0, int64(c.rng.IntN([]int{3_000, 120_000}[c.rng.IntN(2)]))
	if c.rng.IntN(2) == 0 {
		name.Port = 0
	}
	c.user.ask(func(t engine.Ticket) engine.Command {
		if !begin {
			return engine.UndrainNodes{Ticket: t, Nodes: []yarn.NodeID{name}}
		}
		return engine.DrainNodes{Ticket: t, Nodes: []yarn.NodeID{name}, Deadline: c.now.Wall + within, User: "root", Source: "cli"}
	}, c.count(map[bool]string{true: "ordered", false: "order taken back"}[begin]))
	c.ordered[name] = true
}

// undrain takes all orders back.
func (c *Cluster) undrain() {
	for _, name := range slices.SortedFunc(maps.Keys(c.ordered), yarn.NodeID.Compare) {
		c.user.ask(func(t engine.Ticket) engine.Command {
			return engine.UndrainNodes{Ticket: t, Nodes: []yarn.NodeID{name}}
		}, func(_ any, err *engine.Error) {
			if err == nil {
				delete(c.ordered, name)
			}
		})
	}
}

// setNodeTotal changes what a node offers; what it has no room for then ends after the timeout.
func (c *Cluster) setNodeTotal(n *node, total yarn.Resource, timeout int64) {
	c.user.ask(func(t engine.Ticket) engine.Command {
		return engine.SetNodeResource{Ticket: t, Node: n.id, Total: total, Overcommit: engine.NewOvercommit(timeout)}
	}, c.count("resized"))
}

// labelNames are the labels that there may be. No queue speaks of the last one, which can be removed.
var labelNames = []string{"x", "y", "z"}

func (c *Cluster) label(n *node) {
	name := labelNames[c.rng.IntN(len(labelNames))]
	exclusive, kind, whole, none := c.rng.IntN(2) == 0, c.rng.IntN(6), c.rng.IntN(3) == 0, c.rng.IntN(3) == 0
	c.user.ask(func(t engine.Ticket) engine.Command {
		switch kind {
		case 0:
			return engine.AddLabels{Ticket: t, Labels: []scheduler.Label{{Name: name, Exclusive: exclusive}}}
		case 1:
			return engine.RemoveLabels{Ticket: t, Names: []string{name}}
		}
		who := view.NodeLabels{Node: n.id, Labels: []string{name}}
		if whole {
			who.Node.Port = 0
		}
		if none {
			who.Labels = nil
		}
		return engine.ReplaceLabels{Ticket: t, Nodes: []view.NodeLabels{who}}
	}, c.count("labelled"))
}

// count takes note of an answer.
func (c *Cluster) count(what string) func(any, *engine.Error) {
	return func(_ any, err *engine.Error) {
		if err != nil {
			what = "not " + what
		}
		c.Done[what]++
	}
}

// allWell undoes what would keep applications from ever ending.
func (c *Cluster) allWell() {
	clear(c.out)
	c.refreshNodes(engine.AtOnce, 0)
	c.undrain()
	c.refresh(c.opt.Queues)
	for _, n := range c.nodes {
		n.total, n.silent, n.sick = nodeSize, 0, 0
		c.setNodeTotal(n, nodeSize, -1)
		for port := range int32(3) { // its host, itself and its neighbour
			c.user.ask(func(t engine.Ticket) engine.Command {
				return engine.ReplaceLabels{Ticket: t, Nodes: []view.NodeLabels{{Node: yarn.NodeID{Host: n.id.Host, Port: port}}}}
			}, nil)
		}
	}
}

// mastersFill tells whether masters have all of the cluster, so that none gets what it waits for: queues that are empty let more of them start than
// fit beside their work, here as with Apache, when all start at once.
func (c *Cluster) mastersFill() bool {
	for _, n := range c.nodes {
		left := n.total
		for _, p := range n.containers { //tidy:unordered a sum
			if !p.master || p.complete {
				return false
			}
			for t := range left {
				left[t] -= p.grant.Resource[t]
			}
		}
		if left[yarn.Memory] >= least[yarn.Memory] && left[yarn.VCores] >= least[yarn.VCores] {
			return false
		}
	}
	return true
}

// killOne has a user give the oldest application up.
func (c *Cluster) killOne() {
	for _, id := range c.ids {
		if c.alive(c.apps[id]) {
			c.user.ask(func(t engine.Ticket) engine.Command {
				return engine.Kill{Ticket: t, Application: id, Diagnostics: "gives way to others"}
			}, c.count("killed because masters had the cluster"))
			return
		}
	}
}

// wish is the key of something that a master asks for besides its containers.
type wish struct {
	priority int32
	request  int64
}

// wish adds to a call what else a master may ask for: containers of any size, anywhere,
// with labels, changes of those that it has, and hosts and racks to avoid. When it is quiet
// the master gives all of it up.
func (m *master) wish(call *engine.Allocate) {
	c := m.c
	if c.quiet {
		if !m.calmed {
			m.calmed, m.asked = true, false
			call.BlacklistRemove = []string{"h0", "/r1"}
			for _, w := range slices.SortedFunc(maps.Keys(m.wishes), func(a, b wish) int {
				return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.request, b.request))
			}) {
				call.Asks = append(call.Asks, yarn.Ask{Priority: w.priority, AllocationRequestID: w.request, Where: yarn.AnyHost, Capability: yarn.NewResource(512, 1)})
			}
			for _, a := range m.lent {
				a.Count = 0
				call.Asks = append(call.Asks, a)
			}
			m.lent = nil
		}
		return
	}
	if c.chance(newWishes) {
		w := wish{2 + c.rng.Int32N(3), c.rng.Int64N(3) - 1}
		m.wishes[w] = true
		a := yarn.Ask{Priority: w.priority, AllocationRequestID: w.request, Where: yarn.AnyHost, Count: c.rng.Int32N(4), RelaxLocality: c.rng.IntN(3) > 0, Capability: m.size()}
		if c.rng.IntN(4) == 0 {
			a.Label, a.LabelSet = labelNames[c.rng.IntN(len(labelNames))], true
		}
		if c.rng.IntN(3) == 0 {
			a.ExecutionType, a.EnforceExecution = yarn.Opportunistic, true
			m.lent = append(m.lent, a)
		}
		call.Asks = append(call.Asks, a)
		if c.rng.IntN(2) == 0 {
			n := c.nodes[c.rng.IntN(len(c.nodes))]
			for _, where := range []string{n.id.Host, n.rack()} {
				near := a
				near.Where, near.Label, near.LabelSet, near.RelaxLocality = where, "", false, c.rng.IntN(3) > 0
				call.Asks = append(call.Asks, near)
			}
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.open), yarn.ContainerID.Compare) {
		if c.chance(newSizes) {
			u := yarn.ContainerUpdate{Container: id, Version: m.versions[id], Type: yarn.UpdateType(c.rng.IntN(4)), Capability: m.size()}
			u.ExecutionType = yarn.ExecutionType(c.rng.IntN(2))
			call.Updates = append(call.Updates, u)
		}
	}
	switch c.rng.IntN(40) {
	case 0:
		call.BlacklistAdd = []string{"h0"}
	case 1:
		call.BlacklistAdd = []string{"/r1"}
	case 2:
		call.BlacklistRemove = []string{"h0", "/r1"}
	}
}

func (m *master) size() yarn.Resource {
	return yarn.NewResource([]int64{512, 1024, 2048, 5000, 8192}[m.c.rng.IntN(5)], 1+m.c.rng.Int64N(5))
}
