package ipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crew is a protocol whose method "work" is served in turn: calls begin when
// they have a place and end when the test says so.
type crew struct{ begun chan *Call }

func newCrew() (*crew, []Protocol) {
	w := &crew{begun: make(chan *Call, 100)}
	p := echo(clientProtocol, 1)
	p.Methods["work"] = InTurn(func(c *Call) { w.begun <- c })
	p.Methods["long"] = InTurn(long)
	p.Methods["broken"] = InTurn(func(*Call) { panic("boom") })
	p.Methods["broken beside"] = InTurn(func(c *Call) { c.Go(func() { panic("boom") }) })
	return w, []Protocol{p}
}

// long answers with as many bytes as the request says.
func long(c *Call) {
	n := int(binary.BigEndian.Uint32(c.Body))
	a := c.Answer()
	for n > 0 {
		k := min(n, 700)
		n -= k
		if !a.Append(func(b []byte) []byte { return append(b, bytes.Repeat([]byte{byte(k)}, k)...) }) {
			break
		}
	}
	a.Send()
}

func size(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// as logs in and calls a method so many times.
func (r *raw) as(user, method string, calls int, body []byte) {
	r.t.Helper()
	r.send(crowd(user, method, calls, body))
}

// Users take turns, whoever of them has more connections or calls, and a
// connection is not read while it waits.
func TestTurns(t *testing.T) {
	w, p := newCrew()
	bubble(t, ServerConfig{Protocols: p}, func(t *testing.T, s *Server, m *memory) {
		w.begun = make(chan *Call, 100)
		first := m.raw(t)
		first.as("alice", "work", 1, nil)
		synctest.Wait()
		for range 3 {
			r := m.raw(t)
			go r.as("mallory", "work", 5, nil)
			synctest.Wait()
		}
		late := m.raw(t)
		late.as("bob", "work", 1, nil)
		synctest.Wait()
		if n := s.Stats(); n.InFlight != 5 || n.Calls != 5 {
			t.Fatalf("%d calls in flight of %d, want one of each connection", n.InFlight, n.Calls)
		}
		var order []string
		for range 4 {
			if len(w.begun) != 1 {
				t.Fatalf("%d calls run at a time", len(w.begun))
			}
			c := <-w.begun
			order = append(order, c.Caller.User)
			c.Reply(nil)
			synctest.Wait()
		}
		if want := []string{"alice", "mallory", "bob", "mallory"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
		(<-w.begun).Reply(nil) // the last connection's; none of mallory's reads, so none is served again
	})
}

// A place is free again after a panic, and calls that need none pass by.
func TestPlacesComeBack(t *testing.T) {
	w, p := newCrew()
	s := serve(t, ServerConfig{Protocols: p})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	call := func(method string, body []byte) ([]byte, error) {
		return c.Call(t.Context(), s.Addr().String(), clientProtocol, method, body)
	}
	for range 3 {
		for _, method := range []string{"broken", "broken beside"} {
			if _, err := call(method, nil); err == nil || !strings.Contains(err.Error(), "internal error") {
				t.Fatal(err)
			}
		}
	}
	other := rawDial(t, s)
	other.as("b", "work", 1, nil)
	held := <-w.begun
	if _, err := call("echo", nil); err != nil {
		t.Fatal(err)
	}
	held.Fail(errors.New("no"))
	if b, err := call("long", size(5)); err != nil || len(b) != 5 {
		t.Fatal(b, err)
	}
}

// The calls of a peer that has gone do not run, though nothing has read its
// connection since.
func TestGoneDoNotRun(t *testing.T) {
	if !canTry {
		t.Log("this system does not tell")
		return
	}
	w, p := newCrew()
	s := serve(t, ServerConfig{Protocols: p})
	first, second := rawDial(t, s), rawDial(t, s)
	first.as("a", "work", 1, nil)
	held := <-w.begun
	second.as("b", "work", 20, nil)
	waitFor(t, func() bool { return s.Stats().InFlight == 2 })
	second.Close()
	waitFor(t, func() bool { return slices.ContainsFunc(s.open(), func(c *conn) bool { return c.sock.gone() }) })
	held.Reply(nil)
	waitFor(t, func() bool { return s.Stats().Connections == 1 })
	if n := s.Stats(); n.Dropped != 1 || n.Calls != 2 || len(w.begun) != 0 {
		t.Fatalf("%+v, %d begun", n, len(w.begun))
	}
}

// Closing a server ends those who wait for their turn.
func TestCloseWhileWaiting(t *testing.T) {
	w, p := newCrew()
	s := serve(t, ServerConfig{Protocols: p})
	for range 3 {
		rawDial(t, s).as("a", "work", 2, nil)
	}
	held := <-w.begun
	waitFor(t, func() bool { return s.Stats().InFlight == 3 })
	for _, c := range s.open() {
		c.shut()
	}
	waitFor(t, func() bool { return s.Stats().Connections == 1 })
	held.Reply(nil)
	waitFor(t, func() bool { return s.Stats().Connections == 0 })
}

// Answers of every size arrive as they were put together; one that is too
// large is refused by name.
func TestAnswersPieceByPiece(t *testing.T) {
	_, p := newCrew()
	s := serve(t, ServerConfig{Protocols: p, Limits: Limits{MaxResponse: 3 * mib}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	for _, n := range []int{0, 1, 127, 128, 4 << 10, fullChunk - 1, fullChunk, keepSize, keepSize + 1, 1 << 20, 3 * mib} {
		b, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "long", size(n))
		if err != nil || len(b) != n || n > 700 && (b[0] != 700&255 || b[n-1] != byte((n-1)%700+1)) {
			t.Fatalf("%d bytes: %d came, %v", n, len(b), err)
		}
		body := bytes.Repeat([]byte{9}, n)
		if b, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "echo", body); err != nil || !bytes.Equal(b, body) {
			t.Fatalf("echo of %d bytes: %d came, %v", n, len(b), err)
		}
	}
	if _, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "long", size(3*mib+1)); err == nil || !strings.Contains(err.Error(), "ask for less at once") {
		t.Fatal(err)
	}
}

// lines counts what a server logs.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(b))
	return len(b), nil
}

// When too much waits, those who take nothing go, the largest first, with one
// line of log; who holds less stays. A user who holds too much is passed over
// and others are served.
func TestWorstGoesFirst(t *testing.T) {
	_, p := newCrew()
	out := &lines{}
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		backlog := NewBacklog(100_000, 150_000, slog.New(slog.NewTextHandler(out, nil)))
		s := serve(t, ServerConfig{Listener: m, Protocols: p, Backlog: backlog, Limits: Limits{Places: 2, Write: time.Hour}})
		slow := m.raw(t)
		go slow.as("sloth", "long", 2, size(60_000))
		synctest.Wait()
		read := 0
		buf := make([]byte, 4<<10)
		sip := func() { // a little at a time
			n, err := slow.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			read += n
		}
		var deaf []*raw
		for _, n := range []int{20_000, 70_000, 20_000} {
			r := m.raw(t)
			go r.as("mallory", "long", 2, size(n))
			synctest.Wait()
			deaf = append(deaf, r)
		}
		if !backlog.full("mallory") || !backlog.full("sloth") {
			t.Fatalf("%d bytes wait", backlog.Size())
		}
		for range 4 {
			time.Sleep(time.Second)
			sip()
		}
		other := m.raw(t)
		go other.as("bob", "long", 1, size(10))
		if _, body := other.frame(); len(body) != 10 {
			t.Fatalf("bob got %d bytes", len(body))
		}
		if n := s.Stats(); n.SlowReaders != 0 || n.Connections != 5 {
			t.Fatalf("%+v", n)
		}
		for range 4 {
			time.Sleep(time.Second)
			sip()
		}
		if n := s.Stats(); n.SlowReaders != 1 || n.Connections != 4 {
			t.Fatalf("%+v", n)
		}
		if _, err := deaf[1].Write([]byte{0}); err == nil {
			t.Error("the largest of those who do not read is still there")
		}
		for read < 120_000 {
			sip()
		}
		out.mu.Lock()
		defer out.mu.Unlock()
		if len(out.all) != 1 || !strings.Contains(out.all[0], "user=mallory") || !strings.Contains(out.all[0], "connections=1") {
			t.Errorf("%q", out.all)
		}
	})
}

// Who has nothing waiting is served on when the bound of all is met, until one
// user's bound more waits.
func TestBacklogKeepsRoomForOthers(t *testing.T) {
	l := NewBacklog(100, 150, slog.New(slog.DiscardHandler))
	owes := map[string]*conn{}
	for _, step := range []struct {
		user string
		n    int64
		full string
	}{
		{"a", 99, ""},
		{"a", 1, "a"},
		{"b", 49, "a"},
		{"b", 1, "a b"},
		{"c", 99, "a b c"},
		{"c", 1, "a b c new"},
		{"c", -100, "a b"},
		{"a", -1, ""},
		{"a", -99, ""},
		{"b", -50, ""},
	} {
		c := owes[step.user]
		if c == nil {
			c = &conn{}
			c.who.Store(&Identity{User: step.user})
			c.out.moved.Store(math.MaxInt64)
			owes[step.user] = c
		}
		l.add(c, step.n)
		var full []string
		for _, user := range []string{"a", "b", "c", "new"} {
			if l.full(user) {
				full = append(full, user)
			}
		}
		if got := strings.Join(full, " "); got != step.full {
			t.Errorf("%s %+d: full for %q, want %q", step.user, step.n, got, step.full)
		}
	}
}

// A reader who keeps up gets the answers to all that it has sent at once,
// though they are far more than may wait for it.
func TestWhoKeepsUpIsNotCut(t *testing.T) {
	_, p := newCrew()
	s := serve(t, ServerConfig{Protocols: p, Limits: Limits{MaxQueued: 256 << 10}, Backlog: NewBacklog(512<<10, mib, slog.New(slog.DiscardHandler))})
	const calls, bytes = 300, 200_000
	r := rawDial(t, s)
	go r.as("a", "long", calls, size(bytes))
	for i := range calls {
		if h, body := r.frame(); h.call != int32(i) || h.status != statusSuccess || len(body) != bytes {
			t.Fatalf("answer %d is of call %d, %d bytes: %s", i, h.call, len(body), h.message)
		}
	}
	waitFor(t, func() bool { return s.backlog.Size() == 0 && s.Stats().Queued == 0 })
}

// Calls, sizes and connections by chance: whoever reads gets every answer,
// whoever does not harms nobody, and in the end nothing is counted any more.
func TestAnyCrowd(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 13))
			_, p := newCrew()
			m := newMemory()
			backlog := NewBacklog(200_000, 300_000, slog.New(slog.DiscardHandler))
			s := serve(t, ServerConfig{Listener: m, Protocols: p, Backlog: backlog, Limits: Limits{Places: 1 + random.IntN(3), MaxQueued: 150_000}})
			var readers sync.WaitGroup
			var deaf []*raw
			for i := range 30 {
				r := m.raw(t)
				user, method := fmt.Sprint("user", random.IntN(4)), []string{"long", "echo", "later"}[random.IntN(3)]
				calls, body := 1+random.IntN(12), make([]byte, 4+random.IntN(9_000))
				copy(body, size(random.IntN(60_000)))
				if random.IntN(3) == 0 {
					deaf = append(deaf, r)
					go func() { _, _ = r.Write(crowd(user, method, calls, body)) }() // until it is cut
					continue
				}
				readers.Go(func() {
					sent := make(chan error, 1)
					go func() {
						_, err := r.Write(crowd(user, method, calls, body))
						sent <- err
					}()
					for range calls {
						if h, _ := r.frame(); h.status != statusSuccess {
							t.Errorf("seed %d, connection %d: %s", seed, i, h.message)
						}
					}
					if err := <-sent; err != nil {
						t.Errorf("seed %d, connection %d: %v", seed, i, err)
					}
				})
			}
			readers.Wait()
			for _, r := range deaf {
				r.Close()
			}
			synctest.Wait()
			if n := s.Stats(); backlog.Size() != 0 || n.Queued != 0 || n.InFlight != 0 || len(backlog.users)+len(backlog.conns)+backlog.over != 0 || len(s.turns.lines) != 0 {
				t.Errorf("seed %d: %+v, backlog %+v", seed, n, backlog)
			}
		})
	}
}

func crowd(user, method string, calls int, body []byte) []byte {
	b := append(bytes.Clone(simplePreface), contextFrame(user, "", clientProtocol)...)
	for i := range calls {
		b = append(b, request(int32(i), 0, clientProtocol, method, body)...)
	}
	return b
}
