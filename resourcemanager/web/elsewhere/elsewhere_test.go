package elsewhere

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func answer(t *testing.T, active, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	h := New(Config{Standby: func() bool { return true }, Active: func(context.Context) string { return active }, Connection: func() string { return "DISCONNECTED" }, Self: "http://self:1"},
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

func TestRedirects(t *testing.T) {
	for _, c := range []struct{ method, target, location, text string }{
		{"GET", "/cluster", "http://active:2/cluster", "/cluster"},
		{"GET", "/", "http://active:2/", "/"},
		{"POST", "/ws/v1/cluster/apps?user.name=a", "http://active:2/ws/v1/cluster/apps?user.name=a", "/ws/v1/cluster/apps?user.name=a"},
		{"GET", "/ws/v1/cluster/info/", "http://active:2/ws/v1/cluster/info/", "/ws/v1/cluster/info/"},
		{"GET", "/cluster/apps?b=a%20b&a=&b", "http://active:2/cluster/apps?b=a+b&a=&b", "/cluster/apps?b=a+b&amp;a=&amp;b"},
		{"GET", "/proxy/application_1_0001/x%2Fy?%0d%0aX: y", "http://active:2/proxy/application_1_0001/x%2Fy?%0D%0AX%3A+y", "/proxy/application_1_0001/x%2Fy?%0D%0AX%3A+y"},
		{"GET", "//elsewhere.example/", "http://active:2//elsewhere.example/", "//elsewhere.example/"},
		{"PUT", "/nothing", "http://active:2/nothing", "/nothing"},
	} {
		w := answer(t, "http://active:2", c.method, strings.Replace(c.target, "X: y", "X:%20y", 1))
		if w.Code != 307 || w.Header().Get("Location") != c.location || w.Body.String() != "This is standby RM. The redirect url is: "+c.text+"\n" {
			t.Errorf("%s: %d %v %q", c.target, w.Code, w.Header(), w.Body)
		}
	}
	for _, path := range append(slices.Collect(maps.Keys(own)), "/static/heddle.css", "/logs/", "/logs/resourcemanager.log") {
		if w := answer(t, "http://active:2", "GET", path); w.Code != http.StatusTeapot {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestNoActive(t *testing.T) {
	for _, c := range []struct{ target, url string }{
		{"/cluster?x=1", "http://self:1/cluster?x=1&next.refresh.interval=1"},
		{"/cluster?next.refresh.interval=2&x=1", "http://self:1/cluster?next.refresh.interval=3&x=1"},
		{"/cluster?next.refresh.interval=x", ""}, {"/cluster?next.refresh.interval=-1", ""}, {"/cluster?next.refresh.interval=8", ""}, {"/cluster?next.refresh.interval=99", ""},
	} {
		w := answer(t, "", "GET", c.target)
		refresh, body := w.Header().Get("Refresh"), w.Body.String()
		if c.url == "" {
			if w.Code != 200 || refresh != "" || body != "There is no active RM right now.\nHA Zookeeper Connection State: DISCONNECTED\n" {
				t.Errorf("%s: %d %s %q", c.target, w.Code, refresh, body)
			}
			continue
		}
		pause, to, _ := strings.Cut(refresh, ";url=")
		if w.Code != 307 || to != c.url || !regexp.MustCompile(`^Can not find any active RM\. Will retry in next `+pause+` seconds\.\nHA Zookeeper Connection State: DISCONNECTED\n$`).MatchString(body) {
			t.Errorf("%s: %d %q %q", c.target, w.Code, refresh, body)
		}
	}
}
