package sim

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// node models a NodeManager: it sends heartbeats, keeps containers running for a
// while, and reports how they ended until it is told to forget them.
type node struct {
	caller
	id         yarn.NodeID
	registered bool
	responseID int32
	silent     int // steps for which it says nothing
	sick       int // steps for which it is unhealthy
	total      yarn.Resource
	containers map[yarn.ContainerID]*process
	grown      []engine.Increased // since the last call
	resend     *engine.Heartbeat  // the last call, whose answer was lost
	cut        []bool             // from which daemons its network is cut off
}

// process is a container as its node knows it.
type process struct {
	id       yarn.ContainerID
	left     int // steps until it ends by itself; masters end otherwise
	master   bool
	complete bool
	exit     int32
	overdue  int // calls of its node since its application has ended

	// As the node reports it when it registers.
	grant     engine.Grant
	execution yarn.ExecutionType
}

func newNode(c *Cluster, i int) *node {
	n := &node{caller: caller{c: c}, id: yarn.NodeID{Host: fmt.Sprintf("h%d", i/2), Port: int32(1 + i%2)}, total: nodeSize, containers: map[yarn.ContainerID]*process{}, cut: make([]bool, c.opt.Daemons)}
	n.caller.node = n
	return n
}

// step lets the node's time pass. calls tells that it is time for a call.
func (n *node) step(calls bool) {
	if n.silent > 0 {
		n.silent--
		return
	}
	if calls {
		n.trouble()
	}
	for _, p := range n.containers {
		if !p.master && !p.complete {
			if p.left--; p.left <= 0 {
				p.complete = true
			}
		}
	}
	switch {
	case n.busy || !calls:
	case !n.registered:
		n.register()
	default:
		n.beat()
	}
}

func (n *node) trouble() {
	if !n.c.chance(nodeTrouble) {
		return
	}
	switch n.c.rng.IntN(5) {
	case 0:
		n.silent = n.c.rng.IntN(2 * nodeExpiry / step)
	case 1: // restarts without its containers
		clear(n.containers)
		n.registered, n.resend = false, nil
	case 2:
		n.sick = n.c.rng.IntN(50)
	case 3: // restarts with them
		n.registered, n.resend = false, nil
	case 4: // unregisters and comes back
		clear(n.containers)
		n.registered, n.resend = false, nil
		n.ask(func(t engine.Ticket) engine.Command { return engine.UnregisterNode{Ticket: t, Node: n.id} }, nil)
	}
}

func (n *node) health() engine.Health {
	if n.sick > 0 {
		n.sick--
		return engine.Health{Report: "sick"}
	}
	return engine.Health{Healthy: true}
}

// sorted are the containers by id.
func (n *node) sorted() []*process {
	var out []*process
	for _, p := range n.containers {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *process) int { return a.id.Compare(b.id) })
	return out
}

func (n *node) statuses() []engine.ContainerStatus {
	var out []engine.ContainerStatus
	for _, p := range n.sorted() {
		out = append(out, engine.ContainerStatus{ID: p.id, Complete: p.complete, ExitStatus: p.exit, Execution: p.execution})
	}
	return out
}

// queue is what the node says of its opportunistic containers: half of them wait.
func (n *node) queue() engine.Opportunistic {
	lent := int32(0)
	for _, p := range n.containers {
		if p.execution == yarn.Opportunistic && !p.complete {
			lent++
		}
	}
	return engine.Opportunistic{Reported: true, Running: lent - lent/2, Queued: lent / 2, Waiting: lent / 2, WaitMillis: 10 * lent, Capacity: 4}
}

func (n *node) register() {
	cmd := engine.RegisterNode{Node: n.id, HTTPPort: 8042, Rack: n.rack(), Total: n.total, Health: n.health()}
	n.grown = nil // the sizes come with the containers
	if n.c.out[n.id] {
		cmd.Excluded = "the lists exclude it"
	}
	for _, p := range n.sorted() {
		g := &p.grant
		cmd.Containers = append(cmd.Containers, engine.RecoveredContainer{Resource: g.Resource, Priority: g.Priority, Version: g.Version, Label: g.Label,
			AllocationRequestID: g.AllocationRequestID, CreatedAt: g.CreatedAt,
			ContainerStatus: engine.ContainerStatus{ID: p.id, Complete: p.complete, ExitStatus: p.exit, Execution: p.execution}})
		if id := p.id.Attempt.Application; !slices.Contains(cmd.Applications, id) {
			cmd.Applications = append(cmd.Applications, id)
		}
	}
	n.ask(func(t engine.Ticket) engine.Command {
		again := cmd
		again.Ticket = t
		return again
	}, func(v any, _ *engine.Error) {
		n.registered, n.responseID, n.resend = v.(engine.RegisterNodeReply).Action == engine.NodeNormal, 0, nil
		for _, p := range n.containers {
			p.overdue = 0
		}
	})
}

func (n *node) beat() {
	call := n.resend
	if call == nil {
		call = &engine.Heartbeat{Node: n.id, ResponseID: n.responseID, Containers: n.statuses(), Health: n.health(), Opportunistic: n.queue(), Increased: n.grown}
		n.grown = nil
	}
	n.resend = nil
	n.call(func(t engine.Ticket) engine.Command {
		again := *call
		again.Ticket = t
		return &again
	}, func(v any, _ *engine.Error) { n.answered(call, v.(*engine.HeartbeatReply)) }, func() { n.resend = call })
}

func (n *node) answered(call *engine.Heartbeat, r *engine.HeartbeatReply) {
	if !n.registered { // it has restarted since
		return
	}
	if r.Action != engine.NodeNormal {
		n.registered = false
		if r.Action == engine.NodeShutdown {
			clear(n.containers)
		}
		return
	}
	if r.Total != nil {
		n.total = *r.Total
	}
	for _, g := range r.Updates {
		n.resize(g.Grant)
	}
	for _, id := range r.CleanupContainers {
		n.kill(id)
	}
	for _, app := range r.CleanupApplications {
		for _, p := range n.sorted() {
			if p.id.Attempt.Application == app {
				n.kill(p.id)
			}
		}
	}
	for _, id := range r.RemoveContainers {
		if p := n.containers[id]; p != nil && p.complete {
			n.forgets(p)
			delete(n.containers, id)
		}
	}
	n.responseID = r.ResponseID
	if call.Health.Healthy { // otherwise nobody looks at its containers
		n.leftovers()
	}
}

// leftovers sees that nothing of an application goes on for long that has ended.
func (n *node) leftovers() {
	for _, p := range n.sorted() {
		a := n.c.apps[p.id.Attempt.Application]
		if p.complete || !a.ended {
			continue
		}
		n.c.Done[fmt.Sprintf("outlasts its application by %d calls", p.overdue+1)]++
		if p.overdue++; p.overdue > mostOverdue {
			n.c.fail("node %s has called %d times since %s has ended, of which it still runs %s", n.id, p.overdue, a.id, p.id)
		}
	}
}

// mostOverdue is how many answered calls of its node a container may outlast its application.
const mostOverdue = 2

// start runs a container, as a master or the launcher asks.
func (n *node) start(g engine.Grant, steps int, master bool) bool {
	if n.silent > 0 || !n.registered {
		return false
	}
	p := &process{id: g.ID, left: steps, master: master, grant: g, execution: g.Execution}
	if !master && n.c.chance(oddReport) {
		p.execution = yarn.Opportunistic
	}
	if !master && n.c.chance(oddReport) {
		p.grant.Resource = []yarn.Resource{{}, yarn.NewResource(0, 1), yarn.NewResource(1024, 0)}[n.c.rng.IntN(3)]
	}
	n.containers[g.ID] = p
	return true
}

// oddReport is the percentage of containers that a node reports otherwise than they were
// granted, when another ResourceManager takes them over.
const oddReport = 10

// resize gives a container the size that its grant has now.
func (n *node) resize(g engine.Grant) {
	if p := n.containers[g.ID]; p != nil && n.registered && n.silent == 0 && g.Version > p.grant.Version {
		if !g.Resource.FitsIn(p.grant.Resource) {
			n.grown = append(n.grown, engine.Increased{Container: g.ID, Resource: g.Resource})
		}
		p.grant, p.execution = g, g.Execution
	}
}

func (n *node) rack() string { return "/r" + n.id.Host[len(n.id.Host)-1:] }

func (n *node) kill(id yarn.ContainerID) {
	if p := n.containers[id]; p != nil && !p.complete {
		p.complete, p.exit = true, 143
	}
}

// end lets a container's process end with a code.
func (n *node) end(id yarn.ContainerID, exit int32) {
	if p := n.containers[id]; p != nil && !p.complete {
		p.complete, p.exit = true, exit
	}
}
