package bolt

import (
	"context"
	"sync/atomic"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// ahead reads a file while others go on with what of it was read. Until the last record is there it is not known whether the file is as it was
// written, so nothing is stored before.
type ahead struct {
	stream *store.Stream
	head   chan struct{} // closed once snapshot is there: all but the applications
	ended  chan struct{} // closed once the file is open and loaded, or neither

	snapshot *state.Snapshot
	given    atomic.Bool // Load has given it away
	closed   atomic.Bool
	err      error // why the file is not open
	outcome  error // why it is not loaded
}

// openAhead is Open with a stream. It returns once all but the applications is read.
func (b *bolt) openAhead(how sealed.Options) (Store, error) {
	a := &ahead{stream: b.options.Stream, head: make(chan struct{}), ended: make(chan struct{})}
	b.ahead = a
	begin := func() (err error) {
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
			return begin()
		},
		Take: func(number int, entries []sealed.Entry) {
			if a.stream.Stopped() {
				return
			}
			p := store.Part{Applications: make([]*state.Application, 0, len(entries)), Made: make([]any, 0, len(entries))}
			for _, e := range entries {
				b.found.ReadApplication(e.Key, e.Value, &p)
			}
			a.stream.Put(number, p)
		}}
	go func() {
		defer close(a.ended)
		a.err = b.open(how)
		if a.err == nil && a.snapshot == nil { // a new file
			a.err = begin()
		}
		a.stream.Last()
		switch {
		case a.err != nil:
			a.outcome = a.err
		case !a.stream.Taken(): // whoever is told of a commit must know all that came before it
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

// load is Load.
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

// wait waits until the file is open and loaded.
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

// stop waits until nothing more is read.
func (a *ahead) stop() {
	if a != nil {
		a.closed.Store(true)
		a.stream.Stop()
		<-a.ended
	}
}
