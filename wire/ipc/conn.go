package ipc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// conn is one accepted connection. Its goroutine alone uses everything but
// the outbox and the atomics.
type conn struct {
	server   *Server
	limits   *Limits
	remote   netip.AddrPort
	sock     *socket
	in       frames
	out      outbox
	received atomic.Int64
	closing  sync.Once
	who      atomic.Pointer[Identity] // identity, for other goroutines
	ended    chan struct{}            // closed with the connection

	auth          authentication
	identity      *Identity // nil until the context is accepted
	clientID      []byte    // of the last call; a connection rarely has two
	callerContext string    // likewise
	corked        bool
}

func newConn(s *Server, nc net.Conn, remote netip.AddrPort) *conn {
	c := &conn{server: s, limits: &s.limits, remote: remote, sock: newSocket(nc), ended: make(chan struct{})}
	c.in = frames{sock: c.sock, budget: &s.held, frameTime: s.limits.Frame, idle: s.limits.Idle,
		until: time.Now().Add(s.limits.Handshake)}
	c.out = outbox{sock: c.sock, limit: s.limits.MaxQueued, strict: true, timeout: s.limits.Write, run: c.spawn, fail: c.writeFailed,
		owe: func(n int64) { s.backlog.add(c, n) }, behind: &s.behind}
	c.out.init()
	return c
}

// spawn runs f in a goroutine that Close waits for. It is called with an open
// outbox locked, so the connection's own goroutine still counts and the group
// is not empty.
func (c *conn) spawn(f func()) {
	c.server.work.Add(1)
	go func() { defer c.server.work.Done(); f() }()
}

// broken counts and logs an error that is a streamError.
func (c *conn) broken(err error) {
	if why := (*streamError)(nil); errors.As(err, &why) {
		c.server.stats.panics.Add(1)
		c.server.log.Error("an answer is not given, or breaks off", "remote", c.remote, "error", err, "stack", why.stack)
	}
}

func (c *conn) writeFailed(err error) {
	if errors.Is(err, errSlowReader) || errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.stats.slowReaders.Add(1)
		c.server.log.Warn("closing a connection that does not read", "remote", c.remote, "error", err)
	}
	c.broken(err)
	c.shut()
}

// shut ends the connection from any goroutine.
func (c *conn) shut() {
	c.closing.Do(func() {
		close(c.ended)
		c.out.close()
		c.sock.Close()
	})
}

// serve runs the connection to its end.
func (c *conn) serve() {
	err := c.run()
	var refused *refusal
	if errors.As(err, &refused) {
		c.refuse(refused)
	} else if err != nil && !quiet(err) {
		c.server.log.Debug("connection ended", "remote", c.remote, "error", err)
	}
	c.shut()
	c.in.drop()
	c.server.stats.received.Add(c.in.got)
	c.received.Store(0)
	c.out.mu.Lock()
	c.server.stats.sent.Add(c.out.sent)
	c.out.sent = 0
	c.out.mu.Unlock()
	c.server.forget(c)
}

// quiet tells whether an error is an ordinary end of a connection, not worth a
// warning.
func quiet(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

func (c *conn) run() error {
	if err := c.preamble(); err != nil {
		return err
	}
	for {
		if err := c.makeRoom(); err != nil {
			return err
		}
		limit := c.limits.MaxFrame
		if c.identity == nil {
			limit = min(limit, c.limits.MaxEarly)
		}
		b, frame, err := c.in.next(limit)
		if errors.Is(err, os.ErrDeadlineExceeded) && c.busy() {
			continue
		}
		if err != nil {
			return err
		}
		c.received.Store(c.in.got)
		more := c.in.more()
		if more && !c.corked {
			c.cork(true)
		}
		if err := c.handle(b, frame); err != nil {
			return err
		}
		if !more && c.corked {
			c.cork(false)
		}
	}
}

func (c *conn) cork(on bool) {
	c.corked = on
	c.out.cork(on)
}

// busy reports whether an idle deadline may be ignored: calls are in flight
// and no frame has begun.
func (c *conn) busy() bool {
	if c.identity == nil || len(c.in.buffered()) > 0 || c.in.armed != deadlineIdle {
		return false
	}
	c.in.armed = deadlineNone
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.calls > 0
}

// user is the user to whom the connection's unread answers are charged.
func (c *conn) user() string {
	if id := c.who.Load(); id != nil {
		return id.User
	}
	return ""
}

// makeRoom waits while the connection has too many unanswered calls or too many
// unread answers; while the server's backlog is full for its user, any unread
// answer is too many. Corked frames are written first.
func (c *conn) makeRoom() error {
	o := &c.out
	full := func() bool {
		return o.calls >= c.limits.MaxCallsPerConnection || o.queued > o.limit/2 || o.flushing && c.server.backlog.full(c.user())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return net.ErrClosed // the peer is gone: the requests received so far need no answer
	}
	if !full() {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	o.corked, c.corked = false, false
	for !o.closed && full() {
		o.changed.Wait()
	}
	return nil
}

// handle deals with one frame. It owns b.
func (c *conn) handle(b *buffer, frame []byte) error {
	var h requestHeader
	msg, rest, ok := delimited(frame)
	if !ok {
		b.free()
		return refuse(&h, fatal(ClassServer, FatalDeserializing, "request frame holds no header"))
	}
	if err := h.parse(msg); err != nil {
		b.free()
		return refuse(&h, fatal(ClassServer, FatalDeserializing, "request header: "+err.Error()))
	}
	if e := checkHeader(&h); e != nil {
		b.free()
		return refuse(&h, e)
	}
	if h.call >= 0 {
		return c.call(b, &h, rest)
	}
	defer b.free()
	switch h.call {
	case callContext:
		return c.context(&h, rest)
	case callSASL:
		return c.sasl(&h, rest)
	case callPing:
		return nil
	}
	return refuse(&h, fatal(ClassServer, FatalInvalidHeader, fmt.Sprintf("call id %d has no meaning", h.call)))
}

func checkHeader(h *requestHeader) *RemoteError {
	switch {
	case !h.hasOp || h.op != opFinal:
		return fatal(ClassServer, FatalInvalidHeader, "request header: rpcOp must be RPC_FINAL_PACKET")
	case !h.hasKind:
		return fatal(ClassServer, FatalInvalidHeader, "request header: rpcKind is missing")
	case h.call >= 0 && h.kind != kindProto:
		return fatal(ClassServer, FatalInvalidHeader, fmt.Sprintf("rpcKind %d is not served, only RPC_PROTOCOL_BUFFER", h.kind))
	}
	return nil
}

// call dispatches one request to its handler.
func (c *conn) call(b *buffer, h *requestHeader, payload []byte) error {
	if c.identity == nil {
		b.free()
		return refuse(h, fatal(ClassServer, FatalInvalidHeader, "call before the connection context"))
	}
	var t target
	head, rest, ok := delimited(payload)
	if !ok || t.parse(head) != nil {
		b.free()
		return refuse(h, fatal(ClassServer, FatalDeserializing, "malformed call header"))
	}
	body, rest, ok := delimited(rest)
	if !ok || len(rest) != 0 {
		b.free()
		return refuse(h, fatal(ClassServer, FatalDeserializing, "malformed request message"))
	}
	if string(h.clientID) != string(c.clientID) {
		c.clientID = cloned(h.clientID)
	}
	if err := c.rememberContext(h.callerContext); err != nil {
		b.free()
		return refuse(h, fatal(ClassServer, FatalDeserializing, "caller context: "+err.Error()))
	}
	k := &Call{Caller: c.identity, ClientID: c.clientID, CallID: h.call, RetryCount: h.retry,
		CallerContext: c.callerContext, Body: body, conn: c, frame: b}
	c.out.mu.Lock()
	c.out.calls++
	c.out.mu.Unlock()
	c.server.stats.calls.Add(1)
	run, err := c.server.find(&t)
	if err != nil {
		k.Protocol, k.Method = string(t.protocol), string(t.method)
		k.Fail(err)
		return nil
	}
	k.Protocol, k.Method, k.timing, k.began = run.protocol, run.method, run.timing, time.Now()
	k.run(run.handler)
	return nil
}

// rememberContext keeps the caller context of the last call as a string.
func (c *conn) rememberContext(raw []byte) error {
	if raw == nil {
		c.callerContext = ""
		return nil
	}
	text, err := parseCallerContext(raw)
	if err == nil && string(text) != c.callerContext {
		c.callerContext = string(text)
	}
	return err
}

type route struct {
	protocol, method string
	handler          Handler
	timing           *timing
}

// find looks up protocol, version and method.
func (s *Server) find(t *target) (route, error) {
	now := s.table.Load()
	v := now.services[string(t.protocol)]
	if v == nil && now.absent != nil {
		return route{}, now.absent
	}
	if v == nil {
		return route{}, &RemoteError{Class: ClassNoSuchProtocol, Detail: ErrorNoSuchProtocol,
			Message: "Unknown protocol: " + printable(t.protocol)}
	}
	if v.version != t.version {
		return route{}, &RemoteError{Class: ClassVersionMismatch, Detail: ErrorVersionMismatch,
			Message: fmt.Sprintf("Protocol %s version mismatch. (client = %d, server = %d)", v.name, t.version, v.version)}
	}
	e, ok := v.methods[string(t.method)]
	if !ok {
		return route{}, &RemoteError{Class: ClassNoSuchMethod, Detail: ErrorNoSuchMethod,
			Message: fmt.Sprintf("Unknown method %s called on %s protocol.", printable(t.method), v.name)}
	}
	return route{v.name, e.name, e.run, e.timing}, nil
}

// Go continues a call on a goroutine of its own. A panic there is answered like a panic of the handler.
func (c *Call) Go(do func()) { go c.run(func(*Call) { do() }) }

// run calls the handler and turns its panic into an answer.
func (c *Call) run(h Handler) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(p)
		}
	}()
	h(c)
}

func (c *Call) panicked(p any) {
	s := c.conn.server
	s.stats.panics.Add(1)
	s.log.Error("handler panicked", "protocol", c.Protocol, "method", c.Method, "user", c.Caller.User,
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if !c.answered.Load() {
		c.Fail(&RemoteError{Class: ClassRuntime, Message: "internal error in " + c.Method + "; see the server's log"})
	}
}

// answered counts an answer that is being appended; the outbox is locked.
func (c *conn) answered() {
	if c.out.calls--; c.out.calls+1 >= c.limits.MaxCallsPerConnection {
		c.out.changed.Broadcast()
	}
}

// printable is hostile text made fit for a message or a log line.
func printable[T string | []byte](b T) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, clip(string(b), 200))
}
