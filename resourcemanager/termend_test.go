package resourcemanager

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// aMoment is how long a test looks whether something happens that must not.
const aMoment = 50 * time.Millisecond

// ending is a term that is being ended.
type ending struct {
	*term
	t      *testing.T
	faults *storetest.Faults
	over   chan struct{} // closed when stepDown has returned
}

// ends ends the term that there is, beside the test.
func (w *world) ends(t *testing.T, faults *storetest.Faults) *ending {
	e := &ending{term: w.term(), t: t, faults: faults, over: make(chan struct{})}
	go func() {
		defer close(e.over)
		w.d.stepDown()
	}()
	return e
}

// waits checks that for a moment the end goes no further than what it is said to wait for; done must not be closed meanwhile.
func (e *ending) waits(what string, done <-chan struct{}) {
	e.t.Helper()
	select {
	case <-e.over:
		e.t.Errorf("the end did not wait for %s", what)
	case <-done:
		e.t.Errorf("what comes after %s did not wait for it", what)
	case <-time.After(aMoment):
	}
	if e.faults.Calls("close") != 0 {
		e.t.Errorf("the store was closed before the end of %s", what)
	}
}

// finishes waits for the end.
func (e *ending) finishes() {
	e.t.Helper()
	if _, ok := receive(e.over); !ok || e.faults.Calls("close") != 1 {
		e.t.Errorf("over %t; the store was closed %d times", ok, e.faults.Calls("close"))
	}
}

// The end of a term lets the commit under way finish before the log and the store are closed.
func TestEndWaitsForLoop(t *testing.T) {
	w, faults := faulty(t, "commit * hold")
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "a commit", func() bool { return faults().Calls("commit") == 1 })
	e := w.ends(t, faults())
	e.waits("the loop", e.outside.done)
	e.faults.Release()
	e.finishes()
}

// The end of a term writes what the term has to log, and closes the store last.
func TestEndWaitsForLog(t *testing.T) {
	w, faults := faulty(t, "")
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan struct{})
	w.term().outside.later(func() {
		<-wrote
		w.d.Log.Info("the last words")
	})
	e := w.ends(t, faults())
	e.loop.Wait()
	e.waits("the log", nil)
	close(wrote)
	e.finishes()
	if !strings.Contains(w.log.String(), "the last words") {
		t.Errorf("logged:\n%s", w.log)
	}
}

// A store that does not close is told of, and keeps nobody from the next term.
func TestStoreDoesNotClose(t *testing.T) {
	w, _ := faulty(t, "close 1 unavailable")
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.d.stepDown()
	if text := w.log.String(); !strings.Contains(text, "cannot close the state store") || !strings.Contains(text, storetest.ErrInjected.Error()) {
		t.Errorf("logged:\n%s", text)
	}
	w.leads()
}

// A term that begins is ended once it has begun: who asks for its end does not come back before.
func TestStepDownWaitsForLead(t *testing.T) {
	w, faults := faulty(t, "load * hold")
	lead := func(begin func(context.Context) error) chan error {
		done := make(chan error, 1)
		before := faults()
		go func() { done <- begin(t.Context()) }()
		until(t, "the store to be loaded", func() bool { f := faults(); return f != before && f != nil && f.Calls("load") == 1 })
		return done
	}
	begun := lead(w.d.start)
	faults().Release()
	if err, ok := receive(begun); !ok || err != nil {
		t.Fatal(err)
	}
	w.d.stepDown()
	begun = lead(func(ctx context.Context) error { return w.d.lead(ctx, false) })
	down := make(chan struct{})
	go func() {
		defer close(down)
		w.d.stepDown()
	}()
	select {
	case <-down:
		t.Error("the term was ended before it had begun")
	case <-time.After(aMoment):
	}
	faults().Release()
	if err, ok := receive(begun); !ok || err != nil {
		t.Fatal(err)
	}
	if _, ok := receive(down); !ok || w.d.active() {
		t.Errorf("over %t; active %t", ok, w.d.active())
	}
}

// A term that some port cannot serve is given up: the ports answer as a standby's do, and nothing of it is left.
func TestPortRefusesTerm(t *testing.T) {
	w, faults := faulty(t, "")
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.d.stepDown()
	alice := w.as("alice")
	_, err := alice.raw("getApplications", &pb.GetApplicationsRequest{})
	refused(t, err, ipc.ClassStandby, "not active")
	files, routines := open(t), runtime.NumGoroutine()
	last := &w.d.servers[trackerPort]
	served := last.of
	last.of = func(*term, view.Places) ipc.Protocol {
		return ipc.Protocol{Name: trackerName, Methods: map[string]ipc.Handler{"nodeHeartbeat": nil}}
	}
	if err := w.d.lead(t.Context(), false); err == nil || !strings.Contains(err.Error(), "no handler") || w.d.active() {
		t.Errorf("it leads: %v", err)
	}
	_, err = alice.raw("getApplications", &pb.GetApplicationsRequest{})
	refused(t, err, ipc.ClassStandby, "not active")
	if n := faults().Calls("close"); n != 1 {
		t.Errorf("the store was closed %d times", n)
	}
	until(t, "its goroutines to end", func() bool { return running(routines) })
	if n := open(t); n > files {
		t.Errorf("%d files are open, %d were before", n, files)
	}
	last.of = served
	w.leads()
	alice.submit()
}

// The end of the daemon ends a script that looks for racks.
func TestStopEndsRackScript(t *testing.T) {
	dir := t.TempDir()
	script, began := filepath.Join(dir, "racks"), filepath.Join(dir, "began")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n: > "+began+"\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, twoQueues, "net.topology.script.file.name", script)
	rack := make(chan string, 1)
	go func() { rack <- w.d.racks.Rack(context.Background(), "somewhere") }()
	until(t, "the script", func() bool { _, err := os.Stat(began); return err == nil })
	w.d.Stop()
	if r, ok := receive(rack); !ok || r != "/default-rack" {
		t.Errorf("rack %q", r)
	}
}

// The end of the daemon waits for what the process runs beside terms.
func TestStopWaitsForWork(t *testing.T) {
	w, _ := faulty(t, "")
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	finish, stopped := make(chan struct{}), make(chan struct{})
	w.d.work.Go(func() { <-finish })
	go func() {
		defer close(stopped)
		w.d.Stop()
	}()
	until(t, "the end of the term", func() bool { return !w.d.active() })
	select {
	case <-stopped:
		t.Error("the end did not wait")
	case <-time.After(aMoment):
	}
	close(finish)
	if _, ok := receive(stopped); !ok {
		t.Error("the end hangs")
	}
}

// rewriting is a store to which an application is stored again, for which its context is read.
type rewriting struct {
	bolt.Store
	app   yarn.ApplicationID
	begun chan struct{}
	once  sync.Once
}

func (s *rewriting) Commit(ctx context.Context, ops []state.Op) error {
	s.once.Do(func() { close(s.begun) })
	if _, err := s.Context(s.app); err != nil {
		return err
	}
	return s.Store.Commit(ctx, ops)
}

// A term that is called off while its store is still being read ends, also if its loop waits for the store.
func TestEndWhileReading(t *testing.T) {
	w, faults := faulty(t, "")
	first := w.fill(t, 12_000) // more than wait to be taken
	reading, begun := make(chan struct{}), make(chan struct{})
	var read atomic.Int64
	openBolt := w.d.openBolt
	w.d.openBolt = func(path string, o bolt.Options) (bolt.Store, error) {
		next := o.Read
		o.Read = func(a *state.Application) any {
			if read.Add(1) > 600 {
				<-reading
			}
			return next(a)
		}
		s, err := openBolt(path, o)
		return &rewriting{Store: s, app: first, begun: begun}, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- w.d.start(ctx) }()
	if _, open := <-begun; open {
		t.Fatal("nothing is stored")
	}
	cancel()
	time.Sleep(aMoment) // until nobody takes what comes
	close(reading)
	if err, ok := receive(failed); !ok || !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
	if n := faults().Calls("close"); n != 1 {
		t.Errorf("the store was closed %d times", n)
	}
}

// fill makes the state store of a daemon that has not been started, with so many applications.
func (w *world) fill(t *testing.T, apps int) (first yarn.ApplicationID) {
	t.Helper()
	s, err := bolt.Open(w.site["yarn.resourcemanager.heddle.state-store.path"], bolt.Options{Options: store.Options{Types: storetest.Types()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ops []state.Op
	for i := range apps {
		id := yarn.ApplicationID{ClusterTimestamp: 1_700_000_000_000, Sequence: int32(i + 1)}
		b, err := proto.Marshal(submission(convert.ToApplicationID(id)).ApplicationSubmissionContext)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, state.Put(state.Application{ID: id, User: "alice", Queue: "root.default", Context: b}))
	}
	for part := range slices.Chunk(ops, store.MaxOps) {
		if err := s.Commit(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return ops[0].Record.(state.Application).ID
}
