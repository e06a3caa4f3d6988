// Package store keeps a NodeManager's records in one file (bbolt), so that its next life finds containers, cache, keys and
// jobs again. It keeps records; what they mean is the engine's affair.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/nodemanager/state"
)

// File is the store's name in yarn.nodemanager.recovery.dir.
const File = "heddle-nodemanager.db"

// lockTimeout is how long Open waits for another process to let go of the file.
const lockTimeout = 2 * time.Second

// releaseTimeout bounds the wait for bbolt to close a file. It takes long only when a panic in a damaged file has left one of
// bbolt's locks held.
const releaseTimeout = 5 * time.Second

var (
	errDamaged = errors.New("it is damaged: move it away to start without recovery")
	errForeign = errors.New("it is a bbolt file, but no NodeManager's store: move it away, or set yarn.nodemanager.recovery.dir to another directory")
)

// reserve is how much room the file has on its disk beyond what it uses, in bytes: records are kept for a while yet when
// there is no other room, because containers have filled the disk. Half of it may be used before more is asked for.
const reserve = 16 << 20

// Store is an open file. It is used by one goroutine at a time.
type Store struct {
	Restored func() // called by Commit when the file was deleted and has been written anew; may be nil

	db   *bbolt.DB
	file *os.File // the db's own
	room int64    // how much of the file is known to be on the disk
}

// Open opens the file in dir, making both if need be. It fails when another process uses the file, when it is no store or a
// damaged one, or when its layout is another one.
func Open(dir string) (*Store, error) { return openWithin(dir, lockTimeout) }

func openWithin(dir string, patience time.Duration) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the recovery store (yarn.nodemanager.recovery.dir): %w", err)
	}
	path := filepath.Join(dir, File)
	db, file, err := open(path, patience)
	if err != nil {
		return nil, fmt.Errorf("open the recovery store %s: %w", path, err)
	}
	if err := guard(func() error { return db.Update(prepare) }); err != nil {
		_ = release(db)
		return nil, fmt.Errorf("open the recovery store %s: %w", path, err)
	}
	s := &Store{db: db, file: file}
	s.makeRoom()
	return s, nil
}

// makeRoom keeps the reserve. Where there is none to be had, or the file system does not know of such, records go as far as
// they go.
func (s *Store) makeRoom() {
	var used int64
	err := s.db.View(func(tx *bbolt.Tx) error {
		used = tx.Size()
		return nil
	})
	if err != nil || s.room-used >= reserve/2 {
		return
	}
	if unix.Fallocate(int(s.file.Fd()), 0, 0, used+reserve) == nil {
		s.room = used + reserve
	}
}

func open(path string, patience time.Duration) (db *bbolt.DB, file *os.File, err error) {
	openFile := func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	// The list of free pages is stored (the default): to rebuild it, bbolt would walk the file in a goroutine whose panic at a
	// damaged page nobody can catch.
	err = guard(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: patience, FreelistType: bbolt.FreelistMapType, OpenFile: openFile})
		return err
	})
	switch {
	case errors.Is(err, errDamaged):
		// bbolt has not cleaned up. The mapping that it leaves keeps the lock alive over closing, so it is given back by hand.
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		_ = file.Close()
		return nil, nil, err
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, nil, fmt.Errorf("another process has held its lock for %v: is a NodeManager running already?", patience)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, nil, fmt.Errorf("%w (%w)", errDamaged, err)
	case err != nil:
		return nil, nil, err
	}
	if err := secure(path); err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	return db, file, nil
}

// secure sets the mode of a file that was there before, which holds keys, and makes the entry of a new one in its directory
// durable.
func secure(path string) error {
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// prepare makes what a new file needs and refuses one that is another program's or release's.
func prepare(tx *bbolt.Tx) error {
	if m := tx.Bucket(meta); m == nil || m.Get(layoutKey) == nil {
		if first, _ := tx.Cursor().First(); first != nil {
			return errForeign
		}
	} else if have := m.Get(layoutKey); !bytes.Equal(have, layout) {
		return fmt.Errorf("its layout is %.20q and this release reads %q: move it away to start without recovery", have, layout)
	}
	for _, name := range [][]byte{meta, containers, ended, applications, resources, parts} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return tx.Bucket(meta).Put(layoutKey, layout)
}

// Close lets the file go.
func (s *Store) Close() error { return release(s.db) }

// Commit makes all changes durable, or none of them. Without any it only looks whether the file is still there. After an error
// that is state.ErrAway it may be called again with the same.
func (s *Store) Commit(ops []state.Op) error {
	if err := s.stay(); err != nil || len(ops) == 0 {
		return err
	}
	return guard(func() error {
		err := s.db.Update(func(tx *bbolt.Tx) error {
			for _, op := range ops {
				if err := apply(tx, op); err != nil {
					return fmt.Errorf("keep %T: %w", op, err)
				}
			}
			return nil
		})
		if err == nil {
			s.makeRoom()
		}
		return err
	})
}

// Load reads everything. A record that cannot be read is reported in Damaged and left out.
func (s *Store) Load() (*state.Snapshot, error) {
	out := &state.Snapshot{Parts: map[string]map[string][]byte{}}
	if err := guard(func() error { return s.db.View(func(tx *bbolt.Tx) error { load(tx, out); return nil }) }); err != nil {
		return nil, fmt.Errorf("read the recovery store %s: %w", s.db.Path(), err)
	}
	return out, nil
}

// guard turns the panics with which bbolt meets a damaged file, and the fault of reading a mapped file that was cut short,
// into errors.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("%w (%v)", errDamaged, panicked)
		}
	}()
	return f()
}

func release(db *bbolt.DB) error {
	done := make(chan error, 1)
	go func() { done <- guard(db.Close) }()
	select {
	case err := <-done:
		return err
	case <-time.After(releaseTimeout):
		return fmt.Errorf("bbolt did not let go of the recovery store within %v; the lock stays until the process ends", releaseTimeout)
	}
}
