package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// rig is a loop with a store and a body that a test holds in its hands.
type rig struct {
	*Loop
	t    *testing.T
	hold chan struct{} // not nil: a commit takes one before it is done
	end  context.CancelFunc

	mu      sync.Mutex
	fails   error
	commits [][]state.Op
	said    []string // effects and answers, in their order
	fatal   []error
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t}
	set := engine.Settings{CacheInterval: 1 << 40, TrackStopped: 600_000, MaxDiagnostics: 1000, Placed: func(n int64) string { return fmt.Sprint(n) }, Zone: time.UTC}
	r.Loop = New(Config{Engine: engine.New(set), Clock: clock.System(), Store: r, Log: slog.New(slog.DiscardHandler),
		Do: func(x engine.Effect) { r.say("%s", strings.TrimPrefix(fmt.Sprintf("%T", x), "engine.")) }, Fatal: func(err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.fatal = append(r.fatal, err)
		}, Away: func(err error) { r.say("away:%v", err) }})
	r.Post(engine.Disks{Local: []string{"/d"}, Log: []string{"/l"}})
	return r
}

// run sets the loop to work until the test or end ends it.
func (r *rig) run() {
	ctx, end := context.WithCancel(context.Background())
	r.end = end
	go r.Run(ctx)
	r.t.Cleanup(func() { end(); r.Wait() })
	synctest.Wait()
}

// Commit implements Store.
func (r *rig) Commit(ops []state.Op) error {
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits = append(r.commits, slices.Clone(ops))
	return r.fails
}

// failing is what commits give from now on.
func (r *rig) failing(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = err
}

func (r *rig) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// heard is what was said since it was last asked.
func (r *rig) heard() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	said := strings.Join(r.said, " ")
	r.said = nil
	return said
}

func (r *rig) start(n int64) {
	r.Ask(func(t engine.Ticket) engine.Command {
		return engine.Start{Ticket: t, Container: engine.Spec{ID: id(n), User: "ann"}}
	},
		func(err error) { r.say("start-%d:%v", n, err) })
}

func id(n int64) yarn.ContainerID {
	return yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}, Attempt: 1}, Number: n}
}

// Nobody sees, and no process is, what the next life would not know of; what comes meanwhile goes into one commit.
func TestDurableFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.hold = make(chan struct{})
		r.run()
		r.start(1)
		if said := r.heard(); said != "" || r.Container(id(1)) != nil || len(r.Applications()) != 0 {
			t.Fatalf("before anything is durable: %q, %v", said, r.Containers())
		}
		for n := range int64(20) {
			r.start(2 + n)
			synctest.Wait()
		}
		r.hold <- struct{}{}
		if said := r.heard(); said != "Open start-1:<nil> Localized Launch" || r.Container(id(1)).Sub != engine.SubScheduled || r.Container(id(2)) != nil {
			t.Fatalf("after the first commit: %q, %v", said, r.Containers())
		}
		r.hold <- struct{}{}
		if said := r.heard(); !strings.HasPrefix(said, "start-2:<nil> Localized Launch start-3:<nil> Localized Launch") || len(r.Containers()) != 21 || len(r.commits) != 2 {
			t.Fatalf("after %d commits: %q", len(r.commits), said)
		}
		for i, op := range r.commits[0] {
			if _, ok := op.(state.PutContainer); ok != (i > 0) {
				t.Errorf("record %d is %T", i, op)
			}
		}
		if a, ok := r.Application(id(1).Attempt.Application); !ok || a.User != "ann" || a.State != "RUNNING" {
			t.Errorf("%+v %v", a, ok)
		}
	})
}

// A store that fails once is lost: nothing that relied on it is carried out, nor what comes later, and everybody hears of the
// end.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.run()
		r.start(1)
		r.heard()
		r.fails = errors.New("the disk is full")
		r.start(2)
		r.Post(engine.Signal{ID: id(1), Signal: 1})
		r.heard()
		r.fails = nil
		r.start(3)
		r.Post(engine.Overrun{ID: id(1), Exit: -104})
		if said := r.heard(); said != "" || len(r.Containers()) != 1 || r.Container(id(1)).State != "SCHEDULED" {
			t.Errorf("%q, %v", said, r.Containers())
		}
		if len(r.fatal) != 1 || !strings.Contains(r.fatal[0].Error(), "the disk is full") || len(r.commits) != 2 {
			t.Errorf("%v after %d commits", r.fatal, len(r.commits))
		}
		r.end()
		r.Wait()
		for _, n := range []string{"start-2:", "start-3:"} {
			if got := slices.DeleteFunc(slices.Clone(r.said), func(s string) bool { return s != n+ErrClosed.Error() }); len(got) != 1 {
				t.Errorf("%s %d times in %q", n, len(got), r.said)
			}
		}
	})
}

// While the store keeps nothing nobody is answered and nothing happens; when it keeps again all of it does, in order.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.run()
		r.start(1)
		r.heard()
		r.failing(fmt.Errorf("gone: %w", state.ErrAway))
		time.Sleep(lookPause) // nothing is to be kept, and it is noticed
		if said := r.heard(); said != "away:gone: "+state.ErrAway.Error() {
			t.Errorf("%q", said)
		}
		r.start(2)
		time.Sleep(awayPause)
		r.failing(fmt.Errorf("gone for another reason: %w", state.ErrAway))
		time.Sleep(10 * awayPause)
		if said := r.heard(); said != "away:gone for another reason: "+state.ErrAway.Error() || len(r.Containers()) != 1 {
			t.Errorf("%q, %v", said, r.Containers())
		}
		r.failing(nil)
		time.Sleep(awayPause)
		if said := r.heard(); said != "away:<nil> Open start-2:<nil> Localized Launch" && said != "away:<nil> start-2:<nil> Localized Launch" || len(r.fatal) != 0 {
			t.Errorf("%q, %v", said, r.fatal)
		}
	})
}

// A store that never comes back is lost in the end, and one that is away holds up nobody who ends the loop.
func TestStoreStaysAway(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"lost":    func(*rig) { time.Sleep(awayFor + 2*awayPause) },
		"stopped": func(r *rig) { r.end() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.run()
				r.failing(state.ErrAway)
				for n := range int64(maxBehind/3 + 2) { // so that the engine pauses too
					r.Post(engine.Keep{Op: state.DropPart{Part: "p"}})
					r.start(n)
				}
				synctest.Wait()
				end(r)
				synctest.Wait()
				if len(r.fatal) != 1 {
					t.Errorf("%v", r.fatal)
				}
				r.end()
				r.Wait()
				if len(r.tickets) != 0 || len(r.Containers()) != 0 {
					t.Errorf("%d wait, and %d are there", len(r.tickets), len(r.Containers()))
				}
			})
		})
	}
}

// Whoever asks is answered once: before, while and after the loop ends.
func TestEveryoneIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.run()
		var asked, answered atomic.Int64
		var work sync.WaitGroup
		for g := range int64(8) {
			work.Go(func() {
				for n := range int64(300) {
					var once atomic.Bool
					asked.Add(1)
					r.Ask(func(t engine.Ticket) engine.Command { return engine.Stop{Ticket: t, ID: id(n)} }, func(error) {
						if once.Swap(true) {
							t.Error("answered twice")
						}
						answered.Add(1)
					})
					if g == 0 && n == 100 {
						r.end()
					}
				}
			})
		}
		work.Wait()
		r.Wait()
		if asked.Load() != answered.Load() {
			t.Errorf("%d asked, %d answered", asked.Load(), answered.Load())
		}
		r.Post(engine.Stop{ID: id(1)})
		if err := r.Sync(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// What was applied when the loop ends is still kept and carried out.
func TestEndCarriesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.hold = make(chan struct{})
		r.run()
		r.start(1)
		synctest.Wait()
		r.start(2)
		synctest.Wait()
		r.end()
		close(r.hold)
		r.Wait()
		if said := r.heard(); said != "Open start-1:<nil> Localized Launch start-2:<nil> Localized Launch" || len(r.commits) != 2 {
			t.Errorf("%q in %d commits", said, len(r.commits))
		}
	})
}

// A full mailbox holds whoever posts, but no part that has a record kept.
func TestMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range MaxMailbox - 1 {
			r.Post(engine.Stop{ID: id(1)})
		}
		var posted atomic.Int64
		for range 3 {
			go func() { r.Post(engine.Stop{ID: id(1)}); posted.Add(1) }()
		}
		r.Post(engine.Keep{Op: state.DropPart{Part: "p"}})
		synctest.Wait()
		if posted.Load() != 0 || len(r.inbox) != MaxMailbox+1 {
			t.Errorf("%d posted, %d wait", posted.Load(), len(r.inbox))
		}
		r.run()
		synctest.Wait()
		if posted.Load() != 3 || len(r.inbox) != 0 || len(r.commits) != 1 {
			t.Errorf("%d posted, %d wait, %d commits", posted.Load(), len(r.inbox), len(r.commits))
		}
	})
}

// A store that hangs stops the engine after a while, and loses nothing when it goes on.
func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.hold = make(chan struct{})
		r.run()
		keep := func() { r.Post(engine.Keep{Op: state.DropPart{Part: "p"}}) }
		keep() // the store hangs with it
		synctest.Wait()
		for range maxBehind {
			keep()
		}
		synctest.Wait()
		keep() // the engine has applied it, and its effect finds no room
		synctest.Wait()
		keep()
		r.start(1)
		synctest.Wait()
		if len(r.out) != maxBehind || len(r.inbox) != 2 {
			t.Errorf("%d effects and %d commands wait", len(r.out), len(r.inbox))
		}
		close(r.hold)
		n := 0
		if said := r.heard(); said != "Open start-1:<nil> Localized Launch" {
			t.Errorf("%q", said)
		}
		for _, ops := range r.commits {
			n += len(ops)
		}
		if n != maxBehind+3+3 {
			t.Errorf("%d records are kept", n)
		}
	})
}

// What is due is done without another command.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.run()
		r.Post(engine.Start{Container: engine.Spec{ID: id(1), User: "ann", Retry: engine.Retry{Policy: engine.RetryOnAll, Max: 1, Interval: 5000}}})
		r.Post(engine.Exited{ID: id(1), Code: 1})
		r.heard()
		time.Sleep(4999 * time.Millisecond)
		if said := r.heard(); said != "" || r.Container(id(1)).State != "RELAUNCHING" {
			t.Errorf("too early: %q", said)
		}
		time.Sleep(2 * time.Millisecond)
		if said := r.heard(); said != "Launch" {
			t.Errorf("due: %q", said)
		}
	})
}

// Views are of what is there, in order, and Sync returns when they show what was posted.
func TestViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Store = nil // nothing is kept: nothing to wait for
		r.run()
		for _, n := range []int64{3, 1, 2} {
			r.start(n)
		}
		if err := r.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		list := r.Containers()
		if len(list) != 3 || list[0].ID != id(1) || list[1].ID != id(2) || list[2].ID != id(3) {
			t.Fatalf("%v", list)
		}
		before := r.Container(id(2))
		r.Post(engine.Exited{ID: id(2), Code: 7})
		r.Post(engine.Orders{Forget: []yarn.ContainerID{id(2)}})
		if err := r.Sync(t.Context()); err != nil || r.Container(id(2)) != nil || len(r.Containers()) != 2 || before.Exit != engine.NotExited {
			t.Errorf("%v %v %+v", err, r.Containers(), before)
		}
		app := id(1).Attempt.Application
		r.Post(engine.Orders{Finish: []yarn.ApplicationID{app}})
		r.Post(engine.Exited{ID: id(1), Code: 143})
		r.Post(engine.Exited{ID: id(3), Code: 143})
		r.Post(engine.Cleared{Application: app})
		if err := r.Sync(t.Context()); err != nil || len(r.Applications()) != 1 || r.Applications()[0].State != "FINISHED" {
			t.Errorf("%v %v", err, r.Applications())
		}
		r.Post(engine.LogsDone{Application: app})
		if err := r.Sync(t.Context()); err != nil || len(r.Applications()) != 0 || len(r.Containers()) != 0 {
			t.Errorf("%v %v", err, r.Applications())
		}
		if _, ok := r.Application(app); ok {
			t.Error("it is still there")
		}
	})
}

// Sync gives up with its caller.
func TestSyncEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t) // nobody runs it
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
