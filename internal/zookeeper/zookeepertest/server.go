// Package zookeepertest is a ZooKeeper in memory: nodes, versions, access lists,
// ephemeral nodes, transactions, watches, and sessions that expire when a test says so.
package zookeepertest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/internal/zookeeper"
)

// Server keeps a tree. It is safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	nodes    map[string]*node
	zxid     int64
	sessions map[int64]*session
	last     int64 // session id
	before   func(call string, path string) error
	limit    int // bytes of a request; 0: none

	trying bool     // a transaction is under way
	back   []func() // takes its changes back, from the end
	told   []func() // tells watches of them once it is through
}

type node struct {
	data                            []byte
	acl                             []zookeeper.ACL
	version, cversion, aversion     int32
	owner                           int64
	created, modified               int64
	sequence                        int32
	children                        map[string]bool
	dataWatches, childWatches, none []watcher
}

type watcher struct {
	session *session
	events  chan zookeeper.Event
}

// New returns a server with an empty root that anyone may change.
func New() *Server {
	return &Server{nodes: map[string]*node{"/": {acl: zookeeper.Anyone(), children: map[string]bool{}}}, sessions: map[int64]*session{}}
}

// Open is a zookeeper.Opener. The address may end in a chroot; the servers in it are
// ignored.
func (s *Server) Open(o zookeeper.Options) (zookeeper.Conn, error) {
	_, chroot, err := zookeeper.ParseAddress(o.Address)
	if o.Address == "" {
		chroot, err = "", nil
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &conn{server: s, options: o, chroot: chroot, state: zookeeper.Disconnected, closed: make(chan struct{})}
	for _, a := range o.Auth {
		c.ids = append(c.ids, identity(a))
	}
	s.begin(c)
	return c, nil
}

// Before is called before each call of any connection, with the name of the method and
// the path (of a Multi, the first). If it returns an error the call fails with it
// and has no effect. It is called without locks. Nil ends that.
func (s *Server) Before(f func(call, path string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Limit refuses requests of more bytes, as jute.maxbuffer does: the connection is lost.
func (s *Server) Limit(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = bytes
}

// Dump is every node below path with its data, null as nil, by path.
func (s *Server) Dump(below string) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]byte{}
	for name, n := range s.nodes {
		if name == below || strings.HasPrefix(name, strings.TrimSuffix(below, "/")+"/") {
			out[name] = slices.Clone(n.data)
		}
	}
	return out
}

// Watches is how many watches of a node's data wait for something to see.
func (s *Server) Watches(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	if n := s.nodes[path]; n != nil {
		for _, w := range n.dataWatches {
			if slices.Contains(w.session.open, w.events) {
				count++
			}
		}
	}
	return count
}

// Put makes or overwrites a node and its parents whatever their access lists say; watches see it.
func (s *Server) Put(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := 1; at < len(name); at++ {
		if parent := name[:at]; name[at] == '/' && s.nodes[parent] == nil {
			s.add(parent, nil, 0, zookeeper.Anyone())
		}
	}
	if n := s.nodes[name]; n != nil {
		s.zxid++
		n.data, n.modified = data, s.zxid
		n.version++
		s.fire(&n.dataWatches, zookeeper.Event{Kind: zookeeper.DataChanged, Path: name})
		s.tellAll(zookeeper.Event{Kind: zookeeper.DataChanged, Path: name})
		return
	}
	s.add(name, data, 0, zookeeper.Anyone())
}

// Expire ends the session of a connection as the servers do when they do not hear of
// it: its ephemeral nodes go, and the connection begins another session.
func (s *Server) Expire(c zookeeper.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := c.(*conn); c.session != nil {
		s.end(c.session, zookeeper.ErrSessionExpired)
		c.unwatch(zookeeper.ErrConnection)
		c.tell(zookeeper.Disconnected, zookeeper.Expired)
		s.begin(c)
	}
}

// Cut cuts a connection off: its calls fail, while its session lives on.
func (s *Server) Cut(c zookeeper.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.(*conn).cut = true
	c.(*conn).unwatch(zookeeper.ErrConnection)
	c.(*conn).tell(zookeeper.Disconnected)
}

// ExpireCut ends the session of a connection that is cut off, which does not hear of it
// until Mend.
func (s *Server) ExpireCut(c zookeeper.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := c.(*conn); c.session != nil {
		s.end(c.session, nil)
		c.late = append(c.late, c.session)
		c.session = nil
	}
}

// Mend ends Cut.
func (s *Server) Mend(c zookeeper.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := c.(*conn)
	x.cut = false
	if x.session != nil {
		x.tell(zookeeper.Connected)
		return
	}
	for _, old := range x.late {
		old.flush(zookeeper.ErrSessionExpired)
	}
	x.late = nil
	x.tell(zookeeper.Expired)
	s.begin(x)
}

// begin gives a connection a session.
func (s *Server) begin(c *conn) {
	s.last++
	c.session = &session{id: s.last, conn: c}
	s.sessions[s.last] = c.session
	c.tell(zookeeper.Connected)
}

// end removes a session, its ephemeral nodes and, if err is given, its watches.
func (s *Server) end(x *session, err error) {
	delete(s.sessions, x.id)
	var owned []string
	for name, n := range s.nodes {
		if n.owner == x.id {
			owned = append(owned, name)
		}
	}
	slices.Sort(owned)
	for _, name := range owned {
		s.drop(name)
	}
	x.ended = true
	if err != nil {
		x.flush(err)
	}
}

// add makes a node and tells its watchers. The caller has checked that it may.
func (s *Server) add(name string, data []byte, owner int64, acl []zookeeper.ACL) {
	s.zxid++
	n := &node{data: data, acl: acl, owner: owner, created: s.zxid, modified: s.zxid, children: map[string]bool{}}
	if old := s.nodes["\x00"+name]; old != nil { // those who wait for it to appear
		s.fire(&old.none, zookeeper.Event{Kind: zookeeper.NodeCreated, Path: name})
	}
	parent := s.nodes[path.Dir(name)]
	s.do(func() {
		s.nodes[name] = n
		parent.children[path.Base(name)] = true
		parent.cversion++
	}, func() {
		delete(s.nodes, name)
		delete(parent.children, path.Base(name))
		parent.cversion--
	})
	s.fire(&parent.childWatches, zookeeper.Event{Kind: zookeeper.ChildrenChanged, Path: path.Dir(name)})
	s.tellAll(zookeeper.Event{Kind: zookeeper.NodeCreated, Path: name})
}

// drop removes a node and tells its watchers.
func (s *Server) drop(name string) {
	s.zxid++
	n := s.nodes[name]
	parent := s.nodes[path.Dir(name)]
	s.do(func() {
		delete(s.nodes, name)
		delete(parent.children, path.Base(name))
		parent.cversion++
	}, func() {
		s.nodes[name] = n
		parent.children[path.Base(name)] = true
		parent.cversion--
	})
	gone := zookeeper.Event{Kind: zookeeper.NodeDeleted, Path: name}
	s.fire(&n.dataWatches, gone)
	s.fire(&n.childWatches, gone)
	s.tellAll(gone)
	s.fire(&parent.childWatches, zookeeper.Event{Kind: zookeeper.ChildrenChanged, Path: path.Dir(name)})
}

// tellAll tells those who watch all below a path.
func (s *Server) tellAll(e zookeeper.Event) {
	if s.trying {
		s.told = append(s.told, func() { s.tellAll(e) })
		return
	}
	for _, x := range s.sessions {
		x.conn.all(e)
	}
}

func (s *Server) fire(watches *[]watcher, e zookeeper.Event) {
	if s.trying {
		s.told = append(s.told, func() { s.fire(watches, e) })
		return
	}
	for _, w := range *watches {
		if !w.session.done(w.events) {
			continue
		}
		e := e
		e.Path = w.session.conn.relative(e.Path)
		w.events <- e
		close(w.events)
	}
	*watches = nil
}

// allows tells whether a session may do that with a node.
func (s *Server) allows(c *conn, n *node, want zookeeper.Perms) bool {
	for _, a := range n.acl {
		if a.Perms&want == want && (a.Scheme == "world" && a.ID == "anyone" || slices.Contains(c.ids, a.Scheme+":"+a.ID)) {
			return true
		}
	}
	return false
}

// fix replaces the scheme auth by those of the session, as servers do.
func (s *Server) fix(c *conn, acl []zookeeper.ACL) ([]zookeeper.ACL, error) {
	var out []zookeeper.ACL
	for _, a := range acl {
		switch a.Scheme {
		case "auth":
			for _, id := range c.ids {
				scheme, id, _ := strings.Cut(id, ":")
				out = append(out, zookeeper.ACL{Perms: a.Perms, Scheme: scheme, ID: id})
			}
		case "world", "digest", "ip", "sasl", "x509":
			out = append(out, a)
		default:
			return nil, zookeeper.ErrInvalidACL
		}
	}
	if len(out) == 0 {
		return nil, zookeeper.ErrInvalidACL
	}
	return out, nil
}

func identity(a zookeeper.Auth) string {
	if a.Scheme == "digest" {
		user, password, _ := strings.Cut(string(a.Secret), ":")
		return "digest:" + zookeeper.Digest(user, password)
	}
	return a.Scheme + ":" + string(a.Secret)
}

func (n *node) stat() zookeeper.Stat {
	return zookeeper.Stat{Version: n.version, ChildrenVersion: n.cversion, ACLVersion: n.aversion, Owner: n.owner,
		Size: int32(len(n.data)), Children: int32(len(n.children)), Created: n.created, Modified: n.modified}
}

// do makes a change that the transaction under way may have to take back.
func (s *Server) do(change, back func()) {
	change()
	if s.trying {
		s.back = append(s.back, back)
	}
}

// apply makes one change. Its error has no effect.
func (s *Server) apply(c *conn, op zookeeper.Op) (name string, err error) {
	name = op.Path
	n := s.nodes[name]
	if op.Kind != zookeeper.OpCreate && n == nil {
		return "", zookeeper.ErrNoNode
	}
	if n != nil && op.Kind != zookeeper.OpCreate && op.Version != zookeeper.AnyVersion && op.Version != n.version && s.readable(c, op, n) {
		return "", zookeeper.ErrBadVersion
	}
	switch op.Kind {
	case zookeeper.OpCreate:
		return s.create(c, op)
	case zookeeper.OpSet:
		if !s.allows(c, n, zookeeper.Write) {
			return "", zookeeper.ErrNoAuth
		}
		s.zxid++
		data, modified := n.data, n.modified
		s.do(func() {
			n.data, n.modified = slices.Clone(op.Data), s.zxid
			n.version++
		}, func() {
			n.data, n.modified = data, modified
			n.version--
		})
		s.fire(&n.dataWatches, zookeeper.Event{Kind: zookeeper.DataChanged, Path: name})
		s.tellAll(zookeeper.Event{Kind: zookeeper.DataChanged, Path: name})
	case zookeeper.OpDelete:
		switch {
		case !s.allows(c, s.nodes[path.Dir(name)], zookeeper.DeleteChild):
			return "", zookeeper.ErrNoAuth
		case len(n.children) > 0:
			return "", zookeeper.ErrNotEmpty
		}
		s.drop(name)
	case zookeeper.OpCheck:
		if !s.allows(c, n, zookeeper.Read) {
			return "", zookeeper.ErrNoAuth
		}
	default:
		return "", fmt.Errorf("no such %s", op.Kind)
	}
	return name, nil
}

// readable tells whether a wrong version is told before a missing permission: never.
func (s *Server) readable(c *conn, op zookeeper.Op, n *node) bool {
	switch op.Kind {
	case zookeeper.OpSet:
		return s.allows(c, n, zookeeper.Write)
	case zookeeper.OpDelete:
		return s.allows(c, s.nodes[path.Dir(op.Path)], zookeeper.DeleteChild)
	}
	return s.allows(c, n, zookeeper.Read)
}

func (s *Server) create(c *conn, op zookeeper.Op) (string, error) {
	name := op.Path
	parent := s.nodes[path.Dir(name)]
	if parent == nil {
		return "", zookeeper.ErrNoNode
	}
	if !s.allows(c, parent, zookeeper.CreateChild) {
		return "", zookeeper.ErrNoAuth
	}
	acl, err := s.fix(c, op.ACL)
	if err != nil {
		return "", err
	}
	if op.Mode == zookeeper.PersistentSequential || op.Mode == zookeeper.EphemeralSequential {
		name += fmt.Sprintf("%010d", parent.sequence)
		s.do(func() { parent.sequence++ }, func() { parent.sequence-- })
	}
	switch {
	case s.nodes[name] != nil:
		return "", zookeeper.ErrNodeExists
	case parent.owner != 0:
		return "", zookeeper.ErrEphemeral
	}
	owner := int64(0)
	if op.Mode == zookeeper.Ephemeral || op.Mode == zookeeper.EphemeralSequential {
		owner = c.session.id
	}
	s.add(name, slices.Clone(op.Data), owner, acl)
	return name, nil
}

// Lose ends the connection of a conn to its server; it goes on with its session, without what it has watched with WatchAll.
func (s *Server) Lose(c zookeeper.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.(*conn).unwatch(zookeeper.ErrConnection)
	c.(*conn).tell(zookeeper.Disconnected, zookeeper.Connected)
}
