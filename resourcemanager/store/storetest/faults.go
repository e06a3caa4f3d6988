package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// Faults is a store that fails by a script, and passes all other calls to another store.
// A script has one rule per line; # begins a comment:
//
//	load 1 unavailable              the first Load fails
//	commit 3 unavailable            the third Commit stores nothing and fails
//	commit 4..6 unavailable stored  the next three store and fail: the answer is lost
//	commit 7 poison 2               change 2 of the seventh Commit can never be stored
//	commit * poison attempt/        nor can any change whose key begins with attempt/
//	commit 8 hold                   the eighth waits for Release, then goes on
//	commit 9.. full                 the disk has no room from the ninth on
//	commit 9.. failing              it answers with input/output errors
//	commit 9.. damaged              what it holds is not what was written
//	commit 20.. fenced              from the twentieth on another owner has the store
//	close 1 unavailable
//
// Calls are counted from 1 for each method. Of several rules for a call the
// first that applies counts. Once a call was fenced all later ones are.
type Faults struct {
	inner store.Store
	rules []rule

	mu      sync.Mutex
	calls   map[string]int
	fenced  bool
	release chan struct{} // closed by Release
}

// ErrInjected is what an injected *store.UnavailableError, *store.DamagedError or *store.PoisonError wraps.
var ErrInjected = errors.New("failed by the test's script")

// NewFaults wraps a store. Its error names the line of the script that is wrong.
func NewFaults(inner store.Store, script string) (*Faults, error) {
	rules, err := parseScript(script)
	if err != nil {
		return nil, err
	}
	return &Faults{inner: inner, rules: rules, calls: map[string]int{}, release: make(chan struct{})}, nil
}

// Release lets the calls that wait by a hold rule go on; later ones wait for the next Release.
func (f *Faults) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.release)
	f.release = make(chan struct{})
}

// Calls is how often "load", "commit" or "close" was called.
func (f *Faults) Calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// Load implements store.Store.
func (f *Faults) Load(ctx context.Context) (*state.Snapshot, error) {
	var snapshot *state.Snapshot
	err := f.call(ctx, "load", nil, func() (err error) {
		snapshot, err = f.inner.Load(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return snapshot, nil
}

// Commit implements store.Store.
func (f *Faults) Commit(ctx context.Context, ops []state.Op) error {
	return f.call(ctx, "commit", ops, func() error { return f.inner.Commit(ctx, ops) })
}

// Close implements store.Store. The other store is closed in any case.
func (f *Faults) Close() error {
	injected := f.call(context.Background(), "close", nil, func() error { return nil })
	return errors.Join(injected, f.inner.Close())
}

func (f *Faults) call(ctx context.Context, method string, ops []state.Op, do func() error) error {
	r, release, fenced := f.count(method, ops)
	if fenced {
		return store.ErrFenced
	}
	if r == nil {
		return do()
	}
	switch r.outcome {
	case "poison":
		i := r.poisoned(ops)
		return &store.PoisonError{Index: i, Key: ops[i].Record.Key(), Err: ErrInjected}
	case "hold":
		select {
		case <-release:
			return do()
		case <-ctx.Done():
			return &store.UnavailableError{Err: context.Cause(ctx)}
		}
	}
	if r.stored {
		if err := do(); err != nil {
			return err
		}
	}
	return failures[r.outcome]
}

// failures are the errors by the outcome of a rule.
var failures = map[string]error{
	"unavailable": &store.UnavailableError{Err: ErrInjected},
	"full":        &store.UnavailableError{Err: fmt.Errorf("%w: %w", ErrInjected, syscall.ENOSPC)},
	"failing":     &store.UnavailableError{Err: fmt.Errorf("%w: %w", ErrInjected, syscall.EIO)},
	"damaged":     &store.DamagedError{Err: ErrInjected},
}

// count numbers the call and finds the rule for it, if any.
func (f *Faults) count(method string, ops []state.Op) (r *rule, release <-chan struct{}, fenced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	for i := range f.rules {
		if f.rules[i].applies(method, f.calls[method], ops) {
			r = &f.rules[i]
			break
		}
	}
	if r != nil && r.outcome == "fenced" {
		f.fenced = true
	}
	return r, f.release, f.fenced && method != "close"
}
