package zookeeper

import (
	"context"
	"errors"
	"fmt"
)

// Conn is one session with ZooKeeper, and the next one once it has expired. Its methods
// are safe for use by many goroutines. Paths are absolute; a chroot of the address is put
// before them. A call whose ctx ends may be carried out or not, and is an error that
// wraps the cause of ctx. All errors name the call and the path and wrap one of the
// errors of this package where it is known.
type Conn interface {
	// Create makes a node and returns its name, which differs from path if mode is a
	// sequential one. Nil data is null, as Hadoop gives its directories.
	Create(ctx context.Context, path string, data []byte, mode Mode, acl []ACL) (string, error)
	// Set replaces the data of a node; version is AnyVersion or the one it must have.
	Set(ctx context.Context, path string, data []byte, version int32) (Stat, error)
	// Delete removes a node without children.
	Delete(ctx context.Context, path string, version int32) error
	Get(ctx context.Context, path string) ([]byte, Stat, error)
	// Children are the names of a node's children, in no order.
	Children(ctx context.Context, path string) ([]string, Stat, error)
	Exists(ctx context.Context, path string) (bool, Stat, error)
	GetACL(ctx context.Context, path string) ([]ACL, Stat, error)
	SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error)

	// The Watch calls leave a watch as well, which sends one event and is used up: the
	// channel is closed after it. It also sends an event when the session has expired
	// or the connection was closed.
	GetWatch(ctx context.Context, path string) ([]byte, Stat, <-chan Event, error)
	ChildrenWatch(ctx context.Context, path string) ([]string, Stat, <-chan Event, error)
	ExistsWatch(ctx context.Context, path string) (bool, Stat, <-chan Event, error)

	// WatchAll has told hear of every node at path and below it that is made, changed or
	// removed from now on. Whatever this connection answers from then on comes after what
	// has changed until then is told. It ends with the connection to the server: the
	// last event is a NotWatching one. It replaces an earlier one. told is called by one
	// goroutine, must not wait, and must not use the connection. ErrUnsupported: the
	// server is older than 3.6.
	WatchAll(ctx context.Context, path string, told func(Event)) error

	// Multi carries out all ops, in order, or none of them: then its error is a
	// *MultiError, unless the outcome is not known.
	Multi(ctx context.Context, ops ...Op) error

	// Sync makes the server that answers catch up with the leader.
	Sync(ctx context.Context, path string) error
	// SessionID is that of the present session; 0: none yet, or none any more.
	SessionID() int64
	// Close ends the session, and with it its ephemeral nodes.
	Close()
}

// AnyVersion makes a change whatever version a node has.
const AnyVersion = -1

// Stat is what ZooKeeper tells about a node.
type Stat struct {
	Version, ChildrenVersion, ACLVersion int32
	Owner                                int64 // session of an ephemeral node, else 0
	Size                                 int32 // bytes of data
	Children                             int32 // how many
	Created, Modified                    int64 // transaction ids
}

// Mode is how long a node lives, and whether its name is numbered.
type Mode int32

// The modes, as on the wire.
const (
	Persistent           Mode = 0
	Ephemeral            Mode = 1
	PersistentSequential Mode = 2
	EphemeralSequential  Mode = 3
)

// State is what has become of the session.
type State int

// The states of a session.
const (
	Disconnected State = iota // from the servers; the session may go on elsewhere
	Connected                 // in a session, the same as before or a new one
	Expired                   // the session and its ephemeral nodes are gone; a new one will be made
	AuthFailed                // the credentials were refused
)

func (s State) String() string {
	switch s {
	case Disconnected:
		return "disconnected"
	case Connected:
		return "connected"
	case Expired:
		return "expired"
	case AuthFailed:
		return "credentials refused"
	}
	return fmt.Sprintf("state %d", int(s))
}

// Event is what a watch has seen.
type Event struct {
	Kind EventKind
	Path string
	Err  error // of a NotWatching event: why the watch has ended
}

// EventKind is the kind of an Event.
type EventKind int

// The kinds of events.
const (
	NodeCreated EventKind = iota + 1
	NodeDeleted
	DataChanged
	ChildrenChanged
	NotWatching // the watch has ended without having seen anything
)

// Op is one change of a Multi.
type Op struct {
	Kind    OpKind
	Path    string
	Data    []byte // of a create or set
	Mode    Mode   // of a create
	ACL     []ACL  // of a create
	Version int32  // of a set, delete or check
}

// OpKind is the kind of an Op.
type OpKind int

// The kinds of changes of a Multi.
const (
	OpCreate OpKind = iota + 1
	OpSet
	OpDelete
	OpCheck // the node exists, and has the version
)

func (k OpKind) String() string {
	switch k {
	case OpCreate:
		return "create"
	case OpSet:
		return "set"
	case OpDelete:
		return "delete"
	case OpCheck:
		return "check"
	}
	return fmt.Sprintf("operation %d", int(k))
}

// CreateOp makes a persistent node.
func CreateOp(path string, data []byte, acl []ACL) Op {
	return Op{Kind: OpCreate, Path: path, Data: data, ACL: acl}
}

// SetOp replaces the data of a node.
func SetOp(path string, data []byte) Op {
	return Op{Kind: OpSet, Path: path, Data: data, Version: AnyVersion}
}

// DeleteOp removes a node.
func DeleteOp(path string) Op { return Op{Kind: OpDelete, Path: path, Version: AnyVersion} }

// MultiError tells which op of a Multi was refused; none was carried out.
type MultiError struct {
	Index int
	Op    Op
	Err   error
}

func (e *MultiError) Error() string {
	return fmt.Sprintf("%s %s (change %d of a transaction): %v", e.Op.Kind, e.Op.Path, e.Index, e.Err)
}

func (e *MultiError) Unwrap() error { return e.Err }

// The errors that others decide by.
var (
	ErrNoNode         = errors.New("there is no such node")
	ErrNodeExists     = errors.New("the node exists already")
	ErrNoAuth         = errors.New("the access list of the node does not allow it")
	ErrBadVersion     = errors.New("the node has another version")
	ErrNotEmpty       = errors.New("the node has children")
	ErrEphemeral      = errors.New("an ephemeral node cannot have children")
	ErrInvalidACL     = errors.New("the access list is not valid")
	ErrAuthFailed     = errors.New("the credentials were refused")
	ErrSessionExpired = errors.New("the session has expired")
	ErrConnection     = errors.New("the connection was lost or there is none; the change may be made or not")
	ErrClosed         = errors.New("the connection was closed here")
	ErrTooLarge       = errors.New("the request is larger than the connection allows")
)

// Lost tells whether a call may be tried again as it is: it was lost with the
// connection or with the session.
func Lost(err error) bool {
	return errors.Is(err, ErrConnection) || errors.Is(err, ErrSessionExpired)
}
