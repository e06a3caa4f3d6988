package ipc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	clientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	masterProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
)

// amrm is the worked token of an ApplicationMaster.
var amrm = Token{
	Identifier: unhex("0a0d0a09080110b1edb483a034100110a1e087f2f8ffffffff01"),
	Password:   unhex("2970bb6d303e813e7f661fd55fc8530a4e242fb2"),
	Kind:       "YARN_AM_RM_TOKEN",
}

// oneToken knows amrm only.
type oneToken struct{}

func (oneToken) Password(id []byte) ([]byte, string, error) {
	if !bytes.Equal(id, amrm.Identifier) {
		return nil, "", &RemoteError{Class: ClassInvalidToken, Message: "appattempt not found"}
	}
	return amrm.Password, "appattempt_1_0001_000001", nil
}

func echo(name string, version uint64) Protocol {
	return Protocol{Name: name, Version: version, Methods: map[string]Handler{
		"echo": func(c *Call) { c.Reply(c.Body) },
		"who": func(c *Call) {
			c.Reply(fmt.Appendf(nil, "%s/%s/%s", c.Caller.User, c.Caller.RealUser, c.Caller.Method))
		},
		"later": func(c *Call) { go c.Reply(c.Body) },
		"fail":  func(c *Call) { c.Fail(errors.New("no such luck")) },
		"panic": func(c *Call) { panic("boom") },
		"app": func(c *Call) {
			c.Fail(fmt.Errorf("wrapped: %w", &RemoteError{Class: "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", Message: "application_1_0001 is unknown\n\tat x"}))
		},
		"standby": func(c *Call) { c.Fail(&RemoteError{Class: ClassStandby, Message: "not active"}) },
	}}
}

// serve starts a server and stops it at the end of the test.
func serve(t testing.TB, cfg ServerConfig) *Server {
	t.Helper()
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	if cfg.Methods == nil {
		cfg.Methods = []Method{MethodSimple}
	}
	if cfg.Protocols == nil {
		cfg.Protocols = []Protocol{echo(clientProtocol, 1), echo(masterProtocol, 1)}
	}
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func dial(t testing.TB, cfg ClientConfig) *Client {
	c := NewClient(cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

func withToken(tok Token) Credentials {
	return Credentials{User: "alice", Tokens: func(string) *Token { return &tok }}
}

func TestSimpleCalls(t *testing.T) {
	s := serve(t, ServerConfig{})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "alice/host@REALM"}})
	addr := s.Addr().String()
	for _, n := range []int{0, 1, 100, 4090, 5000, 300000, 10} {
		want := bytes.Repeat([]byte{7}, n)
		for _, m := range []string{"echo", "later"} {
			got, err := c.Call(t.Context(), addr, clientProtocol, m, want)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s of %d bytes: %d bytes, %v", m, n, len(got), err)
			}
		}
	}
	got, err := c.Call(t.Context(), addr, clientProtocol, "who", nil)
	if err != nil || string(got) != "alice//SIMPLE" {
		t.Fatalf("%q %v", got, err)
	}
	if n := s.Stats(); n.Accepted != 1 || n.Calls != 15 || n.AuthOK != 1 {
		t.Fatalf("%+v", n)
	}
}

func TestTokenCalls(t *testing.T) {
	s := serve(t, ServerConfig{Methods: []Method{MethodToken}, Tokens: oneToken{}, TokenKind: amrm.Kind})
	c := dial(t, ClientConfig{Credentials: withToken(amrm)})
	got, err := c.Call(t.Context(), s.Addr().String(), masterProtocol, "who", nil)
	if err != nil || string(got) != "appattempt_1_0001_000001//TOKEN" {
		t.Fatalf("%q %v", got, err)
	}
}
