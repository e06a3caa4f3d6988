package rpc

import (
	"sync"

	"github.com/heddle-project/heddle/wire/ipc"
)

// Last keeps the last answer to every caller, in case it was lost and the call
// comes again. Its methods are safe for use by many goroutines.
type Last[Caller comparable] struct {
	mu   sync.Mutex
	kept map[Caller][]byte
}

// overwritten is the size up to which an answer's memory is used again for the next, and so has to be copied to be repeated.
const overwritten = 64 << 10

// Keep copies an answer over the one before. Memory of about the right size is
// used again, for most answers to one caller are alike.
func (l *Last[Caller]) Keep(who Caller, answer []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[Caller][]byte{}
	}
	b := l.kept[who]
	if cap(b) < len(answer) || cap(b) > 2*len(answer)+64 || cap(b) > overwritten {
		b = make([]byte, 0, len(answer))
	}
	l.kept[who] = append(b[:0], answer...)
}

// Drop forgets a caller.
func (l *Last[Caller]) Drop(who Caller) {
	l.mu.Lock()
	delete(l.kept, who)
	l.mu.Unlock()
}

// Repeat answers a call as the one before. When nothing is known of that, the
// first answer is still under way, and the caller is to try again; likewise
// when it does not read what it has been answered.
func (l *Last[Caller]) Repeat(c *ipc.Call, who Caller) {
	if c.Crowded() {
		c.Fail(&ipc.RemoteError{Class: ipc.ClassRetriable, Message: "the answer to " + c.Method + " is not repeated while so much of what was answered waits to be read; try again"})
		return
	}
	l.mu.Lock()
	b, known := l.kept[who]
	if cap(b) <= overwritten {
		b = append([]byte(nil), b...)
	}
	l.mu.Unlock()
	if !known {
		c.Fail(&ipc.RemoteError{Class: ipc.ClassRetriable, Message: "the answer to " + c.Method + " is not ready yet; try again"})
		return
	}
	c.Reply(b)
}

// scratch is memory in which answers are put together.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// keepScratch bounds what the pool holds on to.
const keepScratch = 64 << 10

// Compose has write append an answer to memory that is good until use returns.
func Compose(write func(dst []byte) []byte, use func(answer []byte)) {
	p := scratch.Get().(*[]byte)
	b := write((*p)[:0])
	use(b)
	if cap(b) <= keepScratch {
		*p = b
		scratch.Put(p)
	}
}
