package tracker

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// TestHosts: a node's host is a name or an address, and cannot lead what is asked of the node elsewhere.
func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"n1.example": true, "n_1": true, "10.0.0.5": true, "2001:db8::1": true, "[2001:db8::1]": true, "fe80::1%eth0": true, "n\u00f6de": true, strings.Repeat("n", 255): true,
		"": false, strings.Repeat("n", 256): false, "10.0.0.5:8080/internal/admin?x=": false, "n/x": false, "n?x": false, "n#x": false, "me@n": false, `n\x`: false,
		"n x": false, "n\tx": false, "n\nx": false, "n\x00": false, "n\u2028x": false, "n\u0085x": false, "n\xff": false, "10.0.0.5:8080": false, "n:1": false, "[2001:db8::1": false, "2001:db8::1]": false, "[n]": false, "[]": false,
	} {
		if got := isHost(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

// TestRegistrationOfNoAddress: what is no address is refused, and no command comes of it.
func TestRegistrationOfNoAddress(t *testing.T) {
	tr := New(config(&desk{})).t
	for _, c := range []struct {
		host     string
		httpPort int32
		want     string
	}{
		{"10.0.0.5:8080/internal/admin?x=", 8042, "is not a node's address"},
		{"n1", -1, "the port of its pages, -1,"},
		{"n1", 65536, "the port of its pages, 65536,"},
	} {
		m := &pb.RegisterNodeManagerRequest{NodeId: &pb.NodeId{Host: &c.host, Port: proto.Int32(1)}, HttpPort: &c.httpPort}
		if _, err := tr.registration(&ipc.Call{}, m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s and %d: %v", c.host, c.httpPort, err)
		}
	}
}
