package blackbox

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"reflect"

	"github.com/heddle-project/heddle/yarn"
)

// A file is a line of text and then, compressed, frames: four bytes of length and
// four of a checksum, little-endian, and a payload whose first byte is the kind of
// frame. A header comes first, then blocks, then an end. If the end is missing the
// machine failed or the process was killed.

// Magic is the first line of a file.
const Magic = "Heddle black box 1\n"

const (
	frameHeader = 'H'
	frameBlock  = 'B'
	frameEnd    = 'E'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// counter counts the bytes that reach a file.
type counter struct {
	f *os.File
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.f.Write(b)
	c.n += int64(n)
	return n, err
}

// writer writes a file. The first error stays.
type writer struct {
	out counter
	buf *bufio.Writer
	zip *gzip.Writer
	err error
}

func newWriter(f *os.File) *writer {
	w := &writer{out: counter{f: f}}
	w.buf = bufio.NewWriterSize(&w.out, 64<<10)
	w.zip, _ = gzip.NewWriterLevel(w.buf, gzip.BestSpeed)
	_, w.err = w.buf.WriteString(Magic)
	return w
}

func (w *writer) frame(payload []byte) {
	if w.err != nil {
		return
	}
	var h [8]byte
	binary.LittleEndian.PutUint32(h[:4], uint32(len(payload)))
	binary.LittleEndian.PutUint32(h[4:], crc32.Checksum(payload, castagnoli))
	_, e1 := w.zip.Write(h[:])
	_, e2 := w.zip.Write(payload)
	w.err = errors.Join(e1, e2)
}

func (w *writer) header(h Header) {
	b := appendString([]byte{frameHeader}, build())
	b = binary.AppendUvarint(b, format)
	w.frame(appendValue(b, reflect.ValueOf(h)))
}

func (w *writer) block(x *block) {
	b := make([]byte, 0, len(x.data)+64)
	b = append(b, frameBlock)
	for _, n := range []uint64{x.first, x.count, x.before, x.after} {
		b = binary.AppendUvarint(b, n)
	}
	w.frame(append(b, x.data...))
}

func (w *writer) end(e End) { w.frame(appendValue([]byte{frameEnd}, reflect.ValueOf(e))) }

// flush passes everything written so far to the kernel, so that it can be read even if
// the process is killed.
func (w *writer) flush() {
	if w.err == nil {
		w.err = errors.Join(w.zip.Flush(), w.buf.Flush())
	}
}

func (w *writer) close() error {
	if w.err == nil {
		w.err = errors.Join(w.zip.Close(), w.buf.Flush(), w.out.f.Sync())
	}
	return errors.Join(w.err, w.out.f.Close())
}

// Recorded is one step of a recording.
type Recorded struct {
	Number   uint64 // from 0
	Now      yarn.Now
	Step     any  // an engine.Command, Publish, Explain or Digest
	Prepared bool // a RefreshQueues had a Prepared

	// Sum is the hash of all effects up to and including this step. It is known only
	// at the end of a block, and not if the step panicked.
	Sum    uint64
	HasSum bool
}

// Reader reads a recording. It does not trust the file: whatever is damaged or
// invalid is an error.
type Reader struct {
	Header Header
	Build  string // the commit of the program that wrote it
	End    *End   // valid once Next has returned io.EOF; nil: the file has no end

	name  string
	in    io.Reader
	block *decoder // of the current block
	at    Recorded // the next step; its Now is that of the step before it
	left  uint64   // steps that are left in the block
	after uint64   // the sum at the end of the block
	sum   uint64   // the sum at the end of the last block that was read completely
	begun bool     // a block has been read
}

// NewReader reads the header. name is the file's, for errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name}
	buffered := bufio.NewReaderSize(in, 64<<10)
	line := make([]byte, len(Magic))
	if _, err := io.ReadFull(buffered, line); err != nil || string(line) != Magic {
		return nil, fmt.Errorf("%s is no recording: a recording begins with %q", name, Magic[:len(Magic)-1])
	}
	zip, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	r.in = zip
	payload, err := r.frame()
	if err != nil {
		return nil, r.damaged(err)
	}
	if len(payload) == 0 || payload[0] != frameHeader {
		return nil, r.damaged(errOdd)
	}
	d := newDecoder(payload[1:])
	r.Build = d.string()
	if f := d.uint(); d.err == nil && f != format {
		return nil, fmt.Errorf("%s was recorded by a program of another form (commit %.60q): only the same commit plays it", name, r.Build)
	}
	d.value(reflect.ValueOf(&r.Header).Elem())
	return r, r.whole(d)
}

// whole is an error unless the payload was read without one and up to its end.
func (r *Reader) whole(d *decoder) error {
	if d.err == nil && len(d.b) > 0 {
		d.err = errOdd
	}
	if d.err != nil {
		return r.damaged(d.err)
	}
	return nil
}

func (r *Reader) damaged(err error) error {
	return fmt.Errorf("%s is damaged: %w", r.name, err)
}

// frame reads one frame. It returns io.EOF at the end of the file, even in the middle
// of a frame.
func (r *Reader) frame() ([]byte, error) {
	var h [8]byte
	if err := r.fill(h[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(h[:4])
	if n > MaxFrame {
		return nil, fmt.Errorf("a part of %d bytes; the most is %d", n, MaxFrame)
	}
	var payload bytes.Buffer // grows with what is read: the length may be wrong
	if _, err := io.CopyN(&payload, r.in, int64(n)); err != nil {
		return nil, ended(err)
	}
	if crc32.Checksum(payload.Bytes(), castagnoli) != binary.LittleEndian.Uint32(h[4:]) {
		return nil, errors.New("a checksum is wrong")
	}
	return payload.Bytes(), nil
}

func (r *Reader) fill(b []byte) error {
	_, err := io.ReadFull(r.in, b)
	return ended(err)
}

// ended makes an io.EOF of an unexpected end of the file.
func ended(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// Next returns the next step, and io.EOF at the end.
func (r *Reader) Next() (*Recorded, error) {
	for r.left == 0 {
		if r.End != nil {
			return nil, io.EOF
		}
		if err := r.more(); err != nil {
			return nil, err
		}
	}
	d := r.block
	x := &r.at
	mono, shift := d.int(), d.int()
	wall := (x.Now.Wall - x.Now.Mono) + shift
	x.Now.Mono += mono
	x.Now.Wall = wall + x.Now.Mono
	x.Step, x.Prepared = d.command()
	if d.err != nil {
		return nil, r.damaged(fmt.Errorf("command %d: %w", x.Number, d.err))
	}
	r.left--
	out := *x
	x.Number++
	if r.left == 0 {
		if err := r.whole(d); err != nil {
			return nil, err
		}
		r.sum = r.after
		out.Sum, out.HasSum = r.after, true
	}
	return &out, nil
}

// more reads the next block, or the end.
func (r *Reader) more() error {
	payload, err := r.frame()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return r.damaged(err)
	}
	if len(payload) == 0 {
		return r.damaged(errOdd)
	}
	d := newDecoder(payload[1:])
	switch payload[0] {
	case frameBlock:
		first, count, before := d.uint(), d.uint(), d.uint()
		r.after = d.uint()
		if d.err == nil && (count > uint64(len(d.b)) || r.begun && (first != r.at.Number || before != r.sum)) {
			d.err = errors.New("a part of it is missing, or does not belong to it")
		}
		if d.err != nil {
			return r.damaged(d.err)
		}
		if count == 0 && len(d.b) > 0 {
			return r.damaged(errOdd)
		}
		r.begun, r.left, r.block, r.sum = true, count, d, before
		r.at.Number, r.at.Now = first, yarn.Now{}
		return nil
	case frameEnd:
		var end End
		d.value(reflect.ValueOf(&end).Elem())
		if err := r.whole(d); err != nil {
			return err
		}
		r.End = &end
		return nil
	}
	return r.damaged(errOdd)
}
