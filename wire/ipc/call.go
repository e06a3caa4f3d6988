package ipc

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// Method is an authentication method, spelled as in SASL negotiation.
type Method string

const (
	MethodSimple   Method = "SIMPLE"
	MethodToken    Method = "TOKEN"
	MethodKerberos Method = "KERBEROS"
)

// Identity is who is at the other end of a connection, fixed once its context
// has been accepted.
type Identity struct {
	User            string // effective short name; under TOKEN the name that Tokens returned
	RealUser        string // who acts for User; empty unless proxied
	Method          Method
	TokenKind       string // ServerConfig.TokenKind, under TOKEN only
	TokenIdentifier []byte // as received, under TOKEN only
	Remote          netip.AddrPort
	Protocol        string // named in the connection context; calls may name another
}

// Call is one request. Its handler answers it once, with Reply or Fail, from
// any goroutine. Body, and slices of it, may be used only until the call is
// answered: the memory is then reused. The other fields stay valid.
type Call struct {
	Caller        *Identity
	ClientID      []byte // 16 bytes from Java clients
	CallID        int32
	RetryCount    int32 // 0 first, then the count of retries and failovers
	CallerContext string
	Protocol      string
	Method        string
	Body          []byte // the request message

	conn     *conn
	frame    *buffer
	answered atomic.Bool
	timing   *timing // nil: the call is not counted
	began    time.Time
	waited   time.Duration
	finished chan struct{} // of a call in turn: closed when it is answered
}

// Handler starts the work of a call. It runs on the connection's reading
// goroutine, so it must not block, unless it is InTurn: to answer later, keep
// the call and return, or see Call.Go. A panic is recovered, logged and answered
// as an error.
type Handler func(*Call)

// Protocol is a table of methods under one protocol name and version.
type Protocol struct {
	Name    string // the Java interface's name, as on the wire
	Version uint64 // 1 for all of YARN's
	Methods map[string]Handler
	// Signatures are Java's hash codes of the interface's methods
	// (ipc.ProtocolSignature), which getProtocolSignature answers. Without
	// them that one meta call is refused.
	Signatures []uint32
}

// Reply answers with a response message (without its length). The body is
// copied before Reply returns and may alias the request's.
func (c *Call) Reply(body []byte) {
	if len(body) > c.conn.limits.MaxResponse {
		c.tooLarge()
		return
	}
	if len(body) > keepSize { // in buffers that are free again one by one as the peer reads
		a := c.Answer()
		for piece := range slices.Chunk(body, fullChunk) {
			a.Append(func(b []byte) []byte { return append(b, piece...) })
		}
		a.Send()
		return
	}
	if !c.claim() {
		return
	}
	o := &c.conn.out
	if b, ok := o.begin(len(body)); ok {
		b, at := openFrame(b)
		b = appendResponseOK(b, c.CallID, c.RetryCount, c.ClientID)
		b = closeFrame(appendBody(b, body), at)
		c.conn.answered()
		o.end(b, false)
	}
	c.release()
}

func (c *Call) tooLarge() {
	c.Fail(&RemoteError{Class: ClassServer, Detail: ErrorSerializingResponse,
		Message: fmt.Sprintf("response of %s has more than %d bytes; ask for less at once", c.Method, c.conn.limits.MaxResponse)})
}

// Fail answers with an exception: a *RemoteError (also wrapped) with its own
// class, any other error as java.io.IOException with its text.
func (c *Call) Fail(err error) {
	if !c.claim() {
		return
	}
	e := *remote(err)
	e.Fatal = false // one call's failure does not end the others'
	c.conn.server.stats.failed.Add(1)
	o := &c.conn.out
	if b, ok := o.begin(len(e.Message)); ok {
		b, at := openFrame(b)
		b = appendResponseError(b, c.CallID, c.RetryCount, c.ClientID, &e)
		c.conn.answered()
		o.end(closeFrame(b, at), false)
	}
	c.release()
}

// Gone reports whether the connection has ended, so that nobody waits.
func (c *Call) Gone() bool {
	c.conn.out.mu.Lock()
	defer c.conn.out.mu.Unlock()
	return c.conn.out.closed
}

// claim makes the first answer the only one.
func (c *Call) claim() bool {
	if c.answered.CompareAndSwap(false, true) {
		return true
	}
	c.conn.server.stats.answeredTwice.Add(1)
	c.conn.server.log.Error("call answered twice; the second answer is dropped", "protocol", c.Protocol, "method", c.Method)
	return false
}

func (c *Call) release() {
	c.Forget()
	if t := c.timing; t != nil {
		t.calls.Add(1)
		t.took.Add(int64(time.Since(c.began) - c.waited))
		if c.waited > 0 {
			t.waited.Add(int64(c.waited))
		}
	}
	if c.finished != nil {
		close(c.finished)
	}
}

// Forget releases the memory of the request before the call is answered.
func (c *Call) Forget() {
	c.Body = nil
	c.frame.free()
	c.frame = nil
}

// Crowded reports whether so many bytes of answers wait unread, of the caller
// or of all users, that a large answer should be refused if the caller can ask
// for it again.
func (c *Call) Crowded() bool { return c.conn.server.backlog.full(c.Caller.User) }
