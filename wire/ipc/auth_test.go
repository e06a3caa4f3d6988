package ipc

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestWorkedDigest(t *testing.T) {
	d := digest{username: base64.StdEncoding.EncodeToString(amrm.Identifier), password: base64.StdEncoding.EncodeToString(amrm.Password), cnonce: cnonce}
	got, err := d.answer(text(challenge))
	if err != nil || string(got) != response {
		t.Fatalf("%s %v\nwant %s", got, err, response)
	}
	if err := d.confirm(text(rspauth)); err != nil {
		t.Fatal(err)
	}
	if d.confirm(text(strings.Replace(rspauth, "55", "56", 1))) == nil {
		t.Fatal("accepted a wrong rspauth")
	}
}

func TestDigestText(t *testing.T) {
	ok := map[string]string{
		`a=1,b="2"`:                      "1|2",
		` b = "2" , a = 1 ,`:             "1|2",
		`,,B=2,,A="1"`:                   "1|2",
		`a="x\"y\\z",b="p,q=r"`:          `x"y\z|p,q=r`,
		`a=,b=`:                          "|",
		`realm=default,qop=auth,a=1,b=2`: "1|2",
	}
	for in, want := range ok {
		f, err := parseDigest(text(in))
		if err != nil || f["a"]+"|"+f["b"] != want {
			t.Errorf("%q: %q %v", in, f, err)
		}
	}
	for _, in := range []string{`a`, `=1`, `a="1`, `a="1\`, `a=1,a=2`, `a=1 b=2`, `a="1"b=2`, `"a"=1`, strings.Repeat("a", maxDigestText+1),
		`a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1,r=1,s=1,t=1,u=1,v=1,w=1,x=1,y=1,z=1,aa=1,ab=1,ac=1,ad=1,ae=1,af=1,ag=1`} {
		if f, err := parseDigest(text(in)); err == nil {
			t.Errorf("%.50q: accepted as %q", in, f)
		}
	}
}

// Responses that must not log in, each altered in one place.
func TestWrongDigests(t *testing.T) {
	s := serve(t, ServerConfig{Methods: []Method{MethodToken}, Tokens: oneToken{}})
	s.nonce = func() string { return nonce }
	cases := map[string]struct{ old, new, class string }{
		"response":   {"response=0b", "response=0c", ClassSASL},
		"empty":      {response, "", ClassSASL},
		"nonce":      {`nonce="Go`, `nonce="GO`, ClassSASL},
		"count":      {"nc=00000001", "nc=00000002", ClassSASL},
		"realm":      {`realm="default"`, `realm="other"`, ClassSASL},
		"uri":        {"/default", "/other", ClassSASL},
		"integrity":  {"qop=auth", "qop=auth-int", ClassSASL},
		"privacy":    {"qop=auth", "qop=auth-conf", ClassSASL},
		"authzid":    {"charset=utf-8", `authzid="root"`, ClassSASL},
		"identifier": {"Cg0K", "Cg1K", ClassInvalidToken},
		"not base64": {"Cg0K", "Cg0!", ClassInvalidToken},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			wrong := strings.Replace(response, c.old, c.new, 1)
			if wrong == response {
				t.Fatal("nothing altered")
			}
			r := rawDial(t, s)
			r.send(tokenHello)
			r.frame()
			m := saslMessage{state: saslInitiate, token: text(wrong), auths: []saslAuth{authToken}}
			r.send(appendSASL(nil, &m))
			r.fatal(callSASL, c.class, FatalUnauthorized)
		})
	}
	if n := s.Stats(); n.AuthFailed != int64(len(cases)) || n.AuthOK != 0 {
		t.Fatalf("%+v", n)
	}
}

// The steps of a negotiation in orders that are not allowed.
func TestNegotiationOrder(t *testing.T) {
	s := serve(t, ServerConfig{Methods: []Method{MethodToken}, Tokens: oneToken{}})
	step := func(m saslMessage) []byte { return appendSASL(nil, &m) }
	negotiate := step(saslMessage{state: saslNegotiate})
	altered := authToken
	altered.serverID = text("other")
	noProtocol := authToken
	noProtocol.protocol = nil
	for name, c := range map[string]struct {
		answers int
		send    []byte
		call    int32
		class   string
		detail  ErrorDetail
	}{
		"twice":              {1, append(bytes.Clone(negotiate), negotiate...), callSASL, ClassAccessControl, FatalUnauthorized},
		"response first":     {0, step(saslMessage{state: saslResponse}), callSASL, ClassAccessControl, FatalUnauthorized},
		"success":            {0, step(saslMessage{state: saslSuccess}), callSASL, ClassAccessControl, FatalUnauthorized},
		"state 77":           {0, step(saslMessage{state: 77}), callSASL, ClassAccessControl, FatalUnauthorized},
		"wrap":               {0, step(saslMessage{state: saslWrap}), callSASL, ClassSASL, FatalUnauthorized},
		"no method":          {1, append(bytes.Clone(negotiate), step(saslMessage{state: saslInitiate})...), callSASL, ClassAccessControl, FatalUnauthorized},
		"two methods":        {1, append(bytes.Clone(negotiate), step(saslMessage{state: saslInitiate, auths: []saslAuth{authToken, authToken}})...), callSASL, ClassAccessControl, FatalUnauthorized},
		"simple unoffered":   {1, append(bytes.Clone(negotiate), step(saslMessage{state: saslInitiate, auths: []saslAuth{authSimple}})...), callSASL, ClassAccessControl, FatalUnauthorized},
		"altered method":     {1, append(bytes.Clone(negotiate), step(saslMessage{state: saslInitiate, auths: []saslAuth{altered}})...), callSASL, ClassAccessControl, FatalUnauthorized},
		"absent field":       {1, append(bytes.Clone(negotiate), step(saslMessage{state: saslInitiate, auths: []saslAuth{noProtocol}})...), callSASL, ClassAccessControl, FatalUnauthorized},
		"context too early":  {1, append(bytes.Clone(negotiate), contextFrame("", "", masterProtocol)...), callContext, ClassServer, FatalInvalidHeader},
		"call too early":     {0, request(4, 0, masterProtocol, "who", nil), 4, ClassServer, FatalInvalidHeader},
		"response unchecked": {0, step(saslMessage{state: saslInitiate, token: text(response), auths: []saslAuth{authToken}}), callSASL, ClassSASL, FatalUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			r := rawDial(t, s)
			r.send(saslPreface, c.send)
			for range c.answers {
				r.frame()
			}
			r.fatal(c.call, c.class, c.detail)
		})
	}
	t.Run("simple preamble", func(t *testing.T) {
		r := rawDial(t, s)
		r.send(simplePreface)
		r.fatal(callAuthFailed, ClassAccessControl, FatalUnauthorized)
	})
}

// A challenge serves one attempt; INITIATE without NEGOTIATE gets one of its own.
func TestChallengeOnRequest(t *testing.T) {
	s := serve(t, ServerConfig{Methods: []Method{MethodToken}, Tokens: oneToken{}})
	s.nonce = func() string { return nonce }
	r := rawDial(t, s)
	r.send(saslPreface, appendSASL(nil, &saslMessage{state: saslInitiate, auths: []saslAuth{authToken}}))
	_, body := r.frame()
	var m saslMessage
	if err := m.parse(body); err != nil || m.state != saslChallenge || string(m.token) != challenge {
		t.Fatalf("%+v %v", m, err)
	}
	r.send(appendSASL(nil, &saslMessage{state: saslResponse, token: text(response)}))
	r.expect(tokenDone)
	r.send(appendSASL(nil, &saslMessage{state: saslResponse, token: text(response)}))
	r.fatal(callSASL, ClassServer, FatalInvalidHeader)
}

func TestTokenContextClaims(t *testing.T) {
	s := serve(t, ServerConfig{Methods: []Method{MethodToken}, Tokens: oneToken{}})
	s.nonce = func() string { return nonce }
	for claim, ok := range map[string]bool{"": true, "appattempt_1_0001_000001": true, "root": false} {
		r := rawDial(t, s)
		r.send(tokenHello, tokenProof)
		r.frame()
		r.frame()
		r.send(contextFrame(claim, "", masterProtocol), request(1, 0, masterProtocol, "who", nil))
		if !ok {
			r.fatal(callContext, ClassAccessControl, FatalUnauthorized)
		} else if h, _ := r.frame(); h.status != statusSuccess {
			t.Fatalf("%q: %s", claim, h.message)
		}
	}
}

// gateway lets one user act for others, from loopback.
type gateway struct{}

func (gateway) Allow(realUser, effectiveUser string, from netip.Addr) error {
	if realUser == "oozie" && effectiveUser != "root" && from.IsLoopback() {
		return nil
	}
	return errors.New("not that one")
}

func TestProxyUsers(t *testing.T) {
	s := serve(t, ServerConfig{Proxies: gateway{}, Authorize: func(id *Identity) error {
		if id.User == "mallory" || id.Protocol != clientProtocol {
			return errors.New("not on the list")
		}
		return nil
	}})
	c := dial(t, ClientConfig{})
	for _, k := range []struct{ user, real, protocol, want string }{
		{"alice", "oozie", clientProtocol, "alice/oozie/SIMPLE"},
		{"root", "oozie", clientProtocol, ""},
		{"alice", "bob", clientProtocol, ""},
		{"mallory", "", clientProtocol, ""},
		{"alice", "", masterProtocol, ""},
		{"alice", "", clientProtocol, "alice//SIMPLE"},
	} {
		got, err := c.CallAs(t.Context(), &Credentials{User: k.user, RealUser: k.real}, s.Addr().String(), k.protocol, "who", nil)
		var r *RemoteError
		if k.want == "" && (!errors.As(err, &r) || r.Class != ClassAuthorization || !r.Fatal) || string(got) != k.want {
			t.Errorf("%+v: %q %v", k, got, err)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	p := []Protocol{echo(clientProtocol, 1)}
	for name, cfg := range map[string]ServerConfig{
		"no method":       {},
		"kerberos":        {Methods: []Method{MethodKerberos}},
		"token, no keys":  {Methods: []Method{MethodToken}},
		"twice":           {Methods: []Method{MethodSimple, MethodSimple}},
		"integrity":       {Methods: []Method{MethodSimple}, Protection: "auth-int"},
		"privacy":         {Methods: []Method{MethodSimple}, Protection: "auth-conf"},
		"protocol twice":  {Methods: []Method{MethodSimple}, Protocols: append(p, p...)},
		"missing handler": {Methods: []Method{MethodSimple}, Protocols: []Protocol{{Name: "x", Methods: map[string]Handler{"y": nil}}}},
		"bad address":     {Methods: []Method{MethodSimple}, Address: "127.0.0.1:99999"},
	} {
		cfg.Name = "test port"
		s, err := Listen(cfg)
		if err == nil {
			s.listener.Close()
			t.Errorf("%s: accepted", name)
		} else if !strings.Contains(err.Error(), "test port") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a client must not accept from a server.
func TestClientDistrusts(t *testing.T) {
	reply := func(m saslMessage) []byte { return framed(m.append(appendResponseOK(nil, callSASL, -1, nil))) }
	offer := func(a ...saslAuth) []byte { return reply(saslMessage{state: saslNegotiate, auths: a}) }
	withChallenge := func(c string) saslAuth { a := authToken; a.challenge = text(c); return a }
	proof := make([]byte, len(tokenProof))
	for name, c := range map[string]struct {
		steps  [][]byte
		refuse bool
	}{
		"wrong rspauth":    {[][]byte{tokenOffer, reply(saslMessage{state: saslSuccess, token: text("rspauth=00")})}, false},
		"no rspauth":       {[][]byte{tokenOffer, reply(saslMessage{state: saslSuccess})}, false},
		"privacy only":     {[][]byte{offer(withChallenge(strings.Replace(challenge, `"auth"`, `"auth-conf"`, 1)))}, false},
		"no nonce":         {[][]byte{offer(withChallenge("realm=default,algorithm=md5-sess"))}, false},
		"kerberos only":    {[][]byte{offer(saslAuth{method: "KERBEROS", mechanism: "GSSAPI"})}, false},
		"nothing offered":  {[][]byte{offer()}, false},
		"initiate":         {[][]byte{reply(saslMessage{state: saslInitiate})}, false},
		"fallback":         {[][]byte{reply(saslMessage{state: saslSuccess})}, true},
		"fallback, listed": {[][]byte{offer(authSimple)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			done := make(chan struct{})
			go func() {
				defer close(done)
				nc, err := l.Accept()
				if err != nil {
					return
				}
				defer nc.Close()
				sizes := []int{len(tokenHello), len(proof)}
				for i, s := range c.steps {
					io.ReadFull(nc, make([]byte, sizes[i]))
					nc.Write(s)
				}
				io.Copy(io.Discard, nc)
			}()
			cl := dial(t, ClientConfig{Credentials: withToken(amrm), RefuseSimple: c.refuse})
			_, err = cl.Call(t.Context(), l.Addr().String(), masterProtocol, "x", nil)
			if !errors.Is(err, ErrAuthentication) || Judge(err, true, true) != GiveUp {
				t.Error(err)
			}
			<-done
		})
	}
}
