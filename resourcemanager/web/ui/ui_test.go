package ui

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

func serve(s access.Source, filter bool) http.Handler {
	mux := http.NewServeMux()
	for _, r := range Routes(Config{Source: s, Links: access.Links{Scheme: "http", Address: "rm.example:8088"}, Version: "3.5.0", FilterByUser: filter,
		Now: func() time.Time { return time.UnixMilli(webtest.Moment) }, Problems: problems().Problems}) {
		mux.HandleFunc("GET "+r.Pattern, r.Handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(webgate.WithCaller(context.Background(), webgate.Caller{User: "alice"})))
	})
}

// problems has a warning and an error of a hostile text; alice administers.
func problems() introspect.Config {
	log := slog.New(logs.New(io.Discard, slog.LevelInfo))
	log.Warn("a node is late", "node", "a:1")
	log.With("logger", "web").Error("cannot read", "name", "<script>alert(1)</script>")
	return introspect.Config{Log: log, Admin: func(c webgate.Caller) bool { return c.User == "alice" }}
}

// TestLogsPage: how far each node is, and what it said.
func TestLogsPage(t *testing.T) {
	h := serve(webtest.New(), false)
	body := strings.ReplaceAll(get(h, "/cluster/logaggregationstatus/"+webtest.App(6).String()).Body.String(), "<wbr>", "")
	for _, want := range []string{`<th scope="row">localhost:22717</th><td>SUCCEEDED</td><td class="text">N/A</td>`,
		`<th scope="row">localhost:26839</th><td>FAILED</td><td class="text">no room for &lt;b&gt;logs&lt;/b&gt;<br>still none<br></td>`, `<h2>Log Aggregation: `} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	if link := `<a href="/cluster/logaggregationstatus/` + webtest.App(6).String() + `">`; !strings.Contains(get(h, "/cluster/app/"+webtest.App(6).String()).Body.String(), link) {
		t.Errorf("the application's page lacks the link %s", link)
	}
	for path, want := range map[string]int{"nonsense": 400, "application_1_0001": 404} {
		if got := get(h, "/cluster/logaggregationstatus/"+path).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// TestProblemsPage: counts and messages, for administrators alone.
func TestProblemsPage(t *testing.T) {
	h := serve(webtest.New(), false)
	body := get(h, "/cluster/errors-and-warnings?cutoff=300").Body.String()
	for _, want := range []string{`<th scope="row">Errors</th><td>1</td>`, `<th scope="row">Warnings</th><td>1</td>`, `<h2>Messages of the last 5 minutes</h2>`,
		`<td class="text">yarn: a node is late node=a:1</td><td>Warning</td><td>1</td>`, `name=&lt;script&gt;alert(1)&lt;/script&gt;</td><td>Error</td><td>1</td>`,
		`<a href="?cutoff=86400">Last 24 hours</a>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	if body := get(h, "/cluster/errors-and-warnings?cutoff=-1").Body.String(); !strings.Contains(body, "Messages of the last 24 hours") {
		t.Errorf("a time that is none:\n%s", body)
	}
	for _, caller := range []webgate.Caller{{User: "bob"}, {User: "alice", Anonymous: true}} {
		r := httptest.NewRequest("GET", "/cluster/errors-and-warnings", nil)
		if _, err := problems().Problems(r.WithContext(webgate.WithCaller(t.Context(), caller))); answer.KindOf(err) != answer.Forbidden {
			t.Errorf("%+v: %v", caller, err)
		}
	}
}

func get(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}

var allPages = []string{"/cluster", "/cluster/cluster", "/cluster/apps", "/cluster/apps/ACCEPTED", "/cluster/app/" + webtest.App(8).String(),
	"/cluster/app/" + webtest.App(6).String(), "/cluster/appattempt/appattempt_1795305251364_0006_000001",
	"/cluster/container/container_1795305251364_0006_01_000001", "/cluster/nodes", "/cluster/nodes/RUNNING", "/cluster/nodelabels", "/cluster/drains", "/cluster/errors-and-warnings",
	"/cluster/logaggregationstatus/" + webtest.App(6).String(),
	"/cluster/scheduler", "/cluster/scheduler?queue=root.dev", "/cluster/failure/" + webtest.App(6).String()}

// TestPages: every page is whole, says what it is, and allows no script.
func TestPages(t *testing.T) {
	h := serve(webtest.New(), false)
	for _, path := range allPages {
		w := get(h, path)
		body := w.Body.String()
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		for _, must := range []string{"<!DOCTYPE html>", `lang="en"`, "<h1>", "<main", `<nav aria-label="Cluster">`, "</html>"} {
			if !strings.Contains(body, must) {
				t.Errorf("%s lacks %s", path, must)
			}
		}
		for _, never := range []string{"<script", "javascript:", " style=", "onclick", "ZgotmplZ", "<no value>", "%!"} {
			if strings.Contains(body, never) {
				t.Errorf("%s has %s", path, never)
			}
		}
		balanced(t, path, body)
		accessible(t, path, body)
	}
}

// TestLabelsPage: every partition is there, with its nodes, which are one click away.
func TestLabelsPage(t *testing.T) {
	s := webtest.New()
	n := *s.Picture.Nodes[1]
	n.Labels = []string{"gpu"}
	s.Picture.Nodes[1] = &n
	s.Picture.Labels = &view.Labels{Known: []view.Label{{Name: "gpu", Exclusive: true}, {Name: "ssd"}}}
	h := serve(s, false)
	body := get(h, "/cluster/nodelabels").Body.String()
	for _, want := range []string{"Label Type", `<th scope="row">&lt;DEFAULT_PARTITION&gt;</th><td>Exclusive Partition</td><td><a href="/cluster/nodes/RUNNING?node.label=">1</a></td><td>`,
		`<th scope="row">gpu</th><td>Exclusive Partition</td><td><a href="/cluster/nodes/RUNNING?node.label=gpu">1</a></td><td>&lt;memory:4096, vCores:4&gt;</td>`,
		`<th scope="row">ssd</th><td>Non Exclusive Partition</td><td>0</td><td>&lt;memory:0, vCores:0&gt;</td>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	first, second := s.Picture.Nodes[0].ID.String(), n.ID.String()
	for path, want := range map[string][2]bool{"/cluster/nodes?node.label=gpu": {false, true}, "/cluster/nodes?node.label=": {true, false}, "/cluster/nodes": {true, true}} {
		body := strings.ReplaceAll(get(h, path).Body.String(), "<wbr>", "")
		if got := [2]bool{strings.Contains(body, first), strings.Contains(body, second)}; got != want {
			t.Errorf("%s shows %v, want %v", path, got, want)
		}
	}
}

// balanced reads the page as if it were XML: tags that do not match show.
func balanced(t *testing.T, path, body string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
	}
}

var (
	cells     = regexp.MustCompile(`<th[ >]`)
	scopes    = regexp.MustCompile(`<th scope="(col|row)"`)
	inputs    = regexp.MustCompile(`<input name`)
	labelled  = regexp.MustCompile(`<label>[^<]*<input`)
	emptyLink = regexp.MustCompile(`<a [^>]*>\s*</a>`)
)

// accessible checks what a machine can of headings, tables and forms.
func accessible(t *testing.T, path, body string) {
	t.Helper()
	if strings.Count(body, "<h1>") != 1 {
		t.Errorf("%s: %d first headings", path, strings.Count(body, "<h1>"))
	}
	if a, b := len(cells.FindAllString(body, -1)), len(scopes.FindAllString(body, -1)); a != b {
		t.Errorf("%s: %d headings of tables, %d with a scope", path, a, b)
	}
	if a, b := strings.Count(body, "<table"), strings.Count(body, "<caption"); a != b {
		t.Errorf("%s: %d tables, %d captions", path, a, b)
	}
	if a, b := len(inputs.FindAllString(body, -1)), len(labelled.FindAllString(body, -1)); a != b {
		t.Errorf("%s: %d inputs, %d labels", path, a, b)
	}
	if m := emptyLink.FindString(body); m != "" {
		t.Errorf("%s: an empty link %s", path, m)
	}
}

func TestWhy(t *testing.T) {
	h := serve(webtest.New(), false)
	body := get(h, "/cluster/app/"+webtest.App(8).String()).Body.String()
	why, overview := strings.Index(body, "the masters of root.dev may take"), strings.Index(body, "Application Overview")
	if why < 0 || why > overview {
		t.Errorf("why it waits is at %d, the overview at %d", why, overview)
	}
	if strings.Contains(get(h, "/cluster/app/"+webtest.App(6).String()).Body.String(), "Why it waits") {
		t.Error("an application that runs is said to wait")
	}
}

// TestTaken: the page of an application says what was preempted for it and from it, and its page alone does.
func TestTaken(t *testing.T) {
	s := webtest.New()
	taken := yarn.ContainerID{Attempt: yarn.AttemptID{Application: webtest.App(6), Attempt: 1}, Number: 2}
	s.Taken = []view.Preemption{{At: 5000, Event: view.Preempted, Container: taken, Queue: "root.dev", Resource: yarn.NewResource(1024, 1), Age: 4000, Rule: "guarantee",
		ForQueue: "root.prod", ForApp: webtest.App(8)}}
	h := serve(s, false)
	for app, want := range map[int32]string{
		6: "was preempted for " + webtest.App(8).String() + " in queue root.prod (guarantee), after 4s: 4096 MB-seconds and 4 vcore-seconds lost</li>",
		8: "1970-01-01T00:00:05Z " + taken.String() + " in queue root.dev was preempted for this application (guarantee)",
	} {
		if body := get(h, "/cluster/app/"+webtest.App(app).String()).Body.String(); !strings.Contains(body, want) {
			t.Errorf("application %d: no %q in\n%s", app, want, body)
		} else {
			balanced(t, "app", body)
			accessible(t, "app", body)
		}
	}
	s.Taken = nil
	if strings.Contains(get(h, "/cluster/app/"+webtest.App(6).String()).Body.String(), "<h2>Preemption</h2>") {
		t.Error("nothing was taken, and it has a heading")
	}
}

// TestHostileTexts puts markup wherever applications and nodes can put text.
func TestHostileTexts(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>` + "\x1b]0;x\a\u009b\u202e\u2066\U000e0041\x7f\r!"
	s := webtest.New()
	for _, a := range s.Picture.Applications {
		a.Name, a.User, a.Type, a.Tags, a.Queue, a.Diagnostics, a.Label, a.AMLabel, s.Waiting[a.ID] = evil, evil, evil, []string{evil}, evil, evil, evil, evil, evil
		for i := range a.Requests {
			a.Requests[i].Where, a.Requests[i].Label = evil, evil
		}
		for _, at := range a.Attempts {
			at.Diagnostics, at.NodeHTTPAddress, at.OriginalTrackingURL, at.Blacklisted = evil, evil, "javascript:alert(1)", []string{evil}
			a.Unmanaged = true
		}
		if live := s.Live[a.ID]; live != nil {
			for _, c := range live.List {
				c.NodeHTTPAddress, c.User, c.Label = evil, evil, evil
			}
		}
	}
	for _, n := range s.Picture.Nodes {
		n.Rack, n.HealthReport, n.Version, n.HTTPAddress, n.Labels, n.LostReason = evil, evil, evil, evil, []string{evil}, evil
	}
	for i := range s.Tree.Queues {
		s.Tree.Queues[i].Capacity.OrderingPolicy, s.Tree.Queues[i].DefaultLabel = evil, evil
		for j := range s.Tree.Queues[i].Capacity.Users {
			s.Tree.Queues[i].Capacity.Users[j].Name = evil
		}
	}
	s.Self.Store, s.Self.Connection, s.Self.Scheduler = evil, evil, evil
	h := serve(s, false)
	for _, path := range append(allPages, "/cluster/apps?user=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&queue=%22%3E%3Cscript%3E&name=%22%3E%3Cscript%3E",
		"/cluster/scheduler?queue=%22%3E%3Cscript%3E", "/cluster/apps/%3Cscript%3E", "/cluster/nodes/%3Cscript%3E", "/cluster/app/%3Cscript%3E",
		"/cluster/failure/%3Cscript%3E", "/cluster/appattempt/%3Cscript%3E", "/cluster/container/%3Cscript%3E") {
		body := get(h, path).Body.String()
		for _, never := range []string{"<script", "<img", `href="javascript:`, "onerror=alert(1)>"} {
			if strings.Contains(body, never) {
				at := strings.Index(body, never)
				t.Errorf("%s has %s: …%s", path, never, body[max(0, at-80):min(len(body), at+80)])
			}
		}
		if at := strings.IndexFunc(body, hidden); at >= 0 {
			t.Errorf("%s has %q", path, body[max(0, at-80):min(len(body), at+80)])
		}
		balanced(t, path, body)
	}
}

// hidden tells what no page has.
func hidden(r rune) bool { return r != '\n' && r != '\t' && visible.Hides(r) }

func TestPaging(t *testing.T) {
	s := webtest.New()
	first := s.Picture.Applications[0]
	s.Picture.Applications = nil
	for i := range 250 {
		a := *first
		a.ID = webtest.App(int32(i + 1))
		s.Picture.Applications = append(s.Picture.Applications, &a)
	}
	h := serve(s, false)
	for query, want := range map[string]struct {
		first, last int32
		text        string
	}{
		"":                   {250, 151, "Showing 1 to 100 of 250 entries"},
		"?page=2":            {150, 51, "Showing 101 to 200 of 250 entries"},
		"?page=3":            {50, 1, "Showing 201 to 250 of 250 entries"},
		"?page=99":           {50, 1, "Showing 201 to 250 of 250 entries"},
		"?page=-1":           {250, 151, "Showing 1 to 100 of 250 entries"},
		"?page=x&user=alice": {250, 151, `<a href="/cluster/apps?page=2&amp;user=alice" rel="next">`},
	} {
		body := get(h, "/cluster/apps"+query).Body.String()
		if !strings.Contains(body, want.text) || !strings.Contains(body, webtest.App(want.first).String()) || !strings.Contains(body, webtest.App(want.last).String()) {
			t.Errorf("%s: no %q", query, want.text)
		}
		if n := strings.Count(body, `<th scope="row">`); n > rowsPerPage {
			t.Errorf("%s: %d rows", query, n)
		}
	}
	if body := get(h, "/cluster/apps?user=nobody").Body.String(); !strings.Contains(body, "No entries") {
		t.Error("an empty list does not say so")
	}
}

func TestRefusals(t *testing.T) {
	s := webtest.New()
	s.Denied = map[string]bool{"alice": true}
	h := serve(s, false)
	for path, want := range map[string]int{
		"/cluster/app/bogus":                                        400,
		"/cluster/app/application_1_0001":                           404,
		"/cluster/apps/NOSUCH":                                      404,
		"/cluster/nodes/NOSUCH":                                     404,
		"/cluster/appattempt/x":                                     400,
		"/cluster/container/x":                                      400,
		"/cluster/appattempt/appattempt_1795305251364_0004_000001":  403,
		"/cluster/container/container_1795305251364_0004_01_000001": 403,
		"/cluster/appattempt/appattempt_1795305251364_0006_000009":  404,
		"/cluster/container/container_1795305251364_0006_01_000099": 404,
		"/cluster/app/" + webtest.App(4).String():                   200,
	} {
		if w := get(h, path); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	body := get(h, "/cluster/app/"+webtest.App(4).String()).Body.String()
	if strings.Contains(body, "was killed by user root") || !strings.Contains(body, "not yours to see") {
		t.Error("diagnostics are shown to one who may not see them")
	}
	if body := get(serve(s, true), "/cluster/apps").Body.String(); strings.Contains(body, webtest.App(4).String()) || !strings.Contains(body, webtest.App(6).String()) {
		t.Error("the list is not filtered by user")
	}
}

func TestQueueBars(t *testing.T) {
	body := get(serve(webtest.New(), false), "/cluster/scheduler").Body.String()
	for _, want := range []string{
		`aria-label="of the cluster: capacity 10.0%, used 15.6%, at most 76.0%"`,
		`<rect class="used" y="3" width="10.00%" height="10"/><rect class="over" x="10.00%" y="3" width="5.60%" height="10"/>`,
		"Num Schedulable Applications", "Absolute Configured Max Capacity", "User Name", "15.6% of the cluster</span>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestBounds: a huge or circular tree ends.
func TestBounds(t *testing.T) {
	s := webtest.New()
	s.Tree.Queues[0].Children = []string{"root", "root"}
	w := get(serve(s, false), "/cluster/scheduler")
	if n := strings.Count(w.Body.String(), `<details class="queue"`); w.Code != http.StatusOK || n > maxQueues {
		t.Errorf("%d, %d queues", w.Code, n)
	}
}

func TestTexts(t *testing.T) {
	for want, got := range map[string]string{
		"0 MB": pages.Memory(0), "512 MB": pages.Memory(512), "2.75 GB": pages.Memory(2816), "1 TB": pages.Memory(1 << 20),
		"N/A": pages.When(0), "1m0s": lasted(1000, 61_000, 0), "2s": lasted(1000, 0, 3000), "0s": lasted(5000, 1000, 0),
		"": web("javascript:alert(1)"), "https://x": web("https://x"),
	} {
		if want != got {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := amount(yarn.ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}, {Name: "gpu"}}, yarn.Resource{2048, 3, 1}); got != "<memory:2 GB, vCores:3, gpu: 1>" {
		t.Error(got)
	}
	if got := fmt.Sprint(pageOf("/x", nil, 0)); got == "" {
		t.Error("no page")
	}
}
