package events

import (
	"context"
	"sync"
)

// MaxReaders bounds how many follow the events at once.
const MaxReaders = 128

// Places are the readers that follow the events. A newcomer always gets a place: if none is free, the peer with the most
// readers loses its oldest one.
type Places struct {
	mu      sync.Mutex
	readers []*reader // the oldest first
}

type reader struct {
	peer string
	end  context.CancelFunc
}

// Take gives a reader of a peer a place. Its context ends when it loses the place; free gives that back.
func (p *Places) Take(ctx context.Context, peer string) (_ context.Context, free func()) {
	ctx, end := context.WithCancel(ctx)
	me := &reader{peer, end}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.readers) >= MaxReaders {
		p.drop(p.victim())
	}
	p.readers = append(p.readers, me)
	return ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.drop(me)
	}
}

// victim is the oldest reader of the peer with the most. The mutex is held.
func (p *Places) victim() *reader {
	count := map[string]int{}
	for _, r := range p.readers {
		count[r.peer]++
	}
	best := p.readers[0]
	for _, r := range p.readers {
		if count[r.peer] > count[best.peer] {
			best = r
		}
	}
	return best
}

// drop takes a reader's place away, if it has one. The mutex is held.
func (p *Places) drop(r *reader) {
	r.end()
	for i, x := range p.readers {
		if x == r {
			p.readers = append(p.readers[:i], p.readers[i+1:]...)
			return
		}
	}
}
