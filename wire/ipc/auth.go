package ipc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stage is how far a connection's authentication is.
type stage uint8

const (
	stageSASL    stage = iota // SASL messages only
	stageContext              // the connection context
	stageOpen                 // calls
)

// authentication is the state of one connection's login.
type authentication struct {
	stage      stage
	method     Method
	negotiated bool    // NEGOTIATE was answered
	digest     *digest // challenge outstanding
	user       string  // proven by a token
	identifier []byte
}

// maxName bounds a user name, in bytes.
const maxName = 255

func (s *Server) offers(m Method) bool { return slices.Contains(s.cfg.Methods, m) }

// compat: clients and tests match Apache's wording, two spaces included.
func (s *Server) notEnabled(m Method) string {
	var names []string
	for _, have := range s.cfg.Methods {
		names = append(names, string(have))
	}
	return fmt.Sprintf("%s authentication is not enabled.  Available:[%s]", printable(string(m)), strings.Join(names, ", "))
}

// context accepts the one connection context, which decides who the calls
// are made by.
func (c *conn) context(h *requestHeader, payload []byte) error {
	switch c.auth.stage {
	case stageSASL:
		return refuse(h, fatal(ClassServer, FatalInvalidHeader, "connection context before the end of SASL negotiation"))
	case stageOpen:
		return refuse(h, fatal(ClassServer, FatalInvalidHeader, "a connection has one context, and this one has had it"))
	}
	msg, rest, ok := delimited(payload)
	var ctx connectionContext
	if !ok || len(rest) != 0 || ctx.parse(msg) != nil {
		return refuse(h, fatal(ClassServer, FatalDeserializing, "malformed connection context"))
	}
	id, err := c.server.identify(&c.auth, &ctx)
	if err != nil {
		return refuse(h, fatalAs(err, FatalUnauthorized))
	}
	id.Remote = c.remote
	if err := c.server.authorize(id); err != nil {
		return refuse(h, fatalAs(err, FatalUnauthorized))
	}
	c.identity = id
	c.who.Store(id)
	c.auth = authentication{stage: stageOpen, method: id.Method}
	c.in.established()
	c.server.stats.authOK.Add(1)
	return nil
}

// identify combines what was proven with what the context claims.
func (s *Server) identify(a *authentication, ctx *connectionContext) (*Identity, error) {
	id := &Identity{Method: a.method, Protocol: string(ctx.protocol)}
	if len(id.Protocol) > maxName {
		return nil, &RemoteError{Class: ClassAccessControl, Message: "protocol name is too long"}
	}
	if a.method == MethodToken {
		id.User, id.TokenKind, id.TokenIdentifier = a.user, s.cfg.TokenKind, a.identifier
		if claim := string(ctx.user); claim != "" && claim != a.user {
			return nil, &RemoteError{Class: ClassAccessControl, Message: fmt.Sprintf(
				"Authenticated user (%s) doesn't match what the client claims to be (%s)", a.user, printable(claim))}
		}
		return id, nil
	}
	var err error
	if id.User, err = s.shortName(ctx.user); err != nil {
		return nil, err
	}
	if len(ctx.realUser) > 0 {
		id.RealUser, err = s.shortName(ctx.realUser)
	}
	return id, err
}

// shortName checks a claimed name and makes it a user name.
func (s *Server) shortName(claim []byte) (string, error) {
	name := string(claim)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return "", &RemoteError{Class: ClassAccessControl, Message: fmt.Sprintf(
			"user name %q is not acceptable: 1 to %d bytes of printable text", printable(claim), maxName)}
	}
	if s.cfg.ShortName != nil {
		return s.cfg.ShortName(name)
	}
	if i := strings.IndexAny(name, "/@"); i > 0 {
		name = name[:i]
	}
	return name, nil
}

// authorize asks the proxy rules and the protocol's access list.
func (s *Server) authorize(id *Identity) error {
	if id.RealUser != "" {
		if s.cfg.Proxies == nil {
			return &RemoteError{Class: ClassAuthorization, Message: fmt.Sprintf(
				"User: %s is not allowed to impersonate %s", id.RealUser, id.User)}
		}
		if err := s.cfg.Proxies.Allow(id.RealUser, id.User, id.Remote.Addr()); err != nil {
			return asAuthorization(err)
		}
	}
	if s.cfg.Authorize != nil {
		if err := s.cfg.Authorize(id); err != nil {
			return asAuthorization(err)
		}
	}
	return nil
}

// asAuthorization gives a plain error the class that clients expect here.
func asAuthorization(err error) error {
	if r := remote(err); r.Class != ClassIOException {
		return r
	}
	return &RemoteError{Class: ClassAuthorization, Message: err.Error()}
}
