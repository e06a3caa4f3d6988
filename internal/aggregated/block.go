package aggregated

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// magic begins and ends every file.
var magic = []byte{0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6, 0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50}

// formatVersion is that of both layers of the format: major and minor, 16 bits
// each. A reader knows every minor version of its major one.
const formatVersion = 1 << 16

// trailerSize is offset of the meta index, version, magic.
const trailerSize = 8 + 4 + 16

// MaxIndexBytes bounds what comes after the records. A writer needs some 80
// bytes for every 256 KiB before it.
const MaxIndexBytes = 256 << 20

const readAhead = 64 << 10

// Compression is how the blocks of a file are packed.
type Compression string

// The compressions. Gzip, despite its name, is zlib's format.
const (
	Uncompressed Compression = "none"
	Gzip         Compression = "gz"
)

// ParseCompression reads yarn.nodemanager.log-aggregation.compression-type; the
// empty text means none. LZO, which needs a library under the GPL, is refused.
func ParseCompression(name string) (Compression, error) {
	switch c := Compression(name); c {
	case "":
		return Uncompressed, nil
	case Uncompressed, Gzip:
		return c, nil
	case "lzo":
		return "", errors.New("compression lzo is not built; none and gz are")
	}
	return "", fmt.Errorf("no compression is called %.40q; there are none and gz", name)
}

// blocks reads the data blocks of a file as one stream of records. They follow each
// other from the file's beginning, and what comes after them begins with a zero, as
// neither a record nor a packed block does; so the indexes at the end are not
// needed.
type blocks struct {
	file   io.Reader
	buf    *bufio.Reader // of file
	plain  *bufio.Reader // buf itself, or the block at hand unpacked; nil between packed blocks
	packed io.ReadCloser // the block at hand; nil until there was one, or if not packed
}

// The first byte of a packed block: deflate with a window of 32 KiB.
const zlibHead = 0x78

// openBlocks reads the magic, and sees whether blocks are packed.
func openBlocks(file io.Reader) (*blocks, error) {
	b := &blocks{file: file, buf: bufio.NewReaderSize(file, readAhead)}
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(b.buf, head); err != nil {
		return nil, unexpected(err)
	}
	if !slices.Equal(head, magic) {
		return nil, errors.New("it does not begin as a TFile")
	}
	first, err := b.buf.Peek(1)
	if err != nil {
		return nil, unexpected(err)
	}
	if first[0] != zlibHead {
		b.plain = b.buf
	}
	return b, nil
}

// next makes sure that plain is at the beginning of a record. The error is
// io.EOF after the last, if the file ends as it should.
func (b *blocks) next() error {
	if b.plain != nil && b.plain != b.buf {
		_, err := b.plain.Peek(1)
		if !errors.Is(err, io.EOF) {
			return err
		}
		b.plain = nil
	}
	first, err := b.buf.Peek(1)
	switch {
	case err != nil:
		return unexpected(err)
	case first[0] == 0:
		return b.end()
	case b.plain != nil:
		return nil
	case first[0] != zlibHead:
		return fmt.Errorf("a block that begins with %#x; is it packed with something else than %s?", first[0], Gzip)
	}
	return b.unpack()
}

func (b *blocks) unpack() (err error) {
	if again, ok := b.packed.(zlib.Resetter); ok {
		err = again.Reset(b.buf, nil)
	} else {
		b.packed, err = zlib.NewReader(b.buf)
	}
	if err != nil {
		return fmt.Errorf("unpacking a block: %w", unexpected(err))
	}
	b.plain = bufio.NewReaderSize(b.packed, readAhead)
	return nil
}

// end looks at what comes after the records.
func (b *blocks) end() error {
	var version [4]byte
	if _, err := io.ReadFull(b.buf, version[:]); err != nil {
		return unexpected(err)
	}
	if v := binary.BigEndian.Uint32(version[:]); v>>16 != formatVersion>>16 {
		return fmt.Errorf("version %d.%d of the format is not known here", v>>16, v&0xffff)
	}
	var t tail
	n, err := io.Copy(&t, io.LimitReader(b.buf, MaxIndexBytes))
	switch {
	case err != nil:
		return err
	case n == MaxIndexBytes:
		return fmt.Errorf("indexes of more than %d bytes", MaxIndexBytes)
	case len(t) < trailerSize || !slices.Equal(t[len(t)-len(magic):], magic):
		return fmt.Errorf("it does not end as a TFile: %w", io.ErrUnexpectedEOF)
	}
	return io.EOF
}

// tail keeps the last trailerSize bytes that were written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	all := append(*t, p[max(len(p)-trailerSize, 0):]...)
	*t = append((*t)[:0], all[max(len(all)-trailerSize, 0):]...)
	return len(p), nil
}

// skip passes over n bytes. It does not read them if they are not packed and the file
// is an io.Seeker.
func (b *blocks) skip(n int64) error {
	seeker, ok := b.file.(io.Seeker)
	if !ok || b.plain != b.buf || n <= int64(b.buf.Buffered()) {
		_, err := io.CopyN(io.Discard, b.plain, n)
		return unexpected(err)
	}
	n -= int64(b.buf.Buffered())
	b.buf.Reset(b.file)
	_, err := seeker.Seek(n, io.SeekCurrent) // beyond the end, if there is less: the next read shows it
	return err
}
