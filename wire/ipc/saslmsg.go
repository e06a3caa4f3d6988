package ipc

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// States of RpcSaslProto.
const (
	saslSuccess   = 0
	saslNegotiate = 1
	saslInitiate  = 2
	saslChallenge = 3
	saslResponse  = 4
	saslWrap      = 5
)

// maxAuths bounds the methods in one SASL message; four are defined.
const maxAuths = 16

// saslAuth is RpcSaslProto.SaslAuth. A nil slice is an absent field: equality
// of two entries includes presence, as in Java.
type saslAuth struct {
	method, mechanism  string
	protocol, serverID []byte
	challenge          []byte
	hasMethod, hasMech bool
}

func (a saslAuth) equal(b saslAuth) bool {
	same := func(x, y []byte) bool { return (x == nil) == (y == nil) && string(x) == string(y) }
	return a.method == b.method && a.mechanism == b.mechanism && same(a.protocol, b.protocol) &&
		same(a.serverID, b.serverID) && same(a.challenge, b.challenge)
}

// saslMessage is RpcSaslProto.
type saslMessage struct {
	state uint64
	token []byte
	auths []saslAuth
}

// parse copies what it keeps.
func (m *saslMessage) parse(b []byte) error {
	has := false
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(2, protowire.VarintType):
			m.state, has = f.v, true
		case f.is(3, protowire.BytesType):
			m.token = cloned(f.data)
		case f.is(4, protowire.BytesType):
			if len(m.auths) == maxAuths {
				return fmt.Errorf("SASL message with more than %d methods", maxAuths)
			}
			a, err := parseAuth(f.data)
			if err != nil {
				return err
			}
			m.auths = append(m.auths, a)
		}
	}
	if f.bad {
		return errMalformed
	}
	if !has {
		return fmt.Errorf("SASL message without a state")
	}
	return nil
}

func parseAuth(b []byte) (a saslAuth, err error) {
	f := fields{rest: b}
	for f.next() {
		if f.typ != protowire.BytesType {
			continue
		}
		switch f.num {
		case 1:
			a.method, a.hasMethod = string(f.data), true
		case 2:
			a.mechanism, a.hasMech = string(f.data), true
		case 3:
			a.protocol = cloned(f.data)
		case 4:
			a.serverID = cloned(f.data)
		case 5:
			a.challenge = cloned(f.data)
		}
	}
	if f.bad {
		return a, errMalformed
	}
	if !a.hasMethod || !a.hasMech {
		return a, fmt.Errorf("SASL method without a name or mechanism")
	}
	return a, nil
}

// cloned keeps presence: the copy of an empty field is not nil.
func cloned(b []byte) []byte { return append([]byte{}, b...) }

func (m *saslMessage) append(b []byte) []byte {
	body := appendVarint(nil, 2, m.state)
	if m.token != nil {
		body = appendData(body, 3, m.token)
	}
	for _, a := range m.auths {
		body = appendData(body, 4, a.append(nil))
	}
	b = protowire.AppendVarint(b, uint64(len(body)))
	return append(b, body...)
}

func (a saslAuth) append(b []byte) []byte {
	b = appendData(b, 1, a.method)
	b = appendData(b, 2, a.mechanism)
	for i, v := range [][]byte{a.protocol, a.serverID, a.challenge} {
		if v != nil {
			b = appendData(b, protowire.Number(3+i), v)
		}
	}
	return b
}

// withoutChallenge is the entry as a client must repeat it.
func (a saslAuth) withoutChallenge() saslAuth {
	a.challenge = nil
	return a
}

var (
	authSimple = saslAuth{method: string(MethodSimple), mechanism: ""}
	authToken  = saslAuth{method: string(MethodToken), mechanism: digestMechanism, protocol: []byte{}, serverID: []byte(digestServer)}
)

func containsAuth(list []saslAuth, a saslAuth) bool {
	return slices.ContainsFunc(list, func(b saslAuth) bool { return b.withoutChallenge().equal(a) })
}
