package ipc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs f with an in-memory server under a clock that jumps.
func bubble(t *testing.T, cfg ServerConfig, f func(t *testing.T, s *Server, m *memory)) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		cfg.Listener = m
		f(t, serve(t, cfg), m)
	})
}

// lasts reads to the end and returns how long that took.
func (r *raw) lasts() time.Duration {
	r.t.Helper()
	begun := time.Now()
	if b, err := io.ReadAll(r); err != nil || len(b) > 0 {
		r.t.Fatalf("%x %v", b, err)
	}
	return time.Since(begun)
}

// drip sends a byte a second until the peer closes.
func (r *raw) drip(b []byte) {
	done := make(chan struct{})
	r.t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for i := range b {
			if _, err := r.Write(b[i : i+1]); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
}

func TestHandshakeEnds(t *testing.T) {
	for name, c := range map[string]struct {
		methods []Method
		drip    []byte // sent a byte a second
	}{
		"silence":         {nil, nil},
		"slow preamble":   {nil, simplePreface},
		"slow context":    {nil, append(bytes.Clone(simplePreface), contextFrame("a", "", clientProtocol)...)},
		"slow SASL":       {[]Method{MethodToken}, append(bytes.Clone(tokenHello), tokenProof...)},
		"never a context": {nil, simplePreface},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, ServerConfig{Methods: c.methods, Tokens: oneToken{}}, func(t *testing.T, s *Server, m *memory) {
				r := m.raw(t)
				r.drip(c.drip)
				if d := r.lasts(); d != 10*time.Second {
					t.Fatalf("lasted %v", d)
				}
			})
		})
	}
}

// A connection that is logged in may be idle for ten minutes, but a frame
// once begun must end within 30 s however it trickles.
func TestFrameEnds(t *testing.T) {
	bubble(t, ServerConfig{}, func(t *testing.T, s *Server, m *memory) {
		r := m.raw(t)
		r.send(simplePreface, contextFrame("a", "", clientProtocol))
		time.Sleep(9 * time.Minute)
		r.drip(request(1, 0, clientProtocol, "echo", make([]byte, 100)))
		if d := r.lasts(); d < 30*time.Second || d > 31*time.Second {
			t.Fatalf("lasted %v", d)
		}
	})
}

func TestIdleEnds(t *testing.T) {
	bubble(t, ServerConfig{}, func(t *testing.T, s *Server, m *memory) {
		r := m.raw(t)
		r.send(simplePreface, contextFrame("a", "", clientProtocol))
		if d := r.lasts(); d < 10*time.Minute || d > 11*time.Minute {
			t.Fatalf("lasted %v", d)
		}
		// Pings and calls count as activity, and so does a call that waits.
		held := make(chan *Call, 1)
		s.own[clientProtocol].methods["hold"] = entry{name: "hold", run: func(c *Call) { held <- c }}
		r = m.raw(t)
		r.send(simplePreface, contextFrame("a", "", clientProtocol))
		for range 5 {
			time.Sleep(9 * time.Minute)
			r.send(framed(appendRequestHeader(nil, callPing, -1, clientID, "")))
		}
		r.send(request(1, 0, clientProtocol, "hold", text("x")))
		time.Sleep(time.Hour)
		(<-held).Reply(text("late"))
		if _, body := r.frame(); string(body) != "late" {
			t.Fatalf("%q", body)
		}
	})
}

// A peer that calls and never reads is closed after the write deadline. Its
// handler has long returned, and another connection is served meanwhile.
func TestSlowReaderEnds(t *testing.T) {
	for method, body := range map[string][]byte{"echo": make([]byte, 1000), "stream": size(mib)} {
		bubble(t, ServerConfig{Protocols: streaming()}, func(t *testing.T, s *Server, m *memory) {
			slow, other := m.raw(t), m.raw(t)
			slow.send(simplePreface, contextFrame("a", "", clientProtocol), request(1, 0, clientProtocol, method, body))
			other.send(simplePreface, contextFrame("b", "", clientProtocol), request(1, 0, clientProtocol, "echo", nil))
			other.frame()
			time.Sleep(61 * time.Second)
			if _, err := slow.Write([]byte{0}); !errors.Is(err, io.ErrClosedPipe) {
				t.Fatalf("%s: %v", method, err)
			}
			if n := s.Stats(); n.SlowReaders != 1 || n.Connections != 1 {
				t.Fatalf("%s: %+v", method, n)
			}
		})
	}
}

// The answers that wait for one peer are bounded in bytes.
func TestQueueIsBounded(t *testing.T) {
	var held []*Call
	p := Protocol{Name: clientProtocol, Version: 1, Methods: map[string]Handler{"hold": func(c *Call) { held = append(held, c) }}}
	bubble(t, ServerConfig{Protocols: []Protocol{p}, Limits: Limits{MaxQueued: 10 << 10}}, func(t *testing.T, s *Server, m *memory) {
		r := m.raw(t)
		r.send(simplePreface, contextFrame("a", "", clientProtocol))
		for i := range int32(20) {
			r.send(request(i, 0, clientProtocol, "hold", nil))
		}
		synctest.Wait()
		for _, c := range held {
			c.Reply(make([]byte, 1<<10))
		}
		if n := s.Stats(); n.SlowReaders != 1 {
			t.Fatalf("%+v", n)
		}
		if !held[0].Gone() {
			t.Fatal("connection still open")
		}
		held = nil
	})
}

// At the bound of unanswered calls the server stops reading.
func TestCallsInFlightAreBounded(t *testing.T) {
	held := make(chan *Call, 100)
	p := Protocol{Name: clientProtocol, Version: 1, Methods: map[string]Handler{"hold": func(c *Call) { held <- c }}}
	bubble(t, ServerConfig{Protocols: []Protocol{p}, Limits: Limits{MaxCallsPerConnection: 3}}, func(t *testing.T, s *Server, m *memory) {
		r := m.raw(t)
		r.send(simplePreface, contextFrame("a", "", clientProtocol))
		go func() {
			for i := range int32(5) {
				r.Write(request(i, 0, clientProtocol, "hold", nil))
			}
		}()
		synctest.Wait()
		if len(held) != 3 {
			t.Fatalf("%d calls in flight", len(held))
		}
		for range 5 {
			(<-held).Reply(nil)
			r.frame()
			synctest.Wait()
		}
	})
}

func TestClientPingsAndTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		var pings int
		go func() {
			defer far.Close()
			io.ReadFull(far, make([]byte, preambleSize))
			in := frames{sock: newSocket(far)}
			for {
				b, frame, err := in.next(1 << 20)
				if err != nil {
					return
				}
				msg, _, _ := delimited(frame)
				var h requestHeader
				if h.parse(msg) == nil && h.call == callPing {
					pings++
				}
				b.free()
			}
		}()
		c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}, Timeout: 200 * time.Second,
			Connect: Connect{Dial: func(context.Context, string) (net.Conn, error) { return near, nil }}})
		begun := time.Now()
		_, err := c.Call(t.Context(), "x:1", clientProtocol, "echo", nil)
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 200*time.Second {
			t.Fatal(err, time.Since(begun))
		}
		synctest.Wait()
		if pings < 2 || pings > 3 {
			t.Fatalf("%d pings", pings)
		}
		if len(c.links) != 0 {
			t.Fatal("a silent connection is kept")
		}
	})
}

func TestClientIdleCloses(t *testing.T) {
	bubble(t, ServerConfig{}, func(t *testing.T, s *Server, m *memory) {
		c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}, Connect: Connect{Dial: m.dial}})
		for range 3 {
			if _, err := c.Call(t.Context(), "x:1", clientProtocol, "echo", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		if n := s.Stats(); n.Accepted != 1 || n.Connections != 1 {
			t.Fatalf("%+v", n)
		}
		time.Sleep(15 * time.Second)
		if n := s.Stats(); n.Connections != 0 {
			t.Fatalf("%+v", n)
		}
	})
}

// A silent server does not hold a client beyond the handshake.
func TestClientHandshakeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		c := dial(t, ClientConfig{Credentials: withToken(amrm), Connect: Connect{Dial: func(context.Context, string) (net.Conn, error) { return near, nil }}})
		begun := time.Now()
		_, err := c.Call(t.Context(), "x:1", clientProtocol, "echo", nil)
		var ce *ConnectError
		if !errors.As(err, &ce) || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 10*time.Second {
			t.Fatal(err, time.Since(begun))
		}
	})
}

// In-memory peers share one (unknown) address, which is not loopback.
func TestConnectionsPerAddress(t *testing.T) {
	bubble(t, ServerConfig{Limits: Limits{MaxConnectionsPerAddress: 1}}, func(t *testing.T, s *Server, m *memory) {
		first := m.raw(t)
		m.raw(t).end()
		first.Close()
		synctest.Wait()
		r := m.raw(t)
		r.send(simplePreface, contextFrame("a", "", clientProtocol), request(1, 0, clientProtocol, "echo", nil))
		r.frame()
		if n := s.Stats(); n.Rejected != 1 || n.Connections != 1 {
			t.Fatalf("%+v", n)
		}
	})
}
