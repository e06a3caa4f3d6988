package ipc

import (
	"context"
	"net"
	"sync"
	"testing"
)

// memory is a listener of in-memory connections.
type memory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemory() *memory { return &memory{conns: make(chan net.Conn), done: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.done) }); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

func (m *memory) dial(ctx context.Context, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.conns <- far:
		return near, nil
	case <-m.done:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *memory) raw(t testing.TB) *raw {
	t.Helper()
	nc, err := m.dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &raw{nc, t}
}
