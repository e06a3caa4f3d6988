package ui

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
	Sort, Order       string // the parameters of the address
	Columns           []heading
	paging
}

// appRow is an application as lists show it.
type appRow struct {
	*view.Application
	Tracking, TrackingText string
	Percent                float32
	Hidden                 bool // the caller may not view its details
	Containers             string
	VCores, MemoryMB       string
	ReservedVCores         string
	ReservedMB             string
	Blacklisted            string // how many nodes the application does not want
}

func (s *server) apps(r *http.Request) (*frame, error) {
	c, err := s.Source.Cluster(r.Context(), view.Applications|header)
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

// list lists the applications in a state that fit the parameters user, queue and name.
func (s *server) list(c *view.Cluster, caller webgate.Caller, path, state string, q url.Values) list {
	l := list{State: state, Path: path, User: q.Get("user"), Queue: q.Get("queue"), Name: q.Get("name"), Sort: q.Get("sort"), Order: q.Get("order")}
	var chosen []*view.Application
	for _, a := range c.Applications {
		if l.wants(a) && (!s.FilterByUser || s.Source.MayView(caller, a)) {
			chosen = append(chosen, a)
		}
	}
	slices.SortFunc(chosen, func(a, b *view.Application) int {
		return cmp.Or(cmp.Compare(b.SubmitTime, a.SubmitTime), b.ID.Compare(a.ID))
	})
	l.Columns = arrange(s.columns(caller), chosen, path, q)
	l.paging = pageOf(path, q, len(chosen))
	for _, a := range chosen[l.From:l.To] {
		l.Rows = append(l.Rows, s.appRow(caller, a))
	}
	return l
}

// columns are those of the list of applications, in the order of Hadoop's page. What the
// caller may not view does not affect the order of rows.
func (s *server) columns(caller webgate.Caller) []column[*view.Application] {
	type app = *view.Application
	private := func(number func(app) int64) func(app) sortValue {
		return byNumber(func(a app) int64 {
			if !s.Source.MayView(caller, a) {
				return -1
			}
			return number(a)
		})
	}
	has := func(amount func(*view.Usage) int64) func(app) sortValue {
		return private(func(a app) int64 {
			if !live(a) {
				return -1
			}
			return amount(a.Usage)
		})
	}
	return []column[app]{
		{"id", "ID", func(a app) sortValue {
			return sortValue{float64(a.ID.ClusterTimestamp), fmt.Sprintf("%011d", a.ID.Sequence)}
		}},
		{"user", "User", byText(func(a app) string { return a.User })},
		{"name", "Name", byText(func(a app) string { return a.Name })},
		{"type", "Appli&shy;cation Type", byText(func(a app) string { return a.Type })},
		{"tags", "Appli&shy;cation Tags", byText(func(a app) string { return strings.Join(a.Tags, ", ") })},
		{"queue", "Queue", byText(func(a app) string { return a.Queue })},
		{"priority", "Appli&shy;cation Prio&shy;rity", byNumber(func(a app) int32 { return a.Priority })},
		{"start", "Start&shy;Time", private(func(a app) int64 { return a.StartTime })},
		{"launch", "Launch&shy;Time", private(func(a app) int64 { return a.LaunchTime })},
		{"finish", "Finish&shy;Time", private(func(a app) int64 { return a.FinishTime })},
		{"state", "State", byText(func(a app) string { return a.PublicState.String() })},
		{"final", "Final&shy;Status", byText(func(a app) string { return a.FinalStatus.String() })},
		{"containers", "Running Con&shy;tainers", has(func(u *view.Usage) int64 { return int64(u.Containers) })},
		{"vcores", "Allo&shy;cated CPU VCores", has(func(u *view.Usage) int64 { return u.Used.VCoreCount() })},
		{"memory", "Allo&shy;cated Memory MB", has(func(u *view.Usage) int64 { return u.Used.MemoryMB() })},
		{"reserved-vcores", "Re&shy;served CPU VCores", has(func(u *view.Usage) int64 { return u.Reserved.VCoreCount() })},
		{"reserved-memory", "Re&shy;served Memory MB", has(func(u *view.Usage) int64 { return u.Reserved.MemoryMB() })},
		{"of-queue", "% of Queue", byNumber(func(a app) float32 { return a.Usage.QueuePercent })},
		{"of-cluster", "% of Cluster", byNumber(func(a app) float32 { return a.Usage.ClusterPercent })},
		{"progress", "Pro&shy;gress", byNumber(func(a app) float32 { return a.Progress })},
		{"tracking", "Tracking UI", byText(func(a app) string { _, text := s.tracking(a); return text })},
		{"blacklisted", "Black&shy;listed Nodes", private(func(a app) int64 {
			if !live(a) {
				return -1
			}
			return int64(len(a.Current().Blacklisted))
		})},
	}
}

// live tells whether the application has an attempt that has not ended.
func live(a *view.Application) bool { return a.Current() != nil && !a.Current().State.Final() }

func (l *list) wants(a *view.Application) bool {
	return (l.State == "" || a.PublicState.String() == l.State) &&
		(l.User == "" || a.User == l.User) &&
		(l.Queue == "" || a.Queue == l.Queue || strings.HasPrefix(a.Queue, l.Queue+".")) &&
		(l.Name == "" || strings.Contains(strings.ToLower(a.Name), strings.ToLower(l.Name)))
}

func (s *server) appRow(c webgate.Caller, a *view.Application) appRow {
	row := appRow{Application: a, Percent: min(max(a.Progress, 0), 1) * 100, Hidden: !s.Source.MayView(c, a)}
	row.Tracking, row.TrackingText = s.tracking(a)
	known := live(a) && !row.Hidden
	u := a.Usage
	row.Containers = number(known, int64(u.Containers))
	row.VCores, row.MemoryMB = number(known, u.Used.VCoreCount()), number(known, u.Used.MemoryMB())
	row.Blacklisted = "N/A"
	if known {
		row.Blacklisted = strconv.Itoa(len(a.Current().Blacklisted))
	}
	row.ReservedVCores, row.ReservedMB = number(known, u.Reserved.VCoreCount()), number(known, u.Reserved.MemoryMB())
	return row
}

// tracking is the address of an application's own pages, and the text of the link.
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
