package reserve

import (
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// MaxWork is how many points of step functions one call may look at. It bounds the
// time of a call, whatever is asked for.
const MaxWork = 400_000

// task is one change, or question, of a plan, and what it may still look at.
type task struct {
	p    *Plan
	now  int64
	left int
}

func (p *Plan) task(now int64) *task { return &task{p, now, MaxWork} }

// spend takes so many points off what may be looked at.
func (t *task) spend(points int) error {
	if t.left -= points; t.left >= 0 {
		t.p.work += points
	} else {
		return refuse(NotPlanned, "planning this takes more than %d steps; ask for a shorter time between arrival and deadline, for longer and fewer stages, or for a longer recurrence", MaxWork)
	}
	return nil
}

// passesPerPoint is how many reservations or points can be passed over, or copied, in the time that planning takes for a point.
const passesPerPoint = 8

// pass counts what is passed over, at most as much as a plan can have.
func (p *Plan) pass(n int) { p.work += 1 + n/passesPerPoint }

// merge combines two lines in a range of time.
func (t *task) merge(a, b timeline.Line, op timeline.Op, from, to int64) (timeline.Line, error) {
	return t.mergeInto(nil, a, b, op, from, to)
}

func (t *task) mergeInto(dst, a, b timeline.Line, op timeline.Op, from, to int64) (timeline.Line, error) {
	a, err := a.Within(from, to)
	if err != nil {
		return nil, refusal(err)
	}
	if b, err = b.Within(from, to); err != nil {
		return nil, refusal(err)
	}
	if err := t.spend(len(a) + len(b) + 4); err != nil {
		return nil, err
	}
	out, err := timeline.Merge(dst, a, b, op, from, to)
	return out, refusal(err)
}

// unroll is a cycle in a range of time.
func (t *task) unroll(c *timeline.Cycle, from, to int64) (timeline.Line, error) {
	if points := c.Points(from, to); points > 2*len(c.Line) {
		if err := t.spend(points); err != nil {
			return nil, err
		}
	}
	out := c.Unroll(from, to)
	return out, t.spend(len(out) + 4)
}

// mergeCycle combines a line with a cycle.
func (t *task) mergeCycle(a timeline.Line, c *timeline.Cycle, op timeline.Op, from, to int64) (timeline.Line, error) {
	a, err := a.Within(from, to)
	if err != nil {
		return nil, refusal(err)
	}
	b, err := t.unroll(c, from, to)
	if err != nil {
		return nil, err
	}
	if err := t.spend(len(a) + len(b) + 4); err != nil {
		return nil, err
	}
	out, err := timeline.Merge(nil, a, b, op, from, to)
	return out, refusal(err)
}

// within is what a reservation gets in a range of time.
func (t *task) within(r *Reservation, from, to int64) (timeline.Line, error) {
	if r.period > 0 {
		return t.unroll(&r.line, from, to)
	}
	l, err := r.line.Line.Within(from, to)
	return l, refusal(err)
}

// load is what is committed in a range of time, whether it recurs or not, and whether it is a
// part of a longer line that begins with what held before.
func (t *task) load(from, to int64) (line timeline.Line, tail bool, err error) {
	single, err := t.p.single.Within(from, to)
	if err != nil {
		return nil, false, refusal(err)
	}
	cyclic, err := t.unroll(&t.p.cyclic, from, to)
	if err != nil {
		return nil, false, err
	}
	switch {
	case len(single) == 0:
		tail = len(cyclic) > 0 && cyclic[0].At < from
	case len(cyclic) == 0:
		tail = t.p.single[0].At < from
	}
	line, err = t.merge(single, cyclic, timeline.Add, from, to)
	return line, tail, err
}

// consumption is what a user has in a range of time.
//
// compat: of a user whose reservations recur, or do not, it is the part of the line as it is kept; of
// one who has both it begins and ends with the range. Averages differ by that.
func (t *task) consumption(user string, from, to int64) (timeline.Line, error) {
	switch u := t.p.users[user]; {
	case u == nil || !u.singles && !u.cyclics:
		return nil, nil
	case u.singles && u.cyclics:
		return t.mergeCycle(u.single, &u.cyclic, timeline.Add, from, to)
	case u.singles:
		l, err := u.single.Within(from, to)
		return l, refusal(err)
	default:
		return t.unroll(&u.cyclic, from, to)
	}
}

// available is what a user can get in a range of time, at every instance of a period
// if there is one, where the reservation old does not count as committed.
func (t *task) available(user string, old *Reservation, from, to, period int64) (timeline.Line, error) {
	if period == 0 {
		return t.free(user, old, from, to)
	}
	if t.p.settings.MaxPeriod%period != 0 {
		return nil, refuse(NotPlanned, "the period of %d ms does not divide the largest one of %d ms", period, t.p.settings.MaxPeriod)
	}
	if period < to-from {
		return nil, refuse(NotPlanned, "the %d ms between arrival and deadline are longer than the period of %d ms", to-from, period)
	}
	out, err := t.free(user, old, from, to)
	if err != nil {
		return nil, err
	}
	least := timeline.Lesser(t.p.settings.Calc, t.p.capacity)
	for i := int64(1); i < t.p.settings.MaxPeriod/period; i++ {
		next, err := t.free(user, old, from+i*period, to+i*period)
		if err != nil {
			return nil, err
		}
		if out, err = t.merge(out, next.Shift(-i*period), least, from, to); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// free is what a user can get in a range of time, once.
func (t *task) free(user string, old *Reservation, from, to int64) (timeline.Line, error) {
	out, err := t.merge(timeline.Constant(from, t.p.capacity), t.p.single, timeline.Take, from, to)
	if err != nil {
		return nil, err
	}
	if out, err = t.mergeCycle(out, &t.p.cyclic, timeline.Take, from, to); err != nil {
		return nil, err
	}
	var own timeline.Line
	if old != nil {
		if own, err = t.within(old, from, to); err != nil {
			return nil, err
		}
		if out, err = t.merge(out, own, timeline.Add, from, to); err != nil {
			return nil, err
		}
	}
	if t.p.settings.Sharing == NoOverCommit {
		return out, nil
	}
	return t.below(out, user, own, old != nil, from, to)
}

// Committed is what is promised in a range of time.
func (p *Plan) Committed(from, to int64) (timeline.Line, error) {
	l, _, err := p.task(0).load(from, to)
	return l, err
}

// Consumed is what is promised to a user in a range of time.
func (p *Plan) Consumed(user string, from, to int64) (timeline.Line, error) {
	return p.task(0).consumption(user, from, to)
}

// Counted is how many reservations of a user are active in a range of time, as an
// amount of memory. Those that recur are active from their arrival on.
func (p *Plan) Counted(user string, from, to int64) (timeline.Line, error) {
	u := p.users[user]
	if u == nil {
		return nil, nil
	}
	l, err := u.active.Within(from, to)
	return l, refusal(err)
}

// Available is what a user could get in a range of time, at every instance of a period
// if that is not 0, where the reservation id does not count as committed.
func (p *Plan) Available(user string, id yarn.ReservationID, from, to, period int64) (timeline.Line, error) {
	return p.task(0).available(user, p.byID[id], from, to, period)
}
