package ipc

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Peers that are not Hadoop clients of version 9.
func TestForeignPeers(t *testing.T) {
	s := serve(t, ServerConfig{})
	mismatch := func(r *raw) { r.fatal(callAuthFailed, ClassVersionMismatch, FatalVersionMismatch) }
	for name, c := range map[string]struct {
		send string
		want func(*raw)
	}{
		"http": {"GET /cluster HTTP/1.1\r\nHost: x\r\n\r\n", func(r *raw) {
			b, err := io.ReadAll(r)
			if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 404 ") || !strings.Contains(string(b), "Content-type: text/plain\r\n\r\n") {
				t.Errorf("http: %q %v", b, err)
			}
		}},
		"tls":         {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", mismatch},
		"ssh":         {"SSH-2.0-OpenSSH_9.6\r\n", mismatch},
		"version 10":  {"hrpc\x0a\x00\x00", mismatch},
		"version 0":   {"hrpc\x00\x00\x00", mismatch},
		"auth 7":      {"hrpc\x09\x00\x07", func(r *raw) { r.fatal(callAuthFailed, ClassIPC, FatalUnauthorized) }},
		"port scan":   {"", nil},
		"half a word": {"hrp", nil},
		"version 8": {"hrpc\x08\x00\x00", func(r *raw) {
			r.expect(unhex("ffffffff ffffffff 00000029"), text(ClassVersionMismatch), unhex("0000003d"))
			if b, err := io.ReadAll(r); err != nil || len(b) != 0x3d {
				t.Errorf("version 8: %q %v", b, err)
			}
		}},
		"version 2": {"hrpc\x02\x00\x00", func(r *raw) {
			r.expect(unhex("00000000 01 00000029"), text(ClassVersionMismatch), unhex("0000003d"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rawDial(t, s)
			r.send(text(c.send))
			if c.want == nil {
				r.Conn.(*net.TCPConn).CloseWrite()
				r.end()
				return
			}
			c.want(r)
		})
	}
	// The server still works.
	if _, err := dial(t, ClientConfig{Credentials: Credentials{User: "a"}}).Call(t.Context(), s.Addr().String(), clientProtocol, "echo", nil); err != nil {
		t.Fatal(err)
	}
}

// Frames that break the rules, after a SIMPLE preamble.
func TestBadFrames(t *testing.T) {
	s := serve(t, ServerConfig{})
	opened := contextFrame("a", "", clientProtocol)
	header := func(b []byte) []byte { return framed(appendData(nil, 0, b)[1:]) }
	for name, c := range map[string]struct {
		send   []byte
		call   int32
		class  string
		detail ErrorDetail
	}{
		"call before context":  {request(7, 0, clientProtocol, "echo", nil), 7, ClassServer, FatalInvalidHeader},
		"second context":       {append(opened[:len(opened):len(opened)], opened...), callContext, ClassServer, FatalInvalidHeader},
		"no operation":         {header(unhex("0802 180a 2200")), 5, ClassServer, FatalInvalidHeader},
		"continuation":         {header(unhex("0802 1001 180a 2200")), 5, ClassServer, FatalInvalidHeader},
		"no kind":              {header(unhex("1000 180a 2200")), 5, ClassServer, FatalInvalidHeader},
		"writable kind":        {header(unhex("0801 1000 180a 2200")), 5, ClassServer, FatalInvalidHeader},
		"no call id":           {header(unhex("0802 1000 2200")), callAuthFailed, ClassServer, FatalDeserializing},
		"no client id":         {header(unhex("0802 1000 180a")), 5, ClassServer, FatalDeserializing},
		"call id -2":           {header(unhex("0802 1000 1803 2200")), -2, ClassServer, FatalInvalidHeader},
		"call id -77":          {header(unhex("0802 1000 189901 2200")), -77, ClassServer, FatalInvalidHeader},
		"empty frame":          {unhex("00000000"), 0, ClassServer, FatalDeserializing},
		"garbage":              {framed(bytes.Repeat([]byte{0xff}, 30)), 0, ClassServer, FatalDeserializing},
		"group":                {header(unhex("0802 1000 180a 2200 530854")), 0, ClassServer, FatalDeserializing},
		"sasl unasked":         {framed((&saslMessage{state: saslNegotiate}).append(appendRequestHeader(nil, callSASL, -1, nil, ""))), callSASL, ClassServer, FatalInvalidHeader},
		"nameless user":        {contextFrame("", "", clientProtocol), callContext, ClassAccessControl, FatalUnauthorized},
		"user with a newline":  {contextFrame("a\nb", "", clientProtocol), callContext, ClassAccessControl, FatalUnauthorized},
		"unproxied real user":  {contextFrame("a", "b", clientProtocol), callContext, ClassAuthorization, FatalUnauthorized},
		"context cut short":    {framed(append(appendRequestHeader(nil, callContext, -1, clientID, ""), 9, 1)), callContext, ClassServer, FatalDeserializing},
		"call without payload": {append(opened[:len(opened):len(opened)], framed(appendRequestHeader(nil, 3, 0, clientID, ""))...), 3, ClassServer, FatalDeserializing},
		"trailing bytes":       {append(opened[:len(opened):len(opened)], framed(append(request(3, 0, clientProtocol, "echo", nil)[4:], 1))...), 3, ClassServer, FatalDeserializing},
	} {
		t.Run(name, func(t *testing.T) {
			r := rawDial(t, s)
			r.send(simplePreface, c.send)
			h, _ := r.frame()
			if c.call == 0 {
				c.call = h.call
			}
			if h.call != c.call || h.status != statusFatal || string(h.class) != c.class || h.detail != c.detail {
				t.Errorf("call %d status %d %s (%d): %s", h.call, h.status, h.class, h.detail, h.message)
			}
			r.end()
		})
	}
}

// Lengths that lie end the connection without a word and without memory.
func TestLyingLengths(t *testing.T) {
	s := serve(t, ServerConfig{})
	for _, length := range []string{"7fffffff", "ffffffff", "80000000", "00400001", "08000001"} {
		r := rawDial(t, s)
		r.send(simplePreface, unhex(length))
		r.end()
	}
	r := rawDial(t, s)
	r.send(simplePreface, contextFrame("a", "", clientProtocol), unhex("08000001"))
	r.end()
}

// A frame that claims 128 MiB and sends 100 KiB holds about that much.
func TestClaimedSizeIsNotAllocated(t *testing.T) {
	s := serve(t, ServerConfig{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const peers = 20
	for range peers {
		r := rawDial(t, s)
		r.send(simplePreface, contextFrame("a", "", clientProtocol), unhex("08000000"), make([]byte, 100<<10))
		// The answer to nothing: only the bytes received so far count.
	}
	waitFor(t, func() bool { return s.Stats().Received >= peers*int64(len(contextFrame("a", "", clientProtocol))) })
	waitFor(t, func() bool { return s.Stats().Held > 0 })
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 40<<20 {
		t.Fatalf("%d MiB allocated for %d peers", grown>>20, peers)
	}
	if held := s.Stats().Held; held > peers*512<<10 {
		t.Fatalf("%d bytes held", held)
	}
}

// The bound on large requests ends the connection that would exceed it, and
// what others held comes back.
func TestHeldBudget(t *testing.T) {
	s := serve(t, ServerConfig{Limits: Limits{MaxHeld: 1 << 20}})
	r := rawDial(t, s)
	r.send(simplePreface, contextFrame("a", "", clientProtocol))
	go r.Write(request(1, 0, clientProtocol, "echo", make([]byte, 3<<20)))
	if _, err := io.ReadAll(r); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	for range 5 {
		if _, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "echo", make([]byte, 500<<10)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return s.Stats().Held == 0 })
}

func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(end) {
			t.Fatal("condition not reached in a minute")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestConnectionLimits(t *testing.T) {
	s := serve(t, ServerConfig{Limits: Limits{MaxConnections: 2}})
	a, b := rawDial(t, s), rawDial(t, s)
	a.send(simpleOpening)
	b.send(simpleOpening)
	a.frame()
	b.frame()
	rawDial(t, s).end()
	a.Close()
	waitFor(t, func() bool { return s.Stats().Connections == 1 })
	d := rawDial(t, s)
	d.send(simpleOpening)
	d.frame()
	if n := s.Stats(); n.Rejected != 1 || n.Accepted != 3 {
		t.Fatalf("%+v", n)
	}
}

// On a real socket: answers of 1 MiB to a peer that sends and never reads.
func TestSlowReaderOverTCP(t *testing.T) {
	s := serve(t, ServerConfig{Limits: Limits{Write: 200 * time.Millisecond, MaxQueued: 4 * mib}})
	slow := rawDial(t, s)
	slow.send(simplePreface, contextFrame("a", "", clientProtocol))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		call := request(1, 0, clientProtocol, "echo", make([]byte, mib))
		for range 64 { // more than the kernel's buffers and the queue take
			if _, err := slow.Write(call); err != nil {
				return
			}
		}
		t.Error("the server took 64 MiB of requests and wrote nothing")
	}()
	c := dial(t, ClientConfig{Credentials: Credentials{User: "b"}})
	for s.Stats().SlowReaders == 0 {
		if _, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "later", text("x")); err != nil {
			t.Fatal(err)
		}
	}
	<-sent
	for s.Stats().Queued != 0 { // it is counted before what it had queued is let go
		time.Sleep(time.Millisecond)
	}
}
