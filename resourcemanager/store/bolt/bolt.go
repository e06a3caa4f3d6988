package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/yarn"
)

// Options are those of every store and of this one.
type Options struct {
	store.Options
	LockTimeout time.Duration     // how long Open waits for another process to close the file; 0: sealed.DefaultLock
	Warn        func(text string) // takes warnings about what is odd but no damage; nil: they are dropped
}

// Store is an open file.
type Store interface {
	store.Store
	store.Contexts
}

type bolt struct {
	options store.Options
	path    string

	mu     sync.Mutex
	file   *sealed.File  // nil once closed
	found  *store.Reader // what was in the file when it was opened; nil once loaded
	epoch  []byte        // likewise: that of this start, as it is stored; nil: it is not
	values []byte        // memory for those of a commit
	loaded bool
	broken error // the outcome of every later call, once nothing can be stored any more; else nil

	version []byte // of the layout, as it is stored; nil: it is not
	ahead   *ahead // nil: Open reads all
}

// keepValues bounds the memory for values that is kept from one commit to the next, in bytes.
const keepValues = 4 << 20

// Open opens the file, and makes it and its directory if need be. It fails if another
// process uses the file, if it is damaged or no state store, or if its layout has a
// major version that this program does not read.
func Open(path string, o Options) (Store, error) {
	b := &bolt{options: o.WithDefaults(), path: path}
	b.found = b.options.Reader(0)
	how := o.sealed()
	how.Each = b.find
	if o.Stream != nil {
		return b.openAhead(how)
	}
	if err := b.open(how); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *bolt) open(how sealed.Options) error {
	f, err := sealed.Open(b.path, how)
	switch {
	case errors.As(err, new(*sealed.DamageError)), errors.As(err, new(*sealed.HeldError)): // they name the file
		return err
	case err != nil:
		return fmt.Errorf("open state store %s: %w", b.path, err)
	}
	b.file = f
	return nil
}

// find takes a record of the file while that is opened. Nobody can change it until it is loaded.
func (b *bolt) find(bucket string, name, value []byte) {
	switch table := state.Table(bucket); {
	case bucket == ownBucket:
		switch string(name) {
		case epochKey:
			b.epoch = bytes.Clone(value)
		case versionKey:
			b.version = bytes.Clone(value)
		}
	case table == state.Applications:
		b.found.AddApplication(name, value)
	case slices.Contains(state.Tables(), table):
		b.found.Add(state.Key{Table: table, Name: string(name)}, value)
	}
}

// Check reads the file and reports what is damaged; it changes nothing.
func Check(path string, o Options) (*sealed.Report, error) { return sealed.Check(path, o.sealed()) }

// Repair renames a damaged file and writes a new one of what can be read.
func Repair(path string, o Options, now time.Time) (*sealed.Report, error) {
	return sealed.Repair(path, o.sealed(), now)
}

// SetAside renames the file, so that the next Open makes a new one. aside is the name
// under which it is kept.
func SetAside(path string, o Options, now time.Time) (aside string, err error) {
	return sealed.SetAside(path, o.sealed(), now)
}

// Load implements store.Store.
func (b *bolt) Load(ctx context.Context) (*state.Snapshot, error) {
	if b.ahead != nil {
		return b.ahead.load(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.file == nil:
		return nil, store.ErrClosed
	case b.loaded:
		return nil, store.ErrLoaded
	}
	snapshot, err := b.snapshot()
	if err != nil {
		return nil, b.outcome(err)
	}
	if err := b.begin(ctx, snapshot.Epoch); err != nil {
		return nil, err
	}
	return snapshot, nil
}

// snapshot is what was found.
func (b *bolt) snapshot() (s *state.Snapshot, err error) {
	s = b.found.Snapshot()
	s.Epoch, err = epochOf(b.epoch, b.options.Epochs, s)
	return s, err
}

// begin stores the next epoch. From then on the store is loaded.
func (b *bolt) begin(ctx context.Context, epoch int64) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	if err := b.update(func(tx *sealed.Tx) error { return begin(tx, b.options.Epochs, epoch) }); err != nil {
		return err
	}
	b.loaded, b.found = true, nil
	return nil
}

// Context implements store.Contexts.
func (b *bolt) Context(id yarn.ApplicationID) ([]byte, error) {
	if err := b.ahead.wait(context.Background()); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.file == nil:
		return nil, store.ErrClosed
	case !b.loaded:
		return nil, store.ErrNotLoaded
	case b.broken != nil:
		return nil, b.broken
	}
	var app state.Application
	err := b.file.View(func(tx *sealed.Tx) (err error) {
		app, err = application(tx, b.options, id)
		return err
	})
	if err != nil {
		return nil, b.outcome(err)
	}
	return app.Context, nil
}

// Commit implements store.Store.
func (b *bolt) Commit(ctx context.Context, ops []state.Op) error {
	if err := b.ahead.wait(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	values := b.values[:0]
	changes, err := b.options.ChangesIn(&values, ops)
	if cap(values) <= keepValues {
		b.values = values // a transaction that has ended refers to them no more
	}
	if err != nil {
		return err
	}
	switch {
	case b.file == nil:
		return store.ErrClosed
	case !b.loaded:
		return store.ErrNotLoaded
	}
	if err := b.usable(ctx); err != nil || len(changes) == 0 {
		return err
	}
	return b.update(func(tx *sealed.Tx) error { return apply(tx, changes) })
}

// Close implements store.Store.
func (b *bolt) Close() error {
	b.ahead.stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return nil
	}
	file := b.file
	b.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("close state store %s: %w", b.path, err)
	}
	return nil
}

// usable is an error if nothing can be stored now. A file that was moved away is used
// again once it is back.
func (b *bolt) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return &store.UnavailableError{Err: context.Cause(ctx)}
	}
	if b.broken != nil {
		return b.broken
	}
	if err := b.file.InPlace(); err != nil {
		return &store.UnavailableError{Err: err}
	}
	return nil
}

// update runs one durable transaction and makes an outcome of its error.
func (b *bolt) update(f func(*sealed.Tx) error) error {
	if err := b.file.Update(f); err != nil {
		return b.outcome(err)
	}
	return nil
}

func (b *bolt) outcome(err error) error {
	err = fmt.Errorf("%s: %w", b.path, err)
	var outcome error = &store.UnavailableError{Err: err}
	if errors.Is(err, sealed.ErrDamaged) {
		outcome = &store.DamagedError{Err: fmt.Errorf("%w. %s", err, advice)}
	}
	if !passing(err) {
		b.broken = outcome
	}
	return outcome
}

// passing tells whether a transaction may succeed later: a write failed for want of
// space, before the transaction was in force. A failed sync is not passing, not even
// for want of space.
func passing(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write" &&
		(errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}
