package introspect

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/webgate"
)

const levelPath = "/logLevel"

// LevelChange is what webgate's Changing must have: a GET that changes the level of a logger. See docs/decisions/0017.
const LevelChange = levelPath + "?level"

// said begins each line of the answer that yarn daemonlog prints, with its tags left out; noted one that only ours prints, as a warning.
const (
	said  = "<!-- OUTPUT -->"
	noted = "<!-- NOTE -->"
)

// maxLoggerName bounds the name of a logger, in bytes.
const maxLoggerName = 1000

// logLevel tells the level of the logger that the parameter log names; with level it sets it first, for administrators.
func (s *server) logLevel(levels *logs.Levels, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name, level := strings.TrimSpace(query.Get("log")), strings.TrimSpace(query.Get("level"))
	refuse := func(kind answer.Kind, format string, args ...any) {
		webgate.Refuse(w, r, answer.Errorf(kind, format, args...))
	}
	var lines []string
	line := func(what, value string) { lines = append(lines, said+what+": <b>"+html.EscapeString(value)+"</b>") }
	switch {
	case len(name) > maxLoggerName:
		refuse(answer.Invalid, "the name of the logger has more than %d bytes", maxLoggerName)
		return
	case query.Has("level") && name == "":
		refuse(answer.Invalid, "say which logger is meant: ?log=NAME&level=LEVEL")
		return
	case name != "":
		line("Submitted Class Name", name)
		line("Log Class", "org.slf4j.impl.Reload4jLoggerAdapter") // compat: as programs know it that look at the answer
	}
	if query.Has("level") {
		line("Submitted Level", level)
		want, ok := logs.ParseLevel(level)
		switch {
		case !s.administers(r):
			refuse(answer.Forbidden, "Levels are changed by administrators (yarn.admin.acl) who say who they are. %s is none.", webgate.From(r.Context()).User)
			return
		case !ok:
			line("Bad Level", level)
		default:
			c := webgate.From(r.Context())
			s.Log.Warn("the level of a logger is changed", "name", name, "level", logs.LevelName(want), "user", c.User, "from", c.Address)
			if err := levels.Set(name, want); err != nil {
				refuse(answer.WrongState, "%v", err)
				return
			}
			lines = append(lines, said+"Setting Level to "+html.EscapeString(level)+" ...")
		}
	}
	if name != "" {
		line("Effective Level", logs.LevelName(levels.Get(name)))
		if len(levels.Loggers(name)) == 0 {
			lines = append(lines, noted+"No logger of this daemon has a name that begins so. Those that it has: "+html.EscapeString(strings.Join(levels.Loggers(""), ", ")))
		}
	}
	_ = pages.Write(w, http.StatusOK, func(out io.Writer) error { return levelPage(out, lines, levels) })
}

// levelPage is the page that Hadoop has, but that levels are changed with yarn daemonlog: where applications' pages have the origin of this
// one, a form could be theirs.
func levelPage(out io.Writer, lines []string, levels *logs.Levels) error {
	fmt.Fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Log Level</title><link rel=\"stylesheet\" href=%q></head>\n<body>\n<h1>Log Level</h1>\n", pages.StylePath)
	if len(lines) > 0 {
		fmt.Fprint(out, "<hr><h3>Results</h3>\n")
	}
	for _, line := range lines {
		fmt.Fprintf(out, "%s<br>\n", line)
	}
	fmt.Fprint(out, "<hr><h3>Loggers</h3>\n<table><tr><th>Name</th><th>Level</th></tr>\n")
	for _, name := range append([]string{"root"}, levels.Loggers("")...) {
		fmt.Fprintf(out, "<tr><td>%s</td><td>%s</td></tr>\n", html.EscapeString(name), logs.LevelName(levels.Get(name)))
	}
	_, err := fmt.Fprint(out, "</table>\n<h3>Get</h3>\n<form><label>Class Name: <input name=\"log\"></label> <input type=\"submit\" value=\"Get Log Level\"></form>\n"+
		"<p>To set a level: <code>yarn daemonlog -setlevel HOST:PORT NAME LEVEL</code></p>\n</body></html>\n")
	return err
}
