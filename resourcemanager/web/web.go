// Package web serves the ResourceManager's HTTP port: the web services below
// /ws/v1/cluster (rest), the pages below /cluster (ui), the applications' own
// pages below /proxy (proxy), and /isActive. All requests pass one gate that
// decides who asks and whether that caller may change anything; what has no
// route is refused.
//
// Everything shown comes from published views; changes go through a Controller
// that the daemon implements. Not here yet: /jmx, /conf, /stacks, /logs, the
// redirect of a standby to the active ResourceManager, SPNEGO and delegation
// tokens.
package web

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/proxy"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/ui"
)

// What the daemon implements, and who asks. See package access.
type (
	Source     = access.Source
	Controller = access.Controller
	Caller     = access.Caller
	Daemon     = access.Daemon
)

// Config is what the server needs. Source, Controller and Address are required;
// the zero value of everything else is Hadoop's default.
type Config struct {
	Source     Source
	Controller Controller
	// Address is host:port as users reach this server
	// (yarn.resourcemanager.webapp.address, with the real port). Links and
	// tracking addresses bear it.
	Address string
	HTTPS   bool
	Version rest.Version

	// StaticUser is whom requests without authentication act as
	// (hadoop.http.staticuser.user, default dr.who).
	StaticUser string
	// AnonymousRefused wants a user from everybody
	// (hadoop.http.authentication.simple.anonymous.allowed=false).
	AnonymousRefused bool
	// AnonymousWrites lets the static user change things, as Hadoop does
	// (yarn.webapp.heddle.anonymous-writes).
	AnonymousWrites bool
	// Secret signs cookies; empty makes a random one. See ReadSecret.
	Secret []byte
	// CookieLife is how long a cookie holds
	// (hadoop.http.authentication.token.validity, default 10 h).
	CookieLife time.Duration
	CSRF       CSRF
	// FrameOptions is the X-Frame-Options of every answer, SAMEORIGIN or DENY;
	// empty leaves it out.
	FrameOptions string

	FilterByUser   bool // yarn.webapp.filter-entity-list-by-user
	SubmissionsOff bool // yarn.webapp.enable-rest-app-submissions=false

	// ProxyFrom is the local address from which the proxy connects to masters:
	// their filters let only the ResourceManager's webapp address through. nil
	// leaves it to the kernel. See proxy.LocalAddress.
	ProxyFrom net.IP
	ProxyOff  bool // another daemon serves /proxy (yarn.web-proxy.address is set)

	Now func() time.Time // nil is time.Now
	Log *slog.Logger     // nil discards
}

func (c Config) complete() (Config, error) {
	switch {
	case c.Source == nil || c.Controller == nil:
		return c, errors.New("web: a Source and a Controller are needed")
	case c.Address == "":
		return c, errors.New("web: no address: tracking links need yarn.resourcemanager.webapp.address with the real port")
	}
	if c.StaticUser == "" {
		c.StaticUser = "dr.who"
	}
	if len(c.Secret) == 0 {
		c.Secret = []byte(rand.Text() + rand.Text())
	}
	if c.CookieLife <= 0 {
		c.CookieLife = 10 * time.Hour
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.CSRF = c.CSRF.complete()
	return c, nil
}

func (c Config) links() access.Links {
	scheme := "http"
	if c.HTTPS {
		scheme = "https"
	}
	return access.Links{Scheme: scheme, Address: c.Address}
}

// New is the handler of the whole port.
func New(c Config) (http.Handler, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	r := newRouter()
	for _, route := range rest.Routes(rest.Config{
		Source: c.Source, Controller: c.Controller, Links: c.links(), Version: c.Version,
		FilterByUser: c.FilterByUser, SubmissionsOff: c.SubmissionsOff, Now: c.Now, Log: c.Log,
	}) {
		r.add(route.Method, route.Pattern, route.Handler)
	}
	for _, page := range ui.Routes(ui.Config{
		Source: c.Source, Links: c.links(), Version: c.Version.Number, FilterByUser: c.FilterByUser, Now: c.Now, Log: c.Log,
	}) {
		r.add(http.MethodGet, page.Pattern, page.Handler)
	}
	r.add(http.MethodGet, "/isActive", active(c.Source))
	if !c.ProxyOff {
		r.proxy = proxy.New(proxy.Config{Source: c.Source, Links: c.links(), From: c.ProxyFrom, Log: c.Log})
	}
	return &gate{Config: c, next: r}, nil
}

// active tells load balancers whether this ResourceManager is the active one.
func active(s access.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if s.Daemon(r.Context()).HAState != "ACTIVE" {
			http.Error(w, "I am not active!", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		_, _ = w.Write([]byte("I am Active!"))
	}
}
