package tree

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// chunk is how much of a document is made before it is sent.
const chunk = 64 << 10

// out gathers what is written and sends it in chunks.
type out struct {
	w   io.Writer // nil keeps all
	buf []byte
	// whole is how many objects are being drawn. None of their text is sent before they are finished: it may be asked for with Since.
	whole  int
	sender *sender // nil before the first chunk was sent
}

// sender sends chunks while the next ones are made, which on two processors takes two thirds of the time.
type sender struct {
	w           io.Writer
	full, empty chan []byte
	done        chan struct{}
	failed      atomic.Bool
	err         error // of the first write that failed; nothing is sent after it
}

// buffers are those of documents that have been written, none larger than maxBuffer.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxBuffer = 2 * chunk

// writing calls do with an out for w, and returns the error of the first write that failed. w is used by one goroutine at a time, and by none
// when writing returns.
func writing(w io.Writer, do func(*out)) (err error) {
	held := buffers.Get().(*[]byte)
	b := &out{w: w, buf: (*held)[:0]}
	defer func() { err = b.finish(held) }() // do may panic
	do(b)
	return nil
}

func (o *out) byte(c byte)   { o.buf = append(o.buf, c) }
func (o *out) text(s string) { o.buf = append(o.buf, s...) }
func (o *out) rune(r rune)   { o.buf = utf8.AppendRune(o.buf, r) }

// next is called before each element of a list. It tells whether to go on: the
// caller may have left. Between two chunks it lets other goroutines run, so that
// long lists do not hold up other calls.
func (o *out) next() bool {
	if o.w != nil && len(o.buf) >= chunk && o.whole == 0 {
		o.send()
		runtime.Gosched()
	}
	return o.sender == nil || !o.sender.failed.Load()
}

// send has the chunk sent, and goes on with an empty one.
func (o *out) send() {
	if o.sender == nil {
		o.sender = &sender{w: o.w, full: make(chan []byte, 1), empty: make(chan []byte, 2), done: make(chan struct{})}
		o.sender.empty <- make([]byte, 0, chunk+chunk/4)
		go o.sender.run()
	}
	o.sender.full <- o.buf
	o.buf = <-o.sender.empty
}

// finish sends the last chunk and waits until all are sent. held takes the memory of one for another document.
func (o *out) finish(held *[]byte) error {
	var err error
	if s := o.sender; s != nil {
		s.full <- o.buf
		close(s.full)
		<-s.done
		err = s.err
	} else {
		_, err = o.w.Write(o.buf)
	}
	if cap(o.buf) <= maxBuffer {
		*held = o.buf[:0]
		buffers.Put(held)
	}
	return err
}

func (s *sender) run() {
	defer close(s.done)
	for b := range s.full {
		if s.err == nil {
			if _, s.err = s.w.Write(b); s.err != nil {
				s.failed.Store(true)
			}
		}
		s.empty <- b[:0]
	}
}
