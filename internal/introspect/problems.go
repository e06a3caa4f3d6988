package introspect

import (
	_ "embed"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/pages"
)

// ProblemsPage is the template "content" of a page about the daemon's warnings and errors; its data are Problems.
//
//go:embed problems.html
var ProblemsPage string

// Problems are the warnings and errors of a daemon.
type Problems struct {
	Windows []ProblemWindow
	Shown   string // for how long ago messages are listed
	Rows    []ProblemRow
}

// ProblemWindow is how many there were in the last so much time.
type ProblemWindow struct {
	Name             string
	Seconds          int
	Errors, Warnings int
}

// ProblemRow is a message.
type ProblemRow struct {
	Text, Type, Last string
	Count            int
}

var problemWindows = []ProblemWindow{{Name: "1 minute", Seconds: 60}, {Name: "5 minutes", Seconds: 300}, {Name: "15 minutes", Seconds: 900}, {Name: "1 hour", Seconds: 3600},
	{Name: "6 hours", Seconds: 21600}, {Name: "12 hours", Seconds: 43200}, {Name: "24 hours", Seconds: 86400}}

// Problems are those that a request asks for with "cutoff" (seconds; by default a day). Only administrators may: a message may name anything.
func (c Config) Problems(r *http.Request) (*Problems, error) {
	s := &server{Config: c}
	if !s.administers(r) {
		return nil, answer.Errorf(answer.Forbidden, "This page is for administrators (yarn.admin.acl): say who you are with ?user.name=<you>.")
	}
	recent := logs.RecentOf(c.Log)
	if recent == nil {
		return nil, answer.Errorf(answer.NotBuilt, "this daemon's log does not count its warnings and errors")
	}
	now := time.Now()
	p := &Problems{}
	for _, w := range problemWindows {
		since := now.Add(-time.Duration(w.Seconds) * time.Second)
		w.Errors, w.Warnings = recent.Count(slog.LevelError, since), recent.Count(slog.LevelWarn, since)
		p.Windows = append(p.Windows, w)
	}
	last := problemWindows[len(problemWindows)-1]
	if seconds, err := strconv.Atoi(r.FormValue("cutoff")); err == nil && seconds > 0 && seconds < last.Seconds {
		last.Seconds, last.Name = seconds, strconv.Itoa(seconds)+" seconds"
		for _, w := range problemWindows {
			if w.Seconds == seconds {
				last.Name = w.Name
			}
		}
	}
	p.Shown = last.Name
	for _, m := range recent.Messages(now.Add(-time.Duration(last.Seconds) * time.Second)) {
		kind := "Warning"
		if m.Level >= slog.LevelError {
			kind = "Error"
		}
		p.Rows = append(p.Rows, ProblemRow{Text: strings.ToValidUTF8(m.Text, "\uFFFD"), Type: kind, Count: m.Count, Last: pages.When(m.Last.UnixMilli())})
	}
	return p, nil
}
