package rest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// signals are the names of signals, in the order of their numbers on the wire, which begin with 1.
var signals = []string{"OUTPUT_THREAD_DUMP", "GRACEFUL_SHUTDOWN", "FORCEFUL_SHUTDOWN"}

// signal has a container's node deliver a signal, for those who may modify the application.
//
// compat: plain texts, and 500 for a container that is not there.
func (s *server) signal(r *http.Request) (*answer.Response, error) {
	name := strings.ToUpper(r.PathValue("command"))
	number := slices.Index(signals, name) + 1
	if number == 0 {
		return &answer.Response{Status: http.StatusBadRequest,
			Text: "Invalid command: " + clipped(name) + ", valid commands are: [" + strings.Join(signals, ", ") + "]"}, nil
	}
	id, err := yarn.ParseContainerID(r.PathValue("container"))
	if err != nil {
		return nil, answer.IllegalArgument("%v", err)
	}
	err = s.Controller.Signal(r.Context(), webgate.From(r.Context()), id, int32(number))
	switch answer.KindOf(err) {
	case answer.NotFound, answer.WrongState:
		return &answer.Response{Status: http.StatusInternalServerError, Text: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	return &answer.Response{Text: "signal success"}, nil
}

// longestSchedulerLog bounds for how long the scheduler's decisions are written to a file.
const longestSchedulerLog = 24 * time.Hour

// logScheduler has what the scheduler decides written to a file of the ResourceManager's log directory, for the time that a form says, in
// seconds.
//
// compat: the text names the CapacityScheduler whatever scheduler is used.
func (s *server) logScheduler(r *http.Request) (*answer.Response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, badRequest("the form does not parse: %v", err)
	}
	text := r.Form.Get("time")
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, &answer.Exception{Status: http.StatusBadRequest, Class: "java.lang.NumberFormatException", Message: "For input string: " + strconv.Quote(clipped(text))}
	}
	if seconds <= 0 {
		return nil, badRequest("Period must be greater than 0")
	}
	period := time.Duration(seconds) * time.Second
	if period > longestSchedulerLog {
		return nil, badRequest("Period must be at most %d", int(longestSchedulerLog/time.Second))
	}
	if err := s.Controller.LogScheduler(r.Context(), webgate.From(r.Context()), period); err != nil {
		return nil, err
	}
	return &answer.Response{Text: "Capacity scheduler logs are being created."}, nil
}

// resizeBody is what a node is to offer, and how long it may have more allocated than that.
type resizeBody struct {
	XMLName  xml.Name  `xml:"resourceOption" json:"-"`
	Resource *sizeBody `xml:"resource" json:"resource"`
	Timeout  scalar    `xml:"overCommitTimeout" json:"overCommitTimeout"`
}

// resize changes what a node offers, for administrators, and answers what it offers then.
func (s *server) resize(r *http.Request) (*answer.Response, error) {
	body, err := resizeOf(r)
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	n, err := nodeOf(c, r.PathValue("node"))
	if err != nil {
		return nil, err
	}
	if body.Resource == nil {
		return nil, badRequest(`no resource given: the body must be {"resource":{"memory":<MiB>,"vCores":<number>},"overCommitTimeout":-1}`)
	}
	var p fieldParser
	total := n.Total
	memory, vcores := p.integer(body.Resource.Memory, "memory", 64, 0), p.integer(body.Resource.VCores, "vCores", 32, 0)
	timeout := p.integer(body.Timeout, "overCommitTimeout", 32, -1)
	switch {
	case p.err != nil:
		return nil, p.err
	case memory < 0 || vcores < 0:
		return nil, badRequest("%s cannot offer less than nothing: memory %d, vCores %d", n.ID, memory, vcores)
	}
	total[0], total[1] = memory, vcores
	if err := s.Controller.Resize(r.Context(), webgate.From(r.Context()), n.ID, total, timeout); err != nil {
		return nil, err
	}
	return answer.Wrapped("resourceInfo", resource(c.ResourceTypes, total)), nil
}

func resizeOf(r *http.Request) (*resizeBody, error) {
	isXML, body, err := content(r)
	out := &resizeBody{}
	switch {
	case err != nil:
		return nil, err
	case isXML && (!plainXML(body, "resourceOption") || xml.Unmarshal(body, out) != nil):
		return nil, unreadableXML("")
	case isXML:
	case !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")), json.Unmarshal(body, out) != nil:
		return nil, unreadable()
	}
	return out, nil
}

// Delegation tokens are given over REST only to those who have proved who they are with Kerberos, which Heddle does not have;
// the client protocol gives them.
//
// compat: Apache's text, and plain.
func (s *server) noTokens(*http.Request) (*answer.Response, error) {
	return &answer.Response{Status: http.StatusForbidden,
		Text: "Delegation token operations can only be carried out on a Kerberos authenticated channel. Expected auth type is kerberos, got type SIMPLE"}, nil
}

func (s *server) newToken(r *http.Request) (*answer.Response, error) {
	if _, err := fields(r, "delegation-token"); err != nil {
		return nil, err
	}
	return s.noTokens(r)
}
