package zookeeper

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Frames of servers.
const (
	maxWelcome  = 4 << 10 // bytes of the first frame of a connection
	minWelcome  = 20      // version, timeout, session, length of the password
	maxPassword = 128     // bytes; servers send 16
	minFrame    = 16      // of all other frames: their header
	minTimeout  = 100 * time.Millisecond
	maxTimeout  = 24 * time.Hour
)

// Kinds of requests whose answers have a count or a length that the library takes at its word.
const (
	getData      = 4
	getACL       = 6
	getChildren  = 8
	getChildren2 = 12
	multi        = 14
)

// guarded is a connection that ends at a frame that no server sends and the library would
// take at its word. It waits for the first frame, the welcome, no longer than its patience.
//
// The library reads on one goroutine and writes on another one, which begins once the
// welcome is read; each of its writes is one request.
type guarded struct {
	net.Conn
	max      int // bytes of a frame
	in       *bufio.Reader
	welcomed bool
	ready    []byte // checked, to be handed out
	left     int    // bytes of the frame behind ready, to be handed out as they come

	mu     sync.Mutex
	asked  map[int32]int32 // kinds of the requests without an answer
	failed error           // why the first request that could not be sent was not
	open   bool            // the welcome is read
	over   bool            // nothing more is read
	watch  chan int32      // takes the answer to addWatch; nil: none is waited for
}

// guardedDial dials. A server that welcomes nobody is given up after the timeout for
// connections or a third of the session's, so that another one can keep the session.
func guardedDial(dial zk.Dialer, limit int, session time.Duration, dialed func(*guarded)) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := dial(network, address, timeout)
		if err != nil {
			return nil, err
		}
		if err := c.SetDeadline(time.Now().Add(min(timeout, session/3))); err != nil {
			_ = c.Close()
			return nil, err
		}
		g := guard(c, limit)
		dialed(g)
		return g, nil
	}
}

func guard(c net.Conn, limit int) *guarded {
	return &guarded{Conn: c, max: limit, in: bufio.NewReader(c), asked: make(map[int32]int32)}
}

// SetReadDeadline does nothing before the welcome: the library sets one of ten times the
// session for its length and none for the rest.
func (g *guarded) SetReadDeadline(t time.Time) error {
	if !g.welcomed {
		return nil
	}
	return g.Conn.SetReadDeadline(t)
}

// SetWriteDeadline does nothing before the welcome.
func (g *guarded) SetWriteDeadline(t time.Time) error {
	if !g.welcomed {
		return nil
	}
	return g.Conn.SetWriteDeadline(t)
}

// Write never fails. A request that cannot be sent ends the connection, and its end
// answers all requests. The library would answer this one twice, and wait for ever for
// somebody to take the second answer.
func (g *guarded) Write(b []byte) (int, error) {
	g.mu.Lock()
	if g.welcomed && len(b) >= 12 {
		g.asked[int32(binary.BigEndian.Uint32(b[4:]))] = int32(binary.BigEndian.Uint32(b[8:]))
	}
	g.mu.Unlock()
	if _, err := g.Conn.Write(b); err != nil {
		g.mu.Lock()
		if g.failed == nil {
			g.failed = fmt.Errorf("send a request to ZooKeeper: %w", err)
		}
		g.mu.Unlock()
		_ = g.Conn.Close()
	}
	return len(b), nil
}

// Read hands out no byte of a frame before it is known to be sound.
func (g *guarded) Read(b []byte) (int, error) {
	for len(g.ready) == 0 && g.left == 0 {
		if err := g.next(); err != nil {
			g.ended()
			return 0, g.why(err)
		}
	}
	if len(g.ready) > 0 {
		n := copy(b, g.ready)
		g.ready = g.ready[n:]
		return n, nil
	}
	n, err := g.in.Read(b[:min(len(b), g.left)])
	g.left -= n
	if err != nil {
		g.ended()
		err = g.why(err)
	}
	return n, err
}

// why is the reason that a connection has ended.
func (g *guarded) why(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed != nil {
		return g.failed
	}
	return err
}

// next reads as much of a frame as is needed to judge it.
func (g *guarded) next() error {
	g.ready = g.ready[:0]
	if err := g.take(4); err != nil {
		return err
	}
	size := int(int32(binary.BigEndian.Uint32(g.ready)))
	low, high := minFrame, g.max
	if !g.welcomed {
		low, high = minWelcome, maxWelcome
	}
	if size < low || size > high {
		return fmt.Errorf("a frame of %d bytes from ZooKeeper, expected %d to %d", size, low, high)
	}
	if !g.welcomed {
		if err := g.take(size); err != nil {
			return err
		}
		if err := checkWelcome(g.ready[4:]); err != nil {
			return fmt.Errorf("the welcome of ZooKeeper: %w", err)
		}
		g.welcomed = true
		g.mu.Lock()
		g.open = true
		g.mu.Unlock()
		return g.Conn.SetDeadline(time.Time{})
	}
	if err := g.take(minFrame); err != nil {
		return err
	}
	g.left = size - minFrame
	if int32(binary.BigEndian.Uint32(g.ready[4:])) == watchXid {
		return g.takeOut(size)
	}
	return g.answer(g.ready[4:])
}

// takeOut takes a frame that the library did not ask for out of what it reads.
func (g *guarded) takeOut(size int) error {
	if size > maxWatchReply {
		return fmt.Errorf("an answer of %d bytes from ZooKeeper to a watch, expected at most %d", size, maxWatchReply)
	}
	code := int32(binary.BigEndian.Uint32(g.ready[4+12:]))
	if _, err := io.CopyN(io.Discard, g.in, int64(g.left)); err != nil {
		return err
	}
	g.ready, g.left = g.ready[:0], 0
	return g.watched(code)
}

// take reads n bytes more of a frame.
func (g *guarded) take(n int) error {
	at := len(g.ready)
	g.ready = append(g.ready, make([]byte, n)...)
	_, err := io.ReadFull(g.in, g.ready[at:])
	return err
}

// answer judges a frame by its header and by what was asked.
func (g *guarded) answer(header []byte) error {
	xid := int32(binary.BigEndian.Uint32(header))
	if xid < 0 {
		return nil // an event, or the answer to a ping
	}
	g.mu.Lock()
	kind, ok := g.asked[xid]
	delete(g.asked, xid)
	g.mu.Unlock()
	if !ok {
		return fmt.Errorf("an answer of ZooKeeper to request %d, which was not sent", xid)
	}
	if binary.BigEndian.Uint32(header[12:]) != 0 {
		return nil // an error: the library reads no further
	}
	var item int // bytes that one of what is counted takes at least
	switch kind {
	case getData:
		item = 1
	case getChildren, getChildren2:
		item = 4
	case getACL:
		item = 12
	case multi:
		size := g.left
		g.left = 0
		if err := g.take(size); err != nil {
			return err
		}
		return checkMulti(g.ready[4+minFrame:])
	default:
		return nil
	}
	if g.left < 4 {
		return fmt.Errorf("an answer of ZooKeeper to a request of kind %d that ends before its count", kind)
	}
	if err := g.take(4); err != nil {
		return err
	}
	g.left -= 4
	count := binary.BigEndian.Uint32(g.ready[4+minFrame:])
	if none := int32(count) == -1 && kind == getData; !none && int64(count)*int64(item) > int64(g.left) {
		return fmt.Errorf("an answer of ZooKeeper to a request of kind %d that counts %d, and has %d bytes left", kind, count, g.left)
	}
	return nil
}

func checkWelcome(b []byte) error {
	timeout := time.Duration(int32(binary.BigEndian.Uint32(b[4:]))) * time.Millisecond
	session := binary.BigEndian.Uint64(b[8:])
	password := int(int32(binary.BigEndian.Uint32(b[16:])))
	switch {
	case session != 0 && (timeout < minTimeout || timeout > maxTimeout): // session 0: the one asked for has expired
		return fmt.Errorf("a session that times out after %s, expected %s to %s", timeout, minTimeout, maxTimeout)
	case password > min(maxPassword, len(b)-minWelcome):
		return fmt.Errorf("a password of %d bytes, expected at most %d", password, min(maxPassword, len(b)-minWelcome))
	}
	return nil
}

// checkMulti is an error if a transaction's answer ends before it says so.
func checkMulti(b []byte) error {
	const (
		header = 9 // type, done, error
		stat   = 68
	)
	for rest := b; len(rest) >= header; {
		kind, done := int32(binary.BigEndian.Uint32(rest)), rest[4] != 0
		if rest = rest[header:]; done {
			return nil
		}
		size := 0
		switch kind {
		case -1: // an error
			size = 4
		case 1: // create: the path
			if size = 4; len(rest) >= size {
				size += int(binary.BigEndian.Uint32(rest))
			}
		case 5: // set
			size = stat
		case 2, 13: // delete, check
		default:
			return nil // the library reads no further
		}
		if len(rest) < size {
			break
		}
		rest = rest[size:]
	}
	return fmt.Errorf("an answer of ZooKeeper to a transaction that ends before its end, after %d bytes", len(b))
}
