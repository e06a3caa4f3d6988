package ipc

import (
	"sync"
	"time"
)

// turns hands out a server's places; one call at a time is answered in each.
// Users take turns, and each user's calls are served in the order in which they
// came. A user with too many unread answers is skipped (see Backlog).
type turns struct {
	backlog *Backlog

	mu    sync.Mutex
	free  int
	lines []*line // of users who wait, the next one first
}

type line struct {
	user    string
	waiting []chan struct{}
}

// take waits for a place, and reports false when the connection ended first.
func (t *turns) take(c *conn) bool {
	granted := make(chan struct{})
	t.mu.Lock()
	t.join(c.user(), granted)
	t.grant()
	t.mu.Unlock()
	select {
	case <-granted:
		return true
	case <-c.ended:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leave(c.user(), granted) { // it was granted in the meantime: give the place back
		t.free++
		t.grant()
	}
	return false
}

// waiting is how many calls wait for a place.
func (t *turns) waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines {
		n += len(l.waiting)
	}
	return n
}

// done gives a place back.
func (t *turns) done() {
	t.mu.Lock()
	t.free++
	t.grant()
	t.mu.Unlock()
}

// again gives free places to users who were skipped, if their backlog allows it
// now.
func (t *turns) again() {
	t.mu.Lock()
	t.grant()
	t.mu.Unlock()
}

func (t *turns) join(user string, w chan struct{}) {
	for _, l := range t.lines {
		if l.user == user {
			l.waiting = append(l.waiting, w)
			return
		}
	}
	t.lines = append(t.lines, &line{user, []chan struct{}{w}})
}

func (t *turns) leave(user string, w chan struct{}) bool {
	for i, l := range t.lines {
		if l.user != user {
			continue
		}
		for k := range l.waiting {
			if l.waiting[k] == w {
				l.waiting = append(l.waiting[:k], l.waiting[k+1:]...)
				if len(l.waiting) == 0 {
					t.lines = append(t.lines[:i], t.lines[i+1:]...)
				}
				return true
			}
		}
	}
	return false
}

// grant gives free places to the next users.
func (t *turns) grant() {
	for i := 0; t.free > 0 && i < len(t.lines); {
		l := t.lines[i]
		if t.backlog.full(l.user) {
			i++
			continue
		}
		t.free--
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		t.lines = append(t.lines[:i], t.lines[i+1:]...)
		if len(l.waiting) > 0 {
			t.lines = append(t.lines, l)
		}
	}
}

// InTurn wraps a handler whose calls are answered in turn, for methods that
// build large answers or are expensive for the daemon. At most Limits.Places of
// them run at a time, and of one connection only one. A connection that waits
// for its turn is not read, so that its further requests stay with the peer.
// The handler may block; its place is free again when the call is answered. If
// the peer has gone by the time of its turn, the call does not run.
func InTurn(h Handler) Handler {
	return func(c *Call) { c.conn.inTurn(c, h) }
}

func (c *conn) inTurn(k *Call, h Handler) {
	from := time.Now()
	if !c.written() || !c.server.turns.take(c) {
		k.drop()
		return
	}
	k.waited = time.Since(from)
	defer c.server.turns.done()
	if c.sock.gone() {
		c.shut()
		k.drop()
		return
	}
	k.finished = make(chan struct{})
	h(k)
	<-k.finished
}

// written waits until the peer has taken all answers so far.
func (c *conn) written() bool {
	o := &c.out
	o.mu.Lock()
	err := o.flush()
	o.corked, c.corked = false, false
	o.unlock(err)
	o.flushed()
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.closed
}

// drop ends a call whose peer has gone.
func (c *Call) drop() {
	if c.answered.CompareAndSwap(false, true) {
		c.conn.server.stats.dropped.Add(1)
		c.timing = nil
		c.release()
	}
}
