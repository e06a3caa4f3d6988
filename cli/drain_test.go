package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
)

const (
	drainingH1 = `{"id":"h1:1","state":"DECOMMISSIONING","phase":"WAIT_CONTAINER","requestedBy":"ann","reason":"disk\u202e","deadline":9,"secondsLeft":90,` +
		`"estimatedSeconds":80,"containers":2,"applications":1,"heldBy":[{"id":"application_1_0001","user":"bob","queue":"root.a","progress":45.2,"containers":2,"master":true}]}`
	waitingH1 = `{"id":"h1:1","state":"DECOMMISSIONING","phase":"WAIT_APP","requestedBy":"ann","containers":0,"applications":1,"heldBy":[{"id":"application_1_0001"}]}`
	goneH1    = `{"id":"h1:1","state":"DECOMMISSIONED","phase":"DECOMMISSIONED","requestedBy":"ann"}`
	cutH1     = `{"id":"h1:1","state":"DECOMMISSIONED","phase":"DECOMMISSIONED","requestedBy":"ann","cutShort":true}`
	rebootH1  = `{"id":"h1:1","state":"REBOOTED","phase":"NONE","requestedBy":"ann","cutShort":true}`
	goneH0    = `{"id":"h0:1","state":"DECOMMISSIONED","phase":"DECOMMISSIONED","requestedBy":"ann"}`
	usedH1    = `{"id":"h1:1","state":"RUNNING","phase":"NONE","containers":2,"applications":1}`
)

func drainsOf(nodes ...string) string {
	return `{"drains":{"dryRun":false,"node":[` + strings.Join(nodes, ",") + `]}}`
}

func TestDrain(t *testing.T) {
	var asked []string
	var answers []string
	status := 200
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answers[0])
		answers = answers[min(1, len(answers)-1):]
	}))
	defer web.Close()
	rm := clienttest.Start(t, nil)
	dir := rm.ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
	const path, me = "/ws/v1/cluster/drains?", "user.name=alice"
	const row = "Node-Id                      State            Phase            Time-Left Containers Applications  Requested-By\n"
	const status1 = "2026-11-22 00:11:50 +0000: 1 nodes\n" + row +
		"h1:1                         DECOMMISSIONING  WAIT_CONTAINER       1m30s          2            1  ann: disk\\u202e\n" +
		"    application_1_0001 of bob in root.a, 45% done, 2 containers, its ApplicationMaster among them\n"
	many := strings.TrimSuffix(strings.Repeat("node.example.org,", 1000), ",")
	for _, c := range []struct {
		args     string
		columns  int // of the terminal; 0: there is none
		status   int
		answers  []string
		asked    string // the first request; a later one is for the nodes of the answer
		code     int
		out, err string
	}{
		{args: "-drain-status", answers: []string{drainsOf(drainingH1)}, asked: "GET " + path + me, out: status1},
		{args: "-drain-status h1 h2:5", answers: []string{drainsOf(waitingH1)}, asked: "GET " + path + "nodes=h1%2Ch2%3A5&" + me, out: "WAIT_APP          no limit          0            1  ann\n    application_1_0001, 0 containers\n"},
		{args: "-drain-status", answers: []string{`{"drains":{}}`}, asked: "GET " + path + me, out: ": 0 nodes\n"},
		{args: "-drain-status --output json", answers: []string{drainsOf(goneH1)}, asked: "GET " + path + me, out: `"state": "DECOMMISSIONED"`},
		{args: "-drain h1 h2,h3:7 -deadline 30m -reason disk", answers: []string{drainsOf(drainingH1)},
			asked: "POST " + path + me + ` {"deadline":"30m","dryRun":false,"nodes":["h1","h2","h3:7"],"reason":"disk","source":"cli"}`, out: status1},
		{args: "-drain -count 3 --dry-run", answers: []string{`{"drains":{"node":[` + usedH1 + `],"warning":["Queue root.a"]}}`},
			asked: "POST " + path + me + ` {"count":"3","dryRun":true,"source":"cli"}`, out: "WARNING: Queue root.a\n"},
		{args: "-drain h1 -wait", answers: []string{drainsOf(drainingH1), drainsOf(waitingH1), drainsOf(goneH1)}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`,
			out: "2026-11-22T00:11:50+0000 h1:1 WAIT_CONTAINER: 2 containers, 1 application\n2026-11-22T00:11:50+0000 h1:1 WAIT_APP: 0 containers, 1 application\n" +
				"2026-11-22T00:11:50+0000 h1:1 is DECOMMISSIONED\n"},
		{args: "-drain h1 -wait", columns: 200, answers: []string{drainsOf(drainingH1), drainsOf(goneH1)}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`,
			out: "\r\x1b[K[..............................] 0 of 1 node gone, 2 containers left, about 1m20s\r\x1b[K[##############################] 1 of 1 node gone, 0 containers left\n"},
		{args: "-drain h1 -wait", answers: []string{drainsOf(drainingH1), drainsOf(`{"id":"h1:1","state":"DECOMMISSIONED","placeholder":true}`), drainsOf(drainingH1), drainsOf(goneH1)},
			asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`, out: "h1:1 is DECOMMISSIONED\n", err: "has not registered since the ResourceManager started"},
		{args: "-drain h1 -wait", answers: []string{drainsOf(cutH1)}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`, code: 3, out: "before all had ended"},
		{args: "-drain h1 -wait", answers: []string{drainsOf(usedH1)}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`, code: 4, out: "h1:1 is RUNNING\n"},
		{args: "-drain h1 -wait", answers: []string{drainsOf(rebootH1)}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`, code: 3, out: "before all had ended"},
		{args: "-drain h1 -wait", answers: []string{drainsOf(drainingH1), drainsOf()}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`, code: 4, out: "h1:1 is not draining\n"},
		// The node that went first is not asked for again, and is told of in the end.
		{args: "-drain h0 h1 -wait --output json", answers: []string{drainsOf(goneH0, drainingH1), drainsOf(goneH1)},
			asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h0","h1"],"source":"cli"}`, out: `"id": "h0:1",`},
		{args: "-drain h1 -wait --output json", answers: []string{drainsOf(goneH1)}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`, out: "{\n  \"schema\""},
		{args: "-drain h1", status: 400, answers: []string{`{"RemoteException":{"message":"no node h1"}}`}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`,
			code: 1, err: "no node h1"},
		{args: "-drain h1", status: 404, answers: []string{`<html>`}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`, code: 1, err: "no ResourceManager of Heddle, or an older one"},
		{args: "-drain h1", status: 404, answers: []string{`{"RemoteException":{"message":"HTTP 404 Not Found"}}`}, asked: "POST " + path + me + ` {"dryRun":false,"nodes":["h1"],"source":"cli"}`,
			code: 1, err: "has no drains"},
		{args: "-undrain h1", answers: []string{drainsOf(usedH1)}, asked: "DELETE " + path + "nodes=h1&" + me, out: "h1:1 is RUNNING\n"},
		{args: "-undrain " + many, answers: []string{drainsOf()}, asked: "DELETE " + path + me + ` {"nodes":["` + strings.ReplaceAll(many, ",", `","`) + `"]}`, out: "Taken back"},
		{args: "-drain-status " + many, code: 1, err: "1000 hosts are too many for one request"},
		{args: "-undrain h1", answers: []string{drainsOf(rebootH1)}, asked: "DELETE " + path + "nodes=h1&" + me, out: "h1:1 may register again; start its NodeManager\n"},
		{args: "-drain-status", answers: []string{drainsOf(strings.Replace(drainingH1, `"secondsLeft":90`, `"secondsLeft":251000000000`, 1))}, asked: "GET " + path + me, out: " 2562047h47m16s "},
		{args: "-undrain h1", answers: []string{drainsOf(goneH1)}, asked: "DELETE " + path + "nodes=h1&" + me, out: "h1:1 may register again; start its NodeManager\n"},
		{args: "-drain", code: 255, err: "Invalid Command Usage"},
		{args: "-drain h1 -count 2", code: 255, err: "Invalid Command Usage"},
		{args: "-undrain", code: 255, out: "Missing argument"},
		{args: "h3 -undrain h1", code: 255, err: "Invalid Command Usage"},
	} {
		asked, answers, status = nil, c.answers, max(c.status, 200)
		w := newWorld()
		if c.columns > 0 {
			w.Terminal = func() (int, bool) { return c.columns, true }
		}
		got := w.run(append([]string{"--config", dir, "node"}, strings.Fields(c.args)...)...)
		if len(asked) == 0 {
			asked = []string{""}
		}
		for _, later := range asked[1:] {
			if want := "GET " + path + "nodes=h1%3A1&" + me; later != want {
				t.Errorf("%s: asked %q, want %q", c.args, later, want)
			}
		}
		if asked[0] != c.asked || got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.err) {
			t.Errorf("%s: asked %q\nwant %q\nexit %d, want %d\n%s%s", c.args, asked[0], c.asked, got.code, c.code, got.out, got.err)
		}
	}
}
