package engine

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/yarn"
)

// newLoads is nil if there are no opportunistic containers.
func newLoads(set opportunistic.Settings) *opportunistic.Loads {
	if !set.Enabled {
		return nil
	}
	return opportunistic.NewLoads(set)
}

// heardQueue follows what a node says of its queue in a heartbeat. Where nothing new may come nothing opportunistic is placed, either.
func (e *Engine) heardQueue(n *node) {
	o := &n.opportunistic
	switch {
	case n.state != yarn.NodeRunning || n.drain != nil || n.leaving || n.ref == scheduler.NoNode || !o.Reported:
		e.forgetQueue(n)
		return
	case n.load == nil:
		n.load = opportunistic.NewNode(n.id, n.rack, n)
	}
	held, used := e.sched.OpportunisticOn(n.ref)
	e.loads.Heard(n.load, opportunistic.Report{Waiting: o.Waiting, WaitMillis: o.WaitMillis, Capacity: o.Capacity, Total: n.total, Used: used, Held: held}, e.now.Mono)
}

// forgetQueue has nothing opportunistic placed on the node until its next heartbeat.
func (e *Engine) forgetQueue(n *node) {
	if n.load != nil {
		e.loads.Remove(n.load)
		n.load = nil
	}
}

// queueLimit is what nodes are told about their queues.
func (e *Engine) queueLimit() *QueueLimit {
	limit := QueueLimit(e.loads.Limit(e.now.Mono))
	return &limit
}

// splitAsks takes the asks for opportunistic containers out of a call.
func (e *Engine) splitAsks(c *Allocate) (lent []yarn.Ask) {
	if !slices.ContainsFunc(c.Asks, forOpportunistic) {
		return nil
	}
	var rest []yarn.Ask
	for _, a := range c.Asks {
		if forOpportunistic(a) {
			lent = append(lent, a)
		} else {
			rest = append(rest, a)
		}
	}
	c.Asks = rest
	return lent
}

func forOpportunistic(a yarn.Ask) bool { return a.ExecutionType == yarn.Opportunistic }

// maxOpportunistic bounds what one ask may say of one resource type; more is cut to the largest container anyway.
const maxOpportunistic = math.MaxInt32 << 10

// checkOpportunistic says why asks for opportunistic containers are refused.
//
// compat: their sizes are cut to what the cluster allows rather than refused, and their labels have no effect.
func checkOpportunistic(t *attempt, rows []yarn.Ask) *Error {
	if !t.opportunistic.HasRoom(rows) {
		return refuse(InvalidRequest, "Cannot keep %d more asks of %s for opportunistic containers: there are %d rows, and %d are the most; withdraw some, with a count of 0", len(rows), t.id,
			t.opportunistic.Rows(), opportunistic.MaxRows)
	}
	for i := range rows {
		if rows[i].Count < 0 {
			return refuse(InvalidRequest, "Invalid resource request of %s: it asks for %d opportunistic containers", t.id, rows[i].Count)
		}
		for _, amount := range rows[i].Capability {
			if amount < 0 || amount > maxOpportunistic {
				return refuse(InvalidRequest, "Invalid resource request of %s: it asks for opportunistic containers of %s", t.id, rows[i].Capability)
			}
		}
	}
	return nil
}

// placeOpportunistic enters a master's asks for opportunistic containers, and grants what finds a node in the same answer. The others are tried again
// with each of its calls.
func (e *Engine) placeOpportunistic(t *attempt, rows []yarn.Ask, reply *AllocateReply) {
	waited := t.opportunistic.Wanted()
	t.opportunistic.Enter(rows)
	e.loads.Place(&t.opportunistic, e.now.Mono, func(at *opportunistic.Node) bool { return e.suits(t.app, at) }, func(at *opportunistic.Node, w *opportunistic.Want, locality opportunistic.Locality) {
		c := e.lend(t, at.Outer.(*node), w, locality)
		reply.Granted = append(reply.Granted, e.grant(c))
	})
	if t.opportunistic.Wanted() != waited {
		e.touchApp(t.app)
	}
}

// suits tells whether opportunistic containers of the application may be placed on the node.
func (e *Engine) suits(a *application, at *opportunistic.Node) bool {
	n := at.Outer.(*node)
	return n.state == yarn.NodeRunning && n.drain == nil && n.ref != scheduler.NoNode && !e.sched.Avoids(a.ref, n.ref)
}

// lend enters an opportunistic container, which its master fetches at once.
func (e *Engine) lend(t *attempt, n *node, w *opportunistic.Want, locality opportunistic.Locality) *container {
	a := t.app
	ref := e.sched.PlaceOpportunistic(a.ref, n.ref, scheduler.Opportunistic{Resource: w.Size, Priority: w.Priority,
		AllocationRequestID: w.AllocationRequestID, Locality: [...]scheduler.Locality{scheduler.NodeLocal, scheduler.RackLocal, scheduler.OffSwitch}[locality]})
	book := e.sched.Container(ref)
	c := &container{ref: ref, id: book.ID, state: yarn.ContainerAllocated, app: a, attempt: t, node: n, created: e.now.Wall}
	c.lease.container = c
	*at(&e.containers, int(ref)) = c
	e.byID[c.id] = c
	n.held++
	e.lent.Allocated++
	switch locality {
	case opportunistic.NodeLocal:
		e.lent.NodeLocal++
	case opportunistic.RackLocal:
		e.lent.RackLocal++
	default:
		e.lent.OffSwitch++
	}
	e.touchContainers(a)
	e.touchNode(n)
	e.fx.Containers = append(e.fx.Containers, ContainerEvent{Container: c.id, Node: n.id, Queue: c.app.queue, User: c.app.sub.User, Locality: book.Locality, Resource: book.Resource, Priority: book.Priority, Born: true})
	e.acquire(c)
	return c
}

// DemotionPatience is how many milliseconds a master has to tell a node that it has demoted a container. Then the node is told by its heartbeat.
//
// compat: Apache waits for the master alone, which need not come: the room is given away. A master that comes after the node was told is refused by
// NodeManagers of Hadoop, so it has to have time.
const DemotionPatience = 5000

// heardExecution follows what a node says of a container that was demoted.
func (e *Engine) heardExecution(c *container, at yarn.ExecutionType) {
	switch {
	case at == yarn.Opportunistic:
		c.demoted = 0
	case e.now.Mono-c.demoted >= DemotionPatience:
		c.demoted = 0
		c.node.updates.put(UpdatedContainer{Type: yarn.DemoteExecutionType, Grant: e.grant(c)})
	}
}

// countUpdate counts a container that is opportunistic from now on, or not any more.
func (e *Engine) countUpdate(c *container, kind yarn.UpdateType) {
	switch kind {
	case yarn.PromoteExecutionType:
		e.lent.Released++
		c.demoted = 0
	case yarn.DemoteExecutionType:
		e.lent.Allocated++
		if !e.set.AutoUpdate {
			c.demoted = max(e.now.Mono, 1)
		}
	}
}
