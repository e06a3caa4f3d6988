package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
)

// ErrNoBlackBox is the answer to wishes about recordings where none is kept.
var ErrNoBlackBox = errors.New("no commands are kept: yarn.resourcemanager.heddle.black-box.bytes is 0")

// aside is what somebody wants to do between two commands.
type aside struct {
	do   func()
	done chan struct{}
}

// aside has the loop do something between two commands. It must not wait for
// anything.
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
		return fmt.Errorf("waiting for the loop: %w", ctx.Err())
	case <-l.stopped:
		return ErrClosed
	}
}

// between does what others want.
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

// look is the end of a recording at this moment. The look itself is recorded.
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

// BlackBox is how the black box stands.
type BlackBox struct {
	Commands, Missing uint64 // applied so far, publications and looks included; the first of them, that are no longer kept
	Tape              *blackbox.TapeState
}

// BlackBox tells how the black box stands.
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

// StartTape has all commands since the start go to a file of at most so many bytes.
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
	err = l.aside(ctx, func() {
		if err := ctx.Err(); err != nil { // nobody waits any more
			refused <- err
			return
		}
		refused <- b.Attach(t)
	})
	select {
	case err = <-refused:
	default: // err says why nothing was done
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
