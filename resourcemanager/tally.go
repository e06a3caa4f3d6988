package resourcemanager

import (
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// tally counts, of what happens in a term, what metrics tell and nobody else needs.
type tally struct {
	mu      sync.Mutex
	queues  map[string]*access.QueueTally // of the queue alone
	masters map[yarn.AttemptID]step       // attempts whose master has not registered
	sums    access.Tallies
}

// step is the last step of an attempt on the way to a master that has registered.
type step struct {
	state string
	at    int64
}

// Bounds of tally: beyond them nothing is counted for queues and attempts that are new.
const (
	maxTallied = 100_000
	maxSteps   = 100_000
)

func newTally() *tally {
	return &tally{queues: map[string]*access.QueueTally{}, masters: map[yarn.AttemptID]step{}}
}

// count takes an event.
func (t *tally) count(e *events.Event) {
	switch e.Kind {
	case events.Container:
		t.container(e)
	case events.Attempt:
		t.attempt(e)
	}
}

func (t *tally) container(e *events.Event) {
	if e.Queue == "" || e.What != "allocated" && e.What != "ended" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[e.Queue]
	if q == nil {
		if len(t.queues) >= maxTallied {
			return
		}
		q = &access.QueueTally{}
		t.queues[e.Queue] = q
	}
	if e.What == "allocated" {
		q.Allocated++
		return
	}
	q.Released++
	if e.Exit == yarn.ExitPreempted {
		q.PreemptedMB += e.MemoryMB
		q.PreemptedVCores += e.VCores
	}
}

// attempt times the steps from asking for a master's container until the master has registered.
func (t *tally) attempt(e *events.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := yarn.AttemptID{Application: e.Application, Attempt: e.Attempt}
	last, known := t.masters[id]
	took := time.Duration(e.At-last.at) * time.Millisecond
	add := func(x *access.Timing) {
		x.Count++
		x.Total += took
	}
	switch {
	case e.To == yarn.AttemptScheduled.String():
		if len(t.masters) >= maxSteps {
			return
		}
	case !known:
		return
	case e.To == yarn.AttemptAllocatedSaving.String() && last.state == yarn.AttemptScheduled.String():
		add(&t.sums.MasterAllocation)
	case e.To == yarn.AttemptAllocated.String() && last.state == yarn.AttemptAllocatedSaving.String():
	case e.To == yarn.AttemptLaunched.String() && last.state == yarn.AttemptAllocated.String():
		add(&t.sums.MasterLaunch)
	case e.To == yarn.AttemptRunning.String() && last.state == yarn.AttemptLaunched.String():
		add(&t.sums.MasterRegistration)
		delete(t.masters, id)
		return
	default: // it has ended before
		delete(t.masters, id)
		return
	}
	t.masters[id] = step{e.To, e.At}
}

// now is what was counted, with the sums of queues.
func (t *tally) now() access.Tallies {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.sums
	out.Queues = make(map[string]access.QueueTally, 2*len(t.queues))
	for path, q := range t.queues {
		for at := path; at != ""; at = at[:max(strings.LastIndexByte(at, '.'), 0)] {
			sum := out.Queues[at]
			out.Queues[at] = access.QueueTally{Allocated: sum.Allocated + q.Allocated, Released: sum.Released + q.Released,
				PreemptedMB: sum.PreemptedMB + q.PreemptedMB, PreemptedVCores: sum.PreemptedVCores + q.PreemptedVCores}
		}
	}
	return out
}

// Tallies implements access.Source.
func (d *Daemon) Tallies() access.Tallies {
	if t := d.term.Load(); t != nil {
		out := t.outside.tally.now()
		out.Waiting = t.loop.Waiting()
		return out
	}
	return access.Tallies{}
}
