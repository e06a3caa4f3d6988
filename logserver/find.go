package logserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/yarn"
)

// Limits of one request, and of all at once.
const (
	maxLookups = 32               // requests that read collected logs at once; the others wait
	placeWait  = 30 * time.Second // for a place among them
	maxListed  = 100_000          // log files in one list
	maxFiles   = 10_000           // log files of one container
	maxRecords = 1_000_000        // containers in one node's file
)

// question is what a request asks for.
type question struct {
	app       yarn.ApplicationID
	attempt   *yarn.AttemptID   // nil: all
	container *yarn.ContainerID // nil: all
	owner     string            // whose directory; "" to be found
	node      string            // "host:port"; "" for all
	from, to  int64             // when collected, milliseconds since 1970
}

func (q *question) wants(container string) bool {
	switch {
	case q.container != nil:
		return container == q.container.String()
	case q.attempt != nil:
		c, err := yarn.ParseContainerID(container)
		return err == nil && c.Attempt == *q.attempt
	}
	return true
}

// hidden tells that there are logs that the caller may not read.
func hidden(c webgate.Caller, entity, file string) error {
	return answer.Errorf(answer.Forbidden, "User [%s] is not authorized to view the logs for %s in log file [%s]", c.User, entity, file)
}

// errEnough ends a search that has found what it looked for.
var errEnough = errors.New("enough")

// place waits for one of the places to read.
func place(ctx context.Context, places chan struct{}) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, errors.New("too many requests for collected logs at once: ask again later")
	}
}

// each calls visit for each container that the question asks for and that the caller may see. A damaged
// file of a node is passed over with a line of log. The error is visit's, or tells that there are no
// files at all, or none that the caller may see.
func (s *server) each(r *http.Request, q question, visit visitor) error {
	return s.reading(r, func(store *aggregated.Store) (err error) {
		if q.owner == "" {
			if q.owner, err = store.Owner(q.app, webgate.From(r.Context()).User); err != nil {
				return err
			}
		}
		if q.owner == "" {
			return answer.Errorf(answer.NotFound, "there are no collected logs of %s, or several users have some", q.app)
		}
		nodes, err := store.Nodes(q.app, q.owner)
		var none *aggregated.NotFound
		if errors.As(err, &none) {
			return answer.Errorf(answer.NotFound, "there are no collected logs of %s: %v", q.app, err)
		}
		if err != nil {
			return err
		}
		return s.eachNode(r, store, nodes, q, visit)
	})
}

// reading calls do when it is the request's turn to read.
func (s *server) reading(r *http.Request, do func(*aggregated.Store) error) error {
	release, err := place(r.Context(), s.places)
	if err != nil {
		return err
	}
	defer release()
	store := aggregated.NewStore(s.layouts, func(u filesystem.URL) (filesystem.FileSystem, error) { return s.connect(r.Context(), u) })
	defer store.Close() //nolint:errcheck // it was only read
	return do(store)
}

// visitor is called for a container of a node's file, before its log files are read.
type visitor func(n aggregated.NodeLogs, container string, file *aggregated.Reader) error

// eachNode is each for the files of nodes that have been found.
func (s *server) eachNode(r *http.Request, store *aggregated.Store, nodes []aggregated.NodeLogs, q question, visit visitor) error {
	var refused error
	for _, n := range nodes {
		if !n.Complete() || !n.Of(q.node) || n.ModTime < q.from || n.ModTime > q.to {
			continue
		}
		err := s.eachOf(r, store, n, q, visit)
		switch {
		case err == nil:
		case answer.KindOf(err) == answer.Forbidden:
			refused = err
		case errors.Is(err, errEnough):
			return nil
		default:
			return err
		}
	}
	return refused
}

// visiting is an error of the one who visits, not of the file.
type visiting struct{ error }

func (v visiting) Unwrap() error { return v.error }

func (s *server) eachOf(r *http.Request, store *aggregated.Store, n aggregated.NodeLogs, q question, visit visitor) error {
	file, err := store.Open(n)
	if err == nil {
		defer file.Close() //nolint:errcheck // it was only read
	}
	for count := 0; err == nil; count++ {
		if err = r.Context().Err(); err != nil {
			return err
		}
		var id string
		if id, err = file.NextContainer(); err != nil {
			break
		}
		if count == maxRecords {
			err = fmt.Errorf("more than %d containers", maxRecords)
			break
		}
		if count == 0 {
			if caller := webgate.From(r.Context()); !s.mayView(caller, file.Owner(), file.ACLs()) {
				return hidden(caller, q.entity(), n.Name)
			}
		}
		if q.wants(id) {
			err = visit(n, id, file)
		}
	}
	var mine visiting
	switch {
	case errors.As(err, &mine), errors.Is(err, errEnough), r.Context().Err() != nil:
		return err
	case !errors.Is(err, io.EOF):
		s.log.Warn("collected logs are damaged, or not complete", "application", q.app, "file", n.Name, "error", err)
	}
	return nil
}

func (q *question) entity() string {
	switch {
	case q.container != nil:
		return q.container.String()
	case q.attempt != nil:
		return q.attempt.String()
	}
	return q.app.String()
}

// logFiles are the log files that one node had of a container.
type logFiles struct {
	id    string
	node  aggregated.NodeLogs
	on    string // what the node is called
	files []aggregated.File
}

// list lists the log files that a question asks for.
func (s *server) list(r *http.Request, q question) ([]logFiles, error) {
	var out []logFiles
	total := 0
	err := s.each(r, q, func(n aggregated.NodeLogs, id string, file *aggregated.Reader) error {
		k := logFiles{id: id, node: n, on: n.NameIn(file)}
		for {
			f, err := file.NextFile()
			if errors.Is(err, io.EOF) {
				out = append(out, k)
				return nil
			}
			if err != nil {
				return err
			}
			if total++; total > maxListed {
				return visiting{answer.Errorf(answer.Invalid, "more than %d log files: ask for one container of %s", maxListed, q.app)}
			}
			k.files = append(k.files, f)
		}
	})
	return out, err
}
