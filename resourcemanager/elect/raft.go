package elect

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/replica"
)

// Leaders is the part of a replica.Member that the election is.
type Leaders interface {
	Standing() (replica.Standing, <-chan struct{})
	Holds() bool
	Lease() time.Duration
	HandOver(name string)
}

// RaftConfig is what a candidate needs where the ResourceManagers themselves elect one of them.
type RaftConfig struct {
	Member Leaders
	ID     string
	// Lead makes this ResourceManager active. It returns an error soon after ctx has ended.
	Lead func(ctx context.Context) error
	// StepDown makes it a standby, if it is active, and returns when it is.
	StepDown func(why string)

	Log   *slog.Logger
	Clock func() time.Duration // the member's
}

// Raft is a candidate in that election: the leader of the replicated store becomes active. Its methods are safe for concurrent use.
type Raft struct {
	cfg    RaftConfig
	yields chan string
	duties chan func()

	mu     sync.Mutex
	status Status

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	// For the goroutine that decides.
	state    State
	cancel   context.CancelFunc // of the lead that is under way, or was last
	turn     int
	leads    chan led
	rest     time.Duration // until when it does not lead
	failures int
}

// StartRaft begins to stand for election.
func StartRaft(c RaftConfig) *Raft {
	if c.Clock == nil {
		c.Clock = boottime
	}
	r := &Raft{cfg: c, yields: make(chan string, 1), duties: make(chan func(), maxDuties), leads: make(chan led, maxDuties), cancel: func() {}}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.status.Since = time.Now()
	r.work.Go(r.run)
	r.work.Go(r.serve)
	return r
}

// Clock is the clock of leases, which goes on while the machine sleeps.
func Clock() time.Duration { return boottime() }

// Close leaves the election. Whoever calls it has stepped down: another one can lead at once.
func (r *Raft) Close() {
	r.end()
	r.work.Wait()
	end := time.Now().Add(leavePatience)
	for asked := false; time.Now().Before(end); asked = true {
		s, changed := r.cfg.Member.Standing()
		if s.Leader != r.cfg.ID { // the request has arrived
			return
		}
		if !asked {
			r.cfg.Member.HandOver("")
		}
		select {
		case <-changed:
		case <-time.After(time.Until(end)):
		}
	}
}

// Holds tells whether this one may be active now.
func (r *Raft) Holds() bool { return r.cfg.Member.Holds() }

// Yield tells that this ResourceManager is not active any more though it leads, and why. Another one is asked to lead.
func (r *Raft) Yield(why string) {
	select {
	case r.yields <- why:
	default:
	}
}

// Status tells how this one stands.
func (r *Raft) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *Raft) serve() {
	for {
		select {
		case do := <-r.duties:
			do()
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *Raft) duty(do func()) {
	select {
	case r.duties <- do:
	case <-r.ctx.Done():
	}
}

// run decides.
func (r *Raft) run() {
	defer func() { r.cancel() }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s, changed := r.cfg.Member.Standing()
		wait := r.look(s)
		timer.Reset(wait)
		select {
		case <-r.ctx.Done():
			return
		case <-changed:
		case <-timer.C:
		case why := <-r.yields:
			r.lose("it gives way: " + why)
			r.giveWay()
		case l := <-r.leads:
			r.became(l)
		}
	}
}

// look follows the member's standing, and tells when to look again at the latest.
func (r *Raft) look(s replica.Standing) time.Duration {
	now, holds := r.cfg.Clock(), r.cfg.Member.Holds()
	leads := s.Leads && holds
	if r.state == Taking || r.state == Active {
		if !leads {
			why := "its lease has ended: too few of the others answer"
			if s.Leader != "" && s.Leader != r.cfg.ID {
				why = "the others have elected " + s.Leader
			}
			r.lose(why)
		}
	}
	switch {
	case r.state == Taking || r.state == Active:
	case now < r.rest:
		r.is(Resting, s)
	case leads:
		r.is(Taking, s)
		r.lead()
	case s.Leader != "" && s.Leader != r.cfg.ID:
		r.is(Standby, s)
	case s.Broken != nil || !s.Founded:
		r.is(Away, s)
	default:
		r.is(Seeking, s)
	}
	r.show(s)
	wait := time.Second
	if leads {
		wait = r.cfg.Member.Lease() - now + time.Millisecond
	}
	if now < r.rest {
		wait = min(wait, r.rest-now)
	}
	return max(wait, time.Millisecond)
}

func (r *Raft) is(state State, s replica.Standing) {
	r.state = state
	r.show(s)
}

func (r *Raft) show(s replica.Standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.State != r.state {
		r.status.State, r.status.Since = r.state, time.Now()
		if r.state == Active {
			r.status.Elections++
		}
	}
	r.status.Connected = s.Leader != "" && (s.Leader != r.cfg.ID || r.cfg.Member.Holds())
	if r.status.Holder = s.Leader; s.Leader == r.cfg.ID {
		r.status.Holder = ""
	}
}

func (r *Raft) lead() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.cancel = cancel
	r.turn++
	turn := r.turn
	r.duty(func() {
		err := ctx.Err()
		if err == nil {
			err = r.cfg.Lead(ctx)
		}
		select {
		case r.leads <- led{turn: turn, err: err}:
		case <-r.ctx.Done():
		}
	})
}

// became tells how a lead has ended.
func (r *Raft) became(l led) {
	if l.turn != r.turn || r.state != Taking {
		return
	}
	if l.err == nil {
		r.state, r.failures = Active, 0
		return
	}
	r.cfg.Log.Error("the election: this ResourceManager was elected and cannot become active", "id", r.cfg.ID, "error", l.err)
	r.lose(fmt.Sprintf("it cannot become active: %v", l.err))
	r.giveWay()
}

// lose has this one become a standby.
func (r *Raft) lose(why string) {
	if r.state != Taking && r.state != Active {
		return
	}
	r.state = Seeking
	r.turn++
	r.cancel()
	r.duty(func() { r.cfg.StepDown(why) })
}

// giveWay has another one lead, if there is one, and rests.
func (r *Raft) giveWay() {
	r.rest = r.cfg.Clock() + min(restPause<<min(r.failures, 10), maxRest)
	r.failures++
	r.cfg.Member.HandOver("")
}
