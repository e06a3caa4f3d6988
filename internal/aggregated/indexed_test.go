package aggregated

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/yarn"
)

var indexedApp = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}

// indexedFiles is what the files in testdata hold.
var indexedFiles = []container{
	{idPrefix + "1", []content{{"stderr", ""}, {"stdout", "out one\n"}, {"syslog", cycle("a line of syslog\n", 300_000)}}},
	{idPrefix + "2", []content{{"binary", "\x00\x01\x02\xff\xfe\n"}, {"grüße-😀.log", "x\n"}, {"stdout", "two\n"}}},
}

// readIndexed reads everything, the files of a container by name.
func readIndexed(file []byte, size int64) (*Reader, []container, error) {
	x, err := openIndexed(bytes.NewReader(file), size, indexedApp)
	if err != nil {
		return nil, nil, err
	}
	r := &Reader{records: x}
	all, err := readRest(r)
	for _, c := range all {
		slices.SortFunc(c.files, func(a, b content) int { return strings.Compare(a.name, b.name) })
	}
	return r, all, err
}

func TestReadsApachesIndexedFiles(t *testing.T) {
	for _, name := range []string{"stock-gz.ifile", "stock.ifile.gz", "stock-rolled.ifile"} {
		t.Run(name, func(t *testing.T) {
			file := stock(t, name)
			r, got, err := readIndexed(file, int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, got, indexedFiles)
			if r.Owner() != "alice" || r.Node() != "n1:45454" || !slices.Equal(r.ACLs(), []ACL{lists[1], lists[0]}) {
				t.Errorf("owner %q, node %q, lists %q", r.Owner(), r.Node(), r.ACLs())
			}
		})
	}
}

// What is only listed or passed over is not unpacked; what is read in part comes from its middle.
func TestPartsOfIndexedFiles(t *testing.T) {
	file := stock(t, "stock-gz.ifile")
	x, err := openIndexed(bytes.NewReader(file), int64(len(file)), indexedApp)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.NextContainer(); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := x.NextFile()
		if err != nil {
			t.Fatal(err)
		}
		if f.Modified != 1700000000000 {
			t.Errorf("%+v", f)
		}
		if f.Name == "syslog" {
			break
		}
	}
	if err := x.Skip(299_990); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(x); err != nil || string(text) != indexedFiles[0].files[2].text[299_990:] {
		t.Errorf("%q, %v", text, err)
	}
}

// While a file is appended to, the file beside it says up to where it can be read.
func TestIndexedFilesThatAreAppendedTo(t *testing.T) {
	r := newRemote(t, map[string]string{
		"yarn.log-aggregation.file-formats":                "IFile,TFile",
		"yarn.log-aggregation.file-controller.IFile.class": "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController",
	})
	const dir = "alice/bucket-logs-ifile/0007/application_1700000000000_0007/"
	file := stock(t, "stock-rolled.ifile")
	check := func(end int64) []byte {
		return binary.BigEndian.AppendUint64(append([]byte("\x00\x00\x00\x0en1_45454_17000"), nil...), uint64(end))
	}
	r.put(dir+"n1_45454_17000", append(slices.Clone(file), "what is being written"...))
	r.put(dir+"n1_45454-checksum", check(2116))
	r.put(dir+".n1_45454_17000.crc", nil)
	open := func() ([]container, error) {
		t.Helper()
		all, err := r.Nodes(indexedApp, "alice")
		if got := names(all); err != nil || !slices.Equal(got, []string{"n1_45454_17000"}) {
			t.Fatalf("%q, %v", got, err)
		}
		logs, err := r.Open(all[0])
		if err != nil {
			return nil, err
		}
		defer logs.Close()
		return readRest(logs)
	}
	if got, err := open(); err != nil || len(got) != 1 || got[0].id != idPrefix+"1" {
		t.Errorf("%d containers, %v", len(got), err)
	}
	r.put(dir+"n1_45454-checksum", check(0))
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "nothing in it is complete yet") {
		t.Error(err)
	}
	r.put(dir+"n1_45454-checksum", []byte("\x00\x00\x00\x0en1"))
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "does not end with the mark") {
		t.Error(err)
	}
}

// A file that is cut, or of which a byte is another, is an error or has other logs: nothing worse.
func TestDamagedIndexedFiles(t *testing.T) {
	file := stock(t, "stock-gz.ifile")
	for n := 0; n < len(file); n += 13 {
		if _, _, err := readIndexed(file[:n], int64(n)); err == nil {
			t.Fatalf("the first %d bytes were read without an error", n)
		}
	}
	for i := range file {
		damaged := slices.Clone(file)
		damaged[i] ^= []byte{0x01, 0x80, 0xff}[i%3]
		x, err := openIndexed(bytes.NewReader(damaged), int64(len(damaged)), indexedApp)
		if err == nil && len(x.containers) > 2 {
			t.Errorf("byte %d damaged: %d containers", i, len(x.containers))
		}
	}
}

func TestHostileIndexes(t *testing.T) {
	object := func(class string, more string) string {
		return "\x73\x72\x00" + string(rune(len(class))) + class + "\x00\x00\x00\x00\x00\x00\x00\x00" + more
	}
	for name, c := range map[string]struct{ stream, want string }{
		"nothing":                    {"", "too early"},
		"something else":             {"\xca\xfe\xba\xbe\x00", "does not begin"},
		"not an object":              {"\xac\xed\x00\x05\x74\x00\x01a", "not an object"},
		"an array":                   {"\xac\xed\x00\x05\x75", "the mark 0x75"},
		"a reference to nothing":     {"\xac\xed\x00\x05\x71\x00\x7e\x00\x05", "a reference to nothing"},
		"a class that is its parent": {"\xac\xed\x00\x05" + object("a", "\x02\x00\x00\x78\x71\x00\x7e\x00\x00"), "ancestors"},
		"a class with its own form":  {"\xac\xed\x00\x05" + object("a", "\x04\x00\x00\x78\x70"), "in its own way"},
		"many fields":                {"\xac\xed\x00\x05" + object("a", "\x02\xff\xff"), "65535 fields"},
		"objects within objects":     {"\xac\xed\x00\x05" + object("a", "\x02\x00\x01L\x00\x01x\x74\x00\x01a\x78\x70") + strings.Repeat("\x73\x71\x00\x7e\x00\x00", 1000), "nested deeper"},
		"types of types":             {"\xac\xed\x00\x05" + object("a", "\x02\x00\x01L\x00\x01x\x72\x00\x01b"), "the name of a type"},
		"more values than are read":  {"\xac\xed\x00\x05" + object("a", "\x03\x00\x00\x78\x70") + strings.Repeat("\x70", maxJavaValues+1), "more than"},
		"more classes than are read": {"\xac\xed\x00\x05" + object("a", "\x03\x00\x00\x78\x70") +
			strings.Repeat("\x72\x00\x01b\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x40"+strings.Repeat("B\x00\x00", 64)+"\x78\x70", maxJavaValues/65+1) + "\x78", "more than"},
		"a text longer than the rest": {"\xac\xed\x00\x05\x7c\x7f\xff\xff\xff\xff\xff\xff\xff", "too early"},
	} {
		if _, _, err := readJava([]byte(c.stream)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := openIndexed(bytes.NewReader(nil), 0, indexedApp); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// Fields take as much memory as values, though fewer bytes of the stream.
func TestFieldsAreCounted(t *testing.T) {
	class := func(mark, name string, flags, fields byte) string {
		return mark + "\x00\x01" + name + "\x00\x00\x00\x00\x00\x00\x00\x00" + string([]byte{flags, 0, fields}) + strings.Repeat("B\x00\x01f", int(fields)) + "\x78"
	}
	stream := "\xac\xed\x00\x05\x73" + class("\x72", "a", 3, 0) + "\x70\x73"
	for range maxJavaSupers {
		stream += class("\x72", "b", 2, maxJavaFields)
	}
	fields := strings.Repeat("\x01", maxJavaSupers*maxJavaFields)
	stream += "\x70" + fields
	another := "\x73\x71\x00\x7e\x00\x02" + fields // of the second class
	if _, _, err := readJava([]byte(stream + strings.Repeat(another, 100) + "\x78")); err != nil {
		t.Error(err)
	}
	if _, _, err := readJava([]byte(stream + strings.Repeat(another, maxJavaValues/len(fields)) + "\x78")); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%d objects with %d fields: %v", maxJavaValues/len(fields)+1, len(fields), err)
	}
}

// What is referenced again and again counts as often.
func TestReferencesAreCounted(t *testing.T) {
	object := func(name string, fields map[string]any, more ...any) *javaObject {
		o := &javaObject{class: &javaClass{name: name}, more: append([]any{nil}, more...)}
		for name, v := range fields {
			o.class.fields, o.values = append(o.class.fields, javaField{name: name}), append(o.values, v)
		}
		o.class.line = []*javaClass{o.class}
		return o
	}
	file := object("file", map[string]any{"fileName": "stdout", "fileSize": int64(1), "fileCompressedSize": int64(1), "lastModifiedTime": int64(1), "startIndex": int64(1)})
	read := func(rounds, containers, files int) (int, error) {
		list := object("java.util.ArrayList", nil, slices.Repeat([]any{file}, files)...)
		round := object("round", map[string]any{"uploadTimeStamp": int64(1), "logMetas": object("java.util.HashMap", nil, slices.Repeat([]any{"c", list}, containers)...)})
		r := &indexed{size: 100}
		err := r.readIndex(object("index", map[string]any{"version": int64(version), "compressName": "none",
			"logMetas": object("java.util.ArrayList", nil, slices.Repeat([]any{round}, rounds)...)}))
		count := len(r.containers)
		for _, c := range r.containers {
			count += len(c.files)
		}
		return count, err
	}
	if count, err := read(10, 20, 30); err != nil || count != 10*20*31 {
		t.Errorf("%d, %v", count, err)
	}
	for _, c := range [][3]int{{100, 100, 100}, {1000, 1000, 0}, {1, 1, maxJavaValues}} {
		if count, err := read(c[0], c[1], c[2]); err == nil || !strings.Contains(err.Error(), "more than") || count > maxJavaValues {
			t.Errorf("%v: %d containers and files, %v", c, count, err)
		}
	}
}

func FuzzIndexed(f *testing.F) {
	for _, name := range []string{"stock-gz.ifile", "stock-rolled.ifile"} {
		f.Add(stock(f, name))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if r, _, err := readIndexed(file, int64(len(file))); err == nil && r.ACLs() != nil && len(r.ACLs()) > maxACLs {
			t.Error("too many lists")
		}
	})
}

// A round ends while a reader looks: what was listed had its middle, and the check is gone when it is looked for.
func TestRoundsThatEndWhileTheyAreRead(t *testing.T) {
	const dir = "alice/bucket-logs-ifile/0007/application_1700000000000_0007/"
	file := stock(t, "stock-rolled.ifile")
	for name, look := range map[string]func(r *remote, end func()) ([]NodeLogs, error){
		"before the check is looked at": func(r *remote, end func()) ([]NodeLogs, error) {
			connect := r.connect
			r.connect = func(u filesystem.URL) (filesystem.FileSystem, error) {
				f, err := connect(u)
				return afterList{f, end}, err
			}
			return r.Nodes(indexedApp, "alice")
		},
		"before the file is opened": func(r *remote, end func()) ([]NodeLogs, error) {
			all, err := r.Nodes(indexedApp, "alice")
			end()
			return all, err
		},
		"and another one begins": func(r *remote, end func()) ([]NodeLogs, error) {
			all, err := r.Nodes(indexedApp, "alice")
			end()
			r.put(dir+"n1_45454-checksum", AppendCheck(nil, "n1_45454_17001", 2116))
			return all, err
		},
	} {
		r := newRemote(t, map[string]string{
			"yarn.log-aggregation.file-formats":                "IFile",
			"yarn.log-aggregation.file-controller.IFile.class": "x.LogAggregationIndexedFileController",
		})
		r.put(dir+"n1_45454_17000", file[:len(file)-100])
		r.put(dir+"n1_45454-checksum", AppendCheck(nil, "n1_45454_17000", 2116))
		all, err := look(r, func() {
			r.put(dir+"n1_45454_17000", file)
			if err := os.Remove(filepath.Join(r.root, dir, "n1_45454-checksum")); err != nil {
				t.Fatal(err)
			}
		})
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		logs, err := r.Open(all[0])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := readRest(logs); err != nil || len(got) != 2 {
			t.Errorf("%s: %d containers, %v", name, len(got), err)
		}
		logs.Close()
	}
}

// afterList does something when a directory has been listed.
type afterList struct {
	filesystem.FileSystem
	then func()
}

func (a afterList) List(dir string, limit int) ([]filesystem.Info, error) {
	all, err := a.FileSystem.List(dir, limit)
	if err == nil {
		a.then()
	}
	return all, err
}
