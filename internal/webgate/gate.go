package webgate

import (
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/heddle-project/heddle/internal/answer"
)

// Config says who may do what. The zero value is Hadoop's default, but for
// changes by nobody, which are refused.
type Config struct {
	// StaticUser is whom requests without authentication act as
	// (hadoop.http.staticuser.user, default dr.who).
	StaticUser string
	// AnonymousRefused wants a user from everybody
	// (hadoop.http.authentication.simple.anonymous.allowed=false).
	AnonymousRefused bool
	// Open is a path that needs no user even so; empty for none.
	Open string
	// AnonymousWrites lets the static user change things, as Hadoop does
	// (yarn.webapp.heddle.anonymous-writes).
	AnonymousWrites bool
	// Secret signs cookies; empty makes a random one. See ReadSecret.
	Secret []byte
	// CookieLife is how long a cookie holds
	// (hadoop.http.authentication.token.validity, default 10 h).
	CookieLife time.Duration
	// CookieKind is the kind of authentication that new cookies name; empty means SimpleOrToken.
	CookieKind string
	CSRF       CSRF
	// Methods are the HTTP methods that are answered, in upper or lower case; empty means every method that the gate knows.
	Methods []string
	// Changing are paths where Hadoop has a GET change something. Such a GET is refused where another method would be, and to
	// browsers always: any page can have them send it. After a path, ?NAME means: only a request with that parameter.
	Changing []string
	CORS     CORS // whose pages may read
	// Traffic, if set, counts requests.
	Traffic *Traffic
	// FrameOptions is the X-Frame-Options of every answer, SAMEORIGIN or DENY;
	// empty leaves it out.
	FrameOptions string
	HTTPS        bool
	// Foreign is the path below which applications' pages lie, empty for none.
	// They share our origin but not our trust: what they do to each other there is
	// the applications' to judge.
	Foreign string
	// Pages lets pages of our own origin change things. It is for ports that serve no application's page. Such a page must have
	// been asked for by an address, as localhost, or by one of Hosts: else another site's name that leads here would be our own origin.
	Pages bool
	Hosts []string // without port

	Now func() time.Time // nil is time.Now
	Log *slog.Logger     // nil discards
}

// Complete fills in what was left out.
func (c Config) Complete() Config {
	if c.StaticUser == "" {
		c.StaticUser = "dr.who"
	}
	if len(c.Secret) == 0 {
		c.Secret = []byte(rand.Text() + rand.Text())
	}
	if c.CookieKind == "" {
		c.CookieKind = SimpleOrToken
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
	return c
}

// Relayed marks requests that the proxy to applications' pages makes. No daemon
// serves them: an application names the address that they go to.
const Relayed = "X-Heddle-Proxied"

// gate stands before everything: it says who asks, refuses what the proxy
// relays, changes by nobody and changes that a page asks for, and sets the
// headers that every answer has.
type gate struct {
	Config
	next http.Handler
}

// New puts the gate before a handler, which finds the caller with From.
func New(c Config, next http.Handler) http.Handler { return &gate{Config: c.Complete(), next: next} }

// methods are those that anything here knows.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodPost, http.MethodDelete}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.Traffic == nil {
		g.serve(w, r)
		return
	}
	g.Traffic.count(w, r, g.serve)
}

func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	g.headers(w)
	if !slices.Contains(methods, r.Method) || !g.allowed(r.Method) {
		Refuse(w, r, answer.NotAllowed())
		return
	}
	if !g.foreign(r.URL.Path) {
		r = withoutSemicolons(r)
		g.CORS.answer(w.Header(), r)
	}
	if r.Header.Get(Relayed) != "" {
		g.Log.Warn("a request that a proxy relays was refused: an application has registered a port of this daemon as its own pages", "path", r.URL.Path, "from", r.RemoteAddr)
		answer.Plain(w, http.StatusLoopDetected, "This is a port of a daemon, and no application's page: nothing here is served through a proxy.")
		return
	}
	caller, err := g.identify(w, r)
	if err == nil && (changes(r.Method) || g.changing(r)) {
		err = g.mayChange(caller, r)
	}
	if err != nil {
		g.Log.Info("refused", "method", r.Method, "path", r.URL.Path, "user", caller.User, "from", caller.Address, "why", err)
		Refuse(w, r, err)
		return
	}
	g.next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), caller)))
}

// withoutSemicolons escapes the semicolons of a query. Java's servers read them as part of a value; url.ParseQuery refuses them.
func withoutSemicolons(r *http.Request) *http.Request {
	if !strings.Contains(r.URL.RawQuery, ";") {
		return r
	}
	escaped, at := *r, *r.URL
	at.RawQuery = strings.ReplaceAll(at.RawQuery, ";", "%3B")
	escaped.URL = &at
	return &escaped
}

// allowed reports whether the configuration allows a method.
func (g *gate) allowed(method string) bool {
	return len(g.Methods) == 0 || slices.ContainsFunc(g.Methods, func(m string) bool { return strings.EqualFold(m, method) })
}

// headers are those that Hadoop puts on every answer, in its spelling.
func (g *gate) headers(w http.ResponseWriter) {
	h := w.Header()
	date := g.Now().UTC().Format(http.TimeFormat)
	h["Date"] = []string{date}
	h["Expires"] = []string{date}
	h["Cache-Control"] = []string{"no-cache"}
	h["Pragma"] = []string{"no-cache"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	if g.FrameOptions != "" {
		h[frameHeader] = []string{g.FrameOptions}
	}
	h["X-XSS-Protection"] = []string{"1; mode=block"}
}

// frameHeader is in Hadoop's spelling, which is not that of http.CanonicalHeaderKey.
var frameHeader = "X-FRAME-OPTIONS"

// FrameAncestors is the directive frame-ancestors of a Content-Security-Policy for an answer with these headers. Browsers pass over
// X-Frame-Options where there is such a directive, so it forbids what that does.
func FrameAncestors(h http.Header) string {
	if v := h[frameHeader]; len(v) > 0 && v[0] == "DENY" {
		return "frame-ancestors 'none'"
	}
	return "frame-ancestors 'self'"
}

// changes tells whether a method can change anything.
func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// maxUserName bounds the characters of a user's name.
const maxUserName = 255

// isUserName tells whether a text can be a user's name in a cookie and in logs: letters,
// digits and a few signs, and spaces but for the first place. A regular expression for
// this would take 10 MB and 40 ms at every start of the program.
func isUserName(s string) bool {
	n := 0
	for _, r := range s {
		if n++; n > maxUserName || r == utf8.RuneError || r == ' ' && n == 1 {
			return false
		}
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("._@$+/- ", r) {
			return false
		}
	}
	return n > 0
}

// identify is who asks: the user of a valid cookie, else the one that the
// parameter user.name claims (who gets a cookie), else the static user. This is
// Hadoop's "simple" authentication, which believes what it is told.
func (g *gate) identify(w http.ResponseWriter, r *http.Request) (Caller, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	c := Caller{User: g.StaticUser, Anonymous: true, Address: host}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil && !g.foreign(r.URL.Path) { // there the application decides
		return c, answer.Errorf(answer.Invalid, "the query of the request does not parse: %v", err)
	}
	if !g.foreign(r.URL.Path) {
		if err := unbuilt(r.Header, query); err != nil {
			return c, err
		}
	}
	now := g.Now()
	name := cookieUser(r, g.Secret, now)
	if name == "" {
		name = query.Get("user.name")
		if name != "" && !isUserName(name) {
			return c, answer.Errorf(answer.Invalid, "user.name is not a user's name")
		}
		if name != "" {
			w.Header().Add("Set-Cookie", newCookie(name, g.CookieKind, g.Secret, now.Add(g.CookieLife), g.HTTPS))
		}
	}
	if name != "" {
		c.User, c.Anonymous = name, name == g.StaticUser
		return c, nil
	}
	if g.AnonymousRefused && (g.Open == "" || r.URL.Path != g.Open) {
		w.Header().Set("WWW-Authenticate", "PseudoAuth")
		return c, answer.Errorf(answer.Unauthorized,
			"Authentication required: add ?user.name=<you> to the address (hadoop.http.authentication.simple.anonymous.allowed is false)")
	}
	return c, nil
}

// unbuilt refuses requests that name their user in a way that is not built, instead of taking the caller for another user. Hadoop, too, accepts
// doAs in any case, and refuses a delegation token that it cannot read.
func unbuilt(h http.Header, query url.Values) error {
	for name, values := range query {
		if strings.EqualFold(name, "doAs") && strings.Join(values, "") != "" {
			return answer.Errorf(answer.Forbidden, "doAs is not built: authenticate as the user on whose behalf you act")
		}
	}
	if h.Get(tokenHeader) != "" || query.Get("delegation") != "" {
		return answer.Errorf(answer.Forbidden, "delegation tokens are not built over HTTP: say who you are with ?user.name=<you>")
	}
	return nil
}

// tokenHeader is the header in which clients send a delegation token, if not in the parameter delegation.
const tokenHeader = "X-Hadoop-Delegation-Token"

// changing tells whether the request is a GET, or a HEAD, that changes something.
func (g *gate) changing(r *http.Request) bool {
	at, ok := tidyPath(r.URL.Path)
	return ok && r.Method != http.MethodOptions && slices.ContainsFunc(g.Changing, func(c string) bool {
		path, parameter, _ := strings.Cut(c, "?")
		return path == at && (parameter == "" || r.URL.Query().Has(parameter))
	})
}

func (g *gate) mayChange(c Caller, r *http.Request) error {
	if c.Anonymous && !g.AnonymousWrites {
		return answer.Errorf(answer.Forbidden, "%s may read but not change anything: say who you are with ?user.name=<you>, "+
			"or let unauthenticated requests change things with the property yarn.webapp.heddle.anonymous-writes=true", c.User)
	}
	if why := g.forged(r); why != "" {
		return answer.Errorf(answer.Forbidden, "%s", why)
	}
	if g.changing(r) && g.CSRF.browser(r) && r.Header[http.CanonicalHeaderKey(g.CSRF.Header)] == nil {
		return answer.Errorf(answer.Forbidden, "a browser may not ask for this, which changes something, without the header %s", g.CSRF.Header)
	}
	return g.CSRF.check(r)
}

// foreign tells whether a path belongs to applications.
func (g *gate) foreign(path string) bool { return g.Foreign != "" && below(path, g.Foreign) }

// forged says why a change that a browser asks for is not its user's own.
// Browsers tell with Sec-Fetch-Site, which scripts cannot set; where they leave
// it out (plain http to any host but localhost) they still send Origin with all
// that changes something. Other clients send neither.
//
// Where applications' pages have our origin no page of ours changes anything, so a
// change that a page asks for is another site's or an application's, whose Referer
// says what its script wants. Below Foreign the application's own pages may ask, and
// with Pages ours.
func (g *gate) forged(r *http.Request) string {
	site, origins := r.Header.Get("Sec-Fetch-Site"), r.Header.Values("Origin")
	var what string
	switch {
	case site == "none", site == "" && len(origins) == 0:
		return ""
	case site != "":
		what = "Sec-Fetch-Site: " + site
	default:
		what = "Origin: " + strings.Join(origins, ", ")
		if slices.ContainsFunc(origins, func(o string) bool { return !sameHost(o, r.Host) }) {
			site = "cross-site"
		} else {
			site = "same-origin"
		}
	}
	if site != "same-origin" {
		return "a page of another site may not change anything here (" + what + ")"
	}
	if g.Pages {
		if host := hostOf(r.Host); !g.known(host) {
			return "a page may not change anything under the name " + host + ", by which this port is not known: use an address, localhost or one of " + strings.Join(g.Hosts, ", ") + " (yarn.resourcemanager.heddle.ui.address)"
		}
		return ""
	}
	if !g.foreign(r.URL.Path) {
		return "a page may not change anything here: none of ours does, and an application's has our origin (" + what + "); programs that are no browser leave that header out"
	}
	return ""
}

// hostOf is the host of host:port.
func hostOf(at string) string {
	if host, _, err := net.SplitHostPort(at); err == nil {
		return host
	}
	return strings.Trim(at, "[]")
}

// known tells whether a host that was asked for is this port's, and not a name that anybody can have lead here.
func (g *gate) known(host string) bool {
	return net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") || slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// sameHost tells whether an origin is the host that was asked for. "null" is the
// origin of whoever hides it.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host)
}
