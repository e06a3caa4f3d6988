// Package clock tells the time. The pure packages take it as an argument; the code
// that calls them asks a Clock.
package clock

import (
	"sync"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// Clock tells the time. It is safe for concurrent use.
type Clock interface {
	// Now gives wall-clock time, which an operator or NTP may set, and time
	// since some fixed moment, which never runs backwards. Both in milliseconds.
	Now() yarn.Now
}

// monoStart is what a clock's monotonic time begins with, so that zero can
// mean "never" in whatever keeps such times.
const monoStart = 1

type system struct{ start time.Time }

// System is the machine's clock. Its monotonic time begins here, and stands
// still while a virtual machine is suspended.
func System() Clock { return system{time.Now()} }

func (c system) Now() yarn.Now {
	now := time.Now()
	return yarn.Now{Wall: now.UnixMilli(), Mono: monoStart + now.Sub(c.start).Milliseconds()}
}

// Manual is a clock that moves only when told to.
type Manual struct {
	mu  sync.Mutex
	now yarn.Now
}

// NewManual returns a clock that shows the given wall-clock milliseconds.
func NewManual(wall int64) *Manual {
	return &Manual{now: yarn.Now{Wall: wall, Mono: monoStart}}
}

// Now implements Clock.
func (c *Manual) Now() yarn.Now {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance lets time pass; it panics at a negative duration. Parts of a
// millisecond are dropped.
func (c *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: time does not run backwards; SetWall moves the wall clock alone")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Wall += d.Milliseconds()
	c.now.Mono += d.Milliseconds()
}

// SetWall sets the wall clock, as NTP or an operator does; no time passes.
func (c *Manual) SetWall(wall int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Wall = wall
}
