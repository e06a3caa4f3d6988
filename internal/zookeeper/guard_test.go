package zookeeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// server takes connections, answers each with these bytes, and tells how many there were.
func server(t *testing.T, answers ...[]byte) (address string, connections <-chan int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	seen := make(chan int, 100)
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			select {
			case seen <- n:
			default:
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 1024)
				for _, a := range answers {
					if _, err := c.Read(buf); err != nil {
						return
					}
					if _, err := c.Write(a); err != nil {
						return
					}
				}
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String(), seen
}

func frame(size uint32, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, size), body...)
}

// welcome is the first frame of a server that grants a session with this timeout.
func welcome(timeout time.Duration) []byte {
	b := make([]byte, 36) // version, timeout, session, password
	binary.BigEndian.PutUint32(b[4:], uint32(timeout.Milliseconds()))
	b[15] = 1
	binary.BigEndian.PutUint32(b[16:], 16)
	return frame(36, b)
}

// reply answers a request.
func reply(xid uint32, body ...byte) []byte {
	header := append(binary.BigEndian.AppendUint32(nil, xid), make([]byte, 12)...)
	return frame(uint32(len(header)+len(body)), append(header, body...))
}

// TestHostileServer: what no server sends ends the connection, and nothing else.
func TestHostileServer(t *testing.T) {
	get := func(ctx context.Context, c Conn) error { _, _, err := c.Get(ctx, "/x"); return err }
	list := func(ctx context.Context, c Conn) error { _, _, err := c.Children(ctx, "/x"); return err }
	rights := func(ctx context.Context, c Conn) error { _, _, err := c.GetACL(ctx, "/x"); return err }
	change := func(ctx context.Context, c Conn) error { return c.Multi(ctx, DeleteOp("/x")) }
	good := welcome(4 * time.Second)
	password := welcome(4 * time.Second)
	binary.BigEndian.PutUint32(password[20:], 17)
	var all sync.WaitGroup
	for name, test := range map[string]struct {
		call    func(context.Context, Conn) error
		answers [][]byte
	}{
		"a first frame of 4 GiB":               {get, [][]byte{frame(0xffffffff, nil)}},
		"a first frame of 1 GiB":               {get, [][]byte{frame(1<<30, nil)}},
		"a first frame of 4 bytes":             {get, [][]byte{frame(4, make([]byte, 4))}},
		"a session of no time":                 {get, [][]byte{welcome(0)}},
		"a session of 1 ms":                    {get, [][]byte{welcome(time.Millisecond)}},
		"a session of less than 0":             {get, [][]byte{welcome(-time.Second)}},
		"a session of 25 h":                    {get, [][]byte{welcome(25 * time.Hour)}},
		"a password longer than its frame":     {get, [][]byte{password}},
		"an answer of 3 bytes":                 {get, [][]byte{good, frame(3, []byte{1, 2, 3})}},
		"an answer of no bytes":                {get, [][]byte{good, frame(0, nil)}},
		"an answer of 1 GiB":                   {get, [][]byte{good, frame(1<<30, nil)}},
		"an answer of less than 0":             {get, [][]byte{good, frame(0x80000000, nil)}},
		"an answer to nothing":                 {get, [][]byte{good, reply(77)}},
		"data of 2 GiB":                        {get, [][]byte{good, reply(1, 0x7f, 0xff, 0xff, 0xff)}},
		"data without a length":                {get, [][]byte{good, reply(1)}},
		"4 Gi children":                        {list, [][]byte{good, reply(1, 0xff, 0xff, 0xff, 0xff)}},
		"children without a count":             {list, [][]byte{good, reply(1)}},
		"an access list of 4 Gi":               {rights, [][]byte{good, reply(1, 0xff, 0xff, 0xff, 0xff)}},
		"a transaction without an answer":      {change, [][]byte{good, reply(1)}},
		"a transaction that ends in a header":  {change, [][]byte{good, reply(1, 0, 0, 0, 2)}},
		"a transaction that ends before Done":  {change, [][]byte{good, reply(1, 0, 0, 0, 2, 0, 0, 0, 0, 0)}},
		"a transaction that ends in its error": {change, [][]byte{good, reply(1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1)}},
	} {
		all.Go(func() {
			address, connections := server(t, test.answers...)
			c, err := Open(Options{Address: address, Session: 3 * time.Second, MaxResponse: 1 << 20})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := test.call(ctx, c); !errors.Is(err, ErrConnection) {
				t.Errorf("%s: %v, expected the end of the connection", name, err)
			}
			if n := <-connections; n < 1 {
				t.Errorf("%s: no connection", name)
			}
		})
	}
	all.Wait()
}

// TestFrozenServer: a server that takes connections and does not welcome anybody is given up soon.
func TestFrozenServer(t *testing.T) {
	var all sync.WaitGroup
	for name, answers := range map[string][][]byte{
		"says nothing":              nil,
		"stops in the welcome":      {welcome(4 * time.Second)[:14]},
		"stops before the welcome":  {welcome(4 * time.Second)[:4]},
		"stops in its first length": {welcome(4 * time.Second)[:2]},
	} {
		all.Go(func() {
			address, connections := server(t, answers...)
			c, err := Open(Options{Address: address, Session: 3 * time.Second})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			late := time.After(15 * time.Second) // ten times the library's timeout are 20 s
			for range 2 {
				select {
				case <-connections:
				case <-late:
					t.Errorf("a server that %s: the first connection still waits for its welcome", name)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestAnswersPass: what a server does send is handed out as it came, however it is cut into pieces.
func TestAnswersPass(t *testing.T) {
	stat := make([]byte, 68)
	multiHeader := func(kind int32, done byte, rest ...byte) []byte {
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(kind)), done, 0, 0, 0, 0), rest...)
	}
	failed := reply(9, 1, 2)
	failed[4+15] = 101 // an error; what follows is not read
	for _, test := range []struct {
		kind   uint32
		answer []byte
	}{
		{getData, reply(9, append([]byte{0, 0, 0, 2, 'a', 'b'}, stat...)...)},
		{getData, reply(9, append([]byte{0xff, 0xff, 0xff, 0xff}, stat...)...)},
		{getChildren2, reply(9, append([]byte{0, 0, 0, 2, 0, 0, 0, 1, 'a', 0, 0, 0, 1, 'b'}, stat...)...)},
		{getChildren, reply(9, 0, 0, 0, 1, 0, 0, 0, 0)},
		{getChildren, reply(9, 0, 0, 0, 0)},
		{getACL, reply(9, append([]byte{0, 0, 0, 1, 0, 0, 0, 31, 0, 0, 0, 0, 0, 0, 0, 0}, stat...)...)},
		{multi, reply(9, multiHeader(-1, 1)...)},
		{multi, reply(9, slices.Concat(multiHeader(1, 0, 0, 0, 0, 2, '/', 'x'), multiHeader(5, 0, stat...), multiHeader(2, 0), multiHeader(13, 0), multiHeader(-1, 1))...)},
		{multi, reply(9, slices.Concat(multiHeader(-1, 0, 0, 0, 0, 0), multiHeader(-1, 0, 0xff, 0xff, 0xff, 0x9b), multiHeader(-1, 1))...)},
		{multi, failed},
		{getChildren2, failed},
		{3, reply(9, stat...)},
		{100, reply(9)},
	} {
		sent := slices.Concat(welcome(time.Second), reply(0xfffffffe), test.answer, reply(0xffffffff, 0, 0, 0, 1))
		for _, piece := range []int{1, 3, 20, 1000} {
			here, there := net.Pipe()
			c := guard(here, 1<<10)
			go func() {
				for rest := sent; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
					if _, err := there.Write(rest[:min(piece, len(rest))]); err != nil {
						return
					}
				}
			}()
			c.asked[9] = int32(test.kind)
			got := make([]byte, len(sent))
			_, err := io.ReadFull(c, got)
			if err != nil || !bytes.Equal(got, sent) || len(c.asked) != 0 {
				t.Errorf("kind %d in pieces of %d: %v, %v instead of %v", test.kind, piece, err, got, sent)
			}
			here.Close()
			there.Close()
		}
	}
}

// willing takes connections, welcomes and answers every request with zeros, and hangs up at one to read data.
func willing(t *testing.T) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	request := func(c net.Conn) ([]byte, error) {
		size := make([]byte, 4)
		if _, err := io.ReadFull(c, size); err != nil {
			return nil, err
		}
		body := make([]byte, binary.BigEndian.Uint32(size))
		_, err := io.ReadFull(c, body)
		return body, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := request(c); err != nil {
					return
				}
				answer := welcome(4 * time.Second)
				for {
					if _, err := c.Write(answer); err != nil {
						return
					}
					asked, err := request(c)
					if err != nil || binary.BigEndian.Uint32(asked[4:]) == getData {
						return
					}
					answer = reply(binary.BigEndian.Uint32(asked), make([]byte, 68)...)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// mute is a connection that sends the first request and no other.
type mute struct {
	net.Conn
	sent bool
}

func (m *mute) Write(b []byte) (int, error) {
	if m.sent {
		return 0, errors.New("the connection has gone")
	}
	m.sent = true
	return m.Conn.Write(b)
}

// TestCredentialsCannotBeSent: a connection that ends when the credentials are presented
// anew is followed by another one.
func TestCredentialsCannotBeSent(t *testing.T) {
	var dialed atomic.Int32
	c, err := open(Options{Address: willing(t), Session: 4 * time.Second, Auth: []Auth{{"digest", []byte("a:b")}}},
		func(network, address string, timeout time.Duration) (net.Conn, error) {
			c, err := net.DialTimeout(network, address, timeout)
			if err == nil && dialed.Add(1) == 2 {
				return &mute{Conn: c}, nil
			}
			return c, err
		})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if _, _, err := c.Get(ctx, "/x"); !errors.Is(err, ErrConnection) { // ends the first connection
		t.Fatal(err)
	}
	for {
		there, _, err := c.Exists(ctx, "/x")
		if err == nil && there {
			break
		}
		if !errors.Is(err, ErrConnection) {
			t.Fatalf("after %d connections: %v", dialed.Load(), err)
		}
	}
	if n := dialed.Load(); n < 3 {
		t.Errorf("%d connections, expected a third one", n)
	}
}

// TestNoServer: a call fails when there is no server, with credentials as without.
func TestNoServer(t *testing.T) {
	for _, auth := range [][]Auth{nil, {{"digest", []byte("a:b")}}} {
		refuse := func(string, string, time.Duration) (net.Conn, error) { return nil, errors.New("there is no server") }
		c, err := open(Options{Address: "127.0.0.1:1", Session: time.Second, Auth: auth}, refuse)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if _, _, err = c.Exists(ctx, "/x"); !errors.Is(err, ErrConnection) {
			t.Errorf("with %d credentials: %v", len(auth), err)
		}
	}
}
