// Package proxy relays the pages of applications' masters, /proxy/<id>/…, as
// Hadoop's web proxy does: browsers talk to the ResourceManager, which talks to
// the address that the application's current master registered and to no other.
//
// What comes from a master is untrusted: neither its redirects are followed nor
// its cookies passed on, and sizes and times are bounded. What goes to a master
// is a short list of headers and the caller's name, never his credentials.
//
// Pages of applications are served from the ResourceManager's own origin, which
// stock masters depend on (their pages fetch data by the proxy's paths), so a
// sandboxing Content-Security-Policy is not possible here; package webgate refuses
// changes that such pages request of the daemon. The proxy dials no port of a
// daemon, whatever a master registered, so that nobody gets past a daemon's webgate.
package proxy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// Limits of relaying.
const (
	maxRelays       = 128 // at once, over all applications
	maxRelaysPerApp = 16  // at once, to one application
	dialTime        = 10 * time.Second
	headerTime      = 30 * time.Second // until a master begins to answer
	totalTime       = 10 * time.Minute
	maxHeaderBytes  = 64 << 10
	maxAnswer       = 1 << 30 // bytes of one answer
	maxBody         = 1 << 20 // bytes of one request
)

// Config is what the proxy needs.
type Config struct {
	Source access.Source
	Links  access.Links
	From   net.IP // local address to connect from; nil leaves it to the kernel
	// Own tells whether this daemon listens on a port; nil: on none.
	Own func(port uint16) bool
	// Addresses returns the known addresses of a node's host, without looking anything
	// up; nil: none are known.
	Addresses func(host string) []netip.Addr
	Log       *slog.Logger
}

// Proxy is the handler of everything at and below /proxy.
type Proxy struct {
	Config
	transport http.RoundTripper
	underway  gates
	total     time.Duration // of one relay
	most      int64         // bytes of one answer
}

// New is a proxy.
func New(c Config) *Proxy {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{Config: c, total: totalTime, most: maxAnswer}
	p.transport = &http.Transport{
		Proxy:                  nil, // never through another proxy: the master's filter wants our address
		DialContext:            p.dial,
		DisableCompression:     true, // the caller's Accept-Encoding is passed on
		DisableKeepAlives:      true, // masters come and go
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return p
}

// dialFrom connects from the given address. If that is a loopback address, which cannot
// reach another machine, it lets the kernel choose one when the first try fails.
func dialFrom(ctx context.Context, d *net.Dialer, from net.IP, network, address string) (net.Conn, error) {
	if from == nil {
		return d.DialContext(ctx, network, address)
	}
	bound := *d
	bound.LocalAddr = &net.TCPAddr{IP: from}
	c, err := bound.DialContext(ctx, network, address)
	if _, no := refusedBy(err); err != nil && !no && from.IsLoopback() && ctx.Err() == nil {
		return d.DialContext(ctx, network, address)
	}
	return c, err
}

// LocalAddress is the address to connect from: that of the web server's host; nil if it
// is the wildcard.
func LocalAddress(ctx context.Context, hostPort string) (net.IP, error) {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupIP(ctx, "ip4", host)
	if err != nil {
		found, err = net.DefaultResolver.LookupIP(ctx, "ip", host)
	}
	if err != nil || len(found) == 0 || found[0].IsUnspecified() {
		return nil, err
	}
	return found[0], nil
}

// request is a proxied path taken apart: /proxy/[redirect/]<id>[/<rest>].
type request struct {
	bounced bool // the path has redirect/: a master's filter has redirected the caller here
	id      yarn.ApplicationID
	rest    string // escaped, without a leading slash
}

// parse parses the escaped path, so that rest is passed on as it was sent. ok is false if
// the path has no id.
func parse(escaped string) (q request, ok bool, err error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(escaped, "/proxy"), "/")
	if after, found := strings.CutPrefix(rest, "redirect/"); found {
		q.bounced, rest = true, after
	}
	id, rest, _ := strings.Cut(rest, "/")
	if id == "" {
		return q, false, nil
	}
	q.rest = rest
	q.id, err = yarn.ParseApplicationID(id)
	return q, true, err
}

// allow lists the methods of every path. As in Hadoop the proxy itself answers OPTIONS.
const allow = "GET,HEAD,OPTIONS,PUT"

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut:
	case http.MethodOptions:
		w.Header().Set("Allow", allow)
		w.Header().Set("Content-Length", "0")
		return
	default:
		w.Header().Set("Allow", allow)
		say(w, http.StatusMethodNotAllowed, "Only GET and PUT are passed on to applications.")
		return
	}
	q, ok, err := parse(r.URL.EscapedPath())
	switch {
	case !ok:
		say(w, http.StatusNotFound, "There is no application in this path: it must be /proxy/<application id>/…")
	case err != nil:
		// Hadoop answers 500; nothing here has failed.
		say(w, http.StatusBadRequest, err.Error())
	case r.Header.Get("Service-Worker") != "":
		say(w, http.StatusForbidden, "Applications' pages may not install service workers here.")
	default:
		p.serve(w, r, q)
	}
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, q request) {
	if q.bounced && p.mine(r) {
		// The master's filter has redirected the proxy itself: going on would never end.
		move(w, p.Links.Failure(q.id))
		return
	}
	app, err := p.Source.Application(r.Context(), q.id)
	switch {
	case err != nil && answer.KindOf(err) == answer.NotFound:
		say(w, http.StatusNotFound, "Application "+q.id.String()+" could not be found in the ResourceManager.")
		return
	case err != nil:
		say(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	t := app.Current()
	if !access.HasTracking(t) || app.State == yarn.AppFailed || app.State == yarn.AppKilled {
		move(w, p.Links.Page(q.id))
		return
	}
	target, err := address(t.OriginalTrackingURL, q.rest, r.URL.RawQuery, p.Links.Scheme)
	if err != nil {
		p.Log.Info("proxy refused an address", "application", q.id, "error", err)
		say(w, http.StatusBadGateway, "The application registered an address that cannot be used: "+err.Error())
		return
	}
	if app.PublicState >= yarn.PublicFinished {
		// The master has ended: the address is that of a history server.
		move(w, target.String())
		return
	}
	p.relay(w, r, app, target)
}

// mine tells whether the request comes from the address from which the proxy connects.
func (p *Proxy) mine(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return err == nil && p.From != nil && p.From.Equal(ip)
}

// gates count the relays that are under way.
type gates struct {
	mu    sync.Mutex
	total int
	apps  map[yarn.ApplicationID]int
}

func (g *gates) enter(id yarn.ApplicationID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.total >= maxRelays || g.apps[id] >= maxRelaysPerApp {
		return false
	}
	if g.apps == nil {
		g.apps = map[yarn.ApplicationID]int{}
	}
	g.total++
	g.apps[id]++
	return true
}

func (g *gates) leave(id yarn.ApplicationID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.apps[id]--; g.apps[id] == 0 {
		delete(g.apps, id)
	}
}
