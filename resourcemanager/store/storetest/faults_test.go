package storetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

func faulty(t *testing.T, script string) (*storetest.Faults, *memory.Disk) {
	t.Helper()
	disk := memory.NewDisk()
	f, err := storetest.NewFaults(disk.Open(store.Options{Types: storetest.Types()}), script)
	if err != nil {
		t.Fatal(err)
	}
	return f, disk
}

// outcome names what Commit answered.
func outcome(err error) string {
	var poison *store.PoisonError
	var unavailable *store.UnavailableError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, store.ErrFenced):
		return "fenced"
	case errors.As(err, &poison) && errors.Is(err, storetest.ErrInjected):
		return "poison " + poison.Key.String()
	case errors.As(err, &unavailable) && errors.Is(err, storetest.ErrInjected):
		return "unavailable"
	}
	return err.Error()
}

func TestFaults(t *testing.T) {
	f, disk := faulty(t, `
		load 1 unavailable
		commit 2 unavailable        # stores nothing
		commit 3..4 unavailable stored
		commit 5 poison 1
		commit 5 unavailable        # never reached
		commit * poison attempt/appattempt_1700000000000_0008
		commit 9.. fenced
		close 1 unavailable`)
	if _, err := f.Load(t.Context()); outcome(err) != "unavailable" {
		t.Fatal(err)
	}
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		outcome string
		values  int
	}{
		{"ok", 2}, {"unavailable", 2}, {"unavailable", 4}, {"unavailable", 6},
		{"poison attempt/appattempt_1700000000000_0005_000001", 6}, {"ok", 8}, {"ok", 10},
		{"poison attempt/appattempt_1700000000000_0008_000001", 10}, {"fenced", 10}, {"fenced", 10},
	} {
		n := i + 1
		err := f.Commit(t.Context(), storetest.Puts(storetest.Application(n, 10), storetest.Attempt(n, 1)))
		if got := outcome(err); got != want.outcome || len(disk.Values()) != want.values {
			t.Fatalf("commit %d: %s with %d records, want %s with %d", n, got, len(disk.Values()), want.outcome, want.values)
		}
	}
	if err := f.Close(); outcome(err) != "unavailable" || f.Calls("commit") != 10 || f.Calls("close") != 1 {
		t.Fatalf("close: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestHold(t *testing.T) {
	f, disk := faulty(t, "commit * hold")
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ops := []state.Op{state.Put(storetest.Application(1, 10))}
	if err := f.Commit(ctx, ops); !errors.Is(err, context.Canceled) || len(disk.Values()) != 0 {
		t.Fatalf("held and cancelled: %v", err)
	}
	done := make(chan error)
	go func() { done <- f.Commit(t.Context(), ops) }()
	for { // until the call has come to hold and is released
		f.Release()
		select {
		case err := <-done:
			if err != nil || len(disk.Values()) != 1 {
				t.Fatalf("released: %v", err)
			}
			return
		default:
		}
	}
}

func TestScriptErrors(t *testing.T) {
	for script, want := range map[string]string{
		"commit 1":                      "want a method, its calls and an outcome",
		"\nput 1 fenced":                "line 2 of the fault script, \"put 1 fenced\": no method",
		"commit 0 fenced":               "are not *, N",
		"commit 3..2 fenced":            "are not *, N",
		"commit x fenced":               "are not *, N",
		"commit 1 exploding":            "no outcome",
		"load 1 poison 1":               "no outcome",
		"load 1 unavailable stored":     "no outcome",
		"commit 1 unavailable sideways": "no outcome",
		"close 1 hold":                  "no outcome",
	} {
		if _, err := storetest.NewFaults(nil, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
	}
}

func TestConformanceWithoutFaults(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		disk := memory.NewDisk()
		return storetest.Subject{
			Open: func(t testing.TB, o store.Options) store.Store {
				f, err := storetest.NewFaults(disk.Open(o), "commit 1000000 fenced")
				if err != nil {
					t.Fatal(err)
				}
				return f
			},
			Overwrite: func(_ testing.TB, key state.Key, value []byte) { disk.Overwrite(key, value) },
		}
	})
}
