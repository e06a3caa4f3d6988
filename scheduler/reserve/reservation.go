package reserve

import (
	"cmp"
	"strconv"

	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// Reservation is a promise that a plan has made. Callers only read it.
type Reservation struct {
	ID         yarn.ReservationID
	User       string // who owns it: who submitted it or updated it last
	Definition yarn.ReservationDefinition
	Start, End int64 // the definition's arrival and deadline
	Accepted   int64 // when it was accepted or last updated; the latest leave first when a plan shrinks
	Gangs      bool  // its queue must not grow beyond what was promised
	// Intervals are what it gets, in order of time, from the first to the last time
	// with anything. Those of a recurring one lie in its first period: time 0 is one of
	// its multiples.
	Intervals []Interval

	period int64          // 0: it does not recur
	line   timeline.Cycle // what Intervals are; without Period if it does not recur
}

// Interval is an amount for some time: from Start on, and no more at End.
type Interval struct {
	Start, End int64
	Resource   yarn.Resource
}

// Period is after how many milliseconds it recurs, 0 if it does not.
func (r *Reservation) Period() int64 { return r.period }

// At is what is promised for t, in any of its instances.
func (r *Reservation) At(t int64) yarn.Resource {
	if t < r.Start || r.period == 0 && t >= r.End {
		return yarn.Resource{}
	}
	return r.booked(t)
}

// booked is what the plan counts for it at that time: of one that recurs also before its arrival.
func (r *Reservation) booked(t int64) yarn.Resource {
	if r.period > 0 {
		return r.line.Amount(t)
	}
	return r.line.Line.Amount(t)
}

// Line is what it gets over time, in its first period if it recurs.
func (r *Reservation) Line() timeline.Line { return r.line.Line }

// once is what it gets if it does not recur.
func (r *Reservation) once() timeline.Line {
	if r.period > 0 {
		return nil
	}
	return r.line.Line
}

// train is what its instances get in so much time, if it recurs. Of one that is restored under
// a larger largest period there may be more than are planned.
func (r *Reservation) train(long int64) timeline.Line {
	if r.period == 0 {
		return nil
	}
	return r.line.Repeat(min(long/r.period, MaxInstances))
}

// active tells whether t is between arrival and deadline of an instance.
func (r *Reservation) active(t int64) bool {
	if t < r.Start || r.period == 0 {
		return t >= r.Start && t < r.End
	}
	return (t-r.Start)%r.period < r.End-r.Start
}

// overlaps tells whether an instance of it lies in a range of time, of which both
// ends belong to it. It has to begin before the range ends.
func (r *Reservation) overlaps(start, end int64) bool {
	switch {
	case r.Start > end:
		return false
	case r.period == 0:
		return r.End > start
	case start < r.Start || r.active(start) || r.active(end):
		return true
	}
	return end-start > r.period || (start-r.Start)%r.period > (end-r.Start)%r.period
}

// overlapsAsApache is what Apache's InMemoryPlan answers: it thinks that a reservation is
// never there that takes the whole of its period.
func (r *Reservation) overlapsAsApache(start, end int64) bool {
	if r.Start > end || r.period == 0 {
		return r.Start <= end && r.End > start
	}
	shift := r.Start % r.period
	length := (r.End - shift) % r.period
	low, high := (start-shift)%r.period, (end-shift)%r.period
	return end-start > r.period || high < length || low < length || low > high
}

// build makes what is derived from the definition and the intervals.
func (r *Reservation) build() {
	n, _ := period(&r.Definition)
	r.period = max(n, 0)
	r.line = timeline.Cycle{Period: r.period}
	for _, i := range r.Intervals {
		if r.period > 0 {
			r.line.Raise(i.Start, i.End, i.Resource)
		} else {
			r.line.Line.Raise(i.Start, i.End, i.Resource)
		}
	}
}

// before orders reservations by interval, then by id.
func (r *Reservation) before(o *Reservation) int {
	return cmp.Or(cmp.Compare(r.Start, o.Start), cmp.Compare(r.End, o.End), r.ID.Compare(o.ID))
}

// later orders them as Replan revokes them: the latest accepted first.
func (r *Reservation) later(o *Reservation) int {
	return cmp.Or(cmp.Compare(o.Accepted, r.Accepted), o.ID.Compare(r.ID))
}

// period is after how long a definition recurs, 0 if it does not, and whether that
// can be told.
func period(d *yarn.ReservationDefinition) (int64, bool) {
	n, err := strconv.ParseInt(d.Recurrence, 10, 64)
	return n, err == nil
}

// intervals are the runs of a line.
func intervals(l timeline.Line) []Interval {
	var out []Interval
	for _, r := range l.Runs() {
		out = append(out, Interval{r.From, r.To, r.Amount})
	}
	return out
}
