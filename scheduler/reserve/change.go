package reserve

import (
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of a plan. A reservation that recurs has points for each instance of the
// largest period.
const (
	MaxReservations = 10_000
	MaxPoints       = 1 << 16 // of the step functions of what is committed
	MaxAllStages    = 100_000 // of all reservations of a plan together
)

// Submit takes a reservation into the plan. One that is there with the same
// definition stays as it is. What Check refuses is the caller's business.
func (p *Plan) Submit(now int64, id yarn.ReservationID, user string, d yarn.ReservationDefinition) error {
	if r := p.byID[id]; r != nil {
		if r.Definition.Equal(&d) {
			return nil
		}
		return refuse(Invalid, "Reservation allocation already exists with the reservation id %s, but a different reservation definition was provided. "+
			"Please try again with a new reservation id, or consider updating the reservation instead.", id)
	}
	return p.change(now, id, user, d)
}

// Update gives a reservation another definition and another owner; one that is not
// there is taken in. Where no room is found for the new definition the old one stays.
func (p *Plan) Update(now int64, id yarn.ReservationID, user string, d yarn.ReservationDefinition) error {
	return p.change(now, id, user, d)
}

// change asks the plan's agents one after the other.
func (p *Plan) change(now int64, id yarn.ReservationID, user string, d yarn.ReservationDefinition) error {
	if !p.asApache {
		if err := p.bounded(&d); err != nil {
			return err
		}
	}
	t := p.task(now)
	attempts := []bool{true, false}
	if p.settings.Agent == Greedy {
		attempts = []bool{false}
	}
	var last error
	for _, aligned := range attempts {
		done, err := t.attempt(id, user, &d, aligned)
		switch {
		case done:
			return nil
		case err != nil && !planning(err):
			return err
		case err != nil:
			last = err
		}
	}
	if last == nil {
		last = refuse(Invalid, "the plan has room for the new version of reservation %s, but the sharing policy refuses it once the old one is gone; "+
			"the old one stays; delete it and submit it anew", id)
	}
	return last
}

// attempt lets one agent try. Without an error it may still be false: the old version
// of the reservation was taken back.
func (t *task) attempt(id yarn.ReservationID, user string, d *yarn.ReservationDefinition, aligned bool) (bool, error) {
	old := t.p.byID[id]
	line, err := t.plan(user, d, old, aligned)
	if err != nil {
		return false, err
	}
	r := &Reservation{ID: id, User: user, Definition: *d, Start: d.Arrival, End: d.Deadline}
	if n, _ := period(d); n > 0 {
		line = t.p.fold(line, n)
	}
	r.Intervals = intervals(line)
	r.build()
	if err := t.p.small(r); err != nil {
		return false, err
	}
	if err := t.allow(r); err != nil {
		return false, err
	}
	if old == nil {
		t.accept(r)
		return true, nil
	}
	return t.replace(old, r)
}

func (t *task) accept(r *Reservation) {
	r.Accepted = t.now
	t.p.insert(r)
}

// replace takes the old version out and asks the policy once more.
//
// compat: the policy may say no now, because another average results. In Apache
// the old version then has to pass it, too, and is lost if it does not; here that happens in replays only.
func (t *task) replace(old, r *Reservation) (bool, error) {
	before := t.p.save([2]string{old.User, r.User})
	t.p.remove(old)
	err := t.allow(r)
	if err == nil {
		t.accept(r)
		return true, nil
	}
	if t.p.asApache && planning(err) {
		if err := t.allow(old); err != nil {
			return false, err
		}
		again := *old
		t.accept(&again)
		return false, nil
	}
	t.p.back(before, old)
	if planning(err) {
		return false, nil
	}
	return false, err
}

// small refuses a reservation that would divide the plan into too many pieces.
func (p *Plan) small(r *Reservation) error {
	if len(p.all) >= MaxReservations && p.byID[r.ID] == nil {
		return refuse(NotPlanned, "the plan holds %d reservations, and that is as many as it can; delete some", MaxReservations)
	}
	stages := len(r.Definition.Stages)
	for _, o := range p.all {
		stages += len(o.Definition.Stages)
	}
	if stages > MaxAllStages {
		return refuse(NotPlanned, "the reservations of the plan would have %d stages together, and %d is as many as it can hold; delete some, or ask for fewer stages", stages, MaxAllStages)
	}
	points := 2 * len(r.Intervals)
	if r.period > 0 {
		points *= int(min(p.settings.MaxPeriod/r.period, MaxPoints))
	}
	if len(p.single)+len(p.cyclic.Line)+points > MaxPoints {
		return refuse(NotPlanned, "the plan would be divided into more than %d pieces; ask for fewer and longer stages, or for a longer recurrence", MaxPoints)
	}
	return nil
}

// fold puts what a reservation gets into its first period, of which 0 is a multiple.
//
// compat: in Apache what reaches over the end of the period is cut off, and kept only where
// it is the same at the end; replays do so.
func (p *Plan) fold(l timeline.Line, period int64) timeline.Line {
	l = l.Shift(l.First()%period - l.First())
	if p.asApache {
		return cut(l, period)
	}
	c := timeline.Cycle{Period: period}
	for _, r := range l.Runs() {
		from, to := r.From, r.To
		if from >= period {
			from, to = from-period, to-period
		}
		if to > period {
			c.Raise(0, to-period, r.Amount)
			to = period
		}
		c.Raise(from, to, r.Amount)
	}
	return c.Line
}

// cut is how PeriodicRLESparseResourceAllocation takes over a line.
func cut(l timeline.Line, period int64) timeline.Line {
	var out, more timeline.Line
	for _, p := range l {
		switch {
		case p.At <= period:
			out = append(out, p)
		case p.Known:
			at := p.At % period
			more = append(more, timeline.Point{At: period, Known: true, Amount: p.Amount},
				timeline.Point{At: at, Known: true, Amount: l.Amount(at)}, timeline.Point{Known: true, Amount: p.Amount})
		}
	}
	for _, p := range more {
		out = out.Put(p)
	}
	return out
}

// Delete takes a reservation out of the plan.
func (p *Plan) Delete(id yarn.ReservationID) error {
	r := p.byID[id]
	if r == nil {
		return refuse(IllegalArgument, "The specified Reservation with ID %s does not exist in the plan", id)
	}
	p.remove(r)
	return nil
}
