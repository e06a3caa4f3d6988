package ipc

import (
	"testing"
	"time"
)

// TestMethodStats: calls are counted and timed by method; the wait for a turn is told apart.
func TestMethodStats(t *testing.T) {
	free := make(chan struct{})
	p := Protocol{Name: clientProtocol, Version: 1, Methods: map[string]Handler{
		"slow":   func(c *Call) { time.Sleep(30 * time.Millisecond); c.Reply(nil) },
		"inTurn": InTurn(func(c *Call) { <-free; c.Reply(nil) }),
		"fail":   func(c *Call) { c.Fail(&RemoteError{Class: ClassStandby, Message: "no"}) },
		"never":  func(*Call) {},
	}}
	s := serve(t, ServerConfig{Protocols: []Protocol{p}, Limits: Limits{Places: 1}})
	c, other := dial(t, ClientConfig{Credentials: Credentials{User: "alice"}}), dial(t, ClientConfig{Credentials: Credentials{User: "bob"}})
	addr := s.Addr().String()
	for range 2 {
		if _, err := c.Call(t.Context(), addr, clientProtocol, "slow", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = c.Call(t.Context(), addr, clientProtocol, "fail", nil)
	done := make(chan error, 2)
	for _, x := range []*Client{c, other} {
		go func() {
			_, err := x.Call(t.Context(), addr, clientProtocol, "inTurn", nil)
			done <- err
		}()
	}
	wait := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v %+v", what, s.Stats(), s.MethodStats())
			}
		}
	}
	wait("one waits", func() bool { return s.Stats().Waiting == 1 })
	time.Sleep(20 * time.Millisecond)
	if n := s.Stats(); n.Users["alice"] != 1 || n.Users["bob"] != 1 || len(n.Users) != 2 {
		t.Errorf("%v", n.Users)
	}
	close(free)
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	of := func(method string) (out MethodStats) {
		for _, x := range s.MethodStats() {
			if x.Method == method && x.Protocol == clientProtocol {
				out = x
			}
		}
		return out
	}
	wait("all are counted", func() bool { return of("inTurn").Calls == 2 && of("fail").Calls == 1 })
	if x := of("slow"); x.Calls != 2 || x.Took < 60*time.Millisecond || x.Waited != 0 {
		t.Errorf("%+v", x)
	}
	if x := of("inTurn"); x.Waited < 20*time.Millisecond {
		t.Errorf("%+v", x)
	}
	if x := of("never"); x.Calls != 0 {
		t.Errorf("%+v", x)
	}
}
