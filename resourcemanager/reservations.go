package resourcemanager

import (
	"context"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// reserve applies a command on reservations. The outcome is entered in the audit log if e has an operation.
func (t *term) reserve(ctx context.Context, c webgate.Caller, e audit.Entry, command func(engine.Ticket, engine.Caller) engine.Command) (any, error) {
	who := engine.Caller{User: c.User, Groups: t.rights.Groups(c.User)}
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command { return command(k, who) })
	if e.Operation != "" {
		e.User, e.From = c.User, identity(c).Remote.Addr()
		if err != nil {
			e.Failed, e.Description, e.Permissions = true, err.Error(), "UNKNOWN"
		}
		t.Options.Audit.Write(e)
	}
	return v, err
}

// NewReservation implements access.Controller.
func (t *term) NewReservation(ctx context.Context, c webgate.Caller) (yarn.ReservationID, error) {
	v, err := t.reserve(ctx, c, audit.Entry{}, func(k engine.Ticket, _ engine.Caller) engine.Command { return engine.NewReservation{Ticket: k} })
	if err != nil {
		return yarn.ReservationID{}, err
	}
	return v.(yarn.ReservationID), nil
}

// SubmitReservation implements access.Controller.
func (t *term) SubmitReservation(ctx context.Context, c webgate.Caller, r access.Reservation) error {
	_, err := t.reserve(ctx, c, audit.OfReservation(audit.SubmitReservation, r.ID), func(k engine.Ticket, who engine.Caller) engine.Command {
		return engine.SubmitReservation{Ticket: k, Caller: who, ID: r.ID, Queue: r.Queue, Definition: r.Definition}
	})
	return err
}

// UpdateReservation implements access.Controller.
func (t *term) UpdateReservation(ctx context.Context, c webgate.Caller, r access.Reservation) error {
	_, err := t.reserve(ctx, c, audit.OfReservation(audit.UpdateReservation, r.ID), func(k engine.Ticket, who engine.Caller) engine.Command {
		return engine.UpdateReservation{Ticket: k, Caller: who, ID: r.ID, Definition: r.Definition}
	})
	return err
}

// DeleteReservation implements access.Controller.
func (t *term) DeleteReservation(ctx context.Context, c webgate.Caller, id yarn.ReservationID) error {
	_, err := t.reserve(ctx, c, audit.OfReservation(audit.DeleteReservation, id), func(k engine.Ticket, who engine.Caller) engine.Command {
		return engine.DeleteReservation{Ticket: k, Caller: who, ID: id}
	})
	return err
}

// Reservations implements access.Controller.
func (t *term) Reservations(ctx context.Context, c webgate.Caller, q access.ReservationQuery) ([]view.Reservation, error) {
	v, err := t.reserve(ctx, c, audit.Entry{}, func(k engine.Ticket, who engine.Caller) engine.Command {
		return engine.ListReservations{Ticket: k, Caller: who, Queue: q.Queue, ID: q.ID, Start: q.Start, End: q.End}
	})
	if err != nil {
		return nil, err
	}
	return v.([]view.Reservation), nil
}

// NewReservation implements access.Controller.
func (d *Daemon) NewReservation(ctx context.Context, c webgate.Caller) (yarn.ReservationID, error) {
	t, err := d.current()
	if err != nil {
		return yarn.ReservationID{}, err
	}
	return t.NewReservation(ctx, c)
}

// SubmitReservation implements access.Controller.
func (d *Daemon) SubmitReservation(ctx context.Context, c webgate.Caller, r access.Reservation) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.SubmitReservation(ctx, c, r)
}

// UpdateReservation implements access.Controller.
func (d *Daemon) UpdateReservation(ctx context.Context, c webgate.Caller, r access.Reservation) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.UpdateReservation(ctx, c, r)
}

// DeleteReservation implements access.Controller.
func (d *Daemon) DeleteReservation(ctx context.Context, c webgate.Caller, id yarn.ReservationID) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.DeleteReservation(ctx, c, id)
}

// Reservations implements access.Controller.
func (d *Daemon) Reservations(ctx context.Context, c webgate.Caller, q access.ReservationQuery) ([]view.Reservation, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.Reservations(ctx, c, q)
}
