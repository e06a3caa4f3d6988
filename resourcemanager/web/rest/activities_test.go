package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// doing is what was recorded of a walk in which nobody gets anything.
func doing() []view.NodeActivities {
	idle := view.Refusal{Code: "nothing-asked", Short: "Queue does not need more resource"}
	leaf := func(path string) *view.Activity {
		return &view.Activity{Name: path, State: "SKIPPED", Why: idle}
	}
	app := &view.Activity{Name: webtest.App(7).String(), App: true, Priority: 1, State: "SKIPPED", Why: view.Refusal{Code: "nothing-asked", Short: "Application does not need more resource"}}
	return []view.NodeActivities{{Node: yarn.NodeID{Host: "localhost", Port: 26839}, State: "SKIPPED",
		Root: &view.Activity{Name: "root", State: "SKIPPED", Below: []*view.Activity{leaf("root.closed"), {Name: "root.dev", State: "SKIPPED", Below: []*view.Activity{app}}, leaf("root.prod")}}}}
}

// waits is an application with two requests on three nodes.
func waits() (out []view.NodeActivities) {
	full := view.Refusal{Code: "node-full", Short: "Node does not have sufficient resource for request", Text: "the node has 1 MB left", OfNode: true}
	for i, host := range []string{"n1", "n2", "n3"} {
		small := &view.Activity{Request: true, Priority: 5, RequestID: -1, State: "SKIPPED", Why: full}
		large := &view.Activity{Request: true, Priority: 20, RequestID: 7, State: "SKIPPED", Why: view.Refusal{Code: "queue-headroom-too-small", Short: "Queue does not have enough headroom", Text: "the queue has room for 1 MB"}}
		x := view.NodeActivities{Node: yarn.NodeID{Host: host, Port: 1}, State: "SKIPPED", Queue: "root.dev.a", Why: full,
			Root: &view.Activity{App: true, Priority: 3, State: "SKIPPED", Below: []*view.Activity{small, large}}}
		if i == 2 {
			x.State, x.Why, small.State, small.Why = "ALLOCATED", view.Refusal{}, "ALLOCATED", view.Refusal{}
		}
		out = append(out, x)
	}
	return out
}

func TestAppActivities(t *testing.T) {
	s := webtest.New()
	s.Doing = waits()
	h := serve(t, s, &webtest.Controller{})
	path := "/scheduler/app-activities/" + webtest.App(6).String()
	for query, want := range map[string][]string{
		"": {`"nodeId":"n1:1"`, `"queueName":"a","appPriority":3,"allocationState":"SKIPPED","diagnostic":"Node does not have sufficient resource for request\nthe node has 1 MB left"`,
			`"children":[{"requestPriority":5,"allocationRequestId":-1,"allocationState":"SKIPPED","children":[{"allocationState":"SKIPPED","diagnostic":"Node does not`,
			`{"requestPriority":20,"allocationRequestId":7,"allocationState":"SKIPPED","diagnostic":"Queue does not have enough headroom`,
			`{"allocationState":"ALLOCATED","nodeId":"n3:1"}`},
		"?requestPriorities=20&summarize=true":               {`"allocations":[{"timestamp":`, `"children":[{"requestPriority":20,"allocationRequestId":7,`},
		"?allocationRequestIds=-1,9&limit=1":                 {`"allocationRequestId":-1`},
		"?groupBy=diagnostic&summarize=true":                 {`{"allocationState":"SKIPPED","diagnostic":"Node does not have sufficient resource for request","count":2,"nodeIds":["n1:1","n2:1"]},{"allocationState":"ALLOCATED","count":1,"nodeIds":["n3:1"]}`},
		"?requestPriorities=99":                              {`{"appActivities":{"applicationId":"application_1_0006"}}`},
		"?actions=refresh":                                   {`"diagnostic":"Successfully received action: refresh"`},
		"?actions=refresh,get&limit=1":                       {`"nodeId":"n1:1"`},
		"?actions=refresh,&actions=":                         {`"diagnostic":"Got invalid action: , valid actions: [REFRESH, GET]"`},
		"?actions=get,+refresh":                              {`"diagnostic":"Got invalid action:  refresh, valid actions: [REFRESH, GET]"`},
		"?actions=refresh,refresh,":                          {`"diagnostic":"Successfully received action: refresh,refresh,"`},
		"?requestPriorities=,1":                              {`"diagnostic":"request priorities must be integers!"`},
		"?requestPriorities=20,&maxTime=+1&summarize=true":   {`"children":[{"requestPriority":20,`},
		"?allocationRequestIds=":                             {`"diagnostic":"allocation request Ids must be integers!"`},
		"?actions=dance":                                     {`"diagnostic":"Got invalid action: dance, valid actions: [REFRESH, GET]"`},
		"?groupBy=":                                          {`"diagnostic":"Got invalid groupBy: , valid groupBy types: [DIAGNOSTIC]"`},
		"?groupBy=x":                                         {`"diagnostic":"Got invalid groupBy: x, valid groupBy types: [DIAGNOSTIC]"`},
		"?limit=0":                                           {`"diagnostic":"limit must be greater than 0!"`},
		"?limit=x":                                           {`"diagnostic":"limit must be integer!"`},
		"?requestPriorities=x":                               {`"diagnostic":"request priorities must be integers!"`},
		"?allocationRequestIds=99999999999999999999":         {`"diagnostic":"allocation request Ids must be integers!"`},
		"?maxTime=2.5&requestPriorities=5&limit=99999999999": {`"diagnostic":"limit must be integer!"`},
	} {
		w := get(h, path+query, "")
		body := strings.ReplaceAll(w.Body.String(), strings.Split(webtest.App(1).String(), "_")[1], "1")
		for _, x := range want {
			if w.Code != http.StatusOK || !strings.Contains(body, x) {
				t.Errorf("%s: %d %s\nlacks %s", query, w.Code, body, x)
			}
		}
		valid(t, w.Body.String())
	}
	if got := strings.Count(get(h, path+"?limit=2", "").Body.String(), `"queueName"`); got != 2 {
		t.Errorf("%d nodes", got)
	}
	s.Denied = map[string]bool{"alice": true}
	other := "/scheduler/app-activities/" + webtest.App(5).String()
	if body := get(h, other, "").Body.String(); !strings.Contains(body, "may not view") && s.Picture.Applications[3].User != "alice" {
		t.Error(body)
	}
}

func TestActivitiesOfNodes(t *testing.T) {
	s := webtest.New()
	s.Doing = doing()
	h := serve(t, s, &webtest.Controller{})
	for path, want := range map[string]string{
		"/scheduler/activities":                                 `{"activities":{"nodeId":"localhost:`,
		"/scheduler/activities?nodeId=localhost":                `"finalAllocationState":"SKIPPED"`,
		"/scheduler/activities?groupBy=x&nodeId=n":              `{"activities":{"nodeId":"n","diagnostic":"Got invalid groupBy: x, valid groupBy types: [DIAGNOSTIC]"}}`,
		"/scheduler/bulk-activities?activitiesCount=1":          `{"bulkActivities":{"activities":[{"nodeId":"localhost:`,
		"/scheduler/bulk-activities?groupBy=x":                  `Got invalid groupBy`,
		"/scheduler/bulk-activities?activitiesCount=x":          `must be a number`,
		"/scheduler/app-activities/bogus":                       `"diagnostic":"Cannot find application with given appId"`,
		"/scheduler/app-activities/" + webtest.App(99).String(): `"diagnostic":"fail to get application activities after finished"`,
	} {
		if body := get(h, path, "").Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if body := get(h, "/scheduler/bulk-activities?activitiesCount=1", "").Body.String(); strings.Count(body, `"nodeId"`) != 1 {
		t.Error(body)
	}
	s.Picture.Nodes = nil
	for _, path := range []string{"/scheduler/activities", "/scheduler/bulk-activities"} {
		if body := get(h, path, "").Body.String(); !strings.Contains(body, "No node manager running in the cluster") {
			t.Errorf("%s: %s", path, body)
		}
	}
	h = serve(t, webtest.NewFair(), &webtest.Controller{})
	for path, status := range map[string]int{"/scheduler/activities": 200, "/scheduler/bulk-activities": 400, "/scheduler/app-activities/" + webtest.App(6).String(): 200} {
		if w := get(h, path, ""); w.Code != status || !strings.Contains(w.Body.String(), "Not Capacity Scheduler") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
