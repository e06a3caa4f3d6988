package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestLoopback(t *testing.T) {
	ports, err := Loopback(20)
	if err != nil || len(ports) != 20 {
		t.Fatal(ports, err)
	}
	for _, port := range ports { // those that differ can be listened on together
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if more, err := search(2, 1); err == nil {
		t.Errorf("got %d", len(more))
	}
}
