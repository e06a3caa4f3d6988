package surge

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// The room that the heap has to grow before it is collected.
const (
	roomy   = 64 << 20  // as a rule, and an eighth of what is live; never more than what is live, which is Go's own rule
	loading = 128 << 20 // at least, during Loading
	first   = 320 << 20 // during Loading, the size of the heap below which it is not collected at all
	hurried = 512 << 20 // while collections follow one another quickly; never more than what is live

	least = 4 << 20 // what Go takes for live at least
)

// moment is how long after a load the memory that it left unused is given back.
const moment = time.Second

// Collections follow one another quickly when hasty of them in a row each came within haste of the one before: then a quarter of the processor time would go to
// the collector. A burst of large answers is over sooner and does not count.
const (
	haste = 2 * time.Second
	hasty = 10
)

// loads counts calls of Loading that have not ended. changed has Headroom look at it.
var (
	loads   atomic.Int32
	changed = make(chan struct{}, 1)
)

// Loading announces a load of data most of which stays in memory. Until done is called the heap may grow further between two collections; otherwise it would be
// collected each time that it has doubled. Unused memory is given back a moment after done, when the callers who waited for the load have their answers.
func Loading() (done func()) {
	loads.Add(1)
	look()
	return func() {
		time.AfterFunc(moment, func() {
			if read().held > loading/2 {
				free()
			}
			loads.Add(-1)
			look()
		})
	}
}

func look() {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// Headroom bounds how far the heap grows between two collections, until ctx ends, so that a process with much live memory does not need twice as much. The
// bound is more than a small process allocates in a second. It does nothing where GOGC is set.
func Headroom(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	defer debug.SetGCPercent(100)
	collected := make(chan struct{}, 1)
	afterNext(func() { collected <- struct{}{} })
	var pace pace
	for last := 100; ; {
		if now := percent(live(), loads.Load() > 0, pace.quick()); now != last {
			debug.SetGCPercent(now)
			last = now
		}
		var over <-chan time.Time
		if pace.quick() {
			over = time.After(pace.within())
		}
		select {
		case <-ctx.Done():
			return
		case <-over:
			pace.row = 0
		case <-changed:
		case <-collected:
			pace.collected(time.Now(), loads.Load() > 0)
			afterNext(func() { collected <- struct{}{} })
		}
	}
}

// afterNext calls do after the next collection, which finds what nobody refers to.
func afterNext(do func()) { runtime.AddCleanup(new([64]byte), func(do func()) { do() }, do) }

// percent is the collector's setting (debug.SetGCPercent) for that many live bytes; full: during Loading; quick: while collections follow one another quickly.
func percent(live uint64, full, quick bool) int {
	live = max(live, least)
	room := min(live, roomy+live/8)
	if quick {
		room = max(room, min(live, hurried))
	}
	if full {
		room = max(room, loading, first-min(live, first))
	}
	return int(room * 100 / live)
}

// pace tells how quickly collections follow one another.
type pace struct {
	last time.Time
	row  int // collections that came within haste after the one before
}

// collected notes a collection. Those while much is read do not count.
func (p *pace) collected(now time.Time, full bool) {
	switch {
	case full || now.Sub(p.last) > p.within():
		p.row = 0
	default:
		p.row++
	}
	p.last = now
}

func (p *pace) quick() bool { return p.row >= hasty }

// within is how soon after the one before a collection must come to count. While collections are quick the heap has more room, and so they are further apart.
func (p *pace) within() time.Duration {
	if p.quick() {
		return 4 * haste
	}
	return haste
}

// live is what the last collection found to be in use.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
