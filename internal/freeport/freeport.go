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

// Loopback returns n different ports of 127.0.0.1 that nobody listens on. The system does not choose them by itself, for a
// connection or for a server that asks for any port: only somebody who wants that very port can take one before its server does.
func Loopback(n int) (ports []int, err error) {
	first := 32768
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &first)
	}
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
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
	return nil, fmt.Errorf("found only %d of %d free ports of 127.0.0.1 in %d tries", len(ports), n, tries)
}
