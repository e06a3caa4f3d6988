package ipc

import (
	"sync"
	"sync/atomic"
)

const (
	bufferSize = 4 << 10  // what a pooled buffer starts with: a heartbeat fits
	smallSize  = 16 << 10 // larger ones do not go back to where requests of a few bytes get theirs
	keepSize   = 64 << 10 // larger buffers are left to the garbage collector, and charged to a budget
)

// buffer is a pooled byte slice. Its owner frees it exactly once.
type buffer struct {
	b       []byte
	at      int   // bytes at the front that are no part of a frame, or are written already (outbox)
	charged int64 // bytes taken from budget, returned by free
	budget  *budget
	stream  *stream // what follows it in its frame; nil: nothing that is not in a buffer
}

var (
	buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, bufferSize)} }}
	chunks  = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, keepSize)} }} // of long answers
)

func newBuffer() *buffer { return buffers.Get().(*buffer) }
func newChunk() *buffer  { return chunks.Get().(*buffer) }

// rest is what is still to be written.
func (b *buffer) rest() []byte { return b.b[b.at:] }

// size is how many bytes are still to be written, with those that are yet to be made.
func (b *buffer) size() int {
	if b.stream != nil {
		return len(b.rest()) + b.stream.left
	}
	return len(b.rest())
}

func (b *buffer) free() {
	if b == nil {
		return
	}
	if b.charged > 0 {
		b.budget.left.Add(b.charged)
		b.charged, b.budget = 0, nil
	}
	size := cap(b.b)
	b.b, b.at, b.stream = b.b[:0], 0, nil
	switch {
	case size <= smallSize:
		buffers.Put(b)
	case size == keepSize:
		chunks.Put(b)
	}
}

// grow makes room for at least one more byte on the way to a total of n. It
// doubles the buffer, so that memory grows with what was received and not with
// what a length field claims. It returns false when the budget is exhausted.
func (b *buffer) grow(n int, from *budget) bool {
	if len(b.b) < cap(b.b) {
		return true
	}
	size := min(max(2*cap(b.b), bufferSize), n)
	if size > keepSize && from != nil {
		more := int64(size) - b.charged
		if from.left.Add(-more) < 0 {
			from.left.Add(more)
			return false
		}
		b.charged, b.budget = int64(size), from
	}
	if smallSize < size && size <= keepSize {
		chunk := newChunk()
		chunk.b = append(chunk.b, b.b...)
		b.b, chunk.b = chunk.b, b.b
		chunk.free()
		return true
	}
	next := make([]byte, len(b.b), size)
	copy(next, b.b)
	b.b = next
	return true
}

// budget is what is left of a bound on bytes shared by many connections.
type budget struct{ left atomic.Int64 }
