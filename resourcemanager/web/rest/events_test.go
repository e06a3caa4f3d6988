package rest_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// happened is a log of five events.
func happened() *events.Log {
	l := events.New(1700)
	app, node := webtest.App(2), yarn.NodeID{Host: "n1", Port: 45454}
	for _, e := range []events.Event{
		{At: 1, Kind: events.Node, Node: node, From: "NEW", To: "RUNNING", Cause: "registered"},
		{At: 2, Kind: events.Application, Application: app, Queue: "root.dev", From: "ACCEPTED", To: "RUNNING", Cause: "its master has registered"},
		{At: 3, Kind: events.Container, Application: app, Attempt: 1, Container: yarn.ContainerID{Attempt: yarn.AttemptID{Application: app, Attempt: 1}, Number: 2}, Node: node,
			Queue: "root.dev", What: "allocated", MemoryMB: 1024, VCores: 1, Priority: 20},
		{At: 4, Kind: events.Queues},
		{At: 5, Kind: events.Attempt, Application: webtest.App(3), Attempt: 1, Queue: "root.prod\u202e", From: "NEW", To: "SUBMITTED"},
	} {
		l.Add(&e)
	}
	return l
}

func TestEvents(t *testing.T) {
	s := webtest.New()
	s.Happens = happened()
	h := serve(t, s, &webtest.Controller{})
	for path, want := range map[string]string{
		"?since=1700-2": `{"id":"1700-2","time":1,"type":"start"}
{"id":"1700-3","time":3,"type":"container","appId":"application_1_0002","containerId":"container_1_0002_01_000002","nodeId":"n1:45454","queue":"root.dev","event":"allocated","memoryMB":1024,"vCores":1,"priority":20,"master":false}
{"id":"1700-4","time":4,"type":"queues"}
{"id":"1700-5","time":5,"type":"attempt","appId":"application_1_0003","attemptId":"appattempt_1_0003_000001","queue":"root.prod\u202e","from":"NEW","to":"SUBMITTED"}
`,
		"": `{"id":"1700-5","time":1,"type":"start"}
`,
		"?since=1700-0&type=node,application": `{"id":"1700-0","time":1,"type":"start"}
{"id":"1700-1","time":1,"type":"node","nodeId":"n1:45454","from":"NEW","to":"RUNNING","cause":"registered"}
{"id":"1700-2","time":2,"type":"application","appId":"application_1_0002","queue":"root.dev","from":"ACCEPTED","to":"RUNNING","cause":"its master has registered"}
`,
		"?since=1699-88&node=n1&type=node": `{"id":"1700-0","time":1,"type":"gap","reason":"the ResourceManager has started anew, or another one has taken over"}
{"id":"1700-1","time":1,"type":"node","nodeId":"n1:45454","from":"NEW","to":"RUNNING","cause":"registered"}
`,
		"?since=1700-1&queue=dev&type=application": `{"id":"1700-1","time":1,"type":"start"}
{"id":"1700-2","time":2,"type":"application","appId":"application_1_0002","queue":"root.dev","from":"ACCEPTED","to":"RUNNING","cause":"its master has registered"}
`,
	} {
		joint := "?"
		if path != "" {
			joint = "&"
		}
		w := get(h, "/events"+path+joint+"follow=false", "")
		got := strings.ReplaceAll(w.Body.String(), strings.Split(webtest.App(1).String(), "_")[1], "1")
		got = momentless(got)
		if w.Code != http.StatusOK || got != want || w.Header().Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: %d %s\n%s\nwant\n%s", path, w.Code, w.Header(), got, want)
		}
	}
	for path, want := range map[string]int{"?since=x": 400, "?type=weather": 400, "?queue=nowhere": 404, "?application=x": 400} {
		if w := get(h, "/events"+path, ""); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, want, w.Body)
		}
	}
	if w := get(h, "/events", "text/html"); w.Code != http.StatusNotAcceptable {
		t.Errorf("%d", w.Code)
	}
	s.Happens = nil
	if w := get(h, "/events", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without a term: %d", w.Code)
	}
}

// momentless has 1 for the time of the test.
func momentless(s string) string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		if strings.Contains(line, `"type":"start"`) || strings.Contains(line, `"type":"gap"`) {
			before, after, _ := strings.Cut(line, `"time":`)
			_, after, _ = strings.Cut(after, ",")
			line = before + `"time":1,` + after
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// A browser follows as its EventSource does: the last id comes back in a header.
func TestEventStream(t *testing.T) {
	s := webtest.New()
	s.Happens = happened()
	server := httptest.NewServer(serve(t, s, &webtest.Controller{}))
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+rest.Prefix+"/events?type=queues", nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", "1700-3")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	next := func() string {
		var out string
		for {
			line, err := lines.ReadString('\n')
			if err != nil || line == "\n" {
				return out
			}
			out += line
		}
	}
	if got := next(); !strings.HasPrefix(got, "id: 1700-3\ndata: {") || !strings.Contains(got, `"type":"start"`) {
		t.Fatal(got)
	}
	if got := next(); got != "id: 1700-4\ndata: {\"id\":\"1700-4\",\"time\":4,\"type\":\"queues\"}\n" {
		t.Fatal(got)
	}
	s.Happens.Add(&events.Event{At: 6, Kind: events.Queues})
	if got := next(); got != "id: 1700-6\ndata: {\"id\":\"1700-6\",\"time\":6,\"type\":\"queues\"}\n" {
		t.Fatal(got)
	}
	s.Happens.Close() // with it the stream ends
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
}

// Who was away for too long learns how much is lost, and goes on from there.
func TestEventsThatAreLost(t *testing.T) {
	s := webtest.New()
	s.Happens = events.New(1700)
	for range events.Kept + 2 {
		s.Happens.Add(&events.Event{Kind: events.Queues})
	}
	w := get(serve(t, s, &webtest.Controller{}), "/events?since=1700-1&follow=false", "")
	lines := strings.Split(momentless(w.Body.String()), "\n")
	if len(lines) != events.Kept+3 || lines[1] != `{"id":"1700-2","time":1,"type":"gap","reason":"1 events are not kept any more"}` || !strings.Contains(lines[2], `"id":"1700-3"`) {
		t.Errorf("%d lines: %s", len(lines), lines[:3])
	}
}

// Where lists are filtered by user, so are events.
func TestEventsOfOthers(t *testing.T) {
	s := webtest.New()
	s.Happens = happened()
	s.Denied = map[string]bool{"alice": true}
	w := httptest.NewRecorder()
	for _, route := range rest.Routes(rest.Config{Source: s, FilterByUser: true, Now: func() time.Time { return time.UnixMilli(webtest.Moment) }}) {
		if route.Pattern == rest.Prefix+"/events" {
			r := httptest.NewRequest(http.MethodGet, route.Pattern+"?since=1700-0&follow=false", nil)
			route.Handler(w, r.WithContext(webgate.WithCaller(r.Context(), webgate.Caller{User: "alice"})))
		}
	}
	for _, a := range s.Picture.Applications {
		if a.User != "alice" && strings.Contains(w.Body.String(), a.ID.String()) {
			t.Errorf("%s of %s is told of", a.ID, a.User)
		}
	}
	if !strings.Contains(w.Body.String(), `"type":"queues"`) {
		t.Error(w.Body)
	}
}
