package loop

import (
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
)

// tickets remember who waits for which answer. A ticket is a place in the list
// plus how often the place was used, so that a stale one finds nobody.
type tickets struct {
	mu     sync.Mutex
	slots  []slot
	free   []uint32
	closed bool // nothing answers any more
}

type slot struct {
	uses uint32
	done Done
}

// take gives a ticket. After the end it gives none and answers at once.
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

// all empties the list for good.
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
