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
	w := &hdfsWriter{h: h, path: file}
	err := h.do("create", file, func() (err error) {
		var replication int
		if replication, w.block, err = h.layout(); err == nil {
			err = w.checkBlock()
		}
		if err == nil {
			w.f, err = h.client.CreateFile(file, replication, w.block, hdfsMode(mode))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Append implements Appender.
func (h *hadoop) Append(file string) (io.WriteCloser, error) {
	w := &hdfsWriter{h: h, path: file}
	err := h.do("append", file, func() error {
		at, err := h.client.Stat(file)
		if err != nil {
			return err
		}
		status, _ := at.Sys().(*hdfs.FileStatus)
		w.at, w.block = at.Size(), int64(status.GetBlocksize())
		if err = w.checkBlock(); err == nil {
			w.f, err = h.client.Append(file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

type hdfsWriter struct {
	f      *hdfs.FileWriter
	h      *hadoop
	path   string
	at     int64 // bytes in the file
	block  int64 // bytes of a full block
	full   bool  // the last block has been filled by this writer
	closed bool
}

func (w *hdfsWriter) checkBlock() error {
	if w.block <= 0 {
		return fmt.Errorf("the namenode says that a block has %d bytes", w.block)
	}
	return nil
}

// Write skips empty writes: the library would begin a block that never gets any data, and the file could not be closed.
func (w *hdfsWriter) Write(p []byte) (n int, err error) {
	for err == nil && len(p) > 0 {
		if w.full {
			if err = w.nextBlock(); err != nil {
				return n, err
			}
		}
		part := p[:min(int64(len(p)), w.block-w.at%w.block)]
		var wrote int
		err = w.h.do("write", w.path, func() (err error) {
			if err = w.h.inClear(); err == nil {
				wrote, err = w.f.Write(part)
			}
			return err
		})
		n, w.at, p = n+wrote, w.at+int64(wrote), p[wrote:]
		w.full = wrote > 0 && w.at%w.block == 0
	}
	return n, err
}

// nextBlock closes the file after a full block and opens it again at its end. The library would ask for the next block at once, and a namenode refuses that as long as
// no datanode has told it of the block before the last one; once refused, the library can neither go on nor close the file.
func (w *hdfsWriter) nextBlock() error {
	if err := w.insist("close", w.f.Close); err != nil {
		return err
	}
	return w.insist("append", func() (err error) {
		w.f, err = w.h.client.Append(w.path)
		return err
	})
}

// How often and how long a writer asks a namenode that has not heard of the last block yet: 25 s in all.
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
	return w.insist("close", w.f.Close)
}

// insist repeats a call as long as the namenode has not heard of the last block.
func (w *hdfsWriter) insist(op string, call func() error) error {
	err := w.h.do(op, w.path, call)
	for try := 0; (errors.Is(err, hdfs.ErrReplicating) || errors.Is(err, errLater)) && try < closeTries; try++ {
		select {
		case <-w.h.ctx.Done():
		case <-time.After(closePause << try):
		}
		err = w.h.do(op, w.path, call)
	}
	return err
}
