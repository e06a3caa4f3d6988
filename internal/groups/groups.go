package groups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/internal/clock"
)

// Defaults and limits.
const (
	DefaultCacheFor = 300 * time.Second // hadoop.security.groups.cache.secs
	DefaultTimeout  = 10 * time.Second  // Hadoop's own is none: a hanging directory would hang its callers
	DefaultMaxUsers = 100_000           // answers kept
	MaxGroups       = 4096              // of one user
	MaxUserName     = 256               // bytes
	MaxRunning      = 8                 // lookups at a time
	MaxWaiting      = 1024              // lookups under way or waiting for their turn
	staleFactor     = 10
)

// ErrNoGroups is the reason when a user has no groups or does not exist.
var ErrNoGroups = errors.New("no groups found")

// ErrBusy is the reason when too many lookups are under way.
var ErrBusy = errors.New("too many users are being looked up, try again")

// Options say how groups are found, as conf.Security has them. The zero value
// asks the operating system and remembers no failures.
type Options struct {
	Mapping     string              // "shell" or "": the operating system's; "null": nobody has any
	Static      map[string][]string // users whose groups are not looked up; an empty list is an answer too
	Timeout     time.Duration       // of one program run; 0: DefaultTimeout
	CacheFor    time.Duration       // 0: DefaultCacheFor
	NegativeFor time.Duration       // how long failures are remembered; 0: not at all
	MaxUsers    int                 // 0: DefaultMaxUsers
	Clock       clock.Clock         // nil: the system's
	Log         *slog.Logger        // nil: slog.Default()
	Program     string              // what is run to look a user up; "": id
}

// Groups looks users up. It is safe for concurrent use.
type Groups struct {
	options  Options
	lookup   func(ctx context.Context, user string) ([]string, error)
	cacheFor int64 // ms
	negative int64 // ms
	slots    chan struct{}

	mu      sync.Mutex
	users   map[string]*answer
	order   []string // of users, oldest first
	running int      // lookups, waiting for a slot or having one

	lookups atomic.Int64 // that have ended, failed ones too
	took    atomic.Int64 // how long they took together, ns
}

// Lookups is how often groups were looked up since the start, and how long that took together.
func (g *Groups) Lookups() (n int64, took time.Duration) {
	return g.lookups.Load(), time.Duration(g.took.Load())
}

// answer is what is known about a user. Times are monotonic milliseconds.
type answer struct {
	groups  []string
	err     error // set: groups is empty
	fetched int64
	retry   int64 // do not look up again before
	call    *call // the lookup under way
}

// call is a lookup; groups and err may be read once done is closed.
type call struct {
	done   chan struct{}
	groups []string
	err    error
}

// New checks the options. A mapping that is not built is an error.
func New(o Options) (*Groups, error) {
	o = o.withDefaults()
	lookup, err := mapping(o)
	if err != nil {
		return nil, err
	}
	return &Groups{options: o, lookup: lookup, users: map[string]*answer{}, slots: make(chan struct{}, MaxRunning),
		cacheFor: o.CacheFor.Milliseconds(), negative: max(0, o.NegativeFor.Milliseconds())}, nil
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.CacheFor <= 0 {
		o.CacheFor = DefaultCacheFor
	}
	if o.MaxUsers <= 0 {
		o.MaxUsers = DefaultMaxUsers
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Of returns the user's groups, primary first. It may run programs, so it is
// not for the loop. An error that Is ErrNoGroups says that the user has none;
// ErrBusy that too many others are being looked up. With ctx the caller gives
// up, the lookup goes on.
func (g *Groups) Of(ctx context.Context, user string) ([]string, error) {
	if groups, ok := g.options.Static[user]; ok {
		return slices.Clone(groups), nil
	}
	if err := checkName(user); err != nil {
		return nil, fmt.Errorf("groups of user %q: %w", user, err)
	}
	groups, call, err := g.known(user)
	if call != nil {
		select {
		case <-call.done:
			groups, err = call.groups, call.err
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("groups of user %s: %w", user, err)
	}
	return slices.Clone(groups), nil
}

// Known returns the user's groups if they are known already and up to date. It waits for nothing.
func (g *Groups) Known(user string) (groups []string, ok bool) {
	if groups, ok := g.options.Static[user]; ok {
		return slices.Clone(groups), true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.users[user]
	if a == nil || len(a.groups) == 0 || g.options.Clock.Now().Mono >= a.retry {
		return nil, false
	}
	return slices.Clone(a.groups), true
}

// Refresh forgets all answers (yarn rmadmin -refreshUserToGroupsMappings).
func (g *Groups) Refresh() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users, g.order = map[string]*answer{}, nil
}

// known answers from memory, or returns the lookup to wait for.
func (g *Groups) known(user string) ([]string, *call, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.options.Clock.Now().Mono
	a := g.users[user]
	if a == nil {
		a = g.add(user)
	}
	usable := a.usable(now, g.cacheFor)
	switch {
	case a.call != nil && usable:
		return a.groups, nil, nil
	case a.call != nil:
		return nil, a.call, nil
	case now < a.retry:
		return a.groups, nil, a.err
	case g.running >= MaxWaiting && usable:
		return a.groups, nil, nil
	case g.running >= MaxWaiting:
		return nil, nil, ErrBusy
	}
	// Whoever finds an old answer renews it and waits; the others use it.
	a.call = &call{done: make(chan struct{})}
	g.running++
	go g.fetch(user, a, a.call)
	return nil, a.call, nil
}

// usable tells whether the answer may be given although it is due for renewal.
func (a *answer) usable(now, cacheFor int64) bool {
	return len(a.groups) > 0 && now-a.fetched < staleFactor*cacheFor
}

// add makes room and an empty answer.
func (g *Groups) add(user string) *answer {
	if len(g.order) >= g.options.MaxUsers {
		delete(g.users, g.order[0])
		g.order = g.order[1:]
	}
	a := &answer{}
	g.users[user] = a
	g.order = append(g.order, user)
	return a
}

// fetch looks the user up and leaves the outcome in the answer and the call.
func (g *Groups) fetch(user string, a *answer, c *call) {
	g.slots <- struct{}{}
	began := time.Now()
	groups, err := g.lookup(context.Background(), user)
	g.took.Add(int64(time.Since(began)))
	g.lookups.Add(1)
	<-g.slots
	if err == nil && len(groups) == 0 {
		err = ErrNoGroups
	}
	if err != nil {
		g.options.Log.Warn("looking up the groups of a user failed", "user", user, "error", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.options.Clock.Now().Mono
	switch {
	case err == nil:
		a.groups, a.err, a.fetched, a.retry = groups, nil, now, now+g.cacheFor
	case !errors.Is(err, ErrNoGroups) && a.usable(now, g.cacheFor):
		a.retry = now + g.negative // the old answer serves on
	default:
		a.groups, a.err, a.retry = nil, err, now+g.negative
	}
	c.groups, c.err = a.groups, a.err
	a.call = nil
	g.running--
	close(c.done)
}
