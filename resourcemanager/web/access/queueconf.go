package access

import (
	"context"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// QueueConf is the configuration of the queues as it can be looked at and changed. Every method checks the caller's rights. Refusals are
// *Refused, whose text is the whole answer, or *answer.Error.
type QueueConf interface {
	// Values are all properties as they are kept, by name.
	Values(ctx context.Context, c webgate.Caller) ([]config.Setting, error)
	Version(ctx context.Context, c webgate.Caller) (int64, error)
	// Change stores a change and puts it in force.
	Change(ctx context.Context, c webgate.Caller, m config.Mutation, how Change) error
	// Check tells what Change would make of the properties, and changes nothing.
	Check(ctx context.Context, c webgate.Caller, m config.Mutation) ([]config.Setting, error)
	// Format takes the queue file instead of what is kept.
	Format(ctx context.Context, c webgate.Caller, how Change) error

	// What follows Apache does not have. It is there where the queue file says what the queues are, too.

	History(ctx context.Context, c webgate.Caller) (History, error)
	// Diff is what leads from one configuration to another. Each is a version, or File or InForce.
	Diff(ctx context.Context, c webgate.Caller, from, to string) ([]Difference, error)
	// Apply makes these properties the whole configuration. It returns the version.
	Apply(ctx context.Context, c webgate.Caller, values []config.Setting, how Change) (int64, error)
	// Rollback makes an earlier version the next one. It returns the number of that.
	Rollback(ctx context.Context, c webgate.Caller, version int64, how Change) (int64, error)
	// Plan tells what Apply would change, and changes nothing.
	Plan(ctx context.Context, c webgate.Caller, values []config.Setting) (Plan, error)
	// Confirm keeps a change that would be taken back, and returns its version.
	Confirm(ctx context.Context, c webgate.Caller, how Change) (int64, error)
}

// What Diff knows beside versions.
const (
	File    = "file"     // the queue file as it is now
	InForce = "in-force" // what the scheduler uses
)

// History is what is known of changes. Times are milliseconds since 1970.
type History struct {
	Version  int64
	Mutable  bool // the store says what the queues are, not the queue file
	Versions []Version
	Trial    *Trial
	Refused  []Attempt
	// Drift is what leads from what is in force to the queue file as it is now.
	Drift []Difference
	Lost  string // why the queue file cannot be compared; "" if it was
}

// Version is an accepted change.
type Version struct {
	Number               int64
	User, Source, Reason string
	At                   int64
	Changes              []Difference
}

// Attempt is a refused change.
type Attempt struct {
	User, Why string
	At        int64
}

// Trial is a change that is taken back at the deadline.
type Trial struct {
	Version, Before, Deadline int64
	User                      string
}

// Plan is what a configuration would change.
type Plan struct {
	Version  int64 // that is in force
	Refusal  string
	Changes  []Difference
	Queues   []PlannedQueue // by path and partition; none if it is refused
	Findings []PlanFinding
}

// PlannedQueue is a queue in one partition; nil: it is not there, or has nothing there.
type PlannedQueue struct {
	Path, Label   string
	Before, After *PlannedShare
	Used          yarn.Resource
}

// PlannedShare is what a queue is entitled to. Capacities are percent of the partition.
type PlannedShare struct {
	State                 string
	Min, Max              yarn.Resource
	Capacity, MaxCapacity float32
}

// PlanFinding is something that may be unlike what is expected.
type PlanFinding struct {
	Kind, Queue, Label, Text string
	Applications             []yarn.ApplicationID // the first ones that it is about
}

// Difference is a property with two values; nil: it is not set.
type Difference struct {
	Name     string
	From, To *string
}

// Change says more about a change than what is changed.
type Change struct {
	Expect  int64         // the version that must be in force; 0: any
	Reason  string        // for the history
	Confirm time.Duration // it is taken back unless it is confirmed within this time; 0: it stays
}

// Refused is a refusal that is answered as a line of text.
type Refused struct {
	Status int
	Text   string
}

func (e *Refused) Error() string { return e.Text }
