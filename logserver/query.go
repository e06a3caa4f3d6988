package logserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/javaregexp"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// Limits of an extended query, which may look at all logs of a user.
const (
	maxQueries     = 4               // at once; they have that many of the places of maxLookups
	maxComparisons = 32              // values of one parameter
	maxOpened      = 10_000          // files of nodes that are read
	maxLooked      = 1_000_000       // log files that are compared
	queryTime      = 5 * time.Minute // for one query
)

// errQueryTime ends a query that takes too long.
var errQueryTime = fmt.Errorf("the query takes longer than %v: ask for one application (appid) or container (containerid)", queryTime)

// query is what an extended query asks for. What is nil does not matter.
type query struct {
	app, container *string // the whole id
	node, file     func(name string) bool
	size, modified comparisons
}

// comparison compares a number with another one: sign is that of the difference.
type comparison struct {
	sign int
	with int64
}

// comparisons all have to be true.
type comparisons []comparison

func (l comparisons) match(n int64) bool {
	for _, c := range l {
		if (n > c.with) != (c.sign > 0) || (n < c.with) != (c.sign < 0) {
			return false
		}
	}
	return true
}

// readComparisons reads ">number", "<number" and "number", of which only one is allowed.
//
// compat: the words and the class of the errors are Hadoop's.
func readComparisons(texts []string) (comparisons, error) {
	if len(texts) > maxComparisons {
		return nil, answer.IllegalArgument("%d values of one parameter; at most %d are allowed", len(texts), maxComparisons)
	}
	var distinct, exact []string
	seen := map[string]bool{}
	for _, t := range texts {
		if seen[t] {
			continue
		}
		seen[t] = true
		distinct = append(distinct, t)
		if !strings.HasPrefix(t, ">") && !strings.HasPrefix(t, "<") {
			exact = append(exact, t)
		}
	}
	if len(exact) > 1 {
		return nil, answer.IllegalArgument("Can not process more, than one exact match. Matches: %s", strings.Join(exact, " "))
	}
	var out comparisons
	for _, t := range distinct {
		var c comparison
		text := t
		switch {
		case strings.HasPrefix(t, ">"):
			c.sign, text = 1, t[1:]
		case strings.HasPrefix(t, "<"):
			c.sign, text = -1, t[1:]
		}
		var err error
		if c.with, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, &answer.Exception{Status: http.StatusBadRequest, Class: "java.lang.NumberFormatException", Message: `For input string: "` + text + `"`}
		}
		out = append(out, c)
	}
	return out, nil
}

// readQuery reads the parameters; of those that can be there only once the first counts.
func readQuery(values url.Values) (q query, err error) {
	text := func(name string) *string {
		if v := values[name]; len(v) > 0 {
			return &v[0]
		}
		return nil
	}
	pattern := func(name string) (func(string) bool, error) {
		p := text(name)
		if p == nil {
			return nil, nil
		}
		match, err := javaregexp.ParseWhole(*p)
		if err != nil {
			return nil, answer.IllegalArgument("%s: %v", name, err)
		}
		return match, nil
	}
	q.app, q.container = text("appid"), text("containerid")
	if q.file, err = pattern("filename"); err != nil {
		return q, err
	}
	if q.size, err = readComparisons(values["file_size"]); err != nil {
		return q, err
	}
	if q.modified, err = readComparisons(values["modification_time"]); err != nil {
		return q, err
	}
	q.node, err = pattern("nm.id")
	return q, err
}

// only is where to look if just one application can have what is asked for; nil if any can. It is false of ids that nothing can have.
func (q *query) only() (*question, bool) {
	one := question{to: forever}
	if q.container != nil {
		id, err := yarn.ParseContainerID(*q.container)
		if err != nil || id.String() != *q.container {
			return nil, false
		}
		one.container, one.app = &id, id.Attempt.Application
	}
	if q.app != nil {
		id, err := yarn.ParseApplicationID(*q.app)
		if err != nil || id.String() != *q.app {
			return nil, false
		}
		one.app = id
	}
	if q.app == nil && q.container == nil {
		return nil, true
	}
	return &one, true
}

// found collects the log files that a query asks for.
type found struct {
	*query
	logs                   []logFiles
	opened, looked, listed int
}

// choose leaves the files of nodes that are to be read.
func (f *found) choose(nodes []aggregated.NodeLogs) (out []aggregated.NodeLogs, err error) {
	for _, n := range nodes {
		if !n.Complete() || f.node != nil && !f.node(n.Name) {
			continue
		}
		if f.opened++; f.opened > maxOpened {
			return nil, answer.Errorf(answer.Invalid, "more than %d files of nodes would have to be read: ask for one application (appid) or some nodes (nm.id)", maxOpened)
		}
		out = append(out, n)
	}
	return out, nil
}

// visit collects the log files of a container.
func (f *found) visit(ctx context.Context, n aggregated.NodeLogs, id string, file *aggregated.Reader) error {
	k := logFiles{id: id, node: n, on: n.Name}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := file.NextFile()
		if errors.Is(err, io.EOF) {
			if len(k.files) > 0 {
				f.logs = append(f.logs, k)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if f.looked++; f.looked > maxLooked {
			return visiting{answer.Errorf(answer.Invalid, "more than %d log files would have to be looked at: ask for one application (appid) or container (containerid)", maxLooked)}
		}
		if f.file != nil && !f.file(one.Name) || !f.size.match(one.Size) || !f.modified.match(n.Modified(one)) {
			continue
		}
		if f.listed++; f.listed > maxListed {
			return visiting{answer.Errorf(answer.Invalid, "more than %d log files: ask for fewer", maxListed)}
		}
		k.files = append(k.files, one)
	}
}

// extendedQuery lists the log files that conditions hold for, of all applications or of one.
//
// compat: they are those of the user whom the daemon runs as. Patterns have to match whole names; of nodes, the names of their
// files. To find nothing is no error.
func (s *server) extendedQuery(r *http.Request) (*answer.Response, error) {
	q, err := readQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), queryTime, errQueryTime)
	defer cancel()
	release, err := place(ctx, s.queries)
	if err != nil {
		return nil, err
	}
	defer release()
	f := found{query: &q}
	r = r.WithContext(ctx)
	if err := s.reading(r, func(store *aggregated.Store) error { return s.search(r, store, &f) }); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errQueryTime) {
			return nil, cause
		}
		return nil, err
	}
	if len(f.logs) == 0 {
		return answer.Bare("containerLogsInfoes", tree.Draw(func(m *tree.Members) {
			if !m.XML() { // compat: in JSON what is empty is a text
				m.Text("containerLogsInfoes", "")
			}
		})), nil
	}
	return shown(f.logs, func(ms int64) tree.Value { return ms }), nil
}

// search looks through the applications that can have what is asked for.
func (s *server) search(r *http.Request, store *aggregated.Store, f *found) error {
	one, possible := f.only()
	if one == nil && possible {
		return s.searchAll(r, store, f)
	}
	if err := known(store.Known(s.user)); err != nil || !possible {
		return err
	}
	return s.searchOne(r, store, f, *one)
}

// known makes the caller's error of a user who has no logs.
//
// compat: text and class are Hadoop's.
func known(err error) error {
	var none *aggregated.NotFound
	if errors.As(err, &none) {
		return &answer.Exception{Status: http.StatusNotFound, Class: "java.io.FileNotFoundException", Message: none.Places[0]}
	}
	return err
}

// searchAll passes over applications whose logs cannot be read here, and over the logs that the caller may not see.
func (s *server) searchAll(r *http.Request, store *aggregated.Store, f *found) error {
	apps, err := store.Applications(s.user)
	if errors.Is(err, filesystem.ErrTooMany) {
		return answer.Errorf(answer.Invalid, "%s has logs of more than %d applications: ask for one (appid)", visible.Line(s.user), aggregated.MaxApps)
	}
	if err := known(err); err != nil {
		return err
	}
	passed := 0
	var why error // of the first that is passed over
	for _, app := range apps {
		if err := r.Context().Err(); err != nil {
			return err
		}
		err := s.searchOne(r, store, f, question{app: app, to: forever})
		switch {
		case errors.As(err, new(unreadable)):
			if passed++; passed == 1 {
				why = fmt.Errorf("%s: %w", app, err)
			}
		case err != nil && answer.KindOf(err) != answer.Forbidden:
			return err
		}
	}
	if passed > 0 {
		s.log.Warn("an extended query has passed over applications whose logs cannot be read", "applications", passed, "first", why)
	}
	return nil
}

// unreadable is an error of the directory of one application.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

func (s *server) searchOne(r *http.Request, store *aggregated.Store, f *found, q question) error {
	all, err := store.Nodes(q.app, s.user)
	if errors.As(err, new(*aggregated.NotFound)) {
		return nil
	}
	if err != nil {
		return unreadable{err}
	}
	nodes, err := f.choose(all)
	if err != nil {
		return err
	}
	return s.eachNode(r, store, nodes, q, func(n aggregated.NodeLogs, id string, file *aggregated.Reader) error {
		return f.visit(r.Context(), n, id, file)
	})
}
