package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// site is a configuration of these properties.
func site(properties map[string]string) Config {
	return Config{Site: "/etc/hadoop/hdfs-site.xml was read", Property: func(k string) string { return properties[k] }}
}

// pair are the two namenodes of the name service "pair", of which nn1 is asked first.
type pair struct {
	nn1, nn2   *namenode
	properties map[string]string
}

func newPair(t *testing.T, methods map[string]func() []byte) *pair {
	p := &pair{nn1: &namenode{t: t, methods: methods}, nn2: &namenode{t: t, methods: methods}}
	p.properties = map[string]string{"dfs.nameservices": "other,pair", "dfs.ha.namenodes.pair": "nn1, nn2",
		"dfs.namenode.rpc-address.pair.nn1":       p.nn1.listen(),
		"dfs.namenode.rpc-address.pair.nn2":       p.nn2.listen(),
		"dfs.client.failover.proxy.provider.pair": "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
		"dfs.client.failover.sleep.base.millis":   "1",
		"dfs.client.failover.sleep.max.millis":    "2",
	}
	return p
}

func (p *pair) active(n *namenode) {
	p.nn1.standby.Store(n != p.nn1)
	p.nn2.standby.Store(n != p.nn2)
}

func aFile(size int) func() []byte { return success(message(1, fileStatus(isFile, "", size, 0o644))) }

func sees(t *testing.T, f FileSystem) {
	t.Helper()
	if i, err := f.Stat("/x"); err != nil || i.Size != 7 {
		t.Fatal(i, err)
	}
}

func TestHDFSFollowsTheActive(t *testing.T) {
	p := newPair(t, map[string]func() []byte{"getFileInfo": aFile(7)})
	systems, err := New(site(p.properties))
	if err != nil {
		t.Fatal(err)
	}
	open := func() FileSystem {
		f, err := systems.Connect(t.Context(), URL{"hdfs", "pair", "/"}, "alice")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	p.active(p.nn2)
	f := open()
	sees(t, f)
	sees(t, f)
	sees(t, open()) // knows from the first whom to ask
	if nn1, nn2 := p.nn1.calls.Load(), p.nn2.calls.Load(); nn1 != 1 || nn2 != 3 {
		t.Error("calls:", nn1, nn2)
	}

	p.active(p.nn1) // by an administrator
	sees(t, f)
	p.nn1.die()
	p.active(p.nn2)
	sees(t, f)
	sees(t, open())
	p.nn1.listenAt(p.properties["dfs.namenode.rpc-address.pair.nn1"])
	p.nn2.die()
	p.active(p.nn1)
	sees(t, f)
}

func TestHDFSNobodyIsActive(t *testing.T) {
	p := newPair(t, map[string]func() []byte{"getFileInfo": aFile(7)})
	p.active(nil)
	p.properties["dfs.client.failover.max.attempts"] = "3"
	f := connect(t, site(p.properties), "hdfs://pair")
	p.nn1.die()
	_, err := f.Stat("/x")
	for _, want := range []string{"no NameNode of pair serves, asked 4 times", "nn1 (127.0.0.1:", "refused", "nn2 (127.0.0.1:", "in state standby"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	p.active(p.nn2) // the same connection goes on
	sees(t, f)
}

// Who waits for a NameNode is told of it once, and when the wait is cut short the error has what was heard.
func TestHDFSTellsThatItWaits(t *testing.T) {
	p := newPair(t, map[string]func() []byte{"getFileInfo": aFile(7)})
	p.active(nil)
	p.properties["dfs.client.failover.sleep.base.millis"] = "60000"
	p.properties["dfs.client.failover.sleep.max.millis"] = "60000"
	ctx, cancel := context.WithCancelCause(t.Context())
	var told []string
	enough := errors.New("it took too long")
	cfg := site(p.properties)
	cfg.Waiting = func(text string) { told = append(told, text); cancel(enough) }
	f := connectAs(t, ctx, cfg, "hdfs://pair", "alice")
	_, err := f.Stat("/x")
	for _, text := range append(told, fmt.Sprint(err)) {
		for _, want := range []string{"no NameNode of pair serves, asked 2 times", "nn1 (127.0.0.1:", "nn2 (127.0.0.1:", "in state standby"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in: %s", want, text)
			}
		}
	}
	if len(told) != 1 || !errors.Is(err, enough) || !strings.Contains(err.Error(), "it took too long, while no NameNode") {
		t.Errorf("told %q, error %v", told, err)
	}
}

func TestHDFSWaitsForTheNextActive(t *testing.T) {
	var asked atomic.Int64
	p := newPair(t, map[string]func() []byte{"getFileInfo": func() []byte {
		if asked.Add(1) <= 5 {
			return refusal("org.apache.hadoop.ipc.StandbyException", "not yet")()
		}
		return aFile(7)()
	}})
	sees(t, connect(t, site(p.properties), "hdfs://pair"))
	if nn1, nn2 := p.nn1.calls.Load(), p.nn2.calls.Load(); nn1 != 3 || nn2 != 3 {
		t.Error("calls:", nn1, nn2)
	}
}

func TestHDFSWritesThroughAFailover(t *testing.T) {
	d := &datanode{}
	host, port := d.listen(t)
	content := "what a container had to say"
	located := locatedBlock(host, port, len(content))
	p := newPair(t, map[string]func() []byte{
		"getFileInfo":            aFile(len(content)),
		"getServerDefaults":      success(serverDefaults),
		"create":                 success(message(1, fileStatus(isFile, "", 0, 0o640))),
		"addBlock":               success(message(1, locatedBlock(host, port, 0))),
		"updateBlockForPipeline": success(message(1, located)),
		"complete":               success(message(1, 1)),
		"getBlockLocations":      success(message(1, message(1, len(content), 2, located, 3, 0, 5, 1))),
	})
	p.active(p.nn1)
	f := connect(t, site(p.properties), "hdfs://pair")
	w, err := f.Create("/x", 0o640, false)
	if err != nil {
		t.Fatal(err)
	}
	p.nn1.die()
	p.active(p.nn2)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	p.nn1.listenAt(p.properties["dfs.namenode.rpc-address.pair.nn1"])
	p.nn2.die()
	p.active(p.nn1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, f, "/x"); got != content {
		t.Errorf("%q", got)
	}
	created, added, completed := p.nn1.methodsSeen("create"), p.nn2.methodsSeen("addBlock"), p.nn1.methodsSeen("complete")
	if len(created) != 1 || len(added) != 1 || len(completed) != 1 || created[0].client != added[0].client || added[0].client != completed[0].client {
		t.Error(created, added, completed)
	}
}

func TestHDFSAsksAgainUnderTheSameID(t *testing.T) {
	var p *pair
	p = newPair(t, map[string]func() []byte{
		"getFileInfo": success(nil),
		"rename2": func() []byte { // carried out, but nobody hears of it
			if !p.nn1.standby.Load() {
				p.active(p.nn2)
				panic(hangUp)
			}
			return success(nil)()
		},
	})
	p.active(p.nn1)
	f := connect(t, site(p.properties), "hdfs://pair")
	if err := f.Rename("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	first, second := p.nn1.methodsSeen("rename2"), p.nn2.methodsSeen("rename2")
	if len(second) != 1 || second[0].client == "" {
		t.Fatal(first, second)
	}
	for _, a := range first { // and once more on a new connection, whose answer is that it is on standby
		if a != second[0] {
			t.Error(first, second)
		}
	}
}

func TestHDFSAsksForPatience(t *testing.T) {
	patience := 3
	p := newPair(t, map[string]func() []byte{"getFileInfo": func() []byte {
		if patience--; patience >= 0 {
			return refusal("org.apache.hadoop.ipc.RetriableException", "Name node is in safe mode")()
		}
		return aFile(7)()
	}})
	p.active(p.nn1)
	sees(t, connect(t, site(p.properties), "hdfs://pair:8020"))
	if n := p.nn2.calls.Load(); n != 0 {
		t.Error("the other one was asked", n)
	}
	patience, p.properties["dfs.client.retry.max.attempts"] = 100, "2"
	_, err := connect(t, site(p.properties), "hdfs://pair").Stat("/x")
	if err == nil || !strings.Contains(err.Error(), "asked 3 times") || !strings.Contains(err.Error(), "safe mode") {
		t.Error(err)
	}
}

// That a cluster is waited for is told once a minute, whichever calls wait, and whether or not they pause between their tries.
func TestHDFSTellsSeldomThatItWaits(t *testing.T) {
	for _, x := range []struct{ class, sleep, want string }{
		{"org.apache.hadoop.ipc.StandbyException", "0", "no NameNode of pair serves, asked 2 times"},
		{"org.apache.hadoop.ipc.RetriableException", "1", " of pair asks for patience: not now"},
		{"org.apache.hadoop.ipc.RetriableException", "0", " of pair asks for patience: not now"},
	} {
		p := newPair(t, map[string]func() []byte{"getFileInfo": refusal(x.class, "not now")})
		p.properties["dfs.client.failover.sleep.base.millis"] = x.sleep
		p.properties["dfs.client.failover.max.attempts"], p.properties["dfs.client.retry.max.attempts"] = "4", "4"
		var told []string
		cfg := site(p.properties)
		cfg.Waiting = func(text string) { told = append(told, text) }
		f := connect(t, cfg, "hdfs://pair")
		for range 3 {
			if _, err := f.Stat("/x"); err == nil {
				t.Error("served")
			}
		}
		if len(told) != 1 || !strings.Contains(told[0], x.want) {
			t.Errorf("%s: told %q", x.class, told)
		}
	}
}

func TestHDFSARefusalStands(t *testing.T) {
	p := newPair(t, map[string]func() []byte{"getFileInfo": refusal("org.apache.hadoop.security.AccessControlException", "Permission denied")})
	p.active(p.nn1)
	if _, err := connect(t, site(p.properties), "hdfs://pair").Stat("/x"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if n := p.nn2.calls.Load(); n != 0 {
		t.Error("the other one was asked", n)
	}
}

func TestHDFSSingleNamenode(t *testing.T) {
	n := &namenode{t: t, methods: map[string]func() []byte{"getFileInfo": aFile(7)}}
	address := n.listen()
	f := connect(t, Config{}, "hdfs://"+address)
	sees(t, f)
	n.die() // and starts again
	n.listenAt(address)
	sees(t, f)
	n.standby.Store(true)
	if _, err := f.Stat("/x"); err == nil || !strings.Contains(err.Error(), address+" is not the active NameNode: name its service") {
		t.Error(err)
	}
	n.die()
	if _, err := f.Stat("/x"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

func TestHDFSUnknownService(t *testing.T) {
	cfg := site(map[string]string{"dfs.nameservices": "prod,half"})
	cfg.Dial = dialNothing
	for _, k := range []struct {
		site Config
		url  string
		why  []string
	}{
		{cfg, "hdfs://test/x", []string{"hdfs://test/", "test is neither a host (", "no such host", "nor a name service (dfs.nameservices is prod,half; /etc/hadoop/hdfs-site.xml was read)", "dfs.ha.namenodes.test"}},
		{Config{Dial: cfg.Dial, Site: "/c/hdfs-site.xml does not exist"}, "hdfs://test/x", []string{"dfs.nameservices is not set; /c/hdfs-site.xml does not exist"}},
		{cfg, "hdfs://half/x", []string{"dfs.nameservices names half", "dfs.ha.namenodes.half", "/etc/hadoop/hdfs-site.xml"}},
	} {
		_, err := tryConnect(t.Context(), k.site, k.url, "alice")
		for _, want := range k.why {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
	}
}

func TestFindCluster(t *testing.T) {
	cfg := site(map[string]string{"dfs.nameservices": "single,ha,vip", "dfs.namenode.rpc-address.single": "nn1", "dfs.ha.namenodes.ha": "a,b",
		"dfs.namenode.rpc-address.ha.a": "h1:1", "dfs.namenode.rpc-address.ha.b": " h2 ", "dfs.ha.namenodes.half": "a",
		"dfs.ha.namenodes.many": strings.Repeat("x,", 17), "dfs.client.failover.proxy.provider.vip": "IPFailoverProxyProvider",
		"dfs.client.failover.max.attempts": "1000", "dfs.client.retry.max.attempts": "-1"})
	for authority, want := range map[string]string{"single": "nn1:8020", "ha": "a (h1:1) b (h2:8020) failover", "ha:8020": "a (h1:1) b (h2:8020) failover",
		"nn2": "nn2:8020", "u@nn3:9": "nn3:9", "[::1]": "[::1]:8020", "[::1]:7": "[::1]:7", "vip": "vip:8020 failover", "": "names a namenode",
		"half": "dfs.namenode.rpc-address.half.a is not set", "many": "at most 16", "ha:9000": "leave :9000 out"} {
		c, err := cfg.findCluster(URL{"hdfs", authority, "/x"})
		got := strings.Trim(fmt.Sprint(c.nodes), "[]")
		if err == nil && len(c.nodes) == 1 {
			got = c.nodes[0].address
		}
		if c.failover {
			got += " failover"
		}
		if err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v", authority, got, err)
		}
		if err == nil && (c.failovers != maxDials || c.retries != 10) {
			t.Errorf("%q: %+v", authority, c)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "134217728": 128 << 20, " 128m ": 128 << 20, "1G": 1 << 30, "m": 0, "-1": 0, "1x": 0, "9e": 0, "3e": 3 << 60, "0x10": 0} {
		if got := site(map[string]string{"k": text}).bytes("k"); got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}

func dialNothing(_ context.Context, network, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
}

func FuzzRefusal(f *testing.F) {
	f.Add(refusal("org.apache.hadoop.ipc.StandbyException", "not me\n\tat x")())
	f.Add(success(nil)())
	f.Add([]byte{0x7f, 0x22})
	f.Fuzz(func(t *testing.T, body []byte) {
		class, text := refusalOf(append(make([]byte, 4), body...))
		if len(class) > len(body) || len(text) > 200 || strings.Contains(text, "\n") {
			t.Errorf("%q %q", class, text)
		}
	})
}

func TestRefusal(t *testing.T) {
	body := refusal("org.apache.hadoop.ipc.StandbyException", "not me\n\tat x")()
	if class, text := refusalOf(append(make([]byte, 4), body...)); class != "org.apache.hadoop.ipc.StandbyException" || text != "not me" {
		t.Error(class, text)
	}
	if class, _ := refusalOf(append(make([]byte, 4), success(message(4, "not", 5, "a header"))()...)); class != "" {
		t.Error(class)
	}
}
