package core

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Policy is who decides.
type Policy interface {
	// Try tries to place something on a node, as much as is decided at once. Nothing more
	// can come of an offer after Nothing and after Reserved. What is placed is in out.
	Try(node NodeRef, out []cluster.Decision) (Try, []cluster.Decision)
	// Heartbeat bounds what an offer places by several tries.
	Heartbeat() Heartbeat
	// Admit makes the books of a new application, with its leaf and its priority, or
	// says why it is refused.
	Admit(in *demand.Application, path string) (*App, yarn.Reason)
	// MoveTarget is the leaf that an application could be moved to, or why it may not.
	// moving: it is to be moved now; the answer may then leave something behind.
	MoveTarget(a *App, target string, moving bool) (*queue.Queue, yarn.Reason)
	// AllocateDone ends an allocate call and answers with the headroom.
	//
	// compat: it is also called when the master of an application was placed, because
	// Apache fetches the container by an allocate call of its own.
	AllocateDone(ref AppRef) yarn.Resource
	// QueueInfo is a picture of a queue.
	QueueInfo(q *queue.Queue) queue.Info

	Facts
}

// Facts are what a policy keeps of applications and queues beside the core's books. The
// core tells it what changes them; the books are up to date by then.
type Facts interface {
	// Started tells that an attempt waits to be served, Stopped that it does no more.
	Started(a *App, at *demand.Attempt)
	Stopped(a *App)
	// Removed tells that an application goes.
	Removed(a *App)
	// Moved has an application enter another leaf, which uses what it has by now. Of
	// what it asks for, MoveDemand takes care.
	Moved(a *App, from, to *queue.Queue)
	// Prioritize has an application take the place that it has by a new priority.
	Prioritize(a *App, priority int32)

	// Used tells that what an application uses in a queue, and in those above it, has
	// changed by so much. moved: it has the same as before, in another queue or partition.
	Used(q *queue.Queue, a *App, p cluster.Part, amount *yarn.Resource, moved bool)
	// Asked tells that an application asks for more or for less. fresh: nothing was
	// outstanding under that key.
	Asked(a *App, fresh bool)

	// Entitle finds anew what queues are entitled to, after the cluster has changed.
	// nodes: they came, went or changed their size.
	Entitle(nodes bool)
	// MasterMoved tells that the node of an application's master changed its partition.
	MasterMoved(a *App, c *cluster.Container, from, to cluster.Part)
	// Fit makes the facts of queues as long as there are partitions.
	Fit(parts int)
}

// NoFacts are for a policy to embed that keeps few: it has methods of its own for those.
type NoFacts struct{}

// Started does nothing.
func (NoFacts) Started(*App, *demand.Attempt) {}

// Stopped does nothing.
func (NoFacts) Stopped(*App) {}

// Removed does nothing.
func (NoFacts) Removed(*App) {}

// Moved does nothing.
func (NoFacts) Moved(*App, *queue.Queue, *queue.Queue) {}

// Prioritize does nothing.
func (NoFacts) Prioritize(*App, int32) {}

// Used does nothing.
func (NoFacts) Used(*queue.Queue, *App, cluster.Part, *yarn.Resource, bool) {}

// Asked does nothing.
func (NoFacts) Asked(*App, bool) {}

// Entitle does nothing.
func (NoFacts) Entitle(bool) {}

// MasterMoved does nothing.
func (NoFacts) MasterMoved(*App, *cluster.Container, cluster.Part, cluster.Part) {}

// Fit does nothing.
func (NoFacts) Fit(int) {}

// Rounds are what a policy does periodically, independent of heartbeats: Monitor and Marked are the CapacityScheduler's, the others the FairScheduler's.
type Rounds interface {
	// Recompute computes demands and fair shares.
	Recompute(now yarn.Now)
	// Due appends the containers whose notice has run out: the caller ends them. It is called before Preempt.
	Due(now yarn.Now, out []Taking) []Taking
	// Preempt is Recompute; then it gives notice to containers that are to be ended for others, and appends them.
	Preempt(now yarn.Now, out []Taking) []Taking
	// Monitor begins a round of the CapacityScheduler's preemption or goes on with it; budget and used count containers, applications and queues that
	// are looked at. decided is nil while the round is not over.
	Monitor(now yarn.Now, budget int) (used int, decided *Preemption)
	// Marked appends the containers to which Monitor has given notice and not taken it back, those that have ended since included.
	Marked(out []yarn.ContainerID) []yarn.ContainerID
	// UnderNotice appends the containers of the application to which Preempt has given notice, or those of all applications for NoApp.
	UnderNotice(a AppRef, out []ContainerRef) []ContainerRef
}

// Preemption is what a round of Monitor has decided. The caller tells masters of Noticed, ends Due as Preempted, gives up Unreserved, and shows
// Observed, which would have been noticed but for observe_only; each if it still stands. With lazy preemption there are Killable instead of Due: the
// caller has them made killable. Before all these the caller carries out Moved.
type Preemption struct {
	Noticed, Due, Killable, Unreserved, Observed []Taking
	Moved                                        []Move
}

// Move is a reservation that should hold another node. Its queue uses what it used before.
type Move struct {
	Taking // ForQueue and ForApp say whose the reservation is
	To     NodeRef
	Node   yarn.NodeID // of To: the index may pass to another one
}

// Taking is a container that is taken from one application for another, or a reservation.
type Taking struct {
	Ref  ContainerRef
	ID   yarn.ContainerID // the index may pass to another one
	Rule string           // why, in a word
	// Who is to get it; either may be unknown.
	ForQueue string // a path
	ForApp   yarn.ApplicationID
}

// NoRounds are for a policy to embed that has none.
type NoRounds struct{ NoMonitor }

// NoMonitor is for a policy to embed that has no queue monitor.
type NoMonitor struct{}

// Recompute does nothing.
func (NoRounds) Recompute(yarn.Now) {}

// Due appends nothing.
func (NoRounds) Due(_ yarn.Now, out []Taking) []Taking { return out }

// Preempt gives no notice.
func (NoRounds) Preempt(_ yarn.Now, out []Taking) []Taking { return out }

// Monitor does nothing.
func (NoMonitor) Monitor(yarn.Now, int) (int, *Preemption) { return 0, &Preemption{} }

// Marked appends nothing.
func (NoMonitor) Marked(out []yarn.ContainerID) []yarn.ContainerID { return out }

// UnderNotice appends nothing.
func (NoRounds) UnderNotice(_ AppRef, out []ContainerRef) []ContainerRef { return out }

// Basis is what a policy depends on when it makes something of a configuration. It does
// not change, so that the making can go on beside the scheduler.
type Basis interface {
	// Prepare does what can be done of a Refresh beforehand; nil is a Refresh without a
	// new configuration.
	Prepare(cfg *config.Config) Prepared
}

// Prepared is what a Basis has made. It is good for one Refresh of the scheduler from
// which the basis is; nil spares nothing.
type Prepared any
