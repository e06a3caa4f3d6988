package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/client"
)

// forger asks the web ports in the name of pages and masters that mean harm.
type forger struct {
	*arena
	get                    *http.Client
	tried, refused, passed int
	example                string // of what passed
}

// forged lets a master register the daemons' own ports under every name of this host as its pages, and pages of other sites and of
// applications ask for changes; then hosts × methods × headers at random. Nothing of it may reach a daemon; masters must.
func forged(a *arena) {
	rm := a.resourceManager(nil)
	nm := a.nodeManager(rm, "nm", nil)
	web := "http://" + rm.address[webPort]
	f := &forger{arena: a, get: &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	a.until(started, func() bool {
		return strings.Contains(f.ask("GET", web+"/ws/v1/cluster/nodes", "").body, `"state":"RUNNING"`)
	})
	_, victim := a.unmanaged(rm, "victim", client.Submission{Name: "victim"})
	hostile, bad := a.unmanaged(rm, "mallory", client.Submission{Name: "hostile"})
	_, err := hostile.Register(a.ctx, "localhost", -1, "")
	a.must(err)

	kill := "/ws/v1/cluster/apps/" + victim.String() + "/state?user.name=root"
	pages := func(url string) {
		hostile.SetTrackingURL(url)
		_, err := hostile.Allocate(a.ctx, 0)
		a.must(err)
		known := a.until(5*time.Second, func() bool {
			var got struct{ App struct{ TrackingURL string } }
			return json.Unmarshal([]byte(f.ask("GET", web+"/ws/v1/cluster/apps/"+bad.String(), "").body), &got) == nil && got.App.TrackingURL == url
		})
		if !known {
			a.must(fmt.Errorf("the tracking address %q is not taken", url))
		}
	}
	proxied := web + "/proxy/" + bad.String()
	daemons := []*daemon{rm, nm}
	var ports []string
	for _, d := range daemons {
		for _, at := range d.address {
			if _, port, err := net.SplitHostPort(at); err == nil && at != nm.address[localizerPort] && (d == nm || !slices.Contains(ports, port)) {
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	ports = slices.Compact(ports)

	hosts := localNames(a)
	for i, host := range hosts {
		for _, port := range pick(a, ports, ports[i%len(ports):i%len(ports)+1]) {
			pages("http://" + host + ":" + port)
			f.shut(f.ask("PUT", proxied+kill, `{"state":"KILLED"}`), host+":"+port)
			f.shut(f.ask("GET", proxied+"/ws/v1/node", ""), host+":"+port)
		}
	}
	_, webOnly, _ := net.SplitHostPort(rm.address[webPort])
	for _, url := range []string{"http://127.0.0.1:" + webOnly + kill, "http://127.0.0.1:" + webOnly + "/proxy/" + bad.String(), "127.0.0.1:" + webOnly, " http://127.0.0.1:" + webOnly + "#",
		"http://127.0.0.1:" + webOnly + "/?x=", "HTTP://127.0.0.1:" + webOnly} {
		pages(url)
		f.shut(f.ask("PUT", proxied+kill, `{"state":"KILLED"}`), url)
	}
	f.pagesOfOthers(web, kill, proxied)
	f.atRandom(web, kill, proxied, ports, pages)
	f.alive(web, victim.String(), "")
	a.figure("forged requests tried", float64(f.tried), "")
	a.figure("forged requests refused", float64(f.refused), "")
	a.figure("forged requests passed", float64(f.passed), "")
	a.check(f.passed == 0, "no forged request passes", "%d of %d: %s", f.passed, f.tried, f.example)
	f.mastersAreServed(proxied, pages)

	// Who is no browser is served as ever.
	_, own := a.unmanaged(rm, "owner", client.Submission{Name: "own"})
	got := f.ask("PUT", web+"/ws/v1/cluster/apps/"+own.String()+"/state?user.name=owner", `{"state":"KILLED"}`)
	a.check(got.status == http.StatusOK || got.status == http.StatusAccepted, "a program kills its user's application", "%d %s", got.status, got.body)
}

// localNames are names of this machine, as an attacker would spell them.
func localNames(a *arena) []string {
	list := []string{"127.0.0.1", "localhost", "LocalHost", "localhost.", "127.0.0.2", "127.255.255.254", "0.0.0.0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.9]", "2130706433", "0177.0.0.1", "127.1", "127.000.000.001", "%31%32%37.0.0.1"}
	if name, err := os.Hostname(); err == nil {
		list = append(list, name, strings.ToUpper(name))
	}
	mine, err := net.InterfaceAddrs()
	a.must(err)
	for _, m := range mine {
		if n, ok := m.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().Is4() {
				list = append(list, ip.Unmap().String(), "[::ffff:"+ip.Unmap().String()+"]")
			}
		}
	}
	return list
}

// reply is what came back.
type reply struct {
	status   int
	body, to string
	err      error
}

// ask sends a request with headers name, value, name, value ….
func (f *forger) ask(method, url, body string, headers ...string) reply {
	r, err := http.NewRequestWithContext(f.ctx, method, url, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := f.get.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return reply{res.StatusCode, string(b), res.Header.Get("Location"), err}
}

// shut counts a request that must not have reached a daemon or changed anything.
func (f *forger) shut(r reply, what string) {
	f.tried++
	switch {
	case r.status == http.StatusForbidden, r.status == http.StatusMethodNotAllowed, r.status == http.StatusLoopDetected,
		r.status == http.StatusBadGateway && !strings.Contains(r.body, "malformed"):
		f.refused++
	default: // a daemon's own answer, also that it has no such page, or what an RPC port says to HTTP
		f.passed++
		f.example = fmt.Sprintf("%s: %d to %q %.100q %v", what, r.status, r.to, r.body, r.err)
	}
}

// forgedHeaders are those that browsers send for pages of others.
var forgedHeaders = [][]string{
	{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "Same-Origin "}, {"Sec-Fetch-Site", "cross-site", "Origin", "null"},
	{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "https://127.0.0.1"}, {"Origin", "file://"}, {"Origin", "http://127.0.0.1:1"},
	{"Origin", "http://evil.example", "Referer", "http://127.0.0.1/cluster"},
}

// pagesOfOthers asks for changes as pages of other sites, and pages of applications, do.
func (f *forger) pagesOfOthers(web, kill, proxied string) {
	for _, headers := range forgedHeaders {
		for _, url := range []string{web + kill, proxied + kill, web + "/ws/v1/cluster/apps/new-application?user.name=root", web + "/jmx?user.name=root", web + "/static/heddle.css?user.name=root"} {
			for _, method := range []string{"PUT", "POST", "DELETE"} {
				f.shut(f.ask(method, url, `{"state":"KILLED"}`, headers...), fmt.Sprint(method, url, headers))
			}
		}
	}
	for _, page := range []string{"", proxied + "/", web + "/cluster"} { // a script of an application's page says what it wants
		for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin", "Referer", page}, {"Origin", web, "Referer", page}} {
			f.shut(f.ask("PUT", web+kill, `{"state":"KILLED"}`, headers...), fmt.Sprint(headers))
		}
	}
	for _, path := range []string{"/proxy/application_1_0001/", "/proxy/redirect/application_1_0001/x", "/"} {
		got := f.ask("GET", web+path, "", "Host", "evil.example")
		f.check(!strings.Contains(got.to, "evil"), "a redirect goes by no Host header", "%s leads to %q", path, got.to)
	}
}

// atRandom plays hosts × methods × headers.
func (f *forger) atRandom(web, kill, proxied string, ports []string, pages func(string)) {
	r := f.random
	spell := []func(netip.Addr) string{
		func(a netip.Addr) string { return a.String() },
		func(a netip.Addr) string { return "[::ffff:" + a.String() + "]" },
		func(a netip.Addr) string {
			b := a.As4()
			return fmt.Sprintf("[0:0::ffff:%x:%X]", uint16(b[0])<<8|uint16(b[1]), uint16(b[2])<<8|uint16(b[3]))
		},
		func(a netip.Addr) string { return "x@" + a.String() },
		func(a netip.Addr) string {
			b := a.As4()
			return fmt.Sprint(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
		},
		func(netip.Addr) string { return randomCase(f, "localhost") + strings.Repeat(".", r.IntN(2)) },
	}
	begun := time.Now()
	for n := 0; n < pick(f.arena, 600, 60) && time.Since(begun) < 2*time.Minute; n++ {
		host := spell[r.IntN(len(spell))](netip.AddrFrom4([4]byte{127, byte(r.IntN(256)), byte(r.IntN(256)), byte(1 + r.IntN(254))}))
		port := ports[r.IntN(len(ports))]
		pages([]string{"http://", "HTTP://", ""}[r.IntN(3)] + host + ":" + port + []string{"", "/", "/proxy", "/?user.name=root&x="}[r.IntN(4)])
		var headers []string
		if r.IntN(2) == 0 {
			headers = append(headers, forgedHeaders[r.IntN(len(forgedHeaders))]...)
		}
		for _, h := range []string{"X-Forwarded-Host", "X-Forwarded-For", "Forwarded", "X-HTTP-Method-Override", "X-Requested-By", "X-XSRF-HEADER"} {
			if r.IntN(4) == 0 {
				headers = append(headers, h, []string{"127.0.0.1", "PUT", "null", ""}[r.IntN(4)])
			}
		}
		method := []string{"PUT", "PUT", "GET", "POST", "DELETE"}[r.IntN(5)]
		f.shut(f.ask(method, proxied+kill, `{"state":"KILLED"}`, headers...), fmt.Sprint(method, " ", host, ":", port, headers))
		forging := forgedHeaders[r.IntN(len(forgedHeaders))]
		method = []string{"PUT", "POST", "DELETE"}[r.IntN(3)]
		f.shut(f.ask(method, web+kill, `{"state":"KILLED"}`, append(headers, forging...)...), fmt.Sprint(method, headers, forging))
	}
}

func randomCase(f *forger, s string) string {
	b := []byte(s)
	for i := range b {
		if f.random.IntN(2) == 0 {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

func (f *forger) alive(web, app, after string) {
	got := f.ask("GET", web+"/ws/v1/cluster/apps/"+app+"/state", "")
	f.check(strings.Contains(got.body, `"ACCEPTED"`) || strings.Contains(got.body, `"RUNNING"`), "the victim lives"+after, "%s", got.body)
}

// mastersAreServed: a master on this very host, on a port of its own, gets what its users and its own pages ask.
func (f *forger) mastersAreServed(proxied string, pages func(string)) {
	var reached atomic.Int32
	var site atomic.Value
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		site.Store(r.Header.Get("Sec-Fetch-Site") + " " + r.Header.Get("Origin"))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer master.Close()
	_, port, _ := net.SplitHostPort(master.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost"} {
		pages("http://" + host + ":" + port + "/base")
		for _, c := range []struct {
			what, method string
			headers      []string
			status       int
		}{
			{"a user's GET", "GET", nil, http.StatusTeapot},
			{"a program's PUT", "PUT", nil, http.StatusTeapot},
			{"a PUT of its own page", "PUT", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusTeapot},
			{"a link on another site", "GET", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusTeapot},
			{"a PUT of another site", "PUT", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
			{"a PUT of a page that hides its origin", "PUT", []string{"Origin", "null"}, http.StatusForbidden},
		} {
			before := reached.Load()
			got := f.ask(c.method, proxied+"/x?user.name=alice", "", c.headers...)
			f.check(got.status == c.status && (reached.Load() > before) == (c.status == http.StatusTeapot), fmt.Sprintf("%s to a master gets %d", c.what, c.status), "%d %s %v", got.status, strings.TrimSpace(got.body), got.err)
			if c.status == http.StatusTeapot && len(c.headers) > 0 {
				f.check(site.Load() == c.headers[1]+" ", "the master hears which page asks", "%q", site.Load())
			}
		}
	}
}
