package engine

import (
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Settings are what the lives depend on beside the scheduler's configuration.
// Intervals are milliseconds; 0 means never.
type Settings struct {
	ClusterTimestamp  int64 // start of this ResourceManager, in every new application's id
	Epoch             int64 // how often it was restarted with its state
	NodeExpiry        int64
	MasterExpiry      int64
	AllocationExpiry  int64 // a container handed out must run within this time
	MaxAttempts       int32 // when a submission does not say
	GlobalMaxAttempts int32 // whatever a submission says
	MaxCompleted      int   // ended applications that are remembered
	Sweeps            bool  // opportunities after events, not at heartbeats alone
	Correct           bool  // an ask counts what was granted for it and not fetched
	LogAggregation    bool
	LogPatience       int64         // how long nodes may take to collect logs after an application's end
	Labels            bool          // nodes have labels, which administrators give them
	LabelsByNodes     bool          // unless nodes name their own
	Dominant          bool          // all resources count in limits, not memory alone
	Pages             string        // http://host:port of the ResourceManager's pages; empty while it is not known
	NodeMinimum       yarn.Resource // a smaller node is turned away
	ResourceTypes     yarn.ResourceTypes
	Slice             int // of work; 0 is MaxSlice

	UntrackedTimeout int64            // how long a node that has left is kept if no list names it
	RemovedStates    []yarn.NodeState // in which such a node is then removed; empty: in any
}

// Bounds of what is kept. Beyond them the oldest is forgotten or text is cut.
const (
	MaxDiagnostics   = 64 << 10 // bytes of diagnostics of an application or attempt
	cutDiagnostics   = 1 << 10  // what is left of them when a store finds them too long
	MaxNodes         = 200_000  // known nodes, those that have left included
	MaxInactiveNodes = 10_000
	MaxNodeLog       = 1 << 16 // changes of nodes that masters may still have to learn
	SweepNodes       = 64      // nodes that one sweep looks at
	SweepDecisions   = 2000    // containers that one sweep places
	MaxTold          = 5000    // containers granted, and containers ended, that one answer tells a master of
	MaxAsksWaiting   = 200_000 // asks of one master that are taken and not entered yet
	MaxReleased      = 10_000  // containers that one master gave back before their nodes came
	MaxLabels        = 1024    // labels that one life of the ResourceManager meets, those that are gone included
	MaxHostName      = 255     // bytes of a host that is given a label
	MaxLabelChanges  = 1024    // changes of labels that wait for the one before them to be stored
	MaxLabelledOnce  = 10_000  // hosts and nodes that one call gives labels, and labels that one adds or removes
	MaxLabelledNodes = 200_000 // hosts and nodes with a label of their own
)

// Engine is the model of the whole ResourceManager. It is a value of one
// goroutine.
type Engine struct {
	set   Settings
	sched *scheduler.Scheduler
	now   yarn.Now
	fx    *Effects

	recoveredAt int64 // monotonic

	apps       map[yarn.ApplicationID]*application
	order      []*application // as submitted
	byRef      []*application // by the scheduler's index
	nextApp    int32
	ended      []yarn.ApplicationID // oldest first
	nodes      map[yarn.NodeID]*node
	nodeByRef  []*node
	inactive   []yarn.NodeID // nodes that left, oldest first
	containers []*container  // by the scheduler's index
	byID       map[yarn.ContainerID]*container
	unheard    map[yarn.ContainerID]bool // ended; their masters have yet to confirm that they know

	nodeLeases   leases // nodes by their last sign of life
	masterLeases leases // masters by their last sign of life
	grantLeases  leases // containers handed out and not yet running
	lifetimes    deadlines
	drainEnds    drainEnds
	interrupted  map[yarn.NodeID]state.NodeDeadline // drains that an earlier life began, of nodes that are not back yet
	drainOrders  map[yarn.NodeID]state.NodeDeadline // by the node, or with port 0 by the host
	nodeLog      []*node                            // changes of usability, oldest first
	nodeLogStart int                                // position of its first entry, counted from the start of time
	tellings     uint64                             // answers that spoke of nodes
	nodesDrawn   uint64                             // views of nodes that were made
	saves        saveQueue
	jobs         []job
	labels       labels
	decisions    []scheduler.Decision
	lostMasters  []lostMaster
	sweepDue     bool
	counts       counts
	infos        map[string]*queue.Info // as of infosAt; see queueInfo
	infosAt      int64
	dirtyApps    []*application
	dirtyNodes   []*node
	goneApps     []yarn.ApplicationID
	goneNodes    []yarn.NodeID

	removals leases                 // nodes that have left and that no list names, by when that began
	hosts    map[string]int         // how many nodes are known of each host, by its name in lower case
	absent   map[string]yarn.NodeID // what stands for a host of which no node has registered, by the same
}

// New is an engine without nodes and applications.
func New(set Settings, sched *scheduler.Scheduler) *Engine {
	return &Engine{
		set: set, sched: sched,
		apps:  map[yarn.ApplicationID]*application{},
		nodes: map[yarn.NodeID]*node{},
		byID:  map[yarn.ContainerID]*container{},

		drainOrders: map[yarn.NodeID]state.NodeDeadline{},

		labels:  labels{byNodes: set.LabelsByNodes},
		unheard: map[yarn.ContainerID]bool{},
		hosts:   map[string]int{},
		absent:  map[string]yarn.NodeID{},
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
	case SetNodeLabel:
		e.setNodeLabel(c)
	case AddLabels, RemoveLabels, ReplaceLabels:
		e.changeLabels(c)
	case TendQueues:
		e.sched.RunDynamicQueues(c.Deleting, e.now)
		e.infos = nil
		e.sweepDue = true
	case Tick:
		e.tick()
	case Sweep:
		e.sweep()
	case Stored:
		e.stored(c)
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

// SweepDue tells that an opportunity may bring something: a Sweep should be
// applied once nothing more urgent waits.
func (e *Engine) SweepDue() bool { return e.set.Sweeps && e.sweepDue }

// sweep offers room that no heartbeat speaks for.
func (e *Engine) sweep() {
	if !e.SweepDue() {
		return
	}
	var more bool
	e.decisions, more = e.sched.Sweep(SweepNodes, SweepDecisions, e.now, e.decisions[:0])
	e.sweepDue = more
	e.take(e.decisions)
}

// offer gives one node's room away.
func (e *Engine) offer(n *node) {
	e.decisions = e.sched.Offer(n.ref, e.now, e.decisions[:0])
	e.take(e.decisions)
}

// take follows the scheduler's decisions. Reservations need no following: they
// are the scheduler's own affair until they turn into containers.
func (e *Engine) take(decisions []scheduler.Decision) {
	for _, d := range decisions {
		switch d.Kind {
		case scheduler.Allocated, scheduler.AllocatedFromReserved:
			e.born(d.Container)
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
	return s[:max]
}
