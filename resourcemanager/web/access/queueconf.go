package access

import (
	"context"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/scheduler/config"
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
