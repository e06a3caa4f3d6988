package ipc

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// counters are a server's sums. Bytes are added when a connection ends and
// read from the live ones by Stats, so a call costs two additions.
type counters struct {
	accepted, rejected  atomic.Int64
	calls, failed       atomic.Int64
	received, sent      atomic.Int64
	authOK, authFailed  atomic.Int64
	slowReaders, panics atomic.Int64
	answeredTwice       atomic.Int64
	dropped             atomic.Int64
}

// Stats is a snapshot of a server's counters, all since Listen unless noted.
type Stats struct {
	Connections   int            // open now
	InFlight      int            // calls read and not answered, now
	Queued        int64          // bytes that wait to be written, now
	Held          int64          // bytes of large unanswered requests, now
	Accepted      int64          // connections
	Rejected      int64          // connections closed at once because of a limit
	Calls         int64          // calls dispatched to a handler
	Failed        int64          // calls answered with an exception
	Dropped       int64          // calls that did not run because the peer had gone before their turn
	Received      int64          // bytes
	Sent          int64          // bytes
	AuthOK        int64          // connection contexts accepted
	AuthFailed    int64          // logins or contexts refused
	SlowReaders   int64          // connections closed because they did not read
	Panics        int64          // handlers that panicked
	AnsweredTwice int64          // second answers to a call, dropped
	Waiting       int            // calls that wait for their turn, now
	Users         map[string]int // open connections by user, now; of at most mostUsers users
}

// mostUsers bounds Stats.Users.
const mostUsers = 100

// MethodStats are the calls of a method that were answered since Listen.
type MethodStats struct {
	Protocol, Method string
	Calls            int64
	Waited           time.Duration // together, for their turns
	Took             time.Duration // together, from reading the request until it was answered, without the waiting
}

// timing is MethodStats while they grow.
type timing struct {
	protocol, method    string
	calls, waited, took atomic.Int64
}

// timings are those of a server, by protocol and method. They outlive what is offered.
type timings struct {
	mu  sync.Mutex
	all map[[2]string]*timing
}

func (t *timings) of(protocol, method string) *timing {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{protocol, method}
	x := t.all[key]
	if x == nil {
		if x = (&timing{protocol: protocol, method: method}); t.all == nil {
			t.all = map[[2]string]*timing{}
		}
		t.all[key] = x
	}
	return x
}

// MethodStats are those of all methods that the server serves or has served, by protocol and method.
func (s *Server) MethodStats() []MethodStats {
	s.timings.mu.Lock()
	defer s.timings.mu.Unlock()
	out := make([]MethodStats, 0, len(s.timings.all))
	for _, x := range s.timings.all {
		out = append(out, MethodStats{x.protocol, x.method, x.calls.Load(), time.Duration(x.waited.Load()), time.Duration(x.took.Load())})
	}
	slices.SortFunc(out, func(a, b MethodStats) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Method, b.Method))
	})
	return out
}

// Name is the server's, as its configuration has it.
func (s *Server) Name() string { return s.cfg.Name }

// Stats takes a lock for every open connection. A connection that ends
// meanwhile may be counted in part.
func (s *Server) Stats() Stats {
	n := &s.stats
	t := Stats{Held: s.limits.MaxHeld - s.held.left.Load(), Accepted: n.accepted.Load(), Rejected: n.rejected.Load(),
		Calls: n.calls.Load(), Failed: n.failed.Load(), AuthOK: n.authOK.Load(), AuthFailed: n.authFailed.Load(),
		SlowReaders: n.slowReaders.Load(), Panics: n.panics.Load(), AnsweredTwice: n.answeredTwice.Load(), Dropped: n.dropped.Load()}
	t.Received, t.Sent = n.received.Load(), n.sent.Load()
	open := s.open()
	t.Connections, t.Waiting, t.Users = len(open), s.turns.waiting(), map[string]int{}
	for _, c := range open {
		if user := c.user(); user != "" && (len(t.Users) < mostUsers || t.Users[user] > 0) {
			t.Users[user]++
		}
		c.out.mu.Lock()
		t.InFlight += c.out.calls
		t.Queued += int64(c.out.queued)
		t.Sent += c.out.sent
		c.out.mu.Unlock()
		t.Received += c.received.Load()
	}
	return t
}
