package localize

import (
	"container/list"
	"context"
	"sync"
)

// seats bounds how many fetches run at once and keeps seats free for users who have few: a user gets another seat only while
// more are free than the user has. So of 2n seats the first user gets at most n, the next half of the rest, and so on. Of the
// waiting users, the one with the fewest seats is served next.
type seats struct {
	mu    sync.Mutex
	free  int
	taken map[string]int
	lines map[string]*list.List // user → his *waiter; no empty lists
	last  int64
}

type waiter struct {
	turn  int64 // those who came first have the lowest
	ready chan struct{}
}

// newSeats are as many for one user, and as many again for others.
func newSeats(forOne int) *seats {
	return &seats{free: 2 * forOne, taken: map[string]int{}, lines: map[string]*list.List{}}
}

// take waits for a seat. If none is free at once it calls waits first, unless that is nil. The error is ctx's cause.
func (s *seats) take(ctx context.Context, user string, waits func()) error {
	s.mu.Lock()
	if s.may(user) {
		s.grant(user)
		s.mu.Unlock()
		return nil
	}
	s.last++
	w := &waiter{s.last, make(chan struct{})}
	if s.lines[user] == nil {
		s.lines[user] = list.New()
	}
	place := s.lines[user].PushBack(w)
	s.mu.Unlock()
	if waits != nil {
		waits()
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.ready: // just now
		s.back(user)
	default:
		s.leave(user, place)
	}
	return context.Cause(ctx)
}

// try takes a seat if there is one.
func (s *seats) try(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.may(user) {
		return false
	}
	s.grant(user)
	return true
}

// give gives one back.
func (s *seats) give(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back(user)
}

func (s *seats) may(user string) bool { return s.taken[user] < s.free }

func (s *seats) grant(user string) {
	s.free--
	s.taken[user]++
}

func (s *seats) leave(user string, place *list.Element) {
	if line := s.lines[user]; line.Remove(place) != nil && line.Len() == 0 {
		delete(s.lines, user)
	}
}

func (s *seats) back(user string) {
	s.free++
	if s.taken[user]--; s.taken[user] == 0 {
		delete(s.taken, user)
	}
	for {
		next, first := "", (*waiter)(nil)
		for name, line := range s.lines {
			w := line.Front().Value.(*waiter)
			if s.may(name) && (first == nil || s.taken[name] < s.taken[next] || s.taken[name] == s.taken[next] && w.turn < first.turn) {
				next, first = name, w
			}
		}
		if first == nil {
			return
		}
		s.leave(next, s.lines[next].Front())
		s.grant(next)
		close(first.ready)
	}
}
