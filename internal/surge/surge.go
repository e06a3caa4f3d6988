// Package surge gives memory back to the system after a surge of calls. Go's collector
// runs when much is allocated: without this package a process that has become quiet
// would keep the memory of a burst of large answers for minutes. It also bounds how far a
// large heap grows between two collections.
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
	grown = 16 << 20 // a surge: the heap is larger than it was at rest by a quarter and so many bytes
	quiet = 16 << 20 // the surge is over: at most so many bytes were allocated within every
)

// Watch frees memory after each surge until ctx ends. inUse tells how many bytes of the
// heap are in use only for the moment, such as requests that wait. They do not count as a
// surge while they are in use, but do as soon as they no longer are.
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

// reading is the system's memory that the heap holds, without what is in use for the moment, and all that was ever allocated; bytes.
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

// free collects twice: what is in a sync.Pool outlives the first collection.
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
