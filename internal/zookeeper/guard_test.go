package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
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

// TestHostileServer: frames of lengths that no server sends end the connection, and nothing else.
func TestHostileServer(t *testing.T) {
	welcome := make([]byte, 36) // version, timeout, session, password
	binary.BigEndian.PutUint32(welcome[4:], 4000)
	welcome[15] = 1
	binary.BigEndian.PutUint32(welcome[16:], 16)
	good := frame(uint32(len(welcome)), welcome)
	for name, answers := range map[string][][]byte{
		"a first frame of 4 GiB":   {frame(0xffffffff, nil)},
		"a first frame of 1 GiB":   {frame(1<<30, nil)},
		"an answer of 3 bytes":     {good, frame(3, []byte{1, 2, 3})},
		"an answer of no bytes":    {good, frame(0, nil)},
		"an answer of 1 GiB":       {good, frame(1<<30, nil)},
		"an answer of less than 0": {good, frame(0x80000000, nil)},
	} {
		address, connections := server(t, answers...)
		c, err := Open(Options{Address: address, Session: time.Second, MaxResponse: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, _, err = c.Get(ctx, "/x")
		cancel()
		if !errors.Is(err, ErrConnection) {
			t.Errorf("%s: %v", name, err)
		}
		if n := <-connections; n < 1 {
			t.Errorf("%s: no connection", name)
		}
		c.Close()
	}
}
