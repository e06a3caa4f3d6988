package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Command is one way in which the ResourceManager can change. The set is
// closed: the types in this file.
//
// A command with a Ticket is answered by exactly one Reply that bears it, in
// the effects of this or of a later command.
type Command interface{ command() }

// Ticket ties a reply to the call that waits for it. 0 means nobody waits.
type Ticket uint64

// Clients' calls.
type (
	// NewApplication takes the next application id.
	NewApplication struct{ Ticket Ticket }

	// Submit hands in an application. Replied when it is stored, or refused.
	// Submitting a known id again succeeds and changes nothing.
	Submit struct {
		Ticket      Ticket
		Application Submission
	}

	// Kill ends an application. Replied with KillReply.
	Kill struct {
		Ticket      Ticket
		Application yarn.ApplicationID
		Diagnostics string
	}

	// FailAttempt ends an attempt as failed.
	FailAttempt struct {
		Ticket      Ticket
		Attempt     yarn.AttemptID
		Diagnostics string
	}

	// Move takes an application to another queue. User must have the right to
	// submit to that queue.
	Move struct {
		Ticket         Ticket
		Application    yarn.ApplicationID
		Queue          string
		User, RealUser string   // who asks
		Groups         []string // of User
	}

	// SetPriority changes an application's priority. Replied with PriorityReply.
	SetPriority struct {
		Ticket      Ticket
		Application yarn.ApplicationID
		Priority    int32
	}

	// SetLifetime changes when an application is killed. Replied with LifetimeReply.
	SetLifetime struct {
		Ticket      Ticket
		Application yarn.ApplicationID
		ExpireAt    int64 // wall clock, milliseconds; cut to what the queue allows
	}

	// NewReservation takes the next reservation id. Replied with a yarn.ReservationID.
	NewReservation struct{ Ticket Ticket }

	// SubmitReservation asks a plan for a promise. Replied when it is stored, or refused. The same definition under a known id succeeds and
	// changes nothing.
	SubmitReservation struct {
		Ticket Ticket
		Caller
		ID         yarn.ReservationID // zero: the caller named none
		Queue      string
		Definition *yarn.ReservationDefinition // nil: there was none
	}

	// UpdateReservation plans a reservation anew; if that is refused it stays as it was. Replied when it is stored.
	UpdateReservation struct {
		Ticket Ticket
		Caller
		ID         yarn.ReservationID
		Definition *yarn.ReservationDefinition
	}

	// DeleteReservation gives a reservation up. Replied when that is stored.
	DeleteReservation struct {
		Ticket Ticket
		Caller
		ID yarn.ReservationID
	}

	// ListReservations asks for the reservations of a plan in a range of time, or for one. Replied with []view.Reservation.
	ListReservations struct {
		Ticket Ticket
		Caller
		Queue      string
		ID         yarn.ReservationID // zero: all
		Start, End int64              // milliseconds since 1970
	}

	// SignalContainer has a container's node deliver a signal.
	SignalContainer struct {
		Ticket    Ticket
		Container yarn.ContainerID
		Signal    int32 // SignalContainerCommandProto
	}
)

// Caller is who asks.
type Caller struct {
	User, RealUser string
	Groups         []string // of User
}

// Masters' calls. The edge has checked the token: the caller is that attempt.
type (
	// RegisterMaster is the first call of a master. Replied with RegisterReply.
	RegisterMaster struct {
		Ticket      Ticket
		Attempt     yarn.AttemptID
		Host        string
		RPCPort     int32
		TrackingURL string
	}

	// Allocate is a master's heartbeat: what it wants, what it gives back, and
	// what has happened since. Replied with *AllocateReply.
	Allocate struct {
		Ticket          Ticket
		Attempt         yarn.AttemptID
		ResponseID      int32
		Progress        float32
		TrackingURL     string // empty: unchanged
		Asks            []yarn.Ask
		Release         []yarn.ContainerID
		BlacklistAdd    []string
		BlacklistRemove []string
		Updates         []yarn.ContainerUpdate
		HasConstraints  bool // it has SchedulingRequests, which need a placement constraints handler
	}

	// FinishMaster is the last call of a master. Replied with FinishReply.
	FinishMaster struct {
		Ticket      Ticket
		Attempt     yarn.AttemptID
		Diagnostics string
		TrackingURL string
		FinalStatus yarn.FinalStatus
	}
)

// Nodes' calls.
type (
	// RegisterNode lets a node join, or join again. Replied with RegisterNodeReply.
	RegisterNode struct {
		Ticket       Ticket
		Node         yarn.NodeID
		HTTPPort     int32
		Rack         string
		Total        yarn.Resource
		Resized      bool // Total is another one than the node has said
		Physical     yarn.Resource
		Version      string
		Label        string    // for replays: the node's label if administrators gave it none
		Labels       *[]string // that the node gives itself; nil: it gives none
		Health       Health
		Containers   []RecoveredContainer
		Applications []yarn.ApplicationID
		Logs         []LogReport
		Excluded     string // why the lists do not admit it; empty when they do
		Untracked    bool   // neither list names it, and that is to count; see RefreshNodes
	}

	// Heartbeat is a node's heartbeat. Replied with *HeartbeatReply.
	Heartbeat struct {
		Ticket        Ticket
		Node          yarn.NodeID
		ResponseID    int32
		Containers    []ContainerStatus
		Increased     []Increased // containers that have become larger since the heartbeat before
		KeepAlive     []yarn.ApplicationID
		Logs          []LogReport
		Labels        *[]string // that the node gives itself; nil: as before
		Health        Health
		ContainersUse Utilization
		NodeUse       Utilization
		Opportunistic Opportunistic
	}

	// UnregisterNode is the call of a node that shuts down.
	UnregisterNode struct {
		Ticket Ticket
		Node   yarn.NodeID
	}
)

// What package launch reports.
type (
	// Launched: the node accepted the master's container.
	Launched struct{ Attempt yarn.AttemptID }

	// LaunchFailed: the node did not, or could not be reached.
	LaunchFailed struct {
		Attempt yarn.AttemptID
		Why     string
	}
)

// Administrators' calls.
type (
	// RefreshQueues replaces the scheduler's configuration, wholly or not at all.
	// Without a Config it is refused. It must be posted all the same: as in
	// Apache's scheduler, even a refresh that fails changes the order of queues of
	// equal rank.
	RefreshQueues struct {
		Ticket   Ticket
		Config   *config.Config
		Prepared scheduler.Prepared // made outside the loop from Config, which may be nil; nil: nothing was prepared
		Problem  string             // why the new configuration cannot be read
		DryRun   bool               // changes nothing at all; only the answer is wanted
	}

	// QueueBasis asks for what scheduler.Prepare needs. Replied with scheduler.Basis.
	QueueBasis struct{ Ticket Ticket }

	// NodeIDs asks for all nodes that are known, in any order: []yarn.NodeID. Unlike views they need not wait for a publication.
	NodeIDs struct{ Ticket Ticket }

	// RefreshNodes applies the include and exclude lists: nodes that they do not
	// admit are decommissioned, draining ones that they admit are taken back.
	RefreshNodes struct {
		Ticket   Ticket
		How      Decommission
		User     string                    // who asks
		Excluded map[yarn.NodeID]Exclusion // those of the known nodes that the lists do not admit; not used by Forced

		// There is no include list, and yet every node that is not in Excluded is untracked.
		Unnamed bool
		// Hosts of the include list that readers see as LOST nodes until a node of them registers, unless one has.
		Unregistered []string
	}

	// ExcludedHosts are the hosts of the exclude list when the ResourceManager starts. Readers see each as a DECOMMISSIONED node until a
	// node of it registers. It comes after Recover, while every port is still closed.
	ExcludedHosts struct{ Hosts []string }

	// DrainNodes orders nodes to drain and to stay away until UndrainNodes, whatever the lists say. It is replied when the orders are stored
	// and the drains have begun. If one of the names is unknown it changes nothing. A name that has an order gets the new deadline and
	// reason; its drain still counts from the first request.
	DrainNodes struct {
		Ticket   Ticket
		Nodes    []yarn.NodeID // port 0: every node of the host
		Deadline int64         // milliseconds since 1970; 0: none
		Reason   string
		User     string // who asks
		Source   string // "cli" or "api"
	}

	// UndrainNodes takes orders of DrainNodes back: nodes that still drain are used again, those that have left may register. If a name has
	// no order, or the lists do not admit one of the draining nodes, it changes nothing.
	UndrainNodes struct {
		Ticket Ticket
		Nodes  []yarn.NodeID // port 0: every node of the host
	}

	// SetNodeResource changes what a node offers.
	SetNodeResource struct {
		Ticket     Ticket
		Node       yarn.NodeID
		Total      yarn.Resource
		Overcommit Overcommit
	}

	// SetNodeResources changes memory and vcores of nodes; those that are not there are passed over.
	SetNodeResources struct {
		Ticket Ticket
		Nodes  []NodeSize
	}

	// SetMaxPriority changes what priorities of applications are cut to from now on.
	SetMaxPriority struct {
		Ticket Ticket
		Most   int32
	}

	// AddLabels makes labels known to the cluster. This command and the next two
	// are replied when the change is stored and in force, wholly or not at all.
	AddLabels struct {
		Ticket Ticket
		Labels []scheduler.Label
	}

	// RemoveLabels makes the cluster forget labels; nodes that have them are in
	// the default partition from then on.
	RemoveLabels struct {
		Ticket Ticket
		Names  []string
	}

	// ReplaceLabels gives nodes new labels.
	ReplaceLabels struct {
		Ticket        Ticket
		Nodes         []view.NodeLabels
		FailOnUnknown bool // refuse if there is no such node
	}

	// SetNodeLabel moves a node to a partition, whatever labels administrators
	// gave it. It is for replays of recorded decisions.
	SetNodeLabel struct {
		Ticket Ticket
		Node   yarn.NodeID
		Label  string
	}

	// TendQueues is one run of a monitor of automatically created queues: it
	// deletes those that nobody uses, or shares out the guarantees below managed
	// parents.
	TendQueues struct{ Deleting bool }

	// DeleteQueue deletes an empty dynamic queue of the FairScheduler, with all below it. If it has to stay the refusal says why.
	// Replied with the full path.
	DeleteQueue struct {
		Ticket Ticket
		Queue  string // its full path, or its path below the root
	}

	// UpdateShares is one run of the FairScheduler's update: what applications want and are
	// entitled to. With Preempting, containers end whose time under notice is over, and
	// others are given notice on behalf of applications that starve.
	UpdateShares struct{ Preempting bool }

	// Preemptions asks for the latest events of preemption, the youngest first: []view.Preemption.
	Preemptions struct {
		Ticket      Ticket
		Queue       string             // that loses or gains, or a queue above it; "" for all
		Application yarn.ApplicationID // likewise; the zero value for all
		Most        int
	}

	// FollowPlans gives the reservations that are due what they are to have, ends those that are over, and revokes the latest of a plan that has
	// become too small.
	FollowPlans struct{}

	// MonitorQueues begins one round of the CapacityScheduler's preemption, unless the last one is not over.
	MonitorQueues struct{}
)

// Decommission says how nodes leave that the lists do not admit.
type Decommission uint8

// The ways of leaving.
const (
	AtOnce   Decommission = iota // what runs there is lost
	Graceful                     // the node gets nothing new, and leaves when nobody needs it or at its timeout
	Forced                       // no list was read: every node that is decommissioning gracefully leaves at once
)

// Exclusion is what the lists say of a node that they do not admit.
type Exclusion struct {
	Timeout   int32  // of a graceful decommission, seconds from its first request on; negative: none
	Deadline  int64  // of a graceful decommission, milliseconds since 1970; it goes before Timeout, and 0 is none
	Reason    string // of a graceful decommission: free text
	Untracked bool   // it is in neither list: it becomes SHUTDOWN rather than DECOMMISSIONED
}

// Commands of the ResourceManager itself.
type (
	// Tick does everything that is due.
	Tick struct{}

	// Sweep schedules without a heartbeat: the scheduler looks at a bounded number
	// of nodes.
	Sweep struct{}

	// Stored is the outcome of the oldest unconfirmed Save.
	Stored struct {
		Seq uint64
		Err error // why the record can never be stored; nil: it is stored
	}

	// Recover brings back what was stored before the restart. It comes before any
	// other command, while every port is still closed.
	Recover struct {
		Applications []RecoveredApplication
		Drains       []state.NodeDeadline
		Labels       state.Labels
		Reservations []state.Reservation
		Coming       int // how many applications RecoverApplications will bring; above 0, nothing is due before the last one
	}

	// RecoverApplications brings back more applications, in the order of their ids. It comes
	// after Recover and before any other command. After the reply the engine reads neither
	// Applications nor their records; it keeps what both refer to.
	RecoverApplications struct {
		Ticket       Ticket
		Applications []RecoveredApplication
		All          int  // how many applications all these commands bring
		Last         bool // it is the last of these commands
	}

	// Remember stores records that are not the engine's own, such as keys and
	// delegation tokens. Replied when all are stored.
	Remember struct {
		Ticket Ticket
		Ops    []state.Op
	}

	// ExpireNode declares a node lost, as if its heartbeats had stopped.
	ExpireNode struct{ Node yarn.NodeID }
)

// RecoveredApplication is an application as it was stored, with its attempts,
// oldest first. The submission was read from the stored context.
type RecoveredApplication struct {
	Submission *Submission // is the engine's from then on
	Record     *state.Application
	Attempts   []state.Attempt
}

// Submission is an application as submitted; the edge has checked its form. The
// launch context itself stays at the edge; the engine knows its size.
type Submission struct {
	ID                 yarn.ApplicationID
	User               string
	RealUser           string
	Groups             []string // of User, primary first
	Name               string
	Queue              string // as asked for; empty for the default
	Type               string
	Tags               []string
	AMAsks             []yarn.Ask // one row for any host, more for locality
	Priority           int32
	PrioritySet        bool
	Unmanaged          bool
	KeepContainers     bool
	LabelSet           bool
	MaxAttempts        int32
	ValidityInterval   int64 // milliseconds; attempts that failed longer ago do not count; ≤ 0 all count
	Label              string
	LifetimeSeconds    int64 // ≤ 0: none asked for
	ViewACL, ModifyACL string
	CallerContext      string
	ContextBytes       int                // size of the stored context
	Reservation        yarn.ReservationID // in whose room it is to run; zero: in nobody's
}

// masterLabel is the node label that the master's container asks for.
func (s *Submission) masterLabel() string {
	if len(s.AMAsks) == 0 {
		return ""
	}
	return s.AMAsks[0].Label
}

// Health is what a node reports about itself.
type Health struct {
	Healthy bool
	Report  string
	At      int64 // of the report, wall clock
}

// Utilization is measured use: memory in MiB, cpu in cores.
type Utilization struct {
	PhysicalMemoryMB, VirtualMemoryMB int32
	CPU                               float32
}

// Opportunistic counts a node's opportunistic containers, and describes its queue.
type Opportunistic struct {
	Running, Queued int32
	MemoryMB        int64
	VCores          int32
	Reported        bool  // the node speaks of a queue at all
	Waiting         int32 // containers in its queue
	WaitMillis      int32 // how long they are going to wait; -1: unknown
	Capacity        int32 // of the queue
}

// Increased is a container that has become larger, and its size now.
type Increased struct {
	Container yarn.ContainerID
	Resource  yarn.Resource
}

// ContainerStatus is one container in a heartbeat.
type ContainerStatus struct {
	ID          yarn.ContainerID
	Complete    bool
	ExitStatus  int32
	Diagnostics string
	Execution   yarn.ExecutionType
}

// RecoveredContainer is a container that a registering node already has.
type RecoveredContainer struct {
	ContainerStatus
	Resource            yarn.Resource
	Priority            int32
	CreatedAt           int64
	Label               string
	Version             int32
	AllocationRequestID int64
}

func (NewApplication) command()      {}
func (Submit) command()              {}
func (Kill) command()                {}
func (FailAttempt) command()         {}
func (Move) command()                {}
func (SetPriority) command()         {}
func (SetLifetime) command()         {}
func (SignalContainer) command()     {}
func (RegisterMaster) command()      {}
func (*Allocate) command()           {}
func (FinishMaster) command()        {}
func (RegisterNode) command()        {}
func (*Heartbeat) command()          {}
func (UnregisterNode) command()      {}
func (Launched) command()            {}
func (LaunchFailed) command()        {}
func (RefreshQueues) command()       {}
func (QueueBasis) command()          {}
func (NodeIDs) command()             {}
func (RefreshNodes) command()        {}
func (ExcludedHosts) command()       {}
func (DrainNodes) command()          {}
func (UndrainNodes) command()        {}
func (SetMaxPriority) command()      {}
func (SetNodeResources) command()    {}
func (SetNodeResource) command()     {}
func (SetNodeLabel) command()        {}
func (AddLabels) command()           {}
func (RemoveLabels) command()        {}
func (ReplaceLabels) command()       {}
func (TendQueues) command()          {}
func (DeleteQueue) command()         {}
func (UpdateShares) command()        {}
func (MonitorQueues) command()       {}
func (NewReservation) command()      {}
func (SubmitReservation) command()   {}
func (UpdateReservation) command()   {}
func (DeleteReservation) command()   {}
func (ListReservations) command()    {}
func (FollowPlans) command()         {}
func (Preemptions) command()         {}
func (LogNodes) command()            {}
func (Tick) command()                {}
func (Sweep) command()               {}
func (Stored) command()              {}
func (Recover) command()             {}
func (RecoverApplications) command() {}
func (Remember) command()            {}
func (ExpireNode) command()          {}
