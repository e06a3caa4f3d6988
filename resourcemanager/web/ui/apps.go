package ui

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// list is a page of applications.
type list struct {
	State             string
	User, Queue, Name string
	Path              string
	Rows              []appRow
	Types             yarn.ResourceTypes // other than memory and vcores
	paging
}

// appRow is an application as lists show it.
type appRow struct {
	*view.Application
	Tracking, TrackingText string
	Percent                float32
	Hidden                 bool // the caller may not see more than that it is there
	Containers             string
	VCores, MemoryMB       string
	ReservedVCores         string
	ReservedMB             string
}

func (s *server) apps(r *http.Request) (*frame, error) {
	c, err := s.Source.Cluster(r.Context())
	if err != nil {
		return nil, err
	}
	name := strings.ToUpper(r.PathValue("state"))
	if _, ok := yarn.ParsePublicState(name); name != "" && !ok {
		return nil, &problem{http.StatusNotFound, "There is no state of applications with the name " + r.PathValue("state") + "."}
	}
	title, here := "All Applications", "apps"
	if name != "" {
		title, here = name+" Applications", name
	}
	return &frame{Title: title, Here: here, Metrics: s.metrics(r.Context(), c),
		Body: s.list(c, webgate.From(r.Context()), r.URL.Path, name, r.URL.Query())}, nil
}

// list chooses applications by state and by the parameters user, queue and name.
func (s *server) list(c *view.Cluster, caller webgate.Caller, path, state string, q url.Values) list {
	l := list{State: state, Path: path, User: q.Get("user"), Queue: q.Get("queue"), Name: q.Get("name")}
	var chosen []*view.Application
	for _, a := range c.Applications {
		if l.wants(a) && (!s.FilterByUser || s.Source.MayView(caller, a)) {
			chosen = append(chosen, a)
		}
	}
	slices.SortFunc(chosen, func(a, b *view.Application) int {
		return cmp.Or(cmp.Compare(b.SubmitTime, a.SubmitTime), b.ID.Compare(a.ID))
	})
	l.paging = pageOf(path, q, len(chosen))
	for _, a := range chosen[l.From:l.To] {
		l.Rows = append(l.Rows, s.appRow(caller, a))
	}
	return l
}

func (l *list) wants(a *view.Application) bool {
	return (l.State == "" || a.PublicState.String() == l.State) &&
		(l.User == "" || a.User == l.User) &&
		(l.Queue == "" || a.Queue == l.Queue || strings.HasPrefix(a.Queue, l.Queue+".")) &&
		(l.Name == "" || strings.Contains(strings.ToLower(a.Name), strings.ToLower(l.Name)))
}

func (s *server) appRow(c webgate.Caller, a *view.Application) appRow {
	row := appRow{Application: a, Percent: min(max(a.Progress, 0), 1) * 100, Hidden: !s.Source.MayView(c, a)}
	row.Tracking, row.TrackingText = s.tracking(a)
	live := a.Current() != nil && !a.Current().State.Final() && !row.Hidden
	u := &a.Usage
	row.Containers = number(live, int64(u.Containers))
	row.VCores, row.MemoryMB = number(live, u.Used.VCoreCount()), number(live, u.Used.MemoryMB())
	row.ReservedVCores, row.ReservedMB = number(live, u.Reserved.VCoreCount()), number(live, u.Reserved.MemoryMB())
	return row
}

// tracking is where an application's own pages are, and what they are called.
func (s *server) tracking(a *view.Application) (address, text string) {
	t := a.Current()
	if t == nil || a.PublicState <= yarn.PublicAccepted {
		return "", "Unassigned"
	}
	address = web(s.Links.Tracking(a, t))
	if a.FinishTime > 0 {
		return address, "History"
	}
	return address, "ApplicationMaster"
}
