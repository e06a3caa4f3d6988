package webapp

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const page = "<!doctype html><script>window.x =\r\n1</script><SCRIPT src=\"assets/app.js\"></SCRIPT>"

func content() map[string]string {
	return map[string]string{
		"index.html": page, "assets/app.js": "let x", "config/configs.env": "ENV = {}", "fonts/a.woff2": "font", "odd.zzz": "?",
		"WEB-INF/classes/secret.txt": "secret", "META-INF/MANIFEST.MF": "secret",
		"WEB-INF/web.xml": `<web-app xmlns="x"><error-page><error-code>500</error-code><location>/none</location></error-page>
			<error-page><error-code> 404 </error-code><location>/index.html</location></error-page></web-app>`,
	}
}

func war(t *testing.T, files map[string]string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "app.war")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for path, text := range files {
		w, err := z.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ask(a *App, method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.Handler("/ui2").ServeHTTP(w, r)
	return w.Result()
}

func body(r *http.Response) string {
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

// A war and a folder with its content are served alike.
func TestServes(t *testing.T) {
	for what, name := range map[string]string{"war": war(t, content()), "folder": folder(t, content())} {
		a, err := Open(name)
		if err != nil {
			t.Fatal(what, err)
		}
		for path, want := range map[string]string{
			"/ui2/": "200 text/html;charset=utf-8 " + page, "/ui2/index.html": "200 text/html;charset=utf-8 " + page,
			"/ui2/assets/app.js": "200 text/javascript;charset=utf-8 let x", "/ui2/config/configs.env": "200 text/javascript;charset=utf-8 ENV = {}",
			"/ui2/fonts/a.woff2": "200 font/woff2 font", "/ui2/odd.zzz": "200 application/octet-stream ?",
			"/ui2/queues/root": "200 text/html;charset=utf-8 " + page, "/ui2/queues/root.q1": "200 text/html;charset=utf-8 " + page,
			"/ui2/assets/gone.JS": "404 text/plain; charset=utf-8 There is no such file in this web application.\n",
		} {
			r := ask(a, "GET", path)
			if got := fmt.Sprint(r.StatusCode, " ", r.Header.Get("Content-Type"), " ", body(r)); got != want {
				t.Errorf("%s %s: %s, want %s", what, path, got, want)
			}
		}
		if r := ask(a, "GET", "/ui2?x=1"); r.StatusCode != http.StatusFound || r.Header.Get("Location") != "/ui2/?x=1" {
			t.Errorf("%s: /ui2 answers %d, %s", what, r.StatusCode, r.Header.Get("Location"))
		}
		for _, path := range []string{"/ui2/WEB-INF/web.xml", "/ui2/web-inf/classes/secret.txt", "/ui2/META-INF/MANIFEST.MF"} {
			if r := ask(a, "GET", path); r.StatusCode != http.StatusNotFound || strings.Contains(body(r), "secret") {
				t.Errorf("%s: %s answers %d", what, path, r.StatusCode)
			}
		}
		if r := ask(a, "POST", "/ui2/index.html"); r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: POST answers %d", what, r.StatusCode)
		}
		r := ask(a, "HEAD", "/ui2/assets/app.js")
		if r.StatusCode != 200 || body(r) != "" || r.Header.Get("Content-Length") != "5" {
			t.Errorf("%s: HEAD answers %d, %v", what, r.StatusCode, r.Header)
		}
		if r := ask(a, "GET", "/ui2/assets/app.js", "If-None-Match", r.Header.Get("ETag")); r.StatusCode != http.StatusNotModified {
			t.Errorf("%s: what has not changed answers %d", what, r.StatusCode)
		}
	}
}

// The scripts that a page had are allowed by their hashes, and no other that is in it.
func TestPolicy(t *testing.T) {
	a, err := Open(war(t, content()))
	if err != nil {
		t.Fatal(err)
	}
	// The hash is that of "window.x =\n1".
	if got := ask(a, "GET", "/ui2/").Header.Get("Content-Security-Policy"); !strings.Contains(got, "script-src 'self' 'unsafe-eval' 'sha256-1k6DErRVETwZ9by28SVeDxJfF6Toar7/h/qxXQ3cAyU=';") {
		t.Errorf("the page's policy is %s", got)
	}
	if got := ask(a, "GET", "/ui2/assets/app.js").Header.Get("Content-Security-Policy"); !strings.Contains(got, "script-src 'self' 'unsafe-eval';") {
		t.Errorf("a script's policy is %s", got)
	}
	// A page that is built by React Router starts with a module in the page itself.
	module := newFile("index.html", []byte("<body><script type=\"module\" async=\"\">import \"/scheduler-ui/assets/a.js\";\nimport(\"/scheduler-ui/assets/b.js\");</script></body>")).policy
	if !strings.Contains(module, "script-src 'self' 'unsafe-eval' 'sha256-LJQW8DNyYQxenMmR7uGYrJ0SPYVvMpjdOxGEr9dt+fM=';") {
		t.Errorf("the policy of a page with a module is %s", module)
	}
}

// Without a page for what is not found there is a 404.
func TestNotFound(t *testing.T) {
	files := content()
	delete(files, "WEB-INF/web.xml")
	a, err := Open(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/ui2/queues/root", "/ui2//index.html", "/ui2/../index.html", "/ui2/assets", "/ui2/assets/"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		a.Handler("/ui2").ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
}

func TestRefused(t *testing.T) {
	with := func(name, text string) map[string]string {
		files := content()
		files[name] = text
		return files
	}
	many := map[string]string{}
	for i := range maxFiles + 1 {
		many[fmt.Sprint("f", i)] = ""
	}
	large := with("a", strings.Repeat("\x00", maxBytes/2))
	large["b"] = large["a"]
	deep := with(strings.Repeat("d/", maxDepth+1)+"x", "")
	link, pipe := folder(t, content()), folder(t, content())
	if err := os.Symlink("/etc/passwd", filepath.Join(link, "out")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(pipe, "waits"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct{ at, want string }{
		"climbs":        {war(t, with("../x", "")), `it has an entry "../x", whose name may lead out of it`},
		"absolute":      {war(t, with("/x", "")), "may lead out of it"},
		"backslash":     {war(t, with(`a\x`, "")), "may lead out of it"},
		"many":          {war(t, many), "it has more than 4096 files"},
		"a bomb":        {war(t, large), "larger than 64 MiB"},
		"deep":          {war(t, deep), "deeper than 32"},
		"empty":         {war(t, nil), "it has no index.html"},
		"no place":      {war(t, with("WEB-INF/web.xml", "<web-app><error-page><error-code>404</error-code><location>/x.html</location></error-page></web-app>")), `"/x.html", which is not there`},
		"no descriptor": {war(t, with("WEB-INF/web.xml", "<web-app")), "WEB-INF/web.xml: "},
		"no zip":        {filepath.Join(folder(t, map[string]string{"x.war": "text"}), "x.war"), "not a valid zip file"},
		"a folder.war":  {filepath.Dir(folder(t, nil)) + "/none.war", "no such file"},
		"missing":       {"/none/at/all", "no such file"},
		"a link out":    {link, "escapes"},
		"a pipe":        {pipe, `"waits" is no file`},
	} {
		if _, err := Open(x.at); err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "reading the web application "+x.at) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
