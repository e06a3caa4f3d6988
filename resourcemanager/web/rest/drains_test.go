package rest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

const drainingNode = `{"id":"localhost:22717","state":"DECOMMISSIONING","phase":"WAIT_CONTAINER","requestedAt":1795305379052,"requestedBy":"carol",` +
	`"reason":"bad <disk>","source":"cli","deadline":1795305529552,"secondsLeft":90,"estimatedSeconds":90,"containers":3,"applications":1,"lostMemorySeconds":46649,` +
	`"heldBy":[{"id":"application_1795305251364_0006","containers":3,"master":true,"user":"alice","queue":"root.prod.adhoc","name":"running2","progress":0.0}]}`

const goneNode = `{"id":"old:1","state":"DECOMMISSIONED","phase":"DECOMMISSIONED","requestedAt":1795305369052,"requestedBy":"carol","reason":"","source":"api",` +
	`"cutShort":true,"containers":0,"applications":0,"lostMemorySeconds":0}`

func TestDrains(t *testing.T) {
	for _, c := range []struct {
		name, method, query, body string
		denied                    bool
		err                       error
		status                    int
		answer, call              string
	}{
		{name: "all", method: "GET", status: 200, answer: `{"drains":{"node":[` + drainingNode + `,` + goneNode + `]}}`},
		{name: "one that does not drain", method: "GET", query: "?nodes=LOCALHOST:26839", status: 200, answer: `"state":"RUNNING","phase":"NONE",`},
		{name: "a host", method: "GET", query: "?nodes=localhost", status: 200, answer: drainingNode + `,{"id":"localhost:26839"`},
		{name: "nobody's", method: "GET", query: "?nodes=localhost,other", status: 404, answer: "no node other"},
		{name: "what others run", method: "GET", denied: true, status: 200, answer: `"heldBy":[{"id":"application_1795305251364_0006","containers":3,"master":true}]`},
		{name: "drain a node", method: "POST", body: `{"nodes":"localhost:26839","deadline":"10m","reason":"disk"}`, status: 200,
			answer: `{"drains":{"dryRun":false,"node":[{"id":"localhost:26839"`, call: `drain by alice: [localhost:26839] until 1795306039052, "disk", api`},
		{name: "drain a host", method: "POST", body: `{"drain":{"nodes":["localhost"],"deadline":"none","source":"cli"}}`, status: 200,
			answer: drainingNode, call: `drain by alice: [localhost:0] until 0, "", cli`},
		{name: "drain as configured", method: "POST", body: `{"nodes":"old"}`, status: 200, call: `drain by alice: [old:0] until -1, "", api`},
		{name: "until a time", method: "POST", body: `{"nodes":"old","deadline":"2040-01-01T00:00:00Z"}`, status: 200, call: `drain by alice: [old:0] until 2208988800000, "", api`},
		{name: "whichever", method: "POST", body: `{"count":1}`, status: 200, answer: `"id":"localhost:26839"`, call: `drain by alice: [localhost:26839] until -1, "", api`},
		{name: "a dry run", method: "POST", body: `{"nodes":"localhost","dryRun":true}`, status: 200,
			answer: `"warning":["No node that stays is large enough for the <memory:512, vCores:1> that application_1795305251364_0008 asks for"]`},
		{name: "a dry run, what others ask for", method: "POST", body: `{"nodes":"localhost","dryRun":true}`, denied: true, status: 200,
			answer: `"warning":["No node that stays is large enough for what application_1795305251364_0008 asks for"]`},
		{name: "refused", method: "POST", body: `{"nodes":"old"}`, err: answer.Errorf(answer.Unauthorized, "not yours"), status: 401, answer: "not yours",
			call: `drain by alice: [old:0] until -1, "", api`},
		{name: "no nodes", method: "POST", body: `{}`, status: 400, answer: "either nodes or count"},
		{name: "both", method: "POST", body: `{"nodes":"old","count":1}`, status: 400, answer: "either nodes or count"},
		{name: "no list", method: "POST", body: `{"nodes":[1]}`, status: 400, answer: "a list of names"},
		{name: "too many", method: "POST", body: `{"count":2}`, status: 400, answer: "count is 2, and 1 nodes are running"},
		{name: "no number", method: "POST", body: `{"count":"-1"}`, status: 400, answer: "not a whole number above 0"},
		{name: "an unknown one", method: "POST", body: `{"nodes":"old,x"}`, status: 404, answer: "no node x"},
		{name: "no such field", method: "POST", body: `{"nodes":"old","timeout":3}`, status: 400, answer: `drain has no field`},
		{name: "no time", method: "POST", body: `{"nodes":"old","deadline":"soon"}`, status: 400, answer: "is not a duration such as 30m"},
		{name: "less than nothing", method: "POST", body: `{"nodes":"old","deadline":"-1s"}`, status: 400, answer: "is not a duration such as 30m"},
		{name: "a time that has passed", method: "POST", body: `{"nodes":"old","deadline":"2020-01-01T00:00:00Z"}`, status: 400, answer: "has passed"},
		{name: "many lines", method: "POST", body: `{"nodes":"old","reason":"a\nb"}`, status: 400, answer: "one line of at most"},
		{name: "another kind of line", method: "POST", body: `{"nodes":"old","reason":"a\u0085b"}`, status: 400, answer: "without control characters"},
		{name: "nothing at once", method: "POST", body: `{"nodes":"old","deadline":0}`, status: 400, answer: "is not a duration such as 30m"},
		{name: "at once", method: "POST", body: `{"nodes":"old","deadline":"0s"}`, status: 200, call: `drain by alice: [old:0] until 1795305439052, "", api`},
		{name: "what stands for a host", method: "POST", body: `{"nodes":"absent:-1"}`, status: 200, answer: `"id":"absent:-1"`, call: `drain by alice: [absent:0] until -1, "", api`},
		{name: "long", method: "POST", body: `{"nodes":"old","reason":"` + strings.Repeat("x", 1025) + `"}`, status: 400, answer: "one line of at most"},
		{name: "neither", method: "POST", body: `{"nodes":"old","dryRun":"perhaps"}`, status: 400, answer: "neither true nor false"},
		{name: "take back", method: "DELETE", query: "?nodes=old", status: 200, answer: goneNode, call: "undrain by alice: [old:0]"},
		{name: "take many back", method: "DELETE", body: `{"nodes":["old","x"]}`, status: 200, answer: goneNode, call: "undrain by alice: [x:0 old:0]"},
		{name: "take back something else", method: "DELETE", body: `{"hosts":["old"]}`, status: 400, answer: "no field"},
		{name: "take nothing back", method: "DELETE", status: 400, answer: "undrain needs nodes"},
		{name: "take back who is not here", method: "DELETE", query: "?nodes=x,y:3", status: 200, answer: `{"drains":{}}`, call: "undrain by alice: [x:0 y:3]"},
		{name: "one of a host's", method: "DELETE", query: "?nodes=LOCALHOST:22717", status: 200, answer: drainingNode, call: "undrain by alice: [localhost:22717]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := webtest.Drains()
			s.Picture.Nodes = append(s.Picture.Nodes, &view.Node{ID: yarn.NodeID{Host: "absent", Port: -1}, State: yarn.NodeDecommissioned})
			if c.denied {
				s.Denied = map[string]bool{"alice": true}
				for _, a := range s.Picture.Applications {
					a.User = "bob"
				}
			}
			controller := &webtest.Controller{Err: c.err}
			w := send(serve(t, s, controller), c.method, "/drains"+c.query, "json", c.body)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) {
				t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, c.status, c.answer)
			}
			var want []string
			if c.call != "" {
				want = []string{c.call}
			}
			if got := controller.Calls(); !slices.Equal(got, want) {
				t.Errorf("calls %q, want %q", got, want)
			}
		})
	}
}

// In XML the same is read and told.
func TestDrainsXML(t *testing.T) {
	controller := &webtest.Controller{}
	h := serve(t, webtest.Drains(), controller)
	for _, c := range []struct{ method, body, answer string }{
		{"GET", "", `<drains><node><id>localhost:22717</id>`},
		{"POST", `<drain><nodes>old</nodes><dryRun>true</dryRun></drain>`, `<drains><dryRun>true</dryRun><node><id>old:1</id>`},
		{"POST", `<drain><nodes>localhost,old</nodes><reason>a &lt;disk&gt;</reason></drain>`, `<reason>bad &lt;disk></reason>`},
	} {
		w := send(h, c.method, "/drains", "xml", c.body)
		if w.Code != 200 || !strings.Contains(w.Body.String(), c.answer) {
			t.Errorf("%s %s: %d %s\nwant %s", c.method, c.body, w.Code, w.Body, c.answer)
		}
	}
	if got, want := controller.Calls(), []string{`drain by alice: [localhost:0 old:0] until -1, "a <disk>", api`}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// TestCountNamesHosts: a node that is alone on its host is drained by its host's name.
func TestCountNamesHosts(t *testing.T) {
	s := webtest.Drains()
	alone := *s.Picture.Nodes[1]
	alone.ID.Host = "node2"
	s.Picture.Nodes[1] = &alone
	controller := &webtest.Controller{}
	w := send(serve(t, s, controller), "POST", "/drains", "json", `{"count":1,"deadline":"none"}`)
	if want := []string{`drain by alice: [node2:0] until 0, "", api`}; w.Code != 200 || !slices.Equal(controller.Calls(), want) {
		t.Errorf("%d %s: %q, want %q", w.Code, w.Body, controller.Calls(), want)
	}
}
