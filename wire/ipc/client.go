package ipc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Token is a security token as its bearer holds it.
type Token struct {
	Identifier, Password []byte
	Kind, Service        string
}

// Credentials are who a client is.
type Credentials struct {
	User     string // effective user, claimed under SIMPLE
	RealUser string // set when acting for User
	// Tokens returns the token to use for a protocol, or nil to log in by
	// SIMPLE. It is asked at every call, and a changed token gets a
	// connection of its own.
	Tokens func(protocol string) *Token
}

// ClientConfig describes a client.
type ClientConfig struct {
	Credentials   Credentials
	Timeout       time.Duration // for one call, connecting excluded; 120 s (ipc.client.rpc-timeout.ms)
	Connect       Connect
	CallerContext string // sent with every call
	// RefuseSimple ends a login when a server answers a token with SIMPLE,
	// as Hadoop does unless ipc.client.fallback-to-simple-auth-allowed.
	// Clusters without Kerberos need it false: their servers do that.
	RefuseSimple bool
	Limits       Limits
}

var (
	// ErrClosed is the error of calls on a closed client.
	ErrClosed = errors.New("rpc client is closed")
	// ErrAuthentication wraps a login that failed on this side, such as
	// having no credential that the server accepts.
	ErrAuthentication = errors.New("rpc authentication failed")
)

// ConnectError is a failure before the connection could carry calls, so that
// no call has been sent. It wraps the network's error or a *RemoteError.
type ConnectError struct {
	Address string
	Err     error
}

func (e *ConnectError) Error() string { return "connecting to " + e.Address + ": " + e.Err.Error() }
func (e *ConnectError) Unwrap() error { return e.Err }

// Client makes calls over pooled connections. It is safe for concurrent use.
type Client struct {
	cfg      ClientConfig
	limits   Limits
	id       [16]byte
	nonce    func() string
	nextCall atomic.Int32
	ctx      context.Context // ends at Close
	cancel   context.CancelFunc

	mu     sync.Mutex
	closed bool
	links  map[linkKey]*link
	work   sync.WaitGroup
}

// linkKey tells which calls may share a connection.
type linkKey struct {
	address, protocol, user, realUser string
	token                             string // identifier and password; empty under SIMPLE
}

// NewClient connects to nothing yet.
func NewClient(cfg ClientConfig) *Client {
	or(&cfg.Timeout, 120*time.Second)
	or(&cfg.Connect.Timeout, 20*time.Second)
	c := &Client{cfg: cfg, limits: cfg.Limits.withDefaults(defaultClientIdle), nonce: newNonce, links: map[linkKey]*link{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	rand.Read(c.id[:])
	// A random UUID, as Java makes them.
	c.id[6], c.id[8] = c.id[6]&0x0f|0x40, c.id[8]&0x3f|0x80
	return c
}

// Close ends all connections and their calls, and waits for the goroutines.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	links := c.links
	c.links = map[linkKey]*link{}
	c.mu.Unlock()
	c.cancel()
	for _, l := range links {
		l.end(ErrClosed)
	}
	c.work.Wait()
	return nil
}

// Call sends a request message to a method and returns the response message,
// which the caller owns. Errors: *RemoteError for an exception of the server;
// *ConnectError if the call was never sent; otherwise one that wraps the
// context's error, os.ErrDeadlineExceeded after the timeout, or the
// connection's, and the server may or may not have acted.
func (c *Client) Call(ctx context.Context, address, protocol, method string, request []byte) ([]byte, error) {
	return c.CallAs(ctx, &c.cfg.Credentials, address, protocol, method, request)
}

// CallAs is Call with other credentials than the client's.
func (c *Client) CallAs(ctx context.Context, as *Credentials, address, protocol, method string, request []byte) ([]byte, error) {
	return c.do(ctx, as, address, protocol, method, request, 0)
}

func (c *Client) do(ctx context.Context, as *Credentials, address, protocol, method string, request []byte, retry int32) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(request) > c.limits.MaxFrame-4096 {
		return nil, fmt.Errorf("%s to %s: request of %d bytes, at most %d", method, address, len(request), c.limits.MaxFrame-4096)
	}
	var token *Token
	if as.Tokens != nil {
		token = as.Tokens(protocol)
	}
	key := linkKey{address: address, protocol: protocol, user: as.User, realUser: as.RealUser}
	if token != nil {
		key.token = fmt.Sprintf("%d:%s%s", len(token.Identifier), token.Identifier, token.Password)
	}
	for {
		l, err := c.link(key, token)
		if err != nil {
			return nil, err
		}
		answer, err := l.call(ctx, method, request, retry)
		if errors.Is(err, errRetired) { // ended between look-up and sending: nothing was sent
			continue
		}
		if err != nil {
			return nil, describe(err, method, address)
		}
		return answer, nil
	}
}

// describe adds method and address to an error, unless it is a RemoteError or a
// ConnectError.
func describe(err error, method, address string) error {
	var remote *RemoteError
	var connect *ConnectError
	if errors.As(err, &remote) || errors.As(err, &connect) {
		return err
	}
	return fmt.Errorf("%s to %s: %w", method, address, err)
}

// link returns the connection for key, starting one if there is none.
func (c *Client) link(key linkKey, token *Token) (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if l := c.links[key]; l != nil {
		return l, nil
	}
	if len(c.links) >= c.limits.MaxConnections {
		return nil, fmt.Errorf("rpc client has %d connections, the most it may", len(c.links))
	}
	l := newLink(c, key, token)
	c.links[key] = l
	c.work.Add(1)
	go func() { defer c.work.Done(); l.run() }()
	return l, nil
}

// drop forgets a link unless it has been replaced.
func (c *Client) drop(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links[l.key] == l {
		delete(c.links, l.key)
	}
}
