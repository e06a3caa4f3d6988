package tree

import (
	"io"
	"runtime"
	"sync"
	"unicode/utf8"
)

// chunk is how much of a document is made before it is sent.
const chunk = 16 << 10

// out gathers what is written and sends it in chunks.
type out struct {
	w   io.Writer // nil keeps all
	buf []byte
	err error // of the first write that failed; nothing is sent after it
	// whole is how many objects are being drawn. None of their text is sent before they are finished: it may be asked for with Since.
	whole int
}

// buffers are those of documents that have been written, none larger than maxBuffer.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxBuffer = 8 * chunk

// writing calls do with an out for w, and returns the error of the first write that failed.
func writing(w io.Writer, do func(*out)) error {
	held := buffers.Get().(*[]byte)
	b := &out{w: w, buf: (*held)[:0]}
	do(b)
	b.flush()
	if cap(b.buf) <= maxBuffer {
		*held = b.buf[:0]
		buffers.Put(held)
	}
	return b.err
}

func (o *out) byte(c byte)   { o.buf = append(o.buf, c) }
func (o *out) text(s string) { o.buf = append(o.buf, s...) }
func (o *out) rune(r rune)   { o.buf = utf8.AppendRune(o.buf, r) }

// next is called before each element of a list. It tells whether to go on: the
// caller may have left. Between two chunks it lets other goroutines run, so that
// long lists do not hold up other calls.
func (o *out) next() bool {
	if o.w != nil && len(o.buf) >= chunk && o.whole == 0 {
		o.flush()
		runtime.Gosched()
	}
	return o.err == nil
}

func (o *out) flush() {
	if o.err == nil {
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
}
