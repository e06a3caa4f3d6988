package ipc

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The default bounds of a Backlog, and when peers count as too slow.
const (
	defaultBacklog     = 64 * mib
	defaultUserBacklog = 32 * mib

	// stalled: a peer that has taken nothing for this long counts as not reading.
	stalled = 5 * time.Second
	// relieve is the interval at which connections are checked while a bound is
	// met.
	relieve = time.Second
)

// Backlog bounds the bytes of answers that wait for their peers to read: of
// each user, and of all connections of the servers that share the Backlog.
// While a user's bound is met, calls of that user that are answered in turn
// (InTurn) wait. While the overall bound is met, so do those of every user with
// unread answers; users without any wait only once another user's bound on top
// is used up. A connection concerned reads no further request until its own
// answers are written. Of the peers that have taken nothing for the time
// stalled, those with the most unread answers are closed. A peer takes bytes in
// steps of keepSize or of the kernel's send buffer, so one too slow to take a
// step in that time is closed as well.
type Backlog struct {
	perUser, inAll int64
	log            *slog.Logger

	tight atomic.Bool // some bound is met

	mu      sync.Mutex
	sum     int64
	users   map[string]*debtor
	conns   map[*conn]*debtor
	over    int  // users above their bound
	looking bool // a look at the worst is due
	eased   []func()
}

// debtor is a user with answers that wait.
type debtor struct {
	user  string
	sum   int64
	conns map[*conn]int64
}

// NewBacklog makes a backlog. A bound of zero has its default: 32 MiB for a
// user, 64 MiB in all.
func NewBacklog(perUser, inAll int64, log *slog.Logger) *Backlog {
	or(&perUser, defaultUserBacklog)
	or(&inAll, defaultBacklog)
	return &Backlog{perUser: perUser, inAll: inAll, log: log, users: map[string]*debtor{}, conns: map[*conn]*debtor{}}
}

// Size is how many bytes wait.
func (l *Backlog) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

// whenEased has f called, without the lock, after a bound is no longer met.
func (l *Backlog) whenEased(f func()) {
	l.mu.Lock()
	l.eased = append(l.eased, f)
	l.mu.Unlock()
}

// full reports whether answers to this user's calls must wait.
func (l *Backlog) full(user string) bool {
	if !l.tight.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.users[user]
	if d == nil {
		return l.sum >= l.inAll+l.perUser
	}
	return l.sum >= l.inAll || d.sum >= l.perUser
}

// add accounts for n bytes more, or fewer, that wait for one peer.
func (l *Backlog) add(c *conn, n int64) {
	l.mu.Lock()
	d := l.conns[c]
	if d == nil {
		user := c.user()
		if d = l.users[user]; d == nil {
			d = &debtor{user: user, conns: map[*conn]int64{}}
			l.users[user] = d
		}
		l.conns[c] = d
	}
	was := d.sum >= l.perUser
	l.sum += n
	d.sum += n
	if d.conns[c] += n; d.conns[c] == 0 {
		delete(d.conns, c)
		delete(l.conns, c)
	}
	if len(d.conns) == 0 {
		delete(l.users, d.user)
	}
	switch is := d.sum >= l.perUser; {
	case is && !was:
		l.over++
	case was && !is:
		l.over--
	}
	tight := l.over > 0 || l.sum >= l.inAll
	eased := l.tight.Swap(tight) && n < 0
	if tight && !l.looking {
		l.looking = true
		time.AfterFunc(relieve, l.look)
	}
	call := l.eased
	l.mu.Unlock()
	if eased {
		for _, f := range call {
			f()
		}
	}
}

// look closes the worst of the peers that take nothing, and schedules itself again while a bound is met.
func (l *Backlog) look() {
	l.mu.Lock()
	worst, held := l.worst(time.Now().Add(-stalled).UnixNano())
	sum := l.sum
	if l.looking = l.tight.Load(); l.looking {
		time.AfterFunc(relieve, l.look)
	}
	l.mu.Unlock()
	if len(worst) == 0 {
		return
	}
	l.log.Warn("closing connections that do not read: too many bytes of answers wait", "connections", len(worst), "bytes", held,
		"waiting", sum, "bound", l.inAll, "userBound", l.perUser, "user", worst[0].user(), "remote", worst[0].remote)
	for _, c := range worst {
		c.server.stats.slowReaders.Add(1)
		c.shut()
	}
}

// worst are the peers to close so that the bounds are kept, out of those that
// have taken nothing since that moment: the users with the most unread answers
// come first, and of a user's peers those with the most. Call it locked.
func (l *Backlog) worst(since int64) (out []*conn, held int64) {
	type claim struct {
		c    *conn
		user *debtor
		n    int64
	}
	var all []claim
	left := map[*debtor]int64{}
	for _, d := range l.users {
		left[d] = d.sum
		for c, n := range d.conns {
			if c.out.moved.Load() <= since {
				all = append(all, claim{c, d, n})
			}
		}
	}
	slices.SortFunc(all, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.user.sum, a.user.sum), cmp.Compare(b.n, a.n))
	})
	for _, x := range all {
		if l.sum-held < l.inAll && left[x.user] < l.perUser {
			continue
		}
		out = append(out, x.c)
		held += x.n
		left[x.user] -= x.n
	}
	return out, held
}
