package resourcemanager

import (
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/events"
)

// What happens in a term, for those who follow its events.

// happened takes an event.
func (o *outside) happened(e *events.Event) {
	o.tally.attempt(e)
	o.events.Add(e)
}

// Decisions implements loop.Outside.
func (o *outside) Decisions(fx *engine.Effects) {
	at := clock.System().Now().Wall
	for i := range fx.Containers {
		c := &fx.Containers[i]
		e := events.Event{At: at, Kind: events.Container, Application: c.Container.Attempt.Application, Attempt: c.Container.Attempt.Attempt, Container: c.Container,
			Node: c.Node, Queue: c.Queue, What: "ended", MemoryMB: c.Resource.MemoryMB(), VCores: c.Resource.VCoreCount(), Priority: c.Priority, Master: c.Master, Exit: c.Exit}
		if c.Born {
			e.What = "allocated"
		}
		o.happened(&e)
		o.tally.container(c)
	}
	for _, id := range fx.Notices {
		o.happened(&events.Event{At: at, Kind: events.Container, Application: id.Attempt.Application, Attempt: id.Attempt.Attempt, Container: id, What: "noticed"})
	}
	if fx.Requeued {
		o.happened(&events.Event{At: at, Kind: events.Queues})
	}
}

// followTransitions adds steps in lives.
func (o *outside) followTransitions(list []engine.Transition) {
	at := clock.System().Now().Wall
	for i := range list {
		t := &list[i]
		e := events.Event{At: at, Kind: events.Node, Node: t.Node, Queue: t.Queue, From: t.From, To: t.To, Cause: t.Cause}
		switch {
		case !t.Application.IsZero():
			e.Kind, e.Application = events.Application, t.Application
			o.tally.application(t)
		case !t.Attempt.IsZero():
			e.Kind, e.Application, e.Attempt = events.Attempt, t.Attempt.Application, t.Attempt.Attempt
		}
		o.happened(&e)
	}
}

// reservationChanges are the words for what has become of a reservation.
var reservationChanges = map[engine.ReservationChange]string{
	engine.Deleted: "deleted", engine.Over: "over", engine.Revoked: "revoked", engine.NotRecovered: "not-recovered",
	engine.QueueRefused: "queue-refused", engine.ReplanCutShort: "replan-cut-short",
}

// followReservations adds what has become of reservations.
func (o *outside) followReservations(list []engine.ReservationEvent) {
	at := clock.System().Now().Wall
	for i := range list {
		r := &list[i]
		o.happened(&events.Event{At: at, Kind: events.Reservation, Reservation: r.ID, Queue: r.Plan, What: reservationChanges[r.What], Cause: r.Why})
	}
}
