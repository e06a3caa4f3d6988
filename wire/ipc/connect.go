package ipc

import (
	"context"
	"net"
	"os"
	"time"
)

// Connect says how often, and for how long, connecting is tried before a Policy counts a failure.
type Connect struct {
	Retries int           // tries after the first one (ipc.client.connect.max.retries)
	Pause   time.Duration // before each of them (ipc.client.connect.retry.interval)
	Timeout time.Duration // of one try; 20 s (ipc.client.connect.timeout)
	// Failed, when set, is called after each try that fails, Reached after one that succeeds.
	Failed  func(address string, err error)
	Reached func(address string)
	// Dial, when set, replaces TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

func (c *Connect) dial(ctx context.Context, address string) (net.Conn, error) {
	for retries := c.Retries; ; retries-- {
		conn, err := c.dialOnce(ctx, address)
		if err == nil {
			if c.Reached != nil {
				c.Reached(address)
			}
			return conn, nil
		}
		if c.Failed != nil {
			c.Failed(address, err)
		}
		if retries <= 0 || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-time.After(c.Pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (c *Connect) dialOnce(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if c.Dial != nil {
		return c.Dial(ctx, address)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err == nil && selfConnected(conn) {
		conn.Close()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: conn.RemoteAddr(), Err: os.NewSyscallError("connect", errRefused)}
	}
	return conn, err
}

// selfConnected detects a quirk of TCP: dialling a free local port in the
// ephemeral range can connect to itself.
func selfConnected(conn net.Conn) bool {
	return conn.LocalAddr().String() == conn.RemoteAddr().String()
}
