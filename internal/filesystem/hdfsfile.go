package filesystem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/colinmarc/hdfs/v2"
)

func (h *hadoop) Open(file string) (io.ReadCloser, error) {
	var f *hdfs.FileReader
	err := h.do("open", file, func() (err error) {
		if f, err = h.client.Open(file); err == nil && f.Stat().IsDir() {
			err = errors.New("it is a directory")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &hdfsReader{f, h, file, f.Stat().Size()}, nil
}

type hdfsReader struct {
	f    *hdfs.FileReader
	h    *hadoop
	path string
	left int64
}

// Read counts for itself: the library passes on the end of a connection as if it were the end of the file.
func (r *hdfsReader) Read(p []byte) (n int, err error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	err = r.h.do("read", r.path, func() (err error) {
		if err = r.h.inClear(); err == nil {
			n, err = r.f.Read(p)
		}
		return err
	})
	if r.left -= int64(n); n > 0 {
		err = nil // it comes again
	}
	return n, err
}

// Seek may go beyond the end, where there is nothing to read.
func (r *hdfsReader) Seek(offset int64, whence int) (int64, error) {
	size := r.f.Stat().Size()
	switch whence {
	case io.SeekCurrent:
		offset += size - r.left
	case io.SeekEnd:
		offset += size
	}
	if offset < 0 {
		return 0, fmt.Errorf("cannot seek in %s: the position %d is before its beginning", r.path, offset)
	}
	if r.left = size - offset; r.left <= 0 {
		return offset, nil
	}
	return offset, r.h.do("seek", r.path, func() error {
		_, err := r.f.Seek(offset, io.SeekStart)
		return err
	})
}

func (r *hdfsReader) Close() error { return r.f.Close() }

func (h *hadoop) Create(file string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	if overwrite {
		if err := h.Remove(file); err != nil {
			return nil, err
		}
	}
	var f *hdfs.FileWriter
	err := h.do("create", file, func() error {
		replication, block, err := h.layout()
		if err == nil {
			f, err = h.client.CreateFile(file, replication, block, hdfsMode(mode))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &hdfsWriter{f: f, h: h, path: file}, nil
}

// Append implements Appender.
func (h *hadoop) Append(file string) (io.WriteCloser, error) {
	var f *hdfs.FileWriter
	err := h.do("append", file, func() (err error) {
		f, err = h.client.Append(file)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &hdfsWriter{f: f, h: h, path: file}, nil
}

type hdfsWriter struct {
	f      *hdfs.FileWriter
	h      *hadoop
	path   string
	closed bool
}

// Write skips empty writes: the library would begin a block that never gets any data, and the file could not be closed.
func (w *hdfsWriter) Write(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	err = w.h.do("write", w.path, func() (err error) {
		if err = w.h.inClear(); err == nil {
			n, err = w.f.Write(p)
		}
		return err
	})
	return n, err
}

// How often and how long Close asks a namenode that has not heard of the last block yet: 25 s in all.
const (
	closeTries = 9
	closePause = 50 * time.Millisecond // doubled each time
)

// Close waits until the namenode has the whole file, as Java's client does.
func (w *hdfsWriter) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.h.do("close", w.path, w.f.Close)
	for try := 0; errors.Is(err, hdfs.ErrReplicating) && try < closeTries; try++ {
		select {
		case <-w.h.ctx.Done():
		case <-time.After(closePause << try):
		}
		err = w.h.do("close", w.path, w.f.Close)
	}
	return err
}
