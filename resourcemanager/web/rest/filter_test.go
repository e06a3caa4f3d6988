package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

var idInList = regexp.MustCompile(`\{"id":"application_\d+_0*(\d+)"`)

// numbers are the applications in an answer, in order.
func numbers(body string) string {
	var out []string
	for _, m := range idInList.FindAllStringSubmatch(body, -1) {
		out = append(out, m[1])
	}
	return strings.Join(out, " ")
}

func TestFilters(t *testing.T) {
	h := serve(t, webtest.New(), &webtest.Controller{})
	for query, want := range map[string]string{
		"":                        "9 8 6 4 3 1", // the newest first
		"states=RUNNING,finished": "6 1",
		"states=RUNNING&states=FINISHED&state=KILLED": "6 4 1",
		"state=accepted":                     "8",
		"finalStatus=SUCCEEDED":              "1",
		"finalStatus=UNDEFINED":              "8 6",
		"user=bob":                           "9 8 3",
		"user=BOB":                           "",
		"queue=root.prod.adhoc":              "6 4 3",
		"queue=adhoc":                        "6 4 3",
		"queue=root.prod":                    "6", // only what lives below a parent
		"queue=root":                         "8 6",
		"queue=closed":                       "9",
		"limit=2":                            "9 8",
		"limit=2&user=alice":                 "6 1", // the limit counts what passed
		"limit=99999999999":                  "9 8 6 4 3 1",
		"applicationTypes=yarn":              "6 1",
		"applicationTypes=rest,YARN&limit=1": "9",
		"applicationTags=LOOM":               "8",
		"applicationTags=weft,none":          "8",
		"applicationTags=none":               "",
		"name=running2":                      "6",
		"name=running":                       "",
		"startedTimeBegin=1795305366201":     "9 8 6 4",
		"startedTimeEnd=1795305366201":       "4 3 1",
		"startedTimeBegin=1795305366201&startedTimeEnd=1795305366201": "4",
		"finishedTimeBegin=1":           "9 4 3 1", // what has not finished has not
		"finishedTimeEnd=1795305342488": "8 6 1",
		"states=":                       "9 8 6 4 3 1",
		"user=nobody&finalStatus=x":     "", // is wrong only for those that are found
		"user=nobody&deSelects=x":       "",
	} {
		w := get(h, "/apps?"+query, "application/json")
		if got := numbers(w.Body.String()); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d [%s], want [%s]", query, w.Code, got, want)
		}
	}
	for query, want := range map[string]string{
		"finishedTimeBegin=-1":                          "finishTimeBegin must be greater than 0",
		"finishedTimeEnd=x":                             "finishedTimeEnd value must be a number!",
		"finishedTimeBegin=2&finishedTimeEnd=1":         "finishTimeEnd must be greater than finishTimeBegin",
		"startedTimeEnd=-5":                             "startedTimeEnd must be greater than 0",
		"applicationTags=" + strings.Repeat("x,", 1000): "applicationTags lists more than 1000 values",
		"limit=-3":                               "limit value must be greater then 0",
		"limit=-3&finalStatus=x":                 "limit value must be greater then 0",
		"deSelects=x&finalStatus=y":              "FinalApplicationStatus.y",
		"deSelects=timeouts,nonsense":            "Invalid deSelects string nonsense specified",
		"applicationTypes=a&states=RUNNING,NONE": "Invalid application-state NONE specified",
	} {
		w := get(h, "/apps?"+query, "application/json")
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestAmbiguousQueue(t *testing.T) {
	s := webtest.New()
	s.Tree.Queues[2].Name, s.Tree.Queues[4].Name = "same", "same"
	w := get(serve(t, s, &webtest.Controller{}), "/apps?queue=same", "")
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Unknown queue: same") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestDeselected(t *testing.T) {
	h := serve(t, webtest.New(), &webtest.Controller{})
	for _, part := range []string{"resourceRequests", "timeouts", "appNodeLabelExpression", "amNodeLabelExpression", "resourceInfo"} {
		for _, path := range []string{"/apps?user=bob&states=ACCEPTED&", "/apps/" + webtest.App(8).String() + "?"} {
			with, without := get(h, path, "").Body.String(), get(h, path+"deSelects="+strings.ToUpper(part), "").Body.String()
			if !strings.Contains(with, `"`+part+`":`) || strings.Contains(without, `"`+part+`":`) {
				t.Errorf("%s on %s: with\n%s\nwithout\n%s", part, path, with, without)
			}
		}
	}
}

func TestStatistics(t *testing.T) {
	h := serve(t, webtest.New(), &webtest.Controller{})
	for query, want := range map[string]string{
		"states=running,finished&applicationTypes=YARN": `{"appStatInfo":{"statItem":[{"state":"RUNNING","type":"yarn","count":1},{"state":"FINISHED","type":"yarn","count":1}]}}`,
		"states=FAILED": `{"appStatInfo":{"statItem":[{"state":"FAILED","type":"*","count":2}]}}`,
	} {
		if got := get(h, "/appstatistics?"+query, "").Body.String(); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	if n := strings.Count(get(h, "/appstatistics", "").Body.String(), `"state"`); n != len(yarn.PublicStates()) {
		t.Errorf("%d states", n)
	}
}

func TestNodeStates(t *testing.T) {
	s := webtest.New()
	lost := *s.Picture.Nodes[1]
	lost.State, lost.Labels = yarn.NodeLost, []string{"b", "a"}
	s.Picture.Nodes[1] = &lost
	h := serve(t, s, &webtest.Controller{})
	for query, want := range map[string]int{"": 2, "states=RUNNING": 1, "states=running,lost": 2, "states=LOST": 1, "states=NEW": 0} {
		if n := strings.Count(get(h, "/nodes?"+query, "").Body.String(), `"rack"`); n != want {
			t.Errorf("%q: %d nodes, want %d", query, n, want)
		}
	}
	body := get(h, "/nodes/localhost:26839", "").Body.String()
	for _, want := range []string{`"nodeHTTPAddress":""`, `"numContainers":0`, `"usedMemoryMB":0`, `"nodeLabels":["a","b"]`, `"memUtilization":0.0`} {
		if !strings.Contains(body, want) {
			t.Errorf("a lost node lacks %s: %s", want, body)
		}
	}
	if strings.Contains(body, "usedResource") {
		t.Errorf("a lost node has used resources: %s", body)
	}
}

// TestHidden: without the right to view, details are blank or refused.
func TestHidden(t *testing.T) {
	s := webtest.New()
	s.Denied = map[string]bool{"alice": true}
	h := serve(t, s, &webtest.Controller{})
	body := get(h, "/apps/"+webtest.App(4).String(), "").Body.String()
	for _, want := range []string{`"startedTime":0`, `"masterNodeId":""`, `"allocatedMB":0`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "amContainerLogs") {
		t.Errorf("a place is shown: %s", body)
	}
	attempt := "/apps/" + webtest.App(4).String() + "/appattempts/appattempt_1795305251364_0004_000001"
	for _, path := range []string{attempt, attempt + "/containers"} {
		if w := get(h, path, ""); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, x := range []struct {
		app        int32
		path, want string
	}{ // all ids are read, then compared, then looked up
		{1, "/appattempts/x/containers/y", "Invalid AppAttemptId prefix: x"},
		{1, "/appattempts/appattempt_1_0001_000001/containers/x", "Invalid ContainerId prefix: x"},
		{1, "/appattempts/appattempt_1_0001_000001/containers/container_x", "Invalid ContainerId: container_x"},
		{1, "/appattempts/appattempt_1_0001_000001/containers/container_1_0001_01_000001", "appId and appAttemptId don't match"},
		{4, "/appattempts/appattempt_1795305251364_0004_000009/containers/container_1_0001_01_000001", "appAttemptId and containerId don't match"},
		{77, "/timeouts/x", "not found"},
		{77, "?deSelects=x", "app with id: " + webtest.App(77).String() + " not found"},
		{77, "/appattempts/appattempt_1795305251364_0077_000001", "Application with id '" + webtest.App(77).String() + "' doesn't exist in RM"},
	} {
		if body := get(h, "/apps/"+webtest.App(x.app).String()+x.path, "").Body.String(); !strings.Contains(body, x.want) {
			t.Errorf("%d%s: %s", x.app, x.path, body)
		}
	}
	if body := get(h, "/apps/"+webtest.App(4).String()+"/appattempts", "").Body.String(); !strings.Contains(body, `"nodeId":""`) {
		t.Errorf("%s", body)
	}
	if got := numbers(get(h, "/apps", "").Body.String()); got != "9 8 6 4 3 1" {
		t.Errorf("listed: %s", got)
	}
	filtered := rest.Routes(rest.Config{Source: s, FilterByUser: true, Now: now})
	for _, r := range filtered {
		if r.Pattern == rest.Prefix+"/apps" && r.Method == "GET" {
			if got := numbers(call(r.Handler, webgate.Caller{User: "alice"}).Body.String()); got != "6 1" {
				t.Errorf("listed by user: %s", got)
			}
		}
	}
}

// TestManyApplications: a long list is streamed and complete.
func TestManyApplications(t *testing.T) {
	s := webtest.New()
	first := s.Picture.Applications[0]
	s.Picture.Applications = nil
	for i := range 3000 {
		a := *first
		a.ID = webtest.App(int32(i + 1))
		s.Picture.Applications = append(s.Picture.Applications, &a)
	}
	w := get(serve(t, s, &webtest.Controller{}), "/apps", "")
	if w.Header().Get("Content-Length") != "" {
		t.Error("a long answer was held back")
	}
	list := valid(t, w.Body.String())["apps"].(map[string]any)["app"].([]any)
	if len(list) != 3000 || list[0].(map[string]any)["id"] != webtest.App(3000).String() {
		t.Errorf("%d applications", len(list))
	}
}

// TestHostileTexts: what applications call themselves does not break an answer.
func TestHostileTexts(t *testing.T) {
	nasty := "</name>\x00\x1b\"\\<b>&amp;]]>\xff\u2028日本\r\n"
	s := webtest.New()
	s.Picture.Applications = []*view.Application{s.Picture.Applications[0]}
	a := s.Picture.Applications[0]
	a.Name, a.Diagnostics, a.Type, a.Tags = nasty, nasty, nasty, []string{nasty}
	h := serve(t, s, &webtest.Controller{})
	app := valid(t, get(h, "/apps", "").Body.String())["apps"].(map[string]any)["app"].([]any)[0].(map[string]any)
	want := strings.ToValidUTF8(nasty, "\ufffd")
	if app["name"] != want {
		t.Errorf("JSON: %q, want %q", app["name"], want)
	}
	text, err := xmlName(get(h, "/apps", "application/xml").Body.String())
	want = strings.NewReplacer("\x00", "\ufffd", "\x1b", "\ufffd").Replace(want)
	if err != nil || text != want {
		t.Errorf("XML: %q, %v, want %q", text, err, want)
	}
	w := get(h, "/apps/"+strings.Repeat("x", 100)+"%3Cscript%3E", "")
	if fmt.Sprint(valid(t, w.Body.String())["RemoteException"]) == "" || w.Header().Get("Content-Type") != "application/json;charset=utf-8" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

func TestWhy(t *testing.T) {
	s := webtest.New()
	h := serve(t, s, &webtest.Controller{})
	got := valid(t, get(h, "/apps/"+webtest.App(8).String()+"/why", "").Body.String())["why"].(map[string]any)
	if got["waiting"] != true || got["reason"] != s.Waiting[webtest.App(8)] {
		t.Errorf("%v", got)
	}
	if body := get(h, "/apps/"+webtest.App(6).String()+"/why", "").Body.String(); !strings.Contains(body, `"waiting":false`) || strings.Contains(body, "reason") {
		t.Error(body)
	}
	s.Taken = takings()
	for id, want := range map[yarn.ApplicationID]string{
		webtest.App(6): `"preemption":["1970-01-01T00:00:05Z container_1_0006_01_000002 in queue root.dev was preempted for application_1_0008 in queue root.prod (guarantee), after 4s: 4096 MB-seconds and 4 vcore-seconds lost"]`,
		webtest.App(8): `"preemption":["1970-01-01T00:00:06Z container_1_0007_01_000003 in queue root.dev is to be preempted for this application (balance)",`,
	} {
		if body := get(h, "/apps/"+id.String()+"/why", "").Body.String(); !strings.Contains(body, stamped(want)) {
			t.Errorf("%s\nwant %s", body, stamped(want))
		}
	}
	s.Denied = map[string]bool{"alice": true}
	if w := get(h, "/apps/"+webtest.App(8).String()+"/why", ""); w.Code != http.StatusForbidden {
		t.Errorf("%d", w.Code)
	}
}

// A reader who takes nothing of a long list holds none of the views that it was to be
// shown: what it takes later is what there is then.
func TestSlowReader(t *testing.T) {
	const many = 5000
	s := webtest.New()
	first := *s.Picture.Applications[3]
	views := func(name string) (all []*view.Application) {
		for i := range many {
			a := first
			a.ID, a.Name = webtest.App(int32(i+1)), name
			all = append(all, &a)
		}
		return all
	}
	s.Picture.Applications = views("old")
	var old []weak.Pointer[view.Application]
	for _, a := range s.Picture.Applications {
		old = append(old, weak.Make(a))
	}
	h := serve(t, s, &webtest.Controller{})
	w := &slow{header: http.Header{}, begun: make(chan struct{}), goOn: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, rest.Prefix+"/apps", nil))
	}()
	<-w.begun
	s.Changing.Lock()
	s.Picture.Applications = views("new")[:many-10]
	s.Changing.Unlock()
	runtime.GC()
	held := 0
	for _, p := range old {
		if p.Value() != nil {
			held++
		}
	}
	close(w.goOn)
	<-done
	if held > 5 {
		t.Errorf("%d of %d old views are held", held, many)
	}
	got, later := strings.Count(w.body.String(), `"name":"old"`), strings.Count(w.body.String(), `"name":"new"`)
	if got == 0 || got > 500 || later < many-10-got || later > many-got {
		t.Errorf("%d old and %d new of %d were shown", got, later, many)
	}
	if err := json.Unmarshal([]byte(w.body.String()), new(any)); err != nil {
		t.Error(err)
	}
}

// slow is a reader who takes nothing until it is told to.
type slow struct {
	header      http.Header
	begun, goOn chan struct{}
	once        sync.Once
	body        strings.Builder
}

func (w *slow) Header() http.Header { return w.header }
func (*slow) WriteHeader(int)       {}
func (w *slow) Write(p []byte) (int, error) {
	w.once.Do(func() {
		close(w.begun)
		<-w.goOn
	})
	return w.body.Write(p)
}

// discard is a reader who takes everything at once.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)               {}
