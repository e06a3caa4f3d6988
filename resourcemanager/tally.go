package resourcemanager

import (
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// tally counts, of what happens in a term, what metrics tell and nobody else needs.
type tally struct {
	mu      sync.Mutex
	queues  map[string]*access.QueueTally // of the queue alone
	users   map[access.UserInQueue]*access.UserTally
	ending  map[yarn.ApplicationID]struct{} // whose end is being stored
	masters map[yarn.AttemptID]step         // attempts whose master has not registered
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
	maxUsers   = 1_000 // users in queues, which are as many beans, and some more for the queues above
)

func newTally() *tally {
	return &tally{queues: map[string]*access.QueueTally{}, users: map[access.UserInQueue]*access.UserTally{},
		ending: map[yarn.ApplicationID]struct{}{}, masters: map[yarn.AttemptID]step{}}
}

// of is what is counted of a queue that has accepted an application, and of a user in it; nil beyond the bounds. A name that only its
// submitter knows would count for nothing and stay.
func (t *tally) of(queue, user string) (q *access.QueueTally, u *access.UserTally) {
	if q = t.queues[queue]; q == nil && len(t.queues) < maxTallied {
		q = &access.QueueTally{}
		t.queues[queue] = q
	}
	key := access.UserInQueue{Queue: queue, User: user}
	if u = t.users[key]; u == nil && len(t.users) < maxUsers && user != "" {
		u = &access.UserTally{}
		t.users[key] = u
	}
	return q, u
}

// container counts a container that was allocated or has ended.
func (t *tally) container(c *engine.ContainerEvent) {
	if c.Queue == "" {
		return
	}
	var one access.QueueTally
	switch {
	case !c.Born:
		one.Released = 1
		if c.Exit == yarn.ExitPreempted {
			one.PreemptedMB, one.PreemptedVCores = c.Resource.MemoryMB(), c.Resource.VCoreCount()
		}
	case c.Locality == scheduler.NodeLocal:
		one.Allocated, one.NodeLocal = 1, 1
	case c.Locality == scheduler.RackLocal:
		one.Allocated, one.RackLocal = 1, 1
	default:
		one.Allocated, one.OffSwitch = 1, 1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q, u := t.of(c.Queue, c.User)
	if q != nil {
		q.Add(&one)
	}
	if u != nil {
		u.QueueTally.Add(&one)
	}
}

// user is what is counted of a user in a queue that has accepted an application of that user; of nobody beyond the bound.
func (t *tally) user(s *engine.Transition) *access.UserTally {
	if _, u := t.of(s.Queue, s.User); u != nil {
		return u
	}
	return &access.UserTally{}
}

// application counts an application of its user: once its queue has accepted it, and its end if it had.
func (t *tally) application(s *engine.Transition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	accepted := s.From != yarn.AppNew.String() && s.From != yarn.AppNewSaving.String() && s.From != yarn.AppSubmitted.String()
	_, ending := t.ending[s.Application]
	switch s.To {
	case yarn.AppAccepted.String():
		if !accepted {
			t.user(s).Submitted++
		}
	case yarn.AppFinalSaving.String():
		if accepted && len(t.ending) < maxSteps {
			t.ending[s.Application] = struct{}{}
		}
	case yarn.AppFinished.String(), yarn.AppFailed.String(), yarn.AppKilled.String():
		if !ending {
			return
		}
		delete(t.ending, s.Application)
		switch u := t.user(s); s.To {
		case yarn.AppFinished.String():
			u.Completed++
		case yarn.AppFailed.String():
			u.Failed++
		default:
			u.Killed++
		}
	}
}

// attempt times the steps from asking for a master's container until the master has registered.
func (t *tally) attempt(e *events.Event) {
	if e.Kind != events.Attempt {
		return
	}
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
		if q, _ := t.of(e.Queue, ""); q != nil {
			add(&q.MasterAllocation)
		}
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

// now is what was counted, with the sums of queues, and with users if they are wanted.
func (t *tally) now(users bool) access.Tallies {
	out, queues, tallied := t.copy(users)
	out.Queues = make(map[string]access.QueueTally, 2*len(queues))
	for path, q := range queues {
		for at := path; at != ""; at = queue.ParentPath(at) {
			sum := out.Queues[at]
			sum.Add(&q)
			out.Queues[at] = sum
		}
	}
	if !users {
		return out
	}
	out.Users = make(map[access.UserInQueue]access.UserTally, 3*len(tallied))
	for key, u := range tallied {
		for at := key.Queue; at != ""; at = queue.ParentPath(at) {
			key.Queue = at
			sum := out.Users[key]
			sum.Add(&u)
			out.Users[key] = sum
		}
	}
	return out
}

// copy holds up the loop only for as long as copying takes; what costs more is done with the copies.
func (t *tally) copy(users bool) (sums access.Tallies, queues map[string]access.QueueTally, tallied map[access.UserInQueue]access.UserTally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queues = make(map[string]access.QueueTally, len(t.queues))
	for path, q := range t.queues {
		queues[path] = *q
	}
	if users {
		tallied = make(map[access.UserInQueue]access.UserTally, len(t.users))
		for key, u := range t.users {
			tallied[key] = *u
		}
	}
	return t.sums, queues, tallied
}

// userMetrics tells whether metrics tell of users.
//
// compat: the FairScheduler's always do, the FifoScheduler's never.
func (t *term) userMetrics() bool {
	cfg := t.access.schedule.Load()
	return cfg.Fair != nil || cfg.Fifo == nil && cfg.Capacity.UserMetrics
}

// Tallies implements access.Source.
func (d *Daemon) Tallies() access.Tallies {
	if t := d.term.Load(); t != nil {
		out := t.outside.tally.now(t.userMetrics())
		out.Waiting = t.loop.Waiting()
		return out
	}
	return access.Tallies{}
}
