package rpc

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/bench/internal/pb"
)

// request is a frame as a server sees it.
type request struct {
	call     int64
	id       []byte
	rest     []byte // everything after the request header
	op, kind uint64
}

func readRequest(r io.Reader) (q request, err error) {
	var n [4]byte
	if _, err = io.ReadFull(r, n[:]); err != nil {
		return q, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err = io.ReadFull(r, b); err != nil {
		return q, err
	}
	h, rest, ok := pb.Delimited(b)
	if !ok {
		return q, errors.New("no header")
	}
	s := pb.In(h)
	for s.Next() {
		switch s.F {
		case 1:
			q.kind = s.V
		case 2:
			q.op = s.V
		case 3:
			q.call = int64(s.V>>1) ^ -int64(s.V&1)
		case 4:
			q.id = s.B
		}
	}
	q.rest = rest
	return q, nil
}

func answer(w io.Writer, call int64, status int64, class, msg string, body []byte) {
	h := pb.Int(nil, 1, int64(uint32(call)))
	h = pb.Int(h, 2, status)
	if class != "" {
		h = pb.Str(pb.Str(h, 4, class), 5, msg)
	}
	b := append(pb.Uint(make([]byte, 4), uint64(len(h))), h...)
	if status == 0 {
		b = append(pb.Uint(b, uint64(len(body))), body...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	w.Write(b)
}

func listen(t *testing.T, f func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); f(c) }()
		}
	}()
	return l.Addr().String()
}

// method returns the method name and the request message of a call.
func (q request) method() (name, proto string, msg []byte) {
	h, rest, _ := pb.Delimited(q.rest)
	s := pb.In(h)
	for s.Next() {
		switch s.F {
		case 1:
			name = string(s.B)
		case 2:
			proto = string(s.B)
		}
	}
	msg, _, _ = pb.Delimited(rest)
	return name, proto, msg
}

func TestSimpleCalls(t *testing.T) {
	addr := listen(t, func(c net.Conn) {
		var h [7]byte
		io.ReadFull(c, h[:])
		if string(h[:]) != "hrpc\x09\x00\x00" {
			t.Errorf("connection header %q", h)
		}
		q, err := readRequest(c)
		if err != nil || q.call != -3 || q.kind != 2 {
			t.Errorf("context %+v %v", q, err)
		}
		ctx, _, _ := pb.Delimited(q.rest)
		if !bytes.Contains(ctx, []byte("alice")) || !bytes.Contains(ctx, []byte("proto.P")) {
			t.Errorf("context %q", ctx)
		}
		var held []request // answered in reverse at the third
		for {
			q, err := readRequest(c)
			if err != nil {
				return
			}
			name, proto, msg := q.method()
			if proto != "proto.P" || len(q.id) != 16 {
				t.Errorf("protocol %q client id %x", proto, q.id)
			}
			switch name {
			case "echo":
				answer(c, q.call, 0, "", "", msg)
			case "fail":
				answer(c, q.call, 1, "java.io.IOException", "no\n\tat Somewhere", nil)
			case "hold":
				if held = append(held, q); len(held) == 3 {
					for i := range held {
						_, _, m := held[2-i].method()
						answer(c, held[2-i].call, 0, "", "", m)
					}
				}
			}
		}
	})
	c, err := Dial(addr, "proto.P", "alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	echo, fail, hold := NewMethod("proto.P", "echo"), NewMethod("proto.P", "fail"), NewMethod("proto.P", "hold")
	for _, n := range []int{0, 1, 100, 5000, 300000, 10} {
		want := bytes.Repeat([]byte{7}, n)
		got, err := c.Reply(c.End(append(c.Begin(echo), want...)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("echo of %d bytes: %d bytes, %v", n, len(got), err)
		}
	}
	_, err = c.Reply(c.End(c.Begin(fail)))
	var re *RemoteError
	if !errors.As(err, &re) || re.Fatal || re.Class != "java.io.IOException" || strings.Contains(re.Error(), "Somewhere") {
		t.Fatalf("%v", err)
	}
	sent := map[int32]byte{}
	for i := range byte(3) {
		sent[c.End(append(c.Begin(hold), i))] = i
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		id, msg, err := c.Recv()
		if err != nil || len(msg) != 1 || msg[0] != sent[id] {
			t.Fatalf("call %d: %v %v", id, msg, err)
		}
		delete(sent, id)
	}
}

// TestToken plays a server that checks the digest of the client.
func TestToken(t *testing.T) {
	tok := &Token{Identifier: []byte{1, 2, 3}, Password: []byte("secret")}
	for _, wrong := range []bool{false, true} {
		addr := listen(t, func(c net.Conn) {
			var h [7]byte
			io.ReadFull(c, h[:])
			if h[6] != 0xdf {
				t.Errorf("auth protocol %x", h[6])
			}
			reply := func(b []byte) { answer(c, -33, 0, "", "", b) }
			if q, err := readRequest(c); err != nil || q.call != -33 {
				return
			}
			auth := pb.Str(pb.Str(pb.Str(pb.Str(nil, 1, "TOKEN"), 2, "DIGEST-MD5"), 3, ""), 4, "default")
			challenge := `realm="default",nonce="n0nce",qop="auth",charset=utf-8,algorithm=md5-sess`
			reply(pb.Blob(pb.Int(nil, 2, 1), 4, pb.Str(bytes.Clone(auth), 5, challenge)))
			q, err := readRequest(c)
			if err != nil {
				return
			}
			msg, _, _ := pb.Delimited(q.rest)
			var token, chosen []byte
			s := pb.In(msg)
			for s.Next() {
				switch s.F {
				case 3:
					token = s.B
				case 4:
					chosen = s.B
				}
			}
			if !bytes.Equal(chosen, auth) {
				t.Errorf("chose %q, advertised %q", chosen, auth)
			}
			f := fields(string(token))
			d := digest{user: base64.StdEncoding.EncodeToString(tok.Identifier), password: base64.StdEncoding.EncodeToString(tok.Password),
				uri: "/default", realm: "default", nonce: "n0nce", cnonce: f["cnonce"]}
			if f["response"] != d.proof("AUTHENTICATE") || f["username"] != d.user || f["digest-uri"] != "/default" {
				t.Errorf("answer %q", token)
			}
			proof := "rspauth=" + d.proof("")
			if wrong {
				proof = "rspauth=0"
			}
			reply(pb.Str(pb.Int(nil, 2, 0), 3, proof))
			io.Copy(io.Discard, c)
		})
		c, err := Dial(addr, "proto.P", "", tok)
		if (err != nil) != wrong {
			t.Errorf("wrong proof %v: %v", wrong, err)
		}
		if err == nil {
			c.Close()
		}
	}
}

// A reply is ready once its length and as many bytes have come.
func TestReady(t *testing.T) {
	c := &Conn{in: []byte{9, 0, 0, 0, 2, 'a', 'b', 0}, r: 1}
	for w := c.r; w <= len(c.in); w++ {
		if c.w = w; c.Ready() != (w >= 7) {
			t.Errorf("%d bytes: ready is %v", w-c.r, c.Ready())
		}
	}
}
