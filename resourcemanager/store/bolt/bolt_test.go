package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

// childFile makes the test binary the child of TestKilled: it commits to the
// file named by it until it is killed.
const childFile = "HEDDLE_TEST_BOLT_CHILD"

func TestMain(m *testing.M) {
	path := os.Getenv(childFile)
	if path == "" {
		os.Exit(m.Run())
	}
	s, err := Open(path, Options{Options: store.Options{Types: storetest.Types()}})
	if err == nil {
		err = storetest.CommitForever(s, os.Stdout)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "deeper", "state.db") }

func mustOpen(t testing.TB, path string) store.Store {
	t.Helper()
	s, err := Open(path, Options{Options: store.Options{Types: storetest.Types()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// rewrite commits a change while no store has the file open: the file is whole.
func rewrite(t testing.TB, path string, f func(*sealed.Tx) error) {
	t.Helper()
	o := Options{}.sealed()
	o.Prepare = func(*sealed.Tx, bool) error { return nil }
	o.Intact = func(bool, string, []byte, []byte) error { return nil }
	file, err := sealed.Open(path, o)
	if err == nil {
		err = errors.Join(file.Update(f), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// edit changes the file behind the store's back.
func edit(t testing.TB, path string, f func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	if err == nil {
		err = errors.Join(db.Update(f), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		path := file(t)
		return storetest.Subject{
			Open: func(t testing.TB, o store.Options) store.Store {
				s, err := Open(path, Options{Options: o})
				if err != nil {
					t.Fatal(err)
				}
				return s
			},
			Overwrite: func(t testing.TB, key state.Key, value []byte) {
				rewrite(t, path, func(tx *sealed.Tx) error { return tx.Put(string(key.Table), key.Name, value) })
			},
		}
	})
}

func TestKilled(t *testing.T) {
	path := file(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, enough := range []int{1, 20} {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		child := exec.CommandContext(t.Context(), self)
		child.Env = append(os.Environ(), childFile+"="+path)
		storetest.Kill(t, child, enough, func() store.Store { return mustOpen(t, path) })
	}
}

func TestModeIsPrivate(t *testing.T) {
	path := file(t)
	for _, before := range []fs.FileMode{0, 0o644} {
		if before != 0 {
			if err := os.Chmod(path, before); err != nil {
				t.Fatal(err)
			}
		}
		if err := mustOpen(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Fatalf("mode %v, %v", info.Mode(), err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	path := file(t)
	mustOpen(t, path)
	_, err := Open(path, Options{LockTimeout: time.Millisecond})
	says(t, err, path, "another process has held the lock of ", "is a ResourceManager running already?")

	version := func(v string) string {
		path := file(t)
		_ = mustOpen(t, path).Close()
		rewrite(t, path, func(tx *sealed.Tx) error { return tx.Put(ownBucket, versionKey, []byte(v)) })
		return path
	}
	_, err = Open(version("3.0"), Options{})
	says(t, err, "layout version is 3.0, this program reads 1.x and 2.x")
	_, err = Open(version("1.0"), Options{})
	says(t, err, "layout version is 1.0 and its seal says otherwise")
	_, err = Open(version("x"), Options{})
	says(t, err, `layout version "x" is not major.minor`)

	path = version("2.7") // a later minor is used and marked with ours
	_ = mustOpen(t, path).Close()
	edit(t, path, func(tx *bbolt.Tx) error {
		if v := string(tx.Bucket([]byte(ownBucket)).Get([]byte(versionKey))); v != "2.0" {
			t.Errorf("version is %s", v)
		}
		return nil
	})

	path = filepath.Join(t.TempDir(), "other.db")
	edit(t, path, func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
	_, err = Open(path, Options{})
	says(t, err, "bbolt file of another program", "theirs")

	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, Options{})
	says(t, err, path, "neither of its two meta pages", "-check-state-store", "-repair-state-store")
}

func says(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Fatalf("error %v does not say %q", err, p)
		}
	}
}

func TestEpochOutOfRange(t *testing.T) {
	path := file(t)
	_ = mustOpen(t, path).Close()
	for text, want := range map[string]string{"many": "is not a number", "99999999": "epoch 99999999 is not in the configured range"} {
		rewrite(t, path, func(tx *sealed.Tx) error { return tx.Put(ownBucket, epochKey, []byte(text)) })
		s := mustOpen(t, path)
		_, err := s.Load(t.Context())
		says(t, err, want)
		_ = s.Close()
	}
}

// filled is a file with enough records for many pages.
func filled(t testing.TB) string {
	path := file(t)
	s := mustOpen(t, path)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ops []state.Op
	for n := range 2000 {
		ops = append(ops, state.Put(storetest.Application(n+1, 1000)))
	}
	if err := errors.Join(s.Commit(t.Context(), ops), s.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// A context is read again while the store is in use, as it was committed last.
func TestContext(t *testing.T) {
	path := filled(t)
	var read atomic.Int32
	s, err := Open(path, Options{Options: store.Options{Read: func(a *state.Application) any {
		a.Context = nil
		return read.Add(1)
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	id := storetest.Application(7, 1).ID
	if _, err := s.Context(id); !errors.Is(err, store.ErrNotLoaded) {
		t.Errorf("before it is loaded: %v", err)
	}
	snapshot, err := s.Load(t.Context())
	if err != nil || read.Load() != 2000 || len(snapshot.Applications) != 2000 || snapshot.Applications[6].Context != nil {
		t.Fatalf("%d applications were read: %v", read.Load(), err)
	}
	for _, size := range []int{1000, 10} {
		app := storetest.Application(7, size)
		if size != 1000 {
			if err := s.Commit(t.Context(), storetest.Puts(app)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Context(id); err != nil || !bytes.Equal(got, app.Context) {
			t.Errorf("%d bytes, want %d: %v", len(got), len(app.Context), err)
		}
	}
	if got, err := s.Context(storetest.Application(5000, 1).ID); got != nil || err != nil {
		t.Errorf("of an unknown application: %q, %v", got, err)
	}
}

func TestDamagedPages(t *testing.T) {
	path := filled(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	for i := 2 * os.Getpagesize(); i < len(bad); i++ {
		bad[i] ^= 0xff
	}
	for name, content := range map[string][]byte{"inverted pages": bad, "cut short": good[:4*os.Getpagesize()]} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{LockTimeout: time.Second})
		if err == nil {
			_, err = s.Load(t.Context())
			_ = s.Close()
		}
		t.Logf("%s: %v", name, err)
		says(t, err, path)
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if snapshot, err := mustOpen(t, path).Load(t.Context()); err != nil || len(snapshot.Applications) != 2000 {
		t.Fatalf("the copy: %v", err)
	}
}

func TestFileReplacedWhileOpen(t *testing.T) {
	for name, mischief := range map[string]func(path string) error{
		"is gone": os.Remove,
		"was replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		path := file(t)
		s := mustOpen(t, path)
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := mischief(path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 1)))
			var unavailable *store.UnavailableError
			if !errors.As(err, &unavailable) {
				t.Fatalf("got %v", err)
			}
			says(t, err, name)
		}
	}
}

// A file that is cut short while it is in use is told from one that is away.
func TestDamagedWhileOpen(t *testing.T) {
	path := filled(t)
	s := mustOpen(t, path)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(4*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 1)))
		if !errors.As(err, new(*store.DamagedError)) || errors.As(err, new(*store.UnavailableError)) {
			t.Fatalf("got %v", err)
		}
		says(t, err, path, "-check-state-store", "-repair-state-store")
	}
}

// A disk that is full, or fails, has not damaged the file.
func TestFailedDiskIsNoDamage(t *testing.T) {
	for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		for _, failure := range []error{&fs.PathError{Op: "write", Err: cause}, cause} {
			s := mustOpen(t, file(t))
			if _, err := s.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := s.(*bolt).update(func(*sealed.Tx) error { return failure })
			again := s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 1)))
			if again == nil && passing(failure) {
				again = err
			}
			for _, err := range []error{err, again} {
				if !errors.As(err, new(*store.UnavailableError)) || !errors.Is(err, cause) || errors.As(err, new(*store.DamagedError)) {
					t.Errorf("%v: got %v", failure, err)
				}
			}
		}
	}
}

func TestWhichErrorsPass(t *testing.T) {
	for err, want := range map[error]bool{
		&fs.PathError{Op: "write", Err: syscall.ENOSPC}: true,
		&fs.PathError{Op: "write", Err: syscall.EDQUOT}: true,
		&fs.PathError{Op: "write", Err: syscall.EIO}:    false,
		syscall.ENOSPC: false, // fdatasync
		syscall.EIO:    false,
	} {
		if got := passing(fmt.Errorf("state.db: %w", err)); got != want {
			t.Errorf("%v: passing %v", err, got)
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := mustOpen(b, filepath.Join(b.TempDir(), "state.db"))
			if _, err := s.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				ops := make([]state.Op, size)
				for i := range ops {
					n++
					ops[i] = state.Put(storetest.Application(1+n%20000, 2000))
				}
				if err := s.Commit(b.Context(), ops); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
