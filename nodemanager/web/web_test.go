package web

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/introspect"
	daemonlog "github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/logs"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// source serves fixed values.
type source struct {
	node         view.Node
	applications []view.Application
	containers   []view.Container
	metrics      view.Metrics
	denied       string // who may view nothing
	read         []string
}

func (s *source) ReadLogs(c webgate.Caller, id yarn.ContainerID, err error) {
	s.read = append(s.read, fmt.Sprintf("%s %s refused=%t", c.User, id, err != nil))
}

func (s *source) Node() view.Node                  { return s.node }
func (s *source) Applications() []view.Application { return s.applications }
func (s *source) Containers() []view.Container     { return s.containers }
func (s *source) Metrics() view.Metrics            { return s.metrics }

func (s *source) Application(id yarn.ApplicationID) (view.Application, bool) {
	i := slices.IndexFunc(s.applications, func(a view.Application) bool { return a.ID == id })
	if i < 0 {
		return view.Application{}, false
	}
	return s.applications[i], true
}

func (s *source) Container(id yarn.ContainerID) (view.Container, bool) {
	i := slices.IndexFunc(s.containers, func(c view.Container) bool { return c.ID == id })
	if i < 0 {
		return view.Container{}, false
	}
	return s.containers[i], true
}

func (s *source) MayView(c webgate.Caller, _ view.Application) bool { return c.User != s.denied }

func container(text string) yarn.ContainerID {
	id, err := yarn.ParseContainerID(text)
	if err != nil {
		panic(err)
	}
	return id
}

// The recorded node, its application and their containers.
var (
	first  = container("container_1795331845708_0001_01_000001")
	second = container("container_1795331845708_0001_01_000002")
)

func recordedSource() *source {
	return &source{
		node: view.Node{ID: yarn.NodeID{Host: "localhost", Port: 28436}, Started: 1795331804630, Healthy: true, Checked: 1795331932623,
			Offered: yarn.NewResource(4096, 4), Types: yarn.BasicResourceTypes(), VirtualMB: 8601, PhysicalCheck: true},
		applications: []view.Application{{ID: first.Attempt.Application, User: "alice", State: "RUNNING", Containers: []yarn.ContainerID{first, second}}},
		containers: []view.Container{
			{ID: first, User: "alice", State: "RUNNING", Exit: view.NotExited, Resource: yarn.NewResource(512, 1)},
			{ID: second, User: "alice", State: "RUNNING", Exit: view.NotExited, Resource: yarn.NewResource(256, 1)},
		},
	}
}

// port is a whole port for tests.
type port struct {
	http.Handler
	source *source
	dir    string // the log directory
	config Config
}

func open(t *testing.T, change func(*Config, *source)) *port {
	t.Helper()
	p := &port{source: recordedSource(), dir: t.TempDir()}
	c := Config{
		Source: p.source, Logs: &logs.Files{Dirs: func() []string { return []string{p.dir} }}, ResourceManager: "http://rm:8088",
		Version: Version{"3.5.0", "a build", "a date"},
		Introspection: introspect.Config{Properties: func() []introspect.Property { return nil },
			Admin: func(c webgate.Caller) bool { return c.User == "admin" }, Log: slog.New(daemonlog.New(io.Discard, slog.LevelInfo))},
	}
	if change != nil {
		change(&c, p.source)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.Handler, p.config = h, c
	return p
}

// write makes a log file.
func (p *port) write(t *testing.T, id yarn.ContainerID, name, text string) {
	t.Helper()
	dir := filepath.Join(p.dir, id.Attempt.Application.String(), id.String())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.UnixMilli(modified)); err != nil {
		t.Fatal(err)
	}
}

const modified = 1795331928000

func (p *port) get(target, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "127.0.0.1:11670"
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// numbers are the lines that the recorded container printed.
func numbers() string {
	var b strings.Builder
	b.WriteString("out line\n")
	for i := range 2000 {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// recordedLogs makes files with the recorded names and sizes.
func (p *port) recordedLogs(t *testing.T) {
	for name, size := range map[string]int{"directory.info": 1383, "launch_container.sh": 3521, "prelaunch.err": 0, "prelaunch.out": 100} {
		p.write(t, first, name, "")
		p.write(t, second, name, strings.Repeat("x", size))
	}
	p.write(t, first, "AppMaster.stdout", "")
	p.write(t, first, "AppMaster.stderr", "")
	p.write(t, second, "stderr", "err <b>&amp; line\n")
	p.write(t, second, "stdout", numbers())
}

// What is masked: the software's build and the time of the zone that the test runs in.
var masks = map[*regexp.Regexp]string{
	regexp.MustCompile(`"(\w+BuildVersion|\w+VersionBuiltOn)":"[^"]*"`):             `"$1":"~"`,
	regexp.MustCompile(`<(\w+BuildVersion|\w+VersionBuiltOn)>[^<]*<`):               `<$1>~<`,
	regexp.MustCompile(`(LogLastModifiedTime:|lastModifiedTime(">|>|":"))[^"<\n]*`): `$1~`,
}

func masked(s string) string {
	for re, by := range masks {
		s = re.ReplaceAllString(s, by)
	}
	return s
}

// TestRecorded compares answers with those of Hadoop 3.5.0, byte by byte after
// masking.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, nil)
	p.recordedLogs(t)
	entries := strings.Split(string(text), "### ")[1:]
	if len(entries) < 40 {
		t.Fatalf("only %d answers", len(entries))
	}
	for _, e := range entries {
		lines := strings.SplitN(e, "\n", 4)
		path, accept := lines[0], strings.TrimPrefix(lines[1], "Accept: ")
		w := p.get(path, accept)
		status, contentType, _ := strings.Cut(lines[2], " ")
		if contentType == "" { // an error of Hadoop's that lost its type
			contentType = w.Header().Get("Content-Type")
		}
		if got := w.Header().Get("Content-Type"); fmt.Sprint(w.Code) != status || !strings.EqualFold(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(contentType, " ", "")) {
			t.Errorf("%s (%s): %d %s, want %s", path, accept, w.Code, got, lines[2])
		}
		if got, want := masked(strings.TrimRight(w.Body.String(), "\n")), masked(strings.TrimRight(lines[3], "\n")); got != want {
			t.Errorf("%s (%s)\n got %s\nwant %s", path, accept, got, want)
		}
	}
}

// TestEveryRoute walks every route with every method: no route escapes the gate,
// and nothing changes anything.
func TestEveryRoute(t *testing.T) {
	p := open(t, nil)
	p.recordedLogs(t)
	all := routes(p.config).Routes()
	if len(all) < 20 {
		t.Fatalf("only %d routes", len(all))
	}
	fill := strings.NewReplacer("{app}", first.Attempt.Application.String(), "{container}", second.String(), "{file}", "stderr", "{user}", "alice", "{unit}/{name}", "yarn.io%2Fgpu", "{name}", "gpu")
	for pattern, methods := range all {
		if !slices.Equal(methods, []string{"GET"}) && pattern != prefix+"/auxiliaryservices" { // refuses every body
			t.Errorf("%s takes %v", pattern, methods)
		}
		path := fill.Replace(pattern)
		want := http.StatusOK
		if strings.HasSuffix(path, "/auxiliaryservices") {
			want = http.StatusBadRequest
		}
		if w := p.get(path+"?user.name=admin", ""); w.Code != want {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			if w.Code != http.StatusForbidden {
				t.Errorf("%s %s by nobody: %d", method, path, w.Code)
			}
			for _, forged := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://example.com"}} {
				r, w := httptest.NewRequest(method, path+"?user.name=alice", nil), httptest.NewRecorder()
				r.Header.Set(forged[0], forged[1])
				if p.ServeHTTP(w, r); w.Code != http.StatusForbidden {
					t.Errorf("%s %s with %q: %d", method, path, forged, w.Code)
				}
			}
		}
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		r.Header.Set(webgate.Relayed, "1")
		if p.ServeHTTP(w, r); w.Code != http.StatusLoopDetected {
			t.Errorf("GET %s through a proxy: %d", path, w.Code)
		}
	}
	if w := p.get("/", ""); w.Code != http.StatusFound || w.Header().Get("Location") != "/node" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := p.get("/nothing", ""); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "/ws/v1/node") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestNew(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an empty configuration was taken")
	}
}

// TestAccess: whoever may not view an application gets no log of it.
func TestAccess(t *testing.T) {
	p := open(t, func(c *Config, s *source) { c.FilterByUser, s.denied = true, "eve" })
	p.recordedLogs(t)
	logs := []string{"/ws/v1/node/containers/" + second.String() + "/logs", "/ws/v1/node/containers/" + second.String() + "/logs/stderr",
		"/node/containerlogs/" + second.String() + "/alice", "/node/containerlogs/" + second.String() + "/alice/stderr"}
	for _, path := range logs {
		if w := p.get(path+"?user.name=eve", ""); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "err &lt;b") || !strings.Contains(w.Body.String(), "not authorized") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if w := p.get(path+"?user.name=alice", ""); w.Code != http.StatusOK {
			t.Errorf("%s for its owner: %d", path, w.Code)
		}
	}
	for path, want := range map[string]string{"/ws/v1/node/apps": `{"apps":{}}`, "/ws/v1/node/containers": `{"containers":{}}`} {
		if got := p.get(path+"?user.name=eve", "").Body.String(); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if body := p.get("/ws/v1/node/containers/"+second.String()+"?user.name=eve", "").Body.String(); strings.Contains(body, "containerLogFiles") {
		t.Error(body)
	}
	for _, path := range []string{"/node/allApplications", "/node/allContainers"} {
		if body := p.get(path+"?user.name=eve", "").Body.String(); strings.Contains(body, "1795331845708") || !strings.Contains(body, "No entries") {
			t.Errorf("%s: %s", path, body)
		}
	}
}
