package client

import (
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// reserve posts a command on reservations on a goroutine of its own, because looking up the caller's groups may take a while. The outcome is
// entered in the audit log if e has an operation.
func (s *client) reserve(c *ipc.Call, e audit.Entry, make func(engine.Ticket, engine.Caller) engine.Command, answer func(any) proto.Message) {
	spawn(c, s.submissions, func() {
		who := s.caller(c)
		s.Loop.Post(make(s.Loop.Expect(func(v any, err error) {
			if e.Operation != "" {
				s.done(c, e, err)
			}
			if err != nil {
				rpc.Fail(c, err)
				return
			}
			serve.Answer(c, answer(v))
		}), who))
	})
}

// definition is what a call wants to have reserved. If it cannot be read the call is refused.
func (s *client) definition(c *ipc.Call, operation string, id *pb.ReservationId, m *pb.ReservationDefinition) (*yarn.ReservationDefinition, bool) {
	d, err := convert.ReservationDefinition(m, s.Types)
	if err != nil {
		s.done(c, audit.OfReservation(operation, convert.ReservationID(id)), err)
		serve.Refuse(c, serve.YarnException, "Cannot plan %s: %v", convert.ReservationID(id), err)
		return nil, false
	}
	return d, true
}

func (s *client) newReservation(c *ipc.Call, _ *pb.GetNewReservationRequest) {
	s.reserve(c, audit.Entry{}, func(t engine.Ticket, _ engine.Caller) engine.Command { return engine.NewReservation{Ticket: t} },
		func(v any) proto.Message {
			return &pb.GetNewReservationResponse{ReservationId: convert.ToReservationID(v.(yarn.ReservationID))}
		})
}

func (s *client) submitReservation(c *ipc.Call, m *pb.ReservationSubmissionRequest) {
	d, ok := s.definition(c, audit.SubmitReservation, m.ReservationId, m.ReservationDefinition)
	if !ok {
		return
	}
	s.reserve(c, audit.OfReservation(audit.SubmitReservation, convert.ReservationID(m.ReservationId)), func(t engine.Ticket, who engine.Caller) engine.Command {
		return engine.SubmitReservation{Ticket: t, Caller: who, ID: convert.ReservationID(m.ReservationId), Queue: m.GetQueue(), Definition: d}
	}, func(any) proto.Message { return &pb.ReservationSubmissionResponse{} })
}

func (s *client) updateReservation(c *ipc.Call, m *pb.ReservationUpdateRequest) {
	d, ok := s.definition(c, audit.UpdateReservation, m.ReservationId, m.ReservationDefinition)
	if !ok {
		return
	}
	s.reserve(c, audit.OfReservation(audit.UpdateReservation, convert.ReservationID(m.ReservationId)), func(t engine.Ticket, who engine.Caller) engine.Command {
		return engine.UpdateReservation{Ticket: t, Caller: who, ID: convert.ReservationID(m.ReservationId), Definition: d}
	}, func(any) proto.Message { return &pb.ReservationUpdateResponse{} })
}

func (s *client) deleteReservation(c *ipc.Call, m *pb.ReservationDeleteRequest) {
	s.reserve(c, audit.OfReservation(audit.DeleteReservation, convert.ReservationID(m.ReservationId)), func(t engine.Ticket, who engine.Caller) engine.Command {
		return engine.DeleteReservation{Ticket: t, Caller: who, ID: convert.ReservationID(m.ReservationId)}
	}, func(any) proto.Message { return &pb.ReservationDeleteResponse{} })
}

// listReservations runs in turn, so it may wait for the answer and build a large list of it.
func (s *client) listReservations(c *ipc.Call, m *pb.ReservationListRequest) {
	id, err := yarn.ReservationID{}, error(nil)
	if text := m.GetReservationId(); text != "" {
		if id, err = yarn.ParseReservationID(text); err != nil {
			serve.Refuse(c, serve.YarnException, "Cannot list reservations of queue %s: %v", m.GetQueue(), err)
			return
		}
	}
	end := int64(math.MaxInt64)
	if m.EndTime != nil {
		end = m.GetEndTime()
	}
	var found []view.Reservation
	answered := make(chan error, 1)
	s.Loop.Post(engine.ListReservations{Caller: s.caller(c), Queue: m.GetQueue(), ID: id, Start: m.GetStartTime(), End: end,
		Ticket: s.Loop.Expect(func(v any, err error) {
			if err == nil {
				found = v.([]view.Reservation)
			}
			answered <- err
		})})
	if err := <-answered; err != nil {
		rpc.Fail(c, err)
		return
	}
	out := serve.NewList(c)
	for i := range found {
		if !out.Add(1, s.reservation(&found[i], m.GetIncludeResourceAllocations())) {
			break
		}
	}
	out.Send()
}

// caller is who asks, with the groups of the caller. To look them up may take a while.
func (s *client) caller(c *ipc.Call) engine.Caller {
	return engine.Caller{User: c.Caller.User, RealUser: c.Caller.RealUser, Groups: s.Access.Groups(c.Caller.User)}
}

// reservation is the message of a reservation, with its allocations if they were asked for.
func (s *client) reservation(r *view.Reservation, allocations bool) *pb.ReservationAllocationState {
	out := &pb.ReservationAllocationState{ReservationDefinition: convert.ToReservationDefinition(&r.Definition, s.Types), User: &r.User, AcceptanceTime: &r.Accepted,
		ReservationId: convert.ToReservationID(r.ID)}
	if allocations {
		for i := range r.Intervals {
			at := &r.Intervals[i]
			out.AllocationRequests = append(out.AllocationRequests, &pb.ResourceAllocationRequest{StartTime: &at.Start, EndTime: &at.End,
				Resource: convert.ToResource(at.Resource, s.Types)})
		}
	}
	return out
}
