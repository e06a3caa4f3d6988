package zookeepertest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/internal/zookeeper"
)

// session is one session of a connection; it knows its watches.
type session struct {
	id    int64
	conn  *conn
	ended bool
	open  []chan zookeeper.Event
}

// done takes a watch off; false if it was not there any more.
func (x *session) done(events chan zookeeper.Event) bool {
	i := slices.Index(x.open, events)
	if i < 0 {
		return false
	}
	x.open = slices.Delete(x.open, i, i+1)
	return true
}

// flush ends all watches.
func (x *session) flush(err error) {
	for _, events := range x.open {
		events <- zookeeper.Event{Kind: zookeeper.NotWatching, Err: err}
		close(events)
	}
	x.open = nil
}

// conn is a zookeeper.Conn. What changes is guarded by the server's lock.
type conn struct {
	server  *Server
	options zookeeper.Options
	chroot  string
	ids     []string // that it may act as, scheme:id
	session *session // nil while expired and cut off
	late    []*session
	state   zookeeper.State
	cut     bool
	closed  chan struct{}
	once    sync.Once
	below   string                // what it watches with WatchAll; "": nothing
	heard   func(zookeeper.Event) // is told
}

// tell reports changes of the session.
func (c *conn) tell(states ...zookeeper.State) {
	for _, s := range states {
		if s != c.state {
			c.state = s
			if c.options.State != nil {
				c.options.State(s)
			}
		}
	}
}

func (c *conn) absolute(name string) string {
	if name == "/" && c.chroot != "" {
		return c.chroot
	}
	return c.chroot + name
}

func (c *conn) relative(name string) string {
	if name = strings.TrimPrefix(name, c.chroot); name != "" {
		return name
	}
	return "/"
}

// call runs one call with the server's lock held.
func (c *conn) call(ctx context.Context, what, name string, size int, do func(name string) error) error {
	err := zookeeper.CheckPath(name)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = c.hook(what, name)
	}
	if err == nil {
		err = c.locked(size, func() error { return do(c.absolute(name)) })
	}
	if err != nil {
		return fmt.Errorf("%s %s in ZooKeeper: %w", what, name, err)
	}
	return nil
}

func (c *conn) hook(what, name string) error {
	c.server.mu.Lock()
	before := c.server.before
	c.server.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(what, name)
}

func (c *conn) locked(size int, do func() error) error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	select {
	case <-c.closed:
		return zookeeper.ErrClosed
	default:
	}
	switch {
	case size > cmp.Or(c.options.MaxRequest, zookeeper.DefaultRequest):
		return zookeeper.ErrTooLarge
	case c.cut, c.session == nil, c.server.limit > 0 && size > c.server.limit:
		return zookeeper.ErrConnection
	}
	return do()
}

func (c *conn) Create(ctx context.Context, name string, data []byte, mode zookeeper.Mode, acl []zookeeper.ACL) (made string, err error) {
	err = c.call(ctx, "create", name, len(name)+len(data), func(name string) (err error) {
		made, err = c.server.apply(c, zookeeper.Op{Kind: zookeeper.OpCreate, Path: name, Data: data, Mode: mode, ACL: acl})
		return err
	})
	if err != nil {
		return "", err
	}
	return c.relative(made), nil
}

func (c *conn) Set(ctx context.Context, name string, data []byte, version int32) (stat zookeeper.Stat, err error) {
	err = c.call(ctx, "write", name, len(name)+len(data), func(name string) error {
		if _, err := c.server.apply(c, zookeeper.Op{Kind: zookeeper.OpSet, Path: name, Data: data, Version: version}); err != nil {
			return err
		}
		stat = c.server.nodes[name].stat()
		return nil
	})
	return stat, err
}

func (c *conn) Delete(ctx context.Context, name string, version int32) error {
	return c.call(ctx, "delete", name, 0, func(name string) error {
		_, err := c.server.apply(c, zookeeper.Op{Kind: zookeeper.OpDelete, Path: name, Version: version})
		return err
	})
}

// read runs a call that needs the right to read a node.
func (c *conn) read(ctx context.Context, what, name string, do func(name string, n *node)) error {
	return c.call(ctx, what, name, 0, func(name string) error {
		n := c.server.nodes[name]
		switch {
		case n == nil:
			return zookeeper.ErrNoNode
		case !c.server.allows(c, n, zookeeper.Read):
			return zookeeper.ErrNoAuth
		}
		do(name, n)
		return nil
	})
}

func (c *conn) Get(ctx context.Context, name string) (data []byte, stat zookeeper.Stat, err error) {
	err = c.read(ctx, "read", name, func(_ string, n *node) { data, stat = slices.Clone(n.data), n.stat() })
	return data, stat, err
}

func (c *conn) GetWatch(ctx context.Context, name string) (data []byte, stat zookeeper.Stat, events <-chan zookeeper.Event, err error) {
	err = c.read(ctx, "read", name, func(_ string, n *node) {
		data, stat, events = slices.Clone(n.data), n.stat(), c.watch(&n.dataWatches)
	})
	return data, stat, events, err
}

func (n *node) names() []string {
	var out []string
	for name := range n.children {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (c *conn) Children(ctx context.Context, name string) (names []string, stat zookeeper.Stat, err error) {
	err = c.read(ctx, "list", name, func(_ string, n *node) { names, stat = n.names(), n.stat() })
	return names, stat, err
}

func (c *conn) ChildrenWatch(ctx context.Context, name string) (names []string, stat zookeeper.Stat, events <-chan zookeeper.Event, err error) {
	err = c.read(ctx, "list", name, func(_ string, n *node) {
		names, stat, events = n.names(), n.stat(), c.watch(&n.childWatches)
	})
	return names, stat, events, err
}

func (c *conn) Exists(ctx context.Context, name string) (there bool, stat zookeeper.Stat, err error) {
	err = c.call(ctx, "look for", name, 0, func(name string) error {
		if n := c.server.nodes[name]; n != nil {
			there, stat = true, n.stat()
		}
		return nil
	})
	return there, stat, err
}

func (c *conn) ExistsWatch(ctx context.Context, name string) (there bool, stat zookeeper.Stat, events <-chan zookeeper.Event, err error) {
	err = c.call(ctx, "look for", name, 0, func(name string) error {
		if n := c.server.nodes[name]; n != nil {
			there, stat, events = true, n.stat(), c.watch(&n.dataWatches)
			return nil
		}
		waiting := "\x00" + name
		if c.server.nodes[waiting] == nil {
			c.server.nodes[waiting] = &node{}
		}
		events = c.watch(&c.server.nodes[waiting].none)
		return nil
	})
	return there, stat, events, err
}

func (c *conn) watch(at *[]watcher) <-chan zookeeper.Event {
	events := make(chan zookeeper.Event, 1)
	c.session.open = append(c.session.open, events)
	*at = append(*at, watcher{c.session, events})
	return events
}

// WatchAll implements zookeeper.Conn.
func (c *conn) WatchAll(ctx context.Context, name string, told func(zookeeper.Event)) error {
	return c.call(ctx, "watch all below", name, 0, func(name string) error {
		c.below, c.heard = name, told
		return nil
	})
}

// all tells what has happened to a node, if it is watched with WatchAll.
func (c *conn) all(e zookeeper.Event) {
	if c.below != "" && (e.Path == c.below || strings.HasPrefix(e.Path, strings.TrimSuffix(c.below, "/")+"/")) {
		e.Path = c.relative(e.Path)
		c.heard(e)
	}
}

// unwatch ends what WatchAll began.
func (c *conn) unwatch(err error) {
	if c.below != "" {
		below, heard := c.below, c.heard
		c.below, c.heard = "", nil
		heard(zookeeper.Event{Kind: zookeeper.NotWatching, Path: c.relative(below), Err: err})
	}
}

func (c *conn) GetACL(ctx context.Context, name string) (acl []zookeeper.ACL, stat zookeeper.Stat, err error) {
	err = c.call(ctx, "read the access list of", name, 0, func(name string) error {
		n := c.server.nodes[name]
		switch {
		case n == nil:
			return zookeeper.ErrNoNode
		case !c.server.allows(c, n, zookeeper.Read) && !c.server.allows(c, n, zookeeper.Admin):
			return zookeeper.ErrNoAuth
		}
		acl, stat = slices.Clone(n.acl), n.stat()
		return nil
	})
	return acl, stat, err
}

func (c *conn) SetACL(ctx context.Context, name string, acl []zookeeper.ACL, version int32) (stat zookeeper.Stat, err error) {
	err = c.call(ctx, "change the access list of", name, 0, func(name string) error {
		n := c.server.nodes[name]
		if n == nil {
			return zookeeper.ErrNoNode
		}
		fixed, err := c.server.fix(c, acl)
		switch {
		case !c.server.allows(c, n, zookeeper.Admin):
			return zookeeper.ErrNoAuth
		case err != nil:
			return err
		case version != zookeeper.AnyVersion && version != n.aversion:
			return zookeeper.ErrBadVersion
		}
		n.acl = fixed
		n.aversion++
		stat = n.stat()
		return nil
	})
	return stat, err
}

func (c *conn) Multi(ctx context.Context, ops ...zookeeper.Op) error {
	if len(ops) == 0 {
		return nil
	}
	size := 0
	for i, op := range ops {
		if err := zookeeper.CheckPath(op.Path); err != nil {
			return &zookeeper.MultiError{Index: i, Op: op, Err: err}
		}
		size += zookeeper.RequestSize(op) + len(c.chroot)
	}
	var refused *zookeeper.MultiError
	err := c.call(ctx, "multi", ops[0].Path, size, func(string) error {
		refused = c.server.transact(c, ops)
		return nil
	})
	if err == nil && refused != nil {
		return refused
	}
	return err
}

// transact makes all changes or none. Watches are told once all are made.
func (s *Server) transact(c *conn, ops []zookeeper.Op) (refused *zookeeper.MultiError) {
	s.trying = true
	for i, op := range ops {
		op.Path = c.absolute(op.Path)
		if _, err := s.apply(c, op); err != nil {
			refused = &zookeeper.MultiError{Index: i, Op: ops[i], Err: err}
			break
		}
	}
	s.trying = false
	if refused != nil {
		for _, back := range slices.Backward(s.back) {
			back()
		}
		s.told = nil
	}
	for _, tell := range s.told {
		tell()
	}
	s.back, s.told = nil, nil
	return refused
}

func (c *conn) Sync(ctx context.Context, name string) error {
	return c.call(ctx, "sync", name, 0, func(string) error { return nil })
}

func (c *conn) SessionID() int64 {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.session == nil {
		return 0
	}
	return c.session.id
}

func (c *conn) Close() {
	c.once.Do(func() {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		close(c.closed)
		if c.session != nil {
			c.server.end(c.session, zookeeper.ErrClosed)
		}
		for _, old := range c.late {
			old.flush(zookeeper.ErrClosed)
		}
		c.session = nil
	})
}
