package web

import (
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// TestLogNames: no name leads out of the container's directory.
func TestLogNames(t *testing.T) {
	p := open(t, nil)
	p.write(t, second, "stdout", "mine")
	p.write(t, first, "secret", "not yours")
	for _, name := range []string{"..%2f" + first.String() + "%2fsecret", "..", "%2e%2e", "..%2f..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "a%00b", ".", "%2e",
		strings.Repeat("x", 5000), "secret", "nofile"} {
		for _, path := range []string{"/ws/v1/node/containers/" + second.String() + "/logs/", "/ws/v1/node/containerlogs/" + second.String() + "/",
			"/node/containerlogs/" + second.String() + "/alice/"} {
			w := p.get(path+name, "*/*")
			if w.Code == http.StatusOK || w.Code >= 500 || strings.Contains(w.Body.String(), "not yours") || strings.Contains(w.Body.String(), "root:x:") {
				t.Errorf("%s%.60s: %d %.200s", path, name, w.Code, w.Body)
			}
		}
	}
}

func TestLogStates(t *testing.T) {
	p := open(t, func(_ *Config, s *source) {
		s.containers[0].State, s.containers[1].State = "LOCALIZING", "LOCALIZATION_FAILED"
	})
	p.recordedLogs(t)
	forgotten := yarn.ContainerID{Attempt: first.Attempt, Number: 3}
	p.write(t, forgotten, "stdout", "the end")
	const list = "/ws/v1/node/containers/"
	for path, want := range map[string]string{
		list + first.String() + "/logs":                             "Current state is LOCALIZING",
		list + second.String() + "/logs/stderr":                     "Localization failed",
		"/node/containerlogs/" + first.String() + "/alice/stderr":   "Current state is LOCALIZING",
		list + "container_1_0001_01_000001/logs":                    "Unknown container",
		list + "container_1_0001_01_000001/logs/stderr":             "Unknown container",
		"/node/containerlogs/container_1_0001_01_000001/alice":      "Unknown container",
		list + forgotten.String() + "/logs/none":                    "Cannot find this log",
		list + "container_1795331845708_0001_01_000009/logs":        "Cannot find this log",
		list + "container_1795331845708_0001_01_000009/logs/stderr": "Cannot find this log",
	} {
		if w := p.get(path, ""); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := p.get(list+forgotten.String()+"/logs/stdout", "")
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.HasSuffix(body, "the endEnd of LogType:stdout.\n"+strings.Repeat("*", 71)+"\n\n") {
		t.Errorf("%d %s", w.Code, body)
	}
	for path, want := range map[string]string{"/logs/stdout?size=x": "size is not a number", "/logs/stdout?format=html": "[text, octet-stream]"} {
		if w := p.get(list+forgotten.String()+path, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestCollected: logs that are no longer here are looked for where they were
// collected.
func TestCollected(t *testing.T) {
	const gone = "container_1795331845708_0007_01_000001"
	for _, c := range []struct {
		name, path string
		change     func(*Config, *source)
		status     int
		to, body   string
	}{
		{"programs", "/ws/v1/node/containers/" + gone + "/logs?nm.id=x&a=b", service1, 307, "http://ahs/ws/v1/applicationlog/containers/" + gone + "/logs?a=b&redirected_from_node=true", ""},
		{"a file", "/ws/v1/node/containers/" + gone + "/logs/std%20err", service1, 307, "http://ahs/ws/v1/applicationlog/containers/" + gone + "/logs/std%20err?redirected_from_node=true", ""},
		{"an id that is none", "/ws/v1/node/containers/foo/logs", service1, 400, "", "invalid container id"},
		{"people", "/node/containerlogs/" + gone + "/ada/stdout?start=0", server1, 307,
			"http://jhs/jobhistory/logs/localhost:28436/" + gone + "/" + gone + "/ada/stdout?start=0", "Redirecting to log server"},
		{"a list", "/node/containerlogs/" + gone + "/a%0d%0ab", server1, 307, "http://jhs/jobhistory/logs/localhost:28436/" + gone + "/" + gone + "/a%0D%0Ab", ""},
		{"still here, but asked for", "/node/containerlogs/" + second.String() + "/ada?log.aggregation.type=remote", server1, 307,
			"http://jhs/jobhistory/logs/localhost:28436/" + second.String() + "/" + second.String() + "/ada?log.aggregation.type=remote", ""},
		{"still here", "/node/containerlogs/" + second.String() + "/ada", server1, 200, "", "Local Logs"},
		{"nobody knows where", "/node/containerlogs/" + gone + "/ada", func(c *Config, _ *source) { c.Aggregation = true }, 404, "", "yarn.log.server.url"},
		{"nothing is collected", "/node/containerlogs/" + gone + "/ada", func(c *Config, _ *source) { c.LogServer = "http://jhs" }, 404, "", "Unknown container"},
	} {
		p := open(t, c.change)
		p.recordedLogs(t)
		w := p.get(c.path, "")
		if w.Code != c.status || w.Header().Get("Location") != c.to || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d %q %s", c.name, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
}

func service1(c *Config, _ *source) { c.LogService = "http://ahs/ws/v1/applicationlog/" }

func server1(c *Config, _ *source) { c.Aggregation, c.LogServer = true, "http://jhs/jobhistory/logs" }

// TestHostileTexts puts markup wherever applications and users can put text.
func TestHostileTexts(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>` + "\x1b]0;x\a\u009b\u202e\u2066\U000e0041\x7f\r!"
	p := open(t, func(_ *Config, s *source) {
		s.node.Report, s.applications[0].User, s.containers[1].User, s.containers[1].Diagnostics = evil, evil, evil, evil
	})
	name := strings.ReplaceAll(evil, "/", "∕")
	p.write(t, second, name, strings.Repeat(evil+"\xff é\n", 3000))
	paths := []string{"/node", "/node/allApplications", "/node/allContainers", "/node/application/" + first.Attempt.Application.String(), "/node/container/" + second.String(),
		"/node/containerlogs/" + second.String() + "/%3Cscript%3E", "/node/application/%3Cscript%3E", "/node/container/%3Cscript%3Ealert(1)"}
	list := p.get("/node/containerlogs/"+second.String()+"/alice", "").Body.String()
	_, after, _ := strings.Cut(list, `<li><a href="/node/containerlogs/`+second.String())
	link, _, ok := strings.Cut(after, `"`)
	if !ok {
		t.Fatalf("no link to the file: %s", list)
	}
	link = "/node/containerlogs/" + second.String() + strings.ReplaceAll(link, "&#43;", "+")
	paths = append(paths, link, strings.Replace(link, "start=-4096", "start=0", 1), strings.Replace(link, "start=-4096", "start=%3Cscript%3E", 1))
	for _, path := range paths {
		w := p.get(path, "text/html")
		body := w.Body.String()
		if strings.Contains(body, "<script") || strings.Contains(body, "<img") || w.Code >= 500 {
			t.Errorf("%s: %d %.400s", path, w.Code, body)
		}
		if at := strings.IndexFunc(body, func(r rune) bool { return r != '\n' && r != '\t' && visible.Hides(r) }); at >= 0 {
			t.Errorf("%s has %q", path, body[max(0, at-80):min(len(body), at+80)])
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: no policy", path)
		}
	}
	if body := p.get(strings.Replace(link, "start=-4096", "start=0", 1), "").Body.String(); strings.Count(body, "alert(1)&lt;/script&gt;") < 3000 {
		t.Errorf("not the whole log: %d bytes", len(body))
	}
	d := xml.NewDecoder(p.get("/ws/v1/node/containers", "application/xml").Body)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestParts: the page shows the end of a log, and what it is told.
func TestParts(t *testing.T) {
	p := open(t, nil)
	p.recordedLogs(t)
	base := "/node/containerlogs/" + second.String() + "/alice/stdout"
	for query, c := range map[string]struct {
		status      int
		has, hasNot string
	}{
		"":                  {200, "\n2000\n</pre>", "\n1181\n"},
		"?start=-4096":      {200, "Showing 4096 bytes of 8902.", "out line"},
		"?start=0":          {200, "<pre class=\"log\">out line\n1\n", "Showing"},
		"?start=0&end=10":   {200, "<pre class=\"log\">out line\n1</pre>", "\n2\n"},
		"?start=-10&end=-5": {200, "<pre class=\"log\">1999\n</pre>", "2000"},
		"?start=99999":      {400, "Invalid start and end values", "<pre"},
		"?start=100&end=50": {400, "Start: [100], end[50]", "<pre"},
		"?start=x":          {400, "start is not a number", "<pre"},
		"?end=1e9":          {400, "end is not a number", "<pre"},
	} {
		w := p.get(base+query, "")
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) || !strings.HasSuffix(strings.TrimSpace(body), "</html>") && c.status == 200 {
			t.Errorf("%s: %d %.300s … %s", query, w.Code, body, body[max(0, len(body)-200):])
		}
	}
	if strings.Contains(p.get(base, "").Body.String(), p.config.Version.Build) {
		t.Error("the page tells the build") // it is on /info for those who ask
	}
}

func TestPaging(t *testing.T) {
	p := open(t, func(_ *Config, s *source) {
		for i := range 450 {
			s.containers = append(s.containers, view.Container{ID: yarn.ContainerID{Attempt: first.Attempt, Number: int64(i + 10)}, State: "DONE", Exit: -105})
		}
	})
	for query, want := range map[string]string{"": "Showing 1 to 200 of 452", "?page=2": "Showing 201 to 400 of 452", "?page=3": "Showing 401 to 452 of 452",
		"?page=99": "Showing 401 to 452 of 452", "?page=-1": "Showing 1 to 200 of 452", "?page=x": "Showing 1 to 200 of 452"} {
		if body := p.get("/node/allContainers"+query, "").Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: %s", query, body)
		}
	}
	if body := p.get("/node/allContainers?page=2", "").Body.String(); !strings.Contains(body, `href="/node/allContainers?page=1" rel="prev"`) ||
		!strings.Contains(body, `href="/node/allContainers?page=3" rel="next"`) || !strings.Contains(body, "<td>-105</td>") {
		t.Error(body)
	}
}

// TestOverTheWire sends a log on a real connection, whose deadline is longer than
// that of other answers.
func TestOverTheWire(t *testing.T) {
	p := open(t, nil)
	p.write(t, second, "stdout", strings.Repeat("0123456789abcde\n", 1<<16))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := webgate.NewServer(p, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	base := "http://" + l.Addr().String()
	for path, want := range map[string]int{"/ws/v1/node/containers/" + second.String() + "/logs/stdout": 1<<20 + 350, "/node/containerlogs/" + second.String() + "/alice/stdout?start=0": 1<<20 + 1000} {
		res, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || len(body) < want {
			t.Errorf("%s: %d bytes, %v", path, len(body), err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
