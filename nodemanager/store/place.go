package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/nodemanager/state"
)

// stay makes sure that the next life will find the file in use at its path: what is written to one that was deleted is gone
// with the process. A deleted file is written anew, as long as this process has it open. An error is state.ErrAway: nothing is
// lost yet, and another try may help.
func (s *Store) stay() error {
	at := s.file.Path()
	have, err := s.file.Disk().Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(at); err == nil && os.SameFile(have, there) {
			return nil
		}
	}
	switch {
	case err == nil:
		err = errors.New("another file has come in its place while it was in use: move that one away, or end this NodeManager")
	case errors.Is(err, fs.ErrNotExist):
		if err = s.restore(at); err == nil {
			if s.Restored != nil {
				s.Restored()
			}
			return nil
		}
		err = fmt.Errorf("it was deleted while in use, and cannot be written anew: %w", err)
	}
	return fmt.Errorf("%w: %s (yarn.nodemanager.recovery.dir): %w", state.ErrAway, at, err)
}

// restore writes what was deleted to its place again and goes on there.
func (s *Store) restore(at string) error {
	dir := filepath.Dir(at)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, File+".*.tmp")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := errors.Join(s.copyTo(f), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), at); err != nil { // which replaces nothing
		return err
	}
	anew, err := Open(dir) // which makes the new entry durable
	if err != nil {
		return err
	}
	old := s.file
	s.file, s.room = anew.file, anew.room
	return old.Close()
}

// copyTo writes down what is stored, durably. Between commits the file holds all of it.
func (s *Store) copyTo(f *os.File) error {
	return s.file.View(func(tx *sealed.Tx) error {
		if _, err := io.Copy(f, io.NewSectionReader(s.file.Disk(), 0, tx.Size())); err != nil {
			return err
		}
		return f.Sync()
	})
}
