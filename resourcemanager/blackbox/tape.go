package blackbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// tapeQueue bounds the blocks that wait to be written.
const tapeQueue = 128

// Tape is a file of all commands. The loop passes blocks to it and never waits: if the
// disk is too slow the tape ends.
type Tape struct {
	file   *os.File
	head   Header
	most   int64 // bytes; the tape ends when the file has that many
	blocks chan *block
	ending chan struct{}          // closed when no more blocks come
	done   chan struct{}          // closed when the file is closed
	why    atomic.Pointer[string] // why it takes no more blocks; nil: it does
	size   atomic.Int64
	end    End
	err    error // of writing the file; valid once done is closed

	lost bool // a block was left out; for the loop's goroutine, and after Detach for that of finish
}

// TapeState is how far a tape has come.
type TapeState struct {
	File  string
	Bytes int64
	Full  string // why it takes nothing more; empty: it does
}

// ErrBegun is why a tape cannot begin any more: it would lack the first commands.
var ErrBegun = errors.New("the first commands are no longer kept: all since the start can be recorded only from a start with " +
	"yarn.resourcemanager.heddle.black-box.record")

// NewTape makes the file of a tape. Any goroutine may call it.
func (r *Recorder) NewTape(most int64) (*Tape, error) {
	f, err := create(r.Dir, "resourcemanager-all-", MaxTapes)
	if err != nil {
		return nil, err
	}
	return &Tape{file: f, head: r.head, most: most, blocks: make(chan *block, tapeQueue), ending: make(chan struct{}), done: make(chan struct{})}, nil
}

// Discard removes a tape that was not attached.
func (t *Tape) Discard() error { return errors.Join(t.file.Close(), os.Remove(t.file.Name())) }

// State tells how far the tape has come. Any goroutine may call it.
func (t *Tape) State() TapeState {
	s := TapeState{File: t.file.Name(), Bytes: t.size.Load()}
	if why := t.why.Load(); why != nil {
		s.Full = *why
	}
	return s
}

// Attach has all commands written to the tape, those already applied included.
func (r *Recorder) Attach(t *Tape) error {
	switch {
	case r.tape != nil:
		return fmt.Errorf("all commands are being recorded already, in %s", r.tape.file.Name())
	case r.Missing() > 0:
		return ErrBegun
	}
	r.tape = t
	go t.run(slices.Clone(r.ring[:len(r.ring)-1]))
	return nil
}

// Tape is the attached tape, or nil.
func (r *Recorder) Tape() *Tape { return r.tape }

// Detach ends the tape. finish must be called: it waits until the rest of the file is
// written. Any goroutine may call it.
func (r *Recorder) Detach(end End) (finish func() (TapeState, error)) {
	t, last := r.tape, r.last()
	r.tape = nil
	end.Commands = r.Commands()
	return func() (TapeState, error) {
		if !t.lost && t.why.Load() == nil {
			t.blocks <- last
		}
		t.end = end
		close(t.ending)
		<-t.done
		return t.State(), t.err
	}
}

// Close ends the tape, if there is one, when the loop has ended. look is engine.Digest.
func (r *Recorder) Close(look func() uint64) error {
	if r.tape == nil {
		return nil
	}
	r.Add(r.clock, Digest{})
	_, err := r.Detach(End{At: time.Now().UnixMilli(), Looked: true, State: look()})()
	return err
}

// put passes a block to the tape's goroutine.
func (t *Tape) put(b *block) {
	if t.lost || t.why.Load() != nil {
		return
	}
	select {
	case t.blocks <- b:
	default:
		t.lost = true
		t.stop("the disk is too slow")
	}
}

// stop has the tape take no more blocks.
func (t *Tape) stop(why string) { t.why.CompareAndSwap(nil, &why) }

// run writes the first blocks, then others as they come, and the end.
func (t *Tape) run(first []*block) {
	defer close(t.done)
	w := newWriter(t.file)
	w.header(t.head)
	for _, b := range first {
		t.write(w, b)
	}
	for ended := false; !ended; {
		select {
		case b := <-t.blocks:
			t.write(w, b)
		case <-t.ending:
			ended = true
		}
	}
	for len(t.blocks) > 0 {
		t.write(w, <-t.blocks)
	}
	if why := t.why.Load(); why != nil {
		t.end = End{At: t.end.At, Commands: t.end.Commands, Truncated: *why}
	}
	w.end(t.end)
	t.err = w.close()
	t.size.Store(w.out.n)
}

// write writes a block, unless the file is full or writing has failed.
func (t *Tape) write(w *writer, b *block) {
	if w.err == nil && w.out.n < t.most {
		w.block(b)
		w.flush()
		t.size.Store(w.out.n)
	}
	switch {
	case w.err != nil:
		t.stop(w.err.Error())
	case w.out.n >= t.most:
		t.stop("the file is full")
	}
}
