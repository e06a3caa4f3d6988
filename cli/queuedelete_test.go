package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
)

func TestQueueDeletion(t *testing.T) {
	var asked, answer string
	status := 200
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.RequestURI()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer web.Close()
	dir := clienttest.Start(t, nil).ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
	const path, me = "/ws/v1/cluster/queues", "?user.name=alice"
	const root = `{"queuePath":"root","leaf":false,"dynamic":false,"deletable":false,"keptFor":"root-queue","keptBecause":"it is the root queue"}`
	const ann = `{"queuePath":"root.ann\u202e","leaf":true,"dynamic":true,"deletable":true}`
	for _, c := range []struct {
		args     string
		status   int
		answer   string
		asked    string
		code     int
		out, err string
	}{
		{args: "-kept", answer: `{"queues":{"queue":[` + root + `,` + ann + `]}}`, asked: "GET " + path + me, out: "root: it is the root queue\nroot.ann\\u202e: it can be deleted\n"},
		{args: "-kept root", answer: `{"queue":` + root + `}`, asked: "GET " + path + "/root" + me, out: "root: it is the root queue\n"},
		{args: "-kept --output json", answer: `{"queues":{"queue":[` + ann + `]}}`, asked: "GET " + path + me, out: `"deletable": true,` + "\n" + `      "keptFor": null,`},
		{args: "-kept root.a/b", status: 404, answer: `{"RemoteException":{"message":"there is no queue root.a/b"}}`, asked: "GET " + path + "/root.a%2Fb" + me, code: 1, err: "there is no queue root.a/b"},
		{args: "-kept", answer: `{"queues":{"queue":[{"queuePath":"root","leaf":false,"dynamic":false}]}}`, asked: "GET " + path + me, code: 1, err: "has no FairScheduler"},
		{args: "-kept a b", code: 255, err: "Invalid Command Usage"},
		{args: "-delete root.ann", answer: `{"deleted":{"queuePath":"root.ann"}}`, asked: "DELETE " + path + "/root.ann" + me, out: "Deleted queue root.ann\n"},
		{args: "-delete root.ann --output json", answer: `{"deleted":{"queuePath":"root.ann"}}`, asked: "DELETE " + path + "/root.ann" + me, out: `"path": "root.ann"`},
		{args: "-delete dev", status: 400, answer: `{"RemoteException":{"message":"the queue root.dev is not deleted: the allocation file names it"}}`, asked: "DELETE " + path + "/dev" + me,
			code: 1, err: "the queue root.dev is not deleted: the allocation file names it"},
		{args: "-delete dev", status: 405, answer: `<html>`, asked: "DELETE " + path + "/dev" + me, code: 1, err: "has no deletion of queues: it is no ResourceManager of Heddle, or an older one"},
		{args: "-delete", code: 255, out: "Missing argument"},
		{args: "-delete a b", code: 255, err: "Invalid Command Usage"},
	} {
		asked, answer, status = "", c.answer, max(c.status, 200)
		got := newWorld().run(append([]string{"--config", dir, "queue"}, strings.Fields(c.args)...)...)
		if asked != c.asked || got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.err) {
			t.Errorf("%s: asked %q, want %q\nexit %d, want %d\n%s%s", c.args, asked, c.asked, got.code, c.code, got.out, got.err)
		}
	}
}
