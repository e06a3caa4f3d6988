package localize

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// fuzzUnpack wants that an archive, whatever it holds, ends in the cache or leaves nothing, and never reaches beyond.
func fuzzUnpack(f *testing.F, name string) {
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		f.Fatal(err)
	}
	fetcher := New(Config{FileSystems: systems, Limits: small})
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		cache := filepath.Join(dir, "c", "cache")
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(cache, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fetcher.Fetch(t.Context(), Request{URL: filesystem.URL{Scheme: "file", Path: at}, Timestamp: info.ModTime().UnixMilli(),
			Type: Archive, Visibility: Private}, filepath.Join(cache, "10"), "")
		want := 1
		if err != nil {
			want = 0
		}
		for path, n := range map[string]int{dir: 2, filepath.Dir(cache): 1, cache: want} {
			if got, e := os.ReadDir(path); e != nil || len(got) != n {
				t.Fatalf("%s holds %v, %v after %v", path, got, e, err)
			}
		}
		if err := filepath.WalkDir(dir, func(_ string, _ os.DirEntry, err error) error { return err }); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzTar(f *testing.F) {
	t := &testing.T{}
	f.Add(tarOf(t, entry{name: "a/b", content: "x"}, entry{name: "l", kind: tar.TypeSymlink, link: "a"}, entry{name: "l/c", content: "y"},
		entry{name: "h", kind: tar.TypeLink, link: "a/b"}))
	f.Add(tarOf(t, entry{name: "../x", content: "x"}, entry{name: "d", kind: tar.TypeDir}))
	fuzzUnpack(f, "t.tar")
}

func FuzzZip(f *testing.F) {
	t := &testing.T{}
	f.Add(zipOf(t, entry{name: "a/b", content: "x"}, entry{name: "../c", content: "y"}))
	f.Add(announcing(zipOf(t, entry{name: "a", content: "x"})))
	fuzzUnpack(f, "z.zip")
}
