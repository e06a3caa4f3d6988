package logserver

import (
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/yarn"
)

func (s *server) info(*http.Request) (*answer.Response, error) {
	return answer.Wrapped("historyInfo", tree.New().
		Add("startedOn", s.started.UnixMilli()).
		Add("hadoopVersion", release.Hadoop).
		Add("hadoopBuildVersion", "Heddle").
		Add("hadoopVersionBuiltOn", "")), nil
}

func parseContainer(text string) (yarn.ContainerID, error) {
	id, err := yarn.ParseContainerID(text)
	if err != nil {
		return id, answer.Errorf(answer.Invalid, "Invalid container id: %s", text)
	}
	return id, nil
}

// containerLogs lists the log files of a container.
func (s *server) containerLogs(r *http.Request) (*answer.Response, error) {
	id, err := parseContainer(r.PathValue("container"))
	if err != nil {
		return nil, err
	}
	return s.metas(r, question{app: id.Attempt.Application, container: &id, to: forever})
}

// aggregatedLogs lists the log files of an application, an attempt or a container.
func (s *server) aggregatedLogs(r *http.Request) (*answer.Response, error) {
	q, err := asked(r)
	if err != nil {
		return nil, err
	}
	return s.metas(r, q)
}

// asked reads the parameters appid, appattemptid and containerid, of which at least one is there and
// which belong together.
func asked(r *http.Request) (question, error) {
	q := question{to: forever}
	query := r.URL.Query()
	app, attempt, container := query.Get("appid"), query.Get("appattemptid"), query.Get("containerid")
	if app == "" && attempt == "" && container == "" {
		return q, answer.IllegalArgument("Should set application id, application attempt id or container id.")
	}
	if app != "" {
		id, err := answer.ParseApplication(app)
		if err != nil {
			return q, err
		}
		q.app = id
	}
	if attempt != "" {
		id, err := yarn.ParseAttemptID(attempt)
		if err != nil {
			return q, answer.Errorf(answer.Invalid, "Invalid AppAttemptId: %s", attempt)
		}
		q.attempt = &id
	}
	if container != "" {
		id, err := parseContainer(container)
		if err != nil {
			return q, err
		}
		q.container = &id
	}
	switch {
	case q.container != nil && q.attempt != nil && q.container.Attempt != *q.attempt:
		return q, answer.IllegalArgument("Container %s does not belong to application attempt %s!", q.container, q.attempt)
	case q.container != nil && app != "" && q.container.Attempt.Application != q.app:
		return q, answer.IllegalArgument("Container %s does not belong to application %s!", q.container, q.app)
	case q.attempt != nil && app != "" && q.attempt.Application != q.app:
		return q, answer.IllegalArgument("Application attempt %s does not belong to application %s!", q.attempt, q.app)
	}
	if q.attempt != nil {
		q.app = q.attempt.Application
	}
	if q.container != nil {
		q.app = q.container.Attempt.Application
	}
	return q, nil
}

func (s *server) metas(r *http.Request, q question) (*answer.Response, error) {
	all, err := s.list(r, q)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, answer.Errorf(answer.NotFound, "Can not get log meta for request.")
	}
	return shown(all, func(ms int64) tree.Value { return javaTime(ms) }), nil
}

// shown is the answer that lists log files; when is how their times are shown.
func shown(all []logFiles, when func(ms int64) tree.Value) *answer.Response {
	// compat: what is alone is no array.
	list := make(tree.List, len(all))
	for i, k := range all {
		files := make(tree.List, len(k.files))
		for j, f := range k.files {
			files[j] = tree.New().
				Add("fileName", f.Name).
				Add("fileSize", f.Size).
				Add("lastModifiedTime", when(k.node.Modified(f)))
		}
		list[i] = tree.New().
			Add("containerLogInfo", alone(files)).
			Add("logAggregationType", aggregated.Aggregated).
			Add("containerId", k.id).
			Add("nodeId", k.on)
	}
	return answer.Wrapped("containerLogsInfoes", tree.New().Add("containerLogsInfo", alone(list)))
}

// alone is the only element of a list, or the list.
func alone(l tree.List) tree.Value {
	if len(l) == 1 {
		return l[0]
	}
	return l
}

// javaTime is a time as Hadoop's log tools print it.
func javaTime(ms int64) string {
	return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 -0700 2006")
}

// remoteLogDir tells where collected logs are: those of a user, or of one of his applications.
func (s *server) remoteLogDir(r *http.Request) (*answer.Response, error) {
	query := r.URL.Query()
	user := query.Get("user")
	if user == "" {
		user = s.user
	}
	var list tree.List
	for _, l := range s.layouts {
		var where string
		if text := query.Get("appid"); text != "" {
			id, err := answer.ParseApplication(text)
			if err != nil {
				return nil, answer.IllegalArgument("%v", err)
			}
			dir, err := l.Dir(user, id)
			if err != nil {
				return nil, answer.Errorf(answer.Invalid, "%v", err)
			}
			where = dir.String()
		} else {
			dirs, err := l.Dirs(user, yarn.ApplicationID{})
			if err != nil {
				return nil, answer.Errorf(answer.Invalid, "%v", err)
			}
			where = l.Root.At(path.Join(dirs[0].Path, "bucket-"+l.Suffix)).String()
		}
		list = append(list, tree.New().Add("fileController", l.Format).Add("path", where))
	}
	return answer.Wrapped("remoteLogDirPathResult", tree.New().Add("paths", alone(list))), nil
}

// formats are the types under which a log file can be fetched.
var formats = map[string]string{"": "text/plain;charset=utf-8", "text": "text/plain;charset=utf-8", "octet-stream": "application/octet-stream; charset=utf-8"}

// logFile sends a log file with a heading, or the part of it that size says: the first bytes, or the
// last ones if it is negative.
func (s *server) logFile(w http.ResponseWriter, r *http.Request) {
	if !answer.Accepts(r.Header.Values("Accept"), "text/plain") {
		answer.WriteError(w, r, answer.NotAcceptable())
		return
	}
	query := r.URL.Query()
	id, err := yarn.ParseContainerID(r.PathValue("container"))
	if err != nil {
		answer.Plain(w, http.StatusNotFound, "Not Found. Invalid ContainerId: "+r.PathValue("container"))
		return
	}
	contentType, ok := formats[query.Get("format")]
	if !ok {
		answer.Plain(w, http.StatusBadRequest, "The valid values for the parameter : format are [text, octet-stream]")
		return
	}
	size, err := number(query.Get("size"), forever)
	if err != nil {
		answer.Plain(w, http.StatusBadRequest, fmt.Sprintf("size %v", err))
		return
	}
	s.sendLog(w, r, id, contentType, size)
}

// sendLog writes heading, part and ending of each file of that name: there are several if logs were
// collected while the container ran.
func (s *server) sendLog(w http.ResponseWriter, r *http.Request, id yarn.ContainerID, contentType string, size int64) {
	name, sent := r.PathValue("file"), false
	q := question{app: id.Attempt.Application, container: &id, to: forever}
	err := s.files(r, q, name, func(n aggregated.NodeLogs, f aggregated.File, file *aggregated.Reader) error {
		if !sent {
			w.Header().Set("Content-Type", contentType)
			sent = true
		}
		h := aggregated.Heading{Container: id.String(), Node: n.Name, Kind: aggregated.Aggregated, File: f.Name, Modified: javaTime(n.Modified(f)), Size: f.Size}
		skip, length := aggregated.Window(f.Size, size)
		return part(file, skip, length, w, h.String(), aggregated.Ending(f.Name))
	})
	switch {
	case sent && err != nil:
		s.log.Warn("a log file was cut off", "container", id, "file", name, "user", webgate.From(r.Context()).User, "error", err)
		panic(http.ErrAbortHandler) // what was sent must not look whole
	case sent:
	case err == nil:
		answer.Plain(w, http.StatusNotFound, "Can not find logs for container:"+id.String())
	default:
		e := answer.ExceptionOf(err)
		if e.Status == http.StatusServiceUnavailable {
			s.log.Warn("collected logs cannot be read", "container", id, "file", name, "error", err)
		}
		answer.Plain(w, e.Status, e.Message)
	}
}
