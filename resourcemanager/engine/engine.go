package engine

import (
	"fmt"
	"unicode/utf8"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Settings are what the engine depends on besides the scheduler's configuration.
// Intervals are milliseconds; 0 means never.
type Settings struct {
	ClusterTimestamp  int64 // start of this ResourceManager, in every new application's id
	Epoch             int64 // how often it was restarted with its state
	NodeExpiry        int64
	MasterExpiry      int64
	AllocationExpiry  int64 // a container that a master has fetched must run within this time
	MaxAttempts       int32 // of an application whose submission names no number
	GlobalMaxAttempts int32 // that a submission cannot exceed
	MaxCompleted      int   // ended applications that are remembered
	Fair              bool  // the FairScheduler decides: refusals have its words, and masters hear of containers that are about to be taken, if only that there are none
	AutoUpdate        bool  // nodes change containers without a call of their masters, also where that makes them larger
	Sweeps            bool  // schedule after events, too, not at heartbeats alone
	Correct           bool  // containers that a master has not fetched yet are subtracted from its asks
	LogAggregation    bool
	LogPatience       int64         // how long nodes may take to collect logs after an application's end
	Labels            bool          // nodes have labels
	LabelsByNodes     bool          // each node gives itself its labels; otherwise administrators do
	Dominant          bool          // all resources count in limits, not memory alone
	Pages             string        // http://host:port of the ResourceManager's pages; empty while it is not known
	NodeMinimum       yarn.Resource // a smaller node may not register
	ResourceTypes     yarn.ResourceTypes
	Slice             int // work of one slice; 0 is MaxSlice

	Opportunistic opportunistic.Settings
	Reservations  Reservations

	UntrackedTimeout int64            // how long a node that has left is kept if no list names it
	RemovedStates    []yarn.NodeState // in which such a node is then removed; empty: in any
}

// Bounds of what is kept. Beyond them the oldest is forgotten or text is cut.
const (
	MaxDiagnostics   = 64 << 10 // bytes of diagnostics of an application or attempt
	cutDiagnostics   = 1 << 10  // what is left of them when the store refuses a record with longer ones
	MaxNodes         = 200_000  // known nodes, those that have left included
	MaxInactiveNodes = 10_000
	MaxNodeLog       = 1 << 16 // changes of nodes that masters may still have to learn
	SweepNodes       = 64      // nodes that one sweep looks at
	SweepDecisions   = 2000    // containers that one sweep places
	MaxNodesTold     = 500     // nodes whose usability has changed, that one answer tells a master of
	MaxTold          = 5000    // containers granted, and containers ended, that one answer tells a master of
	MaxAsksWaiting   = 200_000 // asks that one master has sent and that the scheduler does not have yet
	MaxReleased      = 10_000  // containers that one master released after a restart, before their nodes registered
	MaxLabels        = 1024    // labels known since the start of the ResourceManager, removed ones included
	MaxHostName      = 255     // bytes of the name of a host that is given a label
	MaxLabelChanges  = 1024    // changes of labels that wait for the one before them to be stored
	MaxLabelledOnce  = 10_000  // hosts and nodes that one call labels, and labels that one call adds or removes
	MaxLabelledNodes = 200_000 // hosts and nodes with a label of their own
)

// Engine is the model of the whole ResourceManager. Only one goroutine may use it.
type Engine struct {
	set   Settings
	sched *scheduler.Scheduler
	now   yarn.Now
	fx    *Effects

	recoveredAt int64 // monotonic
	quiet       bool  // of applications and attempts, report no transition but the end of an application

	apps       map[yarn.ApplicationID]*application
	order      []*application // as submitted
	byRef      []*application // by the scheduler's index
	nextShown  int            // of them, the last that showShares has looked at
	nextApp    int32
	ended      []yarn.ApplicationID // oldest first
	nodes      map[yarn.NodeID]*node
	nodeByRef  []*node
	inactive   []yarn.NodeID // nodes that left, oldest first
	containers []*container  // by the scheduler's index
	byID       map[yarn.ContainerID]*container
	killable   map[yarn.ContainerID]string // those that run on after their notice, and by which rule they were chosen
	unheard    map[yarn.ContainerID]bool   // ended; their masters have not confirmed yet that they know

	nodeLeases        leases // nodes by their last heartbeat
	masterLeases      leases // masters by their last heartbeat
	grantLeases       leases // containers that masters have fetched and that do not run yet
	lifetimes         deadlines[*application]
	gangs             gangs
	drainEnds         deadlines[*node]
	interruptedDrains map[yarn.NodeID]state.NodeDeadline // drains by the lists from before the restart, of nodes that have not registered since
	drainOrders       map[yarn.NodeID]state.NodeDeadline // orders in force, by the node, or with port 0 by the host
	nodeLog           []*node                            // nodes that became usable or unusable, oldest first
	nodeLogStart      int                                // how many entries were dropped before its first one
	tellings          uint64                             // answers to masters that named nodes
	nodesDrawn        uint64                             // views of nodes that were made
	appsDrawn         uint64                             // views of applications that were made
	containersDrawn   uint64                             // views of containers, likewise
	saves             saveQueue
	jobs              []job
	asksForMasters    []yarn.Ask // of the last attempt that began; see alike
	labels            labels
	decisions         []scheduler.Decision
	preempted         []scheduler.ContainerRef // of the running call
	takings           []scheduler.Taking       // likewise
	notices           noticesFor               // likewise
	preemptionLog     preemptionLog
	waits             waits
	monitoring        bool // a round of preemption is not over
	lostMasters       []lostMaster
	sweepDue          bool
	coming            bool // more applications are to be recovered
	counts            counts
	infos             map[string]*queue.Info // as of infosAt; see queueInfo
	infosAt           int64
	drawn             drawn
	dirtyApps         []*application
	dirtyLive         []yarn.ApplicationID // whose containers must be published; ids, so that forgotten applications are not kept while nobody reads containers
	dirtyNodes        []*node
	goneApps          []yarn.ApplicationID
	goneNodes         []yarn.NodeID

	loads *opportunistic.Loads // nil: there are no opportunistic containers
	lent  view.Opportunistics

	ordersPending map[yarn.NodeID]int // how many orders are being stored, by the same

	plans        plans
	removals     leases                 // nodes that have left and that no list names, by when that began
	hosts        map[string]int         // how many nodes are known of each host, by its name in lower case
	placeholders map[string]yarn.NodeID // of hosts, by the same
}

// New is an engine without nodes and applications.
func New(set Settings, sched *scheduler.Scheduler) *Engine {
	return &Engine{
		set: set, sched: sched, loads: newLoads(set.Opportunistic),
		apps:  map[yarn.ApplicationID]*application{},
		nodes: map[yarn.NodeID]*node{},
		byID:  map[yarn.ContainerID]*container{}, killable: map[yarn.ContainerID]string{},

		drainOrders:   map[yarn.NodeID]state.NodeDeadline{},
		ordersPending: map[yarn.NodeID]int{},

		labels:       labels{byNodes: set.LabelsByNodes},
		unheard:      map[yarn.ContainerID]bool{},
		hosts:        map[string]int{},
		plans:        plans{planOf: map[yarn.ReservationID]*plan{}},
		placeholders: map[string]yarn.NodeID{},
	}
}

// Apply carries one command out and adds its consequences to fx.
func (e *Engine) Apply(now yarn.Now, c Command, fx *Effects) {
	e.now, e.fx = now, fx
	e.sched.Advance(now)
	switch c := c.(type) {
	case *Heartbeat:
		e.heartbeat(c)
	case *Allocate:
		e.allocate(c)
	case NewApplication:
		e.newApplication(c)
	case Submit:
		e.submit(c)
	case Kill:
		e.kill(c)
	case FailAttempt:
		e.failAttempt(c)
	case Move:
		e.move(c)
	case SetPriority:
		e.setPriority(c)
	case SetLifetime:
		e.setLifetime(c)
	case SignalContainer:
		e.signalContainer(c)
	case RegisterMaster:
		e.registerMaster(c)
	case FinishMaster:
		e.finishMaster(c)
	case RegisterNode:
		e.registerNode(c)
	case UnregisterNode:
		e.unregisterNode(c)
	case Launched:
		e.launched(c)
	case LaunchFailed:
		e.launchFailed(c)
	case NodeIDs:
		e.reply(c.Ticket, e.nodeIDs())
	case QueueBasis:
		e.reply(c.Ticket, e.sched.Basis())
	case RefreshQueues:
		e.refreshQueues(c)
	case RefreshNodes:
		e.refreshNodes(c)
	case ExcludedHosts:
		e.excludedHosts(c)
	case DrainNodes:
		e.drainNodes(c)
	case UndrainNodes:
		e.undrainNodes(c)
	case SetNodeResource:
		e.setNodeResource(c)
	case SetMaxPriority:
		e.sched.SetMaxPriority(c.Most)
		e.reply(c.Ticket, nil)
	case SetNodeResources:
		e.setNodeResources(c)
	case SetNodeLabel:
		e.setNodeLabel(c)
	case AddLabels, RemoveLabels, ReplaceLabels:
		e.changeLabels(c)
	case TendQueues:
		e.sched.RunDynamicQueues(c.Deleting, e.now)
		e.infos = nil
		e.sweepDue = true
	case DeleteQueue:
		e.deleteQueue(c)
	case UpdateShares:
		e.updateShares(c)
	case MonitorQueues:
		e.monitorQueues()
	case Preemptions:
		e.preemptions(c)
	case LogNodes:
		e.logNodes(c)
	case NewReservation:
		e.newReservation(c)
	case SubmitReservation:
		e.inTurn(func() { e.submitReservation(c) })
	case UpdateReservation:
		e.inTurn(func() { e.updateReservation(c) })
	case DeleteReservation:
		e.inTurn(func() { e.deleteReservation(c) })
	case ListReservations:
		e.listReservations(c)
	case FollowPlans:
		e.followPlans()
	case Tick:
		e.tick()
	case Sweep:
		e.sweep()
	case Stored:
		e.stored(c)
	case RecoverApplications:
		e.recoverApplications(c.Applications)
		e.coming = e.coming && !c.Last
		e.reply(c.Ticket, nil)
	case Recover:
		e.recover(c)
	case Remember:
		e.remember(c)
	case ExpireNode:
		e.expireNode(c)
	default:
		panic(fmt.Sprintf("engine: unknown command %T", c))
	}
	e.endMasters()
}

// SweepDue tells that a Sweep may place something: it should be applied once no
// other command waits.
func (e *Engine) SweepDue() bool { return e.set.Sweeps && e.sweepDue && !e.coming }

// sweep offers nodes to the scheduler without waiting for their heartbeats.
func (e *Engine) sweep() {
	if !e.SweepDue() {
		return
	}
	var more bool
	e.decisions, more = e.sched.Sweep(SweepNodes, SweepDecisions, e.now, e.decisions[:0])
	e.sweepDue = more
	e.take(e.decisions)
}

// offer offers one node to the scheduler.
func (e *Engine) offer(n *node) {
	e.decisions = e.sched.Offer(n.ref, e.now, e.decisions[:0])
	e.take(e.decisions)
}

// take enters the containers that the scheduler has allocated. Reservations are
// the scheduler's alone until they become containers.
func (e *Engine) take(decisions []scheduler.Decision) {
	for _, d := range decisions {
		switch d.Kind {
		case scheduler.Allocated, scheduler.AllocatedFromReserved:
			e.born(d.Container)
		case scheduler.Taken:
			e.takenFor(d)
		}
	}
}

func (e *Engine) reply(t Ticket, value any) {
	if t != 0 {
		e.fx.Replies = append(e.fx.Replies, Reply{Ticket: t, Value: value})
	}
}

func (e *Engine) fail(t Ticket, err *Error) {
	if t != 0 {
		e.fx.Replies = append(e.fx.Replies, Reply{Ticket: t, Err: err})
	}
}

// at returns the element at index i of a slice that grows as needed.
func at[T any](s *[]*T, i int) **T {
	for len(*s) <= i {
		*s = append(*s, nil)
	}
	return &(*s)[i]
}

// clip bounds a text that is kept.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}
