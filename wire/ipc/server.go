package ipc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Tokens looks up the passwords of tokens for a server.
type Tokens interface {
	// Password returns the password of a token and the user that its bearer
	// acts as. It is asked at every login, must not block, and reports an
	// unknown or expired token as a *RemoteError of class ClassInvalidToken.
	// The identifier is hostile until the password has been proven.
	Password(identifier []byte) (password []byte, user string, err error)
}

// ProxyRules decide who may act for whom (hadoop.proxyuser.*).
type ProxyRules interface {
	Allow(realUser, effectiveUser string, from netip.Addr) error
}

// ServerConfig describes one port.
type ServerConfig struct {
	Name    string // for logs, e.g. "resource tracker"
	Address string // host:port; port 0 picks a free one
	// Listener, when set, is served in place of Address.
	Listener net.Listener
	// Methods that clients may authenticate by, in order of preference.
	Methods   []Method
	Tokens    Tokens // required with MethodToken
	TokenKind string // what Tokens keeps, for Identity
	// Protocols are served as long as the server is; see Offer for others.
	Protocols []Protocol
	// Proxies is asked whenever a client names a real user, under SIMPLE
	// too. Without it nobody may act for another.
	Proxies ProxyRules
	// Authorize, when set, may refuse an identity for the protocol that its
	// connection context names (hadoop-policy.xml).
	Authorize func(*Identity) error
	// ShortName maps a claimed name to a user name. By default the part
	// before the first "/" or "@".
	ShortName func(string) (string, error)
	// Protection is hadoop.rpc.protection as SASL spells it. Only "auth" (the
	// default) is built.
	Protection string
	Limits     Limits
	// Backlog bounds the answers that wait to be read, together with those of
	// the other servers that have it. Without it the server has its own.
	Backlog *Backlog
	Log     *slog.Logger
}

// Server is one listening port.
type Server struct {
	cfg      ServerConfig
	limits   Limits
	log      *slog.Logger
	own      map[string]*service // of the configuration
	table    atomic.Pointer[table]
	auths    []saslAuth
	listener net.Listener
	stats    counters
	timings  timings
	held     budget
	backlog  *Backlog
	turns    turns
	behind   flusher
	nonce    func() string

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]struct{}
	perAddr map[netip.Addr]int
	work    sync.WaitGroup // connections and their writers

	toldFull time.Time // when the log last said that there are too many connections
}

// table is what is served at a moment. It is not changed: another one takes its place.
type table struct {
	services map[string]*service
	absent   *RemoteError // the answer to calls of other protocols; nil: they are unknown
}

// service is one protocol ready for look-up without allocation.
type service struct {
	name       string
	version    uint64
	methods    map[string]entry
	signatures []uint32
}

type entry struct {
	name   string
	run    Handler
	timing *timing
}

// Listen checks the configuration and binds the address. Connections wait in
// the kernel's queue until Serve.
func Listen(cfg ServerConfig) (*Server, error) {
	s := &Server{cfg: cfg, limits: cfg.Limits.withDefaults(defaultServerIdle), log: cfg.Log,
		nonce: newNonce, conns: map[*conn]struct{}{}, perAddr: map[netip.Addr]int{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("server", cfg.Name)
	s.held.left.Store(s.limits.MaxHeld)
	if s.backlog = cfg.Backlog; s.backlog == nil {
		s.backlog = NewBacklog(0, 0, s.log)
	}
	s.behind.run = func(f func()) { s.work.Go(f) }
	s.turns.backlog, s.turns.free = s.backlog, s.limits.Places
	s.backlog.whenEased(s.turns.again)
	if err := s.checkMethods(); err != nil {
		return nil, fmt.Errorf("rpc server %q: %w", cfg.Name, err)
	}
	var err error
	if s.own, err = s.index(append(slices.Clone(cfg.Protocols), s.metaProtocol())); err != nil {
		return nil, fmt.Errorf("rpc server %q: %w", cfg.Name, err)
	}
	s.table.Store(&table{services: s.own})
	if s.listener = cfg.Listener; s.listener == nil {
		l, err := net.Listen("tcp", cfg.Address)
		if err != nil {
			return nil, fmt.Errorf("rpc server %q: %w", cfg.Name, err)
		}
		s.listener = l
	}
	return s, nil
}

func (s *Server) checkMethods() error {
	if len(s.cfg.Methods) == 0 {
		return errors.New("no authentication method")
	}
	if p := s.cfg.Protection; p != "" && p != qopAuth {
		return fmt.Errorf("protection %q is not supported, only %q", p, qopAuth)
	}
	for i, m := range s.cfg.Methods {
		if slices.Contains(s.cfg.Methods[:i], m) {
			return fmt.Errorf("authentication method %s is listed twice", m)
		}
		switch m {
		case MethodSimple:
			s.auths = append(s.auths, authSimple)
		case MethodToken:
			if s.cfg.Tokens == nil {
				return errors.New("authentication method TOKEN without Tokens")
			}
			s.auths = append(s.auths, authToken)
		default:
			return fmt.Errorf("authentication method %q is not supported, only SIMPLE and TOKEN", m)
		}
	}
	return nil
}

// Offer has the server serve these protocols beside those of its configuration, in place of what it was offered before.
func (s *Server) Offer(protocols ...Protocol) error {
	services, err := s.index(protocols)
	for name := range services {
		if s.own[name] != nil {
			err = fmt.Errorf("protocol %s is served already", name)
		}
	}
	if err != nil {
		return fmt.Errorf("rpc server %q: %w", s.cfg.Name, err)
	}
	maps.Copy(services, s.own)
	s.table.Store(&table{services: services})
	return nil
}

// Withdraw has the server serve only the protocols of its configuration. Calls of other protocols are answered with why; calls
// already passed to a handler are still answered by it. Connections stay open.
func (s *Server) Withdraw(why *RemoteError) {
	s.table.Store(&table{s.own, why})
}

func (s *Server) index(protocols []Protocol) (map[string]*service, error) {
	services := map[string]*service{}
	for _, p := range protocols {
		if services[p.Name] != nil {
			return nil, fmt.Errorf("protocol %s is listed twice", p.Name)
		}
		v := &service{name: p.Name, version: p.Version, methods: map[string]entry{}, signatures: p.Signatures}
		for name, h := range p.Methods {
			if h == nil {
				return nil, fmt.Errorf("protocol %s: method %s has no handler", p.Name, name)
			}
			v.methods[name] = entry{name, h, s.timings.of(p.Name, name)}
		}
		services[p.Name] = v
	}
	return services, nil
}

// Addr is the bound address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve accepts connections until Close, after which it returns nil.
func (s *Server) Serve() error {
	const slowest = time.Second
	var pause time.Duration
	for {
		nc, err := s.listener.Accept()
		if err == nil {
			pause = 0
			s.admit(nc)
			continue
		}
		if s.isClosed() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("rpc server %q: %w", s.cfg.Name, err)
		}
		// Out of descriptors, most likely: connections that end will help.
		pause = min(max(2*pause, 5*time.Millisecond), slowest)
		s.log.Warn("accept failed", "error", err, "pause", pause)
		time.Sleep(pause)
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// tellFull is how often the log says at the most that there are too many connections.
const tellFull = time.Minute

// admit starts serving a connection, or closes it at once when there are too
// many, as Apache's server does above ipc.server.max.connections.
func (s *Server) admit(nc net.Conn) {
	remote := addrPort(nc.RemoteAddr())
	s.mu.Lock()
	full := len(s.conns) >= s.limits.MaxConnections ||
		!remote.Addr().IsLoopback() && s.perAddr[remote.Addr()] >= s.limits.MaxConnectionsPerAddress
	if s.closed || full {
		tell := !s.closed && time.Since(s.toldFull) >= tellFull
		if tell {
			s.toldFull = time.Now()
		}
		open := len(s.conns)
		s.mu.Unlock()
		s.stats.rejected.Add(1)
		nc.Close()
		if tell {
			s.log.Warn("closing new connections at once: too many are open", "open", open, "bound", s.limits.MaxConnections,
				"boundOfAnAddress", s.limits.MaxConnectionsPerAddress, "remote", remote, "closedSoFar", s.stats.rejected.Load())
		}
		return
	}
	c := newConn(s, nc, remote)
	s.conns[c] = struct{}{}
	s.perAddr[remote.Addr()]++
	s.work.Add(1)
	s.mu.Unlock()
	s.stats.accepted.Add(1)
	go c.serve()
}

func (s *Server) forget(c *conn) {
	addr := c.remote.Addr()
	s.mu.Lock()
	delete(s.conns, c)
	if s.perAddr[addr]--; s.perAddr[addr] == 0 {
		delete(s.perAddr, addr)
	}
	s.mu.Unlock()
	s.work.Done()
}

// open is a snapshot of the connections.
func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// Close stops listening and closes every connection at once; a half-open one
// would keep its client for a whole call timeout. It then waits, until ctx
// ends, for the connections' goroutines. Calls that are answered later are
// dropped silently. Close may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	var err error
	if first {
		err = s.listener.Close()
	}
	for _, c := range s.open() {
		c.shut()
	}
	done := make(chan struct{})
	go func() { s.work.Wait(); close(done) }()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("rpc server %q: closing connections: %w", s.cfg.Name, ctx.Err())
	}
}

// addrPort is the zero value for connections without an IP address.
func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}
