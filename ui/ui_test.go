package ui

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// mostBytes is what the whole bundle may have.
const mostBytes = 700 << 10

func ask(t *testing.T, method, path string, headers ...string) *http.Response {
	t.Helper()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var asset = regexp.MustCompile(`/ui/assets/[\w.-]+\.(?:js|css)`)

// TestPage: every address that is no file is the page, with a policy that lets nothing but our own files run; what the page names is there.
func TestPage(t *testing.T) {
	for _, path := range []string{"/ui", "/ui/", "/ui/apps/application_1_0001", "/ui/queues/root.a%2Fb", "/ui/../ui/nodes"} {
		res := ask(t, "GET", path)
		text := body(t, res.Body)
		if res.StatusCode != 200 || !strings.Contains(text, `<div id="root">`) || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d, %.80s", path, res.StatusCode, text)
		}
		csp := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %s", path, csp)
		}
		if res.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s may be kept: %s", path, res.Header.Get("Cache-Control"))
		}
		named := asset.FindAllString(text, -1)
		if len(named) < 2 {
			t.Fatalf("%s names %q", path, named)
		}
		for _, name := range named {
			if res := ask(t, "GET", name); res.StatusCode != 200 || res.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
				t.Errorf("%s: %d %v", name, res.StatusCode, res.Header)
			}
		}
		if inline := regexp.MustCompile(`<script[^>]*>[^<]|<style|\son\w+=|style=`).FindString(text); inline != "" {
			t.Errorf("%s has %q in it, which the policy refuses", path, inline)
		}
	}
	for path, status := range map[string]int{"/ui/assets/index-old.js": 404, "/ui/icon.svg": 200} {
		if res := ask(t, "GET", path); res.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, status)
		}
	}
	if res := ask(t, "POST", "/ui/"); res.StatusCode != 405 {
		t.Errorf("POST: %d", res.StatusCode)
	}
}

// TestCaching: a file comes compressed to whom takes that, and not at all to whom has it.
func TestCaching(t *testing.T) {
	name := asset.FindString(body(t, ask(t, "GET", "/ui/").Body))
	plain, zipped := ask(t, "GET", name), ask(t, "GET", name, "Accept-Encoding", "br, gzip")
	if plain.Header.Get("Content-Encoding") != "" || zipped.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("ETag") == zipped.Header.Get("ETag") {
		t.Fatalf("%v\n%v", plain.Header, zipped.Header)
	}
	z, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body(t, z) != body(t, plain.Body) {
		t.Error("the compressed file is another one")
	}
	for _, refused := range []string{"gzip;q=0", "deflate", "gzip; q=0.0"} {
		if res := ask(t, "GET", name, "Accept-Encoding", refused); res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: compressed", refused)
		}
	}
	for _, tag := range []string{plain.Header.Get("ETag"), `"x", W/` + plain.Header.Get("ETag")} {
		if res := ask(t, "GET", name, "If-None-Match", tag); res.StatusCode != 304 || body(t, res.Body) != "" {
			t.Errorf("If-None-Match %s: %d", tag, res.StatusCode)
		}
	}
	if res := ask(t, "HEAD", name); res.Header.Get("Content-Length") == "" || body(t, res.Body) != "" {
		t.Error("HEAD has a body, or no length")
	}
}

// TestBundle: it is small, and names no other place that it would ask.
func TestBundle(t *testing.T) {
	total := 0
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := dist.ReadFile(name)
		total += len(b)
		if strings.Contains(string(b), "sourceMappingURL") {
			t.Errorf("%s names a source map", name)
		}
		return err
	})
	if err != nil || total > mostBytes {
		t.Errorf("%d bytes, at most %d: %v", total, mostBytes, err)
	}
}

// No browser guesses what a file is (nosniff), so each has a content type.
func TestKinds(t *testing.T) {
	if err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && kinds[path.Ext(name)] == "" {
			t.Errorf("%s has no content type", name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
