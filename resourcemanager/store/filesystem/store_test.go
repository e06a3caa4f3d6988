package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/yarn"
)

// childDir makes the test binary the child of TestKilled: it commits to the directory
// named by it until it is killed.
const childDir = "HEDDLE_TEST_FILES_CHILD"

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := Open(options(dir, store.Options{Types: storetest.Types()}))
	if err == nil {
		err = storetest.CommitForever(s, os.Stdout)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func options(dir string, o store.Options) Options {
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		panic(err)
	}
	url, err := filesystem.ParseURL("file://" + dir)
	if err != nil {
		panic(err)
	}
	return Options{Options: o, Systems: systems, URL: url}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := Open(options(dir, store.Options{Types: storetest.Types()}))
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func loaded(t testing.TB, dir string) (store.Store, *state.Snapshot) {
	t.Helper()
	s := open(t, dir)
	snapshot, err := s.Load(t.Context())
	must(t, err)
	return s, snapshot
}

func overwrite(t testing.TB, dir string, key state.Key, value []byte) {
	t.Helper()
	at, err := (&keeper{local: true}).place(key, state.Reservation{Plan: "root.plan"})
	if key.Table == state.Attempts {
		must(t, err)
	}
	if key.Table == state.Reservations {
		found, err := filepath.Glob(filepath.Join(dir, rootName, apache.Reservations, "*", key.Name))
		if must(t, err); len(found) == 1 {
			at, err = filepath.Rel(filepath.Join(dir, rootName), found[0])
			must(t, err)
		}
	}
	if key.Table == state.DelegationSequences { // its value is a name
		at = filepath.Join(apache.Delegation, fmt.Sprintf("%s%x", sequencePrefix, value))
	}
	name := filepath.Join(dir, rootName, at)
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, value, 0o600))
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		dir := t.TempDir()
		return storetest.Subject{
			Open: func(t testing.TB, o store.Options) store.Store {
				of := options(dir, o)
				of.noSync = true
				s, err := Open(of)
				must(t, err)
				return s
			},
			Overwrite: func(t testing.TB, key state.Key, value []byte) { overwrite(t, dir, key, value) },
			Codec:     apache.Codec{Types: storetest.Types()},
			Damages:   storetest.ApacheDamages,
			Batch:     300,
		}
	})
}

func TestKilled(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for _, enough := range []int{1, 10} {
		dir := t.TempDir()
		child := exec.CommandContext(t.Context(), self)
		child.Env = append(os.Environ(), childDir+"="+dir)
		storetest.Kill(t, child, enough, func() store.Store { return open(t, dir) })
	}
}

func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[rel] = string(content)
		return err
	}))
	return out
}

// TestFiles shows which files there are.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	s, _ := loaded(t, dir)
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1), state.DelegationToken{Sequence: 7}, state.DelegationSequence{Last: 7},
		state.DelegationKey{ID: 3, ExpireAt: 5}, state.NodeDeadline{Node: storetest.Attempt(1, 1).MasterNode})))
	must(t, s.Commit(t.Context(), storetest.Puts(state.DelegationSequence{Last: 8})))
	got := files(t, filepath.Join(dir, rootName))
	for name, content := range map[string]string{"RMVersionNode": "\x08\x01\x10\x03", "EpochNode": "\x08\x01", "RMDTSecretManagerRoot/RMDTSequenceNumber_8": "",
		"RMDTSecretManagerRoot/DelegationKey_3": "\x03\x05\x00", "HeddleRoot/lock": ""} {
		if found, there := got[name]; !there || found != content {
			t.Errorf("%s: %q", name, found)
		}
	}
	for _, name := range []string{"RMAppRoot/application_1700000000000_0001/application_1700000000000_0001", "RMAppRoot/application_1700000000000_0001/appattempt_1700000000000_0001_000001",
		"RMDTSecretManagerRoot/RMDelegationToken_7", "HeddleRoot/node-deadline/node7:8041"} {
		if got[name] == "" {
			t.Errorf("%s is not there", name)
		}
	}
	if len(got) != 10 { // and the mark
		t.Errorf("%d files: %v", len(got), got)
	}
	info, err := os.Stat(filepath.Join(dir, rootName))
	if must(t, err); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestLeftovers: what Hadoop, or we, left when writing ended in between.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	s, _ := loaded(t, dir)
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), storetest.Application(2, 0))))
	must(t, s.Close())
	ended, err := apache.Codec{Types: storetest.Types()}.Encode(storetest.Ended(1, 0))
	must(t, err)
	app := filepath.Join(dir, rootName, "RMAppRoot", storetest.AppID(1).String())
	name := filepath.Join(app, storetest.AppID(1).String())
	must(t, os.WriteFile(name+".new", ended, 0o600))
	must(t, os.WriteFile(filepath.Join(app, "appattempt_1700000000000_0001_000001.tmp"), []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(app, "."+storetest.AppID(1).String()+".crc"), []byte("crc"), 0o600))
	s, snapshot := loaded(t, dir)
	must(t, s.Close())
	want := storetest.Model{}
	want.Apply(storetest.Puts(storetest.Ended(1, 0), storetest.Application(2, 0)))
	if !reflect.DeepEqual(snapshot, want.Snapshot(1)) {
		t.Fatalf("%+v", snapshot)
	}
	if left := files(t, app); len(left) != 1 {
		t.Fatalf("%v", left)
	}
}

func journals(t testing.TB, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, rootName, apache.OwnRoot, journalName+"*"))
	must(t, err)
	return found
}

// TestJournal: a batch that was begun is carried out, unless somebody else was here since.
func TestJournal(t *testing.T) {
	for _, other := range []bool{false, true} {
		dir := t.TempDir()
		s, _ := loaded(t, dir)
		must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1))))
		k := s.(*keeper)
		must(t, k.beginJournal(work{Epoch: k.epoch, Remove: []string{"RMAppRoot/" + storetest.AppID(1).String()}}))
		must(t, s.Close())
		if other {
			must(t, os.WriteFile(filepath.Join(dir, rootName, apache.Epoch), []byte{8, 9}, 0o600))
		}
		s, snapshot := loaded(t, dir)
		must(t, s.Close())
		if there := len(snapshot.Applications) == 1; there != other {
			t.Fatalf("somebody else was here: %t; the application is there: %t", other, there)
		}
		if left := journals(t, dir); len(left) != 0 {
			t.Fatalf("the journal is still there: %v", left)
		}
	}
	dir := t.TempDir()
	s, _ := loaded(t, dir)
	k := s.(*keeper)
	must(t, k.beginJournal(work{Epoch: k.epoch, Remove: []string{"../" + filepath.Base(dir)}}))
	must(t, s.Close())
	for _, bad := range []string{"", "00000000\n{}"} {
		if bad != "" {
			for _, name := range journals(t, dir) {
				must(t, os.WriteFile(name, []byte(bad), 0o600))
			}
		}
		var damaged *store.DamagedError
		s = open(t, dir)
		if _, err := s.Load(t.Context()); !errors.As(err, &damaged) {
			t.Fatalf("%v", err)
		}
		must(t, s.Close())
	}
}

func TestOthers(t *testing.T) {
	dir := t.TempDir()
	s, _ := loaded(t, dir)
	if _, err := open(t, dir).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "is a ResourceManager running already?") {
		t.Fatalf("%v", err)
	}
	if _, err := SetAside(t.Context(), options(dir, store.Options{}), time.Now()); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Fatalf("%v", err)
	}
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0))))
	must(t, os.WriteFile(filepath.Join(dir, rootName, apache.Epoch), []byte{8, 9}, 0o600)) // one of Apache's has started
	if err := s.Commit(t.Context(), nil); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("without a change: %v", err)
	}
	for range 2 {
		if err := s.Commit(t.Context(), storetest.Puts(storetest.Application(2, 0))); !errors.Is(err, store.ErrFenced) {
			t.Fatalf("%v", err)
		}
	}
	must(t, s.Close())
	aside, err := SetAside(t.Context(), options(dir, store.Options{}), time.Unix(0, 0))
	if must(t, err); aside != "file:"+dir+"/FSRMStateRoot.19700101T000000Z" {
		t.Fatalf("%s", aside)
	}
	if _, err := SetAside(t.Context(), options(dir, store.Options{}), time.Now()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	if _, snapshot := loaded(t, dir); snapshot.Epoch != 0 || len(snapshot.Applications) != 0 {
		t.Fatalf("%+v", snapshot)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	s, _ := loaded(t, dir)
	must(t, s.Close())
	must(t, os.WriteFile(filepath.Join(dir, rootName, apache.Version), []byte{8, 2}, 0o600))
	if _, err := open(t, dir).Load(t.Context()); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "2.0") {
		t.Fatalf("%v", err)
	}
	o := options(dir, store.Options{})
	var err error
	o.URL, err = filesystem.ParseURL("http://h/x")
	must(t, err)
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "only file: and hdfs:") {
		t.Fatalf("%v", err)
	}
}

// TestName: a name that no file can have is refused alone.
func TestName(t *testing.T) {
	dir := t.TempDir()
	s, _ := loaded(t, dir)
	deadline := func(host int) state.NodeDeadline {
		return state.NodeDeadline{Node: yarn.NodeID{Host: strings.Repeat("a", host), Port: 8041}, Deadline: 1}
	}
	longest := maxName - len(":8041")
	var poison *store.PoisonError
	if err := s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), deadline(longest+1))); !errors.As(err, &poison) || poison.Index != 1 {
		t.Fatalf("%v", err)
	}
	bad := state.Reservation{ID: yarn.ReservationID{ClusterTimestamp: 1, Number: 1}, Plan: "a\x00b"}
	if err := s.Commit(t.Context(), storetest.Puts(bad)); !errors.As(err, &poison) {
		t.Fatalf("%v", err)
	}
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), deadline(longest))))
	must(t, s.Commit(t.Context(), []state.Op{state.Remove(deadline(longest + 1))}))
	must(t, s.Commit(t.Context(), []state.Op{state.Remove(deadline(longest))}))
	must(t, s.Close())
	if _, snapshot := loaded(t, dir); len(snapshot.Applications) != 1 || len(snapshot.NodeDeadlines) != 0 {
		t.Fatalf("%+v", snapshot)
	}
}

// TestLargeJournal: a journal may be larger than any other file. This one is not what was written, as only who has read it
// can tell.
func TestLargeJournal(t *testing.T) {
	dir := t.TempDir()
	s, _ := loaded(t, dir)
	must(t, s.Close())
	name := filepath.Join(dir, rootName, apache.OwnRoot, journalName)
	must(t, os.WriteFile(name, nil, 0o600))
	must(t, os.Truncate(name, maxFile+1))
	if _, err := open(t, dir).Load(t.Context()); !errors.As(err, new(*store.DamagedError)) {
		t.Fatalf("%v", err)
	}
}

// TestParents: the directories above the store are made durable as well.
func TestParents(t *testing.T) {
	dir := t.TempDir()
	o := options(filepath.Join(dir, "a/b"), store.Options{})
	synced := map[string]bool{}
	o.Step = func(op, path, _ string) error {
		synced[path] = synced[path] || op == "sync"
		return nil
	}
	s, err := Open(o)
	must(t, err)
	defer s.Close()
	_, err = s.Load(t.Context())
	must(t, err)
	for _, name := range []string{"", "a", "a/b", "a/b/" + rootName} {
		if !synced[filepath.Join(dir, name)] {
			t.Errorf("%q is not durable: %v", name, synced)
		}
	}
	if synced[filepath.Dir(dir)] {
		t.Errorf("%v", synced)
	}
}

// TestColon: HDFS takes no colon in a name.
func TestColon(t *testing.T) {
	key := state.NodeDeadline{Node: yarn.NodeID{Host: "node7", Port: 8041}}.Key()
	at, err := (&keeper{}).place(key, nil)
	if must(t, err); strings.Contains(at, ":") {
		t.Fatal(at)
	}
	if back, holds, err := identify(at); err != nil || !holds || back != key {
		t.Fatalf("%v %t %v", back, holds, err)
	}
}

// hooked asks before each change of a file system; an error ends it.
type hooked struct {
	filesystem.FileSystem
	before func(op, file string) error
}

func hook(s store.Store, before func(op, file string) error) *keeper {
	k := s.(*keeper)
	k.sys = hooked{k.sys, before}
	return k
}

func (h hooked) Remove(file string) error {
	if err := h.before("remove", file); err != nil {
		return err
	}
	return h.FileSystem.Remove(file)
}

func (h hooked) Rename(from, to string) error {
	if err := h.before("rename", to); err != nil {
		return err
	}
	return h.FileSystem.Rename(from, to)
}

// Create makes the directories above a file, as HDFS does.
func (h hooked) Create(file string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	if err := h.before("create", file); err != nil {
		return nil, err
	}
	if err := h.MkdirAll(filepath.Dir(file), dirMode); err != nil {
		return nil, err
	}
	return h.FileSystem.Create(file, mode, overwrite)
}

// TestRemovedWhole: a crash while the files of an application are removed leaves none of them in its directory.
func TestRemovedWhole(t *testing.T) {
	for _, both := range []bool{false, true} {
		dir := t.TempDir()
		s, _ := loaded(t, dir)
		must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1), storetest.Application(2, 0))))
		crash := errors.New("crash")
		hook(s, func(op, file string) error {
			files, _ := filepath.Glob(filepath.Join(file, storetest.AppID(1).String()))
			if op != "remove" || len(files) == 0 {
				return nil
			}
			must(t, os.Remove(files[0]))
			return crash
		})
		ops := []state.Op{state.RemoveApplication(storetest.AppID(1))}
		if both {
			ops = append(ops, state.RemoveApplication(storetest.AppID(2)))
		}
		if err := s.Commit(t.Context(), ops); !errors.Is(err, crash) {
			t.Fatalf("%v", err)
		}
		must(t, s.Close())
		app := filepath.Join(dir, rootName, apache.Applications, storetest.AppID(1).String())
		if left, err := os.ReadDir(app); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%v %v", left, err)
		}
		s, snapshot := loaded(t, dir)
		if len(snapshot.Attempts) != 0 || len(snapshot.Quarantined) != 0 {
			t.Fatalf("%+v", snapshot)
		}
		if left, err := filepath.Glob(filepath.Join(dir, rootName, apache.OwnRoot, "removed-*")); err != nil || len(left) != 0 {
			t.Fatalf("%v %v", left, err)
		}
		must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0))))
		must(t, s.Commit(t.Context(), ops[:1]))
		must(t, s.Close())
	}
}

// unlocked loads a store as if it were on HDFS: without a lock.
func unlocked(t testing.TB, dir string) (*keeper, *state.Snapshot) {
	t.Helper()
	s := open(t, dir)
	s.(*keeper).local = false
	snapshot, err := s.Load(t.Context())
	must(t, err)
	return s.(*keeper), snapshot
}

// TestAnew: who runs while its store is set aside and begun anew can store nothing in the new one, whose epoch is the same.
func TestAnew(t *testing.T) {
	dir := t.TempDir()
	first, _ := unlocked(t, dir)
	must(t, os.Rename(filepath.Join(dir, rootName), filepath.Join(dir, "aside")))
	second, _ := unlocked(t, dir)
	if string(first.epoch) != string(second.epoch) {
		t.Fatalf("%x and %x", first.epoch, second.epoch)
	}
	if err := first.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0))); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("%v", err)
	}
	must(t, second.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0))))
}

// TestHangs: a batch that HDFS does not answer ends with its context, and is made as a whole by the next try.
func TestHangs(t *testing.T) {
	for _, step := range []string{"create", "rename"} {
		dir := t.TempDir()
		k, _ := unlocked(t, dir)
		hung, hangUp := make(chan bool), k.hangUp
		k.hangUp = sync.OnceFunc(func() {
			close(hung)
			hangUp()
		})
		ctx, cancel := context.WithCancel(t.Context())
		hook(k, func(op, _ string) error {
			if op != step {
				return nil
			}
			cancel()
			<-hung
			return errors.New("the connection was closed")
		})
		ops := storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1))
		if err := k.Commit(ctx, ops); !errors.As(err, new(*store.UnavailableError)) {
			t.Fatalf("%s: %v", step, err)
		}
		must(t, k.Commit(t.Context(), ops))
		must(t, k.Close())
		if _, snapshot := unlocked(t, dir); len(snapshot.Applications) != 1 || len(snapshot.Attempts) != 1 {
			t.Fatalf("%s: %+v", step, snapshot)
		}
	}
}

// TestTakenOver: another start while a batch is carried out.
func TestTakenOver(t *testing.T) {
	for _, journaled := range []bool{false, true} { // by then
		dir := t.TempDir()
		first, _ := unlocked(t, dir)
		var second *keeper
		var found int
		hook(first, func(op, file string) error {
			if second != nil || op != "create" || strings.Contains(file, journalName+"-") == journaled {
				return nil
			}
			var snapshot *state.Snapshot
			second, snapshot = unlocked(t, dir)
			found = len(snapshot.Applications)
			must(t, second.Commit(t.Context(), append(storetest.Puts(storetest.Application(4, 0)), state.RemoveApplication(storetest.AppID(2)), state.RemoveApplication(storetest.AppID(3)))))
			return nil
		})
		err := first.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), storetest.Application(2, 0), storetest.Application(3, 0)))
		if !errors.Is(err, store.ErrFenced) {
			t.Fatalf("journaled: %t: %v", journaled, err)
		}
		want := 0 // of the batch
		if journaled {
			want = 3
		}
		if found != want {
			t.Fatalf("journaled: %t: %d applications", journaled, found)
		}
		must(t, second.Commit(t.Context(), nil))
		must(t, second.Close())
		_, snapshot := unlocked(t, dir)
		model := storetest.Model{}
		model.Apply(storetest.Puts(storetest.Application(4, 0)))
		if journaled {
			model.Apply(storetest.Puts(storetest.Application(1, 0)))
		}
		if !reflect.DeepEqual(snapshot, model.Snapshot(2)) {
			t.Fatalf("journaled: %t: %+v", journaled, snapshot)
		}
		if left := journals(t, dir); len(left) != 0 {
			t.Fatalf("%v", left)
		}
	}
}
