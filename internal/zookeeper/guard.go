package zookeeper

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// Frames of servers.
const (
	maxWelcome = 4 << 10 // bytes of the first frame of a connection
	minFrame   = 16      // of all others: their header
)

// guarded is a connection that ends at a frame of a length that no server sends, which
// the library would take at its word.
type guarded struct {
	net.Conn
	max    int // bytes of a frame
	later  bool
	header [4]byte
	have   int // bytes of header
	left   int // bytes of the frame
}

func guardedDial(limit int) func(network, address string, timeout time.Duration) (net.Conn, error) {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		if err != nil {
			return nil, err
		}
		return &guarded{Conn: c, max: limit}, nil
	}
}

// Read passes on no byte of a frame before its length is known to be sound.
func (g *guarded) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		if g.left > 0 {
			took := min(g.left, len(rest))
			g.left -= took
			rest = rest[took:]
			continue
		}
		took := copy(g.header[g.have:], rest)
		rest = rest[took:]
		if g.have += took; g.have < len(g.header) {
			break
		}
		size := int(int32(binary.BigEndian.Uint32(g.header[:])))
		low, high := minFrame, g.max
		if !g.later {
			low, high = 0, maxWelcome
		}
		if size < low || size > high {
			return 0, fmt.Errorf("a frame of %d bytes from ZooKeeper, expected %d to %d", size, low, high)
		}
		g.have, g.left, g.later = 0, size, true
	}
	return n, err
}
