package token

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/wire/field"
)

// The kinds of tokens that YARN knows.
const (
	KindAMRM       = "YARN_AM_RM_TOKEN"    // AMRM: an attempt's master towards the ResourceManager
	KindNM         = "NMToken"             // NM: an attempt's master towards one node
	KindContainer  = "ContainerToken"      // Container: permission to start one container
	KindDelegation = "RM_DELEGATION_TOKEN" // Delegation: a user towards the ResourceManager
	KindLocalizer  = "Localizer"           // four bytes 0 0 0 1: a localizer towards its NodeManager
)

// MaxToken bounds the text of one token in URL form, in bytes.
const MaxToken = 1 << 20

// Token is an identifier with the password that proves it. Kind tells how to
// read the identifier; Service tells which address the token is good for, and
// is often left empty by who issues it.
type Token struct {
	Identifier []byte
	Password   []byte
	Kind       string
	Service    string
}

// Append appends the Writable form: identifier and password with their lengths,
// then kind and service as texts.
func (t Token) Append(dst []byte) []byte {
	dst = appendBytes(dst, t.Identifier)
	dst = appendBytes(dst, t.Password)
	dst = AppendText(dst, t.Kind)
	return AppendText(dst, t.Service)
}

// Parse reads the Writable form and answers what follows it. Identifier and
// password share memory with b.
func Parse(b []byte) (t Token, rest []byte, err error) {
	r := reader{rest: b}
	t = r.token()
	if r.err != nil {
		return Token{}, nil, fmt.Errorf("reading a token: %w", r.err)
	}
	return t, r.rest, nil
}

func (r *reader) token() Token {
	return Token{
		Identifier: r.bytes("identifier"),
		Password:   r.bytes("password"),
		Kind:       r.text("kind"),
		Service:    r.text("service"),
	}
}

// URL is the Writable form in URL-safe base64 without padding, as it appears in
// query strings and REST answers.
func (t Token) URL() string { return base64.RawURLEncoding.EncodeToString(t.Append(nil)) }

// AppendProto appends a TokenProto. All four fields are required by its readers
// and always written.
func (t Token) AppendProto(dst []byte) []byte {
	dst = field.AppendBytes(dst, 1, t.Identifier)
	dst = field.AppendBytes(dst, 2, t.Password)
	dst = field.AppendText(dst, 3, t.Kind)
	return field.AppendText(dst, 4, t.Service)
}

var errMissing = errors.New("a required field is missing")

// ParseProto reads a TokenProto. Identifier and password share memory with b.
func ParseProto(b []byte) (Token, error) {
	var t Token
	s := field.Walk{Rest: b}
	seen := 0
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			t.Identifier, seen = s.Data, seen|1
		case 2<<3 | field.Block:
			t.Password, seen = s.Data, seen|2
		case 3<<3 | field.Block:
			t.Kind, seen = string(s.Data), seen|4
		case 4<<3 | field.Block:
			t.Service, seen = string(s.Data), seen|8
		}
	}
	if s.Err == nil && seen != 15 {
		s.Err = errMissing
	}
	if s.Err != nil {
		return Token{}, fmt.Errorf("reading a token: %w", s.Err)
	}
	return t, nil
}
