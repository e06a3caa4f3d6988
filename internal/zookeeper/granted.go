package zookeeper

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// The first answer on a connection begins with its length, the version of the protocol
// and the session's timeout, in four bytes each.
const (
	timeoutAt  = 8
	timeoutEnd = 12
)

// listening is a connection whose first answer tells the session's timeout, which the
// library keeps to itself.
type listening struct {
	net.Conn
	granted func(time.Duration)
	head    []byte
}

// Read implements net.Conn. The library reads on one goroutine.
func (c *listening) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if missing := timeoutEnd - len(c.head); missing > 0 && n > 0 {
		c.head = append(c.head, p[:min(n, missing)]...)
		if len(c.head) == timeoutEnd {
			c.granted(time.Duration(int32(binary.BigEndian.Uint32(c.head[timeoutAt:]))) * time.Millisecond)
		}
	}
	return n, err
}

// dialer dials, and tells granted what the servers grant; 0: the session has expired.
func dialer(dial zk.Dialer, granted func(time.Duration)) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := dial(network, address, timeout)
		if err != nil || granted == nil {
			return c, err
		}
		return &listening{Conn: c, granted: granted}, nil
	}
}
