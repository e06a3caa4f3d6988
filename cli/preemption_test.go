package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
)

func TestPreemption(t *testing.T) {
	var asked, answer string
	status := 200
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.RequestURI()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer web.Close()
	dir := clienttest.Start(t, nil).ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
	t.Setenv("TZ", "UTC")
	const events = `{"preemptions":{"preemption":[{"time":6000,"event":"noticed","containerId":"c3","appId":"application_1_0007","queue":"root.dev\u202e","memoryMB":2048,"vCores":1,` +
		`"master":true,"ageMillis":5000,"rule":"balance","forQueue":"root.prod","lostMemorySeconds":0,"lostVcoreSeconds":0},` +
		`{"time":5000,"event":"preempted","containerId":"c2","appId":"application_1_0006","queue":"root.dev","memoryMB":1024,"vCores":1,"master":false,"ageMillis":4000,` +
		`"rule":"guarantee","forQueue":"root.prod","forAppId":"application_1_0008","lostMemorySeconds":4096,"lostVcoreSeconds":4}]}}`
	const path = "/ws/v1/cluster/"
	for _, c := range []struct {
		args     string
		status   int
		answer   string
		asked    string
		code     int
		out, err string
	}{
		{args: "queue -preemption", answer: events, asked: "GET " + path + "preemptions?limit=10000&user.name=alice",
			out: " noticed c3 <memory:2048, vCores:1> of root.dev\\u202e (ApplicationMaster) for root.prod; rule balance, age 5s\n"},
		{args: "queue -preemption root.prod", answer: events, asked: "GET " + path + "preemptions?limit=10000&queue=root.prod&user.name=alice",
			out: " preempted c2 <memory:1024, vCores:1> of root.dev for application_1_0008 in root.prod; rule guarantee, age 4s, lost 4096 MB-seconds, 4 vcore-seconds\n"},
		{args: "queue -preemption --output json", answer: events, asked: "GET " + path + "preemptions?limit=10000&user.name=alice", out: `"forAppId": null,` + "\n" + `      "lostMemorySeconds": 0,`},
		{args: "queue -preemption", answer: `{"preemptions":{"preemption":[]}}`, asked: "GET " + path + "preemptions?limit=10000&user.name=alice", out: "The ResourceManager remembers no preemption.\n"},
		{args: "queue -preemption nowhere", status: 404, answer: `{"RemoteException":{"message":"there is no queue nowhere"}}`, asked: "GET " + path + "preemptions?limit=10000&queue=nowhere&user.name=alice",
			code: 1, err: "there is no queue nowhere"},
		{args: "queue -preemption a b", code: 255, err: "Invalid Command Usage"},
		{args: "application -why application_1_0007", answer: `{"why":{"id":"application_1_0007","state":"ACCEPTED","waiting":true,"reason":"no room","preemption":["c3 has notice\u001b"]}}`,
			asked: "GET " + path + "apps/application_1_0007/why?user.name=alice", out: "application_1_0007 is ACCEPTED and waits: no room\nc3 has notice\\u001b\n"},
		{args: "application -why application_1_0008", answer: `{"why":{"id":"application_1_0008","state":"ACCEPTED","waiting":true,"reason":"no room","gates":{"gate":[` +
			`{"code":"queue-am-limit","text":"too many masters","setting":"a.b","origin":"q.xml:7","change":[{"name":"a.b","value":"0.2"},{"name":"a.c","value":"3"}],"lacks":{"memoryMB":512,"vCores":-1}},` +
			`{"code":"node-too-small","text":"small","never":true,"lacks":{"memoryMB":512,"vCores":0}},{"code":"node-full","text":"full\u001b","lacks":{"memoryMB":1,"vCores":2}}]}}}`,
			asked: "GET " + path + "apps/application_1_0008/why?user.name=alice", out: "waits: no room\n- too many masters\n  set by: a.b (q.xml:7)\n  enough would be: a.b = 0.2\n  together with: a.c = 3\n" +
				"  or that 512 MB become free\n- small\n  as things are it never starts: no node is large enough, whoever else ends\n- full\\u001b\n  enough would be that 1 MB and 2 vcores become free\n"},
		{args: "application -why application_1_0007", answer: `{"why":{"id":"application_1_0007","state":"RUNNING","waiting":false}}`, asked: "GET " + path + "apps/application_1_0007/why?user.name=alice",
			out: "application_1_0007 is RUNNING; its ApplicationMaster does not wait for a container\n"},
		{args: "application -why application_1_0007 --output json", answer: `{"why":{"id":"application_1_0007","state":"RUNNING","waiting":false}}`,
			asked: "GET " + path + "apps/application_1_0007/why?user.name=alice", out: `"reason": null,` + "\n" + `  "preemption": []`},
		{args: "application -why a/b", status: 404, answer: `{"RemoteException":{"message":"bad id"}}`, asked: "GET " + path + "apps/a%2Fb/why?user.name=alice", code: 1, err: "bad id"},
	} {
		asked, answer, status = "", c.answer, max(c.status, 200)
		got := newWorld().run(append([]string{"--config", dir}, strings.Fields(c.args)...)...)
		// The options come before the subcommand's words.
		if asked != c.asked || got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.err) {
			t.Errorf("%s: asked %q, want %q\nexit %d, want %d\n%s%s", c.args, asked, c.asked, got.code, c.code, got.out, got.err)
		}
	}
}
