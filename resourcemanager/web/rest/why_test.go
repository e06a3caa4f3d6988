package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// TestGatesAreTold: every field of the answer why.
func TestGatesAreTold(t *testing.T) {
	s := webtest.New()
	s.Gated = view.Gates{List: []view.Gate{{Code: "max-running-apps", Text: "too many", Setting: "maxRunningApps", Origin: "f.xml:3", Since: 5000,
		Change: []view.Setting{{Name: "maxRunningApps", Value: "2", Element: "queue root.a"}}, TooLarge: true, Act: view.Act{Do: "end-application", Text: "x ends", Command: "yarn application -kill x"},
		Holders: []view.GateHolder{{App: webtest.App(1), User: "ann", Queue: "root.a", Has: yarn.NewResource(2048, 2), Count: 2}}}},
		Line: view.Line{Place: 2, Of: 3, For: "containers", Queue: "root.a"}, Impossible: []view.Impossible{{Priority: 1, Size: yarn.NewResource(4096, 1), Count: 2, Label: "gpu", Code: "node-too-small", Text: "never"}}}
	h := serve(t, s, &webtest.Controller{})
	body := get(h, "/apps/"+webtest.App(1).String()+"/why", "").Body.String()
	valid(t, body)
	for _, want := range []string{`{"code":"max-running-apps","text":"too many","setting":"maxRunningApps","origin":"f.xml:3","change":[{"name":"maxRunningApps","value":"2","element":"queue root.a"}],"tooLarge":true,` +
		`"act":{"do":"end-application","text":"x ends","command":"yarn application -kill x"},"holders":[{"appId":"application_1_0001","user":"ann","queue":"root.a","memoryMB":2048,"vCores":2,"containers":2}],"since":5000}`,
		`"line":{"place":2,"of":3,"for":"containers","queue":"root.a"}`, `"impossible":[{"priority":1,"memoryMB":4096,"vCores":1,"containers":2,"label":"gpu","code":"node-too-small","text":"never"}]`} {
		if !strings.Contains(body, stamped(want)) {
			t.Errorf("%s\nwant %s", body, want)
		}
	}
}

// TestGatesNameNoOthers: where lists of applications leave out others', so do reasons, in texts and commands too.
func TestGatesNameNoOthers(t *testing.T) {
	s := webtest.New()
	var own, other *view.Application
	for _, a := range s.Picture.Applications {
		switch {
		case a.User == "alice" && own == nil:
			own = a
		case a.User != "alice" && other == nil:
			other = a
		}
	}
	if own == nil || other == nil {
		t.Fatal("the picture needs an application of alice and one of somebody else")
	}
	id := other.ID.String()
	attempt := yarn.AttemptID{Application: other.ID, Attempt: 1}
	gate := func(of yarn.ApplicationID) view.Gate {
		return view.Gate{Code: "max-running-apps", Text: "waits for " + of.String() + ".", Act: view.Act{Do: "end-application", Text: of.String() + " ends", Command: "yarn application -kill " + of.String()},
			Holders: []view.GateHolder{{App: of, User: "u", Queue: "root.a"}}}
	}
	s.Gated = view.Gates{List: []view.Gate{gate(other.ID), gate(own.ID)}, Asks: []view.Ask{{Gate: gate(other.ID)}}, Impossible: []view.Impossible{{Code: "x",
		Text: "behind " + yarn.ContainerID{Attempt: attempt, Number: 7}.String() + " and " + attempt.String()}}}
	ask := func(filter bool) string {
		mux := http.NewServeMux()
		for _, route := range rest.Routes(rest.Config{Source: s, FilterByUser: filter, Now: func() time.Time { return time.UnixMilli(webtest.Moment) }}) {
			mux.Handle(route.Method+" "+route.Pattern, route.Handler)
		}
		return get(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mux.ServeHTTP(w, r.WithContext(webgate.WithCaller(r.Context(), webgate.Caller{User: "alice", Address: "127.0.0.1"})))
		}), "/apps/"+own.ID.String()+"/why", "").Body.String()
	}
	s.Denied = map[string]bool{"alice": true}
	body := ask(true)
	valid(t, body)
	if tail := strings.TrimPrefix(id, "application"); strings.Contains(body, tail) {
		t.Errorf("%s is named: %s", id, body)
	}
	for _, want := range []string{`"text":"waits for another application.","act":{"do":"end-application","text":"another application ends"}}`, `"command":"yarn application -kill ` + own.ID.String() + `"`,
		`"text":"waits for ` + own.ID.String() + `."`, `behind a container of another application and an attempt of another application`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s\nwant %s", body, want)
		}
	}
	if body := ask(false); strings.Contains(body, "another application") || !strings.Contains(body, "-kill "+id) {
		t.Errorf("without a filter: %s", body)
	}
	s.Denied = nil
	if body := ask(true); strings.Contains(body, "another application") || !strings.Contains(body, "-kill "+id) {
		t.Errorf("with the right to view: %s", body)
	}
}

// TestHeadroom: leaves by name, and what is wrong with a name.
func TestHeadroom(t *testing.T) {
	s := webtest.New()
	h := serve(t, s, &webtest.Controller{})
	leaf := ""
	c, _ := s.Cluster(t.Context(), view.Queues)
	for _, q := range c.Queues.Queues {
		if q.Leaf {
			leaf = q.Path
			s.Left = append(s.Left, view.Room{Queue: q.Path, Largest: yarn.NewResource(2048, 2), Count: 3, Stop: view.Gate{Code: "queue-limit", Text: "full", Setting: "a.b", Origin: "q.xml:1"}})
		}
	}
	all := get(h, "/headroom?user=ann", "").Body.String()
	valid(t, all)
	if n := strings.Count(all, `"queue":`); n != len(s.Left) || !strings.Contains(all, `"user":"ann"`) ||
		!strings.Contains(all, `"largest":{"memoryMB":2048,"vCores":2},"containers":3,"stop":{"code":"queue-limit","text":"full","setting":"a.b","origin":"q.xml:1"}`) {
		t.Errorf("%d of %d: %s", n, len(s.Left), all)
	}
	if one := get(h, "/headroom?queue="+leaf, "").Body.String(); strings.Count(one, `"queue":`) != 1 || !strings.Contains(one, `"queues":1`) {
		t.Error(one)
	}
	if w := get(h, "/headroom?queue=nowhere", ""); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// computing is a source that takes another request while it computes rooms.
type computing struct {
	*webtest.Source
	meanwhile func()
	calls     int
}

func (c *computing) Rooms(ctx context.Context, leaves []string, user string) ([]view.Room, error) {
	c.calls++
	if do := c.meanwhile; do != nil {
		c.meanwhile = nil
		do()
	}
	return c.Source.Rooms(ctx, leaves, user)
}

// TestHeadroomOneAtATime: while headroom is computed for one request, others are turned away and compute nothing.
func TestHeadroomOneAtATime(t *testing.T) {
	s := &computing{Source: webtest.New()}
	var h http.HandlerFunc
	for _, route := range rest.Routes(rest.Config{Source: s, Now: time.Now}) {
		if route.Pattern == rest.Prefix+"/headroom" {
			h = route.Handler
		}
	}
	ask := func() int {
		w := httptest.NewRecorder()
		h(w, httptest.NewRequest(http.MethodGet, rest.Prefix+"/headroom", nil))
		return w.Code
	}
	inside, before := 0, 0
	s.meanwhile = func() {
		before = s.calls
		inside = ask()
		before -= s.calls
	}
	if first := ask(); first != http.StatusOK || inside != http.StatusServiceUnavailable || before != 0 {
		t.Errorf("the first got %d, another one meanwhile %d after %d computations", first, inside, -before)
	}
	if again := ask(); again != http.StatusOK {
		t.Errorf("the next got %d", again)
	}
}

// TestHeadroomOfOthers: where lists are filtered by user, what another user could get is for administrators of the queues.
func TestHeadroomOfOthers(t *testing.T) {
	s := webtest.New()
	for _, c := range []struct {
		filtered, administers bool
		user                  string
		want                  int
	}{
		{false, false, "ann", http.StatusOK}, {true, false, "ann", http.StatusForbidden}, {true, true, "ann", http.StatusOK}, {true, false, "", http.StatusOK},
	} {
		s.Rights = map[string]access.QueueRights{}
		if c.administers {
			s.Rights = nil
		}
		for _, route := range rest.Routes(rest.Config{Source: s, FilterByUser: c.filtered, Now: time.Now}) {
			if route.Pattern != rest.Prefix+"/headroom" {
				continue
			}
			w := httptest.NewRecorder()
			route.Handler(w, httptest.NewRequest(http.MethodGet, rest.Prefix+"/headroom?user="+c.user, nil))
			if w.Code != c.want {
				t.Errorf("%+v: %d %s", c, w.Code, w.Body)
			}
		}
	}
}

// TestWaitingTimes: of queues, and of users.
func TestWaitingTimes(t *testing.T) {
	s := webtest.New()
	s.Waited = []view.Wait{{Queue: "root.a", Cause: "node-full", Millis: 3000}, {Queue: "root.a", User: "ann", Cause: "node-full", Millis: 1000}, {Queue: "root.b", Cause: "user-limit", Millis: 7}}
	h := serve(t, s, &webtest.Controller{})
	for path, want := range map[string]string{
		"":              `{"waitingTimes":{"wait":[{"queue":"root.a","cause":"node-full","millis":3000},{"queue":"root.b","cause":"user-limit","millis":7}]}}`,
		"?by=user":      `{"waitingTimes":{"wait":[{"queue":"root.a","user":"ann","cause":"node-full","millis":1000}]}}`,
		"?queue=root.b": `{"waitingTimes":{"wait":[{"queue":"root.b","cause":"user-limit","millis":7}]}}`,
		"?by=node":      "by is queue or user",
	} {
		if body := get(h, "/waiting-times"+path, "").Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: %s\nwant %s", path, body, want)
		}
	}
}
