package localize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// stranger is a Foreign.
type stranger func(ctx context.Context, j Job) (string, error)

func (s stranger) Fetch(ctx context.Context, j Job) (string, error) { return s(ctx, j) }

func TestForeign(t *testing.T) {
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// The shortest forms of what may be done in the numbered directory.
	dir := func(at string) error { return os.Mkdir(at, 0o777) }
	file := func(at, text string) error { return os.WriteFile(at, []byte(text), 0o666) } //nolint:gosec // too much on purpose
	url := filesystem.URL{Scheme: "s3a", Authority: "bucket", Path: "/a/x.jar"}
	for _, c := range []struct {
		name  string
		bring func(dest, at string) error
		want  string // what the error says; "" for none
		bytes int64
	}{
		{"file", func(d, at string) error { return errors.Join(dir(d), file(at, "12345")) }, "", 5},
		{"tree", func(d, at string) error {
			return errors.Join(dir(d), dir(at), dir(at+"/b"), file(at+"/b/c", "123"), file(d+"/.x.crc", "1"), os.Symlink("/", at+"/b/l"), os.Chmod(at+"/b", 0))
		}, "", 4},
		{"no directory", func(string, string) error { return nil }, "no such file", 0},
		{"no file", func(d, _ string) error { return dir(d) }, "no such file", 0},
		{"a file for a directory", func(d, _ string) error { return file(d, "") }, "no directory", 0},
		{"a link for a directory", func(d, _ string) error { return os.Symlink("/", d) }, "no directory", 0},
		{"too many bytes", func(d, at string) error { return errors.Join(dir(d), file(at, strings.Repeat("x", 101))) }, "more than 100 bytes", 0},
		{"too many bytes together", func(d, at string) error {
			return errors.Join(dir(d), dir(at), file(at+"/a", strings.Repeat("x", 60)), file(at+"/b", strings.Repeat("x", 60)))
		}, "more than 100 bytes", 0},
		{"too many entries", func(d, at string) error {
			err := errors.Join(dir(d), dir(at))
			for i := range 21 {
				err = errors.Join(err, file(fmt.Sprintf("%s/%d", at, i), ""))
			}
			return err
		}, "more than 20 entries", 0},
		{"too deep", func(d, at string) error { return errors.Join(dir(d), os.MkdirAll(at+"/1/2/3/4/5", 0o700)) }, "directories deep", 0},
		{"failure", func(d, at string) error {
			return errors.Join(dir(d), dir(d+Suffix), dir(at), dir(at+"/b"), file(at+"/b/c", ""), os.Chmod(at+"/b", 0), errors.New("no bucket"))
		}, "no bucket", 0},
		{"panic", func(d, _ string) error {
			if err := dir(d); err != nil {
				return err
			}
			panic("at the disco")
		}, "at the disco", 0},
	} {
		for _, v := range []Visibility{Public, Private} {
			cache := t.TempDir()
			dest := filepath.Join(cache, "filecache", "0", "10")
			at := filepath.Join(dest, "x.jar")
			f := New(Config{FileSystems: systems, Limits: Limits{Bytes: 100, Entries: 20, Depth: 4}, Foreign: stranger(func(_ context.Context, j Job) (string, error) {
				if j.Dest != dest || j.User != "ann" {
					return "", fmt.Errorf("asked for %+v", j)
				}
				return at, c.bring(dest, at)
			})})
			got, err := f.Fetch(t.Context(), Request{URL: url, Type: Archive, Visibility: v}, dest, "ann")
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), url.String()) {
					t.Errorf("%s: %v, want %s", c.name, err, c.want)
				}
				if left, _ := os.ReadDir(filepath.Dir(dest)); len(left) != 0 {
					t.Errorf("%s: left %v", c.name, left)
				}
				continue
			}
			if err != nil || got != (Result{at, c.bytes}) {
				t.Errorf("%s: %+v %v", c.name, got, err)
			}
			checkModes(t, dest, v)
			if _, err := f.Fetch(t.Context(), Request{URL: url, Type: Archive, Visibility: v}, dest, "ann"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s, a second time: %v", c.name, err)
			}
		}
	}
	f := New(Config{FileSystems: systems})
	if _, err := f.Fetch(t.Context(), Request{URL: url, Type: File, Visibility: Private}, filepath.Join(t.TempDir(), "10"), "ann"); !errors.Is(err, filesystem.ErrScheme) {
		t.Errorf("with nobody to ask: %v", err)
	}
}

// checkModes: everything in a numbered directory has the modes of its cache.
func checkModes(t *testing.T, dest string, v Visibility) {
	t.Helper()
	err := filepath.WalkDir(dest, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := modesOf(v).file
		switch {
		case path == dest:
			want = 0o755
		case d.IsDir():
			want = modesOf(v).dir
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
