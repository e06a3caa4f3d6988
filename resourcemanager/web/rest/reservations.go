package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// definitionBody is what is to be reserved, in a request. Times are milliseconds.
//
// compat: a priority is not read.
type definitionBody struct {
	Arrival    int64  `xml:"arrival" json:"arrival"`
	Deadline   int64  `xml:"deadline" json:"deadline"`
	Name       string `xml:"reservation-name" json:"reservation-name"`
	Recurrence string `xml:"recurrence-expression" json:"recurrence-expression"`
	Requests   struct {
		Interpreter int32 `xml:"reservation-request-interpreter" json:"reservation-request-interpreter"`
		List        oneOrMany[struct {
			Capability struct { // compat: other resource types are passed by
				Memory int64 `xml:"memory" json:"memory"`
				VCores int64 `xml:"vCores" json:"vCores"`
			} `xml:"capability" json:"capability"`
			Concurrency int32 `xml:"min-concurrency" json:"min-concurrency"`
			Containers  int32 `xml:"num-containers" json:"num-containers"`
			Duration    int64 `xml:"duration" json:"duration"`
		}] `xml:"reservation-request" json:"reservation-request"`
	} `xml:"reservation-requests" json:"reservation-requests"`
}

// reservationBody is the body of a submission, an update or a deletion. A JSON body has it under the name of the XML root; see wrapped.
type reservationBody struct {
	ID         string          `xml:"reservation-id" json:"reservation-id"`
	Queue      string          `xml:"queue" json:"queue"`
	Definition *definitionBody `xml:"reservation-definition" json:"reservation-definition"`
}

// The roots of bodies.
const (
	submissionRoot = "reservation-submission-context"
	updateRoot     = "reservation-update-context"
	deletionRoot   = "reservation-delete-context"
)

// reservationOf reads a body.
//
// compat: JSON must have it under the name of the XML root. Another object says nothing, and an empty one is none.
func reservationOf(r *http.Request, root string) (*reservationBody, error) {
	if strings.Contains(r.Header.Get("Content-Type"), "xml") {
		var body struct {
			XMLName xml.Name
			reservationBody
		}
		if err := decode(r, &body); err != nil || body.XMLName.Local != root {
			return nil, cmp.Or(err, unreadableXML(""))
		}
		return &body.reservationBody, nil
	}
	var wrapper map[string]json.RawMessage
	if err := decode(r, &wrapper); err != nil {
		return nil, err
	}
	body := &reservationBody{}
	inner, ok := wrapper[root]
	if len(wrapper) == 0 && root != deletionRoot {
		return nil, badRequest("Input ReservationSubmissionContext should not be null")
	}
	if ok && json.Unmarshal(inner, body) != nil {
		return nil, unreadable()
	}
	return body, nil
}

// id is the reservation that the body names; zero: none.
func (b *reservationBody) id() (yarn.ReservationID, error) {
	if b.ID == "" {
		return yarn.ReservationID{}, nil
	}
	id, err := yarn.ParseReservationID(b.ID)
	if err != nil {
		return id, badRequest("%v", err)
	}
	return id, nil
}

// reservation is what the body wants to have reserved.
func (b *reservationBody) reservation() (access.Reservation, error) {
	d := b.Definition
	switch {
	case d == nil:
		return access.Reservation{}, badRequest("Input ReservationDefinition should not be null")
	case len(d.Requests.List) == 0:
		return access.Reservation{}, badRequest("The ReservationDefinition should contain at least one ReservationRequest")
	case d.Requests.Interpreter < int32(yarn.AnyStage) || d.Requests.Interpreter > int32(yarn.OrderedNoGap):
		return access.Reservation{}, badRequest("reservation-request-interpreter is %d: it must be 0 (any), 1 (all), 2 (in order) or 3 (in order without gaps)", d.Requests.Interpreter)
	}
	id, err := b.id()
	if err != nil {
		return access.Reservation{}, err
	}
	out := &yarn.ReservationDefinition{Arrival: max(0, d.Arrival), Deadline: max(0, d.Deadline), Name: d.Name, Priority: yarn.NoPriority, Recurrence: cmp.Or(d.Recurrence, "0"),
		Interpreter: yarn.Interpreter(d.Requests.Interpreter)}
	for _, r := range d.Requests.List {
		out.Stages = append(out.Stages, yarn.ReservationStage{Capability: yarn.NewResource(r.Capability.Memory, r.Capability.VCores), Containers: r.Containers,
			Concurrency: r.Concurrency, Duration: r.Duration})
	}
	return access.Reservation{ID: id, Queue: b.Queue, Definition: out}, nil
}

func (s *server) newReservation(r *http.Request) (*answer.Response, error) {
	id, err := s.Controller.NewReservation(r.Context(), webgate.From(r.Context()))
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("new-reservation", tree.New().Add("reservation-id", id.String())), nil
}

func (s *server) submitReservation(r *http.Request) (*answer.Response, error) {
	if err := s.planned(r, submissionRoot, s.Controller.SubmitReservation); err != nil {
		return nil, err
	}
	return &answer.Response{Status: http.StatusAccepted}, nil
}

func (s *server) updateReservation(r *http.Request) (*answer.Response, error) {
	if err := s.planned(r, updateRoot, s.Controller.UpdateReservation); err != nil {
		return nil, err
	}
	return answer.Wrapped("reservation-update-response", tree.New()), nil
}

// planned has do plan what the request's body wants to have reserved.
func (s *server) planned(r *http.Request, root string, do func(context.Context, webgate.Caller, access.Reservation) error) error {
	body, err := reservationOf(r, root)
	if err != nil {
		return err
	}
	want, err := body.reservation()
	if err != nil {
		return err
	}
	return do(r.Context(), webgate.From(r.Context()), want)
}

func (s *server) deleteReservation(r *http.Request) (*answer.Response, error) {
	body, err := reservationOf(r, deletionRoot)
	if err != nil {
		return nil, err
	}
	id, err := body.id()
	if err != nil {
		return nil, err
	}
	if err := s.Controller.DeleteReservation(r.Context(), webgate.From(r.Context()), id); err != nil {
		return nil, err
	}
	return answer.Wrapped("reservation-delete-response", tree.New()), nil
}

// reservations answers GET: the reservations of a queue in a range of time.
func (s *server) reservations(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	want := access.ReservationQuery{Queue: q.Get("queue"), End: -1}
	if !q.Has("queue") {
		want.Queue = "default"
	}
	for _, n := range []struct {
		name string
		to   *int64
	}{{"start-time", &want.Start}, {"end-time", &want.End}} {
		if text := q.Get(n.name); text != "" {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, badRequest("%s is %q: it must be a time in milliseconds", n.name, clipped(text))
			}
			*n.to = v
		}
	}
	id, err := (&reservationBody{ID: q.Get("reservation-id")}).id()
	if err != nil {
		return nil, err
	}
	want.ID = id
	if want.Start = max(0, want.Start); want.End < 0 {
		want.End = math.MaxInt64
	}
	found, err := s.Controller.Reservations(r.Context(), webgate.From(r.Context()), want)
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	var list tree.List
	for i := range found {
		list = append(list, reservationObject(c.ResourceTypes, &found[i], strings.EqualFold(q.Get("include-resource-allocations"), "true")))
	}
	return answer.Bare("reservationListInfo", tree.New().AddIf(len(list) > 0, "reservations", list)), nil
}

func reservationObject(types yarn.ResourceTypes, r *view.Reservation, allocations bool) *tree.Object {
	o := tree.New().Add("acceptance-time", r.Accepted).Add("user", r.User)
	if allocations {
		var list tree.List
		for _, i := range r.Intervals {
			list = append(list, tree.New().Add("resource", resource(types, i.Resource)).Add("startTime", i.Start).Add("endTime", i.End))
		}
		o.AddIf(len(list) > 0, "resource-allocations", list)
	}
	return o.Add("reservation-id", r.ID.String()).Add("reservation-definition", definitionObject(types, &r.Definition))
}

// definitionObject is what was asked for.
//
// compat: the priority is always 0.
func definitionObject(types yarn.ResourceTypes, d *yarn.ReservationDefinition) *tree.Object {
	var list tree.List
	for _, s := range d.Stages {
		list = append(list, tree.New().Add("capability", resource(types, s.Capability)).Add("min-concurrency", s.Concurrency).
			Add("num-containers", s.Containers).Add("duration", s.Duration))
	}
	return tree.New().Add("arrival", d.Arrival).Add("deadline", d.Deadline).
		Add("reservation-requests", tree.New().Add("reservation-request-interpreter", int32(d.Interpreter)).Add("reservation-request", list)).
		AddIf(d.Name != "", "reservation-name", d.Name).Add("priority", int32(0)).Add("recurrence-expression", d.Recurrence)
}
