// Package rpc speaks the client side of Hadoop RPC version 9: the connection
// header, SIMPLE and TOKEN (DIGEST-MD5) authentication, and calls over the
// protocol buffer engine. A Conn belongs to one goroutine at a time. Calls
// may be pipelined: Begin and End any number, Flush once, Recv as many.
package rpc

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/heddle-project/heddle/bench/internal/pb"
)

const (
	callContext = -3
	callSasl    = -33

	maxReply = 128 << 20
)

// Method is one remote method with its request header already encoded.
type Method struct {
	Name   string
	header []byte // length-delimited RequestHeaderProto
}

// NewMethod prepares a method of the named protocol interface.
func NewMethod(protocol, name string) *Method {
	h, m := pb.Mark(nil)
	h = pb.Str(h, 1, name)
	h = pb.Str(h, 2, protocol)
	h = pb.Int(h, 3, 1)
	return &Method{Name: name, header: pb.Close(h, m)}
}

// RemoteError is an exception that the server answered.
type RemoteError struct {
	Class, Msg string
	Fatal      bool
}

func (e *RemoteError) Error() string { return e.Class + ": " + firstLine(e.Msg) }

func firstLine(s string) string {
	for i := range s {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}

// Token is a Hadoop security token.
type Token struct {
	Identifier, Password []byte
}

// Conn is one connection.
type Conn struct {
	c      net.Conn
	id     [16]byte
	callID int32
	out    []byte
	frame  int // start of the frame being built
	msg    int // mark of the message being built
	in     []byte
	r, w   int
	Sent   int64 // bytes
	Got    int64
}

// Dial opens a connection. With a token it authenticates by DIGEST-MD5 and
// fails if the server would not; without, it uses SIMPLE as user.
func Dial(addr, protocol, user string, tok *Token) (*Conn, error) {
	d := net.Dialer{Timeout: 20 * time.Second}
	nc, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{c: nc, in: make([]byte, 4096)}
	if _, err := rand.Read(c.id[:]); err != nil {
		nc.Close()
		return nil, err
	}
	nc.SetDeadline(time.Now().Add(60 * time.Second))
	c.out = append(c.out, 'h', 'r', 'p', 'c', 9, 0)
	if tok != nil {
		c.out = append(c.out, 0xdf) // SASL, -33
		if err := c.sasl(tok); err != nil {
			nc.Close()
			return nil, fmt.Errorf("sasl: %w", err)
		}
	} else {
		c.out = append(c.out, 0)
	}
	// The connection context travels with the first call.
	c.begin(callContext, -1, c.id[:])
	var m int
	c.out, m = pb.Mark(c.out)
	var u int
	c.out, u = pb.Open(c.out, 2)
	if tok == nil {
		c.out = pb.Str(c.out, 1, user)
	}
	c.out = pb.Close(c.out, u)
	c.out = pb.Str(c.out, 3, protocol)
	c.out = pb.Close(c.out, m)
	c.seal()
	nc.SetDeadline(time.Time{})
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.c.Close() }

// SetDeadline bounds the following reads and writes.
func (c *Conn) SetDeadline(t time.Time) { c.c.SetDeadline(t) }

func (c *Conn) begin(call int32, retry int64, id []byte) {
	c.frame = len(c.out)
	c.out = append(c.out, 0, 0, 0, 0)
	var m int
	c.out, m = pb.Mark(c.out)
	c.out = pb.Int(c.out, 1, 2) // RPC_PROTOCOL_BUFFER
	c.out = pb.Int(c.out, 2, 0) // RPC_FINAL_PACKET
	c.out = pb.Zig(c.out, 3, int64(call))
	c.out = pb.Blob(c.out, 4, id)
	c.out = pb.Zig(c.out, 5, retry)
	c.out = pb.Close(c.out, m)
}

func (c *Conn) seal() {
	binary.BigEndian.PutUint32(c.out[c.frame:], uint32(len(c.out)-c.frame-4))
}

// Begin starts a call and returns the buffer to append the request message
// to; hand the result to End.
func (c *Conn) Begin(m *Method) []byte {
	c.begin(c.callID, 0, c.id[:])
	c.out = append(c.out, m.header...)
	c.out, c.msg = pb.Mark(c.out)
	return c.out
}

// End finishes the call begun last and returns its id.
func (c *Conn) End(b []byte) int32 {
	c.out = pb.Close(b, c.msg)
	c.seal()
	id := c.callID
	c.callID++
	if c.callID < 0 {
		c.callID = 0
	}
	return id
}

// Flush sends what was built.
func (c *Conn) Flush() error {
	if len(c.out) == 0 {
		return nil
	}
	n, err := c.c.Write(c.out)
	c.Sent += int64(n)
	c.out = c.out[:0]
	return err
}

func (c *Conn) packet() ([]byte, error) {
	if err := c.fill(4); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(c.in[c.r:]))
	if n > maxReply {
		return nil, fmt.Errorf("reply of %d bytes", n)
	}
	c.r += 4
	if err := c.fill(n); err != nil {
		return nil, err
	}
	p := c.in[c.r : c.r+n]
	c.r += n
	return p, nil
}

func (c *Conn) fill(n int) error {
	if c.w-c.r >= n {
		return nil
	}
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if c.r+n > len(c.in) {
		buf := c.in
		if n > len(buf) {
			buf = make([]byte, n+n/4+64)
		}
		c.w = copy(buf, c.in[c.r:c.w])
		c.r, c.in = 0, buf
	}
	for c.w-c.r < n {
		k, err := c.c.Read(c.in[c.w:])
		c.w += k
		c.Got += int64(k)
		if err != nil {
			if errors.Is(err, io.EOF) && c.w > c.r {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// Ready tells whether the next reply has come already, so that Recv does not wait.
func (c *Conn) Ready() bool {
	have := c.w - c.r
	return have >= 4 && have-4 >= int(binary.BigEndian.Uint32(c.in[c.r:]))
}

// Recv reads one reply: its call id and its message, which is valid until
// the next Recv. A server exception is a *RemoteError; the connection stays
// usable unless the error is Fatal.
func (c *Conn) Recv() (int32, []byte, error) {
	p, err := c.packet()
	if err != nil {
		return 0, nil, err
	}
	h, rest, ok := pb.Delimited(p)
	if !ok {
		return 0, nil, errors.New("malformed reply header")
	}
	id, rerr, err := header(h)
	if err != nil {
		return id, nil, err
	}
	if rerr != nil {
		return id, nil, rerr
	}
	msg, rest, ok := pb.Delimited(rest)
	if !ok || len(rest) != 0 {
		return id, nil, errors.New("malformed reply body")
	}
	return id, msg, nil
}

func header(h []byte) (int32, *RemoteError, error) {
	s := pb.In(h)
	id, status := int32(0), uint64(99)
	var class, msg []byte
	for s.Next() {
		switch s.F {
		case 1:
			id = int32(uint32(s.V))
		case 2:
			status = s.V
		case 4:
			class = s.B
		case 5:
			msg = s.B
		}
	}
	if s.Bad() || status > 2 {
		return id, nil, errors.New("malformed reply header")
	}
	if status != 0 {
		return id, &RemoteError{string(class), string(msg), status == 2}, nil
	}
	return id, nil, nil
}

// Reply flushes and waits for the reply to call id, the only one in flight.
func (c *Conn) Reply(id int32) ([]byte, error) {
	if err := c.Flush(); err != nil {
		return nil, err
	}
	got, msg, err := c.Recv()
	if err != nil {
		return nil, err
	}
	if got != id {
		return nil, fmt.Errorf("reply to call %d, want %d", got, id)
	}
	return msg, nil
}
