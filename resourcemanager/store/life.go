package store

import "context"

// Life is what a store has been through. Whoever uses it holds a lock.
type Life struct {
	Loaded, Closed bool
	Broken         error // the outcome of every later call; else nil
}

// MayLoad is the error of a Load that is not due.
func (l *Life) MayLoad(ctx context.Context) error {
	switch {
	case l.Closed:
		return ErrClosed
	case l.Loaded:
		return ErrLoaded
	case l.Broken != nil:
		return l.Broken
	case ctx.Err() != nil:
		return &UnavailableError{Err: context.Cause(ctx)}
	}
	return nil
}

// MayCommit is the error of a Commit that is not due.
func (l *Life) MayCommit(ctx context.Context) error {
	switch {
	case l.Closed:
		return ErrClosed
	case !l.Loaded:
		return ErrNotLoaded
	case l.Broken != nil:
		return l.Broken
	case ctx.Err() != nil:
		return &UnavailableError{Err: context.Cause(ctx)}
	}
	return nil
}
