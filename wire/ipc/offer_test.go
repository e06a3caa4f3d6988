package ipc

import (
	"errors"
	"testing"
)

// What is offered comes and goes while connections stay; what is of the configuration stays, too.
func TestOffer(t *testing.T) {
	s := serve(t, ServerConfig{Protocols: []Protocol{echo(clientProtocol, 1)}})
	c := dial(t, ClientConfig{Credentials: Credentials{User: "alice"}})
	answers := func(protocol, class string) {
		t.Helper()
		_, err := c.Call(t.Context(), s.Addr().String(), protocol, "echo", []byte("x"))
		var remote *RemoteError
		if class == "" && err != nil || class != "" && (!errors.As(err, &remote) || remote.Class != class) {
			t.Errorf("%s: %v, want %q", protocol, err, class)
		}
	}
	answers(clientProtocol, "")
	answers(masterProtocol, ClassNoSuchProtocol)
	for range 2 {
		s.Withdraw(&RemoteError{Class: ClassStandby, Message: "not active"})
		answers(clientProtocol, "")
		answers(masterProtocol, ClassStandby)
		if err := s.Offer(echo(masterProtocol, 1)); err != nil {
			t.Fatal(err)
		}
		answers(clientProtocol, "")
		answers(masterProtocol, "")
		answers("Other", ClassNoSuchProtocol)
	}
	for _, bad := range [][]Protocol{{echo(clientProtocol, 1)}, {echo("Other", 1), echo("Other", 1)}, {{Name: "Other", Methods: map[string]Handler{"m": nil}}}} {
		if err := s.Offer(bad...); err == nil {
			t.Errorf("%s was taken", bad[0].Name)
		}
	}
	answers(masterProtocol, "")
	if n := s.Stats(); n.Accepted != 3 {
		t.Errorf("%d connections, want one for each protocol, which stays", n.Accepted)
	}
}
