package nodemanager

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/nodemanager/run"
)

// maxDeletions bounds the trees that wait to be deleted. What comes beyond it is deleted at the next start.
const maxDeletions = 1 << 20

// deletion removes trees in the background. If one tree lies inside another, it removes them one after the other: at the same
// time, each removal would fail on what the other has just deleted, and some of it might stay.
type deletion struct {
	delay time.Duration // for what somebody may want to look at; negative: it stays (yarn.nodemanager.delete.debug-delay-sec)
	log   *slog.Logger

	mu    sync.Mutex
	more  sync.Cond
	queue []string
	busy  []string // being deleted
	done  bool
	work  sync.WaitGroup
	stop  context.CancelFunc
	ctx   context.Context
}

func newDeletion(threads int, delay time.Duration, log *slog.Logger) *deletion {
	d := &deletion{delay: delay, log: log}
	d.more.L = &d.mu
	d.ctx, d.stop = context.WithCancel(context.Background())
	for range max(threads, 1) {
		d.work.Go(d.run)
	}
	return d
}

// remove deletes trees soon; with debug, after the delay.
func (d *deletion) remove(debug bool, paths ...string) {
	switch {
	case debug && d.delay < 0:
	case debug && d.delay > 0:
		d.work.Go(func() {
			timer := time.NewTimer(d.delay)
			defer timer.Stop()
			select {
			case <-timer.C:
				d.add(paths)
			case <-d.ctx.Done():
			}
		})
	default:
		d.add(paths)
	}
}

func (d *deletion) add(paths []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue)+len(paths) > maxDeletions {
		d.log.Warn("too much waits to be deleted; the next start deletes it", "paths", paths)
		return
	}
	d.queue = append(d.queue, paths...)
	d.more.Broadcast()
}

func (d *deletion) run() {
	for {
		path, ok := d.take()
		if !ok {
			return
		}
		if err := run.RemoveTree(path); err != nil {
			d.log.Warn("cannot delete", "path", path, "error", err)
		}
		d.mu.Lock()
		d.busy = slices.DeleteFunc(d.busy, func(other string) bool { return other == path })
		d.mu.Unlock()
		d.more.Broadcast()
	}
}

// take waits for a tree that can be deleted now; false: there will be none.
func (d *deletion) take() (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		for i, path := range d.queue {
			if !slices.ContainsFunc(d.busy, func(other string) bool { return overlap(path, other) }) {
				copy(d.queue[1:i+1], d.queue[:i]) // those that have to wait, few if any, move up
				d.queue = d.queue[1:]
				d.busy = append(d.busy, path)
				return path, true
			}
		}
		if len(d.queue) == 0 && d.done {
			return "", false
		}
		d.more.Wait()
	}
}

// overlap tells whether the trees are the same, or one lies in the other.
func overlap(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// close deletes what waits without a delay, and no more.
func (d *deletion) close() {
	d.stop()
	d.mu.Lock()
	d.done = true
	d.mu.Unlock()
	d.more.Broadcast()
	d.work.Wait()
}
