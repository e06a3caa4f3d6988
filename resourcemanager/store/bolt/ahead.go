package bolt

import (
	"context"
	"sync/atomic"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// ahead is a file whose applications are still being read when Open returns. Only after the last of them is it known whether the file is intact,
// so nothing is stored before.
type ahead struct {
	stream *store.Stream
	head   chan struct{} // closed once snapshot is set
	ended  chan struct{} // closed once the store is loaded or has failed

	snapshot *state.Snapshot // all but the applications
	given    atomic.Bool     // Load has returned it
	closed   atomic.Bool
	err      error // why the file is not open; set before ended is closed
	outcome  error // why the store is not loaded; likewise
}

// openAhead is Open with a stream. It returns once all but the applications are read.
func (b *bolt) openAhead(how sealed.Options) (Store, error) {
	a := &ahead{stream: b.options.Stream, head: make(chan struct{}), ended: make(chan struct{})}
	b.ahead = a
	headRead := func() (err error) {
		if a.snapshot, err = b.snapshot(); err == nil {
			close(a.head)
		}
		return err
	}
	how.Parts = &sealed.Parts{Bucket: string(state.Applications), Rank: rank,
		Begin: func(count int, greatest sealed.Rank) error {
			if err := known(b.version); err != nil {
				return err
			}
			b.found.Expect(state.Coming{Count: count, LastTimestamp: greatest[0]})
			return headRead()
		},
		Take: func(number int, entries []sealed.Entry) {
			if a.stream.Stopped() {
				return
			}
			p := a.stream.NewPart(len(entries))
			for _, e := range entries {
				b.found.ReadApplication(e.Key, e.Value, &p)
			}
			a.stream.Put(number, p)
		}}
	go func() {
		defer close(a.ended)
		a.err = b.open(how)
		if a.err == nil && a.snapshot == nil { // a new file, or one that cannot be mapped
			a.err = headRead()
		}
		a.stream.AllPut()
		switch {
		case a.err != nil:
			a.outcome = a.err
		case !a.stream.Taken(): // no commit may be answered before the last part is taken
			a.outcome = store.ErrClosed
		default:
			a.outcome = b.begin(context.Background(), a.snapshot.Epoch)
		}
		a.stream.End(a.outcome)
	}()
	select {
	case <-a.head:
		return b, nil
	case <-a.ended:
		if a.err != nil {
			return nil, a.err
		}
		return b, nil
	}
}

// load is Load. It does not wait for the applications.
func (a *ahead) load(ctx context.Context) (*state.Snapshot, error) {
	switch {
	case ctx.Err() != nil:
		return nil, &store.UnavailableError{Err: context.Cause(ctx)}
	case a.closed.Load():
		return nil, store.ErrClosed
	case a.given.Swap(true):
		return nil, store.ErrLoaded
	}
	return a.snapshot, nil
}

// wait waits until the store is loaded or has failed, and returns its error. a may be nil.
func (a *ahead) wait(ctx context.Context) error {
	if a == nil {
		return nil
	}
	if !a.given.Load() && !a.closed.Load() {
		return store.ErrNotLoaded
	}
	select {
	case <-a.ended:
		return a.outcome
	case <-ctx.Done():
		return &store.UnavailableError{Err: context.Cause(ctx)}
	}
}

// stop stops the stream and waits until the file is no longer read. a may be nil.
func (a *ahead) stop() {
	if a != nil {
		a.closed.Store(true)
		a.stream.Stop()
		<-a.ended
	}
}
