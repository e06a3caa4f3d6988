package loop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// kept is a store that fails by a script, and its content.
type kept struct {
	*storetest.Faults
	disk *memory.Disk
}

// inStore is inBubble with a faulty store.
func inStore(t *testing.T, script string, test func(*testing.T, *rig, *kept)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		disk := memory.NewDisk()
		faults, err := storetest.NewFaults(disk.Open(store.Options{}), script)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, faults)
		ctx, end := context.WithCancel(t.Context())
		r.end = end
		go r.l.Run(ctx, 2)
		test(t, r, &kept{faults, disk})
		end()
		r.l.Wait()
	})
}

// record is something small to keep.
func record(n int32) state.DelegationSequence { return state.DelegationSequence{Last: n} }

// key is a record of its own for every n.
func key(n int32) state.DelegationKey { return state.DelegationKey{ID: n, Bytes: []byte("key")} }

// remember stores a record. When the answer is "stored", it must be durable.
func (r *rig) remember(k *kept, a *answered, rec state.Record) {
	r.l.Post(engine.Remember{Ops: []state.Op{state.Put(rec)}, Ticket: r.l.Expect(func(v any, err error) {
		if _, durable := k.disk.Values()[rec.Key()]; err == nil && !durable {
			r.t.Errorf("%s was acknowledged and is not durable", rec.Key())
		}
		a.take(rec.Key(), err)
	})})
}

func (r *rig) failures() []*Loss {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.fatal)
}

// An answer that promises something waits for the store; others do not.
func TestAnswersAfterStored(t *testing.T) {
	inStore(t, "commit 1 hold", func(t *testing.T, r *rig, k *kept) {
		r.ids(1)
		var promised, free answered
		r.remember(k, &promised, record(1))
		r.l.Post(engine.Submit{Application: submission(1), Ticket: r.l.Expect(promised.take)})
		r.newApp(&free)
		time.Sleep(time.Hour)
		if promised.len() != 0 || free.len() != 1 {
			t.Errorf("%d answers before anything was stored, and %d that promise nothing", promised.len(), free.len())
		}
		v, err := r.l.Views(t.Context(), view.Everything)
		if a := v.FindApplication(submission(1).ID); err != nil || a == nil || a.PublicState != yarn.PublicNewSaving {
			t.Errorf("while it is being stored the application shows as %+v (%v)", a, err)
		}
		k.Release()
		synctest.Wait()
		if promised.len() != 2 || promised.errs[0] != nil || promised.errs[1] != nil {
			t.Errorf("after the store's word: %v", promised.errs)
		}
		if k.Calls("commit") > 2 {
			t.Errorf("%d commits", k.Calls("commit"))
		}
	})
}

// Saves that gather while the store works are stored at once.
func TestGroupCommit(t *testing.T) {
	inStore(t, "commit 1 hold", func(t *testing.T, r *rig, k *kept) {
		var a answered
		const n = maxCommit + 100
		for i := range int32(n) {
			r.remember(k, &a, key(i+1))
			if i == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		k.Release()
		time.Sleep(time.Second) // long commits pause
		if a.len() != n || k.Calls("commit") != 3 {
			t.Errorf("%d answers after %d commits, want %d after 3", a.len(), k.Calls("commit"), n)
		}
	})
}

// A record that can never be stored is refused, and no other one.
func TestPoisonInTheMiddle(t *testing.T) {
	inStore(t, "commit 1 hold\ncommit 2 poison 2\ncommit 3 poison 0", func(t *testing.T, r *rig, k *kept) {
		var a answered
		r.remember(k, &a, key(1))
		synctest.Wait()
		for n := range int32(5) {
			r.remember(k, &a, key(n+2))
		}
		synctest.Wait()
		k.Release()
		synctest.Wait()
		var failed []string
		for i, err := range a.errs {
			if err != nil {
				var refusal *engine.Error
				if !errors.As(err, &refusal) || refusal.Kind != engine.NotStored || !strings.Contains(err.Error(), storetest.ErrInjected.Error()) {
					t.Errorf("refused with %v", err)
				}
				failed = append(failed, a.values[i].(state.Key).String())
			}
		}
		want := []string{key(4).Key().String(), key(2).Key().String()} // the third of the batch, then the first of the rest
		slices.Sort(failed)
		slices.Sort(want)
		if a.len() != 6 || !slices.Equal(failed, want) {
			t.Errorf("%d answers; refused %v, want %v", a.len(), failed, want)
		}
		if stored := len(k.disk.Values()); stored != 4 {
			t.Errorf("%d records are stored, want 4", stored)
		}
	})
}

// An application whose record can never be stored is refused or fails; others live.
func TestPoisonedApplication(t *testing.T) {
	inStore(t, "commit 1 poison 0", func(t *testing.T, r *rig, k *kept) {
		r.ids(2)
		var a answered
		r.l.Post(engine.Submit{Application: submission(1), Ticket: r.l.Expect(a.take)})
		synctest.Wait()
		r.l.Post(engine.Submit{Application: submission(2), Ticket: r.l.Expect(a.take)})
		synctest.Wait()
		if a.len() != 2 || a.errs[1] != nil {
			t.Fatalf("answers: %v", a.errs)
		}
		v, err := r.l.Views(t.Context(), view.Everything)
		if err != nil {
			t.Fatal(err)
		}
		if first := v.FindApplication(submission(1).ID); a.errs[0] == nil && (first == nil || first.PublicState != yarn.PublicFailed) {
			t.Errorf("an application that cannot be stored shows as %+v", first)
		}
		if second := v.FindApplication(submission(2).ID); second == nil || second.PublicState != yarn.PublicAccepted {
			t.Errorf("the next application shows as %+v", second)
		}
	})
}

// A store that is away for a moment delays answers; the same is tried again.
func TestUnavailableThenBack(t *testing.T) {
	for _, script := range []string{"commit 1..3 unavailable", "commit 1..3 unavailable stored"} {
		inStore(t, script, func(t *testing.T, r *rig, k *kept) {
			var a answered
			start := time.Now()
			r.remember(k, &a, record(1))
			time.Sleep(3*retryPause - time.Millisecond)
			if a.len() != 0 {
				t.Errorf("%s: answered after %s with %v", script, time.Since(start), a.errs)
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if a.len() != 1 || a.errs[0] != nil || k.Calls("commit") != 4 || len(r.failures()) != 0 {
				t.Errorf("%s: %v after %d commits, fatal %v", script, a.errs, k.Calls("commit"), r.failures())
			}
			if text := r.log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "answers again\" tries=3 after=150ms") {
				t.Errorf("logged:\n%s", text)
			}
		})
	}
}

// Why the store stays away is told by kind.
func TestLosses(t *testing.T) {
	for script, want := range map[string]struct {
		kind LossKind
		text string
	}{
		"commit 1.. unavailable":                     {Away, "it is away: state store is unavailable: "},
		"commit 1.. full":                            {Full, "its disk is full: "},
		"commit 1..3 unavailable\ncommit 4.. full":   {Full, "no space left on device (tried 601 times in 30s)"},
		"commit 1.. failing":                         {Away, "input/output error (tried 601 times in 30s)"},
		"commit 1..3 full\ncommit 4.. damaged":       {Damaged, "it is damaged: "},
		"commit 1..3 unavailable\ncommit 4.. fenced": {Fenced, "it was taken over: "},
	} {
		inStore(t, script, func(t *testing.T, r *rig, k *kept) {
			var a answered
			r.remember(k, &a, record(1))
			time.Sleep(retryFor + time.Second)
			if f := r.failures(); len(f) != 1 || f[0].Kind != want.kind || !strings.Contains(f[0].Error(), want.text) {
				t.Errorf("%s: %v, want %s, %q", script, f, want.kind, want.text)
			}
			r.closes(t, &a, 1)
		})
	}
}

// A store that stays unavailable is lost, and nothing was acknowledged.
func TestUnavailableForGood(t *testing.T) {
	inStore(t, "commit 1.. unavailable", func(t *testing.T, r *rig, k *kept) {
		var a answered
		r.remember(k, &a, record(1))
		time.Sleep(retryFor - time.Second)
		if len(r.failures()) != 0 {
			t.Errorf("gave up early: %v", r.failures())
		}
		time.Sleep(2 * time.Second)
		var away *store.UnavailableError
		if f := r.failures(); len(f) != 1 || !errors.As(f[0], &away) || f[0].Kind != Away || !strings.Contains(f[0].Error(), "tried 601 times in 30s") {
			t.Errorf("fatal: %v", f)
		}
		if text := r.log.String(); strings.Count(text, "does not answer") != 4 || !strings.Contains(text, "tries=201 since=10s") {
			t.Errorf("logged:\n%s", text)
		}
		r.closes(t, &a, 1)
	})
}

// closes ends the loop; everybody who waited is told so.
func (r *rig) closes(t *testing.T, a *answered, want int) {
	t.Helper()
	if a.len() != 0 {
		t.Errorf("%d answers before the end", a.len())
	}
	r.end()
	r.l.Wait()
	synctest.Wait()
	if a.len() != want {
		t.Errorf("%d answers at the end, want %d", a.len(), want)
	}
	for _, err := range a.errs {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("answered at the end with %v", err)
		}
	}
}

// A store that another ResourceManager owns is lost at once.
func TestFenced(t *testing.T) {
	inStore(t, "commit 2.. fenced", func(t *testing.T, r *rig, k *kept) {
		var first, a answered
		r.remember(k, &first, key(1))
		synctest.Wait()
		if first.len() != 1 || first.errs[0] != nil {
			t.Fatalf("before the other came: %v", first.errs)
		}
		for n := range int32(10) {
			r.remember(k, &a, key(n+2))
		}
		synctest.Wait()
		if f := r.failures(); len(f) != 1 || !errors.Is(f[0], store.ErrFenced) || f[0].Kind != Fenced {
			t.Errorf("fatal: %v", f)
		}
		if len(k.disk.Values()) != 1 {
			t.Errorf("%d records are stored, want 1", len(k.disk.Values()))
		}
		r.closes(t, &a, 10)
	})
}

// A store that is damaged is lost at once.
func TestDamaged(t *testing.T) {
	inStore(t, "commit 2.. damaged", func(t *testing.T, r *rig, k *kept) {
		var first, a answered
		r.remember(k, &first, key(1))
		synctest.Wait()
		for n := range int32(10) {
			r.remember(k, &a, key(n+2))
		}
		synctest.Wait() // and no time passes
		if f := r.failures(); first.len() != 1 || len(f) != 1 || f[0].Kind != Damaged || k.Calls("commit") != 2 {
			t.Errorf("fatal: %v after %d commits", f, k.Calls("commit"))
		}
		if text := r.log.String(); text != "" {
			t.Errorf("logged:\n%s", text)
		}
		r.closes(t, &a, 10)
	})
}

// A disk that fails for a moment has cost nothing.
func TestFailingDiskThenBack(t *testing.T) {
	inStore(t, "commit 1..2 failing\ncommit 3 full", func(t *testing.T, r *rig, k *kept) {
		var a answered
		r.remember(k, &a, record(1))
		time.Sleep(3*retryPause + time.Millisecond)
		synctest.Wait()
		if a.len() != 1 || a.errs[0] != nil || len(r.failures()) != 0 {
			t.Errorf("%v after %d commits, fatal %v", a.errs, k.Calls("commit"), r.failures())
		}
	})
}

// The end does not wait for a store that is away, and what it holds back is not promised.
func TestStopWhileStoreIsAway(t *testing.T) {
	inStore(t, "commit 1.. unavailable", func(t *testing.T, r *rig, k *kept) {
		var a answered
		r.remember(k, &a, record(1))
		synctest.Wait()
		start := time.Now()
		r.closes(t, &a, 1)
		if d := time.Since(start); d > 2*retryPause || len(r.failures()) != 0 {
			t.Errorf("the end took %s; fatal: %v", d, r.failures())
		}
	})
}

// The commit under way at the end is finished; what it stored may be lost to its
// caller, never the other way round.
func TestStopDuringCommit(t *testing.T) {
	inStore(t, "commit 1 hold", func(t *testing.T, r *rig, k *kept) {
		var a answered
		r.remember(k, &a, key(1))
		synctest.Wait()
		r.remember(k, &a, key(2))
		synctest.Wait()
		r.end()
		synctest.Wait()
		k.Release()
		r.l.Wait()
		synctest.Wait()
		if a.len() != 2 || len(k.disk.Values()) != 1 || k.Calls("commit") != 1 {
			t.Errorf("%d answers, %d records, %d commits", a.len(), len(k.disk.Values()), k.Calls("commit"))
		}
	})
}

// A commit that hangs holds an end up for a moment only.
func TestStopCancelsCommit(t *testing.T) {
	inStore(t, "commit 1 hold", func(t *testing.T, r *rig, k *kept) {
		var a answered
		r.remember(k, &a, key(1))
		synctest.Wait()
		start := time.Now()
		r.closes(t, &a, 1)
		if d := time.Since(start); d < stopFor || d > stopFor+retryPause || len(k.disk.Values()) != 0 || len(r.failures()) != 0 {
			t.Errorf("the end took %s; %d records, fatal: %v", d, len(k.disk.Values()), r.failures())
		}
	})
}

// narrow takes batches of a few changes only.
type narrow struct {
	store.Store
	max     int
	mu      sync.Mutex
	batches []int
}

func (n *narrow) Commit(ctx context.Context, ops []state.Op) error {
	n.mu.Lock()
	n.batches = append(n.batches, len(ops))
	n.mu.Unlock()
	if len(ops) > n.max {
		return &store.BatchError{Ops: len(ops)}
	}
	return n.Store.Commit(ctx, ops)
}

// A batch that is too large is stored in halves, in order.
func TestHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memory.NewDisk()
		faults, err := storetest.NewFaults(disk.Open(store.Options{}), "commit 1 hold\ncommit 3 poison 1")
		if err != nil {
			t.Fatal(err)
		}
		n := &narrow{Store: faults, max: 4}
		r := newRig(t, n)
		ctx, end := context.WithCancel(t.Context())
		go r.l.Run(ctx, 2)
		k := &kept{faults, disk}
		var a answered
		r.remember(k, &a, key(1))
		synctest.Wait()
		for i := range int32(13) {
			r.remember(k, &a, key(i+2))
		}
		synctest.Wait()
		faults.Release()
		synctest.Wait()
		failed := 0
		for _, err := range a.errs {
			if err != nil {
				failed++
			}
		}
		if a.len() != 14 || failed != 1 || len(disk.Values()) != 13 || len(r.failures()) != 0 {
			t.Errorf("%d answers, %d refused, %d records, batches %v, fatal %v", a.len(), failed, len(disk.Values()), n.batches, r.failures())
		}
		end()
		r.l.Wait()
	})
}

// A single change that no batch can hold cannot be helped.
func TestNoHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memory.NewDisk()
		r := newRig(t, &narrow{Store: disk.Open(store.Options{}), max: 0})
		ctx, end := context.WithCancel(t.Context())
		r.end = end
		go r.l.Run(ctx, 2)
		var a answered
		r.l.Post(engine.Remember{Ops: []state.Op{state.Put(key(1))}, Ticket: r.l.Expect(a.take)})
		synctest.Wait()
		if f := r.failures(); len(f) != 1 || f[0].Kind != Refused {
			t.Errorf("fatal: %v", f)
		}
		r.closes(t, &a, 1)
	})
}

// At the same store a second ResourceManager takes over, and the first learns it
// from the store itself.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memory.NewDisk()
		r := newRig(t, disk.Open(store.Options{}))
		ctx, end := context.WithCancel(t.Context())
		r.end = end
		go r.l.Run(ctx, 2)
		if _, err := disk.Open(store.Options{}).Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.ids(1)
		var a answered
		r.l.Post(engine.Submit{Application: submission(1), Ticket: r.l.Expect(a.take)})
		synctest.Wait()
		if f := r.failures(); len(f) != 1 || !errors.Is(f[0], store.ErrFenced) || f[0].Kind != Fenced {
			t.Errorf("fatal: %v", f)
		}
		r.closes(t, &a, 1)
	})
}
