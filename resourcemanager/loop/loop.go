// Package loop runs the engine on one goroutine, the only writer: it has the mailbox of
// commands, the clock, the store's committer, and the publication of views. That
// goroutine never waits for I/O, which other goroutines do; they post its outcome as a
// command.
//
// Answers are sent in batches by a few other goroutines, after everything that they
// acknowledge is durable.
package loop

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds. When the mailbox is full callers wait, and no more calls are read from their
// connections.
const (
	MaxMailbox  = 1 << 16 // commands that wait
	maxBatch    = 1 << 10 // commands that are applied with the same time
	answerChunk = 32      // answers that one goroutine takes at once
	lastTypes   = 64      // last commands whose types are logged in a crash
	spareChunks = 64      // empty lists of answers that are kept for new ones
)

// ErrClosed is the answer to every call after the loop has ended.
var ErrClosed = errors.New("the ResourceManager is stopping; try again at its successor")

// Outside takes the effects that are not answers or saves. The loop calls its methods
// in order; they must not block.
type Outside interface {
	Launch(engine.Launch)
	Stop(engine.Stop)
	Login(engine.Login)
	Forgotten(yarn.NodeID)
	Discarded(yarn.ApplicationID)
	Transitions([]engine.Transition)        // valid during the call
	Summaries([]yarn.ApplicationID)         // valid during the call
	Reservations([]engine.ReservationEvent) // likewise
	Decisions(*engine.Effects)              // likewise: Containers, Notices and Requeued
}

// Config is what a Loop needs.
type Config struct {
	Engine   *engine.Engine
	Clock    clock.Clock
	Outside  Outside
	Store    store.Store        // nil: nothing is stored, and every save is confirmed at once
	Complete func(*engine.Save) // adds to a record what only the edge has, before it is stored; may be nil
	BlackBox *blackbox.Recorder // nil: commands are not recorded
	Log      *slog.Logger
	Lost     func(*Loss) // called when the store is lost; it must see to it that the loop ends
	Leads    func() bool // tells whether answers may still be given: after false all are ErrClosed; nil: always
}

// Done takes the answer to a command. Other answers wait for it on the same goroutine,
// so it must not block for long.
type Done func(value any, err error)

// Loop runs an engine. Its methods are safe for use by many goroutines.
type Loop struct {
	cfg     Config
	mu      sync.Mutex
	room    sync.Cond
	inbox   []engine.Command
	waiting []*reader // for a publication
	asides  []aside
	closed  bool
	wake    chan struct{}
	stopped chan struct{}

	tickets tickets
	answers chan []answer
	spare   chan []answer // emptied by the goroutines that answer
	workers sync.WaitGroup

	posted, own atomic.Uint64 // commands that others have posted, counted with mu held; commands of the loop itself
	views       atomic.Pointer[Views]

	// For the loop's goroutine alone.
	fx        engine.Effects
	pending   []answer
	confirmed []engine.Stored
	committer *committer
	recent    [lastTypes]reflect.Type // of commands
	applied   int
	armed     int64 // monotonic moment for which the timer is set; 0 when it is not
	stats     Stats
	holds     holds
	next      next
	showing   publication
	resume    time.Time // no publication begins before it
	pace      pace
}

// Stats count what the loop has done.
type Stats struct{ Commands, Batches, Publications, Explained int64 }

type answer struct {
	done  Done
	value any
	err   *engine.Error
}

// New is a loop that does not run yet.
func New(cfg Config) *Loop {
	l := &Loop{cfg: cfg, wake: make(chan struct{}, 1), stopped: make(chan struct{}), answers: make(chan []answer, 1024), spare: make(chan []answer, spareChunks)}
	l.room.L = &l.mu
	l.holds.began = time.Now()
	l.next = newNext()
	l.views.Store(l.next.views())
	l.posted.Store(1) // so the first reader waits for the first publication
	if cfg.Store != nil {
		l.committer = newCommitter(cfg.Store, cfg.Log, func(s []engine.Stored) {
			for _, x := range s {
				l.force(x)
			}
		}, cfg.Lost)
	}
	return l
}

// Expect registers done for the answer to the command that is posted with the ticket.
func (l *Loop) Expect(done Done) engine.Ticket { return l.tickets.take(done) }

// Post puts a command into the mailbox. It waits while that is full. If the loop has
// ended the ticket is answered with ErrClosed.
func (l *Loop) Post(c engine.Command) {
	l.mu.Lock()
	for len(l.inbox) >= MaxMailbox && !l.closed {
		l.room.Wait()
	}
	l.add(c)
}

// force posts a command even when the mailbox is full: the committer must not wait for
// the loop.
func (l *Loop) force(c engine.Command) {
	l.mu.Lock()
	l.add(c)
}

// add appends a command and unlocks.
func (l *Loop) add(c engine.Command) {
	first := len(l.inbox) == 0
	if !l.closed {
		l.posted.Add(1)
		l.inbox = append(l.inbox, c)
	}
	l.mu.Unlock()
	if first {
		l.nudge()
	}
}

func (l *Loop) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run applies commands until ctx ends. It then answers whoever still waits.
func (l *Loop) Run(ctx context.Context, answerers int) {
	for range answerers {
		l.workers.Add(1)
		go l.answer()
	}
	if l.committer != nil {
		go l.committer.run()
	}
	defer l.end()
	defer l.openBlackBox()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	var batch []engine.Command
	for {
		if !l.busy(pause) {
			l.arm(timer)
			l.holds.wait()
			select {
			case <-l.wake:
			case <-pause.C:
			case <-timer.C:
				l.armed = 0
			case <-ctx.Done():
				return
			}
		}
		var begun bool
		batch, begun = l.take(batch[:0])
		l.run(batch)
		l.between()
		if begun {
			l.showing.upTo.own = l.own.Load()
		}
		if l.showing.active {
			l.show()
		}
		clear(batch)
		if ctx.Err() != nil {
			return
		}
	}
}

// Wait returns when Run has ended.
func (l *Loop) Wait() { <-l.stopped }

// busy tells whether there is work to do at once. If readers wait for the end of the
// pause between two publications it sets the timer for that.
func (l *Loop) busy(pause *time.Timer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inbox) > 0 || l.showing.active || l.cfg.Engine.Working() || l.cfg.Engine.SweepDue() || len(l.asides) > 0 {
		return true
	}
	if len(l.waiting) == 0 {
		return false
	}
	left := time.Until(l.resume)
	pause.Reset(left)
	return left <= 0
}

// take moves at most maxBatch commands out of the mailbox. If it took the last one a
// publication may have begun, which comes after the batch.
func (l *Loop) take(batch []engine.Command) (_ []engine.Command, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inbox) <= maxBatch {
		l.inbox, batch = batch, l.inbox
	} else {
		batch = append(batch, l.inbox[:maxBatch]...)
		rest := copy(l.inbox, l.inbox[maxBatch:])
		clear(l.inbox[rest:])
		l.inbox = l.inbox[:rest]
	}
	l.room.Broadcast()
	return batch, len(l.inbox) == 0 && l.wanted()
}

// run applies a batch, then a Tick and a Sweep if they are due.
func (l *Loop) run(batch []engine.Command) {
	now := l.cfg.Clock.Now()
	l.holds.begin()
	for _, c := range batch {
		l.apply(now, c)
	}
	if due, ok := l.cfg.Engine.NextDue(); ok && due <= now.Mono {
		l.own.Add(1)
		l.apply(now, engine.Tick{})
	}
	if l.cfg.Engine.SweepDue() {
		l.own.Add(1)
		l.apply(now, engine.Sweep{})
	}
	l.stats.Batches++
	l.release()
}

// apply applies one command and, without a store, the confirmations of its saves.
func (l *Loop) apply(now yarn.Now, c engine.Command) {
	l.one(now, c)
	for len(l.confirmed) > 0 {
		s := l.confirmed[0]
		l.confirmed = l.confirmed[1:]
		l.one(now, s)
	}
	l.confirmed = l.confirmed[:0]
}

func (l *Loop) one(now yarn.Now, c engine.Command) {
	l.recent[l.applied%lastTypes] = reflect.TypeOf(c)
	l.applied++
	l.stats.Commands++
	l.fx.Reset()
	if b := l.cfg.BlackBox; b != nil {
		b.Add(now, c)
		l.cfg.Engine.Apply(now, c, &l.fx)
		b.Carried(&l.fx)
	} else {
		l.cfg.Engine.Apply(now, c, &l.fx)
	}
	l.carry(&l.fx)
	l.holds.end(c)
}

// carry carries the effects of a command out.
func (l *Loop) carry(fx *engine.Effects) {
	l.save(fx.Saves)
	out := l.cfg.Outside
	for _, x := range fx.Logins {
		out.Login(x)
	}
	for _, x := range fx.Forgotten {
		out.Forgotten(x)
	}
	for _, x := range fx.Launches {
		out.Launch(x)
	}
	for _, x := range fx.Stops {
		out.Stop(x)
	}
	if len(fx.Transitions) > 0 {
		out.Transitions(fx.Transitions)
	}
	if len(fx.Summaries) > 0 {
		out.Summaries(fx.Summaries)
	}
	if len(fx.Reservations) > 0 {
		out.Reservations(fx.Reservations)
	}
	if len(fx.Containers) > 0 || len(fx.Notices) > 0 || fx.Requeued {
		out.Decisions(fx)
	}
	for _, x := range fx.Discarded {
		out.Discarded(x)
	}
	for _, r := range fx.Replies {
		if done := l.tickets.redeem(r.Ticket); done != nil {
			l.pending = append(l.pending, answer{done, r.Value, r.Err})
		}
	}
	if len(l.pending) >= answerChunk {
		l.release()
	}
}

func (l *Loop) save(saves []engine.Save) {
	if len(saves) == 0 {
		return
	}
	if l.committer == nil {
		for _, s := range saves {
			l.confirmed = append(l.confirmed, engine.Stored{Seq: s.Seq})
		}
		return
	}
	if l.cfg.Complete != nil {
		for i := range saves {
			l.cfg.Complete(&saves[i])
		}
	}
	l.committer.put(saves)
}

// release passes the collected answers to the goroutines that send them.
func (l *Loop) release() {
	if len(l.pending) == 0 {
		return
	}
	l.answers <- l.pending
	select {
	case l.pending = <-l.spare:
	default:
		l.pending = make([]answer, 0, answerChunk)
	}
}

func (l *Loop) answer() {
	defer l.workers.Done()
	for chunk := range l.answers {
		for _, a := range chunk {
			switch {
			case l.cfg.Leads != nil && !l.cfg.Leads(): // the process was paused, and another ResourceManager may be active
				a.done(nil, ErrClosed)
			case a.err != nil:
				a.done(nil, a.err)
			default:
				a.done(a.value, nil)
			}
		}
		clear(chunk)
		select {
		case l.spare <- chunk[:0]:
		default:
		}
	}
}

// arm sets the timer for what is due next. Leases are renewed all the time, so that
// moment mostly moves later: then the timer is left to fire too early, which costs less
// than setting it each time.
func (l *Loop) arm(timer *time.Timer) {
	due, ok := l.cfg.Engine.NextDue()
	if !ok || l.armed != 0 && l.armed <= due {
		return
	}
	l.armed = max(due, 1)
	wait := min(max(due-l.cfg.Clock.Now().Mono, 0), longestWait.Milliseconds())
	timer.Reset(time.Duration(wait) * time.Millisecond)
}

// longestWait bounds what the timer is set to: a deadline may be further away than a time.Duration reaches.
const longestWait = 24 * time.Hour

// end answers every call that still waits with ErrClosed, and waits for the goroutines
// of the loop.
func (l *Loop) end() {
	l.mu.Lock()
	l.closed = true
	l.inbox = nil
	l.posted.Add(1) // so no reader takes the last views for current
	l.mu.Unlock()
	l.room.Broadcast()
	if b := l.cfg.BlackBox; b != nil {
		if err := b.Close(l.cfg.Engine.Digest); err != nil {
			l.cfg.Log.Error("the recording of all commands is not whole", "error", err)
		}
	}
	if l.committer != nil {
		l.committer.stop()
	}
	for _, done := range l.tickets.all() {
		l.pending = append(l.pending, answer{done: func(any, error) { done(nil, ErrClosed) }})
	}
	l.release()
	close(l.answers)
	l.workers.Wait()
	close(l.stopped)
}

// openBlackBox logs the types of the last commands after a panic of the engine, writes
// the recording if there is one, and panics again, which ends the process: the next
// start goes on from what is stored.
func (l *Loop) openBlackBox() {
	p := recover()
	if p == nil {
		return
	}
	for i := max(0, l.applied-lastTypes); i < l.applied; i++ {
		l.cfg.Log.Error("black box", "number", i, "command", l.recent[i%lastTypes])
	}
	if b := l.cfg.BlackBox; b != nil {
		b.Crashed(p, debug.Stack(), l.cfg.Engine.Digest)
	}
	panic(p)
}
