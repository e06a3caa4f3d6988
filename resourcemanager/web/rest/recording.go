package rest

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
)

// recording is the state of the recording of commands. Hadoop does not have it.
func (s *server) recording(r *http.Request) (*answer.Response, error) {
	return s.record(r, access.RecordStatus)
}

// setRecording writes what is kept in memory to a file, or begins or ends a file of all
// commands.
func (s *server) setRecording(r *http.Request) (*answer.Response, error) {
	body, err := fields(r, "recording")
	if err != nil {
		return nil, err
	}
	switch what := access.RecordAction(body["action"]); what {
	case access.RecordSave, access.RecordStart, access.RecordStop:
		return s.record(r, what)
	}
	return nil, badRequest("action must be save, start or stop")
}

func (s *server) record(r *http.Request, what access.RecordAction) (*answer.Response, error) {
	x, err := s.Controller.Record(r.Context(), webgate.From(r.Context()), what)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("recording", tree.New().
		Add("commands", int64(x.Commands)).
		Add("missing", int64(x.Missing)).
		AddIf(x.File != "", "file", x.File).
		AddIf(x.All != "", "all", x.All).
		Add("allBytes", x.AllBytes).
		AddIf(x.AllClosed != "", "allClosed", x.AllClosed)), nil
}
