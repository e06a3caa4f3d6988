// Package store keeps a NodeManager's records in one file (bbolt), so that its next life finds containers, cache, keys and
// jobs again. It keeps records; what they mean is the engine's affair.
package store

import (
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/nodemanager/state"
)

// File is the store's name in yarn.nodemanager.recovery.dir.
const File = "heddle-nodemanager.db"

// reserve is how much room the file has on its disk beyond what it uses, in bytes: records are kept for a while yet when
// there is no other room, because containers have filled the disk. Half of it may be used before more is asked for.
const reserve = 16 << 20

// Store is an open file. It is used by one goroutine at a time.
type Store struct {
	Restored func() // called by Commit when the file was deleted and has been written anew; may be nil

	file *sealed.File
	room int64 // how much of the file is known to be on the disk
	odd  []string
}

// Odd lists what was unusual about the file when it was opened, damage apart.
func (s *Store) Odd() []string { return s.odd }

// Open opens the file in dir, making both if need be. It fails when another process uses the file, when it is no store or a
// damaged one, or when its layout is another one.
func Open(dir string) (*Store, error) { return openWithin(dir, sealed.DefaultLock) }

func openWithin(dir string, patience time.Duration) (*Store, error) {
	s := &Store{}
	path := filepath.Join(dir, File)
	o := options()
	o.Lock = patience
	o.Warn = func(text string) { s.odd = append(s.odd, text) }
	var err error
	if s.file, err = sealed.Open(path, o); err != nil {
		return nil, fmt.Errorf("cannot open the recovery store %s (yarn.nodemanager.recovery.dir): %w", path, err)
	}
	s.makeRoom()
	return s, nil
}

// Check reads the file in dir and tells what is damaged; it changes nothing.
func Check(dir string) (*sealed.Report, error) {
	return sealed.Check(filepath.Join(dir, File), options())
}

// Repair sets a damaged file aside and writes a new one of what can be read.
func Repair(dir string, now time.Time) (*sealed.Report, error) {
	return sealed.Repair(filepath.Join(dir, File), options(), now)
}

// makeRoom keeps the reserve. If there is no room for it, or the file system cannot reserve any, records are written as long as
// possible.
func (s *Store) makeRoom() {
	var used int64
	err := s.file.View(func(tx *sealed.Tx) error {
		used = tx.Size()
		return nil
	})
	if err != nil || s.room-used >= reserve/2 {
		return
	}
	if unix.Fallocate(int(s.file.Disk().Fd()), 0, 0, used+reserve) == nil {
		s.room = used + reserve
	}
}

// Close closes the file.
func (s *Store) Close() error { return s.file.Close() }

// Commit makes all changes durable, or none of them. Without any it only looks whether the file is still there. After an error
// that is state.ErrAway it may be called again with the same.
func (s *Store) Commit(ops []state.Op) error {
	if err := s.stay(); err != nil || len(ops) == 0 {
		return err
	}
	err := s.file.Update(func(tx *sealed.Tx) error {
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
}

// Load reads everything. A record that is as it was written and cannot be used is reported in Damaged and left out.
func (s *Store) Load() (*state.Snapshot, error) {
	out := &state.Snapshot{Parts: map[string]map[string][]byte{}}
	if err := s.file.View(func(tx *sealed.Tx) error { return load(tx, out) }); err != nil {
		return nil, fmt.Errorf("read the recovery store: %w", err)
	}
	return out, nil
}
