package ipc

import (
	"io"
	"net"
	"testing"
	"time"
)

// exchanger sends one prepared call at a time and reads its answer, without
// allocating, so that what is measured is the server.
type exchanger struct {
	nc      net.Conn
	request []byte
	answer  []byte
}

func newExchanger(t testing.TB, s *Server, method string, body int) *exchanger {
	r := rawDial(t, s)
	r.SetDeadline(time.Time{})
	e := &exchanger{nc: r.Conn, request: request(1, 0, clientProtocol, method, make([]byte, body))}
	r.send(simplePreface, contextFrame("root", "", clientProtocol), e.request)
	want := framed(appendBody(appendResponseOK(nil, 1, 0, clientID), make([]byte, body)))
	r.expect(want)
	e.answer = make([]byte, len(want))
	return e
}

func (e *exchanger) call(t testing.TB) {
	if _, err := e.nc.Write(e.request); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(e.nc, e.answer); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkServer(b *testing.B) {
	for name, n := range map[string]int{"700B": 700, "30KB": 30 << 10} {
		b.Run(name, func(b *testing.B) {
			e := newExchanger(b, serve(b, ServerConfig{}), "echo", n)
			b.ReportAllocs()
			for b.Loop() {
				e.call(b)
			}
		})
	}
}

// BenchmarkPipelined keeps 32 calls in flight on one connection.
func BenchmarkPipelined(b *testing.B) {
	const depth = 32
	e := newExchanger(b, serve(b, ServerConfig{}), "echo", 700)
	var out []byte
	for range depth {
		out = append(out, e.request...)
	}
	e.request, e.answer = out, make([]byte, depth*len(e.answer))
	b.ReportAllocs()
	for i := 0; i < b.N; i += depth {
		e.call(b)
	}
}

func BenchmarkHeaders(b *testing.B) {
	frame := request(7, 0, clientProtocol, "nodeHeartbeat", make([]byte, 700))[4:]
	out := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		var h requestHeader
		var k target
		msg, rest, _ := delimited(frame)
		if h.parse(msg) != nil {
			b.Fatal("header")
		}
		msg, _, _ = delimited(rest)
		if k.parse(msg) != nil {
			b.Fatal("target")
		}
		out = appendResponseOK(out[:0], h.call, h.retry, h.clientID)
	}
}

func BenchmarkClient(b *testing.B) {
	s := serve(b, ServerConfig{})
	c := dial(b, ClientConfig{Credentials: Credentials{User: "a"}})
	body := make([]byte, 700)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(b.Context(), s.Addr().String(), clientProtocol, "echo", body); err != nil {
			b.Fatal(err)
		}
	}
}

// One call costs the server at most two allocations.
func TestAllocations(t *testing.T) {
	e := newExchanger(t, serve(t, ServerConfig{}), "echo", 700)
	if n := testing.AllocsPerRun(2000, func() { e.call(t) }); n > 2 {
		t.Fatalf("%v allocations per call", n)
	}
}
