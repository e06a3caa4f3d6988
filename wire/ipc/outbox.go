package ipc

import (
	"errors"
	"sync"
	"time"
)

// writeChunk is the most that one write deadline covers.
const writeChunk = 256 << 10

var errSlowReader = errors.New("peer does not read: too many bytes wait to be written")

// outbox orders the frames written to one socket. Whoever appends also tries
// to write, without waiting; only what the socket does not take is left to a
// goroutine, which lives until the queue is empty.
type outbox struct {
	sock    *socket
	limit   int           // queued bytes above which no frame should be added
	strict  bool          // a frame added above the limit drops the peer
	timeout time.Duration // per writeChunk
	run     func(func())  // starts and accounts for the goroutine
	fail    func(error)   // called once, outside the lock, when the socket is to be closed

	mu       sync.Mutex
	changed  sync.Cond // queue drained, closed, or a call answered
	buf      *buffer   // frames not yet handed to a write
	queued   int       // bytes in buf and in the goroutine's hands
	corked   bool      // more frames follow at once: do not write yet
	flushing bool      // the goroutine runs
	closed   bool
	calls    int // unanswered calls (server)
	sent     int64
}

func (o *outbox) init() { o.changed.L = &o.mu }

// begin locks the outbox for appending one frame and returns the slice to
// append to. ok is false, and nothing is locked, when the outbox is closed.
func (o *outbox) begin() (b []byte, ok bool) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil, false
	}
	if o.buf == nil {
		o.buf = newBuffer()
	}
	return o.buf.b, true
}

// end takes the slice back with the frame appended, writes what can be
// written now unless held, and unlocks.
func (o *outbox) end(b []byte, hold bool) {
	over := o.strict && o.queued > o.limit
	o.queued += len(b) - len(o.buf.b)
	o.buf.b = b
	var err error
	if over {
		err = errSlowReader
	} else if !hold && (!o.corked || len(b) >= keepSize) {
		err = o.flush()
	}
	o.unlock(err)
}

// unlock unlocks and, if err is not nil, ends the connection.
func (o *outbox) unlock(err error) {
	report := err != nil && !o.closed
	if report {
		o.shut()
	}
	o.mu.Unlock()
	if report {
		o.fail(err)
	}
}

// flush writes as much as goes without waiting. Locked.
func (o *outbox) flush() error {
	if o.flushing || o.buf == nil {
		return nil
	}
	n, err := o.sock.send(o.buf.b)
	o.sent += int64(n)
	o.queued -= n
	if err != nil {
		return err
	}
	if n == len(o.buf.b) {
		o.buf.free()
		o.buf = nil
		return nil
	}
	rest := o.buf
	o.buf, o.flushing = nil, true
	o.run(func() { o.drain(rest, n) })
	return nil
}

// drain is the goroutine: it writes b from offset at, and then whatever has
// been queued meanwhile.
func (o *outbox) drain(b *buffer, at int) {
	for b != nil {
		err := o.write(b.b[at:])
		b.free()
		at = 0
		o.mu.Lock()
		if err != nil || o.closed {
			o.flushing = false
			o.changed.Broadcast()
			o.unlock(err)
			return
		}
		b, o.buf = o.buf, nil
		if b == nil {
			o.flushing = false
			o.sock.SetWriteDeadline(time.Time{})
		}
		o.changed.Broadcast()
		o.mu.Unlock()
	}
}

func (o *outbox) write(b []byte) error {
	for len(b) > 0 {
		o.sock.SetWriteDeadline(time.Now().Add(o.timeout))
		n, err := o.sock.Write(b[:min(len(b), writeChunk)])
		b = b[n:]
		o.mu.Lock()
		o.queued -= n
		o.sent += int64(n)
		o.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// cork holds frames back while the reader has more requests at hand, so that
// the answers to pipelined calls leave in one write. Uncorking flushes.
func (o *outbox) cork(on bool) {
	o.mu.Lock()
	o.corked = on
	var err error
	if !on && !o.closed {
		err = o.flush()
	}
	o.unlock(err)
}

// full reports whether the limit has been passed.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued > o.limit
}

// close drops everything that waits. The owner closes the socket.
func (o *outbox) close() {
	o.mu.Lock()
	o.shut()
	o.mu.Unlock()
}

func (o *outbox) shut() {
	if o.closed {
		return
	}
	o.closed = true
	if o.buf != nil {
		o.buf.free()
		o.buf = nil
	}
	o.changed.Broadcast()
}

// settle waits until everything is written or the outbox is closed; the
// write deadline bounds it.
func (o *outbox) settle() {
	o.mu.Lock()
	for !o.closed && (o.flushing || o.buf != nil) {
		o.changed.Wait()
	}
	o.mu.Unlock()
}
