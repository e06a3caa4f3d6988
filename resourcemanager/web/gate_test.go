package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webapp"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// door is the handler of a whole port for tests.
type door struct {
	http.Handler
	source     *webtest.Source
	controller *webtest.Controller
	config     Config
}

func open(t *testing.T, change func(*Config)) door {
	t.Helper()
	d := door{source: webtest.New(), controller: &webtest.Controller{}}
	c := Config{Source: d.source, Controller: d.controller, Address: "rm.example:8088",
		Config: webgate.Config{Secret: []byte("a secret of the test"), FrameOptions: "SAMEORIGIN", Now: func() time.Time { return time.UnixMilli(webtest.Moment) }},
		Introspection: introspect.Config{Properties: func() []introspect.Property {
			return []introspect.Property{{Name: "a.password", Raw: "1234", Value: "1234"}, {Name: "yarn.acl.enable", Raw: "false", Value: "false", Source: "yarn-default.xml"}}
		}, Admin: func(c webgate.Caller) bool { return c.User == "admin" }, Log: slog.New(logs.New(io.Discard, slog.LevelInfo))}}
	if change != nil {
		change(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	d.Handler, d.config = h, c
	return d
}

// ask sends a request with a body of JSON if there is one.
func (d door) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return d.askAs("rm.example:8088", method, target, body, headers...)
}

// askAs is ask by another name of the port.
func (d door) askAs(host, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = host
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

var stateOf6 = "/ws/v1/cluster/apps/" + webtest.App(6).String() + "/state"

// TestEveryRoute walks every route with every method: nobody changes anything
// without a name, and no route escapes the gate.
func TestEveryRoute(t *testing.T) {
	d := open(t, nil)
	complete, err := d.config.complete()
	if err != nil {
		t.Fatal(err)
	}
	routes := routes(complete).Routes()
	if len(routes) < 30 {
		t.Fatalf("only %d routes", len(routes))
	}
	fill := strings.NewReplacer("{app}", webtest.App(6).String(), "{attempt}", "appattempt_1795305251364_0006_000001",
		"{container}", "container_1795305251364_0006_01_000001", "{node}", "localhost:26839", "{state}", "RUNNING", "{type}", "LIFETIME", "{command}", "OUTPUT_THREAD_DUMP", "{queue}", "root", "{queue...}", "root", "{file}", "x.log")
	paths := []string{"/proxy/" + webtest.App(6).String() + "/", "/nothing/here", "/ws/v1/nothing"}
	for pattern := range routes {
		path := fill.Replace(pattern)
		if strings.Contains(path, "{") {
			t.Errorf("the test does not know how to fill %s", pattern)
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			w := d.ask(method, path, `{"state":"KILLED"}`)
			if w.Code != http.StatusForbidden {
				t.Errorf("%s %s by nobody: %d, want 403", method, path, w.Code)
			}
			if text := w.Body.String(); !strings.Contains(text, "user.name") || !strings.Contains(text, "yarn.webapp.heddle.anonymous-writes") {
				t.Errorf("%s %s does not say what to do: %s", method, path, text)
			}
		}
		for _, method := range []string{"PATCH", "TRACE", "CONNECT", "BREW"} {
			if w := d.ask(method, path, ""); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d, want 405", method, path, w.Code)
			}
		}
	}
	for _, path := range paths {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			for _, forged := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://evil.example"}, {"Origin", "null"},
				{"Origin", ""}, {"Origin", "http://rm.example:8088.evil.example"}, {"Origin", "http://rm.example:8088@evil.example"}, {"Origin", "http://rm.example"}} {
				if w := d.ask(method, path+"?user.name=alice", `{"state":"KILLED"}`, forged...); w.Code != http.StatusForbidden {
					t.Errorf("%s %s with %q: %d, want 403", method, path, forged, w.Code)
				}
			}
			for _, own := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://RM.example:8088"}} {
				w := d.ask(method, path+"?user.name=alice", `{"state":"KILLED"}`, own...)
				if isPage := strings.HasPrefix(path, "/proxy/"); (w.Code == http.StatusForbidden) == isPage {
					t.Errorf("%s %s with %q: %d", method, path, own, w.Code)
				}
			}
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT"} {
			if w := d.ask(method, path+"?user.name=alice", "", webgate.Relayed, "1"); w.Code != http.StatusLoopDetected {
				t.Errorf("%s %s relayed: %d, want 508", method, path, w.Code)
			}
		}
	}
	for pattern, methods := range routes {
		path := fill.Replace(pattern)
		if w := d.ask("OPTIONS", path, ""); w.Code != http.StatusOK || w.Header().Get("Allow") == "" {
			t.Errorf("OPTIONS %s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
		if !slices.Contains(methods, "DELETE") {
			if w := d.ask("DELETE", path+"?user.name=alice", ""); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("DELETE %s: %d, want 405", path, w.Code)
			}
		}
		if slices.Contains(methods, "GET") {
			if strings.HasPrefix(path, "/ws/v1/cluster/scheduler-conf") || strings.Contains(path, "/logs") { // there is none to be seen: TestFormatIsAChange, and no node to be asked
				continue
			}
			path += "?user.name=admin&user=alice"
			if w := d.ask("GET", path, ""); w.Code != http.StatusOK {
				t.Errorf("GET %s: %d", path, w.Code)
			}
			if w := d.ask("HEAD", "/"+strings.Replace(path, "?", "//?", 1), ""); w.Code != http.StatusOK {
				t.Errorf("HEAD of %s with more slashes: %d", path, w.Code)
			}
		}
	}
	if calls := d.controller.Calls(); len(calls) != 0 {
		t.Errorf("something was changed: %v", calls)
	}
}

// TestFormatIsAChange: the one GET that changes something is guarded as changes are, however its path is written.
func TestFormatIsAChange(t *testing.T) {
	for _, path := range []string{rest.FormatPath, rest.FormatPath + "/", "/" + rest.FormatPath, "/ws/v1/cluster//scheduler-conf/%66ormat"} {
		d := open(t, nil)
		for _, c := range []struct {
			method, query string
			headers       []string
			status        int
		}{
			{"GET", "", nil, 403},
			{"GET", "?user.name=dr.who", nil, 403},
			{"GET", "?user.name=alice", []string{"Sec-Fetch-Site", "cross-site"}, 403},
			{"GET", "?user.name=alice", []string{"Origin", "http://evil.example"}, 403},
			{"GET", "?user.name=alice", []string{"User-Agent", "Mozilla/5.0 (X11)"}, 403},
			{"HEAD", "?user.name=alice", nil, 405},
		} {
			if w := d.ask(c.method, path+c.query, "", c.headers...); w.Code != c.status {
				t.Errorf("%s %s%s %q: %d, want %d", c.method, path, c.query, c.headers, w.Code, c.status)
			}
		}
		if calls := d.controller.Calls(); len(calls) > 0 {
			t.Errorf("%s: %v", path, calls)
		}
		if d.ask("GET", path+"?user.name=alice", ""); len(d.controller.Calls()) != 1 {
			t.Errorf("%s: nothing is formatted", path)
		}
	}
}

func TestWhoMayChange(t *testing.T) {
	kill := `{"state":"KILLED"}`
	browser := []string{"User-Agent", "Mozilla/5.0"}
	for _, c := range []struct {
		name    string
		change  func(*Config)
		query   string
		headers []string
		status  int
		by      string // who the controller heard of, empty if it heard nothing
	}{
		{name: "nobody", status: 403},
		{name: "nobody, by the property", change: func(c *Config) { c.AnonymousWrites = true }, status: 202, by: "dr.who"},
		{name: "a user", query: "?user.name=alice", status: 202, by: "alice"},
		{name: "the static user by name", query: "?user.name=dr.who", status: 403},
		{name: "another static user", change: func(c *Config) { c.StaticUser = "guest" }, query: "?user.name=guest", status: 403},
		{name: "no name at all", query: "?user.name=", status: 403},
		{name: "a name that is none", query: "?user.name=a%26p%3Droot", status: 400},
		{name: "a name with a line's end", query: "?user.name=a%0d%0aX:%20y", status: 400},
		{name: "doAs", query: "?user.name=alice&doAs=bob", status: 403},
		{name: "doAs in another case", query: "?user.name=alice&doas=bob", status: 403},
		{name: "a delegation token", query: "?user.name=alice&delegation=x", status: 403},
		{name: "a delegation token in a header", query: "?user.name=alice", headers: []string{"X-Hadoop-Delegation-Token", "x"}, status: 403},
		{name: "a broken query", query: "?user.name=%zz", status: 400},
		{name: "csrf off", query: "?user.name=alice", headers: browser, status: 202, by: "alice"},
		{name: "csrf on, browser", change: csrf, query: "?user.name=alice", headers: browser, status: 400},
		{name: "csrf on, browser with the header", change: csrf, query: "?user.name=alice", headers: append([]string{"x-xsrf-header", ""}, browser...), status: 202, by: "alice"},
		{name: "csrf on, curl", change: csrf, query: "?user.name=alice", headers: []string{"User-Agent", "curl/8"}, status: 202, by: "alice"},
		{name: "csrf on, an expression that is none", change: func(c *Config) { c.CSRF = webgate.CSRF{Enabled: true, UserAgents: []string{"("}} }, query: "?user.name=alice", status: 400},
		{name: "a page of another site", query: "?user.name=alice", headers: []string{"Sec-Fetch-Site", "cross-site"}, status: 403},
		{name: "a page of a neighbour", query: "?user.name=alice", headers: []string{"Sec-Fetch-Site", "same-site"}, status: 403},
		{name: "an application's page", query: "?user.name=alice", headers: []string{"Sec-Fetch-Site", "same-origin", "Referer", "http://rm.example:8088/proxy/application_1_0001/"}, status: 403},
		{name: "a page that hides itself", query: "?user.name=alice", headers: []string{"Sec-Fetch-Site", "same-origin"}, status: 403},
		{name: "a page that says it is ours, as scripts can", query: "?user.name=alice", headers: []string{"Sec-Fetch-Site", "same-origin", "Referer", "http://rm.example:8088/cluster/app/x"}, status: 403},
		{name: "the user himself", query: "?user.name=alice", headers: []string{"Sec-Fetch-Site", "none"}, status: 202, by: "alice"},
		{name: "another site over plain http", query: "?user.name=alice", headers: []string{"Origin", "http://evil.example"}, status: 403},
		{name: "a page without an origin", query: "?user.name=alice", headers: []string{"Origin", "null"}, status: 403},
		{name: "a page of an application over plain http", query: "?user.name=alice", headers: []string{"Origin", "http://rm.example:8088"}, status: 403},
		{name: "what a proxy relays", query: "?user.name=alice", headers: []string{webgate.Relayed, "1"}, status: 508},
		{name: "a method that is not allowed", change: func(c *Config) { c.Methods = []string{"GET", "HEAD"} }, query: "?user.name=alice", status: 405},
		{name: "one that is, in lower case", change: func(c *Config) { c.Methods = []string{"get", "put"} }, query: "?user.name=alice", status: 202, by: "alice"},
		{name: "anonymous refused", change: func(c *Config) { c.AnonymousRefused = true }, status: 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, c.change)
			w := d.ask("PUT", stateOf6+c.query, kill, c.headers...)
			if w.Code != c.status {
				t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			var want []string
			if c.by != "" {
				want = []string{fmt.Sprintf("kill %s by %s: ", webtest.App(6), c.by)}
			}
			if got := d.controller.Calls(); !slices.Equal(got, want) {
				t.Errorf("calls %v, want %v", got, want)
			}
		})
	}
}

func csrf(c *Config) { c.CSRF.Enabled = true }

func TestCookies(t *testing.T) {
	d := open(t, nil)
	set := d.ask("GET", "/ws/v1/cluster/userinfo?user.name=alice", "").Header().Get("Set-Cookie")
	if !strings.HasPrefix(set, `hadoop.auth="u=alice&p=alice&t=simple-dt&e=`) || !strings.Contains(set, `"; Path=/; HttpOnly`) {
		t.Fatalf("Set-Cookie: %s", set)
	}
	good, _, _ := strings.Cut(set, ";")
	value := strings.Trim(strings.TrimPrefix(good, "hadoop.auth="), `"`)
	early := open(t, func(c *Config) {
		c.Now = func() time.Time { return time.UnixMilli(webtest.Moment).Add(-10 * time.Hour) }
	})
	expired, _, _ := strings.Cut(early.ask("GET", "/ws/v1/cluster/userinfo?user.name=alice", "").Header().Get("Set-Cookie"), ";")
	for name, c := range map[string]struct{ cookie, want string }{
		"good":              {good, "alice"},
		"without quotes":    {"hadoop.auth=" + value, "alice"},
		"another user":      {strings.ReplaceAll(good, "u=alice", "u=root"), "dr.who"},
		"later end":         {strings.Replace(good, "e=17", "e=19", 1), "dr.who"},
		"no signature":      {"hadoop.auth=u=root&p=root&t=simple-dt&e=99999999999999", "dr.who"},
		"empty signature":   {"hadoop.auth=u=root&p=root&t=simple-dt&e=99999999999999&s=", "dr.who"},
		"expired":           {expired, "dr.who"},
		"bad, then good":    {"hadoop.auth=x; " + good, "alice"},
		"good among others": {"a=b; " + good + "; c=d", "alice"},
	} {
		w := d.ask("GET", "/ws/v1/cluster/userinfo", "", "Cookie", c.cookie)
		if want := `{"rmLoginUser":"yarn","requestedUser":"` + c.want + `"}`; w.Body.String() != want {
			t.Errorf("%s: %s, want %s", name, w.Body, want)
		}
		if w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: a cookie without user.name", name)
		}
	}
	other := open(t, func(c *Config) { c.Secret = []byte("another secret") })
	if w := other.ask("GET", "/ws/v1/cluster/userinfo", "", "Cookie", good); strings.Contains(w.Body.String(), "alice") {
		t.Error("a cookie that another secret signed was taken")
	}
}

// TestSharedSecret: a cookie that another daemon signed with the same secret;
// the signature was made with openssl.
func TestSharedSecret(t *testing.T) {
	const cookie = `hadoop.auth="u=root&p=root&t=simple-dt&e=9795342282246&s=ig6KJSX3Bsp3rJlzvvDGxN1XqjG5JkSNj/04b45gsH8="`
	w := open(t, nil).ask("GET", "/ws/v1/cluster/userinfo", "", "Cookie", cookie)
	if !strings.Contains(w.Body.String(), `"requestedUser":"root"`) {
		t.Errorf("not taken: %s", w.Body)
	}
}

func TestFrameOptions(t *testing.T) {
	name := strings.ToUpper("x-frame-options") // as Apache spells it
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("a page"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := webapp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"DENY", "SAMEORIGIN", ""} {
		d := open(t, func(c *Config) { c.FrameOptions, c.Apps = want, []App{{Prefix: "/ui2", App: app}} })
		ancestors := "frame-ancestors 'self'"
		if want == "DENY" {
			ancestors = "frame-ancestors 'none'"
		}
		for _, path := range []string{"/cluster", "/ui2/", "/proxy/" + webtest.App(1).String() + "x/"} {
			h := d.ask("GET", path, "").Header()
			if got := strings.Join(h[name], " "); got != want {
				t.Errorf("%s: X-FRAME-OPTIONS is %q, not %q", path, got, want)
			}
			if got := h.Get("Content-Security-Policy"); !strings.HasSuffix(got, ancestors) {
				t.Errorf("%s: beside X-FRAME-OPTIONS %q the policy is %q", path, want, got)
			}
		}
	}
}

func TestSmallThings(t *testing.T) {
	d := open(t, nil)
	for _, c := range []struct {
		path, accept string
		status       int
		header, want string
		body         string
	}{
		{path: "/", status: 302, header: "Location", want: "/cluster"},
		{path: "/?user.name=alice", status: 302, header: "Location", want: "/cluster?user.name=alice"},
		{path: "/robots.txt", status: 200, header: "Content-Type", want: "text/plain; charset=utf-8", body: "User-agent: *\nDisallow: /\n"},
		{path: "/jmx?get=java.lang:type=Memory::", status: 200, body: "query format is not as expected."},
		{path: "/jmx?get=", status: 200, body: "query format is not as expected."},
		{path: "/isActive", status: 200, header: "Connection", want: "close", body: "I am Active!"},
		{path: "/ws/v1/nothing", accept: "application/json", status: 404, header: "Content-Type", want: "application/json", body: `"url":"/ws/v1/nothing"`},
		{path: "/ws/v1/cluster/nothing", accept: "text/html", status: 404, header: "Content-Type", want: "text/html;charset=utf-8"},
		{path: "/ws", accept: "application/xml", status: 404, body: ""},
		{path: "/ws/v1/cluster/apps/../info", status: 404},
		{path: "/ws/v1/cluster/apps/%2e%2e/info", status: 404},
		{path: "/ws/v1/cluster/info?a;b", status: 200},
		{path: "/ws/v1/cluster/apps?states=RUNNING;KILLED", accept: "application/json", status: 400, body: "Invalid application-state RUNNING;KILLED specified"},
		{path: "/ws/v1/cluster/apps?user=nobody;x&limit=1", accept: "application/json", status: 200, body: `{"apps":{}}`},
		{path: "/proxy/" + webtest.App(6).String() + "/?a;b", status: 302, header: "Location", want: "http://rm.example:8088/cluster/app/" + webtest.App(6).String()},
		{path: "/logs", status: 404, body: "There is nothing at this address"},
		{path: "/stacks", status: 403, body: "yarn.admin.acl"},
		{path: "/cluster/<script>", status: 404, header: "Content-Type", want: "text/plain; charset=utf-8"},
	} {
		w := d.ask("GET", c.path, "", "Accept", c.accept)
		if w.Code != c.status || c.header != "" && w.Header().Get(c.header) != c.want || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d %v %s", c.path, w.Code, w.Header(), w.Body)
		}
		for _, name := range []string{"X-FRAME-OPTIONS", "X-Content-Type-Options", "X-XSS-Protection", "Cache-Control"} {
			if len(w.Header()[name]) == 0 {
				t.Errorf("%s: no %s", c.path, name)
			}
		}
	}
	d.source.Self.HAState = "STANDBY"
	if w := d.ask("GET", "/isActive", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a standby's /isActive: %d", w.Code)
	}
	d.source.Err = answer.Errorf(answer.Unavailable, "not active")
	if w := d.ask("GET", "/ws/v1/cluster/apps", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a standby's /apps: %d", w.Code)
	}
	if w := d.ask("GET", "/cluster/cluster", ""); w.Code != http.StatusOK {
		t.Errorf("a standby's about page: %d", w.Code)
	}
	if w := d.ask("GET", "/cluster", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a standby's applications: %d", w.Code)
	}
}

func TestConfig(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an empty configuration was taken")
	}
	if _, err := New(Config{Source: webtest.New(), Controller: &webtest.Controller{}}); err == nil || !strings.Contains(err.Error(), "address") {
		t.Errorf("without an address: %v", err)
	}
}

// TestServer: limits of the port, on real sockets.
func TestServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := webgate.NewServer(open(t, nil), slog.New(slog.NewTextHandler(&log, nil)))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	base := "http://" + l.Addr().String()
	res, err := http.Get(base + "/ws/v1/cluster/info")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	_ = res.Body.Close()
	r, _ := http.NewRequest("GET", base+"/ws/v1/cluster/info", nil)
	r.Header.Set("X-Long", strings.Repeat("a", 40_000))
	if res, err = http.DefaultClient.Do(r); err != nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long headers: %v %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	r, _ = http.NewRequest("PUT", base+stateOf6+"?user.name=alice", strings.NewReader(`{"state":"`+strings.Repeat("K", 1<<20)+`"}`))
	r.Header.Set("Content-Type", "application/json")
	if res, err = http.DefaultClient.Do(r); err != nil || res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %v %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	r, _ = http.NewRequest("OPTIONS", base, nil)
	r.URL.Opaque = "*" // which the server would answer by itself
	if res, err = http.DefaultClient.Do(r); err != nil || res.Header.Get("X-Content-Type-Options") == "" {
		t.Errorf("OPTIONS *: %v %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
