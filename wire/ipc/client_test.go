package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/internal/freeport"
)

func TestRemoteErrors(t *testing.T) {
	var log strings.Builder
	s := serve(t, ServerConfig{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Protocols: []Protocol{echo(clientProtocol, 1), echo("old", 2)}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	for _, k := range []struct {
		protocol, method, class string
		detail                  ErrorDetail
		message                 string
	}{
		{clientProtocol, "fail", ClassIOException, ErrorApplication, "no such luck"},
		{clientProtocol, "app", "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", ErrorApplication, "application_1_0001 is unknown\n\tat x"},
		{clientProtocol, "panic", ClassRuntime, ErrorApplication, "internal error in panic; see the server's log"},
		{clientProtocol, "nothing", ClassNoSuchMethod, ErrorNoSuchMethod, "Unknown method nothing called on " + clientProtocol + " protocol."},
		{"x.Y", "echo", ClassNoSuchProtocol, ErrorNoSuchProtocol, "Unknown protocol: x.Y"},
		{"old", "echo", ClassVersionMismatch, ErrorVersionMismatch, "Protocol old version mismatch. (client = 1, server = 2)"},
	} {
		_, err := c.Call(t.Context(), s.Addr().String(), k.protocol, k.method, text("x"))
		var r *RemoteError
		if !errors.As(err, &r) || *r != (RemoteError{k.class, k.message, false, k.detail}) {
			t.Errorf("%s %s: %#v", k.protocol, k.method, err)
		}
	}
	if n := s.Stats(); n.Panics != 1 || n.Failed != 6 || n.Calls != 6 || n.InFlight != 0 {
		t.Errorf("%+v", n)
	}
	if !strings.Contains(log.String(), "boom") {
		t.Errorf("the panic is not in the log: %s", &log)
	}
}

func TestAnsweredTwice(t *testing.T) {
	s := serve(t, ServerConfig{Protocols: []Protocol{{Name: clientProtocol, Version: 1, Methods: map[string]Handler{
		"twice":  func(c *Call) { c.Reply(text("first")); c.Fail(io.EOF); c.Reply(nil) },
		"panics": func(c *Call) { c.Reply(text("first")); panic("after the answer") },
		"big":    func(c *Call) { c.Reply(make([]byte, 2000)) },
	}}}, Limits: Limits{MaxResponse: 1000}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	for _, m := range []string{"twice", "panics"} {
		got, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, m, nil)
		if err != nil || string(got) != "first" {
			t.Fatal(got, err)
		}
	}
	_, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "big", nil)
	var r *RemoteError
	if !errors.As(err, &r) || r.Detail != ErrorSerializingResponse {
		t.Fatal(err)
	}
	if n := s.Stats(); n.AnsweredTwice != 2 || n.Panics != 1 || n.InFlight != 0 {
		t.Fatalf("%+v", n)
	}
}

func TestHeaderFields(t *testing.T) {
	seen := make(chan *Call, 1)
	s := serve(t, ServerConfig{Methods: []Method{MethodToken}, Tokens: oneToken{}, TokenKind: "K",
		Protocols: []Protocol{{Name: masterProtocol, Version: 1, Methods: map[string]Handler{"m": func(c *Call) {
			seen <- &Call{Caller: c.Caller, ClientID: c.ClientID, CallID: c.CallID, RetryCount: c.RetryCount, CallerContext: c.CallerContext, Protocol: c.Protocol, Method: c.Method}
			c.Reply(nil)
		}}}}})
	c := dial(t, ClientConfig{Credentials: withToken(amrm), CallerContext: "job_7"})
	if _, err := c.do(t.Context(), &c.cfg.Credentials, s.Addr().String(), masterProtocol, "m", nil, 3); err != nil {
		t.Fatal(err)
	}
	got := <-seen
	id := got.Caller
	if string(got.ClientID) != string(c.id[:]) || got.RetryCount != 3 || got.CallerContext != "job_7" || got.Protocol != masterProtocol || got.Method != "m" ||
		id.TokenKind != "K" || string(id.TokenIdentifier) != string(amrm.Identifier) || !id.Remote.Addr().IsLoopback() || id.Protocol != masterProtocol {
		t.Fatalf("%+v %+v", got, id)
	}
}

// Many goroutines share one connection and get their own answers.
func TestConcurrentCalls(t *testing.T) {
	s := serve(t, ServerConfig{Limits: Limits{MaxCallsPerConnection: 16}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for i := range 50 {
				want := fmt.Sprintf("%d/%d/%s", g, i, strings.Repeat("x", i*g*8))
				method := []string{"echo", "later"}[i%2]
				got, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, method, text(want))
				if err != nil || string(got) != want {
					t.Errorf("%.20q: %.20q %v", want, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	waitFor(t, func() bool { return s.Stats().Queued == 0 }) // what has been sent is counted out after it was
	if n := s.Stats(); n.Accepted != 1 || n.Calls != 1600 || n.InFlight != 0 || n.Queued != 0 {
		t.Fatalf("%+v", n)
	}
}

// Pipelined requests are answered in fewer writes than there are requests,
// and all of them.
func TestPipelining(t *testing.T) {
	s := serve(t, ServerConfig{})
	r := rawDial(t, s)
	opening := append(append([]byte(nil), simplePreface...), contextFrame("a", "", clientProtocol)...)
	for i := range int32(500) {
		opening = append(opening, request(i, 0, clientProtocol, []string{"echo", "later", "fail"}[i%3], text("x"))...)
	}
	r.send(opening)
	seen := map[int32]bool{}
	for range 500 {
		h, _ := r.frame()
		seen[h.call] = true
	}
	if len(seen) != 500 {
		t.Fatalf("%d distinct answers", len(seen))
	}
}

func TestMetaProtocol(t *testing.T) {
	signed := echo("signed", 3)
	signed.Signatures = []uint32{1, 0xffffffff}
	s := serve(t, ServerConfig{Protocols: []Protocol{echo(clientProtocol, 1), signed}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	ask := func(method, protocol, kind string) ([]byte, error) {
		b := appendData(nil, 1, protocol)
		if kind != "" {
			b = appendData(b, 2, kind)
		}
		return c.Call(t.Context(), s.Addr().String(), metaName, method, b)
	}
	got, err := ask("getProtocolVersions", clientProtocol, "")
	if want := "\x0a\x17\x0a\x13RPC_PROTOCOL_BUFFER\x10\x01"; err != nil || string(got) != want {
		t.Fatalf("%q %v", got, err)
	}
	if got, err = ask("getProtocolVersions", "x", ""); err != nil || len(got) != 0 {
		t.Fatalf("%q %v", got, err)
	}
	got, err = ask("getProtocolSignature", "signed", kindProtoName)
	if want := "\x0a\x0a\x08\x03\x10\x01\x10\xff\xff\xff\xff\x0f"; err != nil || string(got) != want {
		t.Fatalf("%q %v", got, err)
	}
	if got, err = ask("getProtocolSignature", "signed", "RPC_WRITABLE"); err != nil || len(got) != 0 {
		t.Fatalf("%q %v", got, err)
	}
	if _, err = ask("getProtocolSignature", clientProtocol, kindProtoName); err == nil || !strings.Contains(err.Error(), ClassUnsupported) {
		t.Fatal(err)
	}
	if _, err = ask("getProtocolVersions", "", ""); err == nil {
		t.Fatal("accepted")
	}
}

func TestCancelledCall(t *testing.T) {
	held := make(chan *Call, 1)
	s := serve(t, ServerConfig{Protocols: []Protocol{{Name: clientProtocol, Version: 1, Methods: map[string]Handler{
		"hold": func(c *Call) { held <- c }, "echo": func(c *Call) { c.Reply(c.Body) }}}}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { k := <-held; cancel(); held <- k }()
	if _, err := c.Call(ctx, s.Addr().String(), clientProtocol, "hold", nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	(<-held).Reply(text("nobody waits"))
	if got, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "echo", text("x")); err != nil || string(got) != "x" {
		t.Fatal(got, err)
	}
	if n := s.Stats(); n.Accepted != 1 {
		t.Fatalf("%+v", n)
	}
}

// Closing the server ends its clients' calls at once, and a call that is
// answered later harms nothing.
func TestServerClose(t *testing.T) {
	held := make(chan *Call, 1)
	s := serve(t, ServerConfig{Protocols: []Protocol{{Name: clientProtocol, Version: 1, Methods: map[string]Handler{"hold": func(c *Call) { held <- c }}}}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	failed := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), s.Addr().String(), clientProtocol, "hold", nil)
		failed <- err
	}()
	k := <-held
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	k.Reply(nil)
	_, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "hold", nil)
	var ce *ConnectError
	if !errors.As(err, &ce) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatal(err)
	}
	c.Close()
	if _, err := c.Call(t.Context(), s.Addr().String(), clientProtocol, "hold", nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestJudge(t *testing.T) {
	connect := &ConnectError{"x", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	loginFailed := &ConnectError{"x", &RemoteError{Class: ClassInvalidToken}}
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for _, k := range []struct {
		err                        error
		alone, ha, haNotRepeatable Verdict
	}{
		{connect, Again, Failover, Failover},
		{&ConnectError{"x", &net.DNSError{}}, Again, Failover, Failover},
		{fmt.Errorf("m to x: %w", io.EOF), Again, Failover, Failover},
		{fmt.Errorf("m to x: %w", reset), Again, Failover, GiveUp},
		{&RemoteError{Class: ClassStandby}, Again, Failover, Failover},
		{&ConnectError{"x", &RemoteError{Class: ClassStandby}}, Again, Failover, Failover},
		{&RemoteError{Class: ClassRetriable}, Again, Again, Again},
		{&RemoteError{Class: ClassAccessControl}, GiveUp, GiveUp, GiveUp},
		{&RemoteError{Class: "org.apache.hadoop.yarn.exceptions.YarnException"}, GiveUp, GiveUp, GiveUp},
		{loginFailed, GiveUp, GiveUp, GiveUp},
		{&ConnectError{"x", ErrAuthentication}, GiveUp, GiveUp, GiveUp},
		{ErrClosed, GiveUp, GiveUp, GiveUp},
		{context.Canceled, GiveUp, GiveUp, GiveUp},
		{errors.New("request too large"), GiveUp, GiveUp, GiveUp},
		{nil, GiveUp, GiveUp, GiveUp},
	} {
		if got := [...]Verdict{Judge(k.err, false, true), Judge(k.err, true, true), Judge(k.err, true, false)}; got != [...]Verdict{k.alone, k.ha, k.haNotRepeatable} {
			t.Errorf("%v: %v", k.err, got)
		}
	}
}

// nobody is an address where nobody listens, and that no connection takes by chance.
func nobody(t *testing.T) string {
	t.Helper()
	ports, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0])
}

func TestFailover(t *testing.T) {
	gone := nobody(t)
	standby := serve(t, ServerConfig{Protocols: []Protocol{{Name: clientProtocol, Version: 1, Methods: map[string]Handler{
		"echo": func(c *Call) { c.Fail(&RemoteError{Class: ClassStandby, Message: "standby"}) }}}}})
	busy := 0
	active := serve(t, ServerConfig{Protocols: []Protocol{{Name: clientProtocol, Version: 1, Methods: map[string]Handler{
		"echo": func(c *Call) {
			if busy++; busy < 3 {
				c.Fail(&RemoteError{Class: ClassRetriable, Message: "server too busy"})
				return
			}
			c.Reply(protowire.AppendVarint(nil, uint64(c.RetryCount)))
		}}}}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "a"}})
	quick := Policy{Attempts: 6, Base: time.Millisecond, Most: 2 * time.Millisecond}
	g, err := NewGroup(c, []string{gone, standby.Addr().String(), active.Addr().String()}, quick)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Call(t.Context(), clientProtocol, "echo", true, nil)
	if err != nil || string(got) != "\x04" || g.Active() != active.Addr().String() {
		t.Fatalf("%x %v %s", got, err, g.Active())
	}
	if _, err := g.Call(t.Context(), clientProtocol, "echo", true, nil); err != nil {
		t.Fatal(err)
	}
	if n := standby.Stats(); n.Calls != 1 {
		t.Fatalf("%+v", n)
	}

	g, _ = NewGroup(c, []string{gone, standby.Addr().String()}, quick)
	var r *RemoteError
	if _, err := g.Call(t.Context(), clientProtocol, "echo", true, nil); !errors.As(err, &r) || !strings.Contains(err.Error(), "after 6 attempts") {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	g, _ = NewGroup(c, []string{gone}, Policy{})
	if _, err := g.Call(ctx, clientProtocol, "echo", true, nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatal(err)
	}
	if _, err := NewGroup(c, nil, quick); err == nil {
		t.Fatal("accepted no address")
	}
}

// Nobody is active once each address has failed in a call, and an active server that is busy is somebody.
func TestNobodyIsActive(t *testing.T) {
	gone := nobody(t)
	refusing := func(class string, times int) string {
		return serve(t, ServerConfig{Protocols: []Protocol{{Name: clientProtocol, Version: 1, Methods: map[string]Handler{
			"echo": func(c *Call) {
				if times--; times >= 0 {
					c.Fail(&RemoteError{Class: class, Message: "not now"})
					return
				}
				c.Reply(nil)
			}}}}}).Addr().String()
	}
	for _, x := range []struct {
		addresses []string
		nobody    string // of each attempt after which the call goes on
	}{
		{[]string{gone, refusing(ClassStandby, 100), refusing(ClassRetriable, 2)}, "nnnn"},
		{[]string{refusing(ClassStandby, 1), gone}, "ny"},
		{[]string{refusing(ClassStandby, 2), gone}, "nyyy"},
		{[]string{refusing(ClassRetriable, 3)}, "nnn"},
		{[]string{refusing(ClassStandby, 3)}, "yyy"},
	} {
		nobody, answered := "", ""
		g, err := NewGroup(dial(t, ClientConfig{Credentials: Credentials{User: "a"}}), x.addresses, Policy{Attempts: 9, Base: time.Millisecond, Most: time.Millisecond,
			Retried: func(r Retry) {
				if r.Attempt != len(nobody)+1 || r.Err == nil || answered != "" {
					t.Errorf("%+v after %q", r, nobody)
				}
				nobody += map[bool]string{true: "y", false: "n"}[r.Nobody]
			}, Answered: func(address string) { answered += address }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Call(t.Context(), clientProtocol, "echo", true, nil); err != nil || nobody != x.nobody || answered != g.Active() {
			t.Errorf("%v, %q, want %q; %q answered", err, nobody, x.nobody, answered)
		}
	}
}

func TestPolicyWait(t *testing.T) {
	p := Policy{Base: time.Second, Most: 5 * time.Second}
	for attempt, most := range []time.Duration{0, 3 * time.Second, 6 * time.Second, 7500 * time.Millisecond, 7500 * time.Millisecond} {
		if d := p.wait(attempt, true); d > most || attempt > 0 && d < most/3 {
			t.Errorf("attempt %d: %v", attempt, d)
		}
		if d := p.wait(attempt, false); d != p.Base {
			t.Errorf("alone, attempt %d: %v", attempt, d)
		}
	}
}
