package filesystem

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func connect(t *testing.T, cfg Config, text string) FileSystem {
	t.Helper()
	return connectAs(t, t.Context(), cfg, text, "alice")
}

func connectAs(t *testing.T, ctx context.Context, cfg Config, text, user string) FileSystem {
	t.Helper()
	f, err := tryConnect(ctx, cfg, text, user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func tryConnect(ctx context.Context, cfg Config, text, user string) (FileSystem, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	u, err := ParseURL(text)
	if err != nil {
		return nil, err
	}
	return s.Connect(ctx, u, user)
}

func write(t *testing.T, f FileSystem, path, content string, mode fs.FileMode, overwrite bool) error {
	t.Helper()
	w, err := f.Create(path, mode, overwrite)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, content); err != nil {
		return err
	}
	return w.Close()
}

func read(t *testing.T, f FileSystem, path string) string {
	t.Helper()
	r, err := f.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLocal(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	dir := t.TempDir()
	f := connect(t, Config{}, "file:"+dir)
	deep := filepath.Join(dir, "a", "b")
	if err := f.MkdirAll(deep, 0o770|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Dir(deep), deep} {
		if i, err := f.Stat(d); err != nil || !i.Dir || i.Mode != fs.ModeDir|fs.ModeSticky|0o770 || i.Owner == "" || i.Group == "" {
			t.Fatalf("%s: %+v %v", d, i, err)
		}
	}
	file := filepath.Join(deep, "x")
	if err := write(t, f, file, "one", 0o644, false); err != nil {
		t.Fatal(err)
	}
	if err := write(t, f, file, "two", 0o640, false); !errors.Is(err, fs.ErrExist) {
		t.Fatal("an exclusive file was replaced", err)
	}
	if err := write(t, f, file, "three", 0o640, true); err != nil {
		t.Fatal(err)
	}
	native, _ := os.Stat(file)
	i, err := f.Stat(file)
	if err != nil || i.Name != "x" || i.Size != 5 || i.Dir || i.Mode != 0o640 || i.ModTime != native.ModTime().UnixMilli() {
		t.Fatalf("%+v %v", i, err)
	}
	if got := read(t, f, file); got != "three" {
		t.Fatal(got)
	}
	if err := f.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := f.Rename(file, filepath.Join(deep, "y")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(deep, "dangling")); err != nil {
		t.Fatal(err)
	}
	infos, err := f.List(deep, 2)
	if err != nil || len(infos) != 1 || infos[0].Name != "y" || infos[0].Mode != 0o400 {
		t.Fatal(infos, err)
	}
	if _, err := f.List(deep, 1); !errors.Is(err, ErrTooMany) {
		t.Fatal(err)
	}
	if err := f.MkdirAll(filepath.Join(deep, "y", "z"), 0o700); err == nil {
		t.Fatal("a directory below a file")
	}
	if err := f.Remove(filepath.Dir(deep)); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(filepath.Dir(deep)); err != nil {
		t.Fatal("removing nothing", err)
	}
	if err := f.Remove("/"); err == nil {
		t.Fatal("removed the root")
	}
	if err := f.SetOwner(dir, "no-such-user-here", ""); err == nil {
		t.Fatal("an unknown owner")
	}
	_, err = f.Stat(file)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "stat file:"+file) {
		t.Fatal(err)
	}
}

func TestLocalRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f := connect(t, Config{}, "file:/")
	for _, name := range []string{pipe, "/dev/zero", dir} {
		if _, err := f.Open(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLocalEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := connectAs(t, ctx, Config{}, "file:/", "")
	r, err := f.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Create(file+"2", 0o600, false)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := io.Copy(w, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := f.List(filepath.Dir(file), 10); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Close()
	w.Close()
}

func TestDefaults(t *testing.T) {
	s, err := New(Config{Default: "hdfs://cluster"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, text := range []string{"/a", "hdfs:/b", "hdfs://other/c", "file:/d"} {
		u, err := ParseURL(text)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Resolve(u).String())
	}
	if want := []string{"hdfs://cluster/a", "hdfs://cluster/b", "hdfs://other/c", "file:/d"}; !slices.Equal(got, want) {
		t.Error(got)
	}
	if _, err := tryConnect(t.Context(), Config{}, "s3a://bucket/x", "a"); !errors.Is(err, ErrScheme) || !strings.Contains(err.Error(), "s3a://bucket/x") {
		t.Error(err)
	}
	for _, d := range []string{"/tmp", "a", "file:x"} {
		if _, err := New(Config{Default: d}); err == nil || !strings.Contains(err.Error(), "fs.defaultFS") {
			t.Errorf("%s: %v", d, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tryConnect(ended, Config{}, "file:/", "a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if f := connect(t, Config{}, "/"); f.Chmod("/nothing here", 0o700) == nil {
		t.Error("changed what is not there")
	}
}

// TestLocalOwners: names of owners are looked up by many at the same time.
func TestLocalOwners(t *testing.T) {
	l := connect(t, Config{}, "file:/").(*local)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for id := range uint32(5000) {
				if got := l.name("u", id, func(number string) (string, error) { return "user" + number, nil }); !strings.HasPrefix(got, "user") {
					t.Errorf("%d: %q", id, got)
				}
			}
		})
	}
	all.Wait()
}

func TestLocalAppend(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t.Context(), URL{Scheme: "file"})
	defer l.Close()
	write := func(file string) error {
		w, err := l.Append(file)
		if err != nil {
			return err
		}
		_, err = w.Write([]byte("more"))
		return errors.Join(err, w.Close())
	}
	if err := write(dir + "/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for name, text := range map[string]string{"f": "some ", ".f.crc": "of Java", ".g.crc": "of another"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir + "/f"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(dir + "/f"); err != nil || string(b) != "some more" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := os.Stat(dir + "/.f.crc"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Java's checksum is still there")
	}
	if _, err := os.Stat(dir + "/.g.crc"); err != nil {
		t.Error(err)
	}
	if err := os.Symlink(dir+"/f", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := write(dir + "/link"); err == nil {
		t.Error("a link was followed")
	}
	if err := write(dir); err == nil {
		t.Error("a directory was appended to")
	}
}
