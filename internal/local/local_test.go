package local

import (
	"net"
	"net/netip"
	"testing"
)

func TestHost(t *testing.T) {
	for name, want := range map[string]bool{"127.0.0.1": true, "::1": true, "0.0.0.0": true, "localhost": true, "192.0.2.1": false, "no name at all": false, "": false} {
		if got := Host(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	mine, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mine {
		if n, ok := m.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() && !Host(n.IP.String()) {
			t.Errorf("%s is not this machine's", n.IP)
		}
	}
}

func TestMappedAddress(t *testing.T) {
	if here, err := Address(netip.MustParseAddr("::ffff:127.0.0.1")); !here || err != nil {
		t.Error(here, err)
	}
}
