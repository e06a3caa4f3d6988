package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// Effects are the consequences of one command, each kind in the order in which
// they arose. The loop carries them out and resets the value for the next
// command; whoever needs one longer copies it.
type Effects struct {
	Replies     []Reply
	Saves       []Save
	Launches    []Launch
	Stops       []Stop
	Logins      []Login
	Transitions []Transition
	Containers  []ContainerEvent
	Notices     []yarn.ContainerID   // containers that will be taken from their applications
	Forgotten   []yarn.NodeID        // nodes whose masters need new node tokens
	Summaries   []yarn.ApplicationID // applications that have ended, for the summary log
	Discarded   []yarn.ApplicationID // applications that the engine has forgotten
	Requeued    bool                 // the queues, or what they may have, were changed

	Reservations []ReservationEvent // for the log
}

// Reset empties the effects and keeps their memory.
func (e *Effects) Reset() {
	clear(e.Replies)
	*e = Effects{
		Replies: e.Replies[:0], Saves: e.Saves[:0], Launches: e.Launches[:0], Stops: e.Stops[:0],
		Logins: e.Logins[:0], Transitions: e.Transitions[:0], Containers: e.Containers[:0], Notices: e.Notices[:0],
		Forgotten: e.Forgotten[:0], Summaries: e.Summaries[:0], Discarded: e.Discarded[:0], Reservations: e.Reservations[:0],
	}
}

// Reply answers the call with that ticket: a value of the type that the command
// names, or an error, which is always an *Error.
type Reply struct {
	Ticket Ticket
	Value  any
	Err    *Error
}

// Save asks for one change of the store. Seq counts from 1 without gaps.
type Save struct {
	Seq uint64
	Op  state.Op
}

// Launch starts a master's container on its node.
type Launch struct {
	Attempt yarn.AttemptID
	User    string
	Grant   Grant
	Submit  int64 // when the application was submitted, wall clock
}

// Stop stops a master's container.
type Stop struct {
	Attempt   yarn.AttemptID
	User      string
	Node      yarn.NodeID
	Container yarn.ContainerID
}

// Login says whether an attempt may call on the masters' port from now on.
type Login struct {
	Attempt yarn.AttemptID
	Open    bool
}

// Transition is a step in the life of an application, attempt or node, for logs
// and audit.
type Transition struct {
	Application yarn.ApplicationID // of an application; zero otherwise
	Attempt     yarn.AttemptID     // of an attempt; zero otherwise
	Node        yarn.NodeID        // of a node; zero otherwise
	Queue       string             // of an application or attempt
	From, To    string
	Cause       string
	User        string // of an application
}

// ContainerEvent is the allocation or the end of a container.
type ContainerEvent struct {
	Container yarn.ContainerID
	Node      yarn.NodeID
	Queue     string
	User      string
	Locality  scheduler.Locality // how it was placed
	Resource  yarn.Resource
	Priority  int32
	Master    bool
	Born      bool // otherwise it ended
	Exit      int32
}

// ReservationEvent is what has become of a reservation, or of the queue of one.
type ReservationEvent struct {
	ID   yarn.ReservationID // zero if What is about a plan: QueueRefused, ReplanCutShort
	Plan string
	What ReservationChange
	Why  string
}

// ReservationChange is what has become of a reservation.
type ReservationChange uint8

// The changes of reservations that are for the log.
const (
	Deleted        ReservationChange = iota // by a caller
	Over                                    // its time, and that for which it still counts, have passed
	Revoked                                 // the plan has become too small for it
	NotRecovered                            // its period does not divide max-periodicity any more; its record stays
	QueueRefused                            // the scheduler left a queue what it had; Why
	ReplanCutShort                          // there was too much to look at for one replanning; Why
)

// Grant is a container as its master gets it. Tokens are made at the edge.
type Grant struct {
	ID                  yarn.ContainerID
	Node                yarn.NodeID
	NodeHTTPAddress     string
	User                string
	Resource            yarn.Resource
	Priority            int32
	AllocationRequestID int64
	Execution           yarn.ExecutionType
	Version             int32
	Label               string
	CreatedAt           int64
	Master              bool
}

// CompletedContainer is how a container ended, as its master learns it.
type CompletedContainer struct {
	ID          yarn.ContainerID
	ExitStatus  int32
	Diagnostics string
	Resource    yarn.Resource
	Execution   yarn.ExecutionType
}

// UpdatedContainer is a container that has changed as its master asked.
type UpdatedContainer struct {
	Type  yarn.UpdateType
	Grant Grant
}

// UpdateError is why a container will not change.
type UpdateError struct {
	Update         yarn.ContainerUpdate
	Reason         string
	CurrentVersion int32
}

// NewApplicationReply answers NewApplication.
type NewApplicationReply struct {
	ID      yarn.ApplicationID
	Maximum yarn.Resource
}

// KillReply answers Kill: whether the end is stored already.
type KillReply struct{ Completed bool }

// PriorityReply answers SetPriority: the priority that the application has now.
type PriorityReply struct{ Priority int32 }

// LifetimeReply answers SetLifetime: the deadline that holds now.
type LifetimeReply struct{ ExpireAt int64 }

// RegisterReply answers RegisterMaster.
type RegisterReply struct {
	User               string // the application's
	Maximum            yarn.Resource
	Queue              string
	ViewACL, ModifyACL string
	Previous           []Grant // containers of earlier attempts that go on
}

// AllocateReply answers Allocate. Duplicate: the edge sends its last answer again
// as it was, and the other fields are empty.
type AllocateReply struct {
	Duplicate    bool
	ResponseID   int32
	Granted      []Grant
	Completed    []CompletedContainer
	Updated      []UpdatedContainer
	UpdateErrors []UpdateError
	Nodes        []*view.Node       // that have become usable or unusable since the last answer
	Previous     []Grant            // containers of earlier attempts
	Preempt      []yarn.ContainerID // that are about to be taken, whatever the master does; nil: the scheduler never tells
	Negotiable   Negotiable
	Headroom     yarn.Resource
	ClusterNodes int32
	Priority     int32
	Pending      int32 // containers that all applications ask for in the default partition
	ActiveCores  int32 // vcores in use and free in the default partition
}

// Negotiable is containers that are about to be taken, unless the master gives up as much in another way; none: nothing is.
type Negotiable struct {
	Containers []yarn.ContainerID
	Count      int32 // how many containers of the least size are as much
	Size       yarn.Resource
}

// FinishReply answers FinishMaster: whether the application's end is stored.
type FinishReply struct{ Unregistered bool }

// NodeAction is what a node must do.
type NodeAction uint8

// The actions of NodeActionProto.
const (
	NodeNormal NodeAction = iota
	NodeResync
	NodeShutdown
)

// RegisterNodeReply answers RegisterNode.
type RegisterNodeReply struct {
	Action         NodeAction
	Diagnostics    string
	LabelsAccepted bool // the node has the labels that it gave itself
}

// HeartbeatReply answers Heartbeat. Duplicate: the edge sends its last answer
// again as it was, and the other fields are empty.
type HeartbeatReply struct {
	Duplicate           bool
	Action              NodeAction
	Diagnostics         string
	ResponseID          int32
	CleanupContainers   []yarn.ContainerID
	CleanupApplications []yarn.ApplicationID
	RemoveContainers    []yarn.ContainerID // acknowledged: the node may forget them
	Signals             []SignalContainer
	Updates             []UpdatedContainer // that the node changes without a call of the master
	Total               *yarn.Resource     // set when an administrator changed it
	LabelsAccepted      bool               // the node has the labels that it gave itself; if they were refused, Diagnostics says why
	Queue               *QueueLimit        // nil: there are no opportunistic containers
}

// QueueLimit is how many opportunistic containers may wait on the node, or how long; -1: that is not limited.
type QueueLimit struct{ Length, WaitMillis int32 }
