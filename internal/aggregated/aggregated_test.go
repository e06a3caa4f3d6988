package aggregated

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// container is a container's record in tests.
type container struct {
	id    string
	files []content
}

type content struct{ name, text string }

const idPrefix = "container_1700000000000_0007_01_00000"

var lists = []ACL{{"VIEW_APP", "alice,bob ops"}, {"MODIFY_APP", " "}}

// small is what testdata/stock.tfile holds.
var small = []container{
	{idPrefix + "1", []content{{"prelaunch.out", "Setting up env variables\nLaunching container\n"}, {"stderr", ""}, {"stdout", "hello from one\n"}}},
	{idPrefix + "2", []content{{"binary", "\x00\x01\x02\xff\xfe\n"}, {"grüße-😀.log", "a name beyond ASCII"}, {"stdout", "zwei: äöü\n"}}},
}

// large is what testdata/stock-blocks.tfile.gz holds.
func large() []container {
	return []container{
		{idPrefix + "3", []content{{"syslog", cycle("abcdefghijklmnopqrstuvwxyz", 300_000)}}},
		{idPrefix + "4", []content{{"a-syslog", cycle("0123456789", 2_500_000)}, {"stderr", "after the large one\n"}}},
		{idPrefix + "5", []content{{"stdout", "last\n"}}},
	}
}

func cycle(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

func stock(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil && strings.HasSuffix(name, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, c Compression, containers []container) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, c, "alice", lists)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range containers {
		if err := w.Container(k.id); err != nil {
			t.Fatal(err)
		}
		for _, f := range k.files {
			if err := w.File(File{Name: f.name, Size: int64(len(f.text))}, strings.NewReader(f.text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll reads everything, or until an error.
func readAll(file []byte) (r *Reader, all []container, err error) {
	if r, err = NewReader(bytes.NewReader(file)); err != nil {
		return nil, nil, err
	}
	all, err = readRest(r)
	return r, all, err
}

func readRest(r *Reader) (all []container, err error) {
	for {
		id, err := r.NextContainer()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		k := container{id: id}
		for {
			f, err := r.NextFile()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return all, err
			}
			text, err := io.ReadAll(io.LimitReader(r, 8<<20))
			if err != nil {
				return all, err
			}
			if int64(len(text)) != f.Size {
				return all, fmt.Errorf("%s: %d bytes of %d", f.Name, len(text), f.Size)
			}
			k.files = append(k.files, content{f.Name, string(text)})
		}
		all = append(all, k)
	}
}

// equal tells of the first difference without printing megabytes.
func equal(t *testing.T, got, want []container) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	for i, k := range want {
		if i >= len(got) || got[i].id != k.id || len(got[i].files) != len(k.files) {
			t.Fatalf("container %d is missing, or has not its id and %d files", i, len(k.files))
		}
		for j, f := range k.files {
			if got[i].files[j] != f {
				t.Errorf("%s: file %d is %.60q, want %.60q", k.id, j, got[i].files[j], f)
			}
		}
	}
	t.Errorf("%d containers, want %d", len(got), len(want))
}

func TestReadsApaches(t *testing.T) {
	for name, want := range map[string][]container{"stock.tfile": small, "stock-gz.tfile": small, "stock-blocks.tfile.gz": large()} {
		t.Run(name, func(t *testing.T) {
			r, got, err := readAll(stock(t, name))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, got, want)
			if r.Owner() != "alice" || len(r.ACLs()) != 2 {
				t.Fatalf("owner %q, lists %q", r.Owner(), r.ACLs())
			}
			for _, l := range lists {
				if a := r.ACLs(); a[0] != l && a[1] != l {
					t.Errorf("%q is not among %q", l, a)
				}
			}
		})
	}
}

// What fits into one chunk is written as Apache's writer does, to the byte.
func TestWritesWhatApacheWrites(t *testing.T) {
	if got, want := write(t, Uncompressed, small), stock(t, "stock.tfile"); !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", hex.Dump(got), hex.Dump(want))
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, c := range []Compression{Uncompressed, Gzip} {
		for name, all := range map[string][]container{"small": small, "large": large(), "none": nil, "empty": {{id: idPrefix + "1"}}} {
			t.Run(string(c)+"/"+name, func(t *testing.T) {
				_, got, err := readAll(write(t, c, all))
				if err != nil {
					t.Fatal(err)
				}
				equal(t, got, all)
			})
		}
	}
}

// A block ends when it has grown large: a file of many containers has many, of
// which its index tells.
func TestLargeFilesHaveManyBlocks(t *testing.T) {
	file := write(t, Uncompressed, large())
	at := bytes.LastIndex(file, []byte("data:BCFile.index")) - 2 // behind the index of blocks stands that of meta blocks
	list := file[bytes.LastIndex(file[:at], []byte("none"))+len("none") : at]
	r := bytes.NewReader(list)
	var got []int64
	for {
		n, err := readVint(r)
		if err != nil {
			break
		}
		got = append(got, n)
	}
	if len(got) != 10 || got[0] != 3 || got[1] != int64(len(magic)) || got[4] != got[1]+got[2] || got[7] != got[4]+got[5] || got[2] != got[3] {
		t.Errorf("%d", got)
	}
}

func TestFilesArePassedOver(t *testing.T) {
	for _, c := range []Compression{Uncompressed, Gzip} {
		file := write(t, c, large())
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			id, err := r.NextContainer()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, id[len(id)-1:])
			if strings.HasSuffix(id, "3") {
				continue // with its files
			}
			for {
				f, err := r.NextFile()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Skip(f.Size - 4); err != nil {
					t.Fatal(err)
				}
				tail, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(tail))
			}
		}
		if want := []string{"3", "4", "6789", "one\n", "5", "ast\n"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", c, got, want)
		}
	}
}

// A file that is not compressed is skipped without being read.
func TestPassingOverDoesNotRead(t *testing.T) {
	file := write(t, Uncompressed, large())
	c := &countingFile{Reader: bytes.NewReader(file)}
	r, err := NewReader(c)
	for err == nil {
		_, err = r.NextContainer()
	}
	if !errors.Is(err, io.EOF) || c.n > 1<<20 {
		t.Errorf("%v after reading %d bytes of %d", err, c.n, len(file))
	}
}

type countingFile struct {
	*bytes.Reader
	n int
}

func (c *countingFile) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// Files that change while they are collected keep the size that they had.
func TestFilesThatChange(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Uncompressed, "alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Container(idPrefix + "1")
	if err := w.File(File{Name: "grew", Size: 5}, strings.NewReader("12345678")); err != nil {
		t.Error(err)
	}
	var short *Short
	if err := w.File(File{Name: "shrank", Size: 5}, strings.NewReader("123")); !errors.As(err, &short) || short.Missing != 2 || short.Err != nil {
		t.Errorf("%v", err)
	}
	if err := w.File(File{Name: "broke", Size: 100_000}, io.MultiReader(strings.NewReader("123"), broken{})); !errors.As(err, &short) || short.Missing != 99_997 || !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	w.File(File{Name: "after", Size: 2}, strings.NewReader("ok"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, got, err := readAll(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, []container{{idPrefix + "1", []content{{"grew", "12345"}, {"shrank", "123\x00\x00"},
		{"broke", "123" + strings.Repeat("\x00", 99_997)}, {"after", "ok"}}}})
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWritingFails(t *testing.T) {
	w, err := NewWriter(broken{}, Uncompressed, "alice", nil)
	if err == nil {
		w.Container(idPrefix + "1")
		err = w.File(File{Name: "f", Size: 1 << 20}, strings.NewReader(""))
	}
	if !errors.Is(err, errBroken) || !errors.Is(w.Close(), errBroken) {
		t.Error(err)
	}
	for what, fails := range map[string]func(w *Writer) error{
		"reserved": func(w *Writer) error { return w.Container("VERSION") },
		"outside":  func(w *Writer) error { return w.File(File{Name: "f", Size: 0}, strings.NewReader("")) },
		"negative": func(w *Writer) error {
			w.Container("c")
			return w.File(File{Name: "f", Size: -1}, strings.NewReader(""))
		},
		"long": func(w *Writer) error {
			w.Container("c")
			return w.File(File{Name: strings.Repeat("x", 70_000)}, strings.NewReader(""))
		},
		"closed": func(w *Writer) error {
			w.Close()
			return w.Container("c")
		},
	} {
		w, err := NewWriter(io.Discard, Uncompressed, "alice", nil)
		if err != nil {
			t.Fatal(err)
		}
		if fails(w) == nil || w.Close() == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestCompressions(t *testing.T) {
	for name, want := range map[string]string{"": "none", "none": "none", "gz": "gz"} {
		if got, err := ParseCompression(name); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"lzo", "zstd"} {
		if _, err := ParseCompression(name); err == nil || !strings.Contains(err.Error(), "none and gz") {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := NewWriter(io.Discard, Compression(name), "alice", nil); err == nil {
			t.Errorf("%q: a writer", name)
		}
	}
}
