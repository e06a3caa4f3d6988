package web

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
)

// gate stands before everything: it says who asks, refuses changes by nobody
// and by pages of other sites, and sets the headers that every answer has.
type gate struct {
	Config
	next http.Handler
}

// methods are those that anything here knows.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodPost, http.MethodDelete}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.headers(w)
	if !slices.Contains(methods, r.Method) {
		refuse(w, r, rest.NotAllowed())
		return
	}
	caller, no := g.identify(w, r)
	if no == nil && changes(r.Method) {
		no = g.mayChange(caller, r)
	}
	if no != nil {
		g.Log.Info("refused", "method", r.Method, "path", r.URL.Path, "user", caller.User, "from", caller.Address, "why", no.Message)
		refuse(w, r, no)
		return
	}
	g.next.ServeHTTP(w, r.WithContext(access.WithCaller(r.Context(), caller)))
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
		h["X-FRAME-OPTIONS"] = []string{g.FrameOptions}
	}
	h["X-XSS-Protection"] = []string{"1; mode=block"}
}

// changes tells whether a method can change anything.
func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// maxUserName bounds the characters of a user's name.
const maxUserName = 255

// isUserName tells what can stand for a user in a cookie and in logs: letters,
// digits and a few signs, and spaces but for the first place. (As a regular
// expression this took 10 MB and 40 ms at every start of the program.)
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
func (g *gate) identify(w http.ResponseWriter, r *http.Request) (Caller, *rest.Exception) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	c := Caller{User: g.StaticUser, Anonymous: true, Address: host}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil && !below(r.URL.Path, "/proxy") { // there it is the application's to judge
		return c, &rest.Exception{Status: http.StatusBadRequest, Class: badRequestClass, Message: "the query of the request does not parse: " + err.Error()}
	}
	if query.Get("doAs") != "" {
		return c, rest.Forbidden("doAs is not built: authenticate as the user on whose behalf you act")
	}
	now := g.Now()
	name := cookieUser(r, g.Secret, now)
	if name == "" {
		name = query.Get("user.name")
		if name != "" && !isUserName(name) {
			return c, &rest.Exception{Status: http.StatusBadRequest, Class: badRequestClass, Message: "user.name is not a user's name"}
		}
		if name != "" {
			w.Header().Add("Set-Cookie", newCookie(name, g.Secret, now.Add(g.CookieLife), g.HTTPS))
		}
	}
	if name != "" {
		c.User, c.Anonymous = name, name == g.StaticUser
		return c, nil
	}
	if g.AnonymousRefused && r.URL.Path != "/isActive" {
		w.Header().Set("WWW-Authenticate", "PseudoAuth")
		return c, &rest.Exception{Status: http.StatusUnauthorized, Class: "org.apache.hadoop.security.authorize.AuthorizationException",
			Message: "Authentication required: add ?user.name=<you> to the address (hadoop.http.authentication.simple.anonymous.allowed is false)"}
	}
	return c, nil
}

const badRequestClass = "org.apache.hadoop.yarn.webapp.BadRequestException"

func (g *gate) mayChange(c Caller, r *http.Request) *rest.Exception {
	if c.Anonymous && !g.AnonymousWrites {
		return rest.Forbidden(fmt.Sprintf("%s may read but not change anything: say who you are with ?user.name=<you>, "+
			"or let unauthenticated requests change things with the property yarn.webapp.heddle.anonymous-writes=true", c.User))
	}
	if why := foreign(r); why != "" {
		return rest.Forbidden(why)
	}
	return g.CSRF.check(r)
}

// foreign says why a change that a browser asks for does not come from one of
// our own pages. Browsers tell with Sec-Fetch-Site, which scripts cannot set;
// other clients do not send it. Applications' pages behind the proxy share our
// origin but not our trust.
func foreign(r *http.Request) string {
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || below(r.URL.Path, "/proxy") {
		return ""
	}
	if site != "same-origin" && site != "none" {
		return "a page of another site may not change anything here (Sec-Fetch-Site: " + site + ")"
	}
	from, err := url.Parse(r.Referer())
	if site == "same-origin" && (err != nil || r.Referer() == "" || below(from.Path, "/proxy")) {
		return "an application's page may not change anything here"
	}
	return ""
}

// CSRF is Hadoop's protection against forged requests
// (yarn.resourcemanager.webapp.rest-csrf.*).
type CSRF struct {
	Enabled    bool
	Header     string   // custom-header, default X-XSRF-HEADER
	Ignore     []string // methods-to-ignore, default GET,OPTIONS,HEAD,TRACE
	UserAgents []string // browser-useragents-regex, default ^Mozilla.*,^Opera.*

	browsers []*regexp.Regexp
}

func (c CSRF) complete() CSRF {
	if c.Header == "" {
		c.Header = "X-XSRF-HEADER"
	}
	if len(c.Ignore) == 0 {
		c.Ignore = []string{"GET", "OPTIONS", "HEAD", "TRACE"}
	}
	if len(c.UserAgents) == 0 {
		c.UserAgents = []string{"^Mozilla.*", "^Opera.*"}
	}
	for _, text := range c.UserAgents {
		// An expression that Go does not understand protects against everybody.
		re, err := regexp.Compile("^(?:" + strings.TrimSpace(text) + ")$")
		if err != nil {
			re = regexp.MustCompile("")
		}
		c.browsers = append(c.browsers, re)
	}
	return c
}

func (c CSRF) check(r *http.Request) *rest.Exception {
	agent := r.UserAgent()
	isBrowser := slices.ContainsFunc(c.browsers, func(re *regexp.Regexp) bool { return re.MatchString(agent) })
	if !c.Enabled || !isBrowser || slices.Contains(c.Ignore, r.Method) || r.Header[http.CanonicalHeaderKey(c.Header)] != nil {
		return nil
	}
	return &rest.Exception{Status: http.StatusBadRequest, Class: badRequestClass, Message: "Missing Required Header for CSRF Vulnerability Protection: " + c.Header}
}
