package ipc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// raw is a peer that speaks bytes.
type raw struct {
	net.Conn
	t testing.TB
}

func rawDial(t testing.TB, s *Server) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(time.Minute))
	return &raw{nc, t}
}

func (r *raw) send(parts ...[]byte) {
	r.t.Helper()
	if _, err := r.Write(bytes.Join(parts, nil)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) expect(parts ...[]byte) {
	r.t.Helper()
	want := bytes.Join(parts, nil)
	got := make([]byte, len(want))
	n, err := io.ReadFull(r, got)
	if err != nil || !bytes.Equal(got, want) {
		r.t.Fatalf("received %v\n%x\nwant\n%x", err, got[:n], want)
	}
}

// frame reads one response.
func (r *raw) frame() (responseHeader, []byte) {
	r.t.Helper()
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		r.t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		r.t.Fatal(err)
	}
	h, body, err := parseResponse(b)
	if err != nil {
		r.t.Fatalf("%v in %x", err, b)
	}
	return h, body
}

func (r *raw) end() {
	r.t.Helper()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		r.t.Fatalf("want the end of the connection, got %x, %v", rest, err)
	}
}

// fatal expects one FATAL answer and the end.
func (r *raw) fatal(call int32, class string, detail ErrorDetail) {
	r.t.Helper()
	h, _ := r.frame()
	if h.call != call || h.status != statusFatal || string(h.class) != class || h.detail != detail {
		r.t.Fatalf("got call %d status %d %s (%d): %s", h.call, h.status, h.class, h.detail, h.message)
	}
	r.end()
}

func framed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func request(call, retry int32, protocol, method string, body []byte) []byte {
	b := appendRequestHeader(nil, call, retry, clientID, "")
	b = appendTarget(b, protocol, method, 1)
	return framed(appendBody(b, body))
}

func contextFrame(user, realUser, protocol string) []byte {
	return framed(appendContext(appendRequestHeader(nil, callContext, -1, clientID, ""), user, realUser, protocol))
}

var (
	clientID      = []byte("0123456789abcdef")
	simplePreface = unhex("6872706309 00 00")
	saslPreface   = unhex("6872706309 00 df")
)

func text(s string) []byte { return []byte(s) }

func metrics() Protocol {
	body := unhex("0a10 0801 1000 1801 2000 2800 3000 3800 4000")
	return Protocol{Name: clientProtocol, Version: 1, Methods: map[string]Handler{
		"getClusterMetrics": func(c *Call) { c.Reply(body) },
		"missing": func(c *Call) {
			c.Fail(&RemoteError{Class: "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", Message: "gone"})
		},
	}}
}

// The recorded SIMPLE exchange of a stock client, byte for byte.
var (
	simpleOpening = bytes.Join([][]byte{
		unhex("6872706309 00 00 0000005c 1a 0802 1000 1805 2210"), clientID, unhex("2801 40 1206 0a04"), text("root"),
		unhex("1a36"), text(clientProtocol),
		unhex("0000006a 1a 0802 1000 1800 2210"), clientID, unhex("2800 4d 0a11"), text("getClusterMetrics"),
		unhex("1236"), text(clientProtocol), unhex("1801 00")}, nil)
	simpleAnswer = bytes.Join([][]byte{
		unhex("0000002e 1a 0800 1000 1809 3a10"), clientID, unhex("4000"),
		unhex("12 0a10 0801 1000 1801 2000 2800 3000 3800 4000")}, nil)
)

func TestSimpleBytesServer(t *testing.T) {
	r := rawDial(t, serve(t, ServerConfig{Protocols: []Protocol{metrics()}}))
	r.send(simpleOpening)
	r.expect(simpleAnswer)
}

func TestErrorBytes(t *testing.T) {
	r := rawDial(t, serve(t, ServerConfig{Protocols: []Protocol{metrics()}}))
	r.send(simplePreface, contextFrame("root", "", clientProtocol), request(5, 2, clientProtocol, "missing", nil))
	r.expect(unhex("00000063 62 0805 1001 1809 223e"), text("org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"),
		unhex("2a04"), text("gone"), unhex("3001 3a10"), clientID, unhex("4004"))
}

// script plays a server of recorded bytes: what it expects, and its answers.
func script(t *testing.T, steps ...[]byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(time.Minute))
		for i, s := range steps {
			if i%2 == 1 {
				nc.Write(s)
				continue
			}
			got := make([]byte, len(s))
			if _, err := io.ReadFull(nc, got); err != nil || !bytes.Equal(got, s) {
				t.Errorf("step %d: %v\n%q\nwant\n%q", i, err, got, s)
				return
			}
		}
	}()
	return l.Addr().String()
}

func TestSimpleBytesClient(t *testing.T) {
	c := dial(t, ClientConfig{Credentials: Credentials{User: "root"}})
	copy(c.id[:], clientID)
	c.nextCall.Store(-1)
	got, err := c.Call(t.Context(), script(t, simpleOpening, simpleAnswer), clientProtocol, "getClusterMetrics", nil)
	if err != nil || len(got) != 18 {
		t.Fatalf("%x %v", got, err)
	}
}

// The recorded TOKEN exchange of an ApplicationMaster, byte for byte.
const (
	nonce    = "GoQmpdjtOgCsPoaSL8/X3vbvFQ5PjDqYyLNkTNjN"
	cnonce   = "6MhT5wVmwaInudM8tgZeuxrzbDIQXz0CAslxKNeq"
	response = `charset=utf-8,username="Cg0KCQgBELHttIOgNBABEKHgh/L4/////wE=",realm="default",nonce="` + nonce +
		`",nc=00000001,cnonce="` + cnonce + `",digest-uri="/default",maxbuf=65536,response=0ba0d42ea09dc3f30b31e4b432c2f672,qop=auth`
	challenge = `realm="default",nonce="` + nonce + `",qop="auth",charset=utf-8,algorithm=md5-sess`
	rspauth   = "rspauth=55425d1ac4f0e8ece9604c0327f8a981"
)

var (
	auth       = bytes.Join([][]byte{unhex("0a05"), text("TOKEN"), unhex("120a"), text("DIGEST-MD5"), unhex("1a00 2207"), text("default")}, nil)
	tokenHello = unhex("6872706309 00 df 0000000e 0a 0802 1000 1841 2200 2801 02 1001")
	tokenOffer = bytes.Join([][]byte{unhex("000000a2 0e 08dfffffff0f 1000 1809 3a00 4001 9101 1001 228c01"), auth, unhex("2a6c"), text(challenge)}, nil)
	tokenProof = bytes.Join([][]byte{unhex("00000144 0a 0802 1000 1841 2200 2801 b702 1002 1a9202"), text(response), unhex("221e"), auth}, nil)
	tokenDone  = bytes.Join([][]byte{unhex("0000003c 0e 08dfffffff0f 1000 1809 3a00 4001 2c 1000 1a28"), text(rspauth)}, nil)
	tokenCtx   = bytes.Join([][]byte{unhex("00000056 1a 0802 1000 1805 2210"), clientID, unhex("2801 3a 1200 1a36"), text(masterProtocol)}, nil)
)

func TestTokenBytesServer(t *testing.T) {
	s := serve(t, ServerConfig{Methods: []Method{MethodToken}, Tokens: oneToken{}})
	s.nonce = func() string { return nonce }
	r := rawDial(t, s)
	r.send(tokenHello)
	r.expect(tokenOffer)
	r.send(tokenProof)
	r.expect(tokenDone)
	r.send(tokenCtx, request(0, 0, masterProtocol, "who", nil))
	if _, body := r.frame(); string(body) != "appattempt_1_0001_000001//TOKEN" {
		t.Fatalf("%q", body)
	}
}

func TestTokenBytesClient(t *testing.T) {
	c := dial(t, ClientConfig{Credentials: withToken(amrm)})
	copy(c.id[:], clientID)
	c.nonce = func() string { return cnonce }
	c.nextCall.Store(6)
	call := request(7, 0, masterProtocol, "allocate", nil)
	answer := framed(appendBody(appendResponseOK(nil, 7, 0, clientID), text("ok")))
	addr := script(t, tokenHello, tokenOffer, tokenProof, tokenDone, append(bytes.Clone(tokenCtx), call...), answer)
	if got, err := c.Call(t.Context(), addr, masterProtocol, "allocate", nil); err != nil || string(got) != "ok" {
		t.Fatalf("%q %v", got, err)
	}
}

// A client that holds a token meets a server of SIMPLE only.
func TestSimpleOnlyBytes(t *testing.T) {
	success := unhex("00000012 0e 08dfffffff0f 1000 1809 3a00 4001 02 1000")
	r := rawDial(t, serve(t, ServerConfig{}))
	r.send(tokenHello)
	r.expect(success)
	r.send(contextFrame("bob", "", clientProtocol), request(1, 0, clientProtocol, "who", nil))
	if _, body := r.frame(); string(body) != "bob//SIMPLE" {
		t.Fatalf("%q", body)
	}
	c := dial(t, ClientConfig{Credentials: withToken(amrm)})
	copy(c.id[:], clientID)
	c.nextCall.Store(6)
	then := append(contextFrame("alice", "", clientProtocol), request(7, 0, clientProtocol, "x", nil)...)
	addr := script(t, tokenHello, success, then, framed(appendBody(appendResponseOK(nil, 7, 0, clientID), nil)))
	if _, err := c.Call(t.Context(), addr, clientProtocol, "x", nil); err != nil {
		t.Fatal(err)
	}
}

// A server that prefers a method the client cannot use, then SIMPLE: the
// client says so, gets no reply, and goes on.
func TestInitiateSimpleBytes(t *testing.T) {
	initiate := unhex("00000017 0a 0802 1000 1841 2200 2801 0e 1002 220a 0a06 53494d504c45 1200")
	initiate[3] = byte(len(initiate) - 4)
	s := serve(t, ServerConfig{Methods: []Method{MethodToken, MethodSimple}, Tokens: oneToken{}})
	r := rawDial(t, s)
	r.send(tokenHello)
	r.frame()
	r.send(initiate, contextFrame("bob", "", clientProtocol), request(1, 0, clientProtocol, "who", nil))
	if h, body := r.frame(); h.call != 1 || string(body) != "bob//SIMPLE" {
		t.Fatalf("%+v %q", h, body)
	}
	offer := &saslMessage{state: saslNegotiate, auths: []saslAuth{{method: "TOKEN", mechanism: "SCRAM-SHA-512"}, authSimple}}
	c := dial(t, ClientConfig{Credentials: withToken(amrm)})
	copy(c.id[:], clientID)
	c.nextCall.Store(6)
	then := bytes.Join([][]byte{initiate, contextFrame("alice", "", clientProtocol), request(7, 0, clientProtocol, "x", nil)}, nil)
	addr := script(t, tokenHello, framed(offer.append(appendResponseOK(nil, callSASL, -1, nil))), then,
		framed(appendBody(appendResponseOK(nil, 7, 0, clientID), nil)))
	if _, err := c.Call(t.Context(), addr, clientProtocol, "x", nil); err != nil {
		t.Fatal(err)
	}
}
