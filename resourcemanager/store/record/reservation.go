package record

import (
	"errors"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

func (c Codec) writeReservation(w *writer, r state.Reservation) error {
	w.int(1, r.ID.ClusterTimestamp)
	w.int(2, r.ID.Number)
	w.text(3, r.Plan)
	w.text(4, r.User)
	w.int(5, r.Start)
	w.int(6, r.End)
	w.int(7, r.Accepted)
	w.bool(8, r.Gangs)
	for _, i := range r.Intervals {
		var nested writer
		nested.int(1, i.Start)
		nested.int(2, i.End)
		if err := c.writeAmounts(&nested, 3, i.Resource); err != nil {
			return err
		}
		w.nested(9, nested.b)
	}
	if err := c.writeDefinition(w, &r.Definition); err != nil {
		return err
	}
	w.b = append(w.b, r.Unknown...)
	return nil
}

func (c Codec) writeDefinition(w *writer, d *yarn.ReservationDefinition) error {
	w.int(10, d.Arrival)
	w.int(11, d.Deadline)
	w.text(12, d.Name)
	w.int(13, int64(d.Priority))
	w.text(14, d.Recurrence)
	w.int(15, int64(d.Interpreter))
	for _, s := range d.Stages {
		var nested writer
		nested.int(1, int64(s.Containers))
		nested.int(2, int64(s.Concurrency))
		nested.int(3, s.Duration)
		if err := c.writeAmounts(&nested, 4, s.Capability); err != nil {
			return err
		}
		w.nested(16, nested.b)
	}
	return nil
}

func (c Codec) readReservation(body []byte) (state.Record, error) {
	var r state.Reservation
	unknown, err := read(body, func(f *field) bool { return c.reservationField(f, &r) })
	r.Unknown = unknown
	return r, err
}

func (c Codec) reservationField(f *field, r *state.Reservation) bool {
	switch f.number {
	case 1:
		return f.int64(&r.ID.ClusterTimestamp)
	case 2:
		return f.int64(&r.ID.Number)
	case 3:
		return f.text(&r.Plan)
	case 4:
		return f.text(&r.User)
	case 5:
		return f.int64(&r.Start)
	case 6:
		return f.int64(&r.End)
	case 7:
		return f.int64(&r.Accepted)
	case 8:
		return f.bool(&r.Gangs)
	case 9:
		r.Intervals = append(r.Intervals, state.ReservedInterval{})
		i := &r.Intervals[len(r.Intervals)-1]
		return f.message(func(f *field) bool {
			switch f.number {
			case 1:
				return f.int64(&i.Start)
			case 2:
				return f.int64(&i.End)
			case 3:
				return c.amount(f, &i.Resource)
			}
			return false
		})
	}
	return c.definitionField(f, &r.Definition)
}

func (c Codec) definitionField(f *field, d *yarn.ReservationDefinition) bool {
	switch f.number {
	case 10:
		return f.int64(&d.Arrival)
	case 11:
		return f.int64(&d.Deadline)
	case 12:
		return f.text(&d.Name)
	case 13:
		return f.int32(&d.Priority)
	case 14:
		return f.text(&d.Recurrence)
	case 15:
		var v int32
		f.int32(&v)
		d.Interpreter = yarn.Interpreter(v)
		return true
	case 16:
		d.Stages = append(d.Stages, yarn.ReservationStage{})
		s := &d.Stages[len(d.Stages)-1]
		return f.message(func(f *field) bool {
			switch f.number {
			case 1:
				return f.int32(&s.Containers)
			case 2:
				return f.int32(&s.Concurrency)
			case 3:
				return f.int64(&s.Duration)
			case 4:
				return c.amount(f, &s.Capability)
			}
			return false
		})
	}
	return false
}

func checkReservation(r state.Reservation) error {
	switch {
	case r.ID.ClusterTimestamp <= 0 || r.ID.Number <= 0:
		return errors.New(r.ID.String() + " is not a complete reservation id")
	case r.Plan == "":
		return errors.New("a reservation without a plan")
	}
	return nil
}
