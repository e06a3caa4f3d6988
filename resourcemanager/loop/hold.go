package loop

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// While the loop is held nobody else is served, so whoever holds it for long is
// remembered.
const (
	longHold  = 5 * time.Millisecond // is remembered
	keptHolds = 64                   // of those, the last
)

// Hold is how long one command, or one publication of views, kept the loop.
type Hold struct {
	Number int64  // counts long holds since the start, from 1
	What   string // the command's name, or "views"
	Took   time.Duration
	At     time.Time // of its end
}

// Holds are what has held the loop for long.
type Holds struct {
	Count   int64  // since the start
	Longest Hold   // since the start; zero if there was none
	Last    []Hold // the last ones, oldest first

	Publications int64         // of views, for readers, since the start
	Publishing   time.Duration // and how long they took
}

// holds measures with one look at the clock for each command.
type holds struct {
	began time.Time
	mark  time.Duration // of the loop's goroutine alone: when what runs now began

	mu   sync.Mutex
	kept Holds
}

// begin starts a measurement. The loop may have waited since the last one.
func (h *holds) begin() { h.mark = time.Since(h.began) }

// end ends the measurement of a command, and begins that of the next; nil stands
// for a publication of views, and other values for themselves.
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

// published counts a publication.
func (h *holds) published(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept.Publications++
	h.kept.Publishing += took
}

// Holds are what has held the loop for long so far.
func (l *Loop) Holds() Holds {
	l.holds.mu.Lock()
	defer l.holds.mu.Unlock()
	out := l.holds.kept
	out.Last = append([]Hold(nil), out.Last...)
	return out
}
