package ipc

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var errSlowReader = errors.New("peer does not read: too many bytes wait to be written")

// outbox orders the frames written to one socket. Whoever appends also tries
// to write, without waiting; only what the socket does not take is left to a
// goroutine, which lives until the queue is empty.
type outbox struct {
	sock    *socket
	limit   int           // queued bytes above which no frame should be added
	strict  bool          // a frame added above the limit drops the peer
	timeout time.Duration // for every keepSize or less that is written
	run     func(func())  // starts and accounts for the goroutine
	fail    func(error)   // called once, outside the lock, when the socket is to be closed
	owe     func(int64)   // told of every change in what waits for the peer to read; may be nil
	behind  *flusher      // writes answers while others to the same peer are to come; nil: each is written at once

	mu       sync.Mutex
	changed  sync.Cond // queue drained, closed, or a call answered
	queue    []*buffer // frames not yet handed to a write
	queued   int       // bytes in queue and in the goroutine's hands
	owed     int       // of them, what owe was told
	corked   bool      // more frames follow at once: do not write yet
	flushing bool      // the goroutine runs
	queuing  bool      // in behind's list
	closed   bool
	calls    int // unanswered calls (server)
	sent     int64

	moved atomic.Int64 // when the peer last took something, Unix nanoseconds
}

func (o *outbox) init() { o.changed.L = &o.mu }

// headRoom is more than what stands before the body of a frame, as a rule.
const headRoom = 256

// begin locks the outbox for appending one frame with a body of n bytes and
// returns the slice to append to. ok is false, and nothing is locked, when the
// outbox is closed.
func (o *outbox) begin(n int) (b []byte, ok bool) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil, false
	}
	n += headRoom
	if k := len(o.queue); k == 0 && n <= bufferSize && !o.corked {
		o.queue = append(o.queue, newBuffer())
	} else if k == 0 || o.queue[k-1].stream != nil || cap(o.queue[k-1].b)-len(o.queue[k-1].b) < n {
		o.queue = append(o.queue, newChunk())
	}
	return o.queue[len(o.queue)-1].b, true
}

// end takes the slice back with the frame appended, writes what can be
// written now unless held, and unlocks.
func (o *outbox) end(b []byte, hold bool) {
	last := o.queue[len(o.queue)-1]
	added := len(b) - len(last.b)
	last.b = b
	o.added(added, hold)
}

// give appends a frame of n bytes that is already in buffers, writes what can
// be written now, and unlocks. The outbox must be locked and open.
func (o *outbox) give(frame []*buffer, n int) {
	o.queue = append(o.queue, frame...)
	o.added(n, false)
}

func (o *outbox) added(n int, hold bool) {
	over := o.strict && o.queued > o.limit
	o.queued += n
	var err error
	if over {
		err = errSlowReader
	} else if !hold && (!o.corked || o.queued >= keepSize) {
		if o.behind != nil && o.calls > 0 && o.queued < keepSize {
			o.behind.add(o)
		} else {
			err = o.flush()
		}
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
	for !o.flushing && len(o.queue) > 0 {
		b := o.queue[0]
		n, err := o.sock.send(b.rest())
		o.sent += int64(n)
		o.queued -= n
		b.at += n
		if err != nil {
			return err
		}
		if b.size() == 0 {
			o.pop()
			b.free()
			continue
		}
		o.flushing = true
		o.moved.Store(time.Now().UnixNano())
		o.run(o.drain)
	}
	o.settleDebt()
	return nil
}

// pop removes the first buffer from the queue. The queue's memory is reused.
func (o *outbox) pop() *buffer {
	b := o.queue[0]
	n := copy(o.queue, o.queue[1:])
	o.queue[n] = nil
	o.queue = o.queue[:n]
	return b
}

// drain is the goroutine: it writes what is queued, and what is queued meanwhile.
func (o *outbox) drain() {
	o.mu.Lock()
	for !o.closed && len(o.queue) > 0 {
		b := o.pop()
		o.mu.Unlock()
		err := o.write(b)
		for err == nil && b.stream != nil && b.stream.left > 0 {
			if err = b.refill(); err == nil {
				err = o.write(b)
			}
		}
		b.free()
		o.mu.Lock()
		o.settleDebt()
		if err != nil {
			o.flushing = false
			o.changed.Broadcast()
			o.unlock(err)
			return
		}
		o.changed.Broadcast()
	}
	o.flushing = false
	o.sock.SetWriteDeadline(time.Time{})
	o.settleDebt()
	o.changed.Broadcast()
	o.mu.Unlock()
}

func (o *outbox) write(b *buffer) error {
	for len(b.rest()) > 0 {
		o.sock.SetWriteDeadline(time.Now().Add(o.timeout))
		n, err := o.sock.Write(b.rest()[:min(len(b.rest()), keepSize)])
		b.at += n
		o.mu.Lock()
		o.queued -= n
		o.sent += int64(n)
		o.mu.Unlock()
		if err != nil {
			return err
		}
		o.moved.Store(time.Now().UnixNano())
	}
	return nil
}

// settleDebt tells owe what waits for the peer now: nothing while the socket
// takes all at once. Small changes are told later. Locked.
func (o *outbox) settleDebt() {
	if o.owe == nil {
		return
	}
	due := 0
	if o.flushing && !o.closed {
		due = o.queued
	}
	if more := due - o.owed; due == 0 && more != 0 || o.owed == 0 && more > 0 || more >= keepSize || more <= -keepSize {
		o.owed = due
		o.owe(int64(more))
	}
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
	for _, b := range o.queue {
		o.queued -= b.size()
		b.free()
	}
	o.queue = nil
	o.settleDebt()
	o.changed.Broadcast()
}

// flushed returns when everything is written or the outbox is closed; the
// write deadline bounds it.
func (o *outbox) flushed() {
	o.mu.Lock()
	for !o.closed && (o.flushing || len(o.queue) > 0) {
		o.changed.Wait()
	}
	o.mu.Unlock()
}
