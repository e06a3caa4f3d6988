package store

import (
	"context"
	"sync"

	"github.com/heddle-project/heddle/internal/intern"
	"github.com/heddle-project/heddle/resourcemanager/state"
)

// Part has consecutive applications of a store, in the order of their ids.
type Part struct {
	Applications []*state.Application
	Made         []any               // what Options.Read returned for each; empty without such a function
	Quarantined  []state.Quarantined // applications that could not be used

	memory *memory // for the applications; those that do not fit, all if it is nil, are allocated one by one
}

// memory is used by a part and, once that is freed, by a later one.
type memory struct {
	applications []state.Application
	texts        intern.Texts // names of users and queues
}

// room returns memory for the next application.
func (p *Part) room() *state.Application {
	if p.memory == nil || len(p.Applications) == len(p.memory.applications) {
		return new(state.Application)
	}
	return &p.memory.applications[len(p.Applications)]
}

func (p *Part) texts() *intern.Texts {
	if p.memory == nil {
		return nil
	}
	return &p.memory.texts
}

// maxParts is how many parts may wait for Each.
const maxParts = 16

// Stream carries the applications of a store from the goroutines that read it to the caller of Each, part by part, while the store is still being read.
// Everything else is in the snapshot of Load, and so are applications that the store has read by then.
type Stream struct {
	parts     chan Part
	stopped   chan struct{}
	stopOnce  sync.Once
	taken     chan struct{} // closed once Each has taken all parts
	takenOnce sync.Once
	ended     chan struct{} // closed once err is set
	err       error

	mu    sync.Mutex
	early map[int]Part // parts that were put before the one that is next
	next  int          // number of the next part for Each

	freed struct {
		sync.Mutex
		parts []Part // those that Free was called for, until they are used again
		ended bool   // none will be used again
	}
}

// NewStream returns a stream for one opening of a store.
func NewStream() *Stream {
	return &Stream{parts: make(chan Part, maxParts), stopped: make(chan struct{}), taken: make(chan struct{}), ended: make(chan struct{}), early: map[int]Part{}}
}

// Each calls take for each part, in order, and returns when the store is loaded. It fails with the errors that Load has without a stream, or with that of ctx.
// What was taken before an error does not count: the store may be damaged. A nil stream has no parts.
func (s *Stream) Each(ctx context.Context, take func(Part)) error {
	if s == nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p, ok := <-s.parts:
			if ok {
				take(p)
				continue
			}
			s.takenOnce.Do(func() { close(s.taken) })
			select {
			case <-s.ended:
				return s.err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// NewPart returns an empty part with room for n applications. It is called by the store, by several goroutines.
func (s *Stream) NewPart(n int) Part {
	s.freed.Lock()
	defer s.freed.Unlock()
	if last := len(s.freed.parts) - 1; last >= 0 && len(s.freed.parts[last].memory.applications) >= n {
		p := s.freed.parts[last]
		s.freed.parts = s.freed.parts[:last]
		return Part{Applications: p.Applications[:0], Made: p.Made[:0], memory: p.memory}
	}
	return Part{Applications: make([]*state.Application, 0, n), Made: make([]any, 0, n), memory: &memory{applications: make([]state.Application, n)}}
}

// Free gives the memory of a part back for a later one. Nobody may read its Applications, the applications themselves, or Made any more; what these refer to
// may be kept.
func (s *Stream) Free(p Part) {
	s.freed.Lock()
	defer s.freed.Unlock()
	if p.memory != nil && !s.freed.ended {
		s.freed.parts = append(s.freed.parts, p)
	}
}

// Put is called by the store for each part, numbered from 0, by several goroutines and in any order. It blocks while maxParts wait.
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

// AllPut is called by the store after the last Put.
func (s *Stream) AllPut() { close(s.parts) }

// Taken waits until Each has taken all parts, or Stop is called. It returns false after Stop.
func (s *Stream) Taken() bool {
	select {
	case <-s.taken:
	case <-s.stopped:
	}
	return !s.Stopped()
}

// End is called by the store once: with nil when it is loaded, or with the error for Each.
func (s *Stream) End(err error) {
	s.err = err
	close(s.ended)
	s.freed.Lock()
	defer s.freed.Unlock()
	s.freed.parts, s.freed.ended = nil, true
}

// Stop keeps Put and Taken from waiting. Parts may be lost from then on, so the store must end with an error.
func (s *Stream) Stop() { s.stopOnce.Do(func() { close(s.stopped) }) }

// Stopped tells whether Stop was called.
func (s *Stream) Stopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}
