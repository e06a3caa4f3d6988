package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/web/rest"
)

// router knows what there is. Trailing and doubled slashes are accepted, as
// Hadoop's servlets accept them, except below /proxy, where the path belongs to
// the application.
type router struct {
	mux   *http.ServeMux
	paths map[string]map[string]http.HandlerFunc // by pattern, by method
	proxy http.Handler                           // nil if not served here
}

func newRouter() *router {
	return &router{mux: http.NewServeMux(), paths: map[string]map[string]http.HandlerFunc{}}
}

func (t *router) add(method, pattern string, h http.HandlerFunc) {
	methods, known := t.paths[pattern]
	if !known {
		methods = map[string]http.HandlerFunc{}
		t.paths[pattern] = methods
		t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { dispatch(methods, w, r) })
	}
	methods[method] = h
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
	refuse(w, r, rest.NotAllowed())
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

func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if below(r.URL.Path, "/proxy") && t.proxy != nil {
		t.proxy.ServeHTTP(w, r)
		return
	}
	path, ok := tidyPath(r.URL.Path)
	if path == "/" && !changes(r.Method) {
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		http.Redirect(w, r, "/cluster", http.StatusFound)
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
		rest.NotServed(w, r)
		return
	}
	http.Error(w, "There is nothing at this address. The pages begin at /cluster, the web services at /ws/v1/cluster.", http.StatusNotFound)
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

// refuse answers with a RemoteException to the web services and with text to
// everybody else.
func refuse(w http.ResponseWriter, r *http.Request, e *rest.Exception) {
	if below(r.URL.Path, "/ws") {
		rest.WriteError(w, r, e)
		return
	}
	http.Error(w, e.Message, e.Status)
}
