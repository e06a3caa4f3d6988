package reserve

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// Replan revokes reservations, the latest accepted first, where more is committed
// than the plan has: at now and every step from there, as far as the plan looks ahead and as
// reservations reach (Apache's SimpleCapacityReplanner). It returns the ids in the order in
// which they went, and an error if that is too much work: then what is promised for later was not looked at.
//
// compat: one goes when its arrival and deadline are around a time, whether it has
// resources there or not. Apache looks no further than reservations reach that do not recur; so do replays.
func (p *Plan) Replan(now int64) ([]yarn.ReservationID, error) {
	r := replanning{p: p}
	begun, end := p.work, now+clampTime(p.settings.Enforcement)
	var err error
	for t := now; t < min(p.reach(), end); {
		if p.work-begun > MaxWork {
			err = refuse(NotPlanned, "replanning takes more than %d steps; reservations with more than the plan has from %d to %d are not revoked yet", MaxWork, t, min(p.reach(), end))
			break
		}
		if r.revoke(t) || p.asApache && r.overcommitted(t) {
			t += p.settings.Step
		} else {
			t = p.nextStep(t) // until something changes nothing more can go
		}
	}
	r.remove()
	return r.gone, err
}

// replanning is one call of Replan.
type replanning struct {
	p     *Plan
	gone  []yarn.ReservationID
	going []*Reservation // the last of them, which the plan still has; many are taken out faster together
	isOut map[yarn.ReservationID]bool
}

// overcommitted tells whether more is committed than there is.
func (r *replanning) overcommitted(t int64) bool {
	r.p.work += 1 + len(r.going)/4
	excess := r.p.CommittedAt(t).Sub(r.p.capacity)
	for _, x := range r.going {
		if !r.p.exceeds(&excess) {
			return false
		}
		excess = excess.Sub(x.booked(t))
	}
	return r.p.exceeds(&excess)
}

// revoke picks those that go at a time, and tells whether there are any.
func (r *replanning) revoke(t int64) bool {
	if !r.overcommitted(t) {
		return false
	}
	victims := r.victims(t)
	if len(victims) == 0 {
		return false
	}
	if r.isOut == nil {
		r.isOut = map[yarn.ReservationID]bool{}
	}
	for _, x := range victims {
		r.gone, r.isOut[x.ID] = append(r.gone, x.ID), true
	}
	if r.going = append(r.going, victims...); len(r.going) > len(r.p.all)/16 || r.p.asApache {
		r.remove()
	}
	return true
}

func (r *replanning) remove() {
	if len(r.going) > 0 {
		r.p.remove(r.going...)
		r.going = nil
	}
}

// victims are those that go at a time.
//
// compat: what is committed counts recurring reservations before their arrival, too, and Apache knows nothing of
// what they have after their first instance. So it may revoke others; replays do.
func (r *replanning) victims(t int64) []*Reservation {
	p := r.p
	all := slices.DeleteFunc(p.Active(t), func(x *Reservation) bool { return r.isOut[x.ID] })
	p.work += 2 * len(all)
	excess := p.CommittedAt(t)
	if !p.asApache {
		excess = yarn.Resource{}
		for _, x := range all {
			excess = excess.Add(x.At(t))
		}
	}
	if excess = excess.Sub(p.capacity); !p.exceeds(&excess) {
		return nil
	}
	slices.SortFunc(all, (*Reservation).later)
	for i, x := range all {
		if !p.exceeds(&excess) {
			return all[:i]
		}
		if !p.asApache || t < x.End {
			excess = excess.Sub(x.At(t))
		}
	}
	return all
}

// exceeds tells whether an excess is one.
func (p *Plan) exceeds(excess *yarn.Resource) bool {
	return p.settings.Calc.Positive(&p.capacity, excess)
}

// reach is when nothing changes any more.
func (p *Plan) reach() int64 {
	if len(p.cyclic.Line) > 0 && !p.asApache {
		return timeline.End
	}
	return p.LastEnd()
}

// nextStep is the first of the steps after t at which something else is committed.
func (p *Plan) nextStep(t int64) int64 {
	next, step := t+clampTime(p.settings.Enforcement), p.settings.Step
	if i := p.single.After(t); i < len(p.single) {
		next = min(next, p.single[i].At)
	}
	if c := &p.cyclic; len(c.Line) > 0 {
		phase := t % c.Period
		until := c.Period - phase
		if i := c.After(phase); i < len(c.Line) {
			until = min(until, c.Line[i].At-phase)
		}
		next = min(next, t+until)
	}
	return t + max(1, (next-t+step-1)/step)*step
}

// Archive takes out what has ended: reservations whose deadline is a policy's window ago. It
// returns their ids, by interval, then id. Those that recur stay until they are deleted.
//
// compat: Apache's recurring reservations end with their first instance; in replays they do.
func (p *Plan) Archive(now int64) []yarn.ReservationID {
	before := now
	if p.settings.Sharing == OverTime {
		before -= p.settings.Window
	}
	var gone []*Reservation
	for _, r := range p.all {
		if r.End <= before && r.Start <= before && (r.period == 0 || p.asApache) {
			gone = append(gone, r)
		}
	}
	p.remove(gone...)
	var ids []yarn.ReservationID
	for _, r := range gone {
		ids = append(ids, r.ID)
	}
	return ids
}
