package ipc

import (
	"encoding/base64"
	"fmt"
)

// sasl takes one step of the negotiation.
func (c *conn) sasl(h *requestHeader, payload []byte) error {
	a := &c.auth
	msg, rest, ok := delimited(payload)
	var m saslMessage
	if !ok || len(rest) != 0 {
		return refuse(h, fatal(ClassServer, FatalDeserializing, "malformed SASL message"))
	}
	if err := m.parse(msg); err != nil {
		return refuse(h, fatal(ClassServer, FatalDeserializing, "SASL message: "+err.Error()))
	}
	if a.stage != stageSASL {
		if m.state == saslWrap {
			return refuse(h, fatal(ClassSASL, FatalUnauthorized, "wrapped message, but neither integrity nor privacy was negotiated"))
		}
		return refuse(h, fatal(ClassServer, FatalInvalidHeader, "SASL message outside the negotiation"))
	}
	answer, err := c.server.saslStep(a, &m)
	if err != nil {
		return refuse(&requestHeader{call: callSASL, retry: -1, hasCall: true}, fatalAs(err, FatalUnauthorized))
	}
	if answer != nil {
		c.sendSASL(answer)
	}
	return nil
}

func (c *conn) sendSASL(m *saslMessage) {
	if b, ok := c.out.begin(0); ok {
		b, at := openFrame(b)
		b = appendResponseOK(b, callSASL, -1, nil)
		c.out.end(closeFrame(m.append(b), at), false)
	}
}

func denied(format string, args ...any) *RemoteError {
	return &RemoteError{Class: ClassAccessControl, Message: fmt.Sprintf(format, args...)}
}

// saslStep advances a and returns the answer, nil if there is none.
func (s *Server) saslStep(a *authentication, m *saslMessage) (*saslMessage, error) {
	switch m.state {
	case saslNegotiate:
		if a.negotiated {
			return nil, denied("Client already attempted negotiation")
		}
		return s.negotiate(a)
	case saslInitiate:
		return s.initiate(a, m)
	case saslResponse:
		if a.digest == nil {
			return nil, denied("SASL response without a challenge")
		}
		return s.verify(a, m.token)
	case saslWrap:
		return nil, &RemoteError{Class: ClassSASL, Message: "wrapped message before authentication"}
	}
	return nil, denied("SASL state %d is not a client's", m.state)
}

// negotiate lists the methods. A server of nothing but SIMPLE says SUCCESS,
// which makes the client go on without SASL.
func (s *Server) negotiate(a *authentication) (*saslMessage, error) {
	if len(s.auths) == 1 && s.auths[0].method == string(MethodSimple) {
		a.stage, a.method = stageContext, MethodSimple
		return &saslMessage{state: saslSuccess}, nil
	}
	a.negotiated = true
	answer := &saslMessage{state: saslNegotiate, auths: make([]saslAuth, len(s.auths))}
	for i, auth := range s.auths {
		if auth.method == string(MethodToken) {
			a.digest = newDigest(s.nonce())
			auth.challenge = a.digest.challenge()
		}
		answer.auths[i] = auth
	}
	return answer, nil
}

// initiate is the client's choice, usually with its first token.
func (s *Server) initiate(a *authentication, m *saslMessage) (*saslMessage, error) {
	if len(m.auths) != 1 {
		return nil, denied("Client mechanism is malformed")
	}
	choice := m.auths[0]
	if !containsAuth(s.auths, choice) {
		if !a.negotiated {
			return s.negotiate(a)
		}
		return nil, denied("%s", s.notEnabled(Method(choice.method)))
	}
	if choice.method == string(MethodSimple) {
		a.stage, a.method, a.digest = stageContext, MethodSimple, nil
		return nil, nil
	}
	if a.digest == nil { // the client skipped NEGOTIATE and wants the challenge now
		if len(m.token) > 0 {
			return nil, &RemoteError{Class: ClassSASL, Message: "digest response without a challenge"}
		}
		a.negotiated, a.digest = true, newDigest(s.nonce())
		return &saslMessage{state: saslChallenge, token: a.digest.challenge()}, nil
	}
	return s.verify(a, m.token)
}

// verify checks the client's digest. The challenge is used up either way.
func (s *Server) verify(a *authentication, token []byte) (*saslMessage, error) {
	d := a.digest
	a.digest = nil
	r, err := parseDigestResponse(token)
	if err != nil {
		return nil, &RemoteError{Class: ClassSASL, Message: err.Error()}
	}
	if err := d.accept(r); err != nil {
		return nil, &RemoteError{Class: ClassSASL, Message: err.Error()}
	}
	identifier, err := base64.StdEncoding.Strict().DecodeString(r.username)
	if err != nil || len(identifier) == 0 {
		return nil, &RemoteError{Class: ClassInvalidToken, Message: "Can't de-serialize tokenIdentifier"}
	}
	password, user, err := s.cfg.Tokens.Password(identifier)
	if err != nil {
		return nil, err
	}
	d.username, d.password = r.username, base64.StdEncoding.EncodeToString(password)
	if !d.matches(r) {
		return nil, &RemoteError{Class: ClassSASL, Message: "DIGEST-MD5: the response does not match the token's password"}
	}
	a.stage, a.method, a.user, a.identifier = stageContext, MethodToken, user, identifier
	return &saslMessage{state: saslSuccess, token: []byte("rspauth=" + d.proof(""))}, nil
}
