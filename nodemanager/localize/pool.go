package localize

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

var (
	// ErrBusy tells that too many fetches wait already.
	ErrBusy = errors.New("too many resources wait to be localized on this node")
	// ErrClosed is the result of fetches that Close ended.
	ErrClosed = errors.New("localization ends with the node")
)

// pool lets a few fetches go on at once. Each has a goroutine of its own, so that one that waits can be cancelled.
type pool struct {
	public, others *seats
	queue          *seats // of all that wait or go on
	ctx            context.Context
	cancel         context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

func (p *pool) init(public, others, queue int) {
	p.public, p.others, p.queue = newSeats(public), newSeats(others), newSeats(queue)
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
}

// Job is a fetch for Submit.
type Job struct {
	Request Request
	Dest    string // the numbered directory
	User    string

	// What Foreign may need besides.
	Resource  *pb.LocalResource // Request as it came
	Container yarn.ContainerID  // who wants it
	Tokens    []byte            // of the container: a token storage stream, or nothing
}

// Submit queues a fetch; its outcome goes to done, on another goroutine, exactly once, also when ctx ends or Close is
// called. Where it returns an error (ErrBusy, ErrClosed) done is not called.
func (f *Fetcher) Submit(ctx context.Context, j Job, done func(Result, error)) error {
	if err := f.admit(j.User); err != nil {
		return err
	}
	go func() {
		defer f.work.Done()
		defer f.queue.give(j.User)
		done(f.turn(ctx, j))
	}()
	return nil
}

func (p *pool) admit(user string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if !p.queue.try(user) {
		return fmt.Errorf("%w: %s has as many as one user may have, or others have the rest", ErrBusy, user)
	}
	p.work.Add(1)
	return nil
}

// turn waits for a place and does the work.
func (f *Fetcher) turn(ctx context.Context, j Job) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(f.ctx, func() { cancel(ErrClosed) })()
	places := f.others
	if j.Request.Visibility == Public {
		places = f.public
	}
	if err := places.take(ctx, j.User, nil); err != nil {
		return Result{}, fmt.Errorf("localize %s: %w", j.Request.URL, err)
	}
	defer places.give(j.User)
	return f.do(ctx, j)
}

// Close ends all fetches and waits until they have cleaned up and their outcome was heard.
func (f *Fetcher) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel(ErrClosed)
	f.work.Wait()
}
