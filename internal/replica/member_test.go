package replica_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/heddle-project/heddle/internal/replica/replicatest"
	"github.com/heddle-project/heddle/internal/sealed"
)

func put(key, value string) replica.Batch {
	return replica.Batch{Changes: []replica.Change{{Bucket: "data", Key: key, Value: []byte(value)}}}
}

// has waits until a member has a value.
func has(t testing.TB, m *replica.Member, key, value string) {
	t.Helper()
	replicatest.Until(t, key, func() bool {
		got := ""
		if err := m.View(func(r replica.Reader) error { got = string(r.Get("data", key)); return nil }); err != nil {
			t.Fatal(err)
		}
		return got == value
	})
}

// commit makes a change through m or, if m has lost the lead, through whoever leads now.
func commit(t testing.TB, g *replicatest.Group, m *replica.Member, key, value string) {
	t.Helper()
	err := m.Commit(t.Context(), put(key, value))
	for began := time.Now(); (errors.Is(err, replica.ErrNotLeader) || errors.Is(err, replica.ErrLost)) && time.Since(began) < time.Minute; {
		name, leader := g.Leader()
		t.Logf("commit of %s: %v; again through %s", key, err, name)
		m = leader
		err = m.Commit(t.Context(), put(key, value))
	}
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func TestLeaderEnds(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	gone, first := g.Leader()
	commit(t, g, first, "a", "1")
	for _, m := range g.Members {
		has(t, m, "a", "1")
	}
	g.Close(gone)
	_, second := g.Leader()
	commit(t, g, second, "b", "2")
	g.Open(gone)
	has(t, g.Members[gone], "b", "2")
	if err := g.Members[gone].Commit(t.Context(), put("c", "3")); !errors.Is(err, replica.ErrNotLeader) {
		t.Fatalf("got %v", err)
	}
}

// TestLeaderCutOff: its lease ends before another one has one, and what it accepts afterwards is not lost on it alone: it is not acknowledged.
func TestLeaderCutOff(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	name, leader := g.Leader()
	commit(t, g, leader, "a", "1")
	g.Isolate(name, true)
	ctx, cancel := context.WithTimeout(t.Context(), g.Timeout)
	defer cancel()
	if err := leader.Commit(ctx, put("lost", "1")); err == nil {
		t.Fatal("a change was acknowledged that nobody else has")
	}
	_, next := g.Leader(name)
	if leader.Holds() {
		t.Fatal("two have a lease")
	}
	commit(t, g, next, "a", "2")
	g.Isolate(name, false)
	has(t, leader, "a", "2")
	has(t, leader, "lost", "")
}

// TestFarBehind: a member that was away for longer than the log goes back gets all data anew.
func TestFarBehind(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Edit = func(c *replica.Config) { c.Keep = 10 }
	g.Open(g.Names...)
	_, leader := g.Leader()
	commit(t, g, leader, "gone", "1")
	behind := g.Names[2]
	if g.Members[behind] == leader {
		behind = g.Names[1]
	}
	has(t, g.Members[behind], "gone", "1")
	g.Close(behind)
	for i := range 60 {
		commit(t, g, leader, fmt.Sprint("k", i), "1")
	}
	if err := leader.Commit(t.Context(), replica.Batch{Changes: []replica.Change{{Bucket: "data", Key: "gone"}}}); err != nil {
		t.Fatal(err)
	}
	g.Open(behind)
	has(t, g.Members[behind], "k59", "1")
	has(t, g.Members[behind], "gone", "")
	commit(t, g, leader, "after", "1")
	has(t, g.Members[behind], "after", "1")
}

// TestDiskLost: a member that comes with an empty disk gets all data, and a vote: then another one may go.
func TestDiskLost(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	lost, leader := g.Leader()
	commit(t, g, leader, "a", "1")
	g.Close(lost)
	if err := os.RemoveAll(g.Dir(lost)); err != nil {
		t.Fatal(err)
	}
	_, leader = g.Leader()
	commit(t, g, leader, "b", "1")
	g.Open(lost)
	has(t, g.Members[lost], "b", "1")
	replicatest.Until(t, "vote", func() bool { s, _ := g.Members[lost].Standing(); return s.Voters == "rm1,rm2,rm3" })
	name, _ := g.Leader()
	g.Close(name)
	_, leader = g.Leader()
	commit(t, g, leader, "c", "1")
}

func TestHandOver(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	name, leader := g.Leader()
	leader.HandOver("")
	next, m := g.Leader(name)
	m.HandOver(next) // to itself, which it has already
	g.Members[name].HandOver(name)
	if _, m := g.Leader(next); m != g.Members[name] {
		t.Fatal("another one leads")
	}
}

// TestStrangers: who does not know the secret, or is configured otherwise, has no part in anything.
func TestStrangers(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names[:2]...)
	for what, edit := range map[string]func(*replica.Config){
		"secret":  func(c *replica.Config) { c.Secret = []byte(strings.Repeat("x", 32)) },
		"cluster": func(c *replica.Config) { c.Cluster = "another" },
		"members": func(c *replica.Config) {
			c.Members = maps.Clone(c.Members)
			c.Members["rm4"] = "127.0.0.1:1"
		},
	} {
		var log bytes.Buffer
		var mu sync.Mutex
		g.Edit = func(c *replica.Config) {
			edit(c)
			c.Log = slog.New(slog.NewTextHandler(locked{&mu, &log}, nil))
		}
		g.Open("rm3")
		for _, want := range map[string][]string{"secret": {"tls: "}, "cluster": {`is of cluster`}, "members": {"rm1,rm2,rm3,rm4", "give all of them the same list"}}[what] {
			replicatest.Until(t, what, func() bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(log.String(), want) })
		}
		if s, _ := g.Members["rm3"].Standing(); s.Founded || s.Leader != "" {
			t.Errorf("%s: it takes part: %+v", what, s)
		}
		g.Close("rm3")
	}
	g.Edit = nil
	g.Open("rm3")
	_, leader := g.Leader()
	commit(t, g, leader, "a", "1")
}

type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

// TestGarbage: what comes without the secret is bounded in size and time, and harms nobody.
func TestGarbage(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	_, leader := g.Leader()
	address := g.Config("rm1").Members["rm1"]
	for _, garbage := range []string{"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("\x16\x03\x01\xff\xff", 20_000)} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write([]byte(garbage))
	}
	commit(t, g, leader, "a", "1")
}

func TestSecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for _, c := range []struct {
		text, want string
		mode       os.FileMode
	}{{strings.Repeat("k", 32) + "\n", "", 0o600}, {"short", "must have 32", 0o600}, {strings.Repeat("k", 32), "others may read", 0o640}, {strings.Repeat("k", 5000), "no file of at most", 0o600}} {
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		b, err := replica.ReadSecret(path)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && len(b) != 32 {
			t.Errorf("%.10q: %v", c.text, err)
		}
	}
}

// A member does not begin with the directory of another one: it would take back what that one has promised.
func TestExchangedDirectories(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	_, leader := g.Leader()
	commit(t, g, leader, "a", "1")
	g.Close("rm1", "rm2")
	if err := os.Rename(g.Dir("rm1"), g.Dir("rm2")+"-x"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(g.Dir("rm2"), g.Dir("rm1")), os.Rename(g.Dir("rm2")+"-x", g.Dir("rm2"))); err != nil {
		t.Fatal(err)
	}
	if m, err := replica.Open(g.Config("rm1")); err == nil || !strings.Contains(err.Error(), "belongs to rm2, and this is rm1") {
		if err == nil {
			_ = m.Close()
		}
		t.Fatalf("rm1 began with the directory of rm2: %v", err)
	}
}

// What cannot be stored is refused, and nobody is harmed.
func TestBatchIsRefused(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	_, leader := g.Leader()
	for _, c := range []replica.Change{{Bucket: "data", Key: "", Value: []byte("v")}, {Bucket: "nowhere", Key: "k", Value: []byte("v")}} {
		if err := leader.Commit(t.Context(), replica.Batch{Changes: []replica.Change{c}}); !errors.Is(err, replica.ErrKey) {
			t.Errorf("%s/%q: %v", c.Bucket, c.Key, err)
		}
	}
	commit(t, g, leader, "a", "1")
}

// TestLongRead: who reads for long keeps nobody waiting, however much the file grows meanwhile.
func TestLongRead(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	_, leader := g.Leader()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	large := strings.Repeat("x", 1<<20)
	err := leader.View(func(replica.Reader) error {
		for i := range 16 {
			if err := leader.Commit(ctx, put(fmt.Sprint("k", i), large)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecover: two of three lose their disks. The copy of the third becomes the store; the others come with empty disks and get a vote; and one that
// comes with its disk of before has no part any more.
func TestRecover(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	_, leader := g.Leader()
	commit(t, g, leader, "a", "1")
	for _, m := range g.Members {
		has(t, m, "a", "1")
	}
	also := func(r replica.Reader) ([]replica.Change, error) {
		return []replica.Change{{Bucket: "data", Key: "also", Value: append([]byte("after "), r.Get("data", "a")...)}}, nil
	}
	recovers := func() (*replica.Recovery, error) { return replica.Recover(t.Context(), g.Config("rm1"), also) }
	alive, held := &replica.AliveError{}, &sealed.HeldError{}
	if _, err := recovers(); !errors.As(err, &alive) || alive.Name != "rm2" {
		t.Fatalf("while all run: %v", err)
	}
	g.Close("rm2", "rm3")
	if _, err := recovers(); !errors.As(err, &held) {
		t.Fatalf("while it runs itself: %v", err)
	}
	g.Close("rm1")
	before := g.Dir("rm3") + "-before"
	if err := errors.Join(os.RemoveAll(g.Dir("rm2")), os.Rename(g.Dir("rm3"), before)); err != nil {
		t.Fatal(err)
	}
	g.Open("rm2")
	if _, err := recovers(); !errors.As(err, &alive) || alive.Name != "rm2" {
		t.Fatalf("while another one runs: %v", err)
	}
	g.Close("rm2")
	if _, err := replica.Recover(t.Context(), g.Config("rm2"), also); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("of an empty disk: %v", err)
	}
	r, err := recovers()
	if err != nil || r.Entry == 0 || !slices.Equal(r.Were, g.Names) {
		t.Fatalf("%+v, %v", r, err)
	}

	g.Open("rm1")
	_, leader = g.Leader()
	commit(t, g, leader, "b", "1")
	has(t, leader, "a", "1")
	g.Open("rm2", "rm3")
	voters := func() bool { s, _ := leader.Standing(); return s.Voters == "rm1,rm2,rm3" }
	replicatest.Until(t, "vote of all", voters)
	has(t, g.Members["rm3"], "b", "1")
	has(t, g.Members["rm3"], "also", "after 1")

	g.Close("rm3")
	if err := errors.Join(os.Rename(g.Dir("rm3"), before+"-not"), os.Rename(before, g.Dir("rm3"))); err != nil {
		t.Fatal(err)
	}
	g.Open("rm3")
	replicatest.Until(t, "refusal", func() bool {
		s, _ := g.Members["rm3"].Standing()
		return s.Broken != nil && strings.Contains(s.Broken.Error(), "recovered from the copy of another member")
	})
	commit(t, g, leader, "c", "1")
	g.Close("rm3")
	if err := os.RemoveAll(g.Dir("rm3")); err != nil {
		t.Fatal(err)
	}
	g.Open("rm3")
	has(t, g.Members["rm3"], "c", "1")
	replicatest.Until(t, "vote of all", voters)
	g.Close("rm1")
	_, leader = g.Leader()
	commit(t, g, leader, "d", "1")
}

// TestWitness: of two members and a witness each may be lost. The witness has all that was acknowledged, and never leads.
func TestWitness(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	witness := []string{"rm1"}
	g.Edit = func(c *replica.Config) { c.Witness = witness }
	g.Timeout *= 2
	g.Open(g.Names...)
	first, leader := g.Leader()
	for i := range 4 {
		commit(t, g, leader, fmt.Sprint("k", i), "1")
		if i%2 == 1 {
			g.Close(first)
		}
		var next string
		var m *replica.Member
		replicatest.Until(t, "another leader", func() bool {
			if i%2 == 0 { // who has just started does not take over yet
				leader.HandOver("")
			}
			for name, x := range g.Members {
				if s, _ := x.Standing(); name != first && s.Leads && x.Holds() {
					next, m = name, x
				}
			}
			return m != nil
		})
		if next == "rm1" {
			t.Fatal("the witness leads")
		}
		commit(t, g, m, fmt.Sprint("n", i), "1")
		has(t, g.Members["rm1"], fmt.Sprint("n", i), "1")
		if i%2 == 1 {
			g.Open(first)
			has(t, g.Members[first], fmt.Sprint("n", i), "1")
		}
		first, leader = next, m
	}
	other := "rm2" // it misses a change, which the witness has
	if first == other {
		other = "rm3"
	}
	g.Isolate(other, true)
	commit(t, g, leader, "missed", "1")
	g.Close(first)
	g.Isolate(other, false)
	if next, m := g.Leader(); next != other {
		t.Fatalf("%s leads", next)
	} else {
		has(t, m, "missed", "1")
		commit(t, g, m, "x", "1")
		leader = m
	}
	g.Open(first)
	g.Members["rm1"].HandOver("rm1") // nobody hands over to it
	commit(t, g, leader, "after", "1")
	has(t, g.Members[first], "after", "1")
	g.Close("rm1")
	commit(t, g, leader, "without", "1")
	witness = []string{"rm1", "rm2"}
	if m, err := replica.Open(g.Config("rm1")); err == nil {
		_ = m.Close()
		t.Error("one member alone may lead")
	}
}
