package aggregated

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// Limits of the sizes that an indexed file gives for its own parts.
const (
	maxIndexBytes = 16 << 20
	maxCheckBytes = 64 << 10 // of the name in a check
)

// MaxCheckBytes is the size of the largest check that is read.
const MaxCheckBytes = 4 + maxCheckBytes + 8

// markBytes is the size of the mark with which indexed files begin and end: a hash of the application's id.
const markBytes = sha256.Size

// indexedClass ends the name of the class that writes indexed files.
const indexedClass = ".LogAggregationIndexedFileController"

// checkSuffix ends the name of the file that says up to which byte an indexed file is complete while it is appended to.
const checkSuffix = "-checksum"

// indexed reads an indexed file of Hadoop, whose format configurations usually name IFile: log files, each compressed by itself, then an index, which is a
// serialized Java object that tells where they are, the size of the index in four bytes, and the mark. A file may have been appended to: the last index covers all.
type indexed struct {
	file        io.ReadSeeker
	size        int64 // up to the end of the index
	compression Compression
	owner, node string
	acls        []ACL
	rounds      []indexedRound
	bytes       int64              // of the index
	values      int                // of the index, each counted once
	containers  []indexedContainer // of all rounds, still to be read
	files       []indexedFile      // of the current container, still to be read
	body        io.Reader          // of the current log file
	left        int64              // bytes of body still to be read
	err         error
	visited     int // values of the index, each as often as it is referenced
}

// indexedRound is what was collected at one time.
type indexedRound struct {
	file       string // the node's name in it
	at         int64  // milliseconds since 1970
	containers []indexedContainer
}

type indexedContainer struct {
	id    string
	files []indexedFile
}

type indexedFile struct {
	File
	start, packed int64
}

// openIndexed reads the index that ends at size.
func openIndexed(file io.ReadSeeker, size int64, app yarn.ApplicationID) (*indexed, error) {
	mark := sha256.Sum256([]byte(app.String()))
	if size < 2*markBytes+4 {
		return nil, fmt.Errorf("%d bytes are too few: %w", size, io.ErrUnexpectedEOF)
	}
	end := make([]byte, 4+markBytes)
	if err := readAt(file, size-int64(len(end)), end); err != nil {
		return nil, err
	}
	if !bytes.Equal(end[4:], mark[:]) {
		return nil, fmt.Errorf("it does not end with the mark of %s", app)
	}
	length := int64(binary.BigEndian.Uint32(end))
	switch {
	case length > size-markBytes-int64(len(end)):
		return nil, fmt.Errorf("an index of %d bytes in a file of %d", length, size)
	case length > maxIndexBytes:
		return nil, fmt.Errorf("an index of %d bytes; at most %d are read", length, maxIndexBytes)
	}
	index := make([]byte, length)
	if err := readAt(file, size-int64(len(end))-length, index); err != nil {
		return nil, err
	}
	r, err := parseIndex(index, size)
	if err != nil {
		return nil, fmt.Errorf("its index: %w", err)
	}
	r.file = file
	return r, nil
}

// parseIndex reads the index of a file of size bytes.
func parseIndex(index []byte, size int64) (*indexed, error) {
	root, values, err := readJava(index)
	if err != nil {
		return nil, err
	}
	r := &indexed{size: size, bytes: int64(len(index)), values: values}
	return r, r.readIndex(root)
}

func readAt(file io.ReadSeeker, at int64, b []byte) error {
	if _, err := file.Seek(at, io.SeekStart); err != nil {
		return err
	}
	_, err := io.ReadFull(file, b)
	return unexpected(err)
}

func (r *indexed) readIndex(root *javaObject) error {
	v, err := root.number("version")
	if err != nil {
		return err
	}
	if v != version {
		return fmt.Errorf("version %d is not known here", v)
	}
	name, err := root.text("compressName")
	if err != nil {
		return err
	}
	if r.compression, err = ParseCompression(name); err != nil {
		return err
	}
	if r.owner, err = root.text("user"); err != nil {
		return err
	}
	if r.node, err = root.text("nodeId"); err != nil {
		return err
	}
	lists, err := pairs(root.field("acls"))
	if err != nil {
		return fmt.Errorf("the access control lists: %w", err)
	}
	if len(lists) > 2*maxACLs {
		return fmt.Errorf("more than %d access control lists", maxACLs)
	}
	for pair := range slices.Chunk(lists, 2) {
		access, known := pair[0].(string)
		list, there := pair[1].(string)
		if !known || !there {
			return errors.New("an access control list that is none")
		}
		r.acls = append(r.acls, ACL{access, list})
	}
	slices.SortFunc(r.acls, func(a, b ACL) int { return strings.Compare(a.Access, b.Access) })
	rounds, err := elements(root.field("logMetas"))
	if err != nil {
		return err
	}
	for _, round := range rounds {
		if err := r.readRound(round); err != nil {
			return err
		}
	}
	return nil
}

// visit counts values that are read. What is referenced again and again counts each time, so an index of which that is true has no more
// containers and files than one without references.
func (r *indexed) visit(n int) error {
	if r.visited += n; r.visited > maxJavaValues {
		return fmt.Errorf("more than %d values, those counted again that are referenced again", maxJavaValues)
	}
	return nil
}

// readRound reads what was collected at one time.
func (r *indexed) readRound(v any) error {
	round, ok := v.(*javaObject)
	if !ok {
		return errors.New("not a list of containers")
	}
	all, err := pairs(round.field("logMetas"))
	if err != nil {
		return err
	}
	if err := r.visit(1 + len(all)); err != nil {
		return err
	}
	var of indexedRound
	if of.file, err = round.text("remoteNodeLogFileName"); err != nil {
		return err
	}
	if of.at, err = round.number("uploadTimeStamp"); err != nil {
		return err
	}
	for pair := range slices.Chunk(all, 2) {
		id, ok := pair[0].(string)
		if !ok {
			return errors.New("a container without an id")
		}
		c := indexedContainer{id: id}
		files, err := elements(pair[1])
		if err != nil {
			return err
		}
		for _, f := range files {
			one, err := r.readFile(f)
			if err != nil {
				return err
			}
			c.files = append(c.files, one)
		}
		of.containers = append(of.containers, c)
	}
	r.rounds = append(r.rounds, of)
	r.containers = append(r.containers, slices.SortedFunc(slices.Values(of.containers), func(a, b indexedContainer) int { return strings.Compare(a.id, b.id) })...)
	return nil
}

func (r *indexed) readFile(v any) (indexedFile, error) {
	o, ok := v.(*javaObject)
	if !ok {
		return indexedFile{}, errors.New("not a log file")
	}
	var f indexedFile
	err := r.visit(1 + len(o.values))
	if err != nil {
		return f, err
	}
	if f.Name, err = o.text("fileName"); err != nil {
		return f, err
	}
	for name, to := range map[string]*int64{"fileSize": &f.Size, "fileCompressedSize": &f.packed, "lastModifiedTime": &f.Modified, "startIndex": &f.start} {
		if *to, err = o.number(name); err != nil {
			return f, err
		}
	}
	if f.Size < 0 || f.packed < 0 || f.start < 0 || f.packed > r.size || f.start > r.size-f.packed {
		return f, fmt.Errorf("the log file %.100q cannot be where it is said to be", f.Name)
	}
	return f, nil
}

func (r *indexed) Owner() string { return r.owner }

func (r *indexed) Node() string { return r.node }

func (r *indexed) ACLs() []ACL { return r.acls }

func (r *indexed) NextContainer() (string, error) {
	if r.err != nil {
		return "", r.err
	}
	r.body, r.files, r.left = nil, nil, 0
	if len(r.containers) == 0 {
		return "", io.EOF
	}
	c := r.containers[0]
	r.containers, r.files = r.containers[1:], c.files
	return c.id, nil
}

// NextFile opens nothing: whoever only lists the files reads the index alone.
func (r *indexed) NextFile() (File, error) {
	if r.err != nil {
		return File{}, r.err
	}
	r.body, r.left = nil, 0
	if len(r.files) == 0 {
		return File{}, io.EOF
	}
	f := r.files[0]
	r.files, r.left = r.files[1:], f.Size
	r.body = &packedFile{r, f, nil}
	return f.File, nil
}

func (r *indexed) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.body.Read(p[:min(int64(len(p)), r.left)])
	if r.left -= int64(n); r.left == 0 || err == nil {
		return n, nil // the end may come with the last bytes
	}
	r.left = 0
	return n, unexpected(err)
}

func (r *indexed) Skip(n int64) error {
	_, err := io.CopyN(io.Discard, r, min(n, r.left))
	return unexpected(err)
}

// packedFile unpacks a log file from the first Read on.
type packedFile struct {
	r     *indexed
	f     indexedFile
	plain io.Reader
}

func (p *packedFile) Read(b []byte) (int, error) {
	if p.plain == nil {
		if _, err := p.r.file.Seek(p.f.start, io.SeekStart); err != nil {
			return 0, err
		}
		p.plain = bufio.NewReaderSize(io.LimitReader(p.r.file, p.f.packed), readAhead)
		if p.r.compression == Gzip {
			var err error
			if p.plain, err = zlib.NewReader(p.plain); err != nil {
				return 0, unexpected(err)
			}
		}
	}
	return p.plain.Read(b)
}

// readCheck reads the file beside an indexed file that is appended to: its name, and up to where it is complete.
func readCheck(r io.Reader) (name string, end int64, err error) {
	var size uint32
	if err := binary.Read(r, binary.BigEndian, &size); err != nil {
		return "", 0, unexpected(err)
	}
	if size > maxCheckBytes {
		return "", 0, fmt.Errorf("a name of %d bytes", size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", 0, unexpected(err)
	}
	err = binary.Read(r, binary.BigEndian, &end)
	return string(b), end, unexpected(err)
}
