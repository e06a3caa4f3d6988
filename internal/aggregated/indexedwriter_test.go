package aggregated

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

var indexedNode = yarn.NodeID{Host: "n1", Port: 45454}

// Apache's indexes, read and written again, are the same byte by byte.
func TestWritesApachesIndex(t *testing.T) {
	for name, ends := range map[string][]int64{"stock-gz.ifile": {0}, "stock.ifile.gz": {0}, "stock-rolled.ifile": {2116, 0}} {
		for _, end := range ends {
			file := stock(t, name)
			if end > 0 {
				file = file[:end]
			}
			x, err := openIndexed(bytes.NewReader(file), int64(len(file)), indexedApp)
			if err != nil {
				t.Fatal(err)
			}
			w := newIndexedWriter(io.Discard, Collection{indexedApp, x.owner, indexedNode, x.acls, x.compression, 0})
			last := len(x.rounds) - 1
			w.earlier, w.round = x.rounds[:last], x.rounds[last]
			got, err := w.index()
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(w.about.ACLs) // they have no order in Apache's files
			other, _ := w.index()
			want := file[len(file)-4-markBytes-int(x.bytes) : len(file)-4-markBytes]
			if !bytes.Equal(got, want) && !bytes.Equal(other, want) {
				t.Errorf("%s, %d rounds:\n%q\nApache:\n%q", name, last+1, got, want)
			}
		}
	}
}

// collection is what the recorded files were written with.
func collection(c Compression) Collection {
	return Collection{indexedApp, "alice", indexedNode, lists, c, 1700000000000}
}

func writeRound(t *testing.T, w *IndexedWriter, containers ...container) {
	t.Helper()
	for _, c := range containers {
		if err := w.Container(c.id); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.files {
			if err := w.File(File{f.name, int64(len(f.text)), 1700000000000}, strings.NewReader(f.text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file has what was written, is as long as Apache's, and is the same up to the index.
func TestIndexedFileIsApaches(t *testing.T) {
	for c, name := range map[Compression]string{Gzip: "stock-gz.ifile", Uncompressed: "stock.ifile.gz"} {
		want := stock(t, name)
		x, err := openIndexed(bytes.NewReader(want), int64(len(want)), indexedApp)
		if err != nil {
			t.Fatal(err)
		}
		// In the order in which Apache wrote them.
		byStart := slices.Clone(indexedFiles)
		for i, read := range x.containers {
			files := read.files
			slices.SortFunc(files, func(a, b indexedFile) int { return int(a.start - b.start) })
			byStart[i].files = nil
			for _, f := range files {
				at := slices.IndexFunc(indexedFiles[i].files, func(c content) bool { return c.name == f.Name })
				byStart[i].files = append(byStart[i].files, indexedFiles[i].files[at])
			}
		}
		var b bytes.Buffer
		w, err := NewIndexedWriter(&b, collection(c))
		if err != nil {
			t.Fatal(err)
		}
		writeRound(t, w, byStart...)
		r, got, err := readIndexed(b.Bytes(), int64(b.Len()))
		if err != nil || r.Owner() != "alice" || r.Node() != "n1:45454" || !slices.Equal(r.ACLs(), []ACL{lists[1], lists[0]}) {
			t.Fatalf("%v, %+v", err, r)
		}
		equal(t, got, indexedFiles)
		if c == Uncompressed {
			if b.Len() != len(want) {
				t.Errorf("%d bytes, with Apache %d", b.Len(), len(want))
			}
			start := len(want) - int(x.bytes) - 4 - markBytes
			if !bytes.Equal(b.Bytes()[:start], want[:start]) || !bytes.Equal(b.Bytes()[len(want)-4-markBytes:], want[len(want)-4-markBytes:]) {
				t.Error("the logs or the end are not as Apache wrote them")
			}
		}
	}
}

// Rounds are appended to a file of ours and to one of Apache's, even after an unfinished round; all of them can be read, and
// the earlier index stays where it was.
func TestAppendsRounds(t *testing.T) {
	for name, file := range map[string][]byte{"Apache's": stock(t, "stock-rolled.ifile")[:2116], "ours": func() []byte {
		var b bytes.Buffer
		w, _ := NewIndexedWriter(&b, collection(Gzip))
		writeRound(t, w, indexedFiles[0])
		return b.Bytes()
	}()} {
		end := int64(len(file))
		index, err := ReadIndex(bytes.NewReader(file), end, indexedApp)
		if err != nil || !index.Fits(collection(Gzip)) || index.Fits(collection(Uncompressed)) {
			t.Fatalf("%s: %v", name, err)
		}
		b := bytes.NewBuffer(append(slices.Clone(file), "half a log"...))
		writeRound(t, AppendIndexed(b, int64(b.Len()), collection(Gzip), index), indexedFiles[1])
		_, got, err := readIndexed(b.Bytes(), int64(b.Len()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		equal(t, got, indexedFiles)
		if _, got, err := readIndexed(b.Bytes(), end); err != nil || len(got) != 1 {
			t.Errorf("%s: up to the first round: %d containers, %v", name, len(got), err)
		}
		again, err := ReadIndex(bytes.NewReader(b.Bytes()), int64(b.Len()), indexedApp)
		if err != nil {
			t.Fatal(err)
		}
		third := container{indexedFiles[0].id, []content{{"stdout", "more\n"}}}
		writeRound(t, AppendIndexed(b, int64(b.Len()), collection(Gzip), again), third)
		_, got, err = readIndexed(b.Bytes(), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, append(slices.Clone(indexedFiles), third))
	}
}

// A file that ends anywhere within a round cannot be read from its end.
func TestHalfARound(t *testing.T) {
	var b bytes.Buffer
	w, _ := NewIndexedWriter(&b, collection(Gzip))
	writeRound(t, w, indexedFiles[0])
	end := b.Len()
	index, err := ReadIndex(bytes.NewReader(b.Bytes()), int64(end), indexedApp)
	if err != nil {
		t.Fatal(err)
	}
	writeRound(t, AppendIndexed(&b, int64(end), collection(Gzip), index), indexedFiles[1])
	for n := end + 1; n < b.Len(); n++ {
		if _, err := ReadIndex(bytes.NewReader(b.Bytes()), int64(n), indexedApp); err == nil {
			t.Fatalf("%d bytes of %d are read", n, b.Len())
		}
	}
}

func TestIndexedWriterFailures(t *testing.T) {
	var b bytes.Buffer
	w, _ := NewIndexedWriter(&b, collection(Uncompressed))
	if err := w.Container(idPrefix + "1"); err != nil {
		t.Fatal(err)
	}
	var short *Short
	if err := w.File(File{Name: "shrank", Size: 5}, strings.NewReader("123")); !errors.As(err, &short) || short.Missing != 2 {
		t.Error(err)
	}
	if err := w.File(File{Name: "grew", Size: 2}, strings.NewReader("12345")); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil {
		t.Error("a file can be closed twice")
	}
	_, got, err := readIndexed(b.Bytes(), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, []container{{idPrefix + "1", []content{{"grew", "12"}, {"shrank", "123\x00\x00"}}}})

	for name, c := range map[string]func(*IndexedWriter) error{
		"outside":  func(w *IndexedWriter) error { return w.File(File{Name: "f"}, strings.NewReader("")) },
		"negative": func(w *IndexedWriter) error { w.Container("c"); return w.File(File{Name: "f", Size: -1}, nil) },
		"a long name": func(w *IndexedWriter) error {
			w.Container("c")
			w.File(File{Name: strings.Repeat("x", 70_000)}, strings.NewReader(""))
			return w.Close()
		},
		"a large index": func(w *IndexedWriter) error {
			w.Container("c")
			for n := range 300 {
				w.File(File{Name: fmt.Sprintf("%060000d", n)}, strings.NewReader(""))
			}
			return w.Close()
		},
	} {
		w, _ := NewIndexedWriter(io.Discard, collection(Gzip))
		if err := c(w); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewIndexedWriter(broken{}, collection(Gzip)); err != nil {
		t.Error("what is buffered has failed")
	}
}

func TestChecksAndNames(t *testing.T) {
	b := AppendCheck(nil, "n1_45454_17", 2116)
	if want := append([]byte("\x00\x00\x00\x0bn1_45454_17"), binary.BigEndian.AppendUint64(nil, 2116)...); !bytes.Equal(b, want) {
		t.Errorf("%q", b)
	}
	if name, end, err := ReadCheck(bytes.NewReader(b)); name != "n1_45454_17" || end != 2116 || err != nil {
		t.Errorf("%q %d %v", name, end, err)
	}
	if name := CheckName(indexedNode); name != "n1_45454-checksum" {
		t.Error(name)
	}
	for name, want := range map[string]int64{"n1_45454_17": 17, RolledName(indexedNode, 1700000000000): 1700000000000, "n1_45454": -1, "n1_45454_": -1, "n1_454540_17": -1,
		"n1_45454_1x": -1, "xn1_45454_17": -1, "n1_45454_17.tmp": -1, "n1_45454_9999999999999999999": -1} {
		if ms, ok := RolledAt(indexedNode, name); ok != (want >= 0) || ok && ms != want {
			t.Errorf("%s: %d %v", name, ms, ok)
		}
	}
}

// An index of more values than are read is not written, and one of more than half as many is not appended to.
func TestIndexesOfManyValues(t *testing.T) {
	index := func(files int) ([]byte, error) {
		var b bytes.Buffer
		w, _ := NewIndexedWriter(&b, collection(Uncompressed))
		w.Container(idPrefix + "1")
		c := &w.round.containers[0]
		for n := range files {
			c.files = append(c.files, indexedFile{File: File{Name: strconv.Itoa(n)}})
		}
		err := w.Close()
		return b.Bytes(), err
	}
	if _, err := index(140_000); err == nil || !strings.Contains(err.Error(), "more than 1048576 values") {
		t.Error(err)
	}
	for files, want := range map[int]bool{40_000: true, 70_000: false} {
		file, err := index(files)
		if err != nil {
			t.Fatal(err)
		}
		x, err := ReadIndex(bytes.NewReader(file), int64(len(file)), indexedApp)
		if err != nil || x.read.bytes > maxIndexBytes/2 || x.Fits(collection(Uncompressed)) != want {
			t.Errorf("%d files, %d bytes: fits: %v, %v", files, x.read.bytes, !want, err)
		}
	}
}
