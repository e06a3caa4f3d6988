package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	app = yarn.ApplicationID{ClusterTimestamp: 1_700_000_000_000, Sequence: 7}
	one = yarn.ContainerID{Attempt: yarn.AttemptID{Application: app, Attempt: 1}, Number: 1}
	two = yarn.ContainerID{Attempt: yarn.AttemptID{Application: app, Attempt: 1}, Number: 3<<yarn.EpochShift | 2}
)

// everything is one record of every kind, with every field set.
func everything() (ops []state.Op, want state.Snapshot) {
	c := state.Container{ID: one, Token: []byte{0, 1, 0xff}, Launch: []byte("launch"), Started: 5, Resource: yarn.Resource{1024, 1, 0, 7},
		Execution: yarn.Opportunistic, Version: 3, WorkDir: "/d/w", LogDir: "/l/w", Tries: 2, Failures: []int64{4, 5}, Killed: -105, Done: true,
		Exit: -100, Ended: 9, Text: "so\n\u2028<&>"}
	other := state.Container{ID: two}
	a := state.Application{ID: app, User: "ann", LogContext: []byte{1}, ACLs: map[string]string{"VIEW_APP": "bob ops"}, Finished: true, Collected: true}
	e := state.Ended{ID: two, Master: true, Exit: 143}
	r := state.Resource{Number: 258, Owner: "user/ann", Key: `"file" "a"`, Place: 12, Dir: "/d/12", Path: "/d/12/a", Bytes: 1 << 40, Used: 8}
	early := state.Resource{Number: 9}
	ops = []state.Op{state.PutContainer{Container: other}, state.PutContainer{Container: c}, state.PutApplication{Application: a}, state.PutEnded{Ended: e},
		state.PutResource{Resource: r}, state.PutResource{Resource: early}, state.PutPart{Part: "keys", Key: "k", Value: []byte{0, 255}},
		state.PutPart{Part: "keys", Key: "", Value: []byte{}}, state.PutPart{Part: "jobs", Key: "k", Value: []byte("v")}}
	want = state.Snapshot{Containers: []state.Container{c, other}, Applications: []state.Application{a}, Ended: []state.Ended{e},
		Resources: []state.Resource{early, r}, Parts: map[string]map[string][]byte{"keys": {"k": {0, 255}, "": {}}, "jobs": {"k": []byte("v")}}}
	return ops, want
}

func open1(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *Store) mustCommit(t *testing.T, ops ...state.Op) {
	t.Helper()
	if err := s.Commit(ops); err != nil {
		t.Fatal(err)
	}
}

func (s *Store) mustLoad(t *testing.T) state.Snapshot {
	t.Helper()
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return *got
}

// What was committed is there in the next life, each kind sorted, and what was dropped is not.
func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open1(t, dir)
	ops, want := everything()
	s.mustCommit(t, ops...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open1(t, dir)
	if got := s.mustLoad(t); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	s.mustCommit(t, state.DropContainer{ID: one}, state.DropContainer{ID: two}, state.DropContainer{ID: two}, state.DropApplication{ID: app},
		state.DropResource{Number: 258}, state.DropResource{Number: 9}, state.DropPart{Part: "keys", Key: "k"}, state.DropPart{Part: "keys", Key: ""},
		state.DropPart{Part: "jobs", Key: "k"})
	if got := s.mustLoad(t); !reflect.DeepEqual(got, state.Snapshot{Parts: map[string]map[string][]byte{}}) {
		t.Errorf("left: %+v", got)
	}
	s.Close()
	path := filepath.Join(dir, File)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open1(t, dir)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("keys lie in a file of mode %v (%v)", info.Mode(), err)
	}
}

// An application takes its ended containers with it, and no other's.
func TestDropApplication(t *testing.T) {
	s := open1(t, t.TempDir())
	for sequence := range int32(12) {
		for number := range int64(30) {
			id := yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: sequence}}, Number: number}
			s.mustCommit(t, state.PutEnded{Ended: state.Ended{ID: id}})
			if sequence == 1 && number == 9 {
				break
			}
		}
	}
	s.mustCommit(t, state.DropApplication{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}})
	got := s.mustLoad(t).Ended
	for _, x := range got {
		if x.ID.Attempt.Application.Sequence == 1 {
			t.Errorf("left: %v", x.ID)
		}
	}
	if len(got) != 11*30 {
		t.Errorf("%d are left", len(got))
	}
}

// All of a commit or nothing.
func TestAtomic(t *testing.T) {
	s := open1(t, t.TempDir())
	if err := s.Commit([]state.Op{state.PutContainer{Container: state.Container{ID: one}}, nil}); err == nil {
		t.Error("an unknown change is committed")
	}
	if err := s.Commit([]state.Op{state.DropContainer{ID: one}, state.PutPart{Part: strings.Repeat("k", bbolt.MaxKeySize+1)}}); err == nil {
		t.Error("a key beyond all measure is committed")
	}
	if got := s.mustLoad(t); len(got.Containers) != 0 {
		t.Errorf("half of a commit is there: %+v", got.Containers)
	}
}

// A record that cannot be read, or that is another's, is told and left out; the others are there.
func TestDamagedRecords(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	ops, want := everything()
	s.mustCommit(t, ops...)
	err := s.file.Update(func(tx *sealed.Tx) error {
		return errors.Join(tx.Put(containers, "container_1_0001_01_000001", sum([]byte("{"))), tx.Put(containers, "container_1_0001_01_000002", sum([]byte("null"))),
			tx.Put(containers, "container_1_0001_01_000003", bytes.Clone(tx.Get(containers, one.String()))), tx.Put(containers, "x", sum([]byte(`{"ID":{"Number":"one"}}`))),
			tx.Put(resources, number(1), sum(nil)), tx.Put(applications, "application_1_0001", sum([]byte("[]"))),
			tx.Put(ended, "y", sum([]byte("{}"))), tx.Put(parts, "no part", sum([]byte("z"))))
	})
	if err != nil {
		t.Fatal(err)
	}
	got := s.mustLoad(t)
	if len(got.Damaged) != 8 {
		t.Errorf("%d damaged records: %v", len(got.Damaged), got.Damaged)
	}
	for _, d := range got.Damaged {
		if d.Key == "" || d.Reason == "" {
			t.Errorf("damage without a word: %+v", d)
		}
	}
	got.Damaged = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func second(_ *bbolt.Bucket, err error) error { return err }

// A second NodeManager does not get the file.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	if _, err := openWithin(dir, 20*time.Millisecond); err == nil || !strings.Contains(err.Error(), "is a NodeManager running already?") {
		t.Errorf("opened twice: %v", err)
	}
	s.Close()
	open1(t, dir)
}

// What is not ours is refused, and left as it is.
func TestForeign(t *testing.T) {
	for name, fill := range map[string]func(*bbolt.Tx) error{
		"no NodeManager's store": func(tx *bbolt.Tx) error { return second(tx.CreateBucket([]byte("apps"))) },
		`its layout is "7"`: func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte(meta))
			return errors.Join(err, b.Put([]byte(layoutKey), []byte("7")))
		},
	} {
		path := filepath.Join(t.TempDir(), File)
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(fill), db.Close()); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(path)
		if _, err := Open(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "file")); err == nil || !strings.Contains(err.Error(), "yarn.nodemanager.recovery.dir") {
		t.Errorf("a file in place of the directory: %v", err)
	}
}

// However the file is damaged, there is an error or there are records; never a panic, and the lock is free again.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	for i := range 40 {
		s.mustCommit(t, state.PutPart{Part: "p", Key: fmt.Sprint(i), Value: bytes.Repeat([]byte{byte(i)}, 3000)})
	}
	s.Close()
	good, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	good = good[:len(good)-reserve] // about what is used
	damages := map[string]func([]byte) []byte{
		"rubbish":     func([]byte) []byte { return []byte(strings.Repeat("rubbish ", 10_000)) },
		"cut to one":  func(b []byte) []byte { return b[:1] },
		"cut to half": func(b []byte) []byte { return b[:len(b)/8] }, // the rest is reserve
		"both metas":  func(b []byte) []byte { clear(b[:2*os.Getpagesize()]); return b },
		"the rest":    func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b },
		"ones":        func(b []byte) []byte { copy(b[2*os.Getpagesize():], bytes.Repeat([]byte{0xff}, len(b))); return b },
	}
	for name, damage := range damages {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), damage(bytes.Clone(good)), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the lock must be free the second time
			s, err := Open(dir)
			if err == nil {
				_, err = s.Load()
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), File) || !strings.Contains(err.Error(), "-repair-recovery-store") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The file has room on its disk beyond what it uses, in every life, and however it grows.
func TestReserve(t *testing.T) {
	dir := t.TempDir()
	check := func(when string, used int64) {
		t.Helper()
		var s syscall.Stat_t
		if err := syscall.Stat(filepath.Join(dir, File), &s); err != nil || s.Blocks*512 < used+reserve/2 {
			t.Errorf("%s: %d bytes are on the disk, %v", when, s.Blocks*512, err)
		}
	}
	s := open1(t, dir)
	if s.room == 0 {
		t.Log("not run: the file system sets no room aside")
		return
	}
	check("at first", reserve/2)
	for i := range 20 {
		s.mustCommit(t, state.PutPart{Part: "p", Key: fmt.Sprint(i), Value: make([]byte, 1<<20)})
		check(fmt.Sprint("after ", i), int64(i+1)<<20)
	}
	s.Close()
	check("when closed", 20<<20)
	s = open1(t, dir)
	check("opened again", 20<<20)
	if found, err := s.Load(); err != nil || len(found.Parts["p"]) != 20 {
		t.Errorf("%d records, %v", len(found.Parts["p"]), err)
	}
	s.Close()
}

// A file that is cut short under an open store is an error too.
func TestCutShort(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	for i := range 40 {
		s.mustCommit(t, state.PutPart{Part: "p", Key: fmt.Sprint(i), Value: bytes.Repeat([]byte{byte(i)}, 3000)})
	}
	if err := os.Truncate(filepath.Join(dir, File), int64(2*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("loaded: %v", err)
	}
}

// A store that broke while it was open says so.
func TestCommitFails(t *testing.T) {
	s := open1(t, t.TempDir())
	s.Close()
	if err := s.Commit([]state.Op{state.DropContainer{ID: one}}); err == nil {
		t.Error("committed to a closed file")
	}
	if _, err := s.Load(); err == nil {
		t.Error("loaded from a closed file")
	}
}

// FuzzRecords reads any bytes as any record: nothing panics, and what can be read is written as it will be read again.
func FuzzRecords(f *testing.F) {
	s, err := Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	ops, _ := everything()
	if err := s.Commit(ops); err != nil {
		f.Fatal(err)
	}
	if err := s.file.View(func(tx *sealed.Tx) error {
		for _, bucket := range buckets {
			_ = tx.ForEach(bucket, func(k, v []byte) error { f.Add(bytes.Clone(k), bytes.Clone(v[:len(v)-4])); return nil })
		}
		return nil
	}); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("container_1_0001_01_000001"), []byte(`{"ID":{"Number":-1},"Resource":[1,2,3,4,5,6,7,8,9],"Failures":null}`))
	f.Fuzz(func(t *testing.T, k, v []byte) {
		again(t, k, v, containerKey)
		again(t, k, v, endedKey)
		again(t, k, v, applicationKey)
		again(t, k, v, resourceKey)
	})
}

func again[T any](t *testing.T, k, v []byte, key func(T) string) {
	x, err := read(k, v, key)
	if err != nil {
		return
	}
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := read(k, b, key); err != nil || fmt.Sprintf("%+v", y) != fmt.Sprintf("%+v", x) {
		t.Errorf("%+v became %+v (%v)", x, y, err)
	}
}

// A file of the layout before, without sums and seal, is taken over as it is.
func TestLayoutBefore(t *testing.T) {
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, File), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := open1(t, t.TempDir())
	ops, want := everything()
	s.mustCommit(t, ops...)
	err = s.file.View(func(from *sealed.Tx) error {
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte(meta))
			if err := errors.Join(err, b.Put([]byte(layoutKey), []byte(layoutBefore))); err != nil {
				return err
			}
			for _, bucket := range buckets {
				b, err := tx.CreateBucket([]byte(bucket))
				if err != nil {
					return err
				}
				if err := from.ForEach(bucket, func(k, v []byte) error { return b.Put(k, v[:len(v)-4]) }); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := open1(t, dir)
		if got := s.mustLoad(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
		s.Close()
	}
	if r, err := Check(dir); err != nil || r.Damage != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// A record of which one bit is not what it was is named; the repair keeps all others.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, File)
	s := open1(t, dir)
	ops, want := everything()
	s.mustCommit(t, ops...)
	s.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(b, []byte(`"Owner":"user/ann"`))
	b[at+12] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "-check-recovery-store") || !strings.Contains(err.Error(), "resources/") {
		t.Fatalf("opened: %v", err)
	}
	r, err := Repair(dir, time.Now())
	if err != nil || len(r.Lost) != 1 || r.Lost[0].Bucket != resources {
		t.Fatalf("%+v, %v", r, err)
	}
	want.Resources = want.Resources[:1]
	if got := open1(t, dir).mustLoad(t); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}
