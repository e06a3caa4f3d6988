// Package ui serves the pages below /cluster: the same addresses and the same
// words as Hadoop's built-in pages, drawn by the server, without scripts. Lists
// are paged by the server, so that no page grows with the cluster.
//
// Text from applications or nodes (names, tags, diagnostics, addresses) is not
// trusted: html/template escapes it, links are http or https alone, and the
// Content-Security-Policy allows no scripts.
package ui

import (
	"bufio"
	"embed"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

//go:embed page/*.html
var files embed.FS

// Config is what the pages need.
type Config struct {
	Source       access.Source
	Links        access.Links
	Version      string // of Hadoop, as clients may expect it
	FilterByUser bool
	Problems     func(*http.Request) (*introspect.Problems, error) // nil: there is no page about them
	Now          func() time.Time
	Log          *slog.Logger
}

// Route is one page; all are read with GET.
type Route struct {
	Pattern string // of a http.ServeMux, without method
	Handler http.HandlerFunc
}

// server draws pages.
type server struct {
	Config
	pages map[string]*template.Template
}

// Routes are all pages.
func Routes(c Config) []Route {
	s := &server{Config: c, pages: map[string]*template.Template{}}
	layout := template.Must(template.New("layout").Funcs(s.functions()).ParseFS(files, "page/layout.html"))
	for _, name := range []string{"about", "apps", "app", "attempt", "container", "nodes", "logs", "drains", "labels", "scheduler", "failure"} {
		s.pages[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "page/"+name+".html"))
	}
	problems := func(*http.Request) (*frame, error) {
		return nil, &problem{http.StatusNotFound, "this port does not tell of warnings and errors"}
	}
	if s.Problems != nil {
		problems = s.problems
	}
	s.pages["problems"] = template.Must(template.Must(layout.Clone()).Parse(introspect.ProblemsPage))
	return []Route{
		{"/cluster", s.page("apps", s.apps)},
		{"/cluster/cluster", s.page("about", s.about)},
		{"/cluster/apps", s.page("apps", s.apps)},
		{"/cluster/apps/{state}", s.page("apps", s.apps)},
		{"/cluster/app/{app}", s.page("app", s.app)},
		{"/cluster/appattempt/{attempt}", s.page("attempt", s.attempt)},
		{"/cluster/container/{container}", s.page("container", s.container)},
		{"/cluster/nodes", s.page("nodes", s.nodes)},
		{"/cluster/nodes/{state}", s.page("nodes", s.nodes)},
		{"/cluster/drains", s.page("drains", s.drains)},
		{"/cluster/nodelabels", s.page("labels", s.labels)},
		{"/cluster/scheduler", s.page("scheduler", s.scheduler)},
		{"/cluster/logaggregationstatus/{app}", s.page("logs", s.logNodes)},
		{"/cluster/errors-and-warnings", s.page("problems", problems)},
		{"/cluster/failure/{app}", s.page("failure", s.failure)},
		{pages.StylePath, pages.Style},
	}
}

// frame is the data of a page.
type frame struct {
	Title   string
	Here    string // the current entry of the navigation
	User    string
	Version string
	Metrics *metrics // nil on pages without the tables of the cluster
	States  []string
	Window  string // where the web interface shows the same; "" is by Here
	Body    any
}

// windows are the pages of the web interface by the entry of the navigation; those of states of applications are made from the name.
var windows = map[string]string{"": "/ui/", "about": "/ui/daemon", "nodes": "/ui/nodes", "drains": "/ui/drains", "labels": "/ui/nodes", "problems": "/ui/daemon", "apps": "/ui/apps", "scheduler": "/ui/queues"}

// window is where the web interface shows what the page shows.
func (f *frame) window() string {
	if f.Window != "" {
		return f.Window
	}
	if at, ok := windows[f.Here]; ok {
		return at
	}
	return "/ui/apps?states=" + f.Here
}

// draw makes the data of a page.
type draw func(*http.Request) (*frame, error)

// problem is an error with the status and the text of the page about it.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func (s *server) page(name string, do draw) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, err := do(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.show(w, r, http.StatusOK, name, f)
	}
}

// fail shows an error as a page.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	var p *problem
	switch {
	case errors.As(err, &p):
		status = p.status
	case answer.KindOf(err) == answer.NotFound:
		status = http.StatusNotFound
	case answer.KindOf(err) == answer.Forbidden || answer.KindOf(err) == answer.Unauthorized:
		status = http.StatusForbidden
	}
	s.show(w, r, status, "failure", &frame{Title: http.StatusText(status), Body: err.Error()})
}

func (s *server) show(w http.ResponseWriter, r *http.Request, status int, name string, f *frame) {
	f.User, f.Version, f.Window = webgate.From(r.Context()).User, s.Version, f.window()
	for _, state := range yarn.PublicStates() {
		f.States = append(f.States, state.String())
	}
	err := pages.Write(w, status, func(to io.Writer) error {
		buffered := bufio.NewWriter(to) // templates write in small pieces
		return errors.Join(s.pages[name].ExecuteTemplate(buffered, "layout.html", f), buffered.Flush())
	})
	if err != nil {
		s.Log.Error("a page cannot be drawn", "page", name, "error", err)
		answer.Plain(w, http.StatusInternalServerError, "The page cannot be drawn: "+err.Error())
	}
}

func (s *server) failure(r *http.Request) (*frame, error) {
	return &frame{Title: "Application unreachable", Body: "The master of " + r.PathValue("app") + " sent this ResourceManager's own proxy away. " +
		"It lets only the proxy's address through: check that yarn.web-proxy.address or yarn.resourcemanager.webapp.address names this machine " +
		"as the application sees it."}, nil
}

func (s *server) problems(r *http.Request) (*frame, error) {
	p, err := s.Problems(r)
	if err != nil {
		return nil, err
	}
	return &frame{Title: "Errors and Warnings in the ResourceManager", Here: "problems", Body: p}, nil
}

// functions are those that the templates use.
func (s *server) functions() template.FuncMap {
	return template.FuncMap{
		"time":      pages.When,
		"moment":    moment,
		"elapsed":   func(start, end int64) string { return lasted(start, end, s.Now().UnixMilli()) },
		"percent":   func(f float32) string { return strconv.FormatFloat(float64(f), 'f', 1, 32) },
		"memory":    pages.Memory,
		"join":      func(list []string) string { return strings.Join(list, ", ") },
		"entry":     func(name, link, text, here string) entry { return entry{link, text, name == here} },
		"breakable": breakable,
		"narrow":    func(ms int64) template.HTML { return template.HTML(strings.Replace(moment(ms), "-", "-<wbr>", 1)) }, // #nosec G203 -- a time
		"own":       func() release.Build { return release.Own() },
		"version":   func() string { return release.Version },
	}
}

// entry is a line of the navigation.
type entry struct {
	Link, Text string
	Current    bool
}

// breakable is a text in which lines may break after _ . - and :.
func breakable(text string) template.HTML {
	parts := breaks.Replace(template.HTMLEscapeString(text))
	return template.HTML(parts) // #nosec G203 -- escaped above
}

var breaks = strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>", "-", "-<wbr>", ":", ":<wbr>")

// moment is a time in a table.
func moment(ms int64) string {
	if ms <= 0 {
		return "N/A"
	}
	return time.UnixMilli(ms).Format(time.DateTime)
}

// lasted is the text of the time from start to end, or to now if there is no end.
func lasted(start, end, now int64) string {
	if start <= 0 {
		return "N/A"
	}
	if end <= 0 {
		end = now
	}
	return (time.Duration(max(end-start, 0)) * time.Millisecond).Round(time.Second).String()
}

// web is an address if it is http or https, else empty.
func web(address string) string {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		return address
	}
	return ""
}
