// Package storetest has a suite of tests that every state store must pass, a wrapper
// that makes a store fail by a script, and functions that make records.
package storetest

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
	"github.com/heddle-project/heddle/yarn"
)

// Subject is a storage under test, empty at first.
type Subject struct {
	// Open opens the storage, the same one each time. The suite closes each
	// store before it opens the next.
	Open func(testing.TB, store.Options) store.Store
	// Overwrite replaces the stored bytes of a record, while no store is open.
	Overwrite func(testing.TB, state.Key, []byte)
	// Codec is the form of the stored bytes; nil: record.Codec.
	Codec store.Codec
	// Damages are stored bytes, whole by their sums, that are no record of the second
	// attempt, by the reason that is given; other is the record of the first. nil: those
	// of record.Codec.
	Damages func(other []byte) map[string][]byte
	// Batch is how many records the largest batch has that is stored; 0: store.MaxOps.
	// Less spares a storage that makes a file of each.
	Batch int
}

func (s *Subject) codec() store.Codec {
	if s.Codec != nil {
		return s.Codec
	}
	return record.Codec{Types: Types()}
}

// Run tests the stores that make returns; each sub-test makes one.
func Run(t *testing.T, make func(testing.TB) Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"an empty store loads", testEmpty},
		{"every record comes back", testEverything},
		{"changes of a batch happen in order", testOrder},
		{"an application takes only its own attempts along", testRemoveApplication},
		{"a batch may be repeated", testRepeat},
		{"a poisoned batch leaves nothing", testPoison},
		{"a record over the limit is poison", testSize},
		{"a batch over the limit is refused", testBatch},
		{"damaged records are set aside", testQuarantine},
		{"amounts follow the names of resource types", testTypes},
		{"epochs go up and wrap", testEpochs},
		{"many records", testMany},
		{"calls out of turn are refused", testMisuse},
		{"calls at the same time are safe", testConcurrent},
		{"a cancelled call is unavailable", testCancelled},
		{"random changes agree with a map", testRandom},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, make(t)) })
	}
}

var options = store.Options{Types: Types()}

func load(t testing.TB, s store.Store) *state.Snapshot {
	t.Helper()
	snapshot, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return snapshot
}

func commit(t testing.TB, s store.Store, ops ...state.Op) {
	t.Helper()
	if err := s.Commit(t.Context(), ops); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func closing(t testing.TB, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// opened opens a store and loads it.
func opened(t testing.TB, sub Subject, o store.Options) (store.Store, *state.Snapshot) {
	t.Helper()
	s := sub.Open(t, o)
	t.Cleanup(func() { _ = s.Close() })
	return s, load(t, s)
}

// reload closes the store and returns what the next one loads.
func reload(t testing.TB, sub Subject, s store.Store) *state.Snapshot {
	t.Helper()
	closing(t, s)
	next, snapshot := opened(t, sub, options)
	closing(t, next)
	return snapshot
}

func same(t testing.TB, got, want *state.Snapshot) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("loaded, epoch %d\n%+v\n%+v\nwant, epoch %d\n%+v\n%+v", got.Epoch, got.Ops(), got.Quarantined, want.Epoch, want.Ops(), want.Quarantined)
	}
}

func testEmpty(t *testing.T, sub Subject) {
	s, snapshot := opened(t, sub, options)
	same(t, snapshot, &state.Snapshot{})
	commit(t, s)
	same(t, reload(t, sub, s), &state.Snapshot{Epoch: 1})
}

func testEverything(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	ops := Puts(Everything()...)
	commit(t, s, ops...)
	model := Model{}
	model.Apply(ops)
	same(t, reload(t, sub, s), model.Snapshot(1))
}

func testOrder(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	commit(t, s, state.Put(Application(1, 10)), state.Put(Ended(1, 10)), state.RemoveApplication(AppID(2)),
		state.Put(Application(2, 5)), state.Put(Attempt(2, 1)), state.RemoveAttempt(Attempt(2, 1).ID))
	commit(t, s, state.Put(Attempt(1, 1)))
	commit(t, s, state.RemoveApplication(AppID(1)), state.Put(Application(1, 3)))
	same(t, reload(t, sub, s), &state.Snapshot{Epoch: 1, Applications: apps(Application(1, 3), Application(2, 5))})
}

// apps are the applications of a snapshot.
func apps(list ...state.Application) (out []*state.Application) {
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

func testRemoveApplication(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	for _, n := range []int{1, 10, 11, 10001, 1000} {
		commit(t, s, state.Put(Application(n, 0)), state.Put(Attempt(n, 1)), state.Put(Attempt(n, 12)))
	}
	commit(t, s, state.RemoveApplication(AppID(1000)), state.RemoveApplication(AppID(1)), state.RemoveApplication(AppID(77)))
	want := Model{}
	want.Apply(Puts(Application(10, 0), Attempt(10, 1), Attempt(10, 12), Application(11, 0), Attempt(11, 1),
		Attempt(11, 12), Application(10001, 0), Attempt(10001, 1), Attempt(10001, 12)))
	same(t, reload(t, sub, s), want.Snapshot(1))
}

func testRepeat(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	commit(t, s, state.Put(Application(1, 5)), state.Put(Attempt(1, 1)))
	ops := []state.Op{state.RemoveApplication(AppID(1)), state.Put(Application(2, 5)), state.RemoveAttempt(Attempt(2, 3).ID)}
	commit(t, s, ops...)
	commit(t, s, ops...)
	same(t, reload(t, sub, s), &state.Snapshot{Epoch: 1, Applications: apps(Application(2, 5))})
}

func testPoison(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	unended := Application(3, 5)
	unended.Final = yarn.AppRunning
	manyTypes := Attempt(1, 1)
	manyTypes.MasterResource[5] = 1
	app := Application(3, 5)
	for _, bad := range []state.Op{state.Put(unended), state.Put(manyTypes), state.Put(state.Application{}), state.Put(nil),
		{Kind: 9, Record: app}, state.Put(&app), state.Remove(&app), state.Put(state.Attempt{ID: yarn.AttemptID{Attempt: 1}}),
		state.Put(state.NodeDeadline{Node: yarn.NodeID{Host: strings.Repeat("x", 40000), Port: 1}})} {
		err := s.Commit(t.Context(), []state.Op{state.Put(Application(1, 5)), bad, state.Put(Application(2, 5))})
		var poison *store.PoisonError
		if !errors.As(err, &poison) || poison.Index != 1 || poison.Err == nil {
			t.Errorf("%v: got %v, want poison at 1", bad, err)
		}
	}
	commit(t, s, state.Put(Application(4, 5)))
	same(t, reload(t, sub, s), &state.Snapshot{Epoch: 1, Applications: apps(Application(4, 5))})
}

func testSize(t *testing.T, sub Subject) {
	o := options
	o.MaxRecord = 4096
	s, _ := opened(t, sub, o)
	limit := 0
	for size := 3700; limit == 0; size++ {
		err := s.Commit(t.Context(), []state.Op{state.Put(Application(1, 0)), state.Put(Application(2, size))})
		var poison *store.PoisonError
		var large *store.SizeError
		switch {
		case err == nil:
		case errors.As(err, &poison) && errors.As(err, &large):
			if poison.Index != 1 || poison.Key != Application(2, 0).Key() || *large != (store.SizeError{Size: 4097, Limit: 4096}) {
				t.Fatalf("got %+v of %+v", *large, *poison)
			}
			limit = size - 1
		default:
			t.Fatal(err)
		}
	}
	// What is in the store stays readable with any limit.
	snapshot := reload(t, sub, s)
	if len(snapshot.Applications) != 2 || len(snapshot.Applications[1].Context) != limit {
		t.Fatalf("the largest record was not kept: %d applications", len(snapshot.Applications))
	}
	s, _ = opened(t, sub, options)
	commit(t, s, state.Put(Application(3, store.DefaultRecord-500)))
	err := s.Commit(t.Context(), []state.Op{state.Put(Application(3, store.DefaultRecord))})
	if large := (*store.SizeError)(nil); !errors.As(err, &large) || large.Limit != store.DefaultRecord {
		t.Fatalf("over the default limit: %v", err)
	}
}

func testBatch(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	ops := make([]state.Op, store.MaxOps+1)
	for i := range ops {
		ops[i] = state.Put(Application(i+1, 0))
	}
	var batch *store.BatchError
	if err := s.Commit(t.Context(), ops); !errors.As(err, &batch) || batch.Ops != len(ops) {
		t.Fatalf("got %v, want a batch error", err)
	}
	fits := cmp.Or(sub.Batch, store.MaxOps)
	commit(t, s, ops[:fits]...)
	if got := len(reload(t, sub, s).Applications); got != fits {
		t.Fatalf("%d applications", got)
	}
}

func testMany(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	model := Model{}
	const batches, each = 10, 200
	for b := range batches {
		var ops []state.Op
		for i := range each {
			n := 1 + (b*each+i)*7919%(batches*each) // every number once, scattered
			ops = append(ops, state.Put(Application(n, 100)), state.Put(Attempt(n, 1)))
		}
		commit(t, s, ops...)
		model.Apply(ops)
	}
	if len(model) != 2*batches*each {
		t.Fatalf("the test made %d records", len(model))
	}
	same(t, reload(t, sub, s), model.Snapshot(1))
}

func testMisuse(t *testing.T, sub Subject) {
	s := sub.Open(t, options)
	ops := []state.Op{state.Put(Application(1, 0))}
	is := func(got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	is(s.Commit(t.Context(), ops), store.ErrNotLoaded)
	load(t, s)
	_, err := s.Load(t.Context())
	is(err, store.ErrLoaded)
	closing(t, s)
	closing(t, s)
	is(s.Commit(t.Context(), ops), store.ErrClosed)
	_, err = s.Load(t.Context())
	is(err, store.ErrClosed)
	s, snapshot := opened(t, sub, options)
	same(t, snapshot, &state.Snapshot{Epoch: 1})
	closing(t, s)
}

func testConcurrent(t *testing.T, sub Subject) {
	s := sub.Open(t, options)
	defer s.Close()
	const callers, each = 8, 10
	var loads, work sync.WaitGroup
	results := make(chan error, callers)
	for range callers {
		loads.Go(func() {
			_, err := s.Load(t.Context())
			results <- err
		})
	}
	loads.Wait()
	loaded := 0
	for range callers {
		if err := <-results; err == nil {
			loaded++
		} else if !errors.Is(err, store.ErrLoaded) {
			t.Fatal(err)
		}
	}
	for c := range callers {
		work.Go(func() {
			for i := range each {
				n := 1 + c*each + i
				if err := s.Commit(context.Background(), Puts(Application(n, 50), Attempt(n, 1))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	snapshot := reload(t, sub, s)
	if loaded != 1 || snapshot.Epoch != 1 || len(snapshot.Applications) != callers*each || len(snapshot.Attempts) != callers*each {
		t.Fatalf("loaded %d times, epoch %d, %d applications, %d attempts", loaded, snapshot.Epoch, len(snapshot.Applications), len(snapshot.Attempts))
	}
}

func testCancelled(t *testing.T, sub Subject) {
	s := sub.Open(t, options)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var unavailable *store.UnavailableError
	if _, err := s.Load(ctx); !errors.As(err, &unavailable) || !errors.Is(err, context.Canceled) {
		t.Fatalf("load: %v", err)
	}
	load(t, s)
	if err := s.Commit(ctx, Puts(Application(1, 0))); !errors.As(err, &unavailable) || !errors.Is(err, context.Canceled) {
		t.Fatalf("commit: %v", err)
	}
	same(t, reload(t, sub, s), &state.Snapshot{Epoch: 1})
}

func testRandom(t *testing.T, sub Subject) {
	rng := rand.New(rand.NewPCG(1, 2))
	model := Model{}
	s, _ := opened(t, sub, options)
	for epoch := int64(1); epoch <= 12; epoch++ {
		for range 25 {
			ops := RandomOps(rng)
			commit(t, s, ops...)
			model.Apply(ops)
		}
		closing(t, s)
		var snapshot *state.Snapshot
		s, snapshot = opened(t, sub, options)
		same(t, snapshot, model.Snapshot(epoch))
	}
	closing(t, s)
}
