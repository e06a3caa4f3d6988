package ipc

import (
	"encoding/binary"
	"fmt"
	"runtime/debug"

	"google.golang.org/protobuf/encoding/protowire"
)

// Answer is a long response message that is put together piece by piece, in
// buffers which are used again once the peer has read them. It ends with Send
// or with Drop.
type Answer struct {
	call   *Call
	header []byte
	parts  []*buffer
	size   int // of the message
	over   bool
}

// maxLength is what the length of a message takes at the most.
const maxLength = binary.MaxVarintLen32

// fullChunk is the fill at which a buffer takes no further piece: the rest would mostly be too small for one.
const fullChunk = keepSize - keepSize/16

// Answer begins an answer.
func (c *Call) Answer() *Answer {
	a := &Answer{call: c, header: appendResponseOK(nil, c.CallID, c.RetryCount, c.ClientID)}
	first := newBuffer()
	first.at = 4 + len(a.header) + maxLength // in front comes what is known in the end
	first.b = append(first.b, make([]byte, first.at)...)
	a.parts = []*buffer{first}
	return a
}

// Append has write append a piece of the message, and reports whether more is
// of use: not when the answer has become too large or the peer has gone.
func (a *Answer) Append(write func([]byte) []byte) bool {
	if a.over {
		return false
	}
	last := a.parts[len(a.parts)-1]
	was := len(last.b)
	last.b = write(last.b)
	a.size += len(last.b) - was
	if len(last.b) >= fullChunk {
		if a.over = a.size > a.call.conn.limits.MaxResponse || a.call.Gone(); !a.over {
			a.parts = append(a.parts, newChunk())
		}
	}
	return !a.over
}

// Send answers the call.
func (a *Answer) Send() {
	c := a.call
	if a.over || a.size > c.conn.limits.MaxResponse {
		a.Drop()
		c.tooLarge()
		return
	}
	if !c.claim() {
		a.Drop()
		return
	}
	n := a.close()
	o := &c.conn.out
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		a.Drop()
	} else {
		c.conn.answered()
		o.give(a.parts, n)
	}
	c.release()
}

// Drop gives up what has been written; the call is to be answered otherwise.
func (a *Answer) Drop() {
	for _, b := range a.parts {
		b.free()
	}
	a.parts = nil
}

// close writes what stands before the message and gives the size of the frame.
func (a *Answer) close() int {
	first := a.parts[0]
	length := protowire.SizeVarint(uint64(a.size))
	n := len(a.header) + length + a.size
	first.at = maxLength - length
	b := binary.BigEndian.AppendUint32(first.b[:first.at], uint32(n))
	protowire.AppendVarint(append(b, a.header...), uint64(a.size))
	return n + 4
}

// stream is the end of a message, which is made when the peer is about to read it.
type stream struct {
	left int // bytes that are still to be made
	next func([]byte) []byte
}

// Stream answers the call with a message of so many bytes. next appends some of them to what it is given, at least one and never more than there
// are; it is called again while the peer reads, on one goroutine at a time, so that a long message is never in memory as a whole. If it
// does otherwise the connection ends: the peer has been told how long the answer is.
func (c *Call) Stream(size int, next func([]byte) []byte) {
	if size > c.conn.limits.MaxResponse {
		c.tooLarge()
		return
	}
	s := &stream{left: size, next: next}
	if size <= fullChunk {
		b := newChunk()
		defer b.free()
		if b.stream = s; size > 0 {
			if err := b.refill(); err != nil {
				c.conn.broken(err)
				c.Fail(&RemoteError{Class: ClassRuntime, Message: "internal error in " + c.Method + "; see the server's log"})
				return
			}
		}
		c.Reply(b.b)
		return
	}
	if !c.claim() {
		return
	}
	header := appendResponseOK(nil, c.CallID, c.RetryCount, c.ClientID)
	n := len(header) + protowire.SizeVarint(uint64(size)) + size
	first := newChunk()
	first.b = binary.BigEndian.AppendUint32(first.b, uint32(n))
	first.b = protowire.AppendVarint(append(first.b, header...), uint64(size))
	first.stream = s
	o := &c.conn.out
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		first.free()
	} else {
		c.conn.answered()
		o.give([]*buffer{first}, n+4)
	}
	c.release()
}

// streamError is why an answer could not be made to its end.
type streamError struct{ why, stack string }

func (e *streamError) Error() string { return "an answer could not be made: " + e.why }

// refill makes the next piece of the buffer's stream in place of what has been written.
func (b *buffer) refill() (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = &streamError{fmt.Sprint(panicked), string(debug.Stack())}
		}
	}()
	s := b.stream
	b.b, b.at = b.b[:0], 0
	for s.left > 0 && len(b.b) < fullChunk {
		was := len(b.b)
		b.b = s.next(b.b)
		if made := len(b.b) - was; made <= 0 || made > s.left {
			return &streamError{why: fmt.Sprintf("it has %d bytes where 1 to %d were left", made, s.left)}
		}
		s.left -= len(b.b) - was
	}
	return nil
}
