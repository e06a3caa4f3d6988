package resourcemanager

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/heddle-project/heddle/internal/giveway"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/launch"
	"github.com/heddle-project/heddle/resourcemanager/rpc/master"
	"github.com/heddle-project/heddle/resourcemanager/rpc/tracker"
	"github.com/heddle-project/heddle/yarn"
)

// maxJournal bounds the log lines that wait; beyond it lines are counted and
// dropped, for the loop never waits for a terminal.
const maxJournal = 1 << 16

// linesAtOnce bounds what is logged in one go.
const linesAtOnce = 256

// outside carries out what the loop's commands lead to.
type outside struct {
	launcher *launch.Launcher
	grants   *grants
	contexts *contexts
	masters  *master.Server
	trackers *tracker.Server
	log      *slog.Logger
	events   *events.Log
	tally    *tally
	summary  func(yarn.ApplicationID)

	nodeChanged func() // a node has come or gone; it must not wait

	lines   chan func()
	mu      sync.Mutex
	dropped int
	done    chan struct{}
}

func newOutside(log *slog.Logger, happens *events.Log) *outside {
	return &outside{log: log, events: happens, tally: newTally(), lines: make(chan func(), maxJournal), done: make(chan struct{})}
}

// write logs what the loop hands over, in order.
func (o *outside) write() {
	defer close(o.done)
	for line := range o.lines {
		logs.Together(o.log, func() {
			line()
			for i := range min(len(o.lines), linesAtOnce) {
				giveway.After(i)
				(<-o.lines)()
			}
		})
		o.mu.Lock()
		n := o.dropped
		o.dropped = 0
		o.mu.Unlock()
		if n > 0 {
			o.log.Warn("log lines were dropped: the log is slower than the cluster", "lines", n)
		}
	}
}

func (o *outside) later(line func()) {
	select {
	case o.lines <- line:
	default:
		o.mu.Lock()
		o.dropped++
		o.mu.Unlock()
	}
}

// Launch implements loop.Outside.
func (o *outside) Launch(x engine.Launch) { o.launcher.Launch(x) }

// Stop implements loop.Outside.
func (o *outside) Stop(x engine.Stop) { o.launcher.Stop(x) }

// Login implements loop.Outside.
func (o *outside) Login(x engine.Login) {
	if x.Open {
		o.grants.amrm.Register(x.Attempt)
		o.grants.nodes.Register(x.Attempt)
		return
	}
	o.contexts.Release(x.Attempt.Application)
	o.grants.amrm.Unregister(x.Attempt)
	o.grants.nodes.Unregister(x.Attempt)
	o.masters.Forget(x.Attempt)
}

// Forgotten implements loop.Outside.
func (o *outside) Forgotten(id yarn.NodeID) {
	o.grants.nodes.ClearNode(id)
	o.trackers.Forget(id)
}

// Discarded implements loop.Outside.
func (o *outside) Discarded(id yarn.ApplicationID) { o.contexts.Drop(id) }

// Transitions implements loop.Outside.
func (o *outside) Transitions(list []engine.Transition) {
	if slices.ContainsFunc(list, func(t engine.Transition) bool { return t.Node != yarn.NodeID{} }) {
		o.nodeChanged()
	}
	o.followTransitions(list)
	var logged []engine.Transition
	for i := range list {
		if o.log.Enabled(context.Background(), levelOf(&list[i])) {
			logged = append(logged, list[i])
		}
	}
	if len(logged) == 0 {
		return
	}
	o.later(func() {
		for i := range logged {
			o.transition(&logged[i])
		}
	})
}

// levelOf is at which level a step is logged. Of a submission INFO tells that it is ACCEPTED: five lines for each would take a tenth of its time.
func levelOf(t *engine.Transition) slog.Level {
	switch {
	case !t.Application.IsZero() && (t.To == appNewSaving || t.To == appSubmitted), !t.Attempt.IsZero() && (t.To == attemptSubmitted || t.To == attemptScheduled):
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// The states that an application and its attempt pass through on the way to where they wait.
var (
	appNewSaving, appSubmitted         = yarn.AppNewSaving.String(), yarn.AppSubmitted.String()
	attemptSubmitted, attemptScheduled = yarn.AttemptSubmitted.String(), yarn.AttemptScheduled.String()
)

func (o *outside) transition(t *engine.Transition) {
	subject := t.Node.String()
	switch {
	case !t.Application.IsZero():
		subject = t.Application.String()
	case !t.Attempt.IsZero():
		subject = t.Attempt.String()
	}
	o.log.Log(context.Background(), levelOf(t), subject+" went from "+t.From+" to "+t.To, "cause", t.Cause)
}

// Summaries implements loop.Outside.
func (o *outside) Summaries(ids []yarn.ApplicationID) {
	copied := append([]yarn.ApplicationID(nil), ids...)
	o.later(func() {
		for _, id := range copied {
			o.summary(id)
		}
	})
}

// Reservations implements loop.Outside.
func (o *outside) Reservations(list []engine.ReservationEvent) {
	o.followReservations(list)
	copied := append([]engine.ReservationEvent(nil), list...)
	o.later(func() {
		for _, r := range copied {
			o.reservation(r)
		}
	})
}

func (o *outside) reservation(r engine.ReservationEvent) {
	switch r.What {
	case engine.Deleted:
		o.log.Info("a reservation was deleted", "reservation", r.ID, "queue", r.Plan)
	case engine.Over:
		o.log.Info("a reservation is over", "reservation", r.ID, "queue", r.Plan)
	case engine.Revoked:
		o.log.Warn("a reservation was revoked: the queue has become too small for all of them, and the latest go first", "reservation", r.ID, "queue", r.Plan)
	case engine.NotRecovered:
		o.log.Error("a stored reservation is not in force: yarn.resourcemanager.reservation-system.max-periodicity is no multiple of its recurrence any more; set it as before", "reservation", r.ID, "queue", r.Plan)
	case engine.QueueRefused:
		o.log.Warn("a queue of a plan keeps what it had", "plan", r.Plan, "reason", r.Why)
	case engine.ReplanCutShort:
		o.log.Warn("a plan is too large to be replanned at once; until its next replanning all of its reservations that are due get less, in proportion, where there is too little", "plan", r.Plan, "reason", r.Why)
	}
}
