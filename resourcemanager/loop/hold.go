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

// holds measures commands, and how long the loop waits between them. It reads the clock
// once for each command: the end of one is the beginning of the next.
type holds struct {
	began time.Time

	// For the loop's goroutine alone. Moments are times since began.
	mark     time.Duration // when the present command began
	waits    bool          // the loop has had nothing to do since the last command
	waited   time.Duration // how long it has had nothing to do since loadFrom
	loadFrom time.Duration // when load was last called

	mu   sync.Mutex
	kept Holds
}

// wait says that the loop has nothing to do until the next begin.
func (h *holds) wait() { h.waits = true }

// begin starts a measurement.
func (h *holds) begin() {
	now := time.Since(h.began)
	if h.waits {
		h.waited += now - h.mark
		h.waits = false
	}
	h.mark = now
}

// load is the part of the time since its last call in which the loop had work, 0 to 1. It
// begins a new span.
func (h *holds) load() float64 {
	load := 1 - float64(h.waited)/float64(max(h.mark-h.loadFrom, 1))
	h.loadFrom, h.waited = h.mark, 0
	return load
}

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
