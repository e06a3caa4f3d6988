package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// Bounds and times of the committer.
const (
	maxCommit  = 1024 // changes of one commit
	retryPause = 50 * time.Millisecond
	retryFor   = 30 * time.Second // how long an unavailable store is tried; then it is lost
	retrySay   = 10 * time.Second // between two log lines about an unavailable store
	stopFor    = 2 * time.Second  // how long a commit under way may hold up a stop; then it is cancelled
)

// committer stores saves in the order in which they were made, as many in one commit as
// are waiting, and confirms each.
type committer struct {
	store   store.Store
	log     *slog.Logger
	confirm func([]engine.Stored)
	lost    func(*Loss)

	mu      sync.Mutex
	waiting []engine.Save
	more    sync.Cond
	stopped bool
	done    chan struct{}

	ctx    context.Context // of commits
	cancel context.CancelFunc
}

func newCommitter(s store.Store, log *slog.Logger, confirm func([]engine.Stored), lost func(*Loss)) *committer {
	c := &committer{store: s, log: log, confirm: confirm, lost: lost, done: make(chan struct{})}
	c.more.L = &c.mu
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *committer) put(saves []engine.Save) {
	c.mu.Lock()
	c.waiting = append(c.waiting, saves...)
	c.mu.Unlock()
	c.more.Signal()
}

// stop lets the commit under way finish, if it does so soon. Saves that still wait are not
// stored, and are never confirmed; neither is a commit that is cancelled.
func (c *committer) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.more.Signal()
	defer time.AfterFunc(stopFor, c.cancel).Stop()
	<-c.done
	c.cancel()
}

func (c *committer) run() {
	defer close(c.done)
	for {
		batch := c.next()
		if batch == nil {
			return
		}
		stored, err := c.commit(batch)
		switch {
		case errors.Is(err, errStopped):
			return
		case err != nil:
			c.lost(lossOf(err))
			return
		}
		c.confirm(stored)
	}
}

// errStopped ends the wait for an unavailable store when the committer is stopped.
var errStopped = errors.New("the committer is stopping")

func (c *committer) stopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

func (c *committer) next() []engine.Save {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) == 0 && !c.stopped {
		c.more.Wait()
	}
	if c.stopped {
		return nil
	}
	n := min(len(c.waiting), maxCommit)
	batch := append([]engine.Save(nil), c.waiting[:n]...)
	c.waiting = append(c.waiting[:0], c.waiting[n:]...)
	return batch
}

// commit stores a batch. A record that can never be stored is confirmed with
// its error and the others are tried without it.
func (c *committer) commit(batch []engine.Save) ([]engine.Stored, error) {
	out := make([]engine.Stored, len(batch))
	left := make([]int, len(batch))
	for i, s := range batch {
		out[i], left[i] = engine.Stored{Seq: s.Seq}, i
	}
	away := absence{log: c.log}
	for len(left) > 0 {
		ops := make([]state.Op, len(left))
		for i, at := range left {
			ops[i] = batch[at].Op
		}
		err := c.store.Commit(c.ctx, ops)
		var poison *store.PoisonError
		var unavailable *store.UnavailableError
		switch {
		case err == nil:
			away.ended()
			return out, nil
		case errors.As(err, &poison) && poison.Index >= 0 && poison.Index < len(left):
			out[left[poison.Index]].Err = err
			left = append(left[:poison.Index], left[poison.Index+1:]...)
		case errors.As(err, &unavailable) && c.stopping():
			return nil, errStopped
		case errors.As(err, &unavailable):
			if !away.goesOn(err) {
				return nil, fmt.Errorf("%w (tried %d times in %v)", err, away.tries, retryFor)
			}
			time.Sleep(retryPause)
		case len(left) > 1 && errors.As(err, new(*store.BatchError)):
			return c.halves(batch)
		default:
			return nil, err
		}
	}
	return out, nil
}

// halves commits a batch that is too large in two parts.
func (c *committer) halves(batch []engine.Save) ([]engine.Stored, error) {
	first, err := c.commit(batch[:len(batch)/2])
	if err != nil {
		return nil, err
	}
	second, err := c.commit(batch[len(batch)/2:])
	return append(first, second...), err
}

// absence is the time during which a store is unavailable.
type absence struct {
	log   *slog.Logger
	since time.Time // of the first try
	said  time.Time // of the last log line
	tries int
}

// goesOn tells whether to try again. It logs the first try, and then every retrySay.
func (a *absence) goesOn(err error) bool {
	now := time.Now()
	if a.tries++; a.tries == 1 {
		a.since, a.said = now, now
		a.log.Warn("the state store does not answer; nothing is acknowledged until it does", "error", err, "trying for", retryFor)
	}
	if now.Sub(a.said) >= retrySay {
		a.said = now
		a.log.Warn("the state store still does not answer; when its time is over the ResourceManager ends, and what it has acknowledged is kept",
			"error", err, "tries", a.tries, "since", now.Sub(a.since).Round(time.Second), "trying for", retryFor)
	}
	return now.Sub(a.since) < retryFor
}

func (a *absence) ended() {
	if a.tries > 0 {
		a.log.Info("the state store answers again", "tries", a.tries, "after", time.Since(a.since).Round(time.Millisecond))
	}
}
