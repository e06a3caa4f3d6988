package web

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/logs"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// readable fails unless the caller may see the logs of a container, and there can
// be any.
func (s *server) readable(r *http.Request, id yarn.ContainerID) error {
	a, ok := s.Source.Application(id.Attempt.Application)
	if !ok {
		return answer.Errorf(answer.NotFound, "Unknown container. Container either has not started or has already completed or doesn't belong to this node at all.")
	}
	if caller := webgate.From(r.Context()); !s.Source.MayView(caller, a) {
		err := answer.Errorf(answer.Forbidden, "User [%s] is not authorized to view the logs for application %s", caller.User, a.ID)
		s.Source.ReadLogs(caller, id, err)
		return err
	}
	c, ok := s.Source.Container(id)
	switch {
	case !ok: // it has ended and is forgotten, its logs are still here
		return nil
	case c.State == "NEW" || c.State == "LOCALIZING" || c.State == "SCHEDULED":
		return answer.Errorf(answer.NotFound, "Container is not yet running. Current state is %s", c.State)
	case c.State == "LOCALIZATION_FAILED":
		return answer.Errorf(answer.NotFound, "Container wasn't started. Localization failed.")
	}
	return nil
}

// files lists the log files of a container.
func (s *server) files(r *http.Request, id yarn.ContainerID) ([]view.LogFile, error) {
	if err := s.readable(r, id); err != nil {
		return nil, err
	}
	list, err := s.Logs.List(id)
	return list, refusal(err)
}

// open opens a log file.
func (s *server) open(r *http.Request, id yarn.ContainerID, name string) (*logs.File, error) {
	if err := s.readable(r, id); err != nil {
		return nil, err
	}
	f, err := s.Logs.Open(id, name)
	if err == nil {
		s.Source.ReadLogs(webgate.From(r.Context()), id, nil)
	}
	return f, refusal(err)
}

// refusal turns an error that is the caller's mistake into the answer that says
// so.
func refusal(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return answer.Errorf(answer.NotFound, "Cannot find this log on the local disk.")
	case errors.Is(err, logs.ErrName):
		return answer.Errorf(answer.Invalid, "%v", err)
	}
	return err
}

// elsewhere is where a program finds logs that are not here, empty if nobody said
// so: yarn.log.server.web-service.url with the rest of the question.
func (s *server) elsewhere(r *http.Request, path string, err error) string {
	if s.LogService == "" || answer.KindOf(err) != answer.NotFound {
		return ""
	}
	query := r.URL.Query()
	query.Del("nm.id")
	query.Set("redirected_from_node", "true")
	return strings.TrimSuffix(s.LogService, "/") + path + "?" + query.Encode()
}

// logFiles lists the log files of a container. compat: sizes are texts, and XML
// has one element more around it.
func (s *server) logFiles(r *http.Request) (*answer.Response, error) {
	id, err := containerID(r)
	if err != nil {
		return nil, err
	}
	files, err := s.files(r, id)
	if to := s.elsewhere(r, "/containers/"+id.String()+"/logs", err); to != "" {
		return &answer.Response{Status: http.StatusTemporaryRedirect, Location: to}, nil
	}
	if err != nil {
		return nil, err
	}
	var list tree.List
	for _, f := range files {
		list = append(list, tree.New().
			Add("fileName", f.Name).
			Add("fileSize", strconv.FormatInt(f.Size, 10)).
			Add("lastModifiedTime", javaTime(f.Modified)))
	}
	return answer.Bare("containerLogsInfoes", tree.New().Add("containerLogsInfo", tree.New().
		Add("containerLogInfo", list).
		Add("logAggregationType", aggregated.Local).
		Add("containerId", id.String()).
		Add("nodeId", s.Source.Node().ID.String()))), nil
}

// javaTime is a time as Hadoop's log tools print it.
func javaTime(ms int64) string {
	return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 -0700 2006")
}

// formats are the types under which a log file can be fetched.
var formats = map[string]string{"": "text/plain;charset=utf-8", "text": "text/plain;charset=utf-8", "octet-stream": "application/octet-stream; charset=utf-8"}

// logFile sends a log file with a heading, or the part of it that size says: the
// first bytes, or the last ones if it is negative.
func (s *server) logFile(w http.ResponseWriter, r *http.Request) {
	if !answer.Accepts(r.Header.Values("Accept"), "text/plain") {
		answer.WriteError(w, r, answer.NotAcceptable())
		return
	}
	id, err := containerID(r)
	if err != nil {
		answer.Plain(w, http.StatusBadRequest, err.Error())
		return
	}
	name, query := r.PathValue("file"), r.URL.Query()
	contentType, ok := formats[query.Get("format")]
	if !ok {
		answer.Plain(w, http.StatusBadRequest, "The valid values for the parameter : format are [text, octet-stream]")
		return
	}
	size, err := bytesOf(query.Get("size"))
	if err != nil {
		answer.Plain(w, http.StatusBadRequest, err.Error())
		return
	}
	f, err := s.open(r, id, name)
	if err != nil {
		s.logFailure(w, r, id, name, err)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	w.Header().Set("Content-Type", contentType)
	s.sendLog(w, id, f, size)
}

func (s *server) logFailure(w http.ResponseWriter, r *http.Request, id yarn.ContainerID, name string, err error) {
	if to := s.elsewhere(r, "/containers/"+id.String()+"/logs/"+url.PathEscape(name), err); to != "" {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	e := answer.ExceptionOf(err)
	if e.Status == http.StatusServiceUnavailable {
		s.Log.Warn("a log file cannot be read", "container", id, "file", name, "error", err)
	}
	answer.Plain(w, e.Status, e.Message)
}

// bytesOf reads the parameter size; without one it is everything.
func bytesOf(text string) (int64, error) {
	if text == "" {
		return 1<<63 - 1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("size is not a number of bytes: %.40q", text)
	}
	return n, nil
}

// sendLog writes the heading, the part and the ending. Errors of writing are
// those of a caller who has left.
func (s *server) sendLog(w http.ResponseWriter, id yarn.ContainerID, f *logs.File, size int64) {
	skip, length := aggregated.Window(f.Size, size)
	part, err := f.Section(skip, skip+length)
	if err != nil {
		answer.Plain(w, http.StatusBadRequest, err.Error())
		return
	}
	heading := aggregated.Heading{Container: id.String(), Node: s.Source.Node().ID.String(), Kind: aggregated.Local,
		File: f.Name, Modified: javaTime(f.Modified), Size: f.Size}
	running := ""
	if c, ok := s.Source.Container(id); ok && c.Running() {
		running = id.String()
	}
	_, _ = io.WriteString(w, heading.String())
	if _, err := io.Copy(w, part); err == nil {
		_, _ = io.WriteString(w, aggregated.LocalEnding(f.Name, running))
	}
}

func logsLink(id yarn.ContainerID, user string) string {
	return "/node/containerlogs/" + id.String() + "/" + url.PathEscape(user)
}
