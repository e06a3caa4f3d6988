package ipc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// errRetired says that a link ended before a call was sent on it.
var errRetired = errors.New("connection retired")

var errRefused = syscall.ECONNREFUSED

// link is one client connection and the calls that wait on it.
type link struct {
	client *Client
	key    linkKey
	token  *Token
	ready  chan struct{} // closed when the login has ended, either way
	room   chan struct{} // one element per call in flight

	mu      sync.Mutex
	sock    *socket // nil until connected
	out     *outbox // set before ready; nil if connecting failed
	ended   error   // why no further call may be sent
	pending map[int32]*waiting
	heard   time.Time // of the last frame
	spoke   time.Time // of the last request or ping
	tick    *time.Timer
}

// waiting is one call in flight.
type waiting struct {
	done chan struct{}
	body []byte
	err  error
}

func newLink(c *Client, key linkKey, token *Token) *link {
	return &link{client: c, key: key, token: token, ready: make(chan struct{}),
		room: make(chan struct{}, c.limits.MaxCallsPerConnection), pending: map[int32]*waiting{}}
}

// call sends one request and waits for its answer.
func (l *link) call(ctx context.Context, method string, request []byte, retry int32) ([]byte, error) {
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	timer := time.NewTimer(l.client.cfg.Timeout)
	defer timer.Stop()
	select {
	case l.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, fmt.Errorf("%d calls are in flight: %w", cap(l.room), os.ErrDeadlineExceeded)
	}
	defer func() { <-l.room }()
	if l.out != nil && l.out.full() {
		return nil, fmt.Errorf("more than %d bytes wait to be written: %w", l.client.limits.MaxQueued, syscall.ENOBUFS)
	}
	begun := time.Now()
	id := l.client.nextCall.Add(1) & 0x7fffffff
	w := &waiting{done: make(chan struct{})}
	if err := l.enter(id, w, begun); err != nil {
		return nil, err
	}
	if b, ok := l.out.begin(len(request)); ok {
		b, at := openFrame(b)
		b = appendRequestHeader(b, id, retry, l.client.id[:], l.client.cfg.CallerContext)
		b = appendTarget(b, l.key.protocol, method, 1)
		b = appendBody(b, request)
		l.out.end(closeFrame(b, at), false)
	}
	select {
	case <-w.done:
		return w.body, w.err
	case <-ctx.Done():
		l.leave(id)
		return nil, ctx.Err()
	case <-timer.C:
		l.timedOut(id, begun)
		return nil, fmt.Errorf("no answer within %v: %w", l.client.cfg.Timeout, os.ErrDeadlineExceeded)
	}
}

// enter registers a call, or tells why the link takes none.
func (l *link) enter(id int32, w *waiting, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return l.ended
	}
	if l.pending[id] != nil {
		return fmt.Errorf("call id %d is still in flight", id)
	}
	l.pending[id] = w
	l.spoke = now
	return nil
}

func (l *link) leave(id int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
	l.spoke = time.Now()
}

// timedOut gives a call up, and the connection with it if nothing at all has
// come since the call was sent: the peer is likely gone.
func (l *link) timedOut(id int32, begun time.Time) {
	l.leave(id)
	l.mu.Lock()
	silent := !l.heard.After(begun)
	l.mu.Unlock()
	if silent {
		l.end(fmt.Errorf("connection silent for %v: %w", l.client.cfg.Timeout, os.ErrDeadlineExceeded))
	}
}

// end stops the link: waiting calls fail with err, later ones go elsewhere.
func (l *link) end(err error) {
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		return
	}
	l.ended = errRetired
	if errors.Is(err, ErrClosed) {
		l.ended = ErrClosed
	}
	waiters := l.pending
	l.pending = nil
	sock, out := l.sock, l.out
	if l.tick != nil {
		l.tick.Stop()
	}
	l.mu.Unlock()
	l.client.drop(l)
	for _, w := range waiters {
		w.err = err
		close(w.done)
	}
	if out != nil {
		out.close()
	}
	if sock != nil {
		sock.Close()
	}
}

// run connects, logs in and reads answers until the link ends.
func (l *link) run() {
	in, err := l.connect()
	if err != nil {
		l.refuse(err)
		return
	}
	close(l.ready)
	err = l.read(in)
	in.drop()
	l.end(err)
}

// refuse ends a link that never carried a call; whoever waits for it gets
// the reason.
func (l *link) refuse(err error) {
	l.end(err)
	l.mu.Lock()
	if errors.Is(l.ended, errRetired) {
		l.ended = &ConnectError{Address: l.key.address, Err: err}
	}
	l.mu.Unlock()
	close(l.ready)
}

// connect dials and logs in. The connection context is left in the outbox and
// travels with the first call.
func (l *link) connect() (*frames, error) {
	c := l.client
	nc, err := c.cfg.Connect.dial(c.ctx, l.key.address)
	if err != nil {
		return nil, err
	}
	sock := newSocket(nc)
	if !l.attach(sock) {
		nc.Close()
		return nil, ErrClosed
	}
	in := &frames{sock: sock, frameTime: c.limits.Frame, until: time.Now().Add(c.limits.Handshake)}
	out := &outbox{sock: sock, limit: c.limits.MaxQueued, timeout: c.limits.Write, fail: l.end,
		run: func(f func()) { c.work.Add(1); go func() { defer c.work.Done(); f() }() }}
	out.init()
	first, err := l.login(in)
	if err != nil {
		in.drop()
		return nil, err
	}
	in.established()
	if err := sock.SetWriteDeadline(time.Time{}); err != nil {
		return nil, err
	}
	if b, ok := out.begin(len(first)); ok {
		out.end(append(b, first...), true)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out, l.heard, l.spoke = out, time.Now(), time.Now()
	if l.ended == nil {
		l.tick = time.AfterFunc(l.period(), l.check)
	}
	return in, nil
}

func (l *link) attach(s *socket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sock = s
	return l.ended == nil
}

// login authenticates and returns what must precede the first call.
func (l *link) login(in *frames) ([]byte, error) {
	b := []byte{'h', 'r', 'p', 'c', ipcVersion, 0, authNone}
	user, realUser := l.key.user, l.key.realUser
	if l.token != nil {
		b[6] = authSASL
		method, pre, err := l.negotiate(in, b)
		if err != nil {
			return nil, err
		}
		b = pre
		if method == MethodToken {
			user, realUser = "", ""
		}
	}
	b, at := openFrame(b)
	b = appendRequestHeader(b, callContext, -1, l.client.id[:], "")
	b = appendContext(b, user, realUser, l.key.protocol)
	return closeFrame(b, at), nil
}

// read delivers answers until the connection ends.
func (l *link) read(in *frames) error {
	for {
		b, frame, err := in.next(l.client.limits.MaxResponse + mib)
		if err != nil {
			return err
		}
		err = l.deliver(frame)
		b.free()
		if err != nil {
			return err
		}
	}
}

// deliver hands one response to its call. An error ends the connection.
func (l *link) deliver(frame []byte) error {
	h, body, err := parseResponse(frame)
	if err != nil {
		return err
	}
	var failure *RemoteError
	if h.status != statusSuccess {
		failure = h.remote()
	}
	l.mu.Lock()
	l.heard = time.Now()
	w := l.pending[h.call]
	delete(l.pending, h.call)
	l.mu.Unlock()
	if w != nil { // else: its caller gave up
		if failure != nil {
			w.err = failure
		} else {
			w.body = cloned(body)
		}
		close(w.done)
	}
	if failure != nil && failure.Fatal {
		return failure
	}
	return nil
}

// parseResponse splits a response frame. The body aliases it.
func parseResponse(frame []byte) (h responseHeader, body []byte, err error) {
	head, rest, ok := delimited(frame)
	if !ok {
		return h, nil, errors.New("malformed response frame")
	}
	if err := h.parse(head); err != nil {
		return h, nil, err
	}
	if h.status == statusSuccess {
		body, rest, ok = delimited(rest)
	}
	if !ok || len(rest) != 0 {
		return h, nil, errors.New("malformed response: bytes missing or left over")
	}
	return h, body, nil
}

func (h *responseHeader) remote() *RemoteError {
	return &RemoteError{Class: string(h.class), Message: string(h.message), Detail: h.detail, Fatal: h.status == statusFatal}
}

// period is how often check runs.
func (l *link) period() time.Duration {
	return min(l.client.limits.Idle, l.client.limits.Ping) / 2
}

// check pings while calls wait in silence, and retires an unused connection.
func (l *link) check() {
	now := time.Now()
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		return
	}
	quiet := now.Sub(l.spoke)
	busy := len(l.pending) > 0
	ping := busy && quiet >= l.client.limits.Ping
	retire := !busy && quiet >= l.client.limits.Idle
	if ping {
		l.spoke = now
	}
	out := l.out
	l.tick.Reset(l.period())
	l.mu.Unlock()
	switch {
	case ping:
		if b, ok := out.begin(0); ok {
			b, at := openFrame(b)
			out.end(closeFrame(appendRequestHeader(b, callPing, -1, l.client.id[:], ""), at), false)
		}
	case retire:
		l.end(errRetired)
	}
}
