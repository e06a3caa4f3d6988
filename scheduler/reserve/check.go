package reserve

import (
	"math"

	"github.com/heddle-project/heddle/yarn"
)

// Bounds of what may be asked for. Apache has none; beyond them its arithmetic
// overflows, or it works for hours.
const (
	MaxStages    = 1000
	MaxText      = 1024    // bytes of the name, and of the recurrence
	MaxTime      = 1 << 53 // milliseconds since 1970, and of a duration
	MaxAmount    = 1 << 50 // of one resource type, all containers of a stage together
	MaxInstances = 10_000  // of a reservation that recurs, in the largest period
)

// Check is what every definition must pass before anything is looked for: the checks
// of Apache's ReservationInputValidator, with their messages, and the bounds. Whether there is an id, and whether
// the queue is a plan's, is the caller's business.
func (p *Plan) Check(now int64, d *yarn.ReservationDefinition) error {
	if d == nil {
		return refuse(Invalid, "Missing reservation definition. Please try again by specifying a reservation definition.")
	}
	if d.Deadline <= now {
		return refuse(Invalid, "The specified deadline: %d is the past. Please try again with deadline in the future.", d.Deadline)
	}
	if d.Stages == nil {
		return refuse(Invalid, "No resources have been specified to reserve.Please try again by specifying the resources to reserve.")
	}
	if len(d.Stages) == 0 {
		return refuse(Invalid, "No resources have been specified to reserve. Please try again by specifying the resources to reserve.")
	}
	if len(d.Stages) > MaxStages {
		return tooMany(d)
	}
	if err := p.checkSize(d); err != nil {
		return err
	}
	return p.checkPeriod(d)
}

// checkSize: the window must be long enough, and the largest gang must fit in the plan.
func (p *Plan) checkSize(d *yarn.ReservationDefinition) error {
	var shortest int64
	var largest yarn.Resource
	for i := range d.Stages {
		s := &d.Stages[i]
		if d.Interpreter == yarn.AllStages || d.Interpreter == yarn.AnyStage {
			shortest = max(shortest, s.Duration)
		} else {
			shortest += s.Duration
		}
		gang := times(s.Capability, s.Concurrency)
		largest = *p.settings.Calc.Max(&p.capacity, &largest, &gang)
	}
	if d.Interpreter == yarn.AnyStage {
		return nil
	}
	if long := d.Deadline - d.Arrival; long < shortest {
		return refuse(Invalid, "The time difference (%d) between arrival (%d) and deadline (%d) must  be greater or equal to the minimum resource duration (%d)",
			long, d.Arrival, d.Deadline, shortest)
	}
	if p.settings.Calc.More(&p.capacity, &largest, &p.capacity) {
		return refuse(Invalid, "The size of the largest gang in the reservation definition (%s) exceed the capacity available (%s )", largest, p.capacity)
	}
	return nil
}

// checkPeriod: an instance must fit in the period, and the period divide the largest one.
func (p *Plan) checkPeriod(d *yarn.ReservationDefinition) error {
	n, ok := period(d)
	long := d.Deadline - d.Arrival
	switch {
	case !ok:
		return refuse(Invalid, "Invalid period %s. Please try again with a non-negative long value as period.", d.Recurrence)
	case n < 0:
		return refuse(Invalid, "Negative Period : %s. Please try again with a non-negative long value as period.", d.Recurrence)
	case n > 0 && long > n:
		return refuse(Invalid, "Duration of the requested reservation: %d is greater than the recurrence: %d. Please try again with a smaller duration.", long, n)
	case n > 0 && p.settings.MaxPeriod%n != 0:
		return refuse(Invalid, "The maximum periodicity: %d must be divisible by the recurrence expression provided: %d."+
			" Please try again with a recurrence expression that satisfies this requirement.", p.settings.MaxPeriod, n)
	}
	if p.asApache {
		return nil
	}
	return p.bounded(d)
}

// bounded refuses what no plan can mean and what would overflow.
func (p *Plan) bounded(d *yarn.ReservationDefinition) error {
	if len(d.Stages) > MaxStages {
		return tooMany(d)
	}
	if len(d.Name) > MaxText || len(d.Recurrence) > MaxText {
		return refuse(Invalid, "the name of the reservation has %d bytes and its recurrence %d; each may have %d", len(d.Name), len(d.Recurrence), MaxText)
	}
	if d.Arrival < 0 || d.Arrival > MaxTime || d.Deadline > MaxTime || d.Deadline < d.Arrival {
		return refuse(Invalid, "the arrival %d and the deadline %d are no times that can be planned; they are milliseconds since 1970, from 0 to %d, and the deadline is not before the arrival",
			d.Arrival, d.Deadline, int64(MaxTime))
	}
	if n, ok := period(d); ok && n > 0 && p.settings.MaxPeriod/n > MaxInstances {
		return refuse(Invalid, "the recurrence of %d ms is too short: the largest one, of %d ms, may be at most %d times as long", n, p.settings.MaxPeriod, MaxInstances)
	}
	for i := range d.Stages {
		if err := boundedStage(&d.Stages[i], i); err != nil {
			return err
		}
	}
	return nil
}

func boundedStage(s *yarn.ReservationStage, i int) error {
	if s.Duration <= 0 || s.Duration > MaxTime {
		return refuse(Invalid, "stage %d has the duration %d; it must be from 1 to %d ms", i+1, s.Duration, int64(MaxTime))
	}
	for _, n := range s.Capability {
		if n < 0 {
			return refuse(Invalid, "stage %d asks for containers of %s; no amount may be negative", i+1, s.Capability)
		}
		if n > MaxAmount/int64(max(s.Containers, 1)) {
			return refuse(Invalid, "stage %d asks for %d containers of %s; together they must not have more than %d of any resource", i+1, s.Containers, s.Capability, int64(MaxAmount))
		}
	}
	return nil
}

func tooMany(d *yarn.ReservationDefinition) error {
	return refuse(Invalid, "the reservation has %d stages, and at most %d are planned; divide it into several reservations", len(d.Stages), MaxStages)
}

// clampTime keeps what is configured within times that can be added.
func clampTime(ms int64) int64 { return min(max(ms, math.MinInt32), MaxTime) }
