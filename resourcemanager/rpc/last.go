package rpc

import (
	"sync"

	"github.com/heddle-project/heddle/wire/ipc"
)

// Last keeps the last answer to every caller. It is sent again if the caller repeats
// the call because that answer was lost. Its methods are safe for use by many
// goroutines.
type Last[Caller comparable] struct {
	mu   sync.Mutex
	kept map[Caller][]byte
}

// overwritten is the size up to which Keep uses an answer's memory again for the next one. Repeat has to copy such an answer.
const overwritten = 64 << 10

// Keep copies an answer in place of the one before. It uses the memory of that again if
// it has about the right size, as most answers to one caller are alike.
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

// Repeat sends the last answer again. If none is kept the first one is still being made,
// and the caller is told to try again; likewise if too many answers on its connection
// wait to be read.
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

// keepScratch bounds the buffers that the pool keeps, in bytes.
const keepScratch = 64 << 10

// Compose has write append an answer to pooled memory and passes it to use, which must
// not keep it.
func Compose(write func(dst []byte) []byte, use func(answer []byte)) {
	p := scratch.Get().(*[]byte)
	b := write((*p)[:0])
	use(b)
	if cap(b) <= keepScratch {
		*p = b
		scratch.Put(p)
	}
}
