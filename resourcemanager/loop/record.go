package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
)

// ErrNoBlackBox is the answer to calls about recordings when commands are not recorded.
var ErrNoBlackBox = errors.New("no commands are kept: yarn.resourcemanager.heddle.black-box.bytes is 0")

// aside is a function that the loop is to call between two commands.
type aside struct {
	do   func()
	done chan struct{}
}

// aside has the loop call do between two commands, and waits for that. do must not
// block. After an error it has not been called, and will not be.
func (l *Loop) aside(ctx context.Context, do func()) error {
	a := aside{do, make(chan struct{})}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.asides = append(l.asides, a)
	l.mu.Unlock()
	l.nudge()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		if l.withdraw(a) {
			return fmt.Errorf("waiting for the loop: %w", ctx.Err())
		}
	case <-l.stopped:
	}
	select { // the loop has taken it up, or has ended
	case <-a.done:
		return nil
	case <-l.stopped:
	}
	select {
	case <-a.done:
		return nil
	default:
		return ErrClosed
	}
}

// withdraw takes back what the loop has not taken up; it tells whether it could.
func (l *Loop) withdraw(a aside) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.asides)
	l.asides = slices.DeleteFunc(l.asides, func(x aside) bool { return x.done == a.done })
	return len(l.asides) < n
}

// between calls the functions that were passed to aside.
func (l *Loop) between() {
	l.mu.Lock()
	list := l.asides
	l.asides = nil
	l.mu.Unlock()
	for _, a := range list {
		l.holds.begin()
		a.do()
		l.holds.end(blackbox.Digest{})
		close(a.done)
	}
}

// look is the end of a recording at this moment, with the engine's digest. Computing
// that is recorded, too.
func (l *Loop) look() blackbox.End {
	now := l.cfg.Clock.Now()
	l.cfg.BlackBox.Add(now, blackbox.Digest{})
	return blackbox.End{At: now.Wall, Looked: true, State: l.cfg.Engine.Digest()}
}

// Snapshot is what the black box keeps at this moment.
func (l *Loop) Snapshot(ctx context.Context) (*blackbox.Snapshot, error) {
	if l.cfg.BlackBox == nil {
		return nil, ErrNoBlackBox
	}
	got := make(chan *blackbox.Snapshot, 1)
	if err := l.aside(ctx, func() { got <- l.cfg.BlackBox.Snapshot(l.look()) }); err != nil {
		return nil, err
	}
	return <-got, nil
}

// BlackBox is the state of the black box.
type BlackBox struct {
	Commands uint64              // applied so far, slices of publications and digests included
	Missing  uint64              // how many of the first ones are no longer kept
	Tape     *blackbox.TapeState // nil: there is no file of all commands
}

// BlackBox returns the state of the black box.
func (l *Loop) BlackBox(ctx context.Context) (BlackBox, error) {
	b := l.cfg.BlackBox
	if b == nil {
		return BlackBox{}, ErrNoBlackBox
	}
	got := make(chan BlackBox, 1)
	if err := l.aside(ctx, func() {
		x := BlackBox{Commands: b.Commands(), Missing: b.Missing()}
		if t := b.Tape(); t != nil {
			state := t.State()
			x.Tape = &state
		}
		got <- x
	}); err != nil {
		return BlackBox{}, err
	}
	return <-got, nil
}

// StartTape has all commands since the start written to a file. The recording ends when
// that has most bytes.
func (l *Loop) StartTape(ctx context.Context, most int64) (*blackbox.Tape, error) {
	b := l.cfg.BlackBox
	if b == nil {
		return nil, ErrNoBlackBox
	}
	t, err := b.NewTape(most)
	if err != nil {
		return nil, err
	}
	refused := make(chan error, 1)
	err = l.aside(ctx, func() { refused <- b.Attach(t) })
	select {
	case err = <-refused:
	default: // err says why the tape was not attached
	}
	if err != nil {
		return nil, errors.Join(err, t.Discard())
	}
	return t, nil
}

// StopTape ends the file of all commands.
func (l *Loop) StopTape(ctx context.Context) (blackbox.TapeState, error) {
	b := l.cfg.BlackBox
	if b == nil {
		return blackbox.TapeState{}, ErrNoBlackBox
	}
	finish := make(chan func() (blackbox.TapeState, error), 1)
	if err := l.aside(ctx, func() {
		if b.Tape() == nil {
			finish <- nil
			return
		}
		finish <- b.Detach(l.look())
	}); err != nil {
		return blackbox.TapeState{}, err
	}
	f := <-finish
	if f == nil {
		return blackbox.TapeState{}, errors.New("not all commands are being recorded")
	}
	return f()
}
