// Package replicatest runs members of a replicated store in one process, for tests.
package replicatest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/replica"
)

// Group is a set of members rm1, rm2 and so on whose connections can be cut.
type Group struct {
	Names   []string
	Members map[string]*replica.Member // those that run
	Timeout time.Duration
	Secret  []byte
	Edit    func(*replica.Config) // nil: it is as it is

	t     testing.TB
	dir   string
	addrs map[string]string
	start time.Time

	mu    sync.Mutex
	cut   map[[2]string]bool
	conns map[[2]string][]net.Conn
}

// New returns a group of n members whose files are in a directory.
func New(t testing.TB, dir string, n int) *Group {
	g := &Group{t: t, dir: dir, Secret: []byte(strings.Repeat("s", 32)), addrs: map[string]string{}, Members: map[string]*replica.Member{}, Timeout: 200 * time.Millisecond,
		cut: map[[2]string]bool{}, conns: map[[2]string][]net.Conn{}, start: time.Now()}
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g.addrs[fmt.Sprintf("rm%d", i+1)] = l.Addr().String()
		defer l.Close()
	}
	g.Names = slices.Sorted(maps.Keys(g.addrs))
	t.Cleanup(func() {
		for _, m := range g.Members {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return g
}

// Clock is the clock of all members.
func (g *Group) Clock() time.Duration { return time.Since(g.start) }

// Dir is where a member has its files.
func (g *Group) Dir(name string) string { return filepath.Join(g.dir, name) }

// Config is what a member is started with.
func (g *Group) Config(name string) replica.Config {
	c := replica.Config{Dir: g.Dir(name), Cluster: "test", Name: name, Members: g.addrs, Secret: g.Secret, Timeout: g.Timeout, Buckets: []string{"data", "more"},
		Log: slog.New(slog.NewTextHandler(testLog{}, &slog.HandlerOptions{Level: slog.LevelInfo})).With("on", name), Clock: g.Clock,
		Dial: func(ctx context.Context, address string) (net.Conn, error) { return g.dial(ctx, name, address) }}
	if g.Edit != nil {
		g.Edit(&c)
	}
	return c
}

func (g *Group) dial(ctx context.Context, from, address string) (net.Conn, error) {
	to := ""
	for n, a := range g.addrs {
		if a == address {
			to = n
		}
	}
	way := [2]string{min(from, to), max(from, to)}
	g.mu.Lock()
	cut := g.cut[way]
	g.mu.Unlock()
	if cut {
		return nil, errors.New("the test has cut it off")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		g.mu.Lock()
		g.conns[way] = append(g.conns[way], conn)
		g.mu.Unlock()
	}
	return conn, err
}

// testLog shows what members log, if the tests are told to tell.
type testLog struct{}

// Write implements io.Writer.
func (testLog) Write(b []byte) (int, error) {
	if testing.Verbose() {
		fmt.Fprint(os.Stderr, string(b))
	}
	return len(b), nil
}

// Open starts members.
func (g *Group) Open(names ...string) {
	g.t.Helper()
	for _, name := range names {
		m, err := replica.Open(g.Config(name))
		if err != nil {
			g.t.Fatal(err)
		}
		g.Members[name] = m
	}
}

// Close ends members.
func (g *Group) Close(names ...string) {
	g.t.Helper()
	for _, name := range names {
		if err := g.Members[name].Close(); err != nil {
			g.t.Fatal(err)
		}
		delete(g.Members, name)
	}
}

// Isolate cuts a member off from all others, or connects it again.
func (g *Group) Isolate(name string, off bool) {
	for _, other := range g.Names {
		if other == name {
			continue
		}
		way := [2]string{min(name, other), max(name, other)}
		g.mu.Lock()
		g.cut[way] = off
		for _, c := range g.conns[way] {
			_ = c.Close()
		}
		g.conns[way] = nil
		g.mu.Unlock()
	}
}

// Until waits for something.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// Leader waits for one that is none of those.
func (g *Group) Leader(but ...string) (name string, leader *replica.Member) {
	g.t.Helper()
	Until(g.t, "leader", func() bool {
		for n, m := range g.Members {
			if s, _ := m.Standing(); s.Leads && m.Holds() && !slices.Contains(but, n) {
				name, leader = n, m
				return true
			}
		}
		return false
	})
	return name, leader
}
