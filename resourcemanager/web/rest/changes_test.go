package rest_test

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

func now() time.Time { return time.UnixMilli(webtest.Moment) }

func call(h http.Handler, c webgate.Caller) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(webgate.WithCaller(context.Background(), c)))
	return w
}

// xmlName is the name of the first application in an answer.
func xmlName(text string) (string, error) {
	var doc struct {
		App struct {
			Name string `xml:"name"`
		} `xml:"app"`
	}
	err := xml.Unmarshal([]byte(text), &doc)
	return doc.App.Name, err
}

// send is a request with a body; kind is "json" or "xml" for both directions.
func send(h http.Handler, method, path, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, rest.Prefix+path, strings.NewReader(body))
	r.Host = "127.0.0.1:22050"
	r.Header.Set("Content-Type", "application/"+kind)
	r.Header.Set("Accept", "application/"+kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestChanges(t *testing.T) {
	six, one, missing := "/apps/"+webtest.App(6).String(), "/apps/"+webtest.App(1).String(), "/apps/application_1_0001"
	id := webtest.App(6).String()
	for _, c := range []struct {
		name, method, path, kind, body string
		controller                     *webtest.Controller
		status                         int
		answer, call                   string
	}{
		{name: "kill", path: six + "/state", body: `{"state":"KILLED","diagnostics":"why \u003c"}`, status: 202, answer: `{"state":"RUNNING"}`, call: "kill " + id + " by alice: why <"},
		{name: "kill, done", path: six + "/state", body: `{"state":"KILLED"}`, controller: &webtest.Controller{Done: true}, status: 200, answer: `{"state":"RUNNING"}`, call: "kill " + id + " by alice: "},
		{name: "kill in XML", path: six + "/state", kind: "xml", body: `<?xml version="1.0"?><appstate><state>KILLED</state></appstate>`, status: 202,
			answer: `<?xml version="1.0" encoding="UTF-8"?><appstate><state>RUNNING</state></appstate>`, call: "kill " + id + " by alice: "},
		{name: "kill, wrapped", path: six + "/state", body: `{"appstate":{"state":"KILLED"}}`, status: 202, call: "kill " + id + " by alice: "},
		{name: "the state it has", path: one + "/state", body: `{"state":"FINISHED"}`, status: 200, answer: `{"state":"FINISHED"}`},
		{name: "another state", path: six + "/state", body: `{"state":"FINISHED"}`, status: 400, answer: "Only 'KILLED' is allowed as a target state."},
		{name: "no state", path: six + "/state", body: `{}`, status: 400, answer: "Only 'KILLED' is allowed as a target state."},
		{name: "kill, missing", path: missing + "/state", body: `{"state":"KILLED"}`, status: 404, answer: "app with id: application_1_0001 not found"},
		{name: "kill, refused", path: six + "/state", body: `{"state":"KILLED"}`, controller: &webtest.Controller{Err: answer.Errorf(answer.Forbidden, "not yours")},
			status: 403, answer: `"exception":"ForbiddenException","message":"not yours"`, call: "kill " + id + " by alice: "},
		{name: "no JSON", path: six + "/state", body: `{"state": }`, status: 400, answer: `{"RemoteException":{"exception":"WebApplicationException","javaClassName":"javax.ws.rs.WebApplicationException"}}`},
		{name: "null", path: six + "/state", body: `null`, status: 400},
		{name: "a list", path: six + "/state", body: `[1]`, status: 400},
		{name: "another type", path: six + "/state", kind: "x-www-form-urlencoded", body: `state=KILLED`, status: 406},
		{name: "an entity", path: six + "/state", kind: "xml", body: `<!DOCTYPE a [<!ENTITY e "KILLED">]><appstate><state>&e;</state></appstate>`, status: 400},
		{name: "another root", path: six + "/state", kind: "xml", body: `<x><state>KILLED</state></x>`, status: 400},
		{name: "unfinished", path: six + "/state", kind: "xml", body: `<appstate><state>KILLED</state>`, status: 400},
		{name: "move", path: six + "/queue", body: `{"queue":"root.dev"}`, status: 200, answer: `{"queue":"root.dev"}`, call: "move " + id + " by alice to root.dev"},
		{name: "move nowhere", path: six + "/queue", body: `{"queue":"root.prod.adhoc"}`, status: 200, answer: `{"queue":"root.prod.adhoc"}`},
		{name: "move, no queue", path: six + "/queue", body: `{}`, status: 400},
		{name: "move, wrong state", path: six + "/queue", body: `{"queue":"q"}`, controller: &webtest.Controller{Err: answer.Errorf(answer.WrongState, "App in KILLED state cannot be moved.")},
			status: 400, answer: "App in KILLED state cannot be moved.", call: "move " + id + " by alice to q"},
		{name: "priority", path: six + "/priority", body: `{"priority":7}`, status: 200, answer: `{"priority":7}`, call: "priority of " + id + " by alice: 7"},
		{name: "priority as text", path: six + "/priority", body: `{"priority":"99"}`, status: 200, answer: `{"priority":10}`, call: "priority of " + id + " by alice: 99"},
		{name: "priority in XML", path: six + "/priority", kind: "xml", body: `<applicationpriority><priority>6</priority></applicationpriority>`, status: 200,
			answer: `<?xml version="1.0" encoding="UTF-8"?><applicationpriority><priority>6</priority></applicationpriority>`, call: "priority of " + id + " by alice: 6"},
		{name: "the priority it has", path: six + "/priority", body: `{"priority":4}`, status: 200, answer: `{"priority":4}`},
		{name: "priority, no number", path: six + "/priority", body: `{"priority":99999999999}`, status: 400},
		{name: "lifetime", path: six + "/timeout", body: `{"timeout":{"type":"LIFETIME","expiryTime":"2040-01-01T00:00:00.000+0000"}}`, status: 200,
			answer: `"type":"LIFETIME"`, call: "lifetime of " + id + " by alice: 2208988800000"},
		{name: "lifetime, bare", path: six + "/timeout", body: `{"type":"LIFETIME","expiryTime":"2040-01-01T00:00:00.000+0000"}`, status: 200,
			answer: `"remainingTimeInSeconds":413683360`, call: "lifetime of " + id + " by alice: 2208988800000"},
		{name: "lifetime, another type", path: six + "/timeout", body: `{"type":"BOGUS","expiryTime":"2040-01-01T00:00:00.000+0000"}`, status: 400, answer: "Timeout type or ExpiryTime is null."},
		{name: "lifetime, ended, no time", path: one + "/timeout", body: `{"timeout":{"type":"LIFETIME","expiryTime":"soon"}}`, status: 200, answer: `"expiryTime":"UNLIMITED"`,
			call: "lifetime of " + webtest.App(1).String() + " by alice: 0"},
		{name: "lifetime, no time", path: six + "/timeout", body: `{"type":"LIFETIME","expiryTime":"soon"}`, status: 400},
		{name: "new application", method: "POST", path: "/apps/new-application", status: 200, answer: `{"application-id":"application_1795305251364_0010","maximum-resource-capability":{"memory":4096,"vCores":4,`, call: "new application by alice"},
		{name: "save a recording", path: "/recording", body: `{"action":"save"}`, status: 200, answer: `{"recording":{"commands":100,"missing":20,"file":"/logs/a.blackbox","allBytes":0}}`, call: "record by alice: save"},
		{name: "no action", path: "/recording", body: `{"action":"status"}`, status: 400, answer: "action must be save, start or stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			controller := c.controller
			if controller == nil {
				controller = &webtest.Controller{}
			}
			controller.Most = yarn.NewResource(4096, 4)
			method, kind := c.method, c.kind
			if method == "" {
				method = http.MethodPut
			}
			if kind == "" {
				kind = "json"
			}
			w := send(serve(t, webtest.New(), controller), method, c.path, kind, c.body)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.answer)
			}
			var want []string
			if c.call != "" {
				want = []string{c.call}
			}
			if got := controller.Calls(); !slices.Equal(got, want) {
				t.Errorf("calls %q, want %q", got, want)
			}
			location := ""
			if w.Code == http.StatusAccepted {
				location = "http://127.0.0.1:22050" + rest.Prefix + c.path
			}
			if got := w.Header().Get("Location"); got != location {
				t.Errorf("Location %q, want %q", got, location)
			}
		})
	}
}

func TestSubmissionsOff(t *testing.T) {
	for _, r := range rest.Routes(rest.Config{Source: webtest.New(), Controller: &webtest.Controller{}, SubmissionsOff: true, Now: now}) {
		if r.Pattern == rest.Prefix+"/apps/new-application" {
			if w := call(r.Handler, webgate.Caller{User: "alice"}); w.Code != http.StatusForbidden {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
	}
}

func TestDeadlines(t *testing.T) {
	s := webtest.New()
	a := s.Picture.Applications[3]
	a.Timeouts = append(a.Timeouts, struct {
		Type     string
		ExpireAt int64
	}{"LIFETIME", webtest.Moment + 90_500})
	body := get(serve(t, s, &webtest.Controller{}), "/apps/"+a.ID.String()+"/timeouts/LIFETIME", "").Body.String()
	want := time.UnixMilli(webtest.Moment + 90_500).Format("2006-01-02T15:04:05.000-0700")
	if body != `{"timeout":{"type":"LIFETIME","expiryTime":"`+want+`","remainingTimeInSeconds":90}}` {
		t.Error(body)
	}
}
