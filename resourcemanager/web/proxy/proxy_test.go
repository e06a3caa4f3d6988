package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// fixture is a proxy in front of application 6, whose master registered an address.
type fixture struct {
	source *webtest.Source
	app    *view.Application
	proxy  *Proxy
	url    string
	client *http.Client
}

func start(t *testing.T, tracking string) *fixture {
	t.Helper()
	s := webtest.New()
	f := &fixture{source: s}
	f.app, _ = s.Application(context.Background(), webtest.App(6))
	f.app.Current().OriginalTrackingURL = tracking
	f.proxy = New(Config{Source: s, Links: access.Links{Scheme: "http", Address: "rm.example:8088"}, From: net.IPv4(127, 0, 0, 1)})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := webgate.Caller{User: "dr.who", Anonymous: true}
		if u := r.URL.Query().Get("user.name"); u != "" {
			c = webgate.Caller{User: u}
		}
		f.proxy.ServeHTTP(w, r.WithContext(webgate.WithCaller(r.Context(), c)))
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	f.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(f.client.CloseIdleConnections)
	return f
}

// ask sends a request and reads the answer.
func (f *fixture) ask(t *testing.T, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, f.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res, string(body)
}

func path(rest string) string { return "/proxy/" + webtest.App(6).String() + rest }

// master is an application's web server.
func master(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRelay(t *testing.T) {
	var seen *http.Request
	am := master(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("X-Own", "yes")
		w.Header().Set("Set-Cookie", "hadoop.auth=forged; Path=/")
		w.Header().Set("Service-Worker-Allowed", "/")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "the master's page")
	})
	f := start(t, am.URL+"/base?k=v")
	res, body := f.ask(t, "GET", path("/jobs/a%2Fb/?q=1&user.name=alice"),
		"Accept", "text/html", "Cookie", "hadoop.auth=secret", "Authorization", "Basic c2VjcmV0", "X-Other", "1", "User-Agent", "probe",
		"Origin", "http://other.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty")
	if res.StatusCode != http.StatusTeapot || body != "the master's page" || res.Header.Get("X-Own") != "yes" {
		t.Errorf("answer: %d %q %v", res.StatusCode, body, res.Header)
	}
	for _, name := range []string{"Set-Cookie", "Service-Worker-Allowed"} {
		if res.Header.Get(name) != "" {
			t.Errorf("the master's header %s came through: %q", name, res.Header.Get(name))
		}
	}
	if got, want := seen.URL.RequestURI(), "/base/jobs/a%2Fb/?k=v&q=1&user.name=alice"; got != want {
		t.Errorf("the master saw %s, want %s", got, want)
	}
	if got := seen.Header.Get("Cookie"); got != "proxy-user=alice" {
		t.Errorf("the master saw the cookies %q", got)
	}
	for name, want := range map[string]string{"Authorization": "", "X-Other": "", "Accept": "text/html", "User-Agent": "probe",
		"Origin": "http://other.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", webgate.Relayed: "1"} {
		if got := seen.Header.Get(name); got != want {
			t.Errorf("the master saw %s: %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(seen.RemoteAddr, "127.0.0.1:") {
		t.Errorf("the proxy came from %s", seen.RemoteAddr)
	}
}

func TestPut(t *testing.T) {
	var got string
	am := master(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)
	})
	f := start(t, strings.TrimPrefix(am.URL, "http://")) // without a scheme
	r, _ := http.NewRequest("PUT", f.url+path("/ws/v1/x"), strings.NewReader("hello"))
	r.Header.Set("Content-Type", "text/x")
	res, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got != "PUT text/x hello" {
		t.Errorf("the master saw %q (%d)", got, res.StatusCode)
	}
	r, _ = http.NewRequest("PUT", f.url+path("/"), io.LimitReader(zeros{}, maxBody+1))
	if res, err = f.client.Do(r); err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge && res.StatusCode != http.StatusBadGateway {
		t.Errorf("a body beyond the bound: %d", res.StatusCode)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestAnswersOfItsOwn: what the proxy says without asking a master.
func TestAnswersOfItsOwn(t *testing.T) {
	am := master(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	page := "/cluster/app/" + webtest.App(6).String()
	for _, c := range []struct {
		name, method, path, tracking string
		state                        yarn.ApplicationState
		header                       string
		status                       int
		location                     string // path, or the whole address if it has a scheme
	}{
		{name: "no application", path: "/proxy/", status: 404},
		{name: "bad id", path: "/proxy/bogus/", status: 400},
		{name: "unknown", path: "/proxy/application_1_0001/", status: 404},
		{name: "no address", path: path("/"), tracking: "N/A", status: 302, location: page},
		{name: "empty address", path: path(""), tracking: " ", status: 302, location: page},
		{name: "running", path: path("/"), tracking: am.URL, status: 418},
		{name: "redirect marker from elsewhere is served", path: "/proxy/redirect/application_1_0001/x", status: 302, location: "/cluster/failure/application_1_0001"},
		{name: "finished", path: path("/job?x=1"), tracking: "http://history.example:19888/h", state: yarn.AppFinished, status: 302, location: "http://history.example:19888/h/job?x=1"},
		{name: "killed", path: path("/job"), tracking: "http://history.example/", state: yarn.AppKilled, status: 302, location: page},
		{name: "post", method: "POST", path: path("/"), tracking: am.URL, status: 405},
		{name: "head", method: "HEAD", path: path("/"), tracking: am.URL, status: 418},
		{name: "head, moved", method: "HEAD", path: path("/"), tracking: "N/A", status: 302, location: page},
		{name: "options", method: "OPTIONS", path: path("/"), tracking: am.URL, status: 200},
		{name: "delete", method: "DELETE", path: path("/"), tracking: am.URL, status: 405},
		{name: "a script for an address", path: path("/"), tracking: "javascript://alert(1)", status: 502},
		{name: "a file for an address", path: path("/"), tracking: "file:///etc/passwd", status: 502},
		{name: "markup in the host", path: path("/"), tracking: "http://\"><script>alert(1)<:80/", status: 502},
		{name: "a turned host", path: path("/"), tracking: "http://moc.\u202eexample/", status: 502},
		{name: "a user in the address", path: path("/"), tracking: "http://u:p@" + strings.TrimPrefix(am.URL, "http://"), status: 502},
		{name: "another host by the path", path: path("//evil.example/"), tracking: am.URL, status: 418},
		{name: "another host by a trick", path: path("/@evil.example/"), tracking: am.URL, status: 418},
		{name: "service worker", path: path("/sw.js"), tracking: am.URL, header: "Service-Worker", status: 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, c.tracking)
			if c.state != 0 {
				f.app.State = c.state
				f.app.PublicState = map[yarn.ApplicationState]yarn.PublicState{yarn.AppFinished: yarn.PublicFinished, yarn.AppKilled: yarn.PublicKilled}[c.state]
			}
			method := c.method
			if method == "" {
				method = "GET"
			}
			var headers []string
			if c.header != "" {
				headers = []string{c.header, "1"}
			}
			res, body := f.ask(t, method, c.path, headers...)
			if res.StatusCode != c.status {
				t.Fatalf("status %d, want %d: %s", res.StatusCode, c.status, body)
			}
			want := c.location
			if strings.HasPrefix(want, "/") {
				want = "http://rm.example:8088" + want // whatever host was asked for
			}
			if got := res.Header.Get("Location"); got != want {
				t.Errorf("Location %q, want %q", got, want)
			}
		})
	}
}

// TestHostile: masters that mean harm.
func TestHostile(t *testing.T) {
	t.Run("redirect to another host is not followed", func(t *testing.T) {
		other := master(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy followed the redirect") })
		am := master(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/inner", http.StatusFound)
		})
		res, _ := start(t, am.URL).ask(t, "GET", path("/"))
		if res.StatusCode != http.StatusFound || res.Header.Get("Location") != other.URL+"/inner" {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
	})
	t.Run("endless answer", func(t *testing.T) {
		am := master(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, zeros{}) })
		f := start(t, am.URL)
		f.proxy.most = 300_000
		n, err := f.drain(t)
		if err == nil || n > 400_000 {
			t.Errorf("got %d bytes, error %v: want a cut", n, err)
		}
	})
	t.Run("endless wait", func(t *testing.T) {
		release := make(chan struct{})
		am := master(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
		defer close(release)
		f := start(t, am.URL)
		f.proxy.total = 50 * time.Millisecond
		if res, _ := f.ask(t, "GET", path("/")); res.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("status %d", res.StatusCode)
		}
	})
	for name, answer := range map[string]string{
		"not HTTP":          "SSH-2.0-OpenSSH\r\n",
		"endless headers":   "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 200) + "\r\n",
		"bad header":        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"switching":         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"two lengths":       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"closed at once":    "",
		"impossible length": "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			res, body := start(t, "http://"+raw(t, answer)).ask(t, "GET", path("/"))
			if res.StatusCode != http.StatusBadGateway {
				t.Errorf("status %d, want 502: %.200s", res.StatusCode, body)
			}
		})
	}
	t.Run("headers of the connection stay", func(t *testing.T) {
		am := raw(t, "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX A: 1\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\nok")
		res, body := start(t, "http://"+am).ask(t, "GET", path("/"))
		if res.Header.Get("X-Hop") != "" || res.Header.Get("X-Own") != "1" || len(res.Header["X A"]) > 0 || body != "ok" {
			t.Errorf("%v %q", res.Header, body)
		}
	})
	t.Run("injected text in an error is escaped", func(t *testing.T) {
		_, body := start(t, "ftp://<script>alert(1)</script>").ask(t, "GET", path("/"))
		if strings.Contains(body, "<script") {
			t.Errorf("unescaped: %s", body)
		}
	})
}

// TestLongAnswer: the limits of the port are for short answers, not for these.
func TestLongAnswer(t *testing.T) {
	am := master(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 4 {
			time.Sleep(300 * time.Millisecond)
			_, _ = io.WriteString(w, "slow ")
			_ = http.NewResponseController(w).Flush()
		}
	})
	f := start(t, am.URL)
	short := httptest.NewUnstartedServer(f.proxy)
	short.Config.ReadTimeout = time.Second // long enough for the request
	short.Start()
	defer short.Close()
	f.url = short.URL
	if res, body := f.ask(t, "GET", path("/")); res.StatusCode != http.StatusOK || body != "slow slow slow slow " {
		t.Errorf("%d %q", res.StatusCode, body)
	}
}

// drain reads an answer and tells how long it was and how it ended.
func (f *fixture) drain(t *testing.T) (int64, error) {
	t.Helper()
	res, err := f.client.Get(f.url + path("/"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	return io.Copy(io.Discard, res.Body)
}

// raw is a server that answers every connection with the same bytes.
func raw(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// TestCrowd: one application cannot take all of the proxy.
func TestCrowd(t *testing.T) {
	var g gates
	a, b := webtest.App(1), webtest.App(2)
	for i := range maxRelaysPerApp {
		if !g.enter(a) {
			t.Fatalf("relay %d was refused", i)
		}
	}
	if g.enter(a) {
		t.Error("an application got more than its share")
	}
	if !g.enter(b) {
		t.Error("another application was refused")
	}
	g.leave(a)
	if !g.enter(a) {
		t.Error("a free place was not given")
	}
}

func TestLocalAddress(t *testing.T) {
	for in, want := range map[string]string{"127.0.0.1:8088": "127.0.0.1", "0.0.0.0:8088": "<nil>"} {
		ip, err := LocalAddress(context.Background(), in)
		if err != nil || fmt.Sprint(ip) != want {
			t.Errorf("%s: %v, %v", in, ip, err)
		}
	}
	if _, err := LocalAddress(context.Background(), "nonsense"); err == nil {
		t.Error("an address without a port was taken")
	}
}

// FuzzAddress: whatever a caller puts in the path, the host stays the master's.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"a/b", "/evil.example/", "@evil", "%2e%2e/%2f", "..", "?x", "\\evil", ":80/", "#f"} {
		f.Add(s, "q=1")
	}
	f.Fuzz(func(t *testing.T, rest, query string) {
		u, err := address("http://master.example:1234/base", rest, query, "http")
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err == nil && again.Host != "master.example:1234" {
			t.Errorf("%q leads to %q", rest, again.Host)
		}
		if u.Host != "master.example:1234" || u.User != nil {
			t.Errorf("%q leads to %q", rest, u.Host)
		}
	})
}
