package webgate

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// defaults are those of hadoop.http.cross-origin.*, but for the origins.
func defaults(t *testing.T, origins ...string) CORS {
	t.Helper()
	c, err := NewCORS(origins, []string{"GET", "POST", "HEAD"}, []string{"X-Requested-With", "Content-Type", "Accept", "Origin"}, 1800*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// grants are the Access-Control headers of an answer, sorted.
func grants(h http.Header) (out []string) {
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			out = append(out, strings.TrimPrefix(name, "Access-Control-")+": "+h.Get(name))
		}
	}
	slices.Sort(out)
	return out
}

// TestCrossOrigin: who may read is told so, with everything that a browser wants to know; who may not gets no word of it.
func TestCrossOrigin(t *testing.T) {
	const page = "https://ui.example:8443"
	for _, c := range []struct {
		name    string
		cors    CORS
		method  string
		headers []string
		origin  string // that may read, "" for none
		cookies bool
	}{
		{name: "off", headers: []string{"Origin", page}},
		{name: "no page asks", cors: defaults(t, "*")},
		{name: "everybody", cors: defaults(t, "*"), headers: []string{"Origin", page}, origin: page},
		{name: "by name", cors: defaults(t, "http://other", page), headers: []string{"Origin", page}, origin: page, cookies: true},
		{name: "another port", cors: defaults(t, page), headers: []string{"Origin", "https://ui.example"}},
		{name: "by a star", cors: defaults(t, "https://*.example:8443"), headers: []string{"Origin", page}, origin: page, cookies: true},
		{name: "a dot is a dot", cors: defaults(t, "https://ui.example:*"), headers: []string{"Origin", "https://uiXexample:8443"}},
		{name: "by an expression", cors: defaults(t, `regex:https?://ui\.example:[0-9]+`), headers: []string{"Origin", page}, origin: page, cookies: true},
		{name: "an expression fits the whole", cors: defaults(t, `regex:ui\.example`), headers: []string{"Origin", page}},
		{name: "a preflight", cors: defaults(t, page), method: "OPTIONS", headers: []string{"Origin", page, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "x-requested-with, accept"}, origin: page, cookies: true},
		{name: "a preflight with a header that is not listed", cors: defaults(t, page), method: "OPTIONS", headers: []string{"Origin", page, "Access-Control-Request-Headers", "authorization"}},
		{name: "a preflight of a change that the configuration lists", cors: defaults(t, page), method: "OPTIONS", headers: []string{"Origin", page, "Access-Control-Request-Method", "POST"}},
		{name: "a change", cors: defaults(t, page), method: "POST", headers: []string{"Origin", page}},
	} {
		if c.method == "" {
			c.method = "GET"
		}
		r := httptest.NewRequest(c.method, "/ws/v1/node", nil)
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		h := http.Header{}
		c.cors.answer(h, r)
		var want []string
		if c.origin != "" {
			want = []string{"Allow-Headers: X-Requested-With,Content-Type,Accept,Origin", "Allow-Methods: GET,HEAD", "Allow-Origin: " + c.origin, "Max-Age: 1800"}
		}
		if c.cookies {
			want = append([]string{"Allow-Credentials: true"}, want...)
		}
		if got := grants(h); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
	if _, err := NewCORS([]string{"regex:("}, nil, nil, 0); err == nil {
		t.Error("an expression that is none was taken")
	}
}

// TestCrossOriginChangesNothing: the gate refuses a page's changes as without CORS, and below Foreign it grants nothing in the application's name.
func TestCrossOriginChangesNothing(t *testing.T) {
	const page = "https://ui.example"
	reached := ""
	g := New(Config{CORS: defaults(t, page), AnonymousWrites: true, Foreign: "/proxy"}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached += r.Method + " " + r.URL.Path + " " }))
	for _, c := range []struct {
		method, path string
		status       int
		granted      bool
	}{{"GET", "/ws/v1/cluster", 200, true}, {"PUT", "/ws/v1/cluster", 403, false}, {"POST", "/ws/v1/cluster", 403, false}, {"GET", "/proxy/x", 200, false}} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("Origin", page)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != c.status || (w.Header().Get("Access-Control-Allow-Origin") == page) != c.granted {
			t.Errorf("%s %s: %d %v", c.method, c.path, w.Code, w.Header())
		}
	}
	if reached != "GET /ws/v1/cluster GET /proxy/x " {
		t.Errorf("reached: %s", reached)
	}
}
