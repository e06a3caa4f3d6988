package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// movable tells whether the application's queue and priority may change, or why not.
func movable(a *application, called, what string) *Error {
	if a.state == yarn.AppAccepted || a.state == yarn.AppRunning {
		return nil
	}
	return refuse(Failed, "%s in %s state cannot %s.", called, a.state, what)
}

// move checks, stores and then does it; a queue that has closed meanwhile
// makes it take the stored change back.
func (e *Engine) move(c Move) {
	a := e.apps[c.Application]
	if a == nil {
		e.fail(c.Ticket, unknownApp(c.Application))
		return
	}
	if err := movable(a, "App", "be moved"); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	target, _ := e.sched.Resolve(c.Queue)
	if why := e.sched.MaySubmit(target, c.User, c.RealUser, c.Groups); !why.OK() {
		e.fail(c.Ticket, refuse(AccessDenied, "User %s may not submit to queue %s, to which %s was to be moved", c.User, c.Queue, a.sub.ID))
		return
	}
	if why := e.sched.PrepareMove(a.ref, c.Queue); !why.OK() {
		e.fail(c.Ticket, e.cannotMove(a, c.Queue, why))
		return
	}
	seen, planQueue := e.withinPlan(target)
	e.saveChange(a, c.Ticket, func(x *choices) { x.queue, x.planQueue = seen, planQueue }, func() (any, *Error) { return nil, e.moved(a, c.Queue, planQueue) })
}

// withinPlan is where an application is that was moved to the path: the queue as everybody sees it, and if that is a plan the queue below it.
func (e *Engine) withinPlan(path string) (seen, planQueue string) {
	for _, p := range e.sched.Plans(nil) {
		switch p.Path {
		case path:
			return path, queue.PlanDefaultPath(path)
		case queue.ParentPath(path):
			return p.Path, path
		}
	}
	return path, ""
}

func (e *Engine) moved(a *application, queue, planQueue string) *Error {
	if a.ref == scheduler.NoApp {
		return nil // it has ended; the queue is history
	}
	if why := e.sched.MoveApplication(a.ref, queue); !why.OK() {
		e.takeBack(a)
		return e.cannotMove(a, queue, why)
	}
	a.queue, a.planQueue = e.sched.QueueOf(a.ref), planQueue
	e.sweepDue = true
	return nil
}

func (e *Engine) cannotMove(a *application, queue string, why yarn.Reason) *Error {
	if text := full(a, why); text != "" {
		return refuse(Failed, "%s", text)
	}
	if text := movedInFair(a, queue, why); e.set.Fair && text != "" {
		return refuse(Failed, "%s", text)
	}
	if why.Code == fit.MovesUnsupported {
		return refuse(Failed, "FifoScheduler does not support pre-validation of moving apps between queues")
	}
	return refuse(Failed, "Cannot move %s to queue %s: %s", a.sub.ID, queue, describe(why))
}

// movedInFair is Apache's text for a move that its FairScheduler refuses; empty where it has none.
func movedInFair(a *application, queue string, why yarn.Reason) string {
	violates := func(what string) string {
		id := ""
		if t := a.current(); t != nil {
			id = t.id.String()
		}
		return fmt.Sprintf("Moving app attempt %s to queue %s would violate queue %s constraints on queue %s", id, queue, what, why.Subject) + numbers(why)
	}
	switch why.Code {
	case fit.UnknownQueue, fit.NotALeaf:
		return "Target queue " + queue + " not found or is not a leaf queue."
	case fit.RunningApps:
		return violates("maxRunningApps")
	case fit.QueueLimit, fit.ParentLimit:
		return violates("maxShare")
	case fit.UserRunningApps:
		return fmt.Sprintf("%s would not be runnable in queue %s: user %s may run %d at a time, and %d run", a.sub.ID, queue, why.Subject, why.Max, why.Count)
	}
	return ""
}

func (e *Engine) setPriority(c SetPriority) {
	a := e.apps[c.Application]
	if a == nil {
		e.fail(c.Ticket, unknownApp(c.Application))
		return
	}
	if a.ending() || a.state == yarn.AppKilling {
		e.reply(c.Ticket, PriorityReply{a.priority}) // it is too late to matter
		return
	}
	if err := movable(a, "Application", "change its priority"); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	if e.set.Fair {
		e.fail(c.Ticket, refuse(Failed, "Update application priority is not supported in Fair Scheduler"))
		return
	}
	sa := schedulerApp(a.sub)
	sa.Priority, sa.PrioritySet = c.Priority, true
	priority, why := e.sched.CheckPriority(&sa, a.queue)
	if !why.OK() {
		e.fail(c.Ticket, refuse(AccessDenied, "Cannot set the priority of %s to %d: %s", a.sub.ID, c.Priority, describe(why)))
		return
	}
	e.saveChange(a, c.Ticket, func(x *choices) { x.priority = priority }, func() (any, *Error) {
		a.priority = priority
		if a.ref != scheduler.NoApp {
			e.sched.SetPriority(a.ref, priority)
			e.sweepDue = true
		}
		return PriorityReply{priority}, nil
	})
}

func (e *Engine) setLifetime(c SetLifetime) {
	a := e.apps[c.Application]
	if a == nil {
		e.fail(c.Ticket, unknownApp(c.Application))
		return
	}
	if a.ending() || a.state == yarn.AppKilling {
		e.reply(c.Ticket, LifetimeReply{c.ExpireAt}) // compat: what was asked for, though it is too late
		return
	}
	if err := movable(a, "Application", "change its lifetime"); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	if c.ExpireAt < e.now.Wall {
		e.fail(c.Ticket, refuse(Failed, "Expire time is less than current time for %s: the lifetime must end in the future", a.sub.ID))
		return
	}
	expire := c.ExpireAt
	if most := e.sched.Lifetime(a.queue, math.MaxInt64); most < math.MaxInt64/2000 {
		expire = min(expire, a.submitTime+most*1000)
	}
	e.saveChange(a, c.Ticket, func(x *choices) { x.expireAt = expire }, func() (any, *Error) {
		if a.expireAt = expire; !a.ending() {
			e.setDeadline(a, expire)
		}
		return LifetimeReply{expire}, nil
	})
}

func (e *Engine) refreshQueues(c RefreshQueues) {
	if c.DryRun && c.Config != nil {
		if err := e.sched.Validate(c.Config); err != nil {
			e.fail(c.Ticket, refuse(InvalidConfig, "Failed to re-init queues : %v", err))
			return
		}
		e.reply(c.Ticket, nil)
		return
	}
	if c.Config == nil {
		_ = e.sched.Refresh(nil, c.Prepared) // that cannot be refused
		e.fail(c.Ticket, refuse(InvalidConfig, "Failed to re-init queues : %s", c.Problem))
		return
	}
	e.infos = nil
	if err := e.sched.Refresh(c.Config, c.Prepared); err != nil {
		e.fail(c.Ticket, refuse(InvalidConfig, "Failed to re-init queues : %v", err))
		return
	}
	for _, a := range e.order {
		if a.ref != scheduler.NoApp {
			if path := e.sched.QueueOf(a.ref); path != a.queue {
				a.enters(path)
			}
		}
	}
	e.set.Reservations.Max = c.Config.Cluster.MaxAllocation
	e.sweepDue, e.fx.Requeued = true, true
	e.reply(c.Ticket, nil)
}

// deleteQueue removes a queue, or refuses with the reason for which it stays.
func (e *Engine) deleteQueue(c DeleteQueue) {
	path, _ := e.sched.Resolve(c.Queue)
	switch why := e.sched.DeleteQueue(c.Queue); {
	case why.Code == fit.UnknownQueue:
		e.fail(c.Ticket, refuse(UnknownQueue, "there is no queue %s", c.Queue))
	case !why.OK():
		e.fail(c.Ticket, refuse(Failed, "the queue %s is not deleted: %s", cmp.Or(path, c.Queue), view.Kept(why)))
	default:
		e.infos = nil
		e.sweepDue, e.fx.Requeued = true, true
		e.reply(c.Ticket, path)
	}
}

// refreshNodes applies the lists to every node, in slices, and answers when that is done and stored.
func (e *Engine) refreshNodes(c RefreshNodes) {
	nodes := e.sortedNodes()
	var refusal *Error
	e.begin(func(budget int) (used int, done bool) {
		e.sched.Together(func() {
			for ; len(nodes) > 0 && used < budget; nodes = nodes[1:] {
				if n := nodes[0]; e.nodes[n.id] == n {
					used += e.admit(n, c, &refusal)
				}
			}
		})
		if done = len(nodes) == 0; done {
			e.after(func() {
				e.showHosts(c.Unregistered, unregisteredPort, yarn.NodeLost, "The include list names it, and no node of it has registered")
				e.whenStored(func() {
					e.whenStored(func() { // a drain that waited for an order (requestDrain) is stored only now
						if refusal != nil {
							e.fail(c.Ticket, refusal)
							return
						}
						e.reply(c.Ticket, nil)
					})
				})
			})
		}
		return used, done
	})
}

// admit applies the lists to one node. work is what that cost of a slice; refusal becomes why a drain cannot be stored.
func (e *Engine) admit(n *node, c RefreshNodes, refusal **Error) (work int) {
	x, excluded := c.Excluded[n.id]
	if c.How != Forced {
		n.notAdmitted = excluded
		e.setUntracked(n, x.Untracked || !excluded && c.Unnamed)
	}
	active := n.state.Usable() || n.state == yarn.NodeUnhealthy
	ordered := n.drain != nil && n.drain.ordered
	switch {
	case !active || !n.notAdmitted && n.drain == nil && n.pendingDrain == nil:
		return 0
	case ordered && (!n.notAdmitted && c.How == AtOnce || c.How == Graceful):
		return 1 // the order holds, whatever the lists say
	case !n.notAdmitted && c.How != Forced:
		work = n.held
		e.recommission(n)
	case c.How == Graceful:
		e.requestDrain(n, x, c.User, refusal)
	case c.How == AtOnce || n.drain != nil || n.pendingDrain != nil:
		to := yarn.NodeDecommissioned
		if n.untracked {
			to = yarn.NodeShutdown
		}
		why := "The include and exclude lists no longer admit it"
		if c.How == Forced {
			why = "It was draining, and an administrator did not wait for it"
		}
		work = n.held
		e.loseNode(n, to, why)
	}
	return work + workOfNode
}

func (e *Engine) setNodeResource(c SetNodeResource) {
	n := e.nodes[c.Node]
	if n == nil || !n.active() {
		e.fail(c.Ticket, refuse(Failed, "Resource update get failed on all nodes due to change resource on an unrecognized node: %s", c.Node))
		return
	}
	e.resize(n, c.Total, c.Overcommit)
	e.reply(c.Ticket, nil)
}

func (e *Engine) resize(n *node, total yarn.Resource, o Overcommit) {
	if n.drain != nil {
		n.drain.resize(total, o)
		return
	}
	before := n.total
	n.total, n.resized = total, true
	if n.ref != scheduler.NoNode { // one that is unhealthy offers it when it has recovered
		e.sched.SetNodeTotal(n.ref, total)
		e.infos = nil
		e.sweepDue = true
	}
	if total != before {
		e.followOvercommit(n, o)
	}
	e.touchNode(n)
}

// NodeSize is what a node is to offer.
type NodeSize struct {
	Node             yarn.NodeID
	MemoryMB, VCores int64
	Overcommit       Overcommit
}

// Of is the resource of a node that had another size.
func (s NodeSize) Of(before yarn.Resource) yarn.Resource {
	before[yarn.Memory], before[yarn.VCores] = s.MemoryMB, s.VCores
	return before
}

func (e *Engine) setNodeResources(c SetNodeResources) {
	for _, s := range c.Nodes {
		if n := e.nodes[s.Node]; n != nil && n.active() {
			before := n.total
			if n.drain != nil {
				before = n.drain.capacity
			}
			e.resize(n, s.Of(before), s.Overcommit)
		}
	}
	e.reply(c.Ticket, nil)
}

func (e *Engine) setNodeLabel(c SetNodeLabel) {
	n := e.nodes[c.Node]
	if n == nil || n.ref == scheduler.NoNode {
		e.fail(c.Ticket, refuse(Failed, "Cannot label %s: it is not a node of this cluster", c.Node))
		return
	}
	e.relabel(n, c.Label)
	e.reply(c.Ticket, nil)
}

// sortedNodes are all nodes by id.
func (e *Engine) sortedNodes() []*node {
	out := make([]*node, 0, len(e.nodes))
	for _, n := range e.nodes { //tidy:unordered sorted below
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *node) int { return a.id.Compare(b.id) })
	return out
}

func (e *Engine) nodeIDs() []yarn.NodeID {
	out := make([]yarn.NodeID, 0, len(e.nodes))
	for id := range e.nodes { //tidy:unordered whoever asks takes them as a set
		out = append(out, id)
	}
	return out
}
