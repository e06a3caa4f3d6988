package store

import (
	"context"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/state"
)

// Part is some of the applications of a store, in the order of their ids.
type Part struct {
	Applications []*state.Application
	Made         []any               // what Options.Read returned for each; empty without such a function
	Quarantined  []state.Quarantined // applications that could not be used
}

// maxParts is how many parts wait for their taker.
const maxParts = 32

// Stream brings applications from a store that is still being read to whoever goes on with them meanwhile. A store that is opened with one has all
// else in the snapshot of Load.
type Stream struct {
	parts   chan Part
	stopped chan struct{}
	taken   chan struct{} // closed once all parts are
	ended   chan struct{} // closed once err is there

	mu    sync.Mutex
	early map[int]Part // that came before others which have to be taken before them
	next  int          // the number of the part that is due
	stop  sync.Once
	all   sync.Once
	err   error
}

// NewStream is a stream for one store.
func NewStream() *Stream {
	return &Stream{parts: make(chan Part, maxParts), stopped: make(chan struct{}), taken: make(chan struct{}), ended: make(chan struct{}), early: map[int]Part{}}
}

// Each calls take for each part, in order, until there are no more and the store is loaded. Its error is that of the store, which is no
// error of Load any more, or of ctx. What was taken before an error does not count: the store may be damaged.
func (s *Stream) Each(ctx context.Context, take func(Part)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p, ok := <-s.parts:
			if ok {
				take(p)
				continue
			}
			s.all.Do(func() { close(s.taken) })
			select {
			case <-s.ended:
				return s.err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// Put is called by the store for each part, by several goroutines and in any order; parts are numbered from 0. It waits while others wait to be taken.
func (s *Stream) Put(number int, p Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.early[number] = p
	for {
		due, ok := s.early[s.next]
		if !ok {
			return
		}
		delete(s.early, s.next)
		s.next++
		select {
		case s.parts <- due:
		case <-s.stopped:
		}
	}
}

// Last is called by the store after the last part.
func (s *Stream) Last() { close(s.parts) }

// Taken waits until all parts are taken, and tells whether they are: not if Stop was called.
func (s *Stream) Taken() bool {
	select {
	case <-s.taken:
	case <-s.stopped:
	}
	return !s.Stopped()
}

// End is called by the store once it is loaded, or with the reason why it will not be.
func (s *Stream) End(err error) {
	s.err = err
	close(s.ended)
}

// Stop has Put wait for nobody any more: parts may be missing from then on, so the store must end with an error.
func (s *Stream) Stop() { s.stop.Do(func() { close(s.stopped) }) }

// Stopped tells whether Stop was called.
func (s *Stream) Stopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}
