package filesystem

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// session bounds every network connection of one FileSystem: they die with its context, and with it all that libraries
// do on them.
type session struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limits Limits
	dial   func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	open  map[*guard]bool
	dials int // since begin
}

func newSession(ctx context.Context, cfg Config) *session {
	s := &session{limits: cfg.Limits, dial: cfg.Dial, open: map[*guard]bool{}}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// begin starts a step that may open maxDials connections.
func (s *session) begin() {
	s.mu.Lock()
	s.dials = 0
	s.mu.Unlock()
}

func (s *session) dialled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dials++; s.dials > maxDials {
		return fmt.Errorf("%w: still nothing after %d connections", ErrStalled, maxDials)
	}
	return nil
}

var errClosed = errors.New("the connection to the file system is closed")

// Close ends the session with every connection that a library left open.
func (s *session) Close() {
	s.cancel(errClosed)
	s.mu.Lock()
	left := make([]*guard, 0, len(s.open))
	for g := range s.open {
		left = append(left, g)
	}
	s.mu.Unlock()
	for _, g := range left {
		g.Close()
	}
}

func (s *session) connect(network, address string) (net.Conn, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	if err := s.dialled(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.limits.Connect, fmt.Errorf("%w: no connection to %s within %v", ErrStalled, address, s.limits.Connect))
	defer cancel()
	conn, err := s.dial(ctx, network, address)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	g := &guard{Conn: conn, s: s, left: s.limits.Idle}
	s.mu.Lock()
	s.open[g] = true
	s.mu.Unlock()
	g.stop = context.AfterFunc(s.ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return g, nil
}

// guard is a connection that gives up on a remote end which is silent or too slow. Deadlines that a library sets are
// ignored.
type guard struct {
	net.Conn
	s    *session
	stop func() bool
	once sync.Once

	mu   sync.Mutex
	left time.Duration // of waiting, until Progress bytes have arrived
	came int
}

func (g *guard) Read(p []byte) (int, error) {
	g.mu.Lock()
	left := g.left
	g.mu.Unlock()
	start := time.Now()
	g.Conn.SetReadDeadline(start.Add(left))
	if err := g.ended(); err != nil {
		return 0, err
	}
	n, err := g.Conn.Read(p)
	g.spend(time.Since(start), n)
	if err != nil {
		return n, g.explain(err)
	}
	return n, nil
}

func (g *guard) spend(d time.Duration, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.came += n; g.came >= Progress {
		g.came, g.left = 0, g.s.limits.Idle
		return
	}
	g.left = max(g.left-d, 0)
}

// Write begins a new question, so the answer's time begins anew.
func (g *guard) Write(p []byte) (int, error) {
	g.mu.Lock()
	g.came, g.left = 0, g.s.limits.Idle
	g.mu.Unlock()
	g.Conn.SetWriteDeadline(time.Now().Add(g.s.limits.Idle))
	if err := g.ended(); err != nil {
		return 0, err
	}
	n, err := g.Conn.Write(p)
	if err != nil {
		err = g.explain(err)
	}
	return n, err
}

func (g *guard) ended() error {
	if g.s.ctx.Err() != nil {
		return context.Cause(g.s.ctx)
	}
	return nil
}

func (g *guard) explain(err error) error {
	if ended := g.ended(); ended != nil {
		return ended
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %s sent less than %d bytes in %v", ErrStalled, g.RemoteAddr(), Progress, g.s.limits.Idle)
	}
	return err
}

func (g *guard) SetDeadline(time.Time) error      { return nil }
func (g *guard) SetReadDeadline(time.Time) error  { return nil }
func (g *guard) SetWriteDeadline(time.Time) error { return nil }

func (g *guard) Close() (err error) {
	g.once.Do(func() {
		g.stop()
		g.s.mu.Lock()
		delete(g.s.open, g)
		g.s.mu.Unlock()
		err = g.Conn.Close()
	})
	return err
}
