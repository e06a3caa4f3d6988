package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

func (s *server) attempts(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	allowed := s.Source.MayView(webgate.From(r.Context()), a)
	list := make(tree.List, 0, len(a.Attempts))
	for _, t := range a.Attempts {
		list = append(list, s.attemptRow(a, t, allowed))
	}
	return answer.Wrapped("appAttempts", tree.New().Add("appAttempt", list)), nil
}

// attemptRow is an attempt in the list of all. The state is the internal one. The
// addresses of the master are blank if the caller may not view the application.
func (s *server) attemptRow(a *view.Application, t *view.Attempt, allowed bool) *tree.Object {
	o := tree.New().
		Add("id", t.ID.Attempt).
		Add("startTime", t.StartTime).
		Add("finishedTime", t.FinishTime)
	placed := allowed && !t.MasterContainer.IsZero()
	container, http, node, logs, ports := "", "", "", "", ""
	if placed {
		container, http, node = t.MasterContainer.String(), t.NodeHTTPAddress, t.Node.String()
		logs = s.Links.Logs(t.NodeHTTPAddress, t.MasterContainer, a.User)
		ports = "null" // compat: a JSON library's text for no exposed ports
	}
	blacklisted := ""
	if allowed {
		blacklisted = strings.Join(t.Blacklisted, ", ")
	}
	return o.Add("containerId", container).
		Add("nodeHttpAddress", http).
		Add("nodeId", node).
		Add("logsLink", logs).
		Add("blacklistedNodes", blacklisted).
		AddIf(placed, "nodesBlacklistedBySystem", "").
		Add("appAttemptId", t.ID.String()).
		Add("exportPorts", ports).
		Add("appAttemptState", t.State.String())
}

// attempt is the report on one attempt. Hadoop 3.5 cannot write it as JSON and answers
// 503.
func (s *server) attempt(r *http.Request) (*answer.Response, error) {
	a, t, err := s.findAttempt(r)
	if err != nil {
		return nil, err
	}
	original := t.OriginalTrackingURL
	if !access.HasTracking(t) {
		original = "N/A"
	}
	return answer.Wrapped("appAttempt", tree.New().
		Add("appAttemptId", t.ID.String()).
		Add("host", t.Host).
		Add("rpcPort", t.RPCPort).
		Add("trackingUrl", s.Links.Tracking(a, t)).
		Add("originalTrackingUrl", original).
		Add("diagnosticsInfo", t.Diagnostics).
		Add("appAttemptState", t.PublicState.String()).
		AddIf(!t.MasterContainer.IsZero(), "amContainerId", t.MasterContainer.String()).
		Add("startedTime", t.StartTime).
		Add("finishedTime", t.FinishTime)), nil
}

// idsOf are the ids in the path of an attempt, or of one of its containers. All are read before any is compared with another.
func idsOf(r *http.Request) (attempt yarn.AttemptID, container yarn.ContainerID, err error) {
	app, err := answer.ParseApplication(r.PathValue("app"))
	if err != nil {
		return attempt, container, err
	}
	text := r.PathValue("attempt")
	if attempt, err = yarn.ParseAttemptID(text); err != nil {
		return attempt, container, badID("AppAttemptId", "appattempt", text)
	}
	text = r.PathValue("container")
	if text != "" {
		if container, err = yarn.ParseContainerID(text); err != nil {
			return attempt, container, badID("ContainerId", "container", text)
		}
	}
	switch {
	case attempt.Application != app:
		err = notFound("appId and appAttemptId don't match")
	case text != "" && container.Attempt != attempt:
		err = notFound("appAttemptId and containerId don't match")
	}
	return attempt, container, err
}

func badID(kind, prefix, text string) error {
	if !strings.HasPrefix(text, prefix) {
		return badRequest("Invalid %s prefix: %s", kind, text)
	}
	return badRequest("Invalid %s: %s", kind, text)
}

// findAttempt is the attempt that the path names, if the caller may view it.
func (s *server) findAttempt(r *http.Request) (*view.Application, *view.Attempt, error) {
	id, _, err := idsOf(r)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.Source.Application(r.Context(), id.Application)
	t, err := s.attemptOf(r, a, id, err)
	return a, t, err
}

// findContainers are the live containers of the attempt that the path names, if the caller may view it.
func (s *server) findContainers(r *http.Request) (*view.Application, []*view.Container, error) {
	id, _, err := idsOf(r)
	if err != nil {
		return nil, nil, err
	}
	a, live, err := s.Source.Containers(r.Context(), id.Application)
	_, err = s.attemptOf(r, a, id, err)
	return a, live.Of(id), err
}

// attemptOf is an attempt of an application that was looked up, if the caller may view it; err is the error of the look-up.
func (s *server) attemptOf(r *http.Request, a *view.Application, id yarn.AttemptID, err error) (*view.Attempt, error) {
	if answer.KindOf(err) == answer.NotFound {
		err = notFound("Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id.Application)
	}
	if err != nil {
		return nil, err
	}
	if c := webgate.From(r.Context()); !s.Source.MayView(c, a) {
		return nil, answer.Errorf(answer.Forbidden, "User %s may not view %s", c.User, a.ID)
	}
	i := slices.IndexFunc(a.Attempts, func(t *view.Attempt) bool { return t.ID == id })
	if i < 0 {
		return nil, notFound("ApplicationAttempt with id '%s' doesn't exist in RM.", id)
	}
	return a.Attempts[i], nil
}

func (s *server) containers(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	a, live, err := s.findContainers(r)
	if err != nil {
		return nil, err
	}
	list := tree.Stream(func(yield func(tree.Value) bool) {
		for _, one := range live {
			if !yield(s.containerObject(c.ResourceTypes, a, one)) {
				return
			}
		}
	})
	return answer.Bare("containers", tree.New().Add("container", list)), nil
}

func (s *server) container(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	a, live, err := s.findContainers(r)
	if err != nil {
		return nil, err
	}
	_, id, err := idsOf(r)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(live, func(one *view.Container) bool { return one.ID == id })
	if i < 0 {
		return nil, notFound("Container with id '%s' doesn't exist in RM.", id)
	}
	return answer.Wrapped("container", s.containerObject(c.ResourceTypes, a, live[i])), nil
}

// containerObject is a live container.
//
// compat: its exit status is 0.
func (s *server) containerObject(types yarn.ResourceTypes, a *view.Application, c *view.Container) *tree.Object {
	node := c.Node.String()
	return tree.New().
		Add("containerId", c.ID.String()).
		Add("allocatedMB", c.Resource.MemoryMB()).
		Add("allocatedVCores", c.Resource.VCoreCount()).
		Add("assignedNodeId", node).
		Add("priority", c.Priority).
		Add("startedTime", c.CreatedAt).
		Add("finishedTime", 0).
		Add("elapsedTime", elapsed(c.CreatedAt, 0, s.now())).
		Add("logUrl", s.Links.Logs(c.NodeHTTPAddress, c.ID, a.User)).
		Add("containerExitStatus", 0).
		Add("containerState", c.PublicState()).
		Add("nodeHttpAddress", s.Links.Scheme+"://"+c.NodeHTTPAddress).
		Add("nodeId", node).
		Add("allocatedResources", amounts(types, c.Resource)).
		Add("exposedPorts", "")
}
