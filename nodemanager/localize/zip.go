package localize

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// unzip unpacks the entries that are wanted. Directories come into being for what is in them, and links are files with
// the target's text: so it is with Java's reader. A second entry of a name replaces the first.
func (t *tree) unzip(file io.ReaderAt, size int64, wanted func(entry string) bool) error {
	if err := t.announced(file, size); err != nil {
		return err
	}
	index := &indexReader{file, t.limits.Index + maxTail}
	z, err := zip.NewReader(index, size)
	if errors.Is(err, errIndex) || index.left < 0 {
		return t.largeIndex()
	}
	if err != nil {
		return err
	}
	index.left = -1
	for _, e := range z.File {
		if strings.HasSuffix(e.Name, "/") {
			err = t.entry(e.Name)
		} else if wanted(e.Name) {
			err = t.unzipOne(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const encrypted = 1 // among an entry's flags

func (t *tree) unzipOne(e *zip.File) error {
	if e.Flags&encrypted != 0 {
		return fmt.Errorf("entry %q is encrypted", e.Name)
	}
	in, err := e.Open()
	if err == nil {
		err = errors.Join(t.file(e.Name, sane(e.Modified), in), in.Close())
	}
	if err != nil {
		return fmt.Errorf("entry %q: %w", e.Name, err)
	}
	return nil
}

var errIndex = errors.New("the directory of entries is too large")

func (t *tree) largeIndex() error {
	return fmt.Errorf("%w: more than %d bytes or %d entries", errIndex, t.limits.Index, t.limits.Entries)
}

// indexReader bounds what the zip reader may read of the directory of entries: all of it is held in memory.
type indexReader struct {
	io.ReaderAt
	left int64 // negative: used up, or no matter any more
}

func (d *indexReader) ReadAt(p []byte, at int64) (int, error) {
	if d.left >= 0 {
		if d.left -= int64(len(p)); d.left < 0 {
			return 0, errIndex
		}
	}
	return d.ReaderAt.ReadAt(p, at)
}

// What the end of a zip file looks like.
const (
	endSize     = 22
	locatorSize = 20
	end64Size   = 56
	maxTail     = 4 * (1<<16 + endSize + locatorSize + end64Size) // what the reader takes to find the directory
)

// announced refuses a file that announces more entries than allowed: the reader makes room for them before it looks.
func (t *tree) announced(file io.ReaderAt, size int64) error {
	tail := make([]byte, min(size, 1<<16+endSize))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < endSize {
		return zip.ErrFormat
	}
	entries := uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	if at >= locatorSize && bytes.HasPrefix(tail[at-locatorSize:], []byte("PK\x06\x07")) {
		end := make([]byte, end64Size)
		where := binary.LittleEndian.Uint64(tail[at-locatorSize+8:])
		if where > uint64(size) {
			return zip.ErrFormat
		}
		if _, err := file.ReadAt(end, int64(where)); err != nil {
			return zip.ErrFormat
		}
		entries = max(entries, binary.LittleEndian.Uint64(end[32:]))
	}
	if entries > uint64(t.limits.Entries) {
		return t.largeIndex()
	}
	return nil
}
