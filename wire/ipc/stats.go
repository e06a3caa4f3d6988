package ipc

import "sync/atomic"

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
	Connections   int   // open now
	InFlight      int   // calls read and not answered, now
	Queued        int64 // bytes that wait to be written, now
	Held          int64 // bytes of large unanswered requests, now
	Accepted      int64 // connections
	Rejected      int64 // connections closed at once because of a limit
	Calls         int64 // calls dispatched to a handler
	Failed        int64 // calls answered with an exception
	Dropped       int64 // calls that did not run because the peer had gone before their turn
	Received      int64 // bytes
	Sent          int64 // bytes
	AuthOK        int64 // connection contexts accepted
	AuthFailed    int64 // logins or contexts refused
	SlowReaders   int64 // connections closed because they did not read
	Panics        int64 // handlers that panicked
	AnsweredTwice int64 // second answers to a call, dropped
}

// Stats takes a lock for every open connection. A connection that ends
// meanwhile may be counted in part.
func (s *Server) Stats() Stats {
	n := &s.stats
	t := Stats{Held: s.limits.MaxHeld - s.held.left.Load(), Accepted: n.accepted.Load(), Rejected: n.rejected.Load(),
		Calls: n.calls.Load(), Failed: n.failed.Load(), AuthOK: n.authOK.Load(), AuthFailed: n.authFailed.Load(),
		SlowReaders: n.slowReaders.Load(), Panics: n.panics.Load(), AnsweredTwice: n.answeredTwice.Load(), Dropped: n.dropped.Load()}
	t.Received, t.Sent = n.received.Load(), n.sent.Load()
	open := s.open()
	t.Connections = len(open)
	for _, c := range open {
		c.out.mu.Lock()
		t.InFlight += c.out.calls
		t.Queued += int64(c.out.queued)
		t.Sent += c.out.sent
		c.out.mu.Unlock()
		t.Received += c.received.Load()
	}
	return t
}
