package resourcemanager

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/wire/pb"
)

// Bounds of the attack on each port.
const (
	scans     = 1000
	slowPeers = 50
	heapSlack = 8 << 20 // bytes that the heap may have grown by afterwards
)

// dialPort opens a connection that ends with the test at the latest.
func dialPort(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// attack does to a port what ports on networks have to bear.
func attack(t *testing.T, address string) {
	t.Helper()
	for range scans {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	preamble := "hrpc\x09\x00\x00"
	for name, b := range map[string]string{
		"http":     "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"garbage":  strings.Repeat("\xde\xad\xbe\xef", 1<<14),
		"2 GiB":    preamble + "\x7f\xff\xff\xff",
		"negative": preamble + "\xff\xff\xff\xff",
		"zeros":    preamble + strings.Repeat("\x00", 1<<12),
	} {
		c := dialPort(t, address)
		if _, err := io.WriteString(c, b); err != nil && name != "garbage" && name != "zeros" { // the port may hang up before it has heard all
			t.Errorf("%s: %v", name, err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
	}
	c := dialPort(t, address)
	if err := tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake(); err == nil {
		t.Error("the port speaks TLS")
	}
	for i := range slowPeers { // those who say a little and then nothing stay until the end
		c := dialPort(t, address)
		if _, err := io.WriteString(c, (preamble + "\x00\x00\x10\x00 slow")[:1+i%14]); err != nil {
			t.Fatal(err)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// After an attack on every port the daemon serves as before, and has not grown.
// That it ends all the same, with slow peers still connected, shows when it is
// stopped, and by TestMain.
func TestAttack(t *testing.T) {
	w := newWorld(t, twoQueues)
	w.newNode().beat()
	before := heap()
	for port := range w.d.servers {
		attack(t, w.address(port))
	}
	n := w.newNode()
	alice := w.as("alice")
	id := alice.submit()
	n.beat()
	alice.reaches(id, pb.YarnApplicationState_ACCEPTED)
	if after := heap(); after > before+heapSlack {
		t.Errorf("the heap grew from %d KiB to %d KiB", before>>10, after>>10)
	}
	start := time.Now()
	w.d.Stop()
	if d := time.Since(start); d > stopPatience {
		t.Errorf("stopping took %s", d)
	}
}

// What was wrong with the configuration is said, and nothing is left running.
func TestBadConfiguration(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct{ property, value, want string }{
		"a number":        {"yarn.nm.liveness-monitor.expiry-interval-ms", "soon", "yarn.nm.liveness-monitor.expiry-interval-ms"},
		"a taken port":    {"yarn.resourcemanager.scheduler.address", taken.Addr().String(), "address already in use"},
		"the web port":    {"yarn.resourcemanager.webapp.address", taken.Addr().String(), "yarn.resourcemanager.webapp.address"},
		"a broken list":   {"yarn.resourcemanager.nodes.exclude-path", "/dev", "cannot read the exclude list (yarn.resourcemanager.nodes.exclude-path)"},
		"not built":       {"yarn.resourcemanager.placement-constraints.handler", "scheduler", "yarn.resourcemanager.placement-constraints.handler"},
		"no ids":          {"yarn.resourcemanager.ha.enabled", "true", "yarn.resourcemanager.ha.rm-ids"},
		"short key rolls": {"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs", "60", "rolling-interval"},
		"a store":         {"hadoop.security.authentication", "kerberos", "kerberos"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, dir: t.TempDir(), site: site(c.property, c.value), log: &journalLog{}}
			w.writeQueues(queueFile(twoQueues))
			d, err := w.start()
			if err == nil {
				d.Stop()
				t.Fatal("the daemon has started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not name %q", err, c.want)
			}
		})
	}
	w := &world{t: t, dir: t.TempDir(), site: site(), log: &journalLog{}}
	if _, err := w.start(); err == nil || !strings.Contains(err.Error(), "capacity-scheduler.xml") {
		t.Errorf("without a queue file: %v", err)
	}
}

// What is asked over HTTP is answered from the same views.
func TestWebPort(t *testing.T) {
	w := newWorld(t, twoQueues)
	id := w.as("alice").submit()
	defer http.DefaultClient.CloseIdleConnections()
	r, err := http.Get("http://" + w.d.webAddr + "/ws/v1/cluster/apps/" + id.String())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || !bytes.Contains(b, []byte(`"id":"`+id.String()+`"`)) {
		t.Errorf("%s %s (%v)", r.Status, b, err)
	}
}
