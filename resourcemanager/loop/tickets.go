package loop

import (
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
)

// tickets remember who waits for which answer. A ticket is the index of a slot and how
// often that slot was used, so that a stale ticket is recognized.
type tickets struct {
	mu     sync.Mutex
	slots  []slot
	free   []uint32
	closed bool // no more tickets are given
}

type slot struct {
	uses uint32
	done Done
}

// take gives a ticket for done. Once all was called it returns 0, and done gets ErrClosed.
func (t *tickets) take(done Done) engine.Ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		go done(nil, ErrClosed) // the caller may hold what done needs
		return 0
	}
	var i uint32
	if n := len(t.free); n > 0 {
		i, t.free = t.free[n-1], t.free[:n-1]
	} else {
		i = uint32(len(t.slots))
		t.slots = append(t.slots, slot{})
	}
	s := &t.slots[i]
	s.uses++
	s.done = done
	return engine.Ticket(uint64(s.uses)<<32 | uint64(i))
}

func (t *tickets) redeem(x engine.Ticket) Done {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, uses := uint32(x), uint32(x>>32)
	if int(i) >= len(t.slots) || t.slots[i].uses != uses || t.slots[i].done == nil {
		return nil
	}
	done := t.slots[i].done
	t.slots[i].done = nil
	t.free = append(t.free, i)
	return done
}

// all removes and returns everyone who waits. No more tickets are given then.
func (t *tickets) all() []Done {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	var out []Done
	for i := range t.slots {
		if d := t.slots[i].done; d != nil {
			out = append(out, d)
			t.slots[i].done = nil
		}
	}
	return out
}
