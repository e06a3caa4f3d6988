package compare

import (
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of a workload.
const (
	MaxEvents       = 50_000_000 // heartbeats included
	MaxApplications = 1_000_000
	MaxNodes        = engine.MaxNodes
)

// Workload is what happens to a cluster whoever schedules. Times are milliseconds since its first event.
type Workload struct {
	Name    string          // of the file
	Trace   bool            // a trace: a heartbeat, and not a second, is the unit of its time
	Updates bool            // of a trace: its events say when the FairScheduler computes shares
	Begun   blackbox.Header // settings and configuration of the ResourceManager that was recorded
	Start   yarn.Now        // time of the first event
	Length  int64           // time of the last one
	Nodes   []yarn.NodeID
	Apps    []*App // as submitted
	Events  []Event
	Notes   []string // what of the recording is left out, and what is odd about it
}

// Kind is what happens in an event.
type Kind uint8

// The kinds of events.
const (
	Beat    Kind = iota // a node calls
	Join                // a node registers
	Submit              // an application is submitted
	Change              // somebody else than its master does something to an application
	Literal             // the command as it was recorded
)

// Event is one event of a workload.
type Event struct {
	At      int64
	Kind    Kind
	Sick    bool           // of Beat: the node says that it is unhealthy
	Index   int32          // of Nodes for Beat and Join, of Apps for Submit and Change
	Command engine.Command // of Join, Change and Literal; of Beat when the node names its labels
}

// App is an application as it was submitted, and what its masters did.
type App struct {
	Name  string // the trace's name, or the id
	At    int64
	Sub   engine.Submission
	Plans []*Plan // of its attempts; none: no master of it ever registered
	Began int64   // milliseconds from its submission to its first master's container, or Never
}

// Plan is what the master of an attempt does.
type Plan struct {
	Boot  int64 // milliseconds from its container to its registration
	Every int64 // milliseconds between its calls
	Steps []Step
	Runs  []Run // how long its containers ran, in the order in which it got them
}

// Step is something that a master does once some of its containers have ended.
type Step struct {
	After int   // containers that have ended; 0: it follows the registration
	Delay int64 // milliseconds since then

	Asks                          []yarn.Ask // Count is by how much the ask changes
	BlacklistAdd, BlacklistRemove []string

	Finish bool // the master unregisters with Final
	Final  yarn.FinalStatus
	Crash  bool // the master's container ends with Exit
	Exit   int32
}

// Forever is the time of a container that runs until its application ends.
const Forever = -1

// Kin are containers that serve the same asks.
type Kin struct {
	Priority  int32
	RequestID int64
}

// Run is a container as it was recorded.
type Run struct {
	Kin
	Time int64 // milliseconds, or Forever
}
