package ipc

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DIGEST-MD5 (RFC 2831) as SaslRpcServer uses it: the user name is a token's
// identifier in base64, the password the token's password in base64.
const (
	digestMechanism = "DIGEST-MD5"
	digestServer    = "default" // SASL server name, also the realm
	digestURI       = "/" + digestServer
	digestNC        = "00000001"
	qopAuth         = "auth"

	maxDigestText   = 64 << 10 // a token identifier is a few hundred bytes
	maxDigestFields = 32
	nonceBytes      = 30 // 40 characters of base64
)

// digest is one exchange, seen from either side.
type digest struct {
	username, password   string
	realm, nonce, cnonce string
	uri, qop             string
}

func newNonce() string {
	var b [nonceBytes]byte
	rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// newDigest starts an exchange as a server. The nonce is used once.
func newDigest(nonce string) *digest {
	return &digest{realm: digestServer, nonce: nonce, uri: digestURI, qop: qopAuth}
}

func (d *digest) challenge() []byte {
	return fmt.Appendf(nil, `realm="%s",nonce="%s",qop="%s",charset=utf-8,algorithm=md5-sess`, d.realm, d.nonce, d.qop)
}

// proof is the value of response (kind "AUTHENTICATE") or rspauth (kind "").
func (d *digest) proof(kind string) string {
	user := md5.Sum([]byte(d.username + ":" + d.realm + ":" + d.password))
	a1 := string(user[:]) + ":" + d.nonce + ":" + d.cnonce
	a2 := kind + ":" + d.uri
	return md5Hex(md5Hex(a1) + ":" + d.nonce + ":" + digestNC + ":" + d.cnonce + ":" + d.qop + ":" + md5Hex(a2))
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// digestResponse is the client's text.
type digestResponse struct {
	username, realm, nonce, nc, cnonce, uri, qop, response string
}

func parseDigestResponse(text []byte) (r digestResponse, err error) {
	fields, err := parseDigest(text)
	if err != nil {
		return r, err
	}
	r = digestResponse{username: fields["username"], realm: fields["realm"], nonce: fields["nonce"], nc: fields["nc"],
		cnonce: fields["cnonce"], uri: fields["digest-uri"], qop: fields["qop"], response: fields["response"]}
	if _, ok := fields["qop"]; !ok {
		r.qop = qopAuth
	}
	if authz := fields["authzid"]; authz != "" {
		return r, errors.New("DIGEST-MD5: an authorization id is not accepted")
	}
	return r, nil
}

// accept checks everything but the proof against the challenge sent.
func (d *digest) accept(r digestResponse) error {
	switch {
	case r.qop != d.qop:
		return fmt.Errorf("DIGEST-MD5: quality of protection %q is not supported, only %q", printable(r.qop), d.qop)
	case subtle.ConstantTimeCompare([]byte(r.nonce), []byte(d.nonce)) != 1:
		return errors.New("DIGEST-MD5: the nonce is not the challenge's")
	case r.nc != digestNC:
		return errors.New("DIGEST-MD5: the nonce count must be " + digestNC)
	case r.realm != d.realm:
		return errors.New("DIGEST-MD5: the realm is not the challenge's")
	case r.uri != d.uri:
		return errors.New("DIGEST-MD5: the digest-uri must be " + d.uri)
	case r.cnonce == "" || r.username == "":
		return errors.New("DIGEST-MD5: response without user name or client nonce")
	}
	d.cnonce = r.cnonce
	return nil
}

func (d *digest) matches(r digestResponse) bool {
	return subtle.ConstantTimeCompare([]byte(r.response), []byte(d.proof("AUTHENTICATE"))) == 1
}

// answer is the client's side: from the server's challenge to the response.
// d holds user name, password and cnonce and is completed for the server's proof.
func (d *digest) answer(challenge []byte) ([]byte, error) {
	fields, err := parseDigest(challenge)
	if err != nil {
		return nil, err
	}
	offered, ok := fields["qop"]
	switch {
	case fields["nonce"] == "":
		return nil, errors.New("DIGEST-MD5: challenge without a nonce")
	case ok && !slices.Contains(strings.Split(strings.ReplaceAll(offered, " ", ""), ","), qopAuth):
		return nil, fmt.Errorf("DIGEST-MD5: the server insists on protection %q, only %q is supported", printable(offered), qopAuth)
	case fields["algorithm"] != "md5-sess":
		return nil, fmt.Errorf("DIGEST-MD5: algorithm %q is not supported", printable(fields["algorithm"]))
	}
	d.realm, d.nonce, d.uri, d.qop = fields["realm"], fields["nonce"], digestURI, qopAuth
	return fmt.Appendf(nil, `charset=utf-8,username="%s",realm="%s",nonce="%s",nc=%s,cnonce="%s",digest-uri="%s",maxbuf=65536,response=%s,qop=%s`,
		quoted(d.username), quoted(d.realm), quoted(d.nonce), digestNC, d.cnonce, d.uri, d.proof("AUTHENTICATE"), d.qop), nil
}

// confirm checks the server's last word.
func (d *digest) confirm(token []byte) error {
	fields, err := parseDigest(token)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(fields["rspauth"]), []byte(d.proof(""))) != 1 {
		return errors.New("DIGEST-MD5: the server did not prove that it knows the token's password")
	}
	return nil
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func quoted(s string) string { return quoting.Replace(s) }

// parseDigest splits name=value pairs, quoted or not, in any order. A name
// may occur once (RFC 2831 lets only realm repeat, which Hadoop never does).
func parseDigest(text []byte) (map[string]string, error) {
	if len(text) > maxDigestText {
		return nil, fmt.Errorf("DIGEST-MD5: text of %d bytes, at most %d", len(text), maxDigestText)
	}
	fields := map[string]string{}
	rest := strings.TrimLeft(string(text), " \t\r\n,")
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || name == "" || strings.ContainsAny(name, "\", \t\r\n") {
			return nil, errors.New("DIGEST-MD5: malformed text")
		}
		value, after, err := digestValue(strings.TrimLeft(after, " \t\r\n"))
		if err != nil {
			return nil, err
		}
		if _, dup := fields[name]; dup || len(fields) == maxDigestFields {
			return nil, errors.New("DIGEST-MD5: a field is repeated, or there are too many")
		}
		fields[name] = value
		after = strings.TrimLeft(after, " \t\r\n")
		if after != "" && after[0] != ',' {
			return nil, errors.New("DIGEST-MD5: fields must be separated by commas")
		}
		rest = strings.TrimLeft(after, " \t\r\n,")
	}
	return fields, nil
}

// digestValue reads one value and returns what follows it.
func digestValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, ", \t\r\n")
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			if i++; i == len(s) {
				return "", "", errors.New("DIGEST-MD5: a quoted value does not end")
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", errors.New("DIGEST-MD5: a quoted value does not end")
}
