// Package confstoretest is the suite that every configuration store must pass.
package confstoretest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/resourcemanager/confstore"
)

// Kind is a kind of store under test.
type Kind struct {
	// Place makes an empty place for a store and returns how a store is opened there, again and again.
	Place func(t *rapid.T) (open func() (confstore.Store, error))
	// Forgets is true if nothing outlives a store's Close.
	Forgets bool
}

// Run runs the suite.
func Run(t *testing.T, k Kind) {
	t.Run("Random", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { random(t, k) }) })
	t.Run("Conflict", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { conflict(t, k) }) })
}

func must[T any](t *rapid.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// random makes changes of all kinds and opens the store again between any two.
func random(t *rapid.T, k Kind) {
	ctx := context.Background()
	open := k.Place(t)
	s := must[confstore.Store](t)(open())
	defer func() { _ = s.Close() }()
	want := must[*confstore.State](t)(s.Load(ctx))
	if want.Version != 0 || len(want.Values)+len(want.History)+len(want.Attempts) != 0 || want.Trial != nil {
		t.Fatalf("an empty place holds %+v", want)
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "steps") {
		next := change(t, want, i)
		if err := s.Commit(ctx, want.Version, next); err != nil {
			t.Fatal(err)
		}
		want = next
		if !k.Forgets && rapid.Bool().Draw(t, "again") {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = must[confstore.Store](t)(open())
		}
		same(t, must[*confstore.State](t)(s.Load(ctx)), want)
	}
}

// Awkward are names and values that a store must keep as they are.
var Awkward = []string{"a", "yarn.scheduler.capacity.root.queues", "ümlaut", "<&>\"'", "a b", "\U0001F9F5", "x\ny", "log", "version", "{}"}

func change(t *rapid.T, from *confstore.State, i int) *confstore.State {
	next := from.Clone()
	at := int64(1_700_000_000_000 + i)
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0: // a refused change
		v := rapid.SampledFrom(Awkward).Draw(t, "value")
		next.Note(confstore.Attempt{User: "bob", At: at, Updates: map[string]*string{"k": &v, "gone": nil}, Refused: "no"}, 3)
	case 1: // a change on trial
		next.Accept(values(t, from), confstore.Version{User: "alice", At: at, Source: confstore.FromApply, Reason: "on trial"})
		next.Trial = &confstore.Trial{Version: next.Version, Before: from.Version, User: "alice", Deadline: at + 60_000}
	case 2:
		next.Trial = nil
	case 3:
		next.File = confstore.Digest(next.Values)
	default:
		next.Accept(values(t, from), confstore.Version{User: "alice", At: at, Source: confstore.FromAPI})
		next.Note(confstore.Attempt{User: "alice", At: at, Updates: map[string]*string{}}, 3)
	}
	return next
}

func values(t *rapid.T, from *confstore.State) map[string]string {
	out := map[string]string{}
	for name, value := range from.Values {
		if rapid.IntRange(0, 3).Draw(t, "drop") > 0 {
			out[name] = value
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "sets") {
		out[rapid.SampledFrom(Awkward).Draw(t, "name")] = rapid.SampledFrom(Awkward).Draw(t, "value")
	}
	return out
}

func same(t *rapid.T, got, want *confstore.State) {
	t.Helper()
	if got.Version != want.Version || got.File != want.File || !reflect.DeepEqual(got.Trial, want.Trial) {
		t.Fatalf("version %d, trial %+v, file %q; want %d, %+v, %q", got.Version, got.Trial, got.File, want.Version, want.Trial, want.File)
	}
	if d := confstore.Diff(want.Values, got.Values); len(d) > 0 {
		t.Fatalf("values differ: %s", show(d))
	}
	if len(got.History) != len(want.History) || len(got.Attempts) != len(want.Attempts) {
		t.Fatalf("%d changes and %d attempts, want %d and %d", len(got.History), len(got.Attempts), len(want.History), len(want.Attempts))
	}
	for i := range want.History {
		if fmt.Sprint(show(got.History[i].Changes), strip(got.History[i])) != fmt.Sprint(show(want.History[i].Changes), strip(want.History[i])) {
			t.Fatalf("change %d is %+v, want %+v", i, got.History[i], want.History[i])
		}
	}
	for i := range want.Attempts {
		if a, b := got.Attempts[i], want.Attempts[i]; a.User != b.User || a.At != b.At || a.Refused != b.Refused || !reflect.DeepEqual(a.Updates, b.Updates) {
			t.Fatalf("attempt %d is %+v, want %+v", i, a, b)
		}
	}
}

func strip(v confstore.Version) confstore.Version {
	v.Changes = nil
	return v
}

func show(changes []confstore.Change) string {
	out := ""
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return fmt.Sprintf("%q", *s)
	}
	for _, c := range changes {
		out += fmt.Sprintf("%q: %s to %s; ", c.Name, text(c.Old), text(c.New))
	}
	return out
}

// conflict commits on a version that is not there.
func conflict(t *rapid.T, k Kind) {
	ctx := context.Background()
	s := must[confstore.Store](t)(k.Place(t)())
	defer func() { _ = s.Close() }()
	first := must[*confstore.State](t)(s.Load(ctx))
	second := first.Clone()
	second.Accept(map[string]string{"a": "1"}, confstore.Version{User: "alice"})
	if err := s.Commit(ctx, 0, second); err != nil {
		t.Fatal(err)
	}
	third := first.Clone()
	third.Accept(map[string]string{"a": "2"}, confstore.Version{User: "bob"})
	var c *confstore.ConflictError
	if err := s.Commit(ctx, 0, third); !errors.As(err, &c) || c.Found != 1 || c.Expected != 0 {
		t.Fatalf("%v, want a conflict of 0 with 1", err)
	}
	same(t, must[*confstore.State](t)(s.Load(ctx)), second)
}
