package aggregated

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	blockBytes  = 256 << 10 // packed; a block ends with the first record that reaches it
	chunkBytes  = 64 << 10  // of a value, gathered before it is written
	writeBuffer = 64 << 10
	// streamedChunk is the largest chunk of a file too large to be gathered; the
	// format allows 2 GiB.
	streamedChunk = 1 << 30
)

// Short is a log file of which less could be read than announced. What is
// missing was written as zeros, so that the rest of the file can be read.
type Short struct {
	Name    string
	Missing int64 // bytes
	Err     error // of reading; nil if the file had become shorter
}

func (s *Short) Error() string {
	if s.Err == nil {
		return fmt.Sprintf("%s became shorter while it was collected: the last %d bytes are zeros", s.Name, s.Missing)
	}
	return fmt.Sprintf("%s could not be read to its end, the last %d bytes are zeros: %v", s.Name, s.Missing, s.Err)
}

func (s *Short) Unwrap() error { return s.Err }

// The names of the meta blocks; in the index of meta blocks metaPrefix comes before them.
const (
	metaPrefix = "data:"
	dataIndex  = "BCFile.index"
	recordMeta = "TFile.meta"
	keyIndex   = "TFile.index"
)

// region is where a block lies in the file, and its size unpacked.
type region struct{ offset, size, raw int64 }

func appendRegion(b []byte, r region) []byte {
	return appendVint(appendVint(appendVint(b, r.offset), r.size), r.raw)
}

func appendString(b []byte, s string) []byte {
	return append(appendVint(b, int64(len(s))), s...)
}

// metaBlock is an entry of the index of meta blocks.
type metaBlock struct {
	name        string
	compression Compression
	region
}

// Writer makes a file of aggregated logs: Container, then File for each of its
// log files, and Close at the end. Once writing has failed, everything fails
// with the same error.
type Writer struct {
	out         *counted
	compression Compression
	open        *packer // the data block being written
	inRecord    bool
	chunk       []byte // of the record's value, not yet written

	data    []byte // list of regions
	blocks  int64
	keys    []byte // the body of keyIndex
	lastKey []byte
	inBlock int64 // records
	records int64
	meta    []metaBlock
	err     error
}

// counted is what has been written to a file.
type counted struct {
	*bufio.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// packer writes one block.
type packer struct {
	io.Writer
	zlib  *zlib.Writer // nil if not packed
	start int64
	raw   int64
}

func (p *packer) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	p.raw += int64(n)
	return n, err
}

// NewWriter begins a file with the application's owner and access control lists.
// The file stays the caller's to close, after Close.
func NewWriter(file io.Writer, c Compression, owner string, acls []ACL) (*Writer, error) {
	w := &Writer{out: &counted{Writer: bufio.NewWriterSize(file, writeBuffer)}, compression: c, chunk: make([]byte, 0, chunkBytes)}
	if _, err := ParseCompression(string(c)); err != nil {
		return nil, err
	}
	w.write(w.out, magic)
	w.record(keyVersion, binary.BigEndian.AppendUint32(nil, version))
	var lists []byte
	for _, a := range acls {
		lists = w.text(w.text(lists, a.Access), a.List)
	}
	w.record(keyACLs, lists)
	w.record(keyOwner, w.text(nil, owner))
	return w, w.err
}

// text appends a text; one that is too long fails the file.
func (w *Writer) text(b []byte, s string) []byte {
	b, err := appendText(b, s)
	w.fail(err)
	return b
}

func (w *Writer) fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
	}
}

func (w *Writer) write(to io.Writer, b []byte) {
	if w.err == nil {
		_, err := to.Write(b)
		w.fail(err)
	}
}

func (w *Writer) record(key string, value []byte) {
	w.begin(key)
	w.append(value)
	w.end()
}

// Container begins a container's record. It has to have an id of its own.
func (w *Writer) Container(id string) error {
	w.end()
	switch id {
	case keyVersion, keyACLs, keyOwner:
		w.fail(fmt.Errorf("%s is not the id of a container", id))
	}
	w.begin(id)
	return w.err
}

func (w *Writer) begin(key string) {
	if w.open == nil {
		w.open = w.pack(w.compression)
	}
	encoded := w.text(nil, key)
	w.lastKey = encoded
	w.write(w.open, append(appendVint(nil, int64(len(encoded))), encoded...))
	if w.records == 0 {
		first := append(appendVint(nil, int64(len(encoded))), encoded...)
		w.keys = append(appendVint(w.keys, int64(len(first))), first...)
	}
	w.inRecord = true
}

// append writes part of the record's value.
func (w *Writer) append(b []byte) {
	for len(b) > 0 && w.err == nil {
		n := copy(w.chunk[len(w.chunk):cap(w.chunk)], b)
		w.chunk, b = w.chunk[:len(w.chunk)+n], b[n:]
		if len(w.chunk) == cap(w.chunk) {
			w.flushChunk(false)
		}
	}
}

func (w *Writer) flushChunk(last bool) {
	size := int64(len(w.chunk))
	if !last {
		size = -size
	}
	w.write(w.open, appendVint(nil, size))
	w.write(w.open, w.chunk)
	w.chunk = w.chunk[:0]
}

// end ends the record at hand, and its block if that is large enough.
func (w *Writer) end() {
	if !w.inRecord {
		return
	}
	w.flushChunk(true)
	w.inRecord = false
	w.records++
	w.inBlock++
	if w.out.n-w.open.start >= blockBytes {
		w.endBlock()
	}
}

func (w *Writer) endBlock() {
	if w.open == nil {
		return
	}
	at := w.finish(w.open)
	w.data = appendRegion(w.data, at)
	w.blocks++
	entry := append(appendVint(nil, int64(len(w.lastKey))), w.lastKey...)
	entry = appendVint(entry, w.inBlock)
	w.keys = append(appendVint(w.keys, int64(len(entry))), entry...)
	w.open, w.inBlock = nil, 0
}

func (w *Writer) pack(c Compression) *packer {
	p := &packer{Writer: w.out, start: w.out.n}
	if c == Gzip {
		p.zlib = zlib.NewWriter(w.out)
		p.Writer = p.zlib
	}
	return p
}

func (w *Writer) finish(p *packer) region {
	if p.zlib != nil && w.err == nil {
		w.fail(p.zlib.Close())
	}
	return region{p.start, w.out.n - p.start, p.raw}
}

// File writes a log file of the container at hand: its size, and then exactly
// that many bytes of content, even if there are more by now. If there are less,
// or reading fails, the error is a *Short, and the Writer goes on.
func (w *Writer) File(f File, content io.Reader) error {
	name, size := f.Name, f.Size
	if !w.inRecord {
		w.fail(errors.New("a log file outside of a container"))
	}
	if size < 0 {
		w.fail(fmt.Errorf("%s: a size of %d bytes", name, size))
	}
	head := w.text(nil, name)
	w.append(w.text(head, strconv.FormatInt(size, 10)))
	body := &padded{from: content, left: size}
	if free := cap(w.chunk) - len(w.chunk); w.err == nil && size <= int64(free) {
		w.fill(body, int(size))
	} else {
		w.stream(body)
	}
	if w.err == nil && body.missing > 0 {
		return &Short{name, body.missing, body.err}
	}
	return w.err
}

// fill puts a small file into the chunk at hand.
func (w *Writer) fill(body *padded, size int) {
	at := len(w.chunk)
	w.chunk = w.chunk[:at+size]
	_, err := io.ReadFull(body, w.chunk[at:])
	w.fail(err)
}

// stream writes a large file in chunks of its own, so that a reader can pass
// over it.
func (w *Writer) stream(body *padded) {
	if len(w.chunk) > 0 {
		w.flushChunk(false)
	}
	for body.left > 0 && w.err == nil {
		size := min(body.left, streamedChunk)
		w.write(w.open, appendVint(nil, -size))
		if w.err == nil {
			_, err := io.CopyBuffer(struct{ io.Writer }{w.open}, io.LimitReader(body, size), w.chunk[:cap(w.chunk)])
			w.fail(err)
		}
	}
}

// padded reads exactly left bytes: those of another reader, and zeros where it
// ends or fails.
type padded struct {
	from    io.Reader // nil once it has ended
	left    int64
	missing int64 // of them, zeros
	err     error // of from
}

func (b *padded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.left)]
	if b.from == nil {
		clear(p)
		b.left -= int64(len(p))
		return len(p), nil
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	if err != nil {
		b.from, b.missing = nil, b.left
		if !errors.Is(err, io.EOF) {
			b.err = err
		}
	}
	return n, nil
}

// Close writes the indexes. A file without them cannot be read.
func (w *Writer) Close() error {
	w.end()
	w.endBlock()
	meta := binary.BigEndian.AppendUint32(nil, formatVersion)
	w.index(recordMeta, Uncompressed, appendString(appendVint(meta, w.records), "")) // the name of an order: none
	w.index(keyIndex, w.compression, w.keys)
	w.index(dataIndex, w.compression, append(appendVint(appendString(nil, string(w.compression)), w.blocks), w.data...))
	at := w.out.n
	w.write(w.out, w.metaIndex())
	w.write(w.out, binary.BigEndian.AppendUint64(nil, uint64(at)))
	w.write(w.out, binary.BigEndian.AppendUint32(nil, formatVersion))
	w.write(w.out, magic)
	if w.err == nil {
		w.fail(w.out.Flush())
	}
	err := w.err
	w.fail(errors.New("the file has been closed"))
	return err
}

func (w *Writer) index(name string, c Compression, body []byte) {
	p := w.pack(c)
	w.write(p, body)
	w.meta = append(w.meta, metaBlock{name, c, w.finish(p)})
}

func (w *Writer) metaIndex() []byte {
	slices.SortFunc(w.meta, func(a, b metaBlock) int { return strings.Compare(a.name, b.name) })
	b := appendVint(nil, int64(len(w.meta)))
	for _, m := range w.meta {
		b = appendString(appendString(b, metaPrefix+m.name), string(m.compression))
		b = appendRegion(b, m.region)
	}
	return b
}
