// Package access is what the ResourceManager's web server needs from the rest of the
// daemon: views to read, rights, and changes of applications and labels. The daemon
// implements Source and Controller; rest, ui and proxy use them.
package access

import (
	"context"
	"iter"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Source is what can be read. All of it is immutable, and reading does not delay the
// scheduler. Errors are *answer.Error if the caller can do something about them; any
// other error is shown as 503.
type Source interface {
	// Cluster returns those parts of the views, which show everything that was
	// answered before the call, or had been as long ago as Age of the context
	// allows. The other parts are zero, and live containers are in none: see
	// Containers. The same holds for Application, Containers and Newest.
	Cluster(context.Context, view.Part) (*view.Cluster, error)
	// Application is one application. The error is of kind NotFound when there
	// is none with that id.
	Application(context.Context, yarn.ApplicationID) (*view.Application, error)
	// Containers is one application with its live containers, nil if it has none. The error is as of Application.
	Containers(context.Context, yarn.ApplicationID) (*view.Application, *view.AppContainers, error)
	// Newest walks all applications, those that were submitted last first. It is for lists that may end early: nothing of the
	// others is looked at. The walk holds all views; it must not wait for a reader. The version is that of the views; 0: unknown.
	Newest(context.Context) (newest iter.Seq[*view.Application], version uint64, err error)
	// Latest is the application as it was published last, without waiting; nil if
	// there is none. It is for the rest of a long list.
	Latest(yarn.ApplicationID) *view.Application
	// Why is why an application's master has no container yet; empty if it does not
	// wait for one.
	Why(context.Context, yarn.ApplicationID) (string, error)
	// LogNodes is how far each node is with the logs of an application; none once all have succeeded.
	LogNodes(context.Context, yarn.ApplicationID) ([]view.NodeLogs, error)
	// Preemptions are the latest events of preemption, the youngest first, at most so many: of a queue and those below it, "" for all, and of
	// an application, the zero value for all.
	Preemptions(ctx context.Context, queue string, app yarn.ApplicationID, most int) ([]view.Preemption, error)
	// Gates are the reasons why the application gets nothing now of what it asks for, and what would help; none where it asks for nothing.
	Gates(context.Context, yarn.ApplicationID) (view.Gates, error)
	// Rooms is what the leaves with these paths, or a user there, could still get, by partition; none of a leaf that is not there.
	Rooms(ctx context.Context, leaves []string, user string) ([]view.Room, error)
	// Waits is how long applications have waited since this ResourceManager became active, by queue, user and cause.
	Waits(context.Context) ([]view.Wait, error)
	// NodeActivities are what an offer of the node would do now, one entry for each walk; none if the scheduler does not have the node.
	NodeActivities(context.Context, yarn.NodeID) ([]view.NodeActivities, error)
	// AppActivities are what offers of at most so many nodes would do for the application; none if the scheduler does not have it.
	AppActivities(ctx context.Context, id yarn.ApplicationID, most int) ([]view.NodeActivities, error)
	// Tallies are counts that metrics tell.
	Tallies() Tallies
	// QueueSettings are the properties in force that govern the CapacityScheduler's queue with that path, by name.
	QueueSettings(ctx context.Context, path string) ([]config.Property, error)
	// Past is what the cluster had and used in the last day, the oldest first; none before this ResourceManager became active.
	Past() []Sample
	// Events has what happens; nil while this ResourceManager is not the active one.
	Events() *events.Log
	Daemon(context.Context) Daemon

	// MayView tells whether the details of an application may be shown:
	// VIEW_APP, or administration of its queue. Always true without
	// yarn.acl.enable.
	MayView(webgate.Caller, *view.Application) bool
	// MayViewAll is true for an administrator, and for everybody without yarn.acl.enable: they may view every application. Where it
	// is false MayView may still be true for each.
	MayViewAll(webgate.Caller) bool
	// QueueRights are the caller's rights on the queue with that path, those by the
	// ACLs of queues above it included. Without yarn.acl.enable everybody has both.
	QueueRights(c webgate.Caller, path string) QueueRights
}

// Tallies are counts since this ResourceManager became active.
type Tallies struct {
	Queues             map[string]QueueTally     // by path, with the queues below
	Users              map[UserInQueue]UserTally // the same by user; nil: they are not told (user-metrics.enable)
	MasterAllocation   Timing                    // from an attempt's ask for its master's container until it was allocated
	MasterLaunch       Timing                    // from there until its node had been told to start it
	MasterRegistration Timing                    // from there until the master registered
	Waiting            int                       // commands that wait for the loop, now
}

// UserInQueue is a user's part of a queue.
type UserInQueue struct{ Queue, User string }

// UserTally counts containers and applications of a user in a queue.
type UserTally struct {
	QueueTally
	Submitted, Completed, Failed, Killed int64
}

// Add adds another one's counts.
func (t *UserTally) Add(x *UserTally) {
	t.QueueTally.Add(&x.QueueTally)
	t.Submitted += x.Submitted
	t.Completed += x.Completed
	t.Failed += x.Failed
	t.Killed += x.Killed
}

// QueueTally counts containers of a queue.
type QueueTally struct {
	Allocated, Released          int64
	PreemptedMB, PreemptedVCores int64 // together

	NodeLocal, RackLocal, OffSwitch int64  // of those allocated
	MasterAllocation                Timing // from an attempt's ask for its master's container until it was allocated
}

// Add adds another one's counts.
func (t *QueueTally) Add(x *QueueTally) {
	t.Allocated += x.Allocated
	t.Released += x.Released
	t.PreemptedMB += x.PreemptedMB
	t.PreemptedVCores += x.PreemptedVCores
	t.NodeLocal += x.NodeLocal
	t.RackLocal += x.RackLocal
	t.OffSwitch += x.OffSwitch
	t.MasterAllocation.Count += x.MasterAllocation.Count
	t.MasterAllocation.Total += x.MasterAllocation.Total
}

// Timing is how often something was timed, and how long it took together.
type Timing struct {
	Count int64
	Total time.Duration
}

// Sample is what the cluster had and used at a time. Amounts are of all partitions.
type Sample struct {
	At                         int64 // milliseconds since 1970
	Used, Reserved, Total      yarn.Resource
	Pending                    yarn.Resource
	AppsRunning, AppsWaiting   int64
	Containers                 int64
	NodesActive, NodesUnusable int // unusable: lost or unhealthy
}

// QueueRights are what the ACLs of a queue allow.
type QueueRights struct{ Submit, Administer bool }

// The schedulers, as the overview shows them.
const (
	Capacity = "Capacity Scheduler"
	Fair     = "Fair Scheduler"
	Fifo     = "Fifo Scheduler"
)

// Daemon is the state of this ResourceManager itself.
type Daemon struct {
	StartedAt     int64  // milliseconds since 1970
	State         string // STARTED
	HAState       string // ACTIVE, STANDBY
	Store         string // Java class name of the state store, as /info shows it
	StorePath     string // where the state store is; "" if there is none
	Connection    string // state of the connection to the election's ZooKeeper
	ClientAddress string // host:port for clients of RPC
	LoginUser     string // the user as whom the daemon runs
	Scheduler     string // Capacity, Fair or Fifo
	Holds         Holds

	SetAside []SetAside // records of the state store that could not be used, the first ones
	Aside    int        // how many there are

	Allocations *Allocations // the FairScheduler's file; nil: there is none
	Role        *Role        // nil without high availability
}

// Role is the part of this ResourceManager in high availability.
type Role struct {
	ID      string // yarn.resourcemanager.ha.id
	Since   int64  // of ACTIVE or STANDBY, milliseconds since 1970
	Why     string // what has made it so
	Actives int64  // how often it has become active

	Election  string // state in the election, such as STANDBY or RESTING; "" if there is none
	Connected bool   // to the election's ZooKeeper
	Holder    string // the active ResourceManager by the election, while it is another; "" if it is not known

	Copy *Copy // of the state store; nil: a standby has none, or this one is active
}

// Copy is what a standby has of the state store.
type Copy struct {
	Whole   bool   // all but what is Behind; else it reads all when it takes over
	Records int    // of the copy
	Bytes   int64  // of their values
	Behind  int    // changes that are known and not read yet
	Why     string // what it does or why it has no copy, while it is not Whole
}

// SetAside is a record that was left alone in the state store when the term began.
type SetAside struct{ Record, Reason string }

// Allocations tell of the FairScheduler's allocation file. Times are milliseconds since 1970.
type Allocations struct {
	File     string // its path or URL
	LoadedAt int64  // when what is in force was read; 0: nothing is
	Problem  string // why what is there now is not in force; empty: it is, or will be soon
	Since    int64  // of Problem
}

// Holds are the commands that held the loop for long; see loop.Holds.
type Holds struct {
	Count   int64 // since the start
	Longest Hold  // since the start
	Last    []Hold

	Publications     int64 // of views, for readers, since the start
	PublishingMillis int64 // how long they took together
}

// Hold is one command, or one slice of a publication of views, that held the loop for
// long.
type Hold struct {
	Number int64 // counts from 1
	What   string
	Millis float64
	At     int64 // when it ended, milliseconds since 1970
}

// Controller changes applications and labels. Every method checks the caller's rights
// and returns once the change is stored; refusals are *answer.Error.
type Controller interface {
	// Kill begins to end an application. completed tells whether a final state is
	// stored. If not, the kill may yet be lost, and the caller must ask again.
	Kill(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, diagnostics string) (completed bool, err error)
	// Move takes an application to another queue and returns the full path.
	Move(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, queue string) (path string, err error)
	// SetPriority returns the priority in force, which may be lower than priority.
	SetPriority(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, priority int32) (int32, error)
	// SetLifetime sets when an application is killed, in milliseconds since
	// 1970, and returns the deadline in force; 0 means none.
	SetLifetime(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, expireAt int64) (int64, error)
	// NewApplication takes the next id, and returns the largest container.
	NewApplication(ctx context.Context, c webgate.Caller) (yarn.ApplicationID, yarn.Resource, error)
	// Submit submits an application. submission is its ApplicationSubmissionContext, as the client protocol has it.
	Submit(ctx context.Context, c webgate.Caller, submission []byte) error
	// Signal has a container's node deliver a signal, by its number on the wire. It is not waited for.
	Signal(ctx context.Context, c webgate.Caller, id yarn.ContainerID, signal int32) error
	// Resize changes what a node offers until it registers again. Containers for which the node has no room are then ended after overcommit milliseconds, or
	// never if that is negative. Only administrators may call it.
	Resize(ctx context.Context, c webgate.Caller, node yarn.NodeID, total yarn.Resource, overcommit int64) error
	// AddLabels, RemoveLabels and ReplaceLabels are for administrators. The refusal
	// for anybody else has the name of the operation.
	AddLabels(ctx context.Context, c webgate.Caller, labels []view.Label) error
	RemoveLabels(ctx context.Context, c webgate.Caller, names []string) error
	ReplaceLabels(ctx context.Context, c webgate.Caller, operation string, nodes []view.NodeLabels) error
	// Drain orders nodes to drain and to stay away until Undrain, whatever the lists of nodes say. Both are for administrators; an
	// anonymous caller is refused. If they refuse one of the names they change nothing.
	Drain(ctx context.Context, c webgate.Caller, d DrainRequest) error
	Undrain(ctx context.Context, c webgate.Caller, nodes []yarn.NodeID) error
	// Refresh reads a file anew and puts it in force, or tells what that would change. It is for administrators; an anonymous caller is
	// refused.
	Refresh(ctx context.Context, c webgate.Caller, r RefreshRequest) (Refreshed, error)
	// DeleteQueue deletes a queue that was created on demand and that nobody uses, with all below it, and returns its full path. It is for
	// administrators and for those who may administer the queue; an anonymous caller is refused.
	DeleteQueue(ctx context.Context, c webgate.Caller, queue string) (path string, err error)
	// The calls on reservations return once the change is stored.
	NewReservation(ctx context.Context, c webgate.Caller) (yarn.ReservationID, error)
	SubmitReservation(ctx context.Context, c webgate.Caller, r Reservation) error
	UpdateReservation(ctx context.Context, c webgate.Caller, r Reservation) error // the queue is not used
	DeleteReservation(ctx context.Context, c webgate.Caller, id yarn.ReservationID) error
	Reservations(ctx context.Context, c webgate.Caller, q ReservationQuery) ([]view.Reservation, error)
	// Record carries out an action on the recording of commands. It is for
	// administrators; an anonymous caller is refused.
	Record(ctx context.Context, c webgate.Caller, what RecordAction) (Recording, error)
	// LogScheduler has what the scheduler decides written to a file of the log directory, for some time. With yarn.acl.enable it is for
	// administrators. One file is written at a time.
	LogScheduler(ctx context.Context, c webgate.Caller, period time.Duration) error
	// QueueConf is the configuration of the queues.
	QueueConf() (QueueConf, error)
}

// Reservation is what is to be reserved.
type Reservation struct {
	ID         yarn.ReservationID
	Queue      string
	Definition *yarn.ReservationDefinition
}

// ReservationQuery says which reservations are meant.
type ReservationQuery struct {
	Queue      string
	ID         yarn.ReservationID // zero: all
	Start, End int64              // milliseconds since 1970
}

// DrainRequest is which nodes are to drain, and how.
type DrainRequest struct {
	Nodes    []yarn.NodeID // port 0: every node of the host
	Deadline int64         // milliseconds since 1970; 0: none; DefaultDeadline
	Reason   string
	Source   string // cli or api
}

// DefaultDeadline is yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs after the request.
const DefaultDeadline = -1

// RefreshRequest is what is to be read anew.
type RefreshRequest struct {
	What     string // RefreshQueues or RefreshNodes
	DryRun   bool   // nothing is changed
	Graceful bool   // of nodes: those that the lists no longer admit drain, with the default deadline
}

// What can be read anew.
const (
	RefreshQueues = "queues" // capacity-scheduler.xml, or the FairScheduler's allocation file
	RefreshNodes  = "nodes"  // the include and exclude lists
)

// Refreshed is what a refresh changes.
type Refreshed struct {
	Refusal string          // why it would be refused; a refresh that is no dry run fails instead
	Plan    *Plan           // of the CapacityScheduler's queues
	Nodes   []RefreshedNode // that change, by id
}

// RefreshedNode is a node that a refresh of the lists changes.
type RefreshedNode struct {
	ID         yarn.NodeID
	State      yarn.NodeState // before
	Becomes    yarn.NodeState // NodeRunning for one that is taken back, or that may register again
	Containers int            // that end with it, or that it waits for
	Reason     string         // of the exclude list; may be empty
}

// RecordAction is an action on the recording of commands.
type RecordAction string

// The actions.
const (
	RecordStatus RecordAction = "status" // return the state
	RecordSave   RecordAction = "save"   // write what is kept in memory to a file
	RecordStart  RecordAction = "start"  // begin a file of all commands
	RecordStop   RecordAction = "stop"   // end that file
)

// Recording is the state of the recording of commands.
type Recording struct {
	Commands  uint64 // applied since the start, slices of publications and digests included
	Missing   uint64 // how many of the first ones are no longer kept
	File      string // the file that the action wrote, began or ended
	All       string // the file of all commands; empty: there is none
	AllBytes  int64  // of that file, or of the one that was ended
	AllClosed string // why that file takes nothing more; empty: it does
}
