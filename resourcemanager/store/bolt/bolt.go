package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// DefaultLockTimeout is how long Open waits for another process to let go of the file.
const DefaultLockTimeout = 2 * time.Second

// Options are those of every store and the bolt file's own.
type Options struct {
	store.Options
	LockTimeout time.Duration // 0: DefaultLockTimeout
}

type bolt struct {
	options store.Options
	path    string

	mu     sync.Mutex
	db     *bbolt.DB   // nil once closed
	file   fs.FileInfo // what was opened, to notice that it was replaced
	loaded bool
	broken error // why nothing can be stored any more
}

// Open opens the file, making it and its directory if need be. It fails when
// another process uses the file, when it is not a state store or a damaged one,
// or when its layout has another major version.
func Open(path string, o Options) (store.Store, error) {
	if o.LockTimeout <= 0 {
		o.LockTimeout = DefaultLockTimeout
	}
	db, info, err := open(path, o.LockTimeout)
	if err != nil {
		return nil, fmt.Errorf("open state store %s: %w", path, err)
	}
	b := &bolt{options: o.Options.WithDefaults(), path: path, db: db, file: info}
	if err := guard(func() error { return db.Update(prepare) }); err != nil {
		_ = release(db)
		return nil, fmt.Errorf("open state store %s: %w", path, err)
	}
	return b, nil
}

func open(path string, timeout time.Duration) (db *bbolt.DB, info fs.FileInfo, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	var file *os.File
	openFile := func(name string, flag int, mode fs.FileMode) (f *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	// The list of free pages is stored (the default): to rebuild it, bbolt would
	// walk the file in a goroutine whose panic at a damaged page nobody can catch.
	err = guard(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: timeout, FreelistType: bbolt.FreelistMapType, OpenFile: openFile})
		return err
	})
	switch {
	case errors.Is(err, errDamaged):
		// bbolt has not cleaned up. The mapping that it leaves keeps the lock alive
		// over closing, so the lock is given back by hand.
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		_ = file.Close()
		return nil, nil, err
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, nil, fmt.Errorf("another process has held its lock for %v: is a ResourceManager running already?", timeout)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, nil, fmt.Errorf("not a usable bbolt file (%w): restore a copy, or move it away to start without recovery", err)
	case err != nil:
		return nil, nil, err
	}
	if info, err = secure(path); err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	return db, info, nil
}

// secure sets the mode of a file that was there before and makes the entry of a
// new one in its directory durable.
func secure(path string) (fs.FileInfo, error) {
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// Load implements store.Store.
func (b *bolt) Load(ctx context.Context) (*state.Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.db == nil:
		return nil, store.ErrClosed
	case b.loaded:
		return nil, store.ErrLoaded
	}
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	var snapshot *state.Snapshot
	err := b.update(func(tx *bbolt.Tx) (err error) {
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
	case b.db == nil:
		return store.ErrClosed
	case !b.loaded:
		return store.ErrNotLoaded
	}
	if err := b.usable(ctx); err != nil || len(changes) == 0 {
		return err
	}
	return b.update(func(tx *bbolt.Tx) error { return apply(tx, changes) })
}

// Close implements store.Store.
func (b *bolt) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.db == nil {
		return nil
	}
	db := b.db
	b.db = nil
	if err := release(db); err != nil {
		return fmt.Errorf("close state store %s: %w", b.path, err)
	}
	return nil
}

// usable tells why nothing should be tried.
func (b *bolt) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return &store.UnavailableError{Err: context.Cause(ctx)}
	}
	if b.broken == nil {
		b.broken = b.inPlace()
	}
	if b.broken != nil {
		return &store.UnavailableError{Err: b.broken}
	}
	return nil
}

// inPlace notices a file that was deleted or replaced: what is written to it
// would be gone with the process.
func (b *bolt) inPlace() error {
	info, err := os.Stat(b.path)
	if err != nil {
		return fmt.Errorf("the file in use is gone: %w", err)
	}
	if !os.SameFile(info, b.file) {
		return fmt.Errorf("%s was replaced by another file while in use", b.path)
	}
	return nil
}

// update runs one durable transaction and sorts its errors.
func (b *bolt) update(f func(*bbolt.Tx) error) error {
	err := guard(func() error { return b.db.Update(f) })
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", b.path, err)
	if !passing(err) {
		b.broken = err
	}
	return &store.UnavailableError{Err: err}
}

// passing tells that a transaction failed before anything of it reached the
// file for good, and in a way that time may cure. A failed sync is not passing,
// not even for want of space.
func passing(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write" &&
		(errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}
