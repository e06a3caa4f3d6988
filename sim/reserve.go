package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// newReservations is the percentage of steps in which a user makes, changes or deletes a reservation.
const newReservations = 2

// planQueue is the queue that can be reserved.
const planQueue = "root.plan"

// reservable returns the settings of reservations.
func reservable(dominant bool) engine.Reservations {
	return engine.Reservations{Enabled: true, Step: 1000, MaxPeriod: 86_400_000, Early: true, Smoothness: 10, Calc: measure.Calculator{Types: 2, Dominant: dominant},
		Max: nodeSize, Patience: 5_000}
}

// reservation is what a user knows of a reservation.
type reservation struct {
	id       yarn.ReservationID
	accepted bool
	leaves   bool   // it is being deleted, is over, or was revoked: it may exist or not
	removal  uint64 // the save that removes it
	gone     bool   // its removal was acknowledged
	names    choice // of its definitions, by which they differ
}

func (c *Cluster) reservation(id yarn.ReservationID) *reservation {
	for _, r := range c.reserved {
		if r.id == id {
			return r
		}
	}
	return nil
}

// definition returns a random definition that asks for a part of the plan soon.
func (c *Cluster) definition() *yarn.ReservationDefinition {
	from := c.now.Wall + c.rng.Int64N(10)*1000
	d := &yarn.ReservationDefinition{Arrival: from, Deadline: from + (5+c.rng.Int64N(30))*1000, Recurrence: "0", Priority: yarn.NoPriority, Interpreter: yarn.Interpreter(c.rng.IntN(4)),
		Name: fmt.Sprint("definition ", c.Steps)}
	for range 1 + c.rng.IntN(2) {
		d.Stages = append(d.Stages, yarn.ReservationStage{Capability: yarn.NewResource(1024, 1), Containers: 1 + c.rng.Int32N(4), Concurrency: 1, Duration: (2 + c.rng.Int64N(10)) * 1000})
	}
	return d
}

var reserver = engine.Caller{User: "user0"}

// changeReservations makes a reservation, or changes or deletes one.
func (c *Cluster) changeReservations() {
	d := c.definition()
	what := c.rng.IntN(4)
	if what < 2 || len(c.reserved) == 0 {
		c.user.ask(func(t engine.Ticket) engine.Command { return engine.NewReservation{Ticket: t} }, func(v any, err *engine.Error) {
			if err != nil {
				return
			}
			id := v.(yarn.ReservationID)
			if c.reservation(id) != nil {
				c.fail("reservation id %s was given away twice", id)
				return
			}
			c.reserved = append(c.reserved, &reservation{id: id, names: choice{values: []any{nil}}})
			c.user.ask(func(t engine.Ticket) engine.Command {
				return engine.SubmitReservation{Ticket: t, Caller: reserver, ID: id, Queue: planQueue, Definition: d}
			}, c.count("reservation made"))
		})
		return
	}
	r := c.reserved[c.rng.IntN(len(c.reserved))]
	if what == 2 {
		c.user.ask(func(t engine.Ticket) engine.Command {
			return engine.UpdateReservation{Ticket: t, Caller: reserver, ID: r.id, Definition: d}
		}, c.count("reservation changed"))
		return
	}
	c.user.ask(func(t engine.Ticket) engine.Command {
		return engine.DeleteReservation{Ticket: t, Caller: reserver, ID: r.id}
	}, c.count("reservation deleted"))
}

// useReservation has some applications submitted to the plan, with or without a reservation.
func (c *Cluster) useReservation(a *client) {
	if c.script != nil || c.rng.IntN(3) > 0 {
		return
	}
	a.submission.Queue = "plan"
	if n := len(c.reserved); n > 0 && c.rng.IntN(3) > 0 {
		if r := c.reserved[c.rng.IntN(n)]; r.accepted && !r.gone && !r.leaves {
			a.submission.Queue, a.submission.Reservation = planQueue, r.id
			c.Done["submitted to a reservation"]++
		}
	}
}

// reserves notes what a command stores about reservations.
func (t *term) reserves(cmd engine.Command, s engine.Save) {
	x, ok := s.Op.Record.(state.Reservation)
	if !ok || t.c.owner != t {
		return
	}
	r := t.c.reservation(x.ID)
	switch {
	case r == nil:
	case s.Op.Kind == state.OpRemove:
		r.leaves, r.removal = true, s.Seq
	default:
		r.names.propose(x.Definition.Name, s.Seq)
	}
}

// reservationAnswered notes whether a change of a reservation was acknowledged or refused.
func (t *term) reservationAnswered(q *question, err *engine.Error) {
	var r *reservation
	switch cmd := q.cmd.(type) {
	case engine.SubmitReservation:
		r = t.c.reservation(cmd.ID)
	case engine.UpdateReservation:
		r = t.c.reservation(cmd.ID)
	case engine.DeleteReservation:
		if r = t.c.reservation(cmd.ID); r != nil && err == nil && q.first > 0 {
			r.gone = true
		}
		return
	}
	if r == nil || q.first == 0 {
		return
	}
	if r.names.settle(q.first, err == nil); err == nil {
		r.accepted, r.gone, r.leaves = true, false, r.leaves && r.removal > q.first // as in Apache, an update creates a deleted reservation again
	}
}

// reservationsEnd notes reservations that are over or were revoked.
func (t *term) reservationsEnd(fx *engine.Effects) {
	for _, x := range fx.Reservations {
		t.c.Done["reservations "+[]string{"deleted", "over", "revoked", "not recovered", "left as they were", "not all looked at"}[x.What]]++
		if r := t.c.reservation(x.ID); r != nil && t.c.owner == t {
			r.leaves = true
		}
	}
}

// recoverReservations fails if an acknowledged reservation is lost, or a deleted one has come back.
func (t *term) recoverReservations(s *state.Snapshot) {
	c := t.c
	for _, r := range c.reserved {
		i := slices.IndexFunc(s.Reservations, func(x state.Reservation) bool { return x.ID == r.id })
		switch {
		case i < 0 && r.accepted && !r.leaves && !r.gone:
			c.fail("%s: reservation %s was acknowledged and is lost", t, r.id)
		case i < 0:
			r.leaves = false
			if r.accepted {
				r.gone = true
			}
			r.names = choice{values: r.names.values[:1]}
			continue
		case r.gone && len(r.names.seqs) == 0:
			c.fail("%s: reservation %s was deleted and is there again", t, r.id)
		}
		if i < 0 {
			continue
		}
		name := s.Reservations[i].Definition.Name
		if !slices.Contains(r.names.values, any(name)) {
			c.fail("%s: reservation %s is stored as %q, acknowledged or being stored was one of %q", t, r.id, name, r.names.values)
		}
		c.Done["recovered: reservations"]++
		r.accepted, r.leaves, r.gone, r.names = true, false, false, choice{values: []any{name}}
	}
}

// moved notes the queue below the plan into which an application is put, with or without a reservation. Its user is not told.
func (t *term) moved(s engine.Save) {
	r, ok := s.Op.Record.(state.Application)
	if a := t.c.apps[r.ID]; ok && a != nil && t.c.owner == t && strings.HasPrefix(r.Queue, planQueue+".") && !slices.Contains(a.choices[0].values, any(r.Queue)) {
		a.choices[0].propose(r.Queue, s.Seq)
	}
}
