// Package surge gives memory back to the system after a surge. The collector
// of Go's runtime works when much is allocated: a process that has become quiet
// would keep what a burst of large answers took for minutes.
package surge

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	every = 2 * time.Second
	grown = 16 << 20 // bytes of heap above what it was after the last time, and a quarter of that, make a surge
	quiet = 16 << 20 // bytes allocated within every, at most: it is over
)

// Watch looks after the process until ctx ends. In use is how many bytes of the
// heap are known to be needed for the moment alone: they are no surge as long as
// they are, and become one when they are given up.
func Watch(ctx context.Context, inUse func() int64) {
	w := watch{free: free, read: func() reading {
		r := read()
		r.held -= min(r.held, uint64(inUse()))
		return r
	}}
	w.begin()
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			w.look()
		}
	}
}

// reading is what the heap holds of the system's memory beside what is in use for the moment, and all that was ever allocated.
type reading struct{ held, allocated uint64 }

type watch struct {
	read func() reading
	free func()
	rest uint64 // held at rest
	last uint64 // allocated at the last look
}

func (w *watch) begin() {
	r := w.read()
	w.rest, w.last = r.held, r.allocated
}

// look frees what a surge has left, once it is over.
func (w *watch) look() {
	r := w.read()
	over := r.allocated-w.last <= quiet
	w.last = r.allocated
	w.rest = min(w.rest, r.held)
	if over && r.held > w.rest+w.rest/4+grown {
		w.free()
		w.begin()
	}
}

// free collects twice: what a sync.Pool keeps outlives the first time.
func free() {
	runtime.GC()
	debug.FreeOSMemory()
}

func read() reading {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return reading{s[0].Value.Uint64() + s[1].Value.Uint64() + s[2].Value.Uint64(), s[3].Value.Uint64()}
}
