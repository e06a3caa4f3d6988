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
	var gone []yarn.ReservationID
	work, end := p.task(now), now+clampTime(p.settings.Enforcement)
	for t := now; t < min(p.reach(), end); {
		looks := 1
		excess := p.CommittedAt(t).Sub(p.capacity)
		over := p.over(&excess)
		if over {
			looks += (len(p.all) + len(p.single) + len(p.cyclic.Line)) / looksPerPoint
		}
		if work.spend(looks) != nil {
			return gone, refuse(NotPlanned, "replanning takes more than %d steps; reservations with more than the plan has from %d to %d are not revoked yet", MaxWork, t, min(p.reach(), end))
		}
		if !over {
			t = p.nextStep(t)
			continue
		}
		victims := p.victims(t)
		if len(victims) == 0 && !p.asApache {
			t = p.nextStep(t) // until something changes nothing more can go
			continue
		}
		p.remove(victims...)
		for _, r := range victims {
			gone = append(gone, r.ID)
		}
		t += p.settings.Step
	}
	return gone, nil
}

// looksPerPoint is how many reservations or points are looked at in the time that planning takes for one point.
const looksPerPoint = 8

// victims are those that go at a time.
//
// compat: what is committed counts recurring reservations before their arrival, too, and Apache knows nothing of
// what they have after their first instance. So it may revoke others; replays do.
func (p *Plan) victims(t int64) []*Reservation {
	all := p.Active(t)
	slices.SortFunc(all, (*Reservation).later)
	excess := p.CommittedAt(t)
	if !p.asApache {
		excess = yarn.Resource{}
		for _, r := range all {
			excess = excess.Add(r.At(t))
		}
	}
	excess = excess.Sub(p.capacity)
	for i, r := range all {
		if !p.over(&excess) {
			return all[:i]
		}
		if !p.asApache || t < r.End {
			excess = excess.Sub(r.At(t))
		}
	}
	return all
}

// over tells whether an excess is one.
func (p *Plan) over(excess *yarn.Resource) bool {
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
