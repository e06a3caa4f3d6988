package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/nodelogs"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// TestRefresh: what the controller is asked, and what comes back.
func TestRefresh(t *testing.T) {
	c := &webtest.Controller{Fresh: access.Refreshed{Plan: &access.Plan{Version: 3}, Nodes: []access.RefreshedNode{
		{ID: yarn.NodeID{Host: "n1", Port: 1}, State: yarn.NodeRunning, Becomes: yarn.NodeDecommissioned, Containers: 2, Reason: "<disk>"}}}}
	h := serve(t, webtest.New(), c)
	for _, x := range []struct{ path, answer, call string }{
		{"queues?dryRun=true", `{"refresh":{"what":"queues","dryRun":true,"accepted":true,"plan":{"version":3,"accepted":true}}}`, "refresh by alice: {What:queues DryRun:true Graceful:false}"},
		{"nodes?graceful=true", `{"refresh":{"what":"nodes","dryRun":false,"accepted":true,"plan":{"version":3,"accepted":true},"nodes":1,"node":[{"id":"n1:1","state":"RUNNING","becomes":"DECOMMISSIONED","containers":2,"reason":"<disk>"}]}}`,
			"refresh by alice: {What:nodes DryRun:false Graceful:true}"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, rest.Prefix+"/refresh/"+x.path, nil))
		calls := c.Calls()
		if w.Body.String() != x.answer || calls[len(calls)-1] != x.call {
			t.Errorf("%s: %s after %v", x.path, w.Body, calls)
		}
	}
	for path, status := range map[string]int{"/refresh/queues?dryRun=perhaps": 400, "/refresh/everything": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, rest.Prefix+path, nil))
		if w.Code != status || len(c.Calls()) != 2 {
			t.Errorf("%s: %d, %v", path, w.Code, c.Calls())
		}
	}
	c.Err = answer.Errorf(answer.Unauthorized, "administrators only")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, rest.Prefix+"/refresh/nodes", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestQueueSettings(t *testing.T) {
	s := webtest.New()
	s.Settings = []config.Property{{Name: "yarn.scheduler.capacity.root.dev.capacity", Value: "40", Origin: "capacity-scheduler.xml:7"}}
	h := serve(t, s, &webtest.Controller{})
	if got := get(h, "/queues/root.dev/settings", "").Body.String(); got != `{"queueSettings":{"queuePath":"root.dev","property":[{"name":"yarn.scheduler.capacity.root.dev.capacity","value":"40","origin":"capacity-scheduler.xml:7"}]}}` {
		t.Error(got)
	}
	if w := get(h, "/queues/root.nowhere/settings", ""); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.Rights = map[string]access.QueueRights{"alice root.dev": {Submit: true}}
	if w := get(h, "/queues/root.dev/settings", ""); w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPast(t *testing.T) {
	s := webtest.New()
	s.Before = []access.Sample{{At: 5, Used: yarn.NewResource(1024, 1), AppsRunning: 2}}
	if got := get(serve(t, s, &webtest.Controller{}), "/metrics/past", "").Body.String(); !strings.HasPrefix(got, `{"metricsPast":{"sample":[{"time":5,"usedMB":1024,"reservedMB":0,`) {
		t.Error(got)
	}
}

// TestLogs: the node of a container is asked, as the caller, if the caller may view the application.
func TestLogs(t *testing.T) {
	var asked []string
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		if strings.HasSuffix(r.URL.Path, "/logs") {
			fmt.Fprint(w, `{"containerLogInfo":[{"fileName":"stdout","fileSize":"3"}]}`)
			return
		}
		fmt.Fprint(w, "LogLength:3\nLogContents:\nabc\nEnd of LogType:stdout\n")
	}))
	defer node.Close()
	s := webtest.New()
	var id string
	for _, a := range s.Picture.Applications {
		for _, at := range a.Attempts {
			if !at.MasterContainer.IsZero() && id == "" && a.User != "alice" {
				at.NodeHTTPAddress, id = strings.TrimPrefix(node.URL, "http://"), at.MasterContainer.String()
			}
		}
	}
	h := serveWith(t, s, &webtest.Controller{}, nodelogs.New("http", "", nil))
	if got := get(h, "/containers/"+id+"/logs", "").Body.String(); got != `{"containerLogs":{"containerId":"`+id+`","file":[{"name":"stdout","bytes":3}]}}` {
		t.Error(got)
	}
	if got := get(h, "/containers/"+id+"/logs/stdout?bytes=77", "").Body.String(); got != `{"containerLog":{"containerId":"`+id+`","file":"stdout","length":3,"text":"abc"}}` {
		t.Error(got)
	}
	if want := "/ws/v1/node/containers/" + id + "/logs/stdout?size=-77&user.name=alice"; len(asked) != 2 || asked[1] != want {
		t.Errorf("asked %v, want %s last", asked, want)
	}
	s.Denied = map[string]bool{"alice": true}
	for path, status := range map[string]int{"/containers/" + id + "/logs": 403, "/containers/" + id + "/logs/stdout": 403, "/containers/container_1/logs": 400,
		"/containers/" + id[:len(id)-6] + "999999/logs": 403} {
		if w := get(h, path, ""); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	s.Denied = nil
	for path, status := range map[string]int{"/containers/" + id[:len(id)-6] + "999999/logs": 404, "/containers/" + id + "/logs/x?bytes=0": 400} {
		if w := get(h, path, ""); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked %v", asked)
	}
}
