package ipc

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// FuzzHeaders feeds a frame's content to every header parser, and checks that
// what is understood survives being written again.
func FuzzHeaders(f *testing.F) {
	f.Add(request(5, 2, clientProtocol, "m", text("body"))[4:])
	f.Add(appendResponseOK(nil, -33, -1, clientID))
	f.Add(appendResponseError(nil, 1, 0, clientID, &RemoteError{Class: "c", Message: "m"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, body, err := parseResponse(b); err == nil && h.status == statusSuccess {
			again, same, err := parseResponse(appendBody(appendResponseOK(nil, h.call, h.retry, h.clientID), body))
			if err != nil || again.call != h.call || again.retry != h.retry || !bytes.Equal(same, body) {
				t.Fatalf("%+v became %+v, %v", h, again, err)
			}
		}
		msg, rest, ok := delimited(b)
		var h requestHeader
		if !ok || h.parse(msg) != nil {
			return
		}
		msg, _, _ = delimited(appendRequestHeader(nil, h.call, h.retry, h.clientID, string(h.callerContext)))
		var again requestHeader
		if err := again.parse(msg); err != nil || again.call != h.call || again.retry != h.retry || !bytes.Equal(again.clientID, h.clientID) {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
		parseCallerContext(h.callerContext)
		var k target
		if msg, _, ok := delimited(rest); ok && k.parse(msg) == nil {
			msg, _, _ = delimited(appendTarget(nil, string(k.protocol), string(k.method), k.version))
			var same target
			if err := same.parse(msg); err != nil || same.version != k.version || !bytes.Equal(same.method, k.method) {
				t.Fatalf("%+v became %+v, %v", k, same, err)
			}
		}
	})
}

func FuzzSASL(f *testing.F) {
	m := saslMessage{state: saslInitiate, token: text(response), auths: []saslAuth{authToken}}
	msg, _, _ := delimited(m.append(nil))
	f.Add(msg)
	f.Add(unhex("1001"))
	s := &Server{cfg: ServerConfig{Methods: []Method{MethodToken, MethodSimple}, Tokens: oneToken{}},
		auths: []saslAuth{authToken, authSimple}, nonce: func() string { return nonce }}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m, again saslMessage
		if m.parse(b) != nil {
			return
		}
		msg, _, _ := delimited(m.append(nil))
		if err := again.parse(msg); err != nil || again.state != m.state || !bytes.Equal(again.token, m.token) || len(again.auths) != len(m.auths) {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
		a := authentication{}
		for range 3 {
			answer, err := s.saslStep(&a, &m)
			if err != nil {
				break
			}
			if answer != nil && answer.state == saslSuccess && string(m.token) != response && a.method == MethodToken {
				d, err := parseDigestResponse(m.token)
				if err != nil || d.response != "0ba0d42ea09dc3f30b31e4b432c2f672" && d.cnonce == cnonce {
					t.Fatalf("logged in by %q", m.token)
				}
			}
		}
	})
}

func FuzzDigest(f *testing.F) {
	f.Add(text(response))
	f.Add(text(challenge))
	f.Add(text(`a="\"",b=c`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := digest{username: "u", password: "p", cnonce: cnonce}
		if out, err := d.answer(b); err == nil {
			r, err := parseDigestResponse(out)
			if err != nil || r.nonce != d.nonce || r.realm != d.realm || !d.matches(r) {
				t.Fatalf("challenge %q answered by %q: %v", b, out, err)
			}
		}
		if r, err := parseDigestResponse(b); err == nil {
			s := newDigest(nonce)
			if s.accept(r) == nil && s.cnonce == "" {
				t.Fatal("accepted without a client nonce")
			}
		}
		d.confirm(b)
	})
}

func FuzzContext(f *testing.F) {
	msg, _, _ := delimited(appendContext(nil, "alice", "oozie", clientProtocol))
	f.Add(msg)
	f.Add(unhex("1200"))
	s := &Server{}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c connectionContext
		if c.parse(b) != nil {
			return
		}
		for _, m := range []Method{MethodSimple, MethodToken} {
			id, err := s.identify(&authentication{method: m, user: "proven"}, &c)
			if err == nil && (id.User == "" || m == MethodToken && id.User != "proven") {
				t.Fatalf("%q made %+v", b, id)
			}
		}
	})
}

// FuzzConnection plays hostile bytes to a whole connection, which must end by
// itself once the peer stops sending.
func FuzzConnection(f *testing.F) {
	f.Add([]byte{})
	f.Add(simpleOpening)
	f.Add(append(bytes.Clone(tokenHello), tokenProof...))
	f.Add(text("GET / HTTP/1.1\r\n\r\n"))
	f.Add(append(bytes.Clone(simplePreface), unhex("7fffffff")...))
	m := newMemory()
	s, err := Listen(ServerConfig{Listener: m, Methods: []Method{MethodToken, MethodSimple}, Tokens: oneToken{},
		Protocols: []Protocol{metrics(), echo(masterProtocol, 1)}, Limits: Limits{MaxHeld: 8 << 20}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		s.admit(far)
		near.SetDeadline(time.Now().Add(20 * time.Second))
		read := make(chan error, 1)
		go func() { _, err := io.Copy(io.Discard, near); read <- err }()
		near.Write(b)
		near.Close()
		<-read
		waitFor(t, func() bool { return s.Stats().Connections == 0 })
		if n := s.Stats(); n.Held != 0 || n.Panics > 0 && !bytes.Contains(b, text("panic")) {
			t.Fatalf("%+v", n)
		}
	})
}
