package loop

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// While one command runs nobody else is served, so long ones are recorded.
const (
	longHold  = 5 * time.Millisecond // what takes at least this is recorded
	keptHolds = 64                   // how many of them are kept
)

// Hold is how long one command, or one slice of a publication of views, held the loop.
type Hold struct {
	Number int64  // counts long holds since the start, from 1
	What   string // the command's name, or "views"
	Took   time.Duration
	At     time.Time // of its end
}

// Holds are the commands that held the loop for longHold or more.
type Holds struct {
	Count   int64  // since the start
	Longest Hold   // since the start; zero if there was none
	Last    []Hold // the last ones, oldest first

	Publications int64         // of views, for readers, since the start
	Publishing   time.Duration // how long they took together
}

// holds measures commands. It reads the clock once for each: the end of one is the
// beginning of the next.
type holds struct {
	began time.Time
	mark  time.Duration // when the present command began, as time since began; for the loop's goroutine alone

	mu   sync.Mutex
	kept Holds
}

// begin starts a measurement. The loop may have waited since the last one.
func (h *holds) begin() { h.mark = time.Since(h.began) }

// end ends the measurement of a command, and begins that of the next. nil is a
// publication of views.
func (h *holds) end(c any) {
	now := time.Since(h.began)
	took := now - h.mark
	h.mark = now
	if took >= longHold {
		h.keep(c, took)
	}
}

func (h *holds) keep(c any, took time.Duration) {
	what := "views"
	if c != nil {
		what = strings.TrimLeft(fmt.Sprintf("%T", c), "*")
		what = strings.TrimPrefix(what, "engine.")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept.Count++
	x := Hold{Number: h.kept.Count, What: what, Took: took, At: time.Now()}
	if took > h.kept.Longest.Took {
		h.kept.Longest = x
	}
	if len(h.kept.Last) == keptHolds {
		copy(h.kept.Last, h.kept.Last[1:])
		h.kept.Last = h.kept.Last[:keptHolds-1]
	}
	h.kept.Last = append(h.kept.Last, x)
}

// published counts a publication that is complete.
func (h *holds) published(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept.Publications++
	h.kept.Publishing += took
}

// Holds is a copy of what has been recorded so far.
func (l *Loop) Holds() Holds {
	l.holds.mu.Lock()
	defer l.holds.mu.Unlock()
	out := l.holds.kept
	out.Last = append([]Hold(nil), out.Last...)
	return out
}
