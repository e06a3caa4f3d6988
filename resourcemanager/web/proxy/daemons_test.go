package proxy

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// spellings are names of this machine.
func spellings(t *testing.T) []string {
	t.Helper()
	list := []string{"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1.2.3", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[0:0:0:0:0:ffff:127.0.0.1]", "2130706433", "0177.0.0.1", "127.1"}
	mine, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range mine {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			list = append(list, n.IP.String(), "[::ffff:"+n.IP.String()+"]")
		}
	}
	return list
}

// TestLeadsToNoDaemon: however an application spells the host of a daemon, its
// port is not dialled; a master on another port of that host is.
func TestLeadsToNoDaemon(t *testing.T) {
	l, err := net.Listen("tcp", ":0") // on all addresses
	if err != nil {
		t.Fatal(err)
	}
	touched := 0
	daemon := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { touched++ })}}
	daemon.Start()
	t.Cleanup(daemon.Close)
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct {
		name string
		own  bool
		node view.Node
	}{
		{name: "own", own: true},
		{name: "web port of a node", node: view.Node{ID: yarn.NodeID{Host: "node.example", Port: 1}, HTTPAddress: "node.example:" + strconv.Itoa(int(port))}},
		{name: "port of a node", node: view.Node{ID: yarn.NodeID{Host: "node.example", Port: int32(port)}, State: yarn.NodeRunning}},
		{name: "port of a node that is an address", node: view.Node{ID: yarn.NodeID{Host: "127.0.0.1", Port: int32(port)}, State: yarn.NodeUnhealthy}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, host := range spellings(t) {
				for _, method := range []string{"GET", "PUT"} {
					f := start(t, "http://"+host+":"+strconv.Itoa(int(port))+"/ws/v1/cluster")
					var log bytes.Buffer
					f.proxy.Log = slog.New(slog.NewTextHandler(&log, nil))
					f.proxy.Own = func(p uint16) bool { return c.own && p == port }
					f.proxy.Addresses = func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.1.1")} }
					if !c.own {
						f.source.Picture.Nodes = append(f.source.Picture.Nodes, &c.node)
					}
					res, body := f.ask(t, method, path("/apps/x/state?user.name=root"))
					if res.StatusCode != http.StatusBadGateway {
						t.Errorf("%s of %s: %d %s", method, host, res.StatusCode, body)
					}
					if host == "127.0.0.1" && (!strings.Contains(body, "leads to no daemon") || !strings.Contains(log.String(), "registered a port of a daemon")) {
						t.Errorf("the reason is not told: %s %s", body, log.String())
					}
				}
			}
		})
	}
	if touched > 0 {
		t.Errorf("the daemon was reached %d times", touched)
	}
	am := master(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	f := start(t, am.URL)
	f.proxy.Own = func(p uint16) bool { return p == port }
	if res, body := f.ask(t, "GET", path("/")); res.StatusCode != http.StatusTeapot {
		t.Errorf("a master beside the daemon: %d %s", res.StatusCode, body)
	}
}

// TestNodesElsewhere: a node's port is refused at its own host alone.
func TestNodesElsewhere(t *testing.T) {
	f := start(t, "http://n1.example:8042")
	f.source.Picture.Nodes = []*view.Node{{ID: yarn.NodeID{Host: "n1.example", Port: 45454}, HTTPAddress: "n1.example:8042", State: yarn.NodeRunning},
		{ID: yarn.NodeID{Host: "n1.example", Port: 45455}, HTTPAddress: "n1.example:8142", State: yarn.NodeLost}}
	f.proxy.Addresses = func(host string) []netip.Addr {
		return map[string][]netip.Addr{"n1.example": {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}[host]
	}
	for _, c := range []struct {
		name, at string
		refused  bool
	}{
		{"n1.example", "192.0.2.9:8042", true}, // by its name, wherever that leads now
		{"N1.Example.", "192.0.2.9:8042", true},
		{"alias.example", "192.0.2.1:8042", true},
		{"alias.example", "192.0.2.1:45454", true},
		{"alias.example", "[2001:db8::1]:8042", true},
		{"alias.example", "192.0.2.1:8142", true},
		{"alias.example", "192.0.2.1:45455", false}, // where a node was that is lost
		{"alias.example", "192.0.2.1:8043", false},
		{"n2.example", "192.0.2.2:8042", false},
		{"localhost", "127.0.0.1:8042", false},
	} {
		err := f.proxy.daemonAt(context.Background(), c.name, netip.MustParseAddrPort(c.at))
		if _, refused := refusedBy(err); refused != c.refused || !refused && err != nil {
			t.Errorf("%s at %s: %v", c.name, c.at, err)
		}
	}
}

// TestMovesByNoHost: the host that was asked for is the caller's to choose.
func TestMovesByNoHost(t *testing.T) {
	f := start(t, "N/A")
	for _, p := range []string{path("/"), "/proxy/redirect/" + strings.TrimPrefix(path("/x"), "/proxy/")} {
		r, err := http.NewRequest("GET", f.url+p, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "evil.example"
		res, err := f.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if at := res.Header.Get("Location"); res.StatusCode != http.StatusFound || !strings.HasPrefix(at, "http://rm.example:8088/cluster/") {
			t.Errorf("%s: %d to %q", p, res.StatusCode, at)
		}
	}
}
