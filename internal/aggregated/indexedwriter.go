package aggregated

import (
	"bufio"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// Collection is what an indexed file says about the logs of a round.
type Collection struct {
	Application yarn.ApplicationID
	Owner       string
	Node        yarn.NodeID
	ACLs        []ACL
	Compression Compression
	Time        int64 // of this round, in milliseconds since 1970
}

// Index is the index of an indexed file, for appending to the file.
type Index struct{ read *indexed }

// ReadIndex reads the index that ends at size. The caller closes the file.
func ReadIndex(file io.ReadSeeker, size int64, app yarn.ApplicationID) (*Index, error) {
	x, err := openIndexed(file, size, app)
	if err != nil {
		return nil, err
	}
	return &Index{x}, nil
}

// Fits reports whether a round can be appended: a file has one owner, node and compression, and its index must stay small enough to be read whole.
func (i *Index) Fits(c Collection) bool {
	x := i.read
	return x.compression == c.Compression && x.owner == c.Owner && x.node == c.Node.String() && x.bytes <= maxIndexBytes/2 && max(x.values, x.visited) <= maxJavaValues/2
}

// IndexedWriter writes an indexed file, or appends a round to one. It is used like a Writer, and fails like one.
type IndexedWriter struct {
	out     *counted
	at      int64 // offset in the file at which out begins
	about   Collection
	earlier []indexedRound
	round   indexedRound
	zlib    *zlib.Writer // nil until needed
	mark    [markBytes]byte
	err     error
}

// NewIndexedWriter begins a file. The caller closes the file, after Close.
func NewIndexedWriter(file io.Writer, c Collection) (*IndexedWriter, error) {
	w := newIndexedWriter(file, c)
	w.write(w.mark[:])
	return w, w.err
}

// AppendIndexed appends a round to a file of size bytes. earlier is the file's last complete index; bytes after it belong to no round.
func AppendIndexed(file io.Writer, size int64, c Collection, earlier *Index) *IndexedWriter {
	w := newIndexedWriter(file, c)
	w.at, w.earlier = size, earlier.read.rounds
	return w
}

func newIndexedWriter(file io.Writer, c Collection) *IndexedWriter {
	return &IndexedWriter{out: &counted{Writer: bufio.NewWriterSize(file, writeBuffer)}, about: c, mark: sha256.Sum256([]byte(c.Application.String())),
		round: indexedRound{file: NodeName(c.Node), at: c.Time}}
}

func (w *IndexedWriter) fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
	}
}

func (w *IndexedWriter) write(b []byte) {
	if w.err == nil {
		_, err := w.out.Write(b)
		w.fail(err)
	}
}

// Container begins a container. Its id must differ from those of the round's other containers.
func (w *IndexedWriter) Container(id string) error {
	w.round.containers = append(w.round.containers, indexedContainer{id: id})
	return w.err
}

// File adds a log file to the container, as Writer.File does.
func (w *IndexedWriter) File(f File, content io.Reader) error {
	if len(w.round.containers) == 0 {
		w.fail(errors.New("a log file outside of a container"))
	}
	if f.Size < 0 {
		w.fail(fmt.Errorf("%s: a size of %d bytes", f.Name, f.Size))
	}
	if w.err != nil {
		return w.err
	}
	c := &w.round.containers[len(w.round.containers)-1]
	one := indexedFile{File: f, start: w.at + w.out.n}
	body := &padded{from: content, left: f.Size}
	w.fail(w.pack(body))
	one.packed = w.at + w.out.n - one.start
	c.files = append(c.files, one)
	if w.err == nil && body.missing > 0 {
		return &Short{f.Name, body.missing, body.err}
	}
	return w.err
}

func (w *IndexedWriter) pack(body io.Reader) error {
	if w.about.Compression != Gzip {
		_, err := io.Copy(struct{ io.Writer }{w.out}, body)
		return err
	}
	if w.zlib == nil {
		w.zlib = zlib.NewWriter(w.out)
	} else {
		w.zlib.Reset(w.out)
	}
	if _, err := io.Copy(w.zlib, body); err != nil {
		return err
	}
	return w.zlib.Close()
}

// Close writes the index. Without it no log of the round can be read.
func (w *IndexedWriter) Close() error {
	index, err := w.index()
	w.fail(err)
	if len(index) > maxIndexBytes {
		w.fail(fmt.Errorf("an index of %d bytes; at most %d are read", len(index), maxIndexBytes))
	}
	if w.err == nil {
		if _, err := parseIndex(index, w.at+w.out.n); err != nil {
			w.fail(fmt.Errorf("an index that could not be read again: %w", err))
		}
	}
	w.write(index)
	w.write(binary.BigEndian.AppendUint32(nil, uint32(len(index))))
	w.write(w.mark[:])
	if w.err == nil {
		w.fail(w.out.Flush())
	}
	err = w.err
	w.fail(errors.New("the file has been closed"))
	return err
}

// The classes of the index. Java checks their names and serial version UIDs.
var (
	indexClass = javaShape{indexedPackage + "IndexedLogsMeta", 5439875373, flagSerial,
		[]javaField{{"version", 'I'}, {"acls", 'L'}, {"compressName", 'L'}, {"logMetas", 'L'}, {"nodeId", 'L'}, {"user", 'L'}},
		[]string{javaMapType, javaTextType, javaListType, javaTextType, javaTextType}}
	roundClass = javaShape{indexedPackage + "IndexedPerAggregationLogMeta", 3929298383, flagSerial,
		[]javaField{{"uploadTimeStamp", 'J'}, {"logMetas", 'L'}, {"remoteNodeLogFileName", 'L'}}, []string{javaMapType, javaTextType}}
	fileClass = javaShape{indexedPackage + "IndexedFileLogMeta", 1, flagSerial,
		[]javaField{{"fileCompressedSize", 'J'}, {"fileSize", 'J'}, {"lastModifiedTime", 'J'}, {"startIndex", 'J'}, {"containerId", 'L'}, {"fileName", 'L'}},
		[]string{javaTextType, javaTextType}}
	accessClass = javaShape{"org.apache.hadoop.yarn.api.records.ApplicationAccessType", 0, flagSerial | flagEnum, nil, nil}
)

const indexedPackage = "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$"

// index encodes the index of all rounds.
func (w *IndexedWriter) index() ([]byte, error) {
	j := newJavaWriter()
	j.object(indexClass)
	j.number(4, version)
	j.mapOf(len(w.about.ACLs))
	for _, a := range w.about.ACLs {
		j.constant(accessClass, a.Access)
		j.text(a.List)
	}
	j.end()
	j.text(string(w.about.Compression))
	j.listOf(len(w.earlier) + 1)
	for _, r := range w.earlier {
		r.write(j)
	}
	w.round.write(j)
	j.end()
	j.text(w.about.Node.String())
	j.text(w.about.Owner)
	return j.b, j.err
}

func (r *indexedRound) write(j *javaWriter) {
	j.object(roundClass)
	j.number(8, r.at)
	j.mapOf(len(r.containers))
	for _, c := range r.containers {
		id := j.text(c.id)
		j.listOf(len(c.files))
		for _, f := range c.files {
			j.object(fileClass)
			for _, n := range []int64{f.packed, f.Size, f.Modified, f.start} {
				j.number(8, n)
			}
			j.reference(id)
			j.text(f.Name)
		}
		j.end()
	}
	j.end()
	j.text(r.file)
}

// CheckName is the name of a node's check: a file that says, while a round is appended to an indexed file, up to which byte that file is complete.
func CheckName(id yarn.NodeID) string { return NodeName(id) + checkSuffix }

// LastingCheckName is the name of the check of a file that is never appended to again. Readers go by the content of a check.
func LastingCheckName(file string) string { return file + checkSuffix }

// AppendCheck appends the content of a check to b: the name of the indexed file, and up to which byte it is complete.
func AppendCheck(b []byte, name string, end int64) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
	return binary.BigEndian.AppendUint64(append(b, name...), uint64(end))
}

// ReadCheck reads the content of a check.
func ReadCheck(r io.Reader) (name string, end int64, err error) { return readCheck(r) }

// RolledAt is the time in a name, if RolledName made the name for that node.
func RolledAt(id yarn.NodeID, name string) (ms int64, ok bool) {
	digits, ok := strings.CutPrefix(name, NodeName(id)+"_")
	if !ok || digits == "" || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		ms = ms*10 + int64(c-'0')
	}
	return ms, true
}
