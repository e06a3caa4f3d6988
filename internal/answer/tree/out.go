package tree

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

const (
	chunk     = 32 << 10  // about how many bytes of a document are sent at once
	longChunk = 256 << 10 // so many once longAfter bytes have been sent: the larger the chunks, the less often the two ends wait for each other
	longAfter = 1 << 20
	maxLong   = 16 // documents that have long chunks at the same time: a client that reads slowly keeps the memory of two
)

// long has a place for each document with long chunks.
var long = make(chan struct{}, maxLong)

// out buffers the text of a document and sends it in chunks.
type out struct {
	w    io.Writer // nil: nothing is sent, all stays in buf
	buf  []byte
	sent int  // bytes handed to sender
	long bool // its chunks are long
	// open is how many objects are being written. While there is one nothing is sent, because Since may be called for its text.
	open   int
	sender *sender // nil until the first chunk is sent
}

// sender sends a chunk while the next one is made.
type sender struct {
	w           io.Writer
	full, empty chan []byte   // to the goroutine that writes, and back
	done        chan struct{} // closed when that goroutine has ended
	failed      atomic.Bool
	err         error // of the first write that failed; nothing is sent after it
}

// buffers are free for new documents. None is larger than maxBuffer bytes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxBuffer = 2 * chunk

// writing calls do with an out for w, and returns the error of the first write that failed. w is used by one goroutine at a time, and by none
// when writing returns.
func writing(w io.Writer, do func(*out)) (err error) {
	held := buffers.Get().(*[]byte)
	b := &out{w: w, buf: (*held)[:0]}
	defer func() { err = b.finish(held) }() // also if do panics
	do(b)
	return nil
}

func (o *out) byte(c byte)   { o.buf = append(o.buf, c) }
func (o *out) text(s string) { o.buf = append(o.buf, s...) }
func (o *out) rune(r rune)   { o.buf = utf8.AppendRune(o.buf, r) }

// next is called before each element of a list. It returns false if no more can
// be sent: the client may have left. Between two chunks it lets other goroutines run, so that
// long lists do not hold up other calls.
func (o *out) next() bool {
	if o.w != nil && len(o.buf) >= o.enough() && o.open == 0 {
		o.send()
		runtime.Gosched()
	}
	return o.sender == nil || !o.sender.failed.Load()
}

// enough is about how many bytes are sent at once.
func (o *out) enough() int {
	if o.long {
		return longChunk
	}
	return chunk
}

// send hands buf to the sender and goes on with an empty one.
func (o *out) send() {
	if o.sender == nil {
		o.sender = &sender{w: o.w, full: make(chan []byte, 1), empty: make(chan []byte, 2), done: make(chan struct{})}
		o.sender.empty <- make([]byte, 0, chunk+chunk/4)
		go o.sender.run()
	}
	if o.sent += len(o.buf); !o.long && o.sent >= longAfter {
		select {
		case long <- struct{}{}:
			o.long = true
		default:
		}
	}
	o.sender.full <- o.buf
	o.buf = <-o.sender.empty
	if c := o.enough(); cap(o.buf) < c {
		o.buf = make([]byte, 0, c+c/4)
	}
}

// finish sends the rest and waits until all is sent. Then it returns a buffer to buffers, in held.
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
	if o.long {
		<-long
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
