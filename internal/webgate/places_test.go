package webgate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// port is a server on loopback with few places.
type port struct {
	address string
	log     *safeBuffer
	began   chan struct{} // has one for each request of /hold
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// serve answers /big with more than any buffer takes, /hold when it is let, and
// everything else at once.
func serve(t *testing.T, is terms, hold chan struct{}) *port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &port{l.Addr().String(), &safeBuffer{}, make(chan struct{}, 100)}
	s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/big":
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 64<<20))
		case "/hold":
			p.began <- struct{}{}
			<-hold
		case "/body":
			_, _ = io.Copy(io.Discard, r.Body)
		}
	}), slog.New(slog.NewTextHandler(p.log, nil)))
	done := make(chan error, 1)
	places := newPlaces(l, is, s.log)
	go func() { done <- s.http.Serve(places) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Stop(ctx)
		<-done
	})
	return p
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// connect sends the beginning of a request, or nothing.
func (p *port) connect(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func (p *port) get(t *testing.T) {
	t.Helper()
	c := p.connect(t, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
}

var patient = terms{most: 8, ripe: 20 * time.Millisecond, patience: time.Hour, rate: 1}

// TestNewcomersGetPlaces: whatever those who hold all places wait with, somebody
// new is served; without that each of these would wait for minutes.
func TestNewcomersGetPlaces(t *testing.T) {
	for name, text := range map[string]string{
		"silent":         "",
		"slow to ask":    "GET / HTTP/1.1\r\nHost: x\r\n",
		"slow to send":   "PUT /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx",
		"slow to read":   "GET /big HTTP/1.1\r\nHost: x\r\n\r\n",
		"slow to go on":  "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"slow to finish": "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET",
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, patient, nil)
			for range 3 * patient.most {
				p.connect(t, text)
			}
			for range 5 {
				p.get(t)
			}
			if !strings.Contains(p.log.String(), "connections were cut") || strings.Count(p.log.String(), "\n") != 1 {
				t.Errorf("log: %s", p.log)
			}
		})
	}
}

// TestWorkKeepsItsPlace: a request that is worked on is waited for.
func TestWorkKeepsItsPlace(t *testing.T) {
	hold := make(chan struct{})
	p := serve(t, terms{most: 2, ripe: time.Millisecond, patience: time.Hour, rate: 1}, hold)
	var working []net.Conn
	for range 2 {
		working = append(working, p.connect(t, "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
	}
	for range working {
		<-p.began
	}
	third := p.connect(t, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	time.Sleep(20 * time.Millisecond) // in which it may not drive anybody out
	close(hold)
	for i, c := range append(working, third) {
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("connection %d: %v %v", i, res, err)
		}
	}
	if p.log.String() != "" {
		t.Errorf("log: %s", p.log)
	}
}

// nowhere is a listener that only has an address.
type nowhere struct{ net.Listener }

func (nowhere) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowReaders: who takes nothing of his answer for a while is cut, and so is
// who takes too little in the long run; who keeps up is not, however long it takes.
func TestSlowReaders(t *testing.T) {
	is := terms{most: 8, patience: 30 * time.Second, rate: 8 << 10}
	for _, c := range []struct {
		name  string
		bytes int // at a time
		pause time.Duration
		cut   time.Duration // after which he must be, 0 if not
	}{
		{"nothing", 0, time.Hour, 30 * time.Second},
		{"half of the rate", 4 << 10, time.Second, 80 * time.Second},
		{"a byte at a time", 1, time.Second, 31 * time.Second},
		{"the rate", 8 << 10, time.Second, 0},
		{"fast, with rests", 1 << 20, 25 * time.Second, 0},
		{"at once", 64 << 20, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log safeBuffer
				p := newPlaces(nowhere{}, is, slog.New(slog.NewTextHandler(&log, nil)))
				ours, theirs := net.Pipe()
				g := &guest{Conn: ours, places: p, patience: is.patience}
				begun := time.Now()
				var reader sync.WaitGroup
				reader.Go(func() {
					defer func() { _ = theirs.Close() }()
					for c.bytes > 0 && time.Since(begun) < time.Hour {
						if _, err := io.CopyN(io.Discard, theirs, int64(c.bytes)); err != nil {
							return
						}
						time.Sleep(c.pause)
					}
					if c.bytes == 0 {
						time.Sleep(c.pause)
					}
				})
				var err error
				for n := 0; err == nil && n < 256<<20; n += 1 << 20 { // what is answered
					_, err = g.Write(make([]byte, 1<<20))
				}
				_ = ours.Close()
				after := time.Since(begun)
				reader.Wait()
				if cut := errors.Is(err, os.ErrDeadlineExceeded); cut != (c.cut > 0) || cut && after > c.cut {
					t.Errorf("after %v: %v", after, err)
				}
				if told := strings.Contains(log.String(), "slow_readers=1"); told != (c.cut > 0) {
					t.Errorf("log: %s", log.String())
				}
			})
		})
	}
}

// TestWhoLosesAPlace: the peer that has the most, and of that the one that has
// waited the longest.
func TestWhoLosesAPlace(t *testing.T) {
	now := time.Now()
	p := newPlaces(nowhere{}, terms{most: 5, ripe: time.Second}, slog.New(slog.DiscardHandler))
	one, two := peerOf(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}), peerOf(&net.TCPAddr{IP: net.ParseIP("2001:db8::1")})
	if same := peerOf(&net.TCPAddr{IP: net.ParseIP("2001:db8::ffff:1")}); same != two {
		t.Errorf("%v and %v", same, two)
	}
	if p4 := peerOf(&net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.1")}); p4 != one || one != netip.MustParsePrefix("192.0.2.1/32") {
		t.Errorf("%v and %v", p4, one)
	}
	old := map[string]*guest{}
	for _, x := range []struct {
		name   string
		peer   netip.Prefix
		waited time.Duration
	}{{"a", one, time.Hour}, {"b", one, 2 * time.Hour}, {"c", two, 3 * time.Minute}, {"d", two, 4 * time.Minute}, {"e", two, 0}} {
		g := &guest{peer: x.peer, since: now.Add(-x.waited)}
		if x.waited == 0 {
			g.since = time.Time{} // worked on
		}
		if _, ok := p.add(g); !ok {
			t.Fatalf("%s has no place", x.name)
		}
		old[x.name] = g
	}
	for _, want := range []string{"d", "c"} {
		victim, ok := p.add(&guest{peer: two})
		if ok || victim != old[want] {
			t.Fatalf("not %s", want)
		}
		victim.severed = true
	}
	if victim, _ := p.add(&guest{peer: two}); victim != old["b"] {
		t.Errorf("%s", fmt.Sprint(victim))
	}
	old["b"].severed = true
	old["a"].since = now
	if victim, ok := p.add(&guest{peer: two}); victim != nil || ok {
		t.Error("somebody who has just come lost his place")
	}
}

// taking is a connection whose peer takes what is written, after a while. It keeps since when its guest waited each time.
type taking struct {
	net.Conn
	of    *guest
	since []time.Time
}

func (t *taking) SetWriteDeadline(time.Time) error { return nil }

func (t *taking) Write(b []byte) (int, error) {
	since, _ := t.of.waiting()
	t.since = append(t.since, since)
	time.Sleep(2 * time.Millisecond)
	return len(b), nil
}

// TestEachPieceIsWaitedForAnew: a peer that takes a long answer piece by piece has not let the server wait since the first one.
func TestEachPieceIsWaitedForAnew(t *testing.T) {
	c := &taking{}
	g := &guest{Conn: c, places: newPlaces(nowhere{}, patient, slog.New(slog.DiscardHandler)), patience: time.Hour}
	c.of = g
	if n, err := g.Write(make([]byte, 3*piece)); n != 3*piece || err != nil {
		t.Fatal(n, err)
	}
	if len(c.since) != 3 || !c.since[1].After(c.since[0]) || !c.since[2].After(c.since[1]) {
		t.Errorf("it waited since %v", c.since)
	}
	if _, waits := g.waiting(); waits {
		t.Error("it still waits")
	}
}
