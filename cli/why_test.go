package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
)

// A command whose question comes while another one is answered asks again.
func TestHeadroomAsksAgain(t *testing.T) {
	asked := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"RemoteException":{"message":"it is being computed for another request"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"headroom":{"queues":3}}`)
	}))
	defer web.Close()
	dir := clienttest.Start(t, nil).ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
	if got := newWorld().run("--config", dir, "queue", "-headroom"); got.code != 0 || asked != 3 || !strings.Contains(got.out, "3 queues") {
		t.Errorf("exit %d after %d questions: %s%s", got.code, asked, got.out, got.err)
	}
}

func TestWhyAndHeadroom(t *testing.T) {
	var asked, answer string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.RequestURI()
		_, _ = io.WriteString(w, answer)
	}))
	defer web.Close()
	dir := clienttest.Start(t, nil).ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
	t.Setenv("TZ", "UTC")
	const path = "/ws/v1/cluster/"
	const why = `{"why":{"id":"application_1_0008","state":"ACCEPTED","waiting":true,"reason":"no room","line":{"place":2,"of":5,"for":"containers","queue":"root.a"},"impossible":[{"text":"2 can never be had\u001b"}],` +
		`"gates":{"gate":[{"code":"max-running-apps","text":"too many","since":5000,"change":[{"name":"maxRunningApps","value":"2","element":"queue root.a"}],"tooLarge":true,` +
		`"act":{"do":"end-application","text":"x ends","command":"yarn application -kill x"},"holders":[{"appId":"x","user":"ann","queue":"root.b","memoryMB":2048,"vCores":2,"containers":3}]}]}}}`
	const rooms = `{"headroom":{"queues":2,"cut":true,"room":[{"queue":"root.a","partition":"","state":"RUNNING","largest":{"memoryMB":2048,"vCores":2},"containers":3,` +
		`"stop":{"code":"queue-limit","text":"full","setting":"a.b","origin":"q.xml:1"}},{"queue":"root.b","partition":"gpu","state":"STOPPED","largest":{"memoryMB":0,"vCores":0},"containers":0,"stop":{"code":"nothing-free","text":"nothing"}}]}}`
	for _, c := range []struct {
		args, answer, asked string
		code                int
		out                 []string
	}{
		{args: "application -why application_1_0008", answer: why, asked: "apps/application_1_0008/why?user.name=alice", out: []string{
			"waits: no room\nIt is number 2 of 5 in the queue root.a that wait for containers\n2 can never be had\\u001b\n- too many\n  since: 1970-01-01T00:00:05",
			"  what is asked for is by itself more than that: it never starts, whoever else ends\n  enough would be: maxRunningApps of queue root.a = 2\n  or: x ends\n    yarn application -kill x\n" +
				"  held by:\n    x of ann in root.b: 2048 MB, 2 vcores in 3 containers\n"}},
		{args: "application -why application_1_0008 --output json", answer: why, asked: "apps/application_1_0008/why?user.name=alice", out: []string{`"place": 2,`, `"code": "max-running-apps",`}},
		{args: "application -why application_1_0009", answer: `{"why":{"id":"application_1_0009","state":"FAILED","waiting":false,"refused":true}}`, asked: "apps/application_1_0009/why?user.name=alice",
			out: []string{"application_1_0009 is FAILED: its queue refused it, and would take it now; submit it again\n"}},
		{args: "queue -headroom", answer: rooms, asked: "headroom?user.name=alice", out: []string{"Headroom of queues", "<memory:2048, vCores:2>", "full; a.b (q.xml:1)", "<DEFAULT_PARTITION>", "none", "There are 2 queues; name one to see those below it.\n"}},
		{args: "queue -headroom root.b -user bob", answer: rooms, asked: "headroom?queue=root.b&user=bob&user.name=alice", out: []string{"Headroom of user bob"}},
		{args: "queue -headroom --output json", answer: rooms, asked: "headroom?user.name=alice", out: []string{`"code": "queue-limit",`, `"cut": true,`}},
		{args: "queue -headroom", answer: `{"headroom":{"queues":3}}`, asked: "headroom?user.name=alice", out: []string{"No node has anything for the 3 queues: yarn node -list -all says what there is.\n"}},
		{args: "queue -headroom a b", code: 255},
	} {
		asked, answer = "", c.answer
		got := newWorld().run(append([]string{"--config", dir}, strings.Fields(c.args)...)...)
		if c.asked != "" && asked != "GET "+path+c.asked || got.code != c.code {
			t.Errorf("%s: asked %q, exit %d\n%s%s", c.args, asked, got.code, got.out, got.err)
		}
		for _, want := range c.out {
			if !strings.Contains(got.out, want) {
				t.Errorf("%s\n%s\nwant %s", c.args, got.out, want)
			}
		}
	}
}
