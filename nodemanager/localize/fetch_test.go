package localize

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// bench is a place with sources and a cache.
type bench struct {
	t             *testing.T
	source, cache string
	*Fetcher
}

func newBench(t *testing.T, cfg Config) *bench {
	t.Helper()
	old := syscall.Umask(0o027)
	t.Cleanup(func() { syscall.Umask(old) })
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.FileSystems = systems
	b := &bench{t, t.TempDir(), t.TempDir(), New(cfg)}
	t.Cleanup(b.Close)
	return b
}

// put writes a source and asks for it.
func (b *bench) put(name string, content []byte, kind Type) Request {
	b.t.Helper()
	at := filepath.Join(b.source, name)
	if err := os.WriteFile(at, content, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return b.ask(at, kind)
}

func (b *bench) ask(at string, kind Type) Request {
	b.t.Helper()
	info, err := os.Stat(at)
	if err != nil {
		b.t.Fatal(err)
	}
	return Request{URL: filesystem.URL{Scheme: "file", Path: at}, Timestamp: info.ModTime().UnixMilli(), Type: kind, Visibility: Application}
}

func (b *bench) fetch(r Request) (Result, error) {
	return b.Fetch(b.t.Context(), r, filepath.Join(b.cache, "10"), "alice")
}

// listing is what lies below a directory: path → mode, size or target.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[rel] = fmt.Sprintf("d%o", info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			out[rel] = "-> " + target
		default:
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			out[rel] = fmt.Sprintf("%o %s", info.Mode().Perm(), content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (b *bench) holds(want map[string]string) {
	b.t.Helper()
	if got := listing(b.t, b.cache); !maps.Equal(got, want) {
		b.t.Errorf("the cache holds %v\nwant %v", got, want)
	}
}

func TestFetchFile(t *testing.T) {
	b := newBench(t, Config{})
	r := b.put("x.zip", []byte("hello"), File)
	r.Size = 999 // as stock, nobody minds
	res, err := b.fetch(r)
	if err != nil || res != (Result{filepath.Join(b.cache, "10", "x.zip"), 5}) {
		t.Fatal(res, err)
	}
	b.holds(map[string]string{"10": "d755", "10/x.zip": "500 hello"})
	if _, err := b.fetch(r); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(b.cache, "11_tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Fetch(t.Context(), r, filepath.Join(b.cache, "11"), ""); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	b.holds(map[string]string{"10": "d755", "10/x.zip": "500 hello", "11_tmp": "d700"})
}

func TestFetchIntoLevels(t *testing.T) {
	b := newBench(t, Config{})
	if _, err := b.Fetch(t.Context(), b.put("x", []byte("hello"), File), filepath.Join(b.cache, "fresh", "0", "z", "99"), ""); err != nil {
		t.Fatal(err)
	}
	b.holds(map[string]string{"fresh": "d710", "fresh/0": "d755", "fresh/0/z": "d755", "fresh/0/z/99": "d755", "fresh/0/z/99/x": "500 hello"})
}

func TestFetchPublic(t *testing.T) {
	b := newBench(t, Config{})
	r := b.put("x", []byte("hello"), File)
	r.Visibility = Public
	refused := func() {
		t.Helper()
		want := "Resource file:" + r.URL.Path + " is not publicly accessible and as such cannot be part of the public cache."
		if _, err := b.fetch(r); err == nil || err.Error() != want {
			t.Fatal(err)
		}
		b.holds(map[string]string{})
	}
	refused() // nobody else may read the file
	os.Chmod(r.URL.Path, 0o604)
	var above []string
	for dir := b.source; dir != "/"; dir = filepath.Dir(dir) {
		above = append(above, dir)
	}
	os.Chmod(above[0], 0o710)
	refused() // nor enter its directory
	for _, dir := range above[:2] {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.fetch(r); err != nil {
		t.Fatal(err)
	}
	b.holds(map[string]string{"10": "d755", "10/x": "555 hello"})
}

func TestFetchDirectory(t *testing.T) {
	b := newBench(t, Config{Limits: Limits{Depth: 4}})
	dir := filepath.Join(b.source, "d.tar")
	os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700)
	os.WriteFile(filepath.Join(dir, "a", "x"), []byte("1"), 0o640)
	os.WriteFile(filepath.Join(dir, "y"), []byte("22"), 0o640)
	os.Symlink("y", filepath.Join(dir, "z"))
	os.Symlink("nowhere", filepath.Join(dir, "lost"))
	res, err := b.fetch(b.ask(dir, Archive))
	if err != nil || res.Bytes != 5 {
		t.Fatal(res, err)
	}
	b.holds(map[string]string{"10": "d755", "10/d.tar": "d700", "10/d.tar/a": "d700", "10/d.tar/a/b": "d700", "10/d.tar/a/x": "500 1",
		"10/d.tar/y": "500 22", "10/d.tar/z": "500 22"})
	os.RemoveAll(filepath.Join(b.cache, "10"))
	os.Symlink(".", filepath.Join(dir, "loop"))
	if _, err := b.fetch(b.ask(dir, File)); err == nil || !strings.Contains(err.Error(), "directories deep") {
		t.Error(err)
	}
	b.holds(map[string]string{})
}

func TestFetchChanged(t *testing.T) {
	b := newBench(t, Config{})
	r := b.put("x", []byte("hello"), File)
	os.Chtimes(r.URL.Path, time.Time{}, time.UnixMilli(1_700_000_000_000))
	r.Timestamp = 1_600_000_000_000
	_, err := b.fetch(r)
	want := fmt.Sprintf("Resource file:%s changed on src filesystem - expected: %q, was: %q, current time: \"", r.URL.Path,
		time.UnixMilli(1_600_000_000_000).Format("2006-01-02T15:04:05.000-0700"), time.UnixMilli(1_700_000_000_000).Format("2006-01-02T15:04:05.000-0700"))
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	os.Remove(r.URL.Path)
	if _, err := b.fetch(r); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), r.URL.String()) {
		t.Error(err)
	}
	r.URL.Scheme = "s3a"
	if _, err := b.fetch(r); !errors.Is(err, filesystem.ErrScheme) {
		t.Error(err)
	}
	b.holds(map[string]string{})
}

func TestFetchOverHTTP(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", at, strings.NewReader("hello"))
	}))
	defer s.Close()
	u, err := filesystem.ParseURL(s.URL + "/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		timestamp int64
		ok        bool
	}{{0, true}, {at.UnixMilli(), true}, {at.UnixMilli() + 1, false}} {
		b := newBench(t, Config{})
		_, err := b.fetch(Request{URL: u, Timestamp: k.timestamp, Type: File, Visibility: Public})
		if (err == nil) != k.ok {
			t.Errorf("%d: %v", k.timestamp, err)
		}
	}
}

func TestFetchCancelled(t *testing.T) {
	b := newBench(t, Config{})
	halfway := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		if r.Method == http.MethodGet {
			close(halfway)
		}
		<-r.Context().Done()
	}))
	defer s.Close()
	u, _ := filesystem.ParseURL(s.URL + "/x.tar")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-halfway; cancel(errors.New("the container was killed")) }()
	_, err := b.Fetch(ctx, Request{URL: u, Type: Archive, Visibility: Private}, filepath.Join(b.cache, "10"), "")
	if err == nil || !strings.Contains(err.Error(), "the container was killed") {
		t.Error(err)
	}
	b.holds(map[string]string{})
}

// entry of a test's archive. In a zip file only the name and the content count.
type entry struct {
	name    string
	kind    byte
	link    string
	content string
}

func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.content)), Mode: 0o6777, ModTime: time.Unix(1_500_000_000, 0)}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, e.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: time.Unix(1_500_000_000, 0)})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, e.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpack(t *testing.T) {
	tarred := tarOf(t, entry{name: "./", kind: tar.TypeDir}, entry{name: "a/", kind: tar.TypeDir}, entry{name: "a/x", content: "one"},
		entry{name: "deep/er/y", content: "two"}, entry{name: "a/x", content: "again"}, entry{name: "/abs", content: "3"},
		entry{name: "l", kind: tar.TypeSymlink, link: "a/../deep"}, entry{name: "l/z", content: "through"},
		entry{name: "a/up", kind: tar.TypeSymlink, link: "../deep/er/y"}, entry{name: "hard", kind: tar.TypeLink, link: "a/x"},
		entry{name: "lost", kind: tar.TypeSymlink, link: "not/there"}, entry{name: "loop", kind: tar.TypeSymlink, link: "loop"})
	unpackedTar := map[string]string{"": "d700", "a": "d700", "a/x": "500 again", "deep": "d700", "deep/er": "d700", "deep/er/y": "500 two", "abs": "500 3",
		"l": "-> a/../deep", "deep/z": "500 through", "a/up": "-> ../deep/er/y", "hard": "500 again", "lost": "-> not/there", "loop": "-> loop"}
	zipped := zipOf(t, entry{name: "a/"}, entry{name: "b/c/x.class", content: "cc"}, entry{name: "lib/y.jar", content: "jj"},
		entry{name: "lib/y.jar", content: "jjj"}, entry{name: "in/../z", content: "z"})
	unpackedZip := map[string]string{"": "d700", "b": "d700", "b/c": "d700", "b/c/x.class": "500 cc", "lib": "d700", "lib/y.jar": "500 jjj", "z": "500 z"}
	matching := map[string]string{"": "d700", "lib": "d700", "lib/y.jar": "500 jjj", "j.Jar": "500 " + string(zipped)}
	for _, k := range []struct {
		name    string
		content []byte
		kind    Type
		pattern string
		want    map[string]string
		bytes   int64
	}{
		{"t.tar", tarred, Archive, "", unpackedTar, 3 + 3 + 5 + 1 + 7},
		{"t.TGZ", gzipped(t, tarred), Archive, "", unpackedTar, 19},
		{"t.tar.gz", gzipped(t, tarred), Pattern, "none", unpackedTar, 19},
		{"z.zip", zipped, Archive, "", unpackedZip, 2 + 2 + 3 + 1},
		{"z.zip", zipped, Pattern, "none", unpackedZip, 8},
		{"j.JAR", zipped, Archive, "none", unpackedZip, 8},
		{"j.Jar", zipped, Pattern, "(?:classes/|lib/).*", matching, int64(len(zipped)) + 5},
		{"e.tar", tarOf(t), Archive, "", map[string]string{"": "d700"}, 0},
		{"p.txt", []byte("text"), Archive, "", map[string]string{"": "500 text"}, 4},
		{"p.gz", []byte("text"), Pattern, "", map[string]string{"": "500 text"}, 4},
	} {
		b := newBench(t, Config{})
		r := b.put(k.name, k.content, k.kind)
		r.Pattern = k.pattern
		res, err := b.fetch(r)
		if err != nil || res.Bytes != k.bytes {
			t.Errorf("%s: %+v %v", k.name, res, err)
		}
		want := map[string]string{"10": "d755"}
		for name, what := range k.want {
			want[filepath.Join("10", k.name, name)] = what
		}
		b.holds(want)
		if k.bytes == 8 || k.bytes == 19 {
			one := filepath.Join(res.Path, map[int64]string{8: "z", 19: "hard"}[k.bytes])
			if i, err := os.Stat(one); err != nil || i.ModTime().Unix() != 1_500_000_000 {
				t.Error(i, err)
			}
		}
	}
}

func TestUnpackAllOfAJar(t *testing.T) {
	b := newBench(t, Config{})
	zipped := zipOf(t, entry{name: "x", content: "1"})
	res, err := b.fetch(b.put("j.jar", zipped, Pattern))
	if err != nil {
		t.Fatal(err)
	}
	if got := listing(t, res.Path); !slices.Equal(slices.Sorted(maps.Keys(got)), []string{"j.jar", "x"}) {
		t.Error(got)
	}
}
