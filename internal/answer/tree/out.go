package tree

import (
	"io"
	"runtime"
	"unicode/utf8"
)

// chunk is how much of a document is made before it is sent.
const chunk = 16 << 10

// out gathers what is written and sends it in chunks.
type out struct {
	w   io.Writer // nil keeps all
	buf []byte
	err error // of the first write that failed; nothing is sent after it
}

func (o *out) byte(c byte)   { o.buf = append(o.buf, c) }
func (o *out) text(s string) { o.buf = append(o.buf, s...) }
func (o *out) rune(r rune)   { o.buf = utf8.AppendRune(o.buf, r) }

// next comes before each element of a list. It tells whether more is of use: the
// caller may have left. Between two chunks whoever else can run does so first, so
// that who reads long lists does not hold up who works.
func (o *out) next() bool {
	if o.w != nil && len(o.buf) >= chunk {
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
