package rest

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/nodelogs"
	"github.com/heddle-project/heddle/yarn"
)

// tailBytes is how much of a log file is shown unless the request says.
const tailBytes = 16 << 10

// logFiles lists the log files of a container, which its node is asked for.
func (s *server) logFiles(r *http.Request) (*answer.Response, error) {
	id, node, err := s.loggedAt(r)
	if err != nil {
		return nil, err
	}
	files, err := s.Logs.Files(r.Context(), node, id.String(), asker(r))
	if err != nil {
		return nil, logProblem(err)
	}
	list := tree.List{}
	for _, f := range files {
		list = append(list, tree.New().Add("name", f.Name).Add("bytes", f.Size))
	}
	return answer.Wrapped("containerLogs", tree.New().Add("containerId", id.String()).Add("file", list)), nil
}

// logTail is the end of a log file of a container, which its node is asked for.
func (s *server) logTail(r *http.Request) (*answer.Response, error) {
	bytes := tailBytes
	if text := r.URL.Query().Get("bytes"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, badRequest("bytes is %q: it must be a number from 1 to %d", clipped(text), nodelogs.MaxBytes)
		}
		bytes = min(n, nodelogs.MaxBytes)
	}
	id, node, err := s.loggedAt(r)
	if err != nil {
		return nil, err
	}
	file := r.PathValue("file")
	text, length, err := s.Logs.Tail(r.Context(), node, id.String(), file, asker(r), bytes)
	if err != nil {
		return nil, logProblem(err)
	}
	return answer.Wrapped("containerLog", tree.New().Add("containerId", id.String()).Add("file", file).Add("length", length).Add("text", text)), nil
}

// asker is the user as whom a node is asked; "" if the caller did not say who he is.
func asker(r *http.Request) string {
	if c := webgate.From(r.Context()); !c.Anonymous {
		return c.User
	}
	return ""
}

// loggedAt is the container that the path names and the address of its node's pages, if the caller may view the application. Those of live containers
// and of masters are known.
func (s *server) loggedAt(r *http.Request) (yarn.ContainerID, string, error) {
	id, err := yarn.ParseContainerID(r.PathValue("container"))
	if err != nil {
		return id, "", answer.IllegalArgument("%v", err)
	}
	a, live, err := s.Source.Containers(r.Context(), id.Attempt.Application)
	if err != nil {
		return id, "", err
	}
	if c := webgate.From(r.Context()); !s.Source.MayView(c, a) {
		return id, "", answer.Errorf(answer.Forbidden, "User %s may not view %s", c.User, a.ID)
	}
	node := ""
	if i := slices.IndexFunc(a.Attempts, func(t *view.Attempt) bool { return t.ID == id.Attempt }); i >= 0 {
		node = nodeOfContainer(a.Attempts[i], live, id)
	}
	if node == "" {
		return id, "", notFound("The node of %s is not known here: it has ended, or never was. yarn logs -containerId %s looks in the collected logs.", id, id)
	}
	return id, node, nil
}

func nodeOfContainer(t *view.Attempt, live *view.AppContainers, id yarn.ContainerID) string {
	if t.MasterContainer == id {
		return t.NodeHTTPAddress
	}
	for _, c := range live.Of(t.ID) {
		if c.ID == id {
			return c.NodeHTTPAddress
		}
	}
	return ""
}

// logProblem is the answer where a node gives no log.
func logProblem(err error) error {
	var refused *nodelogs.Refusal
	if errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusForbidden, http.StatusUnauthorized:
			return answer.Errorf(answer.Forbidden, "%s", refused.Text)
		}
		return notFound("%s", refused.Text)
	}
	return answer.Errorf(answer.Unavailable, "%v", err)
}
