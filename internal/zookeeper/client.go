package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// client is a Conn over github.com/go-zookeeper/zk.
type client struct {
	conn   *zk.Conn
	chroot string
	max    int           // bytes of a request
	wait   time.Duration // for ready: the session's timeout

	ready  chan struct{} // closed once the credentials are presented
	closed chan struct{}
	once   sync.Once
	refuse error // set before ready is closed: the credentials were refused
	all    watchAll
}

// requestOverhead is room for headers, a path's length and the like.
const requestOverhead = 64 << 10

// authPause is how long to wait before credentials are presented again.
const authPause = 200 * time.Millisecond

// Open is an Opener of the real thing.
func Open(o Options) (Conn, error) { return open(o, net.DialTimeout) }

func open(o Options, dial zk.Dialer) (Conn, error) {
	o = o.withDefaults()
	servers, chroot, err := ParseAddress(o.Address)
	if err != nil {
		return nil, fmt.Errorf("address of ZooKeeper %q: %w", o.Address, err)
	}
	c := &client{chroot: chroot, max: o.MaxRequest, wait: o.Session, ready: make(chan struct{}), closed: make(chan struct{})}
	c.conn, _, err = zk.Connect(servers, o.Session, zk.WithHostProvider(&ring{}), zk.WithDialer(dialer(guardedDial(dial, o.MaxResponse, o.Session, c.all.dialed), o.Granted)), zk.WithLogInfo(false), zk.WithLogger(logger(o.logging)),
		zk.WithMaxBufferSize(o.MaxResponse), zk.WithMaxConnBufferSize(o.MaxRequest+requestOverhead), zk.WithEventCallback(c.events(o.State)))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper at %s: %w", o.Address, err)
	}
	go c.present(o)
	return c, nil
}

// present presents the credentials to the first session; the library does so to all
// later ones. Nothing else is asked before.
func (c *client) present(o Options) {
	defer close(c.ready)
	for _, a := range o.Auth {
		for {
			err := c.conn.AddAuth(a.Scheme, a.Secret)
			if err == nil {
				break
			}
			if errors.Is(err, zk.ErrAuthFailed) {
				c.refuse = fmt.Errorf("present credentials of scheme %s to ZooKeeper: %w", a.Scheme, ErrAuthFailed)
				if o.State != nil {
					o.State(AuthFailed)
				}
				return
			}
			select {
			case <-c.closed:
				return
			case <-time.After(authPause):
			}
		}
	}
}

// ring hands out the servers in turn. Names are looked up at every connection, so that
// servers may move.
type ring struct {
	mu            sync.Mutex
	servers       []string
	next, settled int
}

func (r *ring) Init(servers []string) error {
	r.servers = append([]string(nil), servers...)
	rand.Shuffle(len(r.servers), func(i, j int) { r.servers[i], r.servers[j] = r.servers[j], r.servers[i] })
	r.settled = -1
	return nil
}

func (r *ring) Len() int { return len(r.servers) }

func (r *ring) Next() (server string, retryStart bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.next % len(r.servers)
	retryStart = r.settled == at
	if r.settled < 0 {
		r.settled = at
	}
	r.next = at + 1
	return r.servers[at], retryStart
}

func (r *ring) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled = (r.next - 1 + len(r.servers)) % len(r.servers)
}

type logger func(string)

func (l logger) Printf(format string, args ...any) { l(fmt.Sprintf(format, args...)) }

func (o Options) logging(text string) {
	if o.Log != nil {
		o.Log(text)
	}
}

func (c *client) events(told func(State)) zk.EventCallback {
	return func(e zk.Event) {
		c.all.event(c, e)
		if e.Type != zk.EventSession || told == nil {
			return
		}
		switch e.State {
		case zk.StateHasSession:
			told(Connected)
		case zk.StateDisconnected:
			told(Disconnected)
		case zk.StateExpired:
			told(Expired)
		case zk.StateAuthFailed:
			told(AuthFailed)
		}
	}
}

// named are the library's errors by ours.
var named = map[error]error{
	zk.ErrNoNode: ErrNoNode, zk.ErrNodeExists: ErrNodeExists, zk.ErrNoAuth: ErrNoAuth, zk.ErrBadVersion: ErrBadVersion,
	zk.ErrNotEmpty: ErrNotEmpty, zk.ErrNoChildrenForEphemerals: ErrEphemeral, zk.ErrInvalidACL: ErrInvalidACL,
	zk.ErrAuthFailed: ErrAuthFailed, zk.ErrSessionExpired: ErrSessionExpired, zk.ErrConnectionClosed: ErrConnection,
	zk.ErrNoServer: ErrConnection, zk.ErrSessionMoved: ErrConnection, zk.ErrClosing: ErrConnection, zk.ErrShortBuffer: ErrTooLarge,
}

func translate(err error) error {
	if ours := named[err]; ours != nil {
		return ours
	}
	return err
}

// call waits for an answer, or for the end of ctx. Any answer may come with an error.
func call[T any](ctx context.Context, c *client, what, path string, do func(path string) (T, error)) (T, error) {
	var none T
	fail := func(err error) (T, error) {
		return none, fmt.Errorf("%s %s in ZooKeeper: %w", what, c.absolute(path), err)
	}
	if err := CheckPath(path); err != nil {
		return fail(err)
	}
	late := time.NewTimer(c.wait)
	defer late.Stop()
	select {
	case <-c.closed:
		return fail(ErrClosed)
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	case <-c.ready:
		if c.refuse != nil {
			return fail(c.refuse)
		}
	case <-late.C:
		return fail(fmt.Errorf("no server has taken the credentials within %s: %w", c.wait, ErrConnection))
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := do(c.absolute(path))
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		if a.err == nil {
			return a.value, nil
		}
		err := translate(a.err)
		select {
		case <-c.closed:
			err = ErrClosed
		default:
		}
		if c.chroot != "" && what == "create" && errors.Is(err, ErrNoNode) && strings.Count(path, "/") == 1 {
			err = fmt.Errorf("%w: the path %s in the address of ZooKeeper does not exist: create it first", err, c.chroot)
		}
		_, err = fail(err)
		return a.value, err
	case <-c.closed:
		return fail(ErrClosed)
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	}
}

func (c *client) absolute(path string) string {
	if path == "/" && c.chroot != "" {
		return c.chroot
	}
	return c.chroot + path
}

func (c *client) relative(path string) string {
	if path = strings.TrimPrefix(path, c.chroot); path != "" {
		return path
	}
	return "/"
}

// node is what a call may answer about a node.
type node struct {
	data     []byte
	children []string
	acl      []ACL
	there    bool
	stat     Stat
	events   <-chan zk.Event
}

func stat(s *zk.Stat) Stat {
	if s == nil {
		return Stat{}
	}
	return Stat{Version: s.Version, ChildrenVersion: s.Cversion, ACLVersion: s.Aversion, Owner: s.EphemeralOwner,
		Size: s.DataLength, Children: s.NumChildren, Created: s.Czxid, Modified: s.Mzxid}
}

func (c *client) fits(bytes int) error {
	if bytes > c.max {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, bytes, c.max)
	}
	return nil
}

func (c *client) Create(ctx context.Context, path string, data []byte, mode Mode, acl []ACL) (string, error) {
	return call(ctx, c, "create", path, func(path string) (string, error) {
		if err := c.fits(len(data) + len(path)); err != nil {
			return "", err
		}
		made, err := c.conn.Create(path, data, int32(mode), theirs(acl))
		return c.relative(made), err
	})
}

func (c *client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	return call(ctx, c, "write", path, func(path string) (Stat, error) {
		if err := c.fits(len(data) + len(path)); err != nil {
			return Stat{}, err
		}
		s, err := c.conn.Set(path, data, version)
		return stat(s), err
	})
}

func (c *client) Delete(ctx context.Context, path string, version int32) error {
	_, err := call(ctx, c, "delete", path, func(path string) (struct{}, error) { return struct{}{}, c.conn.Delete(path, version) })
	return err
}

func (c *client) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	n, err := call(ctx, c, "read", path, func(path string) (n node, err error) {
		data, s, err := c.conn.Get(path)
		return node{data: data, stat: stat(s)}, err
	})
	return n.data, n.stat, err
}

func (c *client) GetWatch(ctx context.Context, path string) ([]byte, Stat, <-chan Event, error) {
	n, err := call(ctx, c, "read", path, func(path string) (n node, err error) {
		data, s, events, err := c.conn.GetW(path)
		return node{data: data, stat: stat(s), events: events}, err
	})
	return n.data, n.stat, c.watch(n.events), err
}

func (c *client) Children(ctx context.Context, path string) ([]string, Stat, error) {
	n, err := call(ctx, c, "list", path, func(path string) (n node, err error) {
		names, s, err := c.conn.Children(path)
		return node{children: names, stat: stat(s)}, err
	})
	return n.children, n.stat, err
}

func (c *client) ChildrenWatch(ctx context.Context, path string) ([]string, Stat, <-chan Event, error) {
	n, err := call(ctx, c, "list", path, func(path string) (n node, err error) {
		names, s, events, err := c.conn.ChildrenW(path)
		return node{children: names, stat: stat(s), events: events}, err
	})
	return n.children, n.stat, c.watch(n.events), err
}

func (c *client) Exists(ctx context.Context, path string) (bool, Stat, error) {
	n, err := call(ctx, c, "look for", path, func(path string) (n node, err error) {
		there, s, err := c.conn.Exists(path)
		return node{there: there, stat: stat(s)}, err
	})
	return n.there, n.stat, err
}

func (c *client) ExistsWatch(ctx context.Context, path string) (bool, Stat, <-chan Event, error) {
	n, err := call(ctx, c, "look for", path, func(path string) (n node, err error) {
		there, s, events, err := c.conn.ExistsW(path)
		return node{there: there, stat: stat(s), events: events}, err
	})
	return n.there, n.stat, c.watch(n.events), err
}

func (c *client) GetACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	n, err := call(ctx, c, "read the access list of", path, func(path string) (n node, err error) {
		acl, s, err := c.conn.GetACL(path)
		for _, a := range acl {
			n.acl = append(n.acl, ACL{Perms(a.Perms), a.Scheme, a.ID})
		}
		n.stat = stat(s)
		return n, err
	})
	return n.acl, n.stat, err
}

func (c *client) SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error) {
	return call(ctx, c, "change the access list of", path, func(path string) (Stat, error) {
		s, err := c.conn.SetACL(path, theirs(acl), version)
		return stat(s), err
	})
}

func (c *client) Sync(ctx context.Context, path string) error {
	_, err := call(ctx, c, "sync", path, c.conn.Sync)
	return err
}

func (c *client) SessionID() int64 { return c.conn.SessionID() }

func (c *client) Close() {
	c.once.Do(func() {
		close(c.closed)
		c.conn.Close()
	})
}

// Multi implements Conn.
func (c *client) Multi(ctx context.Context, ops ...Op) error {
	if len(ops) == 0 {
		return nil
	}
	requests := make([]any, len(ops))
	size := 0
	for i, op := range ops {
		if err := CheckPath(op.Path); err != nil {
			return &MultiError{i, op, err}
		}
		path := c.absolute(op.Path)
		size += RequestSize(op) + len(c.chroot)
		switch op.Kind {
		case OpCreate:
			requests[i] = &zk.CreateRequest{Path: path, Data: op.Data, Acl: theirs(op.ACL), Flags: int32(op.Mode)}
		case OpSet:
			requests[i] = &zk.SetDataRequest{Path: path, Data: op.Data, Version: op.Version}
		case OpDelete:
			requests[i] = &zk.DeleteRequest{Path: path, Version: op.Version}
		case OpCheck:
			requests[i] = &zk.CheckVersionRequest{Path: path, Version: op.Version}
		default:
			return &MultiError{i, op, fmt.Errorf("no such %s", op.Kind)}
		}
	}
	what := fmt.Sprintf("change %d nodes in one transaction, first", len(ops))
	answers, err := call(ctx, c, what, ops[0].Path, func(string) ([]zk.MultiResponse, error) {
		if err := c.fits(size); err != nil {
			return nil, err
		}
		return c.conn.Multi(requests...)
	})
	if err == nil || Lost(err) {
		return err
	}
	for i, a := range answers {
		if a.Error != nil && i < len(ops) {
			return &MultiError{i, ops[i], translate(a.Error)}
		}
	}
	return err
}

// RequestSize is about how many bytes an op takes of a request, and not less than that.
func RequestSize(op Op) int {
	size := 64 + len(op.Path) + len(op.Data)
	for _, a := range op.ACL {
		size += 12 + len(a.Scheme) + len(a.ID)
	}
	return size
}

func theirs(acl []ACL) []zk.ACL {
	out := make([]zk.ACL, len(acl))
	for i, a := range acl {
		out[i] = zk.ACL{Perms: int32(a.Perms), Scheme: a.Scheme, ID: a.ID}
	}
	return out
}

// watch passes the one event of a watch on. The library ends every watch with an event
// or by closing its channel.
func (c *client) watch(from <-chan zk.Event) <-chan Event {
	if from == nil {
		return nil
	}
	to := make(chan Event, 1)
	go func() {
		defer close(to)
		select {
		case e, ok := <-from:
			if ok {
				to <- c.event(e)
			} else {
				to <- Event{Kind: NotWatching, Err: ErrConnection}
			}
		case <-c.closed:
			to <- Event{Kind: NotWatching, Err: ErrClosed}
		}
	}()
	return to
}

func (c *client) event(e zk.Event) Event {
	out := Event{Kind: NotWatching, Path: c.relative(e.Path), Err: translate(e.Err)}
	switch e.Type {
	case zk.EventNodeCreated:
		out.Kind = NodeCreated
	case zk.EventNodeDeleted:
		out.Kind = NodeDeleted
	case zk.EventNodeDataChanged:
		out.Kind = DataChanged
	case zk.EventNodeChildrenChanged:
		out.Kind = ChildrenChanged
	}
	return out
}
