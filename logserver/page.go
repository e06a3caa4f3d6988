package logserver

import (
	"bytes"
	"crypto/rand"
	"embed"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/internal/webgate"
)

//go:embed page/*.html
var templates embed.FS

// frame is what every page has.
type frame struct {
	Title, User, Version, Home string
	Body                       any
}

// drawer has the templates.
type drawer struct {
	templates map[string]*template.Template
	mark      string // stands where log files go; nobody can guess it
}

func newDrawer() drawer {
	d := drawer{map[string]*template.Template{}, rand.Text()}
	functions := template.FuncMap{"time": pages.When, "mark": func() string { return d.mark }, "own": func() release.Build { return release.Own() }}
	layout := template.Must(template.New("layout").Funcs(functions).ParseFS(templates, "page/layout.html"))
	for _, name := range []string{"home", "logs", "failure"} {
		d.templates[name] = template.Must(template.Must(layout.Clone()).ParseFS(templates, "page/"+name+".html"))
	}
	d.templates["file"] = template.Must(template.New("file.html").Funcs(functions).ParseFS(templates, "page/file.html"))
	return d
}

// draw draws a page without its log files, which go where the mark is.
func (s *server) draw(r *http.Request, name, title string, body any) ([]byte, error) {
	var b bytes.Buffer
	err := s.templates[name].ExecuteTemplate(&b, "layout.html", frame{title, webgate.From(r.Context()).User, release.Hadoop, s.home, body})
	return b.Bytes(), err
}

// show answers with a page that is drawn whole.
func (s *server) show(w http.ResponseWriter, r *http.Request, status int, name, title string, body any) {
	text, err := s.draw(r, name, title, body)
	if err != nil {
		s.log.Error("a page cannot be drawn", "page", name, "error", err)
		answer.Plain(w, http.StatusInternalServerError, "The page cannot be drawn: "+err.Error())
		return
	}
	_ = pages.Write(w, status, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}

func (s *server) failure(w http.ResponseWriter, r *http.Request, err error) {
	e := answer.ExceptionOf(err)
	if e.Status == http.StatusServiceUnavailable {
		s.log.Warn("collected logs cannot be read", "path", r.URL.Path, "error", err)
	}
	s.show(w, r, e.Status, "failure", http.StatusText(e.Status), e.Message)
}

func (s *server) page(do func(*http.Request) (name, title string, body any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, title, body, err := do(r)
		if err != nil {
			s.failure(w, r, err)
			return
		}
		s.show(w, r, http.StatusOK, name, title, body)
	}
}

func (s *server) homePage(*http.Request) (name, title string, body any, err error) {
	return "home", "Collected logs", s.layouts, nil
}

func (s *server) otherPage(*http.Request) (name, title string, body any, err error) {
	return "", "", nil, answer.Errorf(answer.NotFound, "There is nothing at this address. This server has collected logs, and no history of MapReduce jobs: "+
		"the JobHistoryServer of Hadoop has that.")
}

// lastBytes is the part of a log file that a page shows unless it is told another.
const lastBytes = 4096

// wish is what the address of a page asks for.
type wish struct {
	question
	start, end int64
	file       string
	base       string // the address without a file
}

func wishOf(r *http.Request) (w wish, err error) {
	node := r.PathValue("node")
	if _, port, err := net.SplitHostPort(node); err != nil || port == "" {
		return w, answer.Errorf(answer.Invalid, "Cannot get container logs. Invalid nodeId: %s", node)
	}
	id, err := parseContainer(r.PathValue("container"))
	if err != nil {
		return w, answer.Errorf(answer.Invalid, "Cannot get container logs for invalid containerId: %s", r.PathValue("container"))
	}
	w.question = question{app: id.Attempt.Application, container: &id, owner: r.PathValue("user"), node: node}
	w.file = r.PathValue("file")
	w.base = "/jobhistory/logs/" + url.PathEscape(node) + "/" + id.String() + "/" + url.PathEscape(r.PathValue("entity")) + "/" + url.PathEscape(w.owner)
	for name, value := range map[string]struct {
		to  *int64
		def int64
	}{"start": {&w.start, -lastBytes}, "end": {&w.end, forever}, "start.time": {&w.from, 0}, "end.time": {&w.to, forever}} {
		if *value.to, err = number(r.URL.Query().Get(name), value.def); err != nil {
			return w, answer.Errorf(answer.Invalid, "%s %v", name, err)
		}
	}
	return w, nil
}

// logsPage shows a log file of a container, or the ends of all.
func (s *server) logsPage(w http.ResponseWriter, r *http.Request) {
	ask, err := wishOf(r)
	if err != nil {
		s.failure(w, r, err)
		return
	}
	text, err := s.draw(r, "logs", "Logs for "+ask.container.String(), nil)
	if err != nil {
		s.failure(w, r, err)
		return
	}
	before, after, _ := bytes.Cut(text, []byte(s.mark))
	out := visible.NewWriter(w)
	shown := false
	err = s.files(r, ask.question, ask.file, func(n aggregated.NodeLogs, f aggregated.File, file *aggregated.Reader) error {
		if !shown {
			pages.Headers(w)
			shown = true
			if _, err := out.Write(before); err != nil {
				return visiting{err}
			}
		}
		return s.drawFile(out, ask, n, f, file)
	})
	switch {
	case shown && err != nil:
		s.log.Warn("a page of logs was cut off", "container", ask.container, "error", err)
		panic(http.ErrAbortHandler)
	case shown:
		_, _ = out.Write(after) // errors are those of a caller who has left
		_ = out.Flush()
	case err != nil:
		s.failure(w, r, err)
	case ask.file == "":
		s.failure(w, r, answer.Errorf(answer.NotFound, "No logs available for container %s", ask.container))
	default:
		s.failure(w, r, answer.Errorf(answer.NotFound, "Unable to locate '%s' log for container %s", ask.file, ask.container))
	}
}

func (s *server) drawFile(out io.Writer, ask wish, n aggregated.NodeLogs, f aggregated.File, file *aggregated.Reader) error {
	skip, length := section(f.Size, ask.start, ask.end)
	var b bytes.Buffer
	err := s.templates["file"].Execute(&b, struct {
		Name, Node, Collected, Whole string
		Size, Shown                  int64
	}{f.Name, n.Name, pages.When(n.Modified(f)), ask.base + "/" + url.PathEscape(f.Name) + "?start=0&start.time=" + strconv.FormatInt(ask.from, 10) +
		"&end.time=" + strconv.FormatInt(ask.to, 10), f.Size, length})
	if err != nil {
		return visiting{err}
	}
	before, after, _ := bytes.Cut(b.Bytes(), []byte(s.mark))
	if _, err := out.Write(before); err != nil {
		return visiting{err}
	}
	if err := part(file, skip, length, escaped{out}, "", ""); err != nil {
		return err
	}
	if _, err := out.Write(after); err != nil {
		return visiting{err}
	}
	return nil
}

// escaped turns text into HTML. Bytes that matter to HTML are no part of other characters in UTF-8, so
// that pieces can be cut anywhere.
type escaped struct{ io.Writer }

func (e escaped) Write(p []byte) (int, error) {
	var b bytes.Buffer
	template.HTMLEscape(&b, p)
	if _, err := e.Writer.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
