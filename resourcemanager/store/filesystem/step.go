package filesystem

import (
	"io"
	"io/fs"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// stepped is a file system each of whose changes asks first.
type stepped struct {
	filesystem.FileSystem
	before func(op, path, to string) error
}

func (s stepped) Create(path string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	if err := s.before("create", path, ""); err != nil {
		return nil, err
	}
	w, err := s.FileSystem.Create(path, mode, overwrite)
	if err != nil {
		return nil, err
	}
	return halting{w, func() error { return s.before("write", path, "") }}, nil
}

// halting is a file whose writing ends in the middle if it may not go on.
type halting struct {
	io.WriteCloser
	before func() error
}

func (h halting) Write(b []byte) (int, error) {
	if err := h.before(); err != nil {
		n, _ := h.WriteCloser.Write(b[:len(b)/2])
		return n, err
	}
	return h.WriteCloser.Write(b)
}

func (s stepped) MkdirAll(path string, mode fs.FileMode) error {
	if err := s.before("make", path, ""); err != nil {
		return err
	}
	return s.FileSystem.MkdirAll(path, mode)
}

func (s stepped) Rename(from, to string) error {
	if err := s.before("rename", from, to); err != nil {
		return err
	}
	return s.FileSystem.Rename(from, to)
}

func (s stepped) Remove(path string) error {
	if err := s.before("remove", path, ""); err != nil {
		return err
	}
	return s.FileSystem.Remove(path)
}
