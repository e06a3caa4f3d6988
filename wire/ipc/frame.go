package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

var errHeld = errors.New("unanswered requests hold too much memory")

// frames reads frames from a socket. It sets read deadlines itself: idle for
// the first byte of a frame, frameTime from then to its last.
type frames struct {
	sock   *socket
	in     *buffer // bytes received and not yet returned; nil when there are none
	r      int     // offset into in
	budget *budget // for frames above keepSize; nil: unbounded

	frameTime time.Duration
	// until, when set, is the deadline of everything: the handshake.
	until time.Time
	// idle is how long to wait for a frame to begin; 0: for ever.
	idle time.Duration

	armed   deadline
	armedAt time.Time
	begun   bool  // the current frame's deadline is set
	got     int64 // bytes received
}

// deadline tells which deadline is set on the socket.
type deadline uint8

const (
	deadlineNone deadline = iota
	deadlineUntil
	deadlineIdle
	deadlineFrame
)

// buffered is what has arrived and was not returned.
func (f *frames) buffered() []byte {
	if f.in == nil {
		return nil
	}
	return f.in.b[f.r:]
}

// more reports whether next can return without reading.
func (f *frames) more() bool {
	b := f.buffered()
	return len(b) >= 4 && uint64(len(b)-4) >= uint64(binary.BigEndian.Uint32(b))
}

// next returns one frame without its length, and the buffer that it lies in,
// which the caller then owns. The error is io.EOF only between frames.
func (f *frames) next(limit int) (*buffer, []byte, error) {
	f.begun = false
	if err := f.need(4); err != nil {
		return nil, nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(f.buffered())))
	if n < 0 || n > limit {
		return nil, nil, fmt.Errorf("frame of %d bytes, at most %d are allowed here", n, limit)
	}
	if have := len(f.buffered()) - 4; have == n { // the usual case: hand the buffer over
		b, at := f.in, f.r+4
		f.in, f.r = nil, 0
		return b, b.b[at:], nil
	}
	f.r += 4
	b := newBuffer()
	if err := f.fill(b, n); err != nil {
		b.free()
		return nil, nil, err
	}
	return b, b.b, nil
}

// need waits until n (a few) bytes are buffered in one piece.
func (f *frames) need(n int) error {
	for len(f.buffered()) < n {
		have := f.buffered()
		if err := f.arm(len(have) > 0); err != nil {
			return err
		}
		b, err := f.sock.receive()
		if err != nil {
			return unexpected(err, len(have) > 0)
		}
		f.got += int64(len(b.b))
		if len(have) == 0 {
			f.drop()
			f.in = b
			continue
		}
		joined := newBuffer()
		joined.b = append(append(joined.b, have...), b.b...)
		b.free()
		f.drop()
		f.in = joined
	}
	return nil
}

// fill moves n bytes into b, first what is buffered and then from the socket.
func (f *frames) fill(b *buffer, n int) error {
	take := min(n, len(f.buffered()))
	for moved := 0; moved < take; {
		if !b.grow(n, f.budget) {
			return errHeld
		}
		k := copy(b.b[len(b.b):min(cap(b.b), n)], f.buffered()[:take-moved])
		b.b = b.b[:len(b.b)+k]
		f.r += k
		moved += k
	}
	if len(f.buffered()) == 0 {
		f.drop()
	}
	for len(b.b) < n {
		if !b.grow(n, f.budget) {
			return errHeld
		}
		if err := f.arm(true); err != nil {
			return err
		}
		k, err := f.sock.Read(b.b[len(b.b):min(cap(b.b), n)])
		b.b = b.b[:len(b.b)+k]
		f.got += int64(k)
		if err != nil && len(b.b) < n {
			return unexpected(err, true)
		}
	}
	return nil
}

// drop returns the input buffer. Its owner calls it once more at the end.
func (f *frames) drop() {
	f.in.free()
	f.in, f.r = nil, 0
}

// arm sets the deadline that is due for the next read, if it is not set yet.
func (f *frames) arm(inFrame bool) error {
	switch {
	case !f.until.IsZero():
		if f.armed == deadlineUntil {
			return nil
		}
		f.armed = deadlineUntil
		return f.sock.SetReadDeadline(f.until)
	case inFrame:
		if f.begun {
			return nil
		}
		f.begun, f.armed = true, deadlineFrame
		return f.sock.SetReadDeadline(time.Now().Add(f.frameTime))
	case f.idle == 0:
		if f.armed == deadlineNone {
			return nil
		}
		f.armed = deadlineNone
		return f.sock.SetReadDeadline(time.Time{})
	}
	// Moving a deadline costs more than asking for the time, so an idle
	// deadline is moved in steps of a sixteenth.
	now := time.Now()
	if f.armed == deadlineIdle && now.Sub(f.armedAt) < f.idle/16 {
		return nil
	}
	f.armed, f.armedAt = deadlineIdle, now
	return f.sock.SetReadDeadline(now.Add(f.idle + f.idle/16))
}

func unexpected(err error, inFrame bool) error {
	if errors.Is(err, io.EOF) && inFrame {
		return io.ErrUnexpectedEOF
	}
	return err
}

// established ends the handshake's deadline.
func (f *frames) established() { f.until = time.Time{} }
