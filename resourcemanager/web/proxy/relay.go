package proxy

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
)

// passed are the request headers that masters get: those that WebAppProxyServlet passes
// on, and those by which a master can tell from which page a browser's request comes.
var passed = []string{"User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Accept-Charset", "Content-Type",
	"Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers",
	"Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Sec-Fetch-User"}

// keptBack are the response headers that are not passed on: they concern the connection,
// or the ResourceManager's whole origin rather than the application's page.
var keptBack = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Set-Cookie", "Set-Cookie2", "Www-Authenticate", "Strict-Transport-Security", "Clear-Site-Data",
	"Service-Worker-Allowed", "Alt-Svc", "Nel", "Report-To", "Reporting-Endpoints", "Public-Key-Pins", "Origin-Agent-Cluster", "Accept-Ch",
	// The web server sets these itself.
	"X-Frame-Options", "X-Xss-Protection", "X-Content-Type-Options", "Date"}

// address is the URL to fetch: the one that the master registered, then the rest of the
// path, then both queries. The registered URL may lack the scheme, and nothing else.
func address(registered, rest, query, scheme string) (*url.URL, error) {
	registered = strings.TrimSpace(registered)
	if !strings.Contains(registered, "://") {
		registered = scheme + "://" + registered
	}
	u, err := url.Parse(registered)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q does not parse", registered)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q is neither http nor https", registered)
	case u.Hostname() == "" || u.User != nil:
		return nil, fmt.Errorf("%q must name a host, and no user", registered)
	case strings.ContainsFunc(u.Host, notOfHosts):
		return nil, fmt.Errorf("%q names a host with characters that no host has", registered)
	}
	escaped := strings.TrimSuffix(u.EscapedPath(), "/") + "/" + rest
	if u.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, fmt.Errorf("the path does not parse: %w", err)
	}
	u.RawPath, u.Fragment = escaped, ""
	u.RawQuery = strings.Trim(u.RawQuery+"&"+query, "&")
	return u, nil
}

// notOfHosts tells whether a character is not allowed in a host and port. Go's parser
// allows more, and browsers are redirected to the address.
func notOfHosts(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:[]%", r)
}

func (p *Proxy) relay(w http.ResponseWriter, r *http.Request, app *view.Application, target *url.URL) {
	if !p.underway.enter(app.ID) {
		w.Header().Set("Retry-After", "1")
		say(w, http.StatusServiceUnavailable, "Too many requests to applications are under way; try again.")
		return
	}
	defer p.underway.leave(app.ID)
	ctx, cancel := context.WithTimeout(r.Context(), p.total)
	defer cancel()
	// The web server's read deadline is meant for short answers: when it passes, the
	// server cancels the request.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(p.total + time.Second))

	out, err := outgoing(ctx, w, r, target)
	if err != nil {
		say(w, http.StatusBadRequest, err.Error())
		return
	}
	res, err := p.transport.RoundTrip(out)
	if err != nil {
		p.fail(w, app, target, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < http.StatusOK {
		p.fail(w, app, target, fmt.Errorf("it answered with status %d", res.StatusCode))
		return
	}
	p.answer(w, r, res, app)
}

// outgoing is the request to the master.
func outgoing(ctx context.Context, w http.ResponseWriter, r *http.Request, target *url.URL) (*http.Request, error) {
	var body io.Reader
	if r.Method == http.MethodPut {
		body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // as in Hadoop; a master's server may not support HEAD
	}
	out, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("asking the application for %s: %w", target, err)
	}
	if body != nil && r.ContentLength >= 0 {
		out.ContentLength = r.ContentLength
	}
	out.Header.Set("User-Agent", "") // none of our own
	for _, name := range passed {
		if values := r.Header.Values(name); len(values) > 0 {
			out.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
		}
	}
	out.Header.Set("Cookie", "proxy-user="+url.QueryEscape(webgate.From(r.Context()).User))
	out.Header.Set(webgate.Relayed, "1")
	return out, nil
}

// answer copies the master's answer. If that is too long or too slow the connection is
// aborted, so that the caller notices.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, res *http.Response, app *view.Application) {
	h := w.Header()
	gone := append(slices.Clone(keptBack), connectionNames(res.Header)...)
	if res.Header.Get("Cache-Control") != "" {
		h.Del("Pragma")
		h.Del("Expires")
	}
	for name, values := range res.Header {
		if !slices.Contains(gone, name) {
			h[name] = values
		}
	}
	w.WriteHeader(res.StatusCode)
	if r.Method == http.MethodHead {
		return
	}
	n, err := io.Copy(w, io.LimitReader(res.Body, p.most+1))
	if err == nil && n > p.most {
		err = fmt.Errorf("it is longer than %d bytes", p.most)
	}
	if err != nil {
		p.Log.Info("an application's answer was cut off", "application", app.ID, "bytes", n, "error", err)
		panic(http.ErrAbortHandler)
	}
}

// connectionNames are the headers that the Connection header names.
func connectionNames(h http.Header) []string {
	var names []string
	for _, value := range h.Values("Connection") {
		for _, name := range strings.Split(value, ",") {
			names = append(names, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
	return names
}

func (p *Proxy) fail(w http.ResponseWriter, app *view.Application, target *url.URL, err error) {
	if why, ok := refusedBy(err); ok {
		p.Log.Warn("an application has registered a port of a daemon as its own pages", "application", app.ID, "address", target.Host, "whose", why.whose)
		say(w, http.StatusBadGateway, "The application registered an address that cannot be used: "+target.Host+": "+why.Error())
		return
	}
	p.Log.Info("an application's pages cannot be reached", "application", app.ID, "address", target.Host, "error", err)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		say(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is larger than %d bytes.", tooLarge.Limit))
	case errors.Is(err, context.DeadlineExceeded):
		say(w, http.StatusGatewayTimeout, "The master of "+app.ID.String()+" at "+target.Host+" took too long to answer.")
	default:
		say(w, http.StatusBadGateway, "The master of "+app.ID.String()+" at "+target.Host+" does not answer: "+err.Error())
	}
}

var ownPage = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><title>{{.Title}}</title></head>
<body><h1>{{.Title}}</h1><p>{{.Text}}{{if .Link}} <a href="{{.Link}}">here</a>{{end}}</p></body></html>
`))

type pageText struct{ Title, Text, Link string }

// writePage writes a page of the proxy itself.
func writePage(w http.ResponseWriter, status int, what pageText) {
	w.Header().Set("Content-Type", "text/html;charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; "+webgate.FrameAncestors(w.Header()))
	w.WriteHeader(status)
	out := visible.NewWriter(w)
	_ = ownPage.Execute(out, what)
	_ = out.Flush()
}

func say(w http.ResponseWriter, status int, text string) {
	writePage(w, status, pageText{Title: http.StatusText(status), Text: text})
}

// move redirects the caller to a page of this server or to a URL that address has
// checked. The target must not depend on the request's Host, which the caller chooses.
func move(w http.ResponseWriter, target string) {
	w.Header().Set("Location", target)
	writePage(w, http.StatusFound, pageText{Title: "Moved", Text: "Content has moved", Link: target})
}
