package groups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/clock"
)

var quiet = slog.New(slog.DiscardHandler)

// script writes a program that stands for id.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustNew(t *testing.T, o Options) *Groups {
	t.Helper()
	o.Log = quiet
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestProgram(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
		err        string
	}{
		{"by NUL", `[ "$*" = "-Gnz -- alice" ] && printf 'staff\0domain users\0staff\0'`, []string{"staff", "domain users"}, ""},
		{"by blanks", `case "$*" in "-Gn -- alice") echo "staff wheel";; *) echo "id: unrecognized option: z" >&2; exit 1;; esac`, []string{"staff", "wheel"}, ""},
		{"a group without a name", `case "$1" in -Gnz) printf 'staff\0007\0'; printf '1234\0'; echo "cannot find name" >&2; exit 1;; -Gz) printf '10\0'; printf '20\0'; printf '1234\0';; esac`,
			[]string{"staff", "7"}, ""},
		{"lists that do not fit", `case "$1" in -Gnz) printf 'a\0b\0'; exit 1;; -Gz) printf '10\0';; esac`, nil, "2 group names do not fit 1"},
		{"unknown user", `echo "id: no such user" >&2; exit 1`, nil, "groups of user alice: no groups found: id: no such user"},
		{"no groups", `exit 0`, nil, "no groups found"},
		{"too long", `sleep 60`, nil, "took longer than"},
		{"too much", `while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done`, nil, "wrote more than"},
		{"too many", `i=0; while [ $i -le 4096 ]; do printf "g$i\\0"; i=$((i+1)); done`, nil, "more than 4096 groups"},
	} {
		timeout := 20 * time.Second
		if c.name == "too long" {
			timeout = 50 * time.Millisecond
		}
		if c.name == "a group without a name" { // \0007 is NUL and 7 for every printf
			c.body = strings.ReplaceAll(c.body, `staff\0007\0`, `staff\0'; printf '7\0`)
		}
		got, err := mustNew(t, Options{Program: script(t, c.body), Timeout: timeout}).Of(t.Context(), "alice")
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, got, err, c.want, c.err)
		}
	}
}

func TestSystem(t *testing.T) {
	g := mustNew(t, Options{})
	if got, err := g.Of(t.Context(), "root"); err != nil || len(got) == 0 || got[0] != "root" {
		t.Errorf("root: %v, %v", got, err)
	}
	if _, err := g.Of(t.Context(), "nobody-of-this-name"); !errors.Is(err, ErrNoGroups) {
		t.Errorf("an unknown user: %v", err)
	}
}

func TestNamesThatAreRefused(t *testing.T) {
	g := mustNew(t, Options{Program: "/does/not/exist"})
	for name, want := range map[string]string{"": "empty", "-z": "dash", "a\x00b": "control", "a\nb": "control", "\xff": "UTF-8",
		strings.Repeat("x", 257): "longer than 256", "alice": "does/not/exist"} {
		if got, err := g.Of(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", name, got, err, want)
		}
	}
}

func TestMappings(t *testing.T) {
	if _, err := New(Options{Mapping: "ldap"}); err == nil || !strings.Contains(err.Error(), `"ldap" is not built`) {
		t.Error(err)
	}
	g := mustNew(t, Options{Mapping: "null", Static: map[string][]string{"dr.who": nil, "bob": {"b", "a"}}})
	if got, err := g.Of(t.Context(), "bob"); err != nil || !reflect.DeepEqual(got, []string{"b", "a"}) {
		t.Error(got, err)
	}
	if got, err := g.Of(t.Context(), "dr.who"); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	if _, err := g.Of(t.Context(), "alice"); !errors.Is(err, ErrNoGroups) {
		t.Error(err)
	}
}

// counted is a mapping under the test's control.
type counted struct {
	calls   atomic.Int64
	err     atomic.Pointer[error]
	proceed chan struct{} // nil: at once
}

func (c *counted) lookup(_ context.Context, user string) ([]string, error) {
	n := c.calls.Add(1)
	if c.proceed != nil {
		<-c.proceed
	}
	if err := c.err.Load(); err != nil {
		return nil, *err
	}
	return []string{fmt.Sprintf("%s%d", user, n)}, nil
}

func (c *counted) fail(err error) { c.err.Store(&err) }

func TestCache(t *testing.T) {
	now := clock.NewManual(0)
	c := &counted{}
	g := mustNew(t, Options{Clock: now, CacheFor: time.Minute, NegativeFor: 10 * time.Second})
	g.lookup = c.lookup
	broken := errors.New("directory is down")
	expect := func(step, want string, calls int64) {
		t.Helper()
		got, err := g.Of(t.Context(), "u")
		text := strings.Join(got, ",")
		if err != nil {
			text = "error"
		}
		if text != want || c.calls.Load() != calls {
			t.Fatalf("%s: %s after %d lookups (%v), want %s after %d", step, text, c.calls.Load(), err, want, calls)
		}
		if known, ok := g.Known("u"); ok != (err == nil) || !slices.Equal(known, got) || c.calls.Load() != calls {
			t.Fatalf("%s: %q are known (%v), want %q", step, known, ok, got)
		}
	}
	expect("first", "u1", 1)
	now.Advance(59 * time.Second)
	expect("kept", "u1", 1)
	now.Advance(time.Second)
	expect("renewed", "u2", 2)
	c.fail(broken)
	now.Advance(time.Minute)
	expect("old one serves", "u2", 3)
	expect("failure is kept", "u2", 3)
	now.Advance(10 * time.Second)
	expect("tried again", "u2", 4)
	now.Advance(10 * time.Minute)
	expect("too old", "error", 5)
	now.Advance(9 * time.Second)
	expect("error is kept", "error", 5)
	c.err.Store(nil)
	now.Advance(time.Second)
	expect("back", "u6", 6)
	g.Refresh()
	expect("refreshed", "u7", 7)
	c.fail(ErrNoGroups)
	now.Advance(time.Minute)
	expect("a user who is gone loses groups at once", "error", 8)
}

func TestNoNegativeCache(t *testing.T) {
	c := &counted{}
	c.fail(errors.New("no"))
	g := mustNew(t, Options{Clock: clock.NewManual(0)})
	g.lookup = c.lookup
	for n := range int64(3) {
		if _, err := g.Of(t.Context(), "u"); err == nil || c.calls.Load() != n+1 {
			t.Fatalf("%d lookups, %v", c.calls.Load(), err)
		}
	}
}

func TestConcurrent(t *testing.T) {
	c := &counted{proceed: make(chan struct{})}
	g := mustNew(t, Options{Clock: clock.NewManual(0)})
	g.lookup = c.lookup
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Of(ctx, "u"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got, err := g.Of(t.Context(), "u"); err != nil || got[0] != "u1" {
				t.Error(got, err)
			}
		})
	}
	close(c.proceed)
	all.Wait()
	if n := c.calls.Load(); n != 1 {
		t.Fatalf("%d lookups of one user", n)
	}
}

func TestBounds(t *testing.T) {
	c := &counted{proceed: make(chan struct{})}
	g := mustNew(t, Options{Clock: clock.NewManual(0), MaxUsers: 5})
	g.lookup = c.lookup
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range MaxWaiting {
		if _, err := g.Of(ctx, fmt.Sprint("u", i)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if _, err := g.Of(t.Context(), "one more"); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	if n := c.calls.Load(); n > MaxRunning {
		t.Fatalf("%d lookups at a time", n)
	}
	if len(g.users) != 5 || len(g.order) != 5 {
		t.Fatalf("%d users kept", len(g.users))
	}
	close(c.proceed)
}
