package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// Options are those of every store and the bolt file's own.
type Options struct {
	store.Options
	LockTimeout time.Duration     // how long Open waits for another process to let go of the file; 0: sealed.DefaultLock
	Warn        func(text string) // takes what is odd and no damage; nil: nobody is told
}

type bolt struct {
	options store.Options
	path    string

	mu     sync.Mutex
	file   *sealed.File // nil once closed
	loaded bool
	broken error // the outcome of all that follows, once nothing can be stored any more
}

// Open opens the file, making it and its directory if need be. It fails when
// another process uses the file, when it is not a state store or a damaged one,
// or when its layout has another major version.
func Open(path string, o Options) (store.Store, error) {
	f, err := sealed.Open(path, o.sealed())
	switch {
	case errors.As(err, new(*sealed.DamageError)), errors.As(err, new(*sealed.HeldError)): // they name the file
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("open state store %s: %w", path, err)
	}
	return &bolt{options: o.WithDefaults(), path: path, file: f}, nil
}

// Check reads the file and tells what is damaged; it changes nothing.
func Check(path string, o Options) (*sealed.Report, error) { return sealed.Check(path, o.sealed()) }

// Repair sets a damaged file aside and writes a new one of what can be read.
func Repair(path string, o Options, now time.Time) (*sealed.Report, error) {
	return sealed.Repair(path, o.sealed(), now)
}

// SetAside takes the file away, so that the next Open makes a new one, and tells
// under which name it is kept.
func SetAside(path string, o Options, now time.Time) (aside string, err error) {
	return sealed.SetAside(path, o.sealed(), now)
}

// Load implements store.Store.
func (b *bolt) Load(ctx context.Context) (*state.Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.file == nil:
		return nil, store.ErrClosed
	case b.loaded:
		return nil, store.ErrLoaded
	}
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	var snapshot *state.Snapshot
	err := b.update(func(tx *sealed.Tx) (err error) {
		snapshot, err = load(tx, b.options)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.loaded = true
	return snapshot, nil
}

// Commit implements store.Store.
func (b *bolt) Commit(ctx context.Context, ops []state.Op) error {
	changes, err := b.options.Changes(ops)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
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

// usable tells why nothing should be tried. A file that was moved away is used
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

// update runs one durable transaction and sorts its errors.
func (b *bolt) update(f func(*sealed.Tx) error) error {
	err := b.file.Update(f)
	if err == nil {
		return nil
	}
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

// passing tells that a transaction failed before anything of it reached the
// file for good, and in a way that time may cure. A failed sync is not passing,
// not even for want of space.
func passing(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write" &&
		(errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}
