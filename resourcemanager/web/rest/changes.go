package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

func stateDoc(state yarn.ApplicationState) *answer.Response {
	return answer.Bare("appstate", tree.New().Add("state", state.String()))
}

func (s *server) state(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return stateDoc(a.State), nil
}

// setState kills an application; no other change of state can be requested. A request
// for the state that it has already changes nothing and succeeds.
func (s *server) setState(r *http.Request) (*answer.Response, error) {
	body, err := fields(r, "appstate")
	if err != nil {
		return nil, err
	}
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	if body["state"] == a.State.String() {
		return stateDoc(a.State), nil
	}
	if body["state"] != yarn.AppKilled.String() {
		return nil, badRequest("Only 'KILLED' is allowed as a target state.")
	}
	done, err := s.Controller.Kill(r.Context(), webgate.From(r.Context()), a.ID, body["diagnostics"])
	if err != nil {
		return nil, err
	}
	if a, err = s.find(r); err != nil {
		return nil, err
	}
	res := stateDoc(a.State)
	if !done {
		res.Status, res.Location = http.StatusAccepted, here(r, s.Links.Scheme)
	}
	return res, nil
}

// here is the URL of the request without its query.
func here(r *http.Request, scheme string) string {
	return scheme + "://" + r.Host + r.URL.EscapedPath()
}

func (s *server) queue(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return queueDoc(a.Queue), nil
}

func queueDoc(path string) *answer.Response {
	return answer.Bare("appqueue", tree.New().Add("queue", path))
}

func (s *server) setQueue(r *http.Request) (*answer.Response, error) {
	body, err := fields(r, "appqueue")
	if err != nil {
		return nil, err
	}
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	target := body["queue"]
	switch target {
	case "":
		return nil, badRequest("no queue given: the body must be {\"queue\":\"<path>\"}")
	case a.Queue:
		return queueDoc(a.Queue), nil
	}
	path, err := s.Controller.Move(r.Context(), webgate.From(r.Context()), a.ID, target)
	if answer.KindOf(err) == answer.WrongState && strings.HasSuffix(err.Error(), "state cannot be moved.") {
		return &answer.Response{Status: http.StatusBadRequest, Text: err.Error()}, nil // compat: plain text
	}
	if err != nil {
		return nil, err
	}
	return queueDoc(path), nil
}

func (s *server) priority(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return priorityDoc(a.Priority), nil
}

func priorityDoc(p int32) *answer.Response {
	return answer.Bare("applicationpriority", tree.New().Add("priority", p))
}

func (s *server) setPriority(r *http.Request) (*answer.Response, error) {
	body, err := fields(r, "applicationpriority")
	if err != nil {
		return nil, err
	}
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	wanted, err := strconv.ParseInt(strings.TrimSpace(body["priority"]), 10, 32)
	if err != nil {
		return nil, badRequest("priority %q is not a number of 32 bits", body["priority"])
	}
	if int32(wanted) == a.Priority {
		return priorityDoc(a.Priority), nil
	}
	given, err := s.Controller.SetPriority(r.Context(), webgate.From(r.Context()), a.ID, int32(wanted))
	if err != nil {
		return nil, err
	}
	return priorityDoc(given), nil
}

// lifetime is the only type of timeout.
const lifetime = "LIFETIME"

// isoTime is Hadoop's form of a deadline.
const isoTime = "2006-01-02T15:04:05.000-0700"

// drawTimeouts writes the deadlines of an application; the only type has an entry even without a deadline.
func drawTimeouts(m *tree.Members, a *view.Application, now int64) {
	m.Each("timeout", max(len(a.Timeouts), 1), func(i int, m *tree.Members) {
		if len(a.Timeouts) == 0 {
			drawTimeout(m, lifetime, 0, false, now)
			return
		}
		drawTimeout(m, a.Timeouts[i].Type, a.Timeouts[i].ExpireAt, a.State.Final(), now)
	})
}

func drawTimeout(m *tree.Members, kind string, expireAt int64, ended bool, now int64) {
	when, remaining := "UNLIMITED", int64(-1)
	if expireAt > 0 {
		when, remaining = time.UnixMilli(expireAt).Format(isoTime), 0
		if !ended {
			remaining = max((expireAt-now)/1000, 0)
		}
	}
	m.Text("type", kind).Text("expiryTime", when).Int("remainingTimeInSeconds", remaining)
}

func (s *server) timeoutObject(expireAt int64, ended bool) *tree.Object {
	return tree.Draw(func(m *tree.Members) { drawTimeout(m, lifetime, expireAt, ended, s.now()) })
}

func (s *server) timeouts(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("timeouts", tree.Draw(func(m *tree.Members) { drawTimeouts(m, a, s.now()) })), nil
}

func (s *server) timeout(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	if kind := strings.TrimSpace(r.PathValue("type")); !strings.EqualFold(kind, lifetime) {
		// compat: the text speaks of a state.
		return nil, badRequest("Invalid application-state %s specified. It should be one of [%s]", kind, lifetime)
	}
	return answer.Wrapped("timeout", s.timeoutObject(deadline(a), a.State.Final())), nil
}

func deadline(a *view.Application) int64 {
	for _, t := range a.Timeouts {
		if t.Type == lifetime {
			return t.ExpireAt
		}
	}
	return 0
}

// setTimeout sets the time at which an application is killed.
func (s *server) setTimeout(r *http.Request) (*answer.Response, error) {
	body, err := fields(r, "timeout")
	if err != nil {
		return nil, err
	}
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	if body["type"] != lifetime || body["expiryTime"] == "" {
		return &answer.Response{Status: http.StatusBadRequest, Text: "Timeout type or ExpiryTime is null."}, nil
	}
	when, err := time.Parse(isoTime, body["expiryTime"])
	if err != nil && !a.State.Final() {
		return nil, badRequest("expiryTime %q is not a time like 2030-01-31T12:00:00.000+0000", body["expiryTime"])
	}
	at := int64(0) // of an ended application, which it changes nothing for
	if err == nil {
		at = when.UnixMilli()
	}
	given, err := s.Controller.SetLifetime(r.Context(), webgate.From(r.Context()), a.ID, at)
	if err != nil {
		return nil, err
	}
	if a.State.Final() {
		given = deadline(a) // the request sets nothing
	}
	return answer.Wrapped("timeout", s.timeoutObject(given, a.State.Final())), nil
}

func (s *server) newApplication(r *http.Request) (*answer.Response, error) {
	if s.SubmissionsOff {
		return submissionsOff(), nil
	}
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	id, most, err := s.Controller.NewApplication(r.Context(), webgate.From(r.Context()))
	if err != nil {
		return nil, err
	}
	return answer.Bare("NewApplication", tree.New().
		Add("application-id", id.String()).
		Add("maximum-resource-capability", resource(c.ResourceTypes, most))), nil
}
