package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// Store keeps records. Its methods are safe for use by many goroutines and run one
// after the other.
type Store interface {
	// Load takes the store over for this process, stores the next epoch and returns
	// all records. It must succeed once before the first Commit. A record that is as
	// it was written and cannot be used is listed in the snapshot's Quarantined and
	// is no error. A store of which anything is not as it was written is refused,
	// here or when it is opened. Errors: ErrLoaded, ErrClosed, ErrFenced,
	// *DamagedError, *UnavailableError, or another one if the store as a whole cannot
	// be used.
	Load(ctx context.Context) (*state.Snapshot, error)

	// Commit makes all of ops durable, in order, or none of them. Without ops it only
	// tells whether the store is still this process's.
	//
	//	nil                durable
	//	ErrFenced          another ResourceManager owns the store: step down
	//	*PoisonError       op Index can never be stored, and nothing was: commit
	//	                   the others without it, and refuse what needed it
	//	*UnavailableError  may be stored or not: commit the same ops again,
	//	                   which is safe, until a deadline; then step down. It
	//	                   wraps ENOSPC or EDQUOT if the disk is full
	//	*DamagedError      may be stored or not, and no later commit will be:
	//	                   step down
	//	*BatchError        too much for one batch; nothing was stored: halve it
	//	ErrNotLoaded, ErrClosed
	//
	// A cancelled ctx is an *UnavailableError. The records must not be changed
	// until Commit has returned.
	Commit(ctx context.Context, ops []state.Op) error

	// Close releases the store; what was committed stays. It may be repeated.
	Close() error
}

// Contexts is a store of which the submission context of a single application can be
// read again at any time after Load, so that nobody has to keep it in memory.
type Contexts interface {
	// Context is the context that was committed last; nil if there is no such
	// application. Errors: *UnavailableError, *DamagedError, ErrNotLoaded, ErrClosed.
	Context(yarn.ApplicationID) ([]byte, error)
}

// Limits of a batch and of a record.
const (
	MaxOps        = 8192      // changes in one batch
	MaxBatchBytes = 256 << 20 // encoded bytes of one batch
	MaxName       = 1024      // bytes of a record's name within its table
	DefaultRecord = 1 << 20   // encoded bytes of one record, as yarn.resourcemanager.zk-max-znode-size.bytes
)

// Options apply to every kind of store. The zero value is ready for use.
type Options struct {
	Types     yarn.ResourceTypes // nil: memory and vcores alone
	MaxRecord int                // bytes of one record, at most MaxBatchBytes; 0: DefaultRecord
	Epochs    state.Epochs
	Codec     Codec // nil: record.Codec; a store whose form is Hadoop's has its own
	// Read, if not nil, is called for each application that Open or Load reads, before it is added to the snapshot; Snapshot.Made has its results.
	// It may remove the context, so that not all contexts are in memory at once. Several goroutines call it.
	Read func(*state.Application) any
	// Stream, if not nil, carries the applications that are not read when Load returns. Only the bolt store uses it: there, reading them takes most of the
	// time of a restart.
	Stream *Stream
}

// WithDefaults fills in what was left out.
func (o Options) WithDefaults() Options {
	if o.Types == nil {
		o.Types = yarn.BasicResourceTypes()
	}
	if o.MaxRecord <= 0 {
		o.MaxRecord = DefaultRecord
	}
	o.MaxRecord = min(o.MaxRecord, MaxBatchBytes)
	return o
}

// Errors of Load and Commit without further data.
var (
	ErrFenced    = errors.New("state store is owned by another ResourceManager")
	ErrNotLoaded = errors.New("state store must be loaded before the first commit")
	ErrLoaded    = errors.New("state store was loaded already; open it anew to load it again")
	ErrClosed    = errors.New("state store is closed")
)

// PoisonError tells that one change can never be stored, however often it is tried.
type PoisonError struct {
	Index int // position in the ops given to Commit
	Key   state.Key
	Err   error
}

func (e *PoisonError) Error() string {
	return fmt.Sprintf("cannot store %s (change %d of the batch): %v", e.Key, e.Index, e.Err)
}

func (e *PoisonError) Unwrap() error { return e.Err }

// UnavailableError tells that the store did not answer as it should. Whether
// the batch was stored is not known.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "state store is unavailable: " + e.Err.Error() }

func (e *UnavailableError) Unwrap() error { return e.Err }

// DamagedError tells that the store no longer holds what was written to it, and what to do. It is permanent, so an UnavailableError never
// wraps it.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return e.Err.Error() }

func (e *DamagedError) Unwrap() error { return e.Err }

// BatchError tells that a batch has too many changes or bytes.
type BatchError struct{ Ops, Bytes int }

func (e *BatchError) Error() string {
	return fmt.Sprintf("a batch of %d changes and at least %d bytes is larger than %d changes or %d bytes: commit it in parts",
		e.Ops, e.Bytes, MaxOps, MaxBatchBytes)
}

// SizeError is the reason of a PoisonError for a record that is too large.
type SizeError struct{ Size, Limit int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("record of %d bytes is larger than the limit of %d", e.Size, e.Limit)
}
