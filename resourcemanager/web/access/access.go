// Package access is what the ResourceManager's web server needs from the rest
// of the daemon: something to read, something that changes applications, and
// who is asking. The daemon implements Source and Controller; rest, ui and proxy
// use them.
package access

import (
	"context"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// Source is what can be read. All of it is immutable; nothing waits for the
// scheduler. Errors are *answer.Error where the caller can do something about them;
// any other error is shown as 503.
type Source interface {
	// Cluster is what was asked for of the cluster, as it was after all that has
	// been answered so far. What was not asked for is zero.
	Cluster(context.Context, view.Part) (*view.Cluster, error)
	// Application is one application. The error is of kind NotFound when there
	// is none with that id.
	Application(context.Context, yarn.ApplicationID) (*view.Application, error)
	// Latest is the application as it was published last, or nil: for who has seen
	// it, and takes a long time.
	Latest(yarn.ApplicationID) *view.Application
	// Why says why an application waits for its master; empty if it does not.
	Why(context.Context, yarn.ApplicationID) (string, error)
	Daemon(context.Context) Daemon

	// MayView tells whether the details of an application may be shown:
	// VIEW_APP, or administration of its queue. Always true without
	// yarn.acl.enable.
	MayView(webgate.Caller, *view.Application) bool
	// QueueRights are the caller's rights on the queue with that path, also by
	// those above it. Without yarn.acl.enable everybody has both.
	QueueRights(c webgate.Caller, path string) QueueRights
}

// QueueRights are what lists of a queue allow.
type QueueRights struct{ Submit, Administer bool }

// The schedulers, as the overview shows them.
const (
	Capacity = "Capacity Scheduler"
	Fifo     = "Fifo Scheduler"
)

// Daemon is the state of this ResourceManager itself.
type Daemon struct {
	StartedAt  int64  // milliseconds since 1970
	State      string // STARTED
	HAState    string // ACTIVE, STANDBY
	Store      string // Java class name of the state store, as /info shows it
	StorePath  string // the file of the state store; "" if there is none
	Connection string // state of the connection to the election's ZooKeeper
	LoginUser  string // whom the daemon runs as
	Scheduler  string // Capacity or Fifo
	Holds      Holds
}

// Holds are what has kept the loop, and with it everybody, for long.
type Holds struct {
	Count   int64 // since the start
	Longest Hold  // since the start
	Last    []Hold

	Publications     int64 // of views, for readers, since the start
	PublishingMillis int64 // the loop's time for them
}

// Hold is one command that kept the loop for long, or one publication of views.
type Hold struct {
	Number int64 // counts from 1
	What   string
	Millis float64
	At     int64 // when it ended, milliseconds since 1970
}

// Controller changes applications and labels. Every method checks the caller's rights
// itself and returns once the change is durable; refusals are *answer.Error.
type Controller interface {
	// Kill asks for an application's end. completed tells whether a final state
	// is stored; false promises nothing, and the caller asks again.
	Kill(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, diagnostics string) (completed bool, err error)
	// Move takes an application to another queue and returns the full path.
	Move(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, queue string) (path string, err error)
	// SetPriority returns the priority in force, which may be clipped.
	SetPriority(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, priority int32) (int32, error)
	// SetLifetime sets when an application is killed, in milliseconds since
	// 1970, and returns the deadline in force; 0 means none.
	SetLifetime(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, expireAt int64) (int64, error)
	// NewApplication takes the next id, and says what one container may have at most.
	NewApplication(ctx context.Context, c webgate.Caller) (yarn.ApplicationID, yarn.Resource, error)
	// AddLabels, RemoveLabels and ReplaceLabels are for administrators. The
	// refusal of anybody else names the operation.
	AddLabels(ctx context.Context, c webgate.Caller, labels []view.Label) error
	RemoveLabels(ctx context.Context, c webgate.Caller, names []string) error
	ReplaceLabels(ctx context.Context, c webgate.Caller, operation string, nodes []view.NodeLabels) error
	// Drain has nodes drain and stay away until Undrain, whatever the lists of nodes say. Both are for administrators who say who they are,
	// and change nothing when they refuse one of the names.
	Drain(ctx context.Context, c webgate.Caller, d DrainRequest) error
	Undrain(ctx context.Context, c webgate.Caller, nodes []yarn.NodeID) error
	// Record does something about the recording of commands. It is for
	// administrators who say who they are.
	Record(ctx context.Context, c webgate.Caller, what RecordAction) (Recording, error)
}

// DrainRequest is who should drain, and how.
type DrainRequest struct {
	Nodes    []yarn.NodeID // port 0: every node of the host
	Deadline int64         // milliseconds since 1970; 0: none; DefaultDeadline
	Reason   string
	Source   string // cli or api
}

// DefaultDeadline is what is configured: yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs from now on.
const DefaultDeadline = -1

// RecordAction is what to do about the recording of commands.
type RecordAction string

// The actions.
const (
	RecordStatus RecordAction = "status" // say how it stands
	RecordSave   RecordAction = "save"   // write what is kept to a file
	RecordStart  RecordAction = "start"  // have all commands go to a file
	RecordStop   RecordAction = "stop"   // end that file
)

// Recording is how the recording of commands stands.
type Recording struct {
	Commands  uint64 // applied since the start, looks and publications of views included
	Missing   uint64 // the first of them, that are no longer kept
	File      string // of an action: the file that it wrote, began or ended
	All       string // the file that all commands go to; empty: there is none
	AllBytes  int64  // of that file, or of the one that was ended
	AllClosed string // why that file takes nothing more; empty: it does
}
