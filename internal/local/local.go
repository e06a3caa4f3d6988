// Package local tells whether an address, or a host by its name, is this machine.
package local

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Address tells whether an address leads to this machine.
func Address(a netip.Addr) (bool, error) {
	a = a.Unmap()
	if a.IsLoopback() || a.IsUnspecified() {
		return true, nil
	}
	mine, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("the addresses of this machine cannot be listed: %w", err)
	}
	for _, m := range mine {
		if n, ok := m.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a {
				return true, nil
			}
		}
	}
	return false, nil
}

// patience bounds how long a name service is waited for.
const patience = 5 * time.Second

// Host tells whether a name, or an address as text, is this machine's. A name
// that cannot be resolved in time is not.
func Host(name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return false
	}
	for _, a := range found {
		if here, err := Address(a); err == nil && here {
			return true
		}
	}
	return false
}
