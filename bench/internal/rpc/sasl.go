package rpc

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/bench/internal/pb"
)

// States of a SASL message.
const (
	saslSuccess   = 0
	saslNegotiate = 1
	saslInitiate  = 2
	saslChallenge = 3
	saslResponse  = 4
)

type saslAuth struct {
	method, mechanism, protocol, server string
	challenge                           []byte
}

type saslMessage struct {
	state int
	token []byte
	auths []saslAuth
}

func (c *Conn) sendSasl(state int64, token []byte, auth *saslAuth) error {
	c.begin(callSasl, -1, nil)
	var m int
	c.out, m = pb.Mark(c.out)
	c.out = pb.Int(c.out, 2, state)
	if token != nil {
		c.out = pb.Blob(c.out, 3, token)
	}
	if auth != nil {
		var a int
		c.out, a = pb.Open(c.out, 4)
		c.out = pb.Str(c.out, 1, auth.method)
		c.out = pb.Str(c.out, 2, auth.mechanism)
		c.out = pb.Str(c.out, 3, auth.protocol)
		c.out = pb.Str(c.out, 4, auth.server)
		c.out = pb.Close(c.out, a)
	}
	c.out = pb.Close(c.out, m)
	c.seal()
	return c.Flush()
}

func (c *Conn) recvSasl() (saslMessage, error) {
	var m saslMessage
	id, body, err := c.Recv()
	if err != nil {
		return m, err
	}
	if id != callSasl {
		return m, fmt.Errorf("reply to call %d during authentication", id)
	}
	s := pb.In(body)
	for s.Next() {
		switch s.F {
		case 2:
			m.state = int(s.V)
		case 3:
			m.token = s.B
		case 4:
			var a saslAuth
			t := pb.In(s.B)
			for t.Next() {
				switch t.F {
				case 1:
					a.method = string(t.B)
				case 2:
					a.mechanism = string(t.B)
				case 3:
					a.protocol = string(t.B)
				case 4:
					a.server = string(t.B)
				case 5:
					a.challenge = t.B
				}
			}
			m.auths = append(m.auths, a)
		}
	}
	if s.Bad() {
		return m, errors.New("malformed message")
	}
	return m, nil
}

// sasl authenticates with a token; it is an error if the server offers
// nothing but SIMPLE, for then the identity would be unproven.
func (c *Conn) sasl(tok *Token) error {
	if err := c.sendSasl(saslNegotiate, nil, nil); err != nil {
		return err
	}
	m, err := c.recvSasl()
	if err != nil {
		return err
	}
	if m.state != saslNegotiate {
		return fmt.Errorf("state %d instead of NEGOTIATE", m.state)
	}
	var auth *saslAuth
	for i := range m.auths {
		if m.auths[i].method == "TOKEN" && m.auths[i].mechanism == "DIGEST-MD5" {
			auth = &m.auths[i]
			break
		}
	}
	if auth == nil {
		return fmt.Errorf("no TOKEN over DIGEST-MD5 among %d methods", len(m.auths))
	}
	d := digest{
		user:     base64.StdEncoding.EncodeToString(tok.Identifier),
		password: base64.StdEncoding.EncodeToString(tok.Password),
		uri:      auth.protocol + "/" + auth.server,
	}
	challenge := auth.challenge
	if challenge == nil {
		if err := c.sendSasl(saslInitiate, []byte{}, auth); err != nil {
			return err
		}
		if m, err = c.recvSasl(); err != nil {
			return err
		}
		if m.state != saslChallenge {
			return fmt.Errorf("state %d instead of CHALLENGE", m.state)
		}
		challenge, auth = m.token, nil
	}
	answer, err := d.answer(string(challenge))
	if err != nil {
		return err
	}
	state := int64(saslInitiate)
	if auth == nil {
		state = saslResponse
	}
	if err := c.sendSasl(state, []byte(answer), auth); err != nil {
		return err
	}
	if m, err = c.recvSasl(); err != nil {
		return err
	}
	if m.state != saslSuccess {
		return fmt.Errorf("state %d instead of SUCCESS", m.state)
	}
	if string(m.token) != "rspauth="+d.proof("") {
		return errors.New("server did not prove that it knows the token")
	}
	return nil
}

// digest is the client side of DIGEST-MD5 (RFC 2831) with qop=auth.
type digest struct {
	user, password, uri  string
	realm, nonce, cnonce string
}

func (d *digest) answer(challenge string) (string, error) {
	f := fields(challenge)
	d.realm, d.nonce = f["realm"], f["nonce"]
	if d.nonce == "" || f["algorithm"] != "md5-sess" {
		return "", fmt.Errorf("unusable challenge %q", challenge)
	}
	ok := f["qop"] == ""
	for _, q := range strings.Split(f["qop"], ",") {
		ok = ok || strings.TrimSpace(q) == "auth"
	}
	if !ok {
		return "", fmt.Errorf("server wants qop %q", f["qop"])
	}
	var r [18]byte
	if _, err := rand.Read(r[:]); err != nil {
		return "", err
	}
	d.cnonce = base64.StdEncoding.EncodeToString(r[:])
	return fmt.Sprintf(`charset=utf-8,username="%s",realm="%s",nonce="%s",nc=00000001,cnonce="%s",digest-uri="%s",maxbuf=65536,response=%s,qop=auth`,
		d.user, d.realm, d.nonce, d.cnonce, d.uri, d.proof("AUTHENTICATE")), nil
}

func (d *digest) proof(method string) string {
	secret := md5.Sum([]byte(d.user + ":" + d.realm + ":" + d.password))
	a1 := md5.Sum([]byte(string(secret[:]) + ":" + d.nonce + ":" + d.cnonce))
	a2 := md5.Sum([]byte(method + ":" + d.uri))
	r := md5.Sum([]byte(hex.EncodeToString(a1[:]) + ":" + d.nonce + ":00000001:" + d.cnonce + ":auth:" + hex.EncodeToString(a2[:])))
	return hex.EncodeToString(r[:])
}

// fields splits a list of key=value pairs whose values may be quoted.
func fields(s string) map[string]string {
	m := map[string]string{}
	for len(s) > 0 {
		k, rest, ok := strings.Cut(s, "=")
		if !ok {
			break
		}
		var v string
		if strings.HasPrefix(rest, `"`) {
			var b strings.Builder
			i := 1
			for ; i < len(rest) && rest[i] != '"'; i++ {
				if rest[i] == '\\' && i+1 < len(rest) {
					i++
				}
				b.WriteByte(rest[i])
			}
			v = b.String()
			_, rest, _ = strings.Cut(rest[min(i, len(rest)):], ",")
		} else {
			v, rest, _ = strings.Cut(rest, ",")
		}
		m[strings.TrimSpace(k)] = v
		s = rest
	}
	return m
}
