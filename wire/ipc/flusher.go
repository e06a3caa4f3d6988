package ipc

import "sync"

// flusher writes the answers of connections with several calls in flight, on a goroutine that lives until none waits: answers that are
// made at the same time, as those to changes that were stored together, leave in one write.
type flusher struct {
	run func(func()) // starts and accounts for the goroutine

	mu      sync.Mutex
	list    []*outbox
	running bool
}

// add has an outbox flushed soon. The caller holds the outbox's lock.
func (f *flusher) add(o *outbox) {
	if o.queuing {
		return
	}
	o.queuing = true
	f.mu.Lock()
	f.list = append(f.list, o)
	start := !f.running
	f.running = true
	f.mu.Unlock()
	if start {
		f.run(f.flush)
	}
}

func (f *flusher) flush() {
	for list := f.next(nil); len(list) > 0; list = f.next(list) {
		for _, o := range list {
			o.uncorked()
		}
	}
}

// next returns the outboxes that wait, and takes the slice of those before for the next ones. Without any the goroutine ends.
func (f *flusher) next(before []*outbox) []*outbox {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(before)
	list := f.list
	f.list, f.running = before[:0], len(list) > 0
	return list
}

// uncorked writes what was left to a flusher, unless more is to come before it is written.
func (o *outbox) uncorked() {
	o.mu.Lock()
	o.queuing = false
	var err error
	if !o.corked && !o.closed {
		err = o.flush()
		o.changed.Broadcast()
	}
	o.unlock(err)
}
