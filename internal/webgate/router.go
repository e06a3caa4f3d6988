package webgate

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
)

// Router knows what there is. Trailing and doubled slashes are accepted, as
// Hadoop's servlets accept them, except below mounted paths. It is built first
// and then only read.
type Router struct {
	home, hint string
	mux        *http.ServeMux
	paths      map[string]map[string]http.HandlerFunc // by pattern, by method
	mounts     map[string]http.Handler                // by prefix
}

// NewRouter is a router without routes. "/" leads to home. Where nothing is served, hint
// says what is.
func NewRouter(home, hint string) *Router {
	return &Router{home: home, hint: hint, mux: http.NewServeMux(), paths: map[string]map[string]http.HandlerFunc{}, mounts: map[string]http.Handler{}}
}

// Add makes a route; the pattern is one of a http.ServeMux, without method. GET
// serves HEAD too.
func (t *Router) Add(method, pattern string, h http.HandlerFunc) {
	methods, known := t.paths[pattern]
	if !known {
		methods = map[string]http.HandlerFunc{}
		t.paths[pattern] = methods
		t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { dispatch(methods, w, r) })
	}
	methods[method] = h
}

// Mount gives everything below a path to a handler, the path untouched.
func (t *Router) Mount(prefix string, h http.Handler) { t.mounts[prefix] = h }

// Routes lists the methods of each pattern, sorted.
func (t *Router) Routes() map[string][]string {
	out := map[string][]string{}
	for pattern, methods := range t.paths {
		for m := range methods {
			out[pattern] = append(out[pattern], m)
		}
		slices.Sort(out[pattern])
	}
	return out
}

// dispatch chooses by method; HEAD is GET without a body.
func dispatch(methods map[string]http.HandlerFunc, w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h, ok := methods[method]; ok {
		h(w, r)
		return
	}
	w.Header().Set("Allow", allowed(methods))
	if method == http.MethodOptions {
		w.Header().Set("Content-Length", "0")
		return
	}
	Refuse(w, r, answer.NotAllowed())
}

func allowed(methods map[string]http.HandlerFunc) string {
	names := []string{http.MethodOptions}
	for m := range methods {
		names = append(names, m)
		if m == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// ServeHTTP implements http.Handler.
func (t *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for prefix, h := range t.mounts {
		if below(r.URL.Path, prefix) {
			h.ServeHTTP(w, r)
			return
		}
	}
	path, ok := tidyPath(r.URL.Path)
	if path == "/" && !changes(r.Method) {
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		to := url.URL{Path: t.home, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, to.String(), http.StatusFound)
		return
	}
	if path == "/robots.txt" && !changes(r.Method) {
		// Hadoop answers the same text with status 302 and no Location.
		answer.Plain(w, http.StatusOK, "User-agent: *\nDisallow: /")
		return
	}
	if ok {
		clean := *r.URL
		clean.Path, clean.RawPath = path, ""
		r.URL = &clean
		if _, pattern := t.mux.Handler(r); pattern != "" {
			t.mux.ServeHTTP(w, r)
			return
		}
	}
	if below(r.URL.Path, "/ws") {
		answer.NotServed(w, r)
		return
	}
	answer.Plain(w, http.StatusNotFound, "There is nothing at this address. "+t.hint)
}

// below tells whether path is prefix or lies below it.
func below(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// tidyPath drops doubled and trailing slashes. A path that climbs is not ok.
func tidyPath(path string) (string, bool) {
	var parts []string
	for _, p := range strings.Split(path, "/") {
		switch p {
		case "":
		case ".", "..":
			return path, false
		default:
			parts = append(parts, p)
		}
	}
	return "/" + strings.Join(parts, "/"), true
}

// Refuse answers with a RemoteException to the web services and with text to
// everybody else.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if below(r.URL.Path, "/ws") {
		answer.WriteError(w, r, err)
		return
	}
	e := answer.ExceptionOf(err)
	answer.Plain(w, e.Status, e.Message)
}
