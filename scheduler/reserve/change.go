package reserve

import (
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of a plan, of which a user may have as much as is left for others; see holds.
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
	return p.Update(now, id, user, d)
}

// Update gives a reservation another definition and another owner; one that is not
// there is taken in. Where no room is found for the new definition the old one stays.
func (p *Plan) Update(now int64, id yarn.ReservationID, user string, d yarn.ReservationDefinition) error {
	if p.asApache {
		return p.updateAsApache(now, id, user, d)
	}
	r, err := p.Propose(now, id, user, d)
	if err == nil {
		p.Accept(r)
	}
	return err
}

// Propose finds what Update would promise, and promises nothing: the plan stays as it is. Accept takes it in.
func (p *Plan) Propose(now int64, id yarn.ReservationID, user string, d yarn.ReservationDefinition) (*Reservation, error) {
	if err := p.bounded(&d); err != nil {
		return nil, err
	}
	t := p.task(now)
	var found *Reservation
	err := t.tryAgents(id, user, &d, func(old, r *Reservation) (bool, error) {
		if old != nil {
			if err := t.allowInstead(old, r); checked(err) {
				return false, nil
			} else if err != nil {
				return false, err
			}
		}
		r.Accepted, found = now, r
		return true, nil
	})
	return found, err
}

// Accept takes in what Propose found, in place of the reservation with the same id. In the meantime
// reservations may have gone, and none may have come.
func (p *Plan) Accept(r *Reservation) {
	if old := p.byID[r.ID]; old != nil {
		p.remove(old)
	}
	p.insert(r)
}

// tryAgents asks the plan's agents one after the other, until take says that it has taken what one found. It says
// false if the old version stays as it is.
func (t *task) tryAgents(id yarn.ReservationID, user string, d *yarn.ReservationDefinition, take func(old, r *Reservation) (bool, error)) error {
	aligned := []bool{true, false}
	if t.p.settings.Agent == Greedy {
		aligned = aligned[1:]
	}
	last := refuse(Invalid, "the plan has room for the new version of reservation %s, but the sharing policy refuses it once the old one is gone; "+
		"the old one stays; delete it and submit it anew", id)
	for _, how := range aligned {
		old := t.p.byID[id]
		r, err := t.candidate(old, id, user, d, how)
		done := false
		if err == nil {
			done, err = take(old, r)
		}
		switch {
		case done:
			return nil
		case err != nil && !checked(err):
			return err
		case err != nil:
			last = err
		}
	}
	return last
}

// candidate is what one agent finds and the sharing policy allows, as long as the old version is there.
func (t *task) candidate(old *Reservation, id yarn.ReservationID, user string, d *yarn.ReservationDefinition, aligned bool) (*Reservation, error) {
	line, err := t.findRoom(user, d, old, aligned)
	if err != nil {
		return nil, err
	}
	r := &Reservation{ID: id, User: user, Definition: *d, Start: d.Arrival, End: d.Deadline}
	if n, _ := period(d); n > 0 {
		line = t.p.fold(line, n)
	}
	r.Intervals = intervals(line)
	r.build()
	if err := t.p.holds(r); err != nil {
		return nil, err
	}
	return r, t.allow(r)
}

// allowInstead asks the policy once more, without the old version. It may say no now, because another average results.
func (t *task) allowInstead(old, r *Reservation) error {
	before := t.p.save([2]string{old.User, r.User})
	t.p.remove(old)
	err := t.allow(r)
	t.p.back(before, old)
	return err
}

// updateAsApache is Update for replays. Where the policy refuses the new version once the old one is gone, the old one
// has to pass it, too, and is lost if it does not.
func (p *Plan) updateAsApache(now int64, id yarn.ReservationID, user string, d yarn.ReservationDefinition) error {
	t := p.task(now)
	accept := func(r Reservation) {
		r.Accepted = now
		p.insert(&r)
	}
	return t.tryAgents(id, user, &d, func(old, r *Reservation) (bool, error) {
		if old == nil {
			accept(*r)
			return true, nil
		}
		before := p.save([2]string{old.User, r.User})
		p.remove(old)
		err := t.allow(r)
		switch {
		case err == nil:
			accept(*r)
			return true, nil
		case !checked(err):
			p.back(before, old)
			return false, err
		}
		if err := t.allow(old); err != nil {
			return false, err
		}
		accept(*old)
		return false, nil
	})
}

// size is what a reservation takes of a plan's bounds, or several together.
type size struct{ reservations, stages, points int }

// bounds are those of a plan.
var bounds = size{MaxReservations, MaxAllStages, MaxPoints}

// size of one reservation. It has points for each instance of the largest period.
func (p *Plan) size(r *Reservation) size {
	points := 2 * len(r.Intervals)
	if r.period > 0 {
		points *= int(min(p.settings.MaxPeriod/r.period, MaxPoints))
	}
	return size{1, len(r.Definition.Stages), points}
}

func (s size) plus(o size) size {
	return size{s.reservations + o.reservations, s.stages + o.stages, s.points + o.points}
}

// holds refuses a reservation beyond the plan's bounds, and one with which its user would have more of them than is
// left for others: so one user has half of a plan at most, and nobody ever takes the last of it. What becomes
// smaller is never refused for that.
func (p *Plan) holds(r *Reservation) error {
	p.pass(len(p.all))
	var all, own, old size
	for _, o := range p.all {
		s := p.size(o)
		if o.ID == r.ID {
			old = s
			if !p.asApache {
				continue // it makes room for the new version
			}
		}
		all = all.plus(s)
		if o.User == r.User {
			own = own.plus(s)
		}
	}
	s := p.size(r)
	all, own = all.plus(s), own.plus(s)
	all.points = len(p.single) + len(p.cyclic.Line) + s.points // many are the same
	for _, b := range []struct {
		what                string
		all, own, now, most int
		old                 int
		help                string
	}{
		{"reservations", all.reservations, own.reservations, s.reservations, bounds.reservations, old.reservations, "delete some"},
		{"stages", all.stages, own.stages, s.stages, bounds.stages, old.stages, "delete some reservations, or ask for fewer stages"},
		{"pieces of time", all.points, own.points, s.points, bounds.points, old.points, "ask for fewer and longer stages, or for a longer recurrence"},
	} {
		switch {
		case b.all > b.most:
			return refuse(NotPlanned, "the plan would have %d %s, and can hold %d; %s", b.all, b.what, b.most, b.help)
		case !p.asApache && b.now > b.old && b.own > b.most-b.all:
			return refuse(NotPlanned, "user %s would have %d %s in the plan, more than are left for others: it can hold %d, and would have %d; %s",
				r.User, b.own, b.what, b.most, b.all, b.help)
		}
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
