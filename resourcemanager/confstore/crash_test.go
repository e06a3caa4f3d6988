package confstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
)

var errDied = errors.New("the process has died")

// dying is a file system on which the process dies before one of its writes, or in the middle of one.
type dying struct {
	filesystem.FileSystem
	left *int // writes until the process dies
}

func (d dying) write() error {
	if *d.left--; *d.left < 0 {
		return errDied
	}
	return nil
}

func (d dying) Create(file string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	if err := d.write(); err != nil {
		return nil, err
	}
	w, err := d.FileSystem.Create(file, mode, overwrite)
	return dyingFile{w, d}, err
}

type dyingFile struct {
	io.WriteCloser
	d dying
}

func (f dyingFile) Write(b []byte) (int, error) {
	if err := f.d.write(); err != nil {
		n, _ := f.WriteCloser.Write(b[:len(b)/2])
		return n, err
	}
	return f.WriteCloser.Write(b)
}

func (d dying) Rename(from, to string) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.FileSystem.Rename(from, to)
}

func (d dying) Remove(file string) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.FileSystem.Remove(file)
}

// openPlace opens a store in one place; its process dies after a number of writes, or never if the number is negative.
type openPlace func(left *int) (confstore.Store, error)

func fsPlace(t *testing.T) (open openPlace, sound func(version int64) error) {
	dir := t.TempDir()
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	url, err := filesystem.ParseURL("file://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	open = func(left *int) (confstore.Store, error) {
		return confstore.OpenFS(context.Background(), confstore.FSOptions{Systems: systems, URL: url, User: "yarn", Versions: 1, Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) },
			Wrap: func(sys filesystem.FileSystem) filesystem.FileSystem { return dying{sys, left} }})
	}
	return open, func(version int64) error { // checks what Apache's ResourceManager would read
		b, err := os.ReadFile(filepath.Join(dir, "ConfigVersion"))
		if err == nil && (len(b) != 8 || int64(binary.BigEndian.Uint64(b)) != version) {
			err = fmt.Errorf("ConfigVersion is %x, want %d", b, version)
		}
		return err
	}
}

func zkPlace(*testing.T) (open openPlace, sound func(version int64) error) {
	server := zookeepertest.New()
	open = func(left *int) (confstore.Store, error) {
		server.Before(func(call, _ string) error {
			if slices.Contains([]string{"create", "write", "delete", "multi"}, call) {
				if *left--; *left < 0 {
					return zookeeper.ErrConnection
				}
			}
			return nil
		})
		return openZK(server)
	}
	return open, func(version int64) error {
		if got := string(server.Dump(parent)[parent+"/CONF_VERSION"]); got != fmt.Sprint(version) {
			return fmt.Errorf("CONF_VERSION is %s, want %d", got, version)
		}
		return nil
	}
}

// TestEveryWrite: wherever the process dies in a commit or in the next load, the next process finds the whole configuration from before or after the commit, and goes on with it.
func TestEveryWrite(t *testing.T) {
	for name, place := range map[string]func(*testing.T) (openPlace, func(int64) error){"fs": fsPlace, "zk": zkPlace} {
		deaths := 0
		for at, all := 0, false; !all; at++ {
			open, sound := place(t)
			never := 1 << 30
			s, err := open(&never)
			if err != nil {
				t.Fatal(err)
			}
			now, err := s.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var old *confstore.State
			for i := range 3 { // so that there is something to remove
				old, now = now, now.Clone()
				now.Accept(map[string]string{"n": fmt.Sprint(i)}, confstore.Version{User: "alice"})
				now.Note(confstore.Attempt{User: "alice", Updates: map[string]*string{}}, 10)
				if i < 2 {
					if err := s.Commit(t.Context(), old.Version, now); err != nil {
						t.Fatal(err)
					}
				}
			}
			left := at
			if s, err = open(&left); err == nil {
				_, err = s.Load(t.Context())
			}
			if err == nil {
				err = s.Commit(t.Context(), old.Version, now)
			}
			if all = err == nil; !all {
				deaths++
			}
			left = at % 3
			if s, err := open(&left); err == nil {
				_, _ = s.Load(t.Context())
			}
			if s, err = open(&never); err != nil {
				t.Fatalf("%s, death at write %d: %v", name, at, err)
			}
			found, err := s.Load(t.Context())
			if err != nil {
				t.Fatalf("%s, death at write %d: %v", name, at, err)
			}
			want := now
			if found.Version == old.Version && !all {
				want = old
			}
			if found.Version != want.Version || len(confstore.Diff(found.Values, want.Values)) > 0 || len(found.History) != len(want.History) || len(found.Attempts) != len(want.Attempts) ||
				found.History[len(found.History)-1].User != "alice" {
				t.Errorf("%s, death at write %d (committed: %t): %+v, want %+v", name, at, all, found, want)
			}
			if err := sound(found.Version); err != nil {
				t.Errorf("%s, death at write %d: %v", name, at, err)
			}
			next := found.Clone()
			next.Accept(map[string]string{"n": "next"}, confstore.Version{User: "bob"})
			if err := s.Commit(t.Context(), found.Version, next); err != nil {
				t.Errorf("%s, death at write %d: the next commit: %v", name, at, err)
			}
			if back, err := s.Load(t.Context()); err != nil || back.Version != next.Version || back.Values["n"] != "next" {
				t.Errorf("%s, death at write %d: after the next commit: %+v %v", name, at, back, err)
			}
		}
		if least := map[string]int{"fs": 9, "zk": 1}[name]; deaths < least {
			t.Errorf("%s: %d deaths", name, deaths)
		}
	}
}

// TestTwoWriters: if two processes have loaded the same version and both commit, the second commit is refused and has no effect.
func TestTwoWriters(t *testing.T) {
	for name, place := range map[string]func(*testing.T) (openPlace, func(int64) error){"fs": fsPlace, "zk": zkPlace} {
		for _, first := range []bool{true, false} { // nothing was stored before
			open, sound := place(t)
			never := 1 << 30
			var writers [2]confstore.Store
			var loaded [2]*confstore.State
			for i := range writers {
				var err error
				if writers[i], err = open(&never); err != nil {
					t.Fatal(err)
				}
				if i == 0 && !first {
					was, err := writers[0].Load(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					next := was.Clone()
					next.Accept(map[string]string{"a": "0"}, confstore.Version{})
					if err := writers[0].Commit(t.Context(), was.Version, next); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := range writers {
				var err error
				if loaded[i], err = writers[i].Load(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			one, two := loaded[0].Clone(), loaded[1].Clone()
			one.Accept(map[string]string{"a": "1"}, confstore.Version{User: "alice"})
			two.Accept(map[string]string{"a": "2"}, confstore.Version{User: "bob"})
			two.Accept(map[string]string{"a": "3"}, confstore.Version{User: "bob"})
			if err := writers[0].Commit(t.Context(), loaded[0].Version, one); err != nil {
				t.Fatal(err)
			}
			if err := writers[1].Commit(t.Context(), loaded[1].Version, two); !errors.As(err, new(*confstore.ConflictError)) {
				t.Errorf("%s: the second commit: %v", name, err)
			}
			for i := range writers {
				if back, err := writers[i].Load(t.Context()); err != nil || back.Version != one.Version || back.Values["a"] != "1" || back.History[len(back.History)-1].User != "alice" {
					t.Errorf("%s: %+v %v", name, back, err)
				}
			}
			if err := sound(one.Version); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestZKFence: nothing can be committed while the fence of another ResourceManager's transaction exists; a start removes a fence that was left behind.
func TestZKFence(t *testing.T) {
	server := zookeepertest.New()
	s, now := loadedZK(t, server)
	server.Put(parent+"/FENCING", nil)
	next := now.Clone()
	next.Accept(map[string]string{"a": "1"}, confstore.Version{User: "alice"})
	if err := s.Commit(t.Context(), now.Version, next); err == nil {
		t.Error("a commit succeeds in spite of another's fence")
	}
	s, back := loadedZK(t, server)
	if back.Version != 0 {
		t.Fatalf("%+v", back)
	}
	if err := s.Commit(t.Context(), now.Version, next); err != nil {
		t.Errorf("after a fence that was left: %v", err)
	}
}
