package rest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

func TestOperations(t *testing.T) {
	source := webtest.New()
	node := source.Picture.Nodes[0].ID.String()
	container := "container_1795305251364_0006_01_000002"
	signal, resize := "/containers/"+container+"/signal/", "/nodes/"+node+"/resource"
	tokens := "Delegation token operations can only be carried out on a Kerberos authenticated channel. Expected auth type is kerberos, got type SIMPLE"
	for _, c := range []struct {
		name, method, path, kind, body string
		err                            error
		status                         int
		answer, call                   string
	}{
		{name: "signal", path: signal + "OUTPUT_THREAD_DUMP", status: 200, answer: "signal success", call: "signal 1 to " + container + " by alice"},
		{name: "signal in small letters", path: signal + "forceful_shutdown", status: 200, answer: "signal success", call: "signal 3 to " + container + " by alice"},
		{name: "another signal", path: signal + "BOGUS", status: 400, answer: "Invalid command: BOGUS, valid commands are: [OUTPUT_THREAD_DUMP, GRACEFUL_SHUTDOWN, FORCEFUL_SHUTDOWN]"},
		{name: "a long signal", path: signal + strings.Repeat("x", 5000), status: 400, answer: "Invalid command: " + strings.Repeat("X", 200) + "..., valid"},
		{name: "no container", path: "/containers/container_x/signal/GRACEFUL_SHUTDOWN", status: 400, answer: `"exception":"IllegalArgumentException"`},
		{name: "an absent container", path: signal + "GRACEFUL_SHUTDOWN", err: answer.Errorf(answer.WrongState, "Trying to signal an absent container %s", container),
			status: 500, answer: "Trying to signal an absent container " + container, call: "signal 2 to " + container + " by alice"},
		{name: "somebody else's container", path: signal + "GRACEFUL_SHUTDOWN", err: answer.Errorf(answer.Forbidden, "not yours"), status: 403, answer: "not yours", call: "signal 2 to " + container + " by alice"},
		{name: "no answer", path: signal + "GRACEFUL_SHUTDOWN", err: errors.New("too slow"), status: 503, answer: "too slow", call: "signal 2 to " + container + " by alice"},

		{name: "resize", path: resize, body: `{"resource": {"memory": 3072, "vCores": "3"}, "overCommitTimeout": -1}`, status: 200,
			answer: `{"resourceInfo":{"memory":3072,"vCores":3,"resourceInformations":{"resourceInformation":[{`, call: "resize " + node + " by alice: 3072, 3"},
		{name: "resize in XML", path: resize, kind: "xml", body: `<resourceOption><resource><memory>3072</memory><vCores>3</vCores></resource></resourceOption>`, status: 200,
			answer: `<?xml version="1.0" encoding="UTF-8"?><resourceInfo><memory>3072</memory><vCores>3</vCores>`, call: "resize " + node + " by alice: 3072, 3"},
		{name: "resize, no JSON", path: resize, body: `{"resource": }`, status: 400, answer: `{"RemoteException":{"exception":"WebApplicationException","javaClassName":"javax.ws.rs.WebApplicationException"}}`},
		{name: "resize, a list", path: resize, body: `[]`, status: 400, answer: "WebApplicationException"},
		{name: "resize, nothing", path: resize, body: `{}`, status: 400, answer: "no resource given"},
		{name: "resize below nothing", path: resize, body: `{"resource": {"memory": -1, "vCores": 3}}`, status: 400, answer: "less than nothing"},
		{name: "resize, text", path: resize, body: `{"resource": {"memory": "x", "vCores": 3}}`, status: 400, answer: "memory is"},
		{name: "resize, more than fits", path: resize, body: `{"resource": {"memory": 1, "vCores": 3000000000}}`, status: 400, answer: "vCores is"},
		{name: "resize with a timeout", path: resize, body: `{"resource": {"memory": 1, "vCores": 3}, "overCommitTimeout": 60}`, status: 200, answer: `{"resourceInfo":{"memory":1,`,
			call: "resize " + node + " by alice: 1, 3, overcommitted for 60 ms"},
		{name: "resize at once", path: resize, body: `{"resource": {"memory": 1, "vCores": 3}, "overCommitTimeout": 0}`, status: 200, answer: `{"resourceInfo":{"memory":1,`,
			call: "resize " + node + " by alice: 1, 3, overcommitted for 0 ms"},
		{name: "resize, an entity", path: resize, kind: "xml", body: `<!DOCTYPE a [<!ENTITY e "1">]><resourceOption><resource><memory>&e;</memory></resource></resourceOption>`, status: 400, answer: "javax.ws.rs.BadRequestException"},
		{name: "resize, another root", path: resize, kind: "xml", body: `<resource><memory>1</memory></resource>`, status: 400, answer: "javax.ws.rs.BadRequestException"},
		{name: "resize an unknown node", path: "/nodes/nowhere:1/resource", body: `{"resource": {"memory": 1, "vCores": 3}}`, status: 404, answer: "nodeId, nowhere:1, is not found"},
		{name: "resize no node", path: "/nodes/nowhere/resource", body: `{"resource": {"memory": 1, "vCores": 3}}`, status: 400, answer: "Invalid NodeId [nowhere]. Expected host:port"},
		{name: "resize, refused", path: resize, body: `{"resource": {"memory": 1, "vCores": 3}}`, err: answer.Errorf(answer.Forbidden, "administrators only"), status: 403,
			answer: "administrators only", call: "resize " + node + " by alice: 1, 3"},

		// as Apache 3.5.0 was seen to answer
		{name: "a reservation, an empty body", path: "/reservation/submit", body: `{}`, status: 400, answer: "Input ReservationSubmissionContext should not be null"},
		{name: "a reservation without the root", path: "/reservation/submit", body: `{"queue":"plan"}`, status: 400, answer: "Input ReservationDefinition should not be null"},
		{name: "a change of a reservation, an empty body", path: "/reservation/update", body: `{}`, status: 400, answer: "Input ReservationSubmissionContext should not be null"},
		{name: "a change of a reservation under another root", path: "/reservation/update", body: `{"other":{"queue":"plan"}}`, status: 400, answer: "Input ReservationDefinition should not be null"},

		{name: "the scheduler's log", path: "/scheduler/logs?time=1", status: 200, answer: "Capacity scheduler logs are being created.", call: "log the scheduler by alice: 1s"},
		{name: "the scheduler's log for nothing", path: "/scheduler/logs?time=0", status: 400, answer: "Period must be greater than 0"},
		{name: "the scheduler's log for too long", path: "/scheduler/logs?time=86401", status: 400, answer: "at most 86400"},
		{name: "the scheduler's log, no time", path: "/scheduler/logs", status: 400, answer: "NumberFormatException"},
		{name: "the scheduler's log, refused", path: "/scheduler/logs?time=5", err: errors.New("Appender is already dumping logs"), status: 503, answer: "already dumping", call: "log the scheduler by alice: 5s"},

		{name: "a delegation token", path: "/delegation-token", body: `{"renewer": "root"}`, status: 403, answer: tokens},
		{name: "a delegation token, no JSON", path: "/delegation-token", body: `{"renewer": `, status: 400, answer: "WebApplicationException"},
		{name: "renewal", path: "/delegation-token/expiration", status: 403, answer: tokens},
		{name: "cancellation", method: http.MethodDelete, path: "/delegation-token", status: 403, answer: tokens},
	} {
		t.Run(c.name, func(t *testing.T) {
			controller := &webtest.Controller{Err: c.err}
			method, kind := c.method, c.kind
			if method == "" {
				method = http.MethodPost
			}
			if kind == "" {
				kind = "json"
			}
			w := send(serve(t, source, controller), method, c.path, kind, c.body)
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
		})
	}
}

// TestBodiesAreBounded: no operation reads more than answer.MaxBody.
func TestBodiesAreBounded(t *testing.T) {
	source := webtest.New()
	node := source.Picture.Nodes[0].ID.String()
	for _, path := range []string{"/apps", "/nodes/" + node + "/resource", "/delegation-token"} {
		r := httptest.NewRequest(http.MethodPost, rest.Prefix+path, strings.NewReader(`{"a":"`+strings.Repeat("x", answer.MaxBody)+`"}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if serve(t, source, &webtest.Controller{}).ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}
