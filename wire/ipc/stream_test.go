package ipc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// rows makes a message of n bytes in pieces of up to 700, each of which begins with how many are left.
func rows(n int) func([]byte) []byte {
	return func(b []byte) []byte {
		k := min(n, 700)
		piece := bytes.Repeat([]byte{byte(n)}, k)
		if k >= 4 {
			binary.BigEndian.PutUint32(piece, uint32(n))
		}
		n -= k
		return append(b, piece...)
	}
}

func message(n int) (b []byte) {
	for next := rows(n); len(b) < n; {
		b = next(b)
	}
	return b
}

// streaming is a protocol whose method "stream" makes as many bytes as the request says, and whose others do not keep what they have said.
func streaming() []Protocol {
	p := echo(clientProtocol, 1)
	p.Methods["stream"] = InTurn(func(c *Call) {
		n := int(binary.BigEndian.Uint32(c.Body))
		c.Stream(n, rows(n))
	})
	p.Methods["short"] = func(c *Call) { c.Stream(mib, rows(mib-100)) }
	p.Methods["over"] = func(c *Call) { c.Stream(mib, func(b []byte) []byte { return append(b, make([]byte, 2*mib)...) }) }
	p.Methods["broken short stream"] = func(c *Call) { c.Stream(100, func([]byte) []byte { panic("boom") }) }
	p.Methods["broken stream"] = func(c *Call) { c.Stream(mib, func([]byte) []byte { panic("boom") }) }
	return []Protocol{p}
}

// A message that is made while it is read arrives whole, also among other answers on the same connection.
func TestStream(t *testing.T) {
	s := serve(t, ServerConfig{Protocols: streaming(), Limits: Limits{MaxResponse: 16 * mib}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	call := func(method string, body []byte) ([]byte, error) {
		return c.Call(t.Context(), s.Addr().String(), clientProtocol, method, body)
	}
	var all sync.WaitGroup
	for _, n := range []int{0, 1, 5000, fullChunk, fullChunk + 1, keepSize, keepSize + 1, 3 * mib, 10 * mib} {
		all.Go(func() {
			for range 3 {
				if got, err := call("stream", size(n)); err != nil || !bytes.Equal(got, message(n)) {
					t.Errorf("%d bytes: %d bytes, %v", n, len(got), err)
				}
			}
		})
		all.Go(func() {
			for i := range 200 {
				want := fmt.Appendf(nil, "%d of %d", i, n)
				if got, err := call("later", want); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	all.Wait()
	if _, err := call("stream", size(17*mib)); err == nil {
		t.Error("an answer of 17 MiB, 16 allowed")
	}
}

// A message that is not as long as was said ends the connection, and nothing else. The log says why.
func TestStreamOfAnotherLength(t *testing.T) {
	var out bytes.Buffer
	s := serve(t, ServerConfig{Protocols: streaming(), Log: slog.New(slog.NewTextHandler(&out, nil))})
	for _, method := range []string{"short", "over", "broken stream", "broken short stream"} {
		c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
		if _, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, method, nil); err == nil {
			t.Errorf("%s: no error", method)
		}
	}
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	if _, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "echo", nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "an answer could not be made"); n != 4 || !strings.Contains(out.String(), "boom") || s.Stats().Panics != 4 {
		t.Errorf("%d lines, %d counted:\n%s", n, s.Stats().Panics, out.String())
	}
}

// What a peer does not read is not made, is counted as what waits for it, and is let go with its connection.
func TestStreamUnread(t *testing.T) {
	s := serve(t, ServerConfig{Protocols: streaming(), Limits: Limits{MaxResponse: 64 * mib}})
	slow := rawDial(t, s)
	slow.as("a", "stream", 1, size(48*mib))
	waitFor(t, func() bool { return s.Stats().Queued > 30*mib })
	slow.Close()
	waitFor(t, func() bool { return s.Stats().Queued == 0 })
}
