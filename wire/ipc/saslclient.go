package ipc

import (
	"encoding/base64"
	"fmt"
)

// negotiate logs in by SASL with the link's token. It returns the method that
// was agreed on and bytes that must be sent before the context, if any.
func (l *link) negotiate(in *frames, preamble []byte) (Method, []byte, error) {
	answer, err := l.exchange(in, preamble, &saslMessage{state: saslNegotiate})
	if err != nil {
		return "", nil, err
	}
	switch answer.state {
	case saslSuccess: // a server of SIMPLE only
		return MethodSimple, nil, l.simpleAllowed()
	case saslNegotiate:
	default:
		return "", nil, fmt.Errorf("%w: server answered NEGOTIATE with state %d", ErrAuthentication, answer.state)
	}
	for _, auth := range answer.auths {
		switch {
		case auth.method == string(MethodToken) && auth.mechanism == digestMechanism:
			return MethodToken, nil, l.digest(in, auth)
		case auth.method == string(MethodSimple):
			if err := l.simpleAllowed(); err != nil {
				return "", nil, err
			}
			choice := &saslMessage{state: saslInitiate, auths: []saslAuth{auth.withoutChallenge()}}
			return MethodSimple, appendSASL(nil, choice), nil
		}
	}
	return "", nil, fmt.Errorf("%w: the server offers no method for a token of kind %q: %s",
		ErrAuthentication, l.token.Kind, offered(answer.auths))
}

func offered(auths []saslAuth) string {
	var s string
	for _, a := range auths {
		s += fmt.Sprintf("[%s %s]", printable(a.method), printable(a.mechanism))
	}
	return s
}

func (l *link) simpleAllowed() error {
	if l.client.cfg.RefuseSimple {
		return fmt.Errorf("%w: the server wants SIMPLE authentication and this client may not fall back to it", ErrAuthentication)
	}
	return nil
}

// digest proves the token's password and checks that the server knows it.
func (l *link) digest(in *frames, auth saslAuth) error {
	d := &digest{username: base64.StdEncoding.EncodeToString(l.token.Identifier),
		password: base64.StdEncoding.EncodeToString(l.token.Password), cnonce: l.client.nonce()}
	m := &saslMessage{state: saslInitiate, auths: []saslAuth{auth.withoutChallenge()}}
	if len(auth.challenge) == 0 { // not embedded: ask for it
		answer, err := l.exchange(in, nil, m)
		if err != nil {
			return err
		}
		if answer.state != saslChallenge {
			return fmt.Errorf("%w: server answered INITIATE with state %d", ErrAuthentication, answer.state)
		}
		auth.challenge, m = answer.token, &saslMessage{state: saslResponse}
	}
	text, err := d.answer(auth.challenge)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAuthentication, err)
	}
	m.token = text
	answer, err := l.exchange(in, nil, m)
	if err != nil {
		return err
	}
	if answer.state != saslSuccess {
		return fmt.Errorf("%w: server answered the digest with state %d", ErrAuthentication, answer.state)
	}
	if err := d.confirm(answer.token); err != nil {
		return fmt.Errorf("%w: %w", ErrAuthentication, err)
	}
	return nil
}

// exchange sends one SASL message and reads the answer.
func (l *link) exchange(in *frames, before []byte, m *saslMessage) (*saslMessage, error) {
	sock := in.sock
	if err := sock.SetWriteDeadline(in.until); err != nil {
		return nil, err
	}
	if _, err := sock.Write(appendSASL(before, m)); err != nil {
		return nil, err
	}
	b, frame, err := in.next(l.client.limits.MaxEarly)
	if err != nil {
		return nil, err
	}
	defer b.free()
	h, body, err := parseResponse(frame)
	if err != nil {
		return nil, err
	}
	if h.status != statusSuccess {
		return nil, h.remote()
	}
	if h.call != callSASL {
		return nil, fmt.Errorf("%w: answer to call %d during the login", ErrAuthentication, h.call)
	}
	var answer saslMessage
	if err := answer.parse(body); err != nil {
		return nil, err
	}
	return &answer, nil
}

// appendSASL appends a client's SASL message as a frame.
func appendSASL(b []byte, m *saslMessage) []byte {
	b, at := openFrame(b)
	b = appendRequestHeader(b, callSASL, -1, nil, "")
	return closeFrame(m.append(b), at)
}
