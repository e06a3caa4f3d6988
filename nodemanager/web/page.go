package web

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/view"
)

//go:embed page/*.html
var files embed.FS

// frame is what every page has.
type frame struct {
	name    string // of the template
	Title   string
	Here    string // the entry of the navigation that is current
	User    string
	Version string
	Home    string // the ResourceManager's pages
	Tools   bool
	Body    any
	log     io.Reader // goes where the page has the mark
}

// draw makes a page. Errors become pages too.
type draw func(*http.Request) (*frame, error)

// drawer has the templates.
type drawer struct {
	templates map[string]*template.Template
	mark      string // stands where a log file goes; nobody can guess it
}

func newDrawer() drawer {
	d := drawer{templates: map[string]*template.Template{}, mark: rand.Text()}
	functions := template.FuncMap{
		"time": pages.When, "memory": pages.Memory, "types": typesText,
		"entry":   func(name, link, text, here string) entry { return entry{link, text, name == here} },
		"mark":    func() string { return d.mark },
		"own":     func() release.Build { return release.Own() },
		"version": func() string { return release.Version },
		"hadoop":  func() string { return release.Hadoop },
	}
	layout := template.Must(template.New("layout").Funcs(functions).ParseFS(files, "page/layout.html"))
	for _, name := range []string{"node", "applications", "application", "containers", "container", "logs", "log", "failure"} {
		d.templates[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "page/"+name+".html"))
	}
	d.templates["problems"] = template.Must(template.Must(layout.Clone()).Parse(introspect.ProblemsPage))
	return d
}

// entry is a line of the navigation.
type entry struct {
	Link, Text string
	Current    bool
}

// away is a page that is elsewhere.
type away struct{ to string }

func (a away) Error() string { return "Redirecting to log server : " + a.to }

func (s *server) page(do draw) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		f, err := do(r)
		var there away
		if errors.As(err, &there) {
			w.Header().Set("Location", there.to)
			answer.Plain(w, http.StatusTemporaryRedirect, err.Error())
			return
		}
		if err != nil {
			e := answer.ExceptionOf(err)
			status = e.Status
			f = &frame{name: "failure", Title: http.StatusText(status), Body: e.Message}
		}
		s.show(w, r, status, f)
	}
}

// show draws a page. A log file is copied into it, not held.
func (s *server) show(w http.ResponseWriter, r *http.Request, status int, f *frame) {
	f.User, f.Version, f.Home, f.Tools = webgate.From(r.Context()).User, s.Version.Number, s.ResourceManager, s.Introspection.Properties != nil
	if c, ok := f.log.(io.Closer); ok {
		defer c.Close() //nolint:errcheck // it was only read
	}
	var b bytes.Buffer
	if err := s.templates[f.name].ExecuteTemplate(&b, "layout.html", f); err != nil {
		s.Log.Error("a page cannot be drawn", "page", f.name, "error", err)
		answer.Plain(w, http.StatusInternalServerError, "The page cannot be drawn: "+err.Error())
		return
	}
	if f.log == nil {
		_ = pages.Write(w, status, func(to io.Writer) error {
			_, err := b.WriteTo(to)
			return err
		})
		return
	}
	before, after, _ := bytes.Cut(b.Bytes(), []byte(s.mark))
	pages.Headers(w)
	w.WriteHeader(status)
	out := visible.NewWriter(w)
	_, _ = out.Write(before)
	if _, err := io.Copy(escaped{out}, f.log); err != nil {
		return
	}
	_, _ = out.Write(after)
	_ = out.Flush()
}

// escaped turns text into HTML. Bytes that matter to HTML are no part of other
// characters in UTF-8, so that pieces can be cut anywhere.
type escaped struct{ io.Writer }

func (e escaped) Write(p []byte) (int, error) {
	var b bytes.Buffer
	template.HTMLEscape(&b, p)
	if _, err := e.Writer.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *server) nodePage(*http.Request) (*frame, error) {
	return &frame{name: "node", Title: "NodeManager information", Here: "node", Body: s.Source.Node()}, nil
}

func (s *server) applicationsPage(r *http.Request) (*frame, error) {
	var all []view.Application
	for _, a := range s.Source.Applications() {
		if s.listed(r, a) {
			all = append(all, a)
		}
	}
	p := pageOf(r, len(all))
	return &frame{name: "applications", Title: "Applications running on this node", Here: "applications", Body: struct {
		Rows []view.Application
		paging
	}{all[p.From:p.To], p}}, nil
}

func (s *server) problemsPage(r *http.Request) (*frame, error) {
	p, err := s.Introspection.Problems(r)
	if err != nil {
		return nil, err
	}
	return &frame{name: "problems", Title: "Errors and Warnings in the NodeManager", Here: "problems", Body: p}, nil
}

func (s *server) containersPage(r *http.Request) (*frame, error) {
	var all []view.Container
	for _, c := range s.Source.Containers() {
		if a, known := s.Source.Application(c.ID.Attempt.Application); !s.FilterByUser || known && s.listed(r, a) {
			all = append(all, c)
		}
	}
	p := pageOf(r, len(all))
	rows := make([]containerRow, 0, p.To-p.From)
	for _, c := range all[p.From:p.To] {
		rows = append(rows, rowOf(c))
	}
	return &frame{name: "containers", Title: "All containers running on this node", Here: "containers", Body: struct {
		Rows []containerRow
		paging
	}{rows, p}}, nil
}

// containerRow is a container with what the pages add.
type containerRow struct {
	view.Container
	ExitText, Logs string
}

func rowOf(c view.Container) containerRow {
	row := containerRow{Container: c, ExitText: "N/A", Logs: logsLink(c.ID, c.User)}
	if c.Exit != view.NotExited {
		row.ExitText = strconv.Itoa(int(c.Exit))
	}
	return row
}

func (s *server) applicationPage(r *http.Request) (*frame, error) {
	a, err := s.oneApp(r)
	if err != nil {
		return nil, err
	}
	return &frame{name: "application", Title: "Application " + a.ID.String(), Here: "applications", Body: a}, nil
}

func (s *server) containerPage(r *http.Request) (*frame, error) {
	c, err := s.oneContainer(r)
	if err != nil {
		return nil, err
	}
	return &frame{name: "container", Title: "Container " + c.ID.String(), Here: "containers", Body: rowOf(c)}, nil
}

// collected leads to the log server, if the logs of the address can only be
// there: with yarn.log-aggregation-enable, once the node has forgotten the
// application, or if the caller asks for what was collected.
func (s *server) collected(r *http.Request) error {
	id, err := containerID(r)
	if err != nil {
		return err
	}
	if !s.Aggregation {
		return nil
	}
	_, here := s.Source.Application(id.Attempt.Application)
	if here && r.FormValue("log.aggregation.type") != "remote" {
		return nil
	}
	if s.LogServer == "" {
		return answer.Errorf(answer.NotFound, "The logs of %s are no longer on this node. `yarn logs -containerId %s` shows what was collected; "+
			"yarn.log.server.url would lead browsers there.", id, id)
	}
	parts := []string{strings.TrimSuffix(s.LogServer, "/"), url.PathEscape(s.Source.Node().ID.String()), id.String(), id.String(), url.PathEscape(r.PathValue("user"))}
	if name := r.PathValue("file"); name != "" {
		parts = append(parts, url.PathEscape(name))
	}
	to := strings.Join(parts, "/")
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.Query().Encode()
	}
	return away{to}
}

// logsPage lists the log files of a container.
func (s *server) logsPage(r *http.Request) (*frame, error) {
	if err := s.collected(r); err != nil {
		return nil, err
	}
	id, err := containerID(r)
	if err != nil {
		return nil, err
	}
	list, err := s.files(r, id)
	if err != nil {
		return nil, err
	}
	type row struct {
		view.LogFile
		Link string
	}
	base := logsLink(id, r.PathValue("user"))
	rows := make([]row, 0, len(list))
	for _, f := range list {
		rows = append(rows, row{f, strings.TrimSuffix(base, "/") + "/" + url.PathEscape(f.Name) + "?start=-4096"})
	}
	return &frame{name: "logs", Title: "Logs for " + id.String(), Here: "containers", Body: rows}, nil
}

// lastBytes is the part of a log file that a page shows unless it is told another.
const lastBytes = 4096

// logPage shows a log file, or the part from start to end; negative numbers count
// from its end.
func (s *server) logPage(r *http.Request) (*frame, error) {
	if err := s.collected(r); err != nil {
		return nil, err
	}
	id, err := containerID(r)
	if err != nil {
		return nil, err
	}
	start, err := position(r, "start", -lastBytes)
	if err != nil {
		return nil, err
	}
	end, err := position(r, "end", 1<<63-1)
	if err != nil {
		return nil, err
	}
	f, err := s.open(r, id, r.PathValue("file"))
	if err != nil {
		return nil, err
	}
	part, err := f.Section(start, end)
	if err != nil {
		_ = f.Close()
		return nil, answer.Errorf(answer.Invalid, "%v", err)
	}
	body := struct {
		Shown, Size int64
		Whole       string
	}{part.Size(), f.Size, logsLink(id, r.PathValue("user")) + "/" + url.PathEscape(f.Name) + "?start=0"}
	return &frame{name: "log", Title: f.Name + " of " + id.String(), Here: "containers", Body: body, log: section{part, f}}, nil
}

// section is a part of an open file.
type section struct {
	io.Reader
	io.Closer
}

func position(r *http.Request, name string, def int64) (int64, error) {
	text := r.FormValue(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, answer.Errorf(answer.Invalid, "%s is not a number of bytes: %.40q", name, text)
	}
	return n, nil
}

// rowsPerPage is how many rows one page has at most.
const rowsPerPage = 200

// paging is the part of a list that a page shows.
type paging struct {
	First, Total   int
	From, To       int // 0 ≤ From ≤ To ≤ Total
	Previous, Next string
}

// pageOf reads the parameter "page", counted from 1. What makes no sense is the
// first page, what is too far the last.
func pageOf(r *http.Request, total int) paging {
	count := max((total+rowsPerPage-1)/rowsPerPage, 1)
	n, err := strconv.Atoi(r.FormValue("page"))
	if err != nil || n < 1 {
		n = 1
	}
	n = min(n, count)
	p := paging{Total: total, From: (n - 1) * rowsPerPage}
	p.First, p.To = p.From+1, min(p.From+rowsPerPage, total)
	if n > 1 {
		p.Previous = r.URL.Path + "?page=" + strconv.Itoa(n-1)
	}
	if n < count {
		p.Next = r.URL.Path + "?page=" + strconv.Itoa(n+1)
	}
	return p
}
