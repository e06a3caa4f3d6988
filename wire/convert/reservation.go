package convert

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// ReservationID reads an id; a missing one is zero.
func ReservationID(p *pb.ReservationId) yarn.ReservationID {
	return yarn.ReservationID{ClusterTimestamp: p.GetClusterTimestamp(), Number: p.GetId()}
}

// ToReservationID is the message of an id.
func ToReservationID(id yarn.ReservationID) *pb.ReservationId {
	return &pb.ReservationId{ClusterTimestamp: &id.ClusterTimestamp, Id: &id.Number}
}

// ReservationDefinition reads what is to be reserved; a missing one is nil.
func ReservationDefinition(p *pb.ReservationDefinition, types yarn.ResourceTypes) (*yarn.ReservationDefinition, error) {
	if p == nil {
		return nil, nil
	}
	d := &yarn.ReservationDefinition{Arrival: p.GetArrival(), Deadline: p.GetDeadline(), Name: p.GetReservationName(), Priority: yarn.NoPriority,
		Recurrence: p.GetRecurrenceExpression(), Interpreter: yarn.Interpreter(p.GetReservationRequests().GetInterpreter())}
	if p.Priority != nil {
		d.Priority = p.Priority.GetPriority()
	}
	list := p.GetReservationRequests().GetReservationResources()
	if p.ReservationRequests != nil {
		d.Stages = make([]yarn.ReservationStage, len(list))
	}
	for i, r := range list {
		size, err := Resource(r.GetCapability(), types)
		if err != nil {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, len(list), err)
		}
		d.Stages[i] = yarn.ReservationStage{Capability: size, Containers: r.GetNumContainers(), Concurrency: r.GetConcurrency(), Duration: r.GetDuration()}
	}
	return d, nil
}

// ToReservationDefinition is the message of a definition.
func ToReservationDefinition(d *yarn.ReservationDefinition, types yarn.ResourceTypes) *pb.ReservationDefinition {
	requests := &pb.ReservationRequests{Interpreter: pb.ReservationRequestInterpreter(d.Interpreter).Enum()}
	for i := range d.Stages {
		s := &d.Stages[i]
		requests.ReservationResources = append(requests.ReservationResources, &pb.ReservationRequest{Capability: ToResource(s.Capability, types),
			NumContainers: &s.Containers, Concurrency: &s.Concurrency, Duration: &s.Duration})
	}
	p := &pb.ReservationDefinition{ReservationRequests: requests, Arrival: &d.Arrival, Deadline: &d.Deadline, ReservationName: proto.String(d.Name),
		RecurrenceExpression: proto.String(d.Recurrence)}
	if d.Priority != yarn.NoPriority {
		p.Priority = ToPriority(d.Priority)
	}
	return p
}
