// Package loop runs the NodeManager's engine. One goroutine applies commands to it. A second goroutine makes the records among
// the resulting effects durable, all that have gathered in one commit, and then carries out the other effects in order. So no
// reply, view or process exists that a restarted daemon would not know of, and the engine never waits for the disk.
package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/state"
)

// MaxMailbox bounds the commands that wait. At it a caller waits, which holds its connection back.
const MaxMailbox = 1 << 14

// How the store is looked after.
const (
	lookPause = 2 * time.Second        // between two looks whether it is still there while nothing is to be kept
	awayPause = 500 * time.Millisecond // between two tries while it keeps nothing
	awayFor   = 10 * time.Minute       // one that keeps nothing for longer is lost
)

// maxBehind bounds the effects that wait for the store; beyond it the engine pauses.
const maxBehind = 1 << 16

// ErrClosed is the answer to whatever comes after the end.
var ErrClosed = errors.New("the NodeManager is stopping")

// Store makes changes durable, all or none. Called without changes, it checks whether it could. *store.Store is one.
type Store interface{ Commit([]state.Op) error }

// Config is what a Loop needs.
type Config struct {
	Engine *engine.Engine
	Clock  clock.Clock
	Store  Store               // nil keeps nothing
	Do     func(engine.Effect) // carries an effect out, except replies, saves and views; must not block
	Log    *slog.Logger
	Fatal  func(error) // the store is lost: the process must end
	// Away is called when the store cannot keep records (state.ErrAway): once for each new reason, and with nil when it can again.
	// Until then no effect is carried out and no call is answered.
	Away func(error)
	// Ended, if set, is called for each container whose end has become visible to readers. It must not block.
	Ended func(*engine.View)
}

// Loop runs an engine. Its methods are safe for use by many goroutines.
type Loop struct {
	cfg     Config
	views   views
	stopped chan struct{}

	mu     sync.Mutex
	room   sync.Cond
	inbox  []engine.Command
	closed bool
	wake   chan struct{}

	tickets map[engine.Ticket]func(error)
	last    engine.Ticket

	behind sync.Cond // of mu: effects have come, or have been taken
	out    []engine.Effect
	ended  bool // no effects will come any more
	look   bool // it is time to look after the store
}

// New is a loop that does not run yet.
func New(cfg Config) *Loop {
	l := &Loop{cfg: cfg, stopped: make(chan struct{}), wake: make(chan struct{}, 1), tickets: map[engine.Ticket]func(error){}}
	l.room.L, l.behind.L = &l.mu, &l.mu
	l.views.init()
	return l
}

// Post hands a command in. It waits while the mailbox is full, except for an engine.Keep: those are posted where waiting is not
// allowed, such as in a reply's function, and there are few of them for each command that does wait. After the end it does
// nothing.
func (l *Loop) Post(c engine.Command) {
	_, urgent := c.(engine.Keep)
	l.mu.Lock()
	for len(l.inbox) >= MaxMailbox && !l.closed && !urgent {
		l.room.Wait()
	}
	if !l.closed {
		l.inbox = append(l.inbox, c)
	}
	l.mu.Unlock()
	l.nudge()
}

// Ask posts the command that make returns for a ticket; done takes the answer: nil, an *engine.Error, or ErrClosed. It runs
// on the goroutine that carries effects out, so it must not block.
func (l *Loop) Ask(make func(engine.Ticket) engine.Command, done func(error)) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		done(ErrClosed)
		return
	}
	l.last++
	t := l.last
	l.tickets[t] = done
	l.mu.Unlock()
	l.Post(make(t))
}

// Sync returns when everything that was posted before has been carried out: what it has changed is durable and shows in the
// views.
func (l *Loop) Sync(ctx context.Context) error {
	done := make(chan error, 1)
	l.Ask(func(t engine.Ticket) engine.Command { return engine.Echo{Ticket: t} }, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Loop) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run applies commands until ctx ends, then carries out what is left and answers whoever still waits.
func (l *Loop) Run(ctx context.Context) {
	var carrier sync.WaitGroup
	carrier.Go(func() { l.carry(ctx) })
	if l.cfg.Store != nil {
		carrier.Go(func() { l.remind(ctx) })
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []engine.Command
	for ctx.Err() == nil {
		l.arm(timer)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		batch = l.take(batch[:0])
		l.apply(batch)
		clear(batch)
	}
	l.mu.Lock()
	l.closed, l.ended = true, true
	l.mu.Unlock()
	l.room.Broadcast()
	l.behind.Broadcast()
	carrier.Wait()
	l.mu.Lock()
	left := l.tickets
	l.tickets = nil
	l.mu.Unlock()
	for _, done := range left {
		done(ErrClosed)
	}
	close(l.stopped)
}

// Wait returns when Run has ended.
func (l *Loop) Wait() { <-l.stopped }

func (l *Loop) arm(timer *time.Timer) {
	timer.Stop()
	if due := l.cfg.Engine.Due(); due != 0 {
		timer.Reset(time.Duration(max(due-l.cfg.Clock.Now().Mono, 0)) * time.Millisecond)
	}
}

func (l *Loop) take(batch []engine.Command) []engine.Command {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox, batch = batch, l.inbox
	l.room.Broadcast()
	return batch
}

func (l *Loop) apply(batch []engine.Command) {
	now := l.cfg.Clock.Now()
	var fx []engine.Effect
	for _, c := range batch {
		fx = l.cfg.Engine.Apply(now, c, fx)
	}
	if due := l.cfg.Engine.Due(); due != 0 && due <= now.Mono {
		fx = l.cfg.Engine.Apply(now, engine.Wake{}, fx)
	}
	if len(fx) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) >= maxBehind {
		l.behind.Wait()
	}
	l.out = append(l.out, fx...)
	l.behind.Broadcast()
}

// remind has the store looked after.
func (l *Loop) remind(ctx context.Context) {
	ticker := time.NewTicker(lookPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		l.mu.Lock()
		l.look = true
		l.mu.Unlock()
		l.behind.Broadcast()
	}
}

// carry is the second goroutine. Once a commit has failed for good it carries out nothing more, because later effects rely on
// the lost records.
func (l *Loop) carry(ctx context.Context) {
	var fx []engine.Effect
	lost := false
	for {
		l.mu.Lock()
		for len(l.out) == 0 && !l.ended && !l.look {
			l.behind.Wait()
		}
		fx, l.out = l.out, fx[:0]
		look := l.look
		l.look = false
		ended := l.ended && len(fx) == 0
		l.behind.Broadcast()
		l.mu.Unlock()
		if ended {
			return
		}
		if !lost {
			lost = !l.carryAll(ctx, fx, look)
		}
		clear(fx)
	}
}

func (l *Loop) carryAll(ctx context.Context, fx []engine.Effect, look bool) bool {
	if err := l.commit(ctx, fx, look); err != nil {
		l.cfg.Fatal(fmt.Errorf("cannot keep records for recovery: %w", err))
		return false
	}
	for _, x := range fx {
		l.carryOut(x)
	}
	return true
}

func (l *Loop) commit(ctx context.Context, fx []engine.Effect, look bool) error {
	if l.cfg.Store == nil {
		return nil
	}
	var ops []state.Op
	for _, x := range fx {
		if s, ok := x.(engine.Save); ok {
			ops = append(ops, s.Op)
		}
	}
	if len(ops) == 0 && !look {
		return nil
	}
	err := l.cfg.Store.Commit(ops)
	if errors.Is(err, state.ErrAway) {
		err = l.await(ctx, ops, err)
	}
	return err
}

// await commits again and again while the store is away. It returns when the store has taken the changes, when it is lost
// (another error, or awayFor has passed), or when ctx ends.
func (l *Loop) await(ctx context.Context, ops []state.Op, err error) error {
	since, said := time.Now(), ""
	for errors.Is(err, state.ErrAway) {
		if err.Error() != said {
			said = err.Error()
			l.cfg.Away(err)
		}
		if time.Since(since) > awayFor || !pause(ctx) {
			return err
		}
		err = l.cfg.Store.Commit(ops)
	}
	if err == nil {
		l.cfg.Away(nil)
	}
	return err
}

// pause waits for the next try; it returns false if ctx ends first.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(awayPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (l *Loop) carryOut(x engine.Effect) {
	switch x := x.(type) {
	case engine.Save:
	case engine.Reply:
		l.mu.Lock()
		done := l.tickets[x.Ticket]
		delete(l.tickets, x.Ticket)
		l.mu.Unlock()
		if done == nil {
			return
		}
		if x.Err != nil {
			done(x.Err)
			return
		}
		done(nil)
	case engine.Show:
		before := l.Container(x.Container.ID)
		l.views.apply(x)
		if l.cfg.Ended != nil && x.Container.Done() && before != nil && !before.Done() {
			l.cfg.Ended(x.Container)
		}
	default:
		if !l.views.apply(x) {
			l.cfg.Do(x)
		}
	}
}
