package token

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/wire/field"
)

// Limits of credentials that are read.
const (
	MaxCredentials = 16 << 20 // bytes, padding included
	MaxTokens      = 10_000
	MaxSecrets     = 10_000
)

// storageMagic opens a token storage stream; one byte for the format follows.
const storageMagic = "HDTS"

const (
	storageWritable = 0
	storageProto    = 1
)

// Credentials are tokens and secrets under names. They keep the order in which
// they were read or set, so that what is written is determined; the aliases of
// either list are unique.
type Credentials struct {
	Tokens  []NamedToken
	Secrets []Secret
}

// NamedToken is a token under its alias, which is usually its service.
type NamedToken struct {
	Alias string
	Token Token
}

// Secret is a secret key under its alias.
type Secret struct {
	Alias string
	Value []byte
}

// SetToken puts a token under an alias, in place of the one that is there.
func (c *Credentials) SetToken(alias string, t Token) {
	for i := range c.Tokens {
		if c.Tokens[i].Alias == alias {
			c.Tokens[i].Token = t
			return
		}
	}
	c.Tokens = append(c.Tokens, NamedToken{alias, t})
}

// SetSecret puts a secret under an alias, in place of the one that is there.
func (c *Credentials) SetSecret(alias string, value []byte) {
	for i := range c.Secrets {
		if c.Secrets[i].Alias == alias {
			c.Secrets[i].Value = value
			return
		}
	}
	c.Secrets = append(c.Secrets, Secret{alias, value})
}

// Token is the token under an alias.
func (c *Credentials) Token(alias string) (Token, bool) {
	for i := range c.Tokens {
		if c.Tokens[i].Alias == alias {
			return c.Tokens[i].Token, true
		}
	}
	return Token{}, false
}

// OfKind is the first token of a kind.
func (c *Credentials) OfKind(kind string) (Token, bool) {
	for i := range c.Tokens {
		if c.Tokens[i].Token.Kind == kind {
			return c.Tokens[i].Token, true
		}
	}
	return Token{}, false
}

// Secret is the secret under an alias.
func (c *Credentials) Secret(alias string) ([]byte, bool) {
	for i := range c.Secrets {
		if c.Secrets[i].Alias == alias {
			return c.Secrets[i].Value, true
		}
	}
	return nil, false
}

// Append appends a token storage stream of format 0, which every release reads.
func (c *Credentials) Append(dst []byte) []byte {
	dst = append(append(dst, storageMagic...), storageWritable)
	dst = AppendVInt(dst, int64(len(c.Tokens)))
	for i := range c.Tokens {
		dst = AppendText(dst, c.Tokens[i].Alias)
		dst = c.Tokens[i].Token.Append(dst)
	}
	dst = AppendVInt(dst, int64(len(c.Secrets)))
	for i := range c.Secrets {
		dst = AppendText(dst, c.Secrets[i].Alias)
		dst = appendBytes(dst, c.Secrets[i].Value)
	}
	return dst
}

// ParseCredentials reads a token storage stream of format 0 or 1. Bytes after
// its end are ignored: a REST client sends its whole, zero-padded buffer. Of
// entries with one alias the last one counts. Tokens and secrets share memory
// with b.
func ParseCredentials(b []byte) (Credentials, error) {
	c, err := parseCredentials(b)
	if err != nil {
		return Credentials{}, fmt.Errorf("reading credentials: %w", err)
	}
	return c, nil
}

func parseCredentials(b []byte) (Credentials, error) {
	if len(b) > MaxCredentials {
		return Credentials{}, fmt.Errorf("%d bytes are more than the limit of %d", len(b), MaxCredentials)
	}
	rest, ok := bytes.CutPrefix(b, []byte(storageMagic))
	if !ok || len(rest) == 0 {
		return Credentials{}, fmt.Errorf("not a token storage stream: no %q and format at its start", storageMagic)
	}
	switch format := rest[0]; format {
	case storageWritable:
		return readWritable(rest[1:])
	case storageProto:
		return readDelimited(rest[1:])
	default:
		return Credentials{}, fmt.Errorf("token storage format %d is unknown: want 0 or 1", format)
	}
}

// Each token has five lengths and each secret two, of one byte at least.
const (
	smallestToken  = 5
	smallestSecret = 2
)

func readWritable(b []byte) (Credentials, error) {
	var c collector
	r := reader{rest: b}
	for n := r.count("number of tokens", smallestToken, MaxTokens); n > 0 && r.err == nil; n-- {
		c.token(r.text("alias of a token"), r.token())
	}
	for n := r.count("number of secrets", smallestSecret, MaxSecrets); n > 0 && r.err == nil; n-- {
		c.secret(r.text("alias of a secret"), r.bytes("secret"))
	}
	return c.out, r.err
}

func readDelimited(b []byte) (Credentials, error) {
	body, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return Credentials{}, protowire.ParseError(n)
	}
	var c collector
	s := field.Walk{Rest: body}
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			alias, t, _, err := readEntry(s.Data)
			s.Fail(err)
			c.token(alias, t)
		case 2<<3 | field.Block:
			alias, _, value, err := readEntry(s.Data)
			s.Fail(err)
			c.secret(alias, value)
		}
		s.Fail(c.check())
	}
	return c.out, s.Err
}

// readEntry reads a CredentialsKVProto.
func readEntry(b []byte) (alias string, t Token, secret []byte, err error) {
	s := field.Walk{Rest: b}
	named := false
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			alias, named = string(s.Data), true
		case 2<<3 | field.Block:
			t, err = ParseProto(s.Data)
			s.Fail(err)
		case 3<<3 | field.Block:
			secret = s.Data
		}
	}
	if s.Err == nil && !named {
		s.Err = errMissing
	}
	return alias, t, secret, s.Err
}

// collector gathers entries of which later ones replace earlier ones, without
// walking the lists for each.
type collector struct {
	out             Credentials
	tokens, secrets map[string]int
}

func (c *collector) token(alias string, t Token) {
	if i, ok := c.tokens[alias]; ok {
		c.out.Tokens[i].Token = t
		return
	}
	if c.tokens == nil {
		c.tokens = make(map[string]int)
	}
	c.tokens[alias] = len(c.out.Tokens)
	c.out.Tokens = append(c.out.Tokens, NamedToken{alias, t})
}

func (c *collector) secret(alias string, value []byte) {
	if i, ok := c.secrets[alias]; ok {
		c.out.Secrets[i].Value = value
		return
	}
	if c.secrets == nil {
		c.secrets = make(map[string]int)
	}
	c.secrets[alias] = len(c.out.Secrets)
	c.out.Secrets = append(c.out.Secrets, Secret{alias, value})
}

func (c *collector) check() error {
	if len(c.out.Tokens) > MaxTokens {
		return fmt.Errorf("more than %d tokens", MaxTokens)
	}
	if len(c.out.Secrets) > MaxSecrets {
		return fmt.Errorf("more than %d secrets", MaxSecrets)
	}
	return nil
}
