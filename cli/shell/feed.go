package shell

import (
	"context"
	"sync"
	"time"
)

// feed is the list of events that the master holds for its submitter: events
// are kept until they are acknowledged. It is safe for concurrent use.
type feed struct {
	now      func() time.Time
	patience time.Duration

	mu      sync.Mutex
	events  []Event
	first   int64 // number of events[0]
	held    int   // bytes of output in events
	dropped bool  // output was dropped since nobody listened
	over    bool
	heard   time.Time     // of the submitter
	changed chan struct{} // closed and replaced at each change
}

func newFeed(now func() time.Time, patience time.Duration) *feed {
	return &feed{now: now, patience: patience, heard: now(), changed: make(chan struct{})}
}

// notify wakes all who wait. Call it locked.
func (f *feed) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// put adds an event that is not output. There are only a few of them for each
// container.
func (f *feed) put(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(e)
}

func (f *feed) add(e Event) {
	e.Seq, e.Time = f.first+int64(len(f.events)), f.now().UnixMilli()
	e.Detail = clip(e.Detail)
	f.events = append(f.events, e)
	f.held += len(e.Data)
	f.notify()
}

// output adds output, waiting until there is room for it. If nobody fetches
// events, it drops the output and returns false.
func (f *feed) output(ctx context.Context, e Event) bool {
	for {
		f.mu.Lock()
		gone := f.absence() >= f.patience
		if gone {
			f.dropped = true
			f.mu.Unlock()
			return false
		}
		if f.held+len(e.Data) <= MaxHeld {
			f.add(e)
			f.mu.Unlock()
			return true
		}
		changed, left := f.changed, f.patience-f.absence()
		f.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(left):
		case <-ctx.Done():
			return false
		}
	}
}

// absence is for how long the submitter has not been heard of. Call it locked.
func (f *feed) absence() time.Duration { return f.now().Sub(f.heard) }

// end marks the list as complete.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.notify()
}

// page acknowledges all events before a number and answers with those from it.
// It waits up to hold for the first.
func (f *feed) page(ctx context.Context, from int64, hold time.Duration) Page {
	timer := time.NewTimer(hold)
	defer timer.Stop()
	for {
		f.mu.Lock()
		f.heard = f.now()
		f.acknowledge(from)
		page := f.cut(from)
		changed := f.changed
		f.mu.Unlock()
		if len(page.Events) > 0 || page.Over {
			return page
		}
		select {
		case <-changed:
		case <-timer.C:
			return page
		case <-ctx.Done():
			return page
		}
	}
}

func (f *feed) acknowledge(from int64) {
	n := min(from-f.first, int64(len(f.events)))
	if n <= 0 {
		return
	}
	for _, e := range f.events[:n] {
		f.held -= len(e.Data)
	}
	f.events, f.first = f.events[n:], f.first+n
	f.notify()
}

// cut takes as many events as fit into one page. A number outside of the list
// counts as the nearest one in it.
func (f *feed) cut(from int64) Page {
	at := int(min(max(from-f.first, 0), int64(len(f.events))))
	bytes, end := 0, at
	for end < len(f.events) && end-at < maxPageEvents && (end == at || bytes+len(f.events[end].Data) <= maxPageOutput) {
		bytes += len(f.events[end].Data)
		end++
	}
	return Page{Events: append([]Event(nil), f.events[at:end]...), Next: f.first + int64(end), Over: f.over && end == len(f.events)}
}

// fetched waits until everything has been acknowledged (true) or the submitter
// is gone (false).
func (f *feed) fetched(ctx context.Context) bool {
	for {
		f.mu.Lock()
		done, left, changed := len(f.events) == 0, f.patience-f.absence(), f.changed
		f.mu.Unlock()
		switch {
		case done:
			return true
		case left <= 0:
			return false
		}
		select {
		case <-changed:
		case <-time.After(left):
		case <-ctx.Done():
			return false
		}
	}
}
