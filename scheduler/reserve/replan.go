package reserve

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// Replan gives reservations up, the latest accepted first, where more is committed
// than the plan has: at now and every step from there, as far as the plan looks ahead and as
// reservations reach (Apache's SimpleCapacityReplanner). It returns the ids in the order in
// which they went.
//
// compat: one goes when its arrival and deadline are around a time, whether it has
// resources there or not. Apache looks no further than reservations reach that do not recur; so do replays.
func (p *Plan) Replan(now int64) []yarn.ReservationID {
	var gone []yarn.ReservationID
	end := now + clampTime(p.settings.Enforcement)
	for t, looks := now, 0; t < min(p.reach(), end) && looks < maxLooks; looks++ {
		excess := p.CommittedAt(t).Sub(p.capacity)
		if !p.over(&excess) {
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
	return gone
}

// maxLooks is at how many times one run looks. It lets a run end soon that looks years ahead.
const maxLooks = 100_000

// victims are those that go at a time.
//
// compat: what is committed counts recurring reservations before their arrival, too, and Apache knows nothing of
// what they have after their first instance. So it may give up others; replays do.
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
