package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// number is n as text, or "N/A" if there is no such number.
func number(ok bool, n int64) string {
	if !ok {
		return "N/A"
	}
	return strconv.FormatInt(n, 10)
}

// appPage is one application.
type appPage struct {
	appRow
	Lifetime         int64
	LogStatus        string
	AggregateText    string
	PreemptedText    string
	PreemptedSeconds string
	Attempts         []attemptRow
	Requests         []requestRow
	MoreRequests     int
	Why              string   // why its master has no container yet; empty if it does not wait for one
	Taken            []string // what was preempted from it or for it, sentences, the youngest first
}

type attemptRow struct {
	*view.Attempt
	NodeLink, Logs string
}

type requestRow struct {
	view.Request
	CapabilityText string
}

// maxRequests bounds the outstanding asks that a page lists.
const maxRequests = 200

func (s *server) app(r *http.Request) (*frame, error) {
	id, err := yarn.ParseApplicationID(r.PathValue("app"))
	if err != nil {
		return nil, &problem{http.StatusBadRequest, err.Error()}
	}
	a, c, err := s.find(r, id)
	if err != nil {
		return nil, err
	}
	p := appPage{appRow: s.appRow(webgate.From(r.Context()), a)}
	if a.Waits() && !p.Hidden {
		if p.Why, err = s.Source.Why(r.Context(), id); err != nil {
			return nil, err
		}
	}
	if !p.Hidden {
		taken, err := s.Source.Preemptions(r.Context(), "", id, view.MostTold)
		if err != nil {
			return nil, err
		}
		for i := range taken {
			p.Taken = append(p.Taken, taken[i].Sentence(id))
		}
	}
	types := c.ResourceTypes
	p.LogStatus = "N/A"
	if status := a.LogStatusAt(s.Now().UnixMilli()); status != 0 {
		p.LogStatus = status.String()
	}
	p.AggregateText = seconds(types, a.SecondsAt(s.Now().UnixMilli()))
	p.PreemptedText, p.PreemptedSeconds = types.Format(a.Usage.Preempted), seconds(types, a.Usage.PreemptedSeconds)
	for _, t := range a.Timeouts {
		p.Lifetime = t.ExpireAt
	}
	for _, t := range slices.Backward(a.Attempts[max(0, len(a.Attempts)-rowsPerPage):]) {
		p.Attempts = append(p.Attempts, s.attemptRow(a, t))
	}
	p.MoreRequests = max(0, len(a.Requests)-maxRequests)
	for _, q := range a.Requests[:len(a.Requests)-p.MoreRequests] {
		p.Requests = append(p.Requests, requestRow{q, types.Format(q.Capability)})
	}
	return &frame{Title: "Application " + id.String(), Here: "apps", Window: "/ui/apps/" + id.String(), Body: p}, nil
}

// seconds is a resource over time in the words of Hadoop's page: "5 MB-seconds, 1 vcore-seconds".
func seconds(types yarn.ResourceTypes, r yarn.Resource) string {
	text := fmt.Sprintf("%d MB-seconds, %d vcore-seconds", r.MemoryMB(), r.VCoreCount())
	for i := 2; i < len(types); i++ {
		text += fmt.Sprintf(", %d %s-seconds", r[i], types[i].Name)
	}
	return text
}

// find is an application, and the cluster without nodes, queues and counts.
func (s *server) find(r *http.Request, id yarn.ApplicationID) (*view.Application, *view.Cluster, error) {
	c, err := s.Source.Cluster(r.Context(), view.Applications)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.Source.Application(r.Context(), id)
	return a, c, unknown(id, err)
}

// unknown is the page's error where an application was looked up.
func unknown(id yarn.ApplicationID, err error) error {
	if err != nil && answer.KindOf(err) == answer.NotFound {
		return &problem{http.StatusNotFound, "There is no application " + id.String() + " in this ResourceManager."}
	}
	return err
}

func (s *server) attemptRow(a *view.Application, t *view.Attempt) attemptRow {
	row := attemptRow{Attempt: t}
	if t.NodeHTTPAddress != "" {
		row.NodeLink = s.Links.Scheme + "://" + t.NodeHTTPAddress
		row.Logs = s.Links.Logs(t.NodeHTTPAddress, t.MasterContainer, a.User)
	}
	return row
}

// attemptPage is one attempt with its live containers.
type attemptPage struct {
	attemptRow
	App        *view.Application
	Tracking   string
	Containers []containerRow
	paging
}

type containerRow struct {
	*view.Container
	Amount, Logs, NodeLink string
}

func (s *server) attempt(r *http.Request) (*frame, error) {
	id, err := yarn.ParseAttemptID(r.PathValue("attempt"))
	if err != nil {
		return nil, &problem{http.StatusBadRequest, err.Error()}
	}
	f, err := s.findAttempt(r, id)
	if err != nil {
		return nil, err
	}
	p := attemptPage{attemptRow: s.attemptRow(f.app, f.attempt), App: f.app, Tracking: web(s.Links.Tracking(f.app, f.attempt)),
		paging: pageOf(r.URL.Path, r.URL.Query(), len(f.live))}
	for _, one := range f.live[p.From:p.To] {
		p.Containers = append(p.Containers, s.containerRow(f, one))
	}
	return &frame{Title: "Application Attempt " + id.String(), Here: "apps", Window: "/ui/apps/" + id.Application.String(), Body: p}, nil
}

// foundAttempt is an attempt with its live containers.
type foundAttempt struct {
	app     *view.Application
	attempt *view.Attempt
	live    []*view.Container
	types   yarn.ResourceTypes
}

// findAttempt is an attempt, if the caller may view it.
func (s *server) findAttempt(r *http.Request, id yarn.AttemptID) (*foundAttempt, error) {
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	a, live, err := s.Source.Containers(r.Context(), id.Application)
	if err != nil {
		return nil, unknown(id.Application, err)
	}
	if caller := webgate.From(r.Context()); !s.Source.MayView(caller, a) {
		return nil, &problem{http.StatusForbidden, caller.User + " may not see the details of " + a.ID.String() + "."}
	}
	i := slices.IndexFunc(a.Attempts, func(t *view.Attempt) bool { return t.ID == id })
	if i < 0 {
		return nil, &problem{http.StatusNotFound, "There is no attempt " + id.String() + " in this ResourceManager."}
	}
	return &foundAttempt{app: a, attempt: a.Attempts[i], live: live.Of(id), types: c.ResourceTypes}, nil
}

func (s *server) containerRow(f *foundAttempt, one *view.Container) containerRow {
	row := containerRow{Container: one, Amount: f.types.Format(one.Resource)}
	if one.NodeHTTPAddress != "" {
		row.NodeLink = s.Links.Scheme + "://" + one.NodeHTTPAddress
		row.Logs = s.Links.Logs(one.NodeHTTPAddress, one.ID, f.app.User)
	}
	return row
}

func (s *server) container(r *http.Request) (*frame, error) {
	id, err := yarn.ParseContainerID(r.PathValue("container"))
	if err != nil {
		return nil, &problem{http.StatusBadRequest, err.Error()}
	}
	f, err := s.findAttempt(r, id.Attempt)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.live, func(one *view.Container) bool { return one.ID == id })
	if i < 0 {
		return nil, &problem{http.StatusNotFound, "There is no live container " + id.String() + ": it has ended, or never was."}
	}
	return &frame{Title: "Container " + id.String(), Here: "apps", Body: s.containerRow(f, f.live[i])}, nil
}
