package rest_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// TestQueues: where queues come from, why they stay, and who asks for them to go.
func TestQueues(t *testing.T) {
	hostile := url.PathEscape(webtest.HostileQueue)
	for _, c := range []struct {
		method, path string
		capacity     bool
		err          error
		status       int
		answer, call string
	}{
		{method: "GET", path: "", status: 200, answer: `{"queues":{"queue":[{"queuePath":"root","leaf":false,"dynamic":false,"deletable":false,"keptFor":"root-queue","keptBecause":"it is the root queue"},` +
			`{"queuePath":"root.prod","leaf":false,"dynamic":false,"deletable":false,"keptFor":"named-by-allocation-file","keptBecause":"the allocation file names it"},`},
		{method: "GET", path: "/root.users.ann", status: 200, answer: `{"queue":{"queuePath":"root.users.ann","leaf":true,"dynamic":true,"deletable":true}}`},
		{method: "GET", path: "/users.ann", status: 200, answer: `"queuePath":"root.users.ann"`},
		{method: "GET", path: "/" + hostile, status: 200, answer: `"keptFor":"has-applications","keptBecause":"it has 1 application"}}`},
		{method: "GET", path: "/root.users", status: 200, answer: `"keptBecause":"the queue root.users.`},
		{method: "GET", path: "/ann", status: 404, answer: "there is no queue ann"},
		{method: "GET", path: "/dev", capacity: true, status: 200, answer: `{"queue":{"queuePath":"root.dev","leaf":true,"dynamic":false}}`},
		{method: "DELETE", path: "/root.users.ann", status: 200, answer: `{"deleted":{"queuePath":"root.users.ann"}}`, call: "delete queue root.users.ann by alice"},
		{method: "DELETE", path: "/" + hostile, status: 400, err: answer.Errorf(answer.WrongState, "it has 1 application"), answer: "it has 1 application",
			call: "delete queue " + webtest.HostileQueue + " by alice"},
		{method: "DELETE", path: "/root.dev", status: 401, err: answer.Errorf(answer.Unauthorized, "not yours"), answer: "not yours", call: "delete queue root.dev by alice"},
		{method: "POST", path: "/root.dev", status: 405},
	} {
		s, control := webtest.NewFair(), &webtest.Controller{Err: c.err}
		if c.capacity {
			s = webtest.New()
		}
		r := httptest.NewRequest(c.method, rest.Prefix+"/queues"+c.path, nil)
		r.Header.Set("Accept", "application/json")
		w := httptest.NewRecorder()
		serve(t, s, control).ServeHTTP(w, r.WithContext(webgate.WithCaller(r.Context(), webgate.Caller{User: "alice"})))
		call := strings.Join(control.Calls(), "; ")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) || call != c.call {
			t.Errorf("%s %s: %d %s\ncalls %q", c.method, c.path, w.Code, w.Body, call)
		}
		if c.status == http.StatusOK {
			valid(t, w.Body.String())
		}
	}
}
