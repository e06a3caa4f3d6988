// Package freeport finds ports for servers that must know their ports before they start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

const (
	span  = 16 << 10 // how many ports below the system's own are tried
	tries = 1000
)

// Loopback returns n different ports of 127.0.0.1 that nobody listens on. The system does not assign them by itself, neither to a
// connection nor to a server that asks for any port: only somebody who wants that very port can take one before its server does.
// Where the system's own ports begin too low for that, they are any ports.
func Loopback(n int) ([]int, error) { return search(n, tries) }

func search(n, tries int) (ports []int, err error) {
	first := 32768
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &first)
	}
	for ; len(ports) < n && tries > 0; tries-- {
		port := 0 // any
		if first > 1024+span {
			port = first - span + rand.IntN(span)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close() // all are held until the last is found, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("found only %d of %d free ports of 127.0.0.1", len(ports), n)
	}
	return ports, nil
}
