package shuffle

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stretch is how much of a file is sent under one deadline.
const stretch = 1 << 20

var errChanged = errors.New(dataFile + " has changed since it was checked")

// sender writes the body of an answer. Each write has its own deadline, so that
// a reducer may take long for a large answer but may not stall.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (s *sender) extend() error { return s.control.SetWriteDeadline(time.Now().Add(s.timeout)) }

func (s *sender) write(b []byte) error {
	if err := s.extend(); err != nil {
		return err
	}
	_, err := s.w.Write(b)
	return err
}

// send writes what prepare has left. The status line is sent by the first write.
func (f *fetch) send(w http.ResponseWriter) error {
	out := &sender{w: w, control: http.NewResponseController(w), timeout: f.server.cfg.WriteTimeout}
	for i := range f.rest {
		if err := f.sendPart(out, &f.rest[i]); err != nil {
			return fmt.Errorf("send the output of %s: %w", f.rest[i].attempt, err)
		}
	}
	if err := f.flush(out); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// flush writes the buffer and flushes the connection.
func (f *fetch) flush(out *sender) error {
	err := out.write(f.buf)
	f.server.bytes.Add(uint64(len(f.buf)))
	f.buf = f.buf[:0]
	return errors.Join(err, out.control.Flush())
}

func (f *fetch) sendPart(out *sender, p *part) error {
	if err := f.reopen(p); err != nil {
		return err
	}
	defer f.release(p)
	if len(f.buf)+maxHead+copySize > bufferSize {
		if err := f.flush(out); err != nil {
			return err
		}
	}
	f.buf = append(f.buf, f.headOf(*p)...)
	if p.rec.part <= copySize {
		return f.fill(*p)
	}
	if err := f.flush(out); err != nil {
		return err
	}
	return f.sendFile(out, p)
}

// reopen opens a partition's file again, if prepare could not keep it open.
func (f *fetch) reopen(p *part) error {
	if p.held {
		return nil
	}
	again, err := f.open(p.file.dir, p.attempt, dataFile)
	if err != nil {
		return err
	}
	if again.id != p.file.id {
		again.close()
		return errChanged
	}
	p.file, p.held = again, true
	f.held++
	return nil
}

// sendFile sends a partition without passing it through this process, if the
// connection can do that.
func (f *fetch) sendFile(out *sender, p *part) error {
	in := os.NewFile(uintptr(p.file.fd), dataFile) // owns the descriptor from here on
	p.held = false
	f.held--
	defer in.Close()
	if _, err := in.Seek(p.rec.start, io.SeekStart); err != nil {
		return err
	}
	cache := advice{fd: p.file.fd, next: p.rec.start, end: p.rec.start + p.rec.part, window: f.server.cfg.Readahead}
	var from io.Reader = in
	if f.server.cfg.Copy {
		from = struct{ io.Reader }{in}
	}
	for left := p.rec.part; left > 0; {
		cache.ahead(cache.end - left)
		if err := out.extend(); err != nil {
			return err
		}
		n, err := io.Copy(out.w, io.LimitReader(from, min(left, stretch)))
		f.server.bytes.Add(uint64(n))
		left -= n
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	if f.server.cfg.DropCache {
		cache.drop(p.rec.start)
	}
	return nil
}

// advice tells the kernel which part of a file will be read, and which will not
// be read again. Errors are ignored: it is only advice.
type advice struct {
	fd        int
	next, end int64 // not yet advised
	window    int64
}

func (a *advice) ahead(position int64) {
	if a.window > 0 && a.next < a.end && a.next-position <= a.window/2 {
		n := min(a.window, a.end-a.next)
		_ = unix.Fadvise(a.fd, a.next, n, unix.FADV_WILLNEED)
		a.next += n
	}
}

func (a *advice) drop(start int64) { _ = unix.Fadvise(a.fd, start, a.end-start, unix.FADV_DONTNEED) }
