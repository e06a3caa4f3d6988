// Package access is what the ResourceManager's web server needs from the rest
// of the daemon: something to read, something that changes applications, and
// who is asking. The daemon implements Source and Controller; rest, ui and proxy
// use them.
package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Caller is who asks.
type Caller struct {
	User      string // the authenticated name, or the static user's (dr.who)
	Anonymous bool   // nobody authenticated: may read, not change
	Address   string // the peer's IP address, for diagnostics and the audit log
}

// Source is what can be read. All of it is immutable; nothing waits for the
// scheduler. Errors are *Error where the caller can do something about them;
// any other error is shown as 503.
type Source interface {
	Cluster(context.Context) (*view.Cluster, error)
	// Application is one application. The error is of kind NotFound when there
	// is none with that id.
	Application(context.Context, yarn.ApplicationID) (*view.Application, error)
	Queues(context.Context) (*queue.Snapshot, error)
	Daemon(context.Context) Daemon

	// MayView tells whether the details of an application may be shown:
	// VIEW_APP, or administration of its queue. Always true without
	// yarn.acl.enable.
	MayView(Caller, *view.Application) bool
}

// Daemon is the state of this ResourceManager itself.
type Daemon struct {
	StartedAt  int64  // milliseconds since 1970
	State      string // STARTED
	HAState    string // ACTIVE, STANDBY
	Store      string // Java class name of the state store, as /info shows it
	Connection string // state of the connection to the election's ZooKeeper
	LoginUser  string // whom the daemon runs as
	Scheduler  string // "Capacity Scheduler", as the overview shows it
}

// Controller changes applications. Every method checks the caller's rights
// itself and returns once the change is durable; refusals are *Error.
type Controller interface {
	// Kill asks for an application's end. completed tells whether a final state
	// is stored; false promises nothing, and the caller asks again.
	Kill(ctx context.Context, c Caller, id yarn.ApplicationID, diagnostics string) (completed bool, err error)
	// Move takes an application to another queue and returns the full path.
	Move(ctx context.Context, c Caller, id yarn.ApplicationID, queue string) (path string, err error)
	// SetPriority returns the priority in force, which may be clipped.
	SetPriority(ctx context.Context, c Caller, id yarn.ApplicationID, priority int32) (int32, error)
	// SetLifetime sets when an application is killed, in milliseconds since
	// 1970, and returns the deadline in force; 0 means none.
	SetLifetime(ctx context.Context, c Caller, id yarn.ApplicationID, expireAt int64) (int64, error)
	// NewApplication takes the next id, and says what one container may have at most.
	NewApplication(ctx context.Context, c Caller) (yarn.ApplicationID, yarn.Resource, error)
}

// Kind is the kind of a refusal; each has one HTTP status.
type Kind uint8

// The kinds of refusals.
const (
	Unavailable  Kind = iota // 503: not active, or too slow
	Invalid                  // 400
	Unauthorized             // 401: an ACL says no (AuthorizationException)
	Forbidden                // 403
	NotFound                 // 404
	WrongState               // 400 in Hadoop: not possible in the application's state
	NotBuilt                 // 501: this version does not have it
)

// Error is a refusal with a text for the caller.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Errorf is a refusal.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}

// KindOf is the kind of an error; Unavailable if it is no refusal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unavailable
}

type callerKey struct{}

// WithCaller is a context that carries who asks.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From is who asks. Without WithCaller it is an anonymous caller without a
// name, who may do nothing that needs rights.
func From(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(Caller); ok {
		return c
	}
	return Caller{Anonymous: true}
}
