// Package clienttest provides fake daemons for tests; the test supplies a
// function for each method. There is a ResourceManager for users and
// administrators ([Start]), one for ApplicationMasters ([StartForMasters]), and
// a NodeManager ([StartNode]). They speak the real protocols on free loopback
// ports.
package clienttest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
)

// Method answers one method from the request's bytes. An *ipc.RemoteError is
// sent as that exception.
type Method func(request []byte) (proto.Message, error)

// Answer is a Method that always says the same.
func Answer(m proto.Message) Method {
	return func([]byte) (proto.Message, error) { return m, nil }
}

// Refuse is a Method that always throws.
func Refuse(class, message string) Method {
	return func([]byte) (proto.Message, error) { return nil, &ipc.RemoteError{Class: class, Message: message} }
}

// protocols are the ones that a ResourceManager offers to clients and administrators.
var protocols = []string{
	"org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
	"org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB",
	"org.apache.hadoop.ha.HAServiceProtocol",
}

// RM is a running fake.
type RM struct {
	Address string // host:port of every protocol

	mu     sync.Mutex
	calls  []Seen
	tokens []string // identifiers, one for each call
}

// Seen is a call that arrived.
type Seen struct{ Protocol, Method, User, RealUser string }

// Start runs a fake until the test ends. Methods that are not listed are
// refused by the protocol.
func Start(t testing.TB, methods map[string]Method) *RM {
	t.Helper()
	rm := &RM{}
	rm.serve(t, protocols, methods, ipc.ServerConfig{Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodSimple}, Proxies: anyProxy{}})
	return rm
}

// serve offers the same methods under each protocol until the test ends.
func (rm *RM) serve(t testing.TB, protocols []string, methods map[string]Method, cfg ipc.ServerConfig) {
	t.Helper()
	for _, name := range protocols {
		p := ipc.Protocol{Name: name, Version: 1, Methods: map[string]ipc.Handler{}}
		for method, run := range methods {
			p.Methods[method] = rm.handler(run)
		}
		cfg.Protocols = append(cfg.Protocols, p)
	}
	cfg.Name, cfg.Log = "fake", slog.New(slog.DiscardHandler)
	s, err := ipc.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	rm.Address = s.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (rm *RM) handler(run Method) ipc.Handler {
	return func(c *ipc.Call) {
		rm.mu.Lock()
		rm.calls = append(rm.calls, Seen{c.Protocol, c.Method, c.Caller.User, c.Caller.RealUser})
		rm.tokens = append(rm.tokens, string(c.Caller.TokenIdentifier))
		rm.mu.Unlock()
		m, err := run(c.Body)
		if err != nil {
			c.Fail(err)
			return
		}
		body, err := proto.Marshal(m)
		if err != nil {
			c.Fail(err)
			return
		}
		c.Reply(body)
	}
}

// Calls are those that arrived so far, in order.
func (rm *RM) Calls() []Seen {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	return slices.Clone(rm.calls)
}

// Methods are the names of the calls that arrived so far.
func (rm *RM) Methods() string {
	var names []string
	for _, c := range rm.Calls() {
		names = append(names, c.Method)
	}
	return strings.Join(names, " ")
}

// Properties configure a client for the fake, with further name=value pairs.
func (rm *RM) Properties(t testing.TB, more ...string) *conf.Properties {
	t.Helper()
	return Properties(t, append([]string{"yarn.resourcemanager.address=" + rm.Address, "yarn.resourcemanager.admin.address=" + rm.Address}, more...)...)
}

// Properties are Hadoop's defaults with name=value pairs on top, and with pauses
// short enough for tests.
func Properties(t testing.TB, pairs ...string) *conf.Properties {
	t.Helper()
	o := conf.Options{Dir: t.TempDir()}
	for _, p := range append(quick, pairs...) {
		d, err := conf.ParseOverride(p)
		if err != nil {
			t.Fatal(err)
		}
		o.Overrides = append(o.Overrides, d)
	}
	p, err := conf.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var quick = []string{
	"ipc.client.connect.max.retries=1", "ipc.client.connect.retry.interval=1",
	"yarn.resourcemanager.connect.retry-interval.ms=5", "yarn.resourcemanager.connect.max-wait.ms=20",
	"yarn.client.application-client-protocol.poll-interval-ms=1",
}

// ConfDir writes a directory of configuration for the fake, with further
// name=value pairs.
func (rm *RM) ConfDir(t testing.TB, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	own := []string{"yarn.resourcemanager.address=" + rm.Address, "yarn.resourcemanager.admin.address=" + rm.Address}
	for _, p := range slices.Concat(quick, own, more) {
		name, value, _ := strings.Cut(p, "=")
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", name, value)
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
