package localize

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// unzip unpacks the entries that are wanted. Directories come into being for what is in them, and links are files with
// the target's text: so it is with Java's reader. A second entry of a name replaces the first.
//
// The library's reader holds a file's whole directory in memory, so it gets one part of that after the other, each as the
// end of a file of its own.
func (t *tree) unzip(file io.ReaderAt, size int64, wanted func(entry string) bool) error {
	d, err := findDirectory(file, size)
	if err != nil {
		return err
	}
	if d.entries > uint64(t.limits.Entries) {
		return t.largeIndex()
	}
	if d.entries > uint64(t.limits.Small) {
		if err := t.enlarge(); err != nil {
			return err
		}
	}
	index := bufio.NewReaderSize(io.NewSectionReader(file, d.start, d.end-d.start), copyBuffer/2)
	seen, used, room := 0, int64(0), d.start-d.base
	for {
		part, n, err := nextPart(index)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		seen, used = seen+n, used+int64(len(part))
		if seen > t.limits.Entries || used > t.limits.Index {
			return t.largeIndex()
		}
		if err := t.unzipPart(d.with(file, part, n), &room, wanted); err != nil {
			return err
		}
	}
	if uint16(seen) != uint16(d.entries) { // which is all that a plain file tells
		return fmt.Errorf("%w: it tells of %d entries and has %d", zip.ErrFormat, d.entries, seen)
	}
	return nil
}

// unzipPart unpacks some entries. Of the bytes that hold all of them together, room are left.
func (t *tree) unzipPart(part *io.SectionReader, room *int64, wanted func(entry string) bool) error {
	z, err := zip.NewReader(part, part.Size())
	if err != nil {
		return err
	}
	for _, e := range z.File {
		takes := uint64(localSize + len(e.Name))
		if takes > uint64(*room) || e.CompressedSize64 > uint64(*room)-takes {
			return fmt.Errorf("entry %.64q shares its bytes with others: together they claim more than the file has", e.Name)
		}
		*room -= int64(takes + e.CompressedSize64)
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

// What a zip file is made of.
const (
	localSize   = 30 // an entry's own header, beside its name
	recordSize  = 46 // one in the directory, beside name, extra field and comment
	endSize     = 22
	locatorSize = 20
	end64Size   = 56

	recordMark  = "PK\x01\x02"
	endMark     = "PK\x05\x06"
	locatorMark = "PK\x06\x07"
	end64Mark   = "PK\x06\x06"
)

// directory tells where the records of a zip file's entries are.
type directory struct {
	start, end int64
	base       int64 // what the file's offsets count from: something may stand before the archive
	entries    uint64
}

var little = binary.LittleEndian

// findDirectory reads the end of a zip file.
func findDirectory(file io.ReaderAt, size int64) (d directory, err error) {
	tail := make([]byte, min(size, 1<<16+endSize))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return d, err
	}
	at := len(tail) - endSize
	for ; ; at-- {
		if at < 0 {
			return d, zip.ErrFormat
		}
		if bytes.HasPrefix(tail[at:], []byte(endMark)) && at+endSize+int(little.Uint16(tail[at+20:])) <= len(tail) {
			break
		}
	}
	b := tail[at:]
	d.end, d.entries = size-int64(len(tail)-at), uint64(little.Uint16(b[10:]))
	length, offset := uint64(little.Uint32(b[12:])), uint64(little.Uint32(b[16:]))
	if at >= locatorSize && bytes.HasPrefix(tail[at-locatorSize:], []byte(locatorMark)) {
		wide, where := make([]byte, end64Size), little.Uint64(tail[at-locatorSize+8:])
		if where > uint64(size) {
			return d, zip.ErrFormat
		}
		if _, err := file.ReadAt(wide, int64(where)); err != nil || !bytes.HasPrefix(wide, []byte(end64Mark)) {
			return d, zip.ErrFormat
		}
		d.end, d.entries, length, offset = int64(where), little.Uint64(wide[32:]), little.Uint64(wide[40:]), little.Uint64(wide[48:])
	}
	if length > uint64(d.end) || offset > uint64(d.end)-length {
		return d, zip.ErrFormat
	}
	d.start = d.end - int64(length)
	d.base = d.start - int64(offset)
	if mark := make([]byte, len(recordMark)); d.base > 0 { // unless that is only said wrongly
		if _, err := file.ReadAt(mark, int64(offset)); err == nil && string(mark) == recordMark {
			d.start, d.base = int64(offset), 0
		}
	}
	return d, nil
}

// How much of a directory is held at a time: so many entries, or one more than these bytes hold.
const (
	partEntries = 64
	partBytes   = 64 << 10
)

// nextPart reads some records of a directory; none at its end.
func nextPart(index *bufio.Reader) (part []byte, n int, err error) {
	for ; n < partEntries && len(part) < partBytes; n++ {
		head, err := index.Peek(recordSize)
		if !bytes.HasPrefix(head, []byte(recordMark)) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%w: the directory of entries ends within one", zip.ErrFormat)
		}
		whole := recordSize + int(little.Uint16(head[28:])) + int(little.Uint16(head[30:])) + int(little.Uint16(head[32:]))
		at := len(part)
		part = append(part, make([]byte, whole)...)
		if _, err := io.ReadFull(index, part[at:]); err != nil {
			return nil, 0, fmt.Errorf("%w: the directory of entries ends within one", zip.ErrFormat)
		}
	}
	return part, n, nil
}

// with is the file with a part of its directory in the place of the whole.
func (d directory) with(file io.ReaderAt, part []byte, n int) *io.SectionReader {
	end := make([]byte, end64Size+locatorSize+endSize)
	copy(end, end64Mark)
	little.PutUint64(end[4:], end64Size-12)
	little.PutUint64(end[24:], uint64(n))
	little.PutUint64(end[32:], uint64(n))
	little.PutUint64(end[40:], uint64(len(part)))
	little.PutUint64(end[48:], uint64(d.start-d.base))
	locator := end[end64Size:]
	copy(locator, locatorMark)
	little.PutUint64(locator[8:], uint64(d.start)+uint64(len(part)))
	little.PutUint32(locator[16:], 1)
	plain := locator[locatorSize:]
	copy(plain, endMark)
	for i := 8; i < 20; i++ { // the numbers stand in the wide record
		plain[i] = 0xff
	}
	view := &spliced{file: file, size: d.start, end: append(part, end...)}
	return io.NewSectionReader(view, 0, d.start+int64(len(view.end)))
}

// spliced is the beginning of a file with another end.
type spliced struct {
	file io.ReaderAt
	size int64 // of the beginning
	end  []byte
}

func (s *spliced) ReadAt(p []byte, at int64) (n int, err error) {
	if at < s.size {
		first := p[:min(int64(len(p)), s.size-at)]
		if n, err = s.file.ReadAt(first, at); n < len(first) {
			return n, err
		}
	}
	if n < len(p) {
		n += copy(p[n:], s.end[min(at+int64(n)-s.size, int64(len(s.end))):])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
