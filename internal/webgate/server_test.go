package webgate

import (
	"net"
	"testing"
	"time"
)

// TestConnections: one more than allowed waits until one leaves.
func TestConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit(inner, 1)
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	for range 2 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("a second connection was taken")
	case <-time.After(20 * time.Millisecond):
	}
	_ = first.Close()
	second := <-accepted
	_ = second.Close()
	_ = second.Close() // closing twice frees one place
	_ = l.Close()
	if _, open := <-accepted; open {
		t.Error("a connection after the end")
	}
}
