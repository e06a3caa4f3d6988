package web

import (
	"net/http"
	"strings"
	"testing"
)

// TestPagesChange: where no application's page is served our own pages may change things, and only those, under a name of this port's.
func TestPagesChange(t *testing.T) {
	d := open(t, func(c *Config) { c.ProxyOff, c.Hosts = true, []string{"rm.example"} })
	for _, c := range []struct {
		host    string
		headers []string
		status  int
	}{
		{"rm.example:8088", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://rm.example:8088"}, 202},
		{"rm.example:8088", []string{"Origin", "http://rm.example:8088"}, 202},
		{"127.0.0.1:8088", []string{"Origin", "http://127.0.0.1:8088"}, 202},
		{"[::1]:8088", []string{"Origin", "http://[::1]:8088"}, 202},
		{"localhost:8088", []string{"Sec-Fetch-Site", "same-origin"}, 202},
		{"rm.example:8088", nil, 202},                                                        // a program
		{"evil.example:8088", []string{"Origin", "http://evil.example:8088"}, 403},           // a name that was made to lead here
		{"evil.example:8088", []string{"Sec-Fetch-Site", "same-origin"}, 403},                //
		{"rm.example:8088", []string{"Origin", "http://rm.example:8042"}, 403},               // another port: the main one, with applications' pages
		{"rm.example:8088", []string{"Sec-Fetch-Site", "same-site"}, 403},                    //
		{"rm.example:8088", []string{"Sec-Fetch-Site", "cross-site"}, 403},                   //
		{"rm.example:8088", []string{"Origin", "null"}, 403},                                 //
		{"rm.example:8088", []string{"Origin", "http://rm.example:8088.evil.example"}, 403},  //
		{"rm.example:8088", []string{"Origin", "http://rm.example:8088", "Origin", ""}, 403}, //
	} {
		w := d.askAs(c.host, "PUT", stateOf6+"?user.name=alice", `{"state":"KILLED"}`, c.headers...)
		if w.Code != c.status {
			t.Errorf("%s %q: %d, want %d: %s", c.host, c.headers, w.Code, c.status, w.Body)
		}
	}
	if w := d.ask("PUT", stateOf6, `{"state":"KILLED"}`, "Sec-Fetch-Site", "same-origin"); w.Code != http.StatusForbidden {
		t.Errorf("by nobody: %d", w.Code)
	}
}

// TestWindow: the web interface is there, is not among what can be changed, and says from where things can be.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		own  bool
		want string
	}{{false, `"changes":false,"changesAt":"http://rm.example:8089"`}, {true, `"changes":true}`}} {
		d := open(t, func(k *Config) { k.ProxyOff, k.ChangesAt = c.own, "http://rm.example:8089" })
		if w := d.ask("GET", "/ws/v1/cluster/session?user.name=alice", ""); !strings.Contains(w.Body.String(), `"user":"alice","anonymous":false,`+c.want) {
			t.Errorf("session: %s", w.Body)
		}
		for _, path := range []string{"/ui", "/ui/", "/ui/nodes/a:1"} {
			w := d.ask("GET", path, "")
			if w.Code != 200 || !strings.Contains(w.Body.String(), `id="root"`) || w.Header().Get("Pragma") != "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s: %d %v", path, w.Code, w.Header())
			}
		}
	}
}
