package ui

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// logsPage is how far the collection of an application's logs is.
type logsPage struct {
	ID     yarn.ApplicationID
	Status string
	States []logState
	Nodes  []view.NodeLogs
	More   int
}

// logState is what a state of it means.
type logState struct {
	Name    view.LogStatus
	Meaning string
}

var logStates = []logState{
	{view.LogsDisabled, "Logs are not collected."},
	{view.LogsNotStarted, "The node has not begun."},
	{view.LogsRunning, "The node is collecting."},
	{view.LogsRunningWithFailure, "The node is collecting, and has failed to collect some logs before."},
	{view.LogsSucceeded, "The node has collected all logs."},
	{view.LogsFailed, "The node has not collected at least one of the logs."},
	{view.LogsTimedOut, "The application ended long ago, and the node has not said that it is done."},
}

// maxLogNodes bounds the nodes that a page lists.
const maxLogNodes = 1000

// logNodes is for whoever may view the application: nodes quote paths and errors.
func (s *server) logNodes(r *http.Request) (*frame, error) {
	id, err := yarn.ParseApplicationID(r.PathValue("app"))
	if err != nil {
		return nil, &problem{http.StatusBadRequest, err.Error()}
	}
	a, _, err := s.find(r, id)
	if err != nil {
		return nil, err
	}
	if !s.Source.MayView(webgate.From(r.Context()), a) {
		return nil, &problem{http.StatusForbidden, "You may not view " + id.String() + "."}
	}
	p := logsPage{ID: id, Status: "N/A", States: logStates}
	if status := a.LogStatusAt(s.Now().UnixMilli()); status != 0 {
		p.Status = status.String()
	}
	if p.Nodes, err = s.Source.LogNodes(r.Context(), id); err != nil {
		return nil, err
	}
	p.More = max(0, len(p.Nodes)-maxLogNodes)
	p.Nodes = p.Nodes[:len(p.Nodes)-p.More]
	return &frame{Title: "Log Aggregation Status of " + id.String(), Here: "apps", Window: "/ui/apps/" + id.String(), Body: p}, nil
}
