package reserve

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// job is one attempt to find room for a definition.
type job struct {
	*task
	user    string
	d       *yarn.ReservationDefinition
	old     *Reservation // the version that is being changed, or nil
	period  int64
	aligned bool // spreads the load; else greedy

	load   timeline.Line // committed already
	tail   bool          // load begins with what held before it; see price
	placed timeline.Line // by earlier stages and by this one
	result timeline.Line // what the stages got that have succeeded
	room   timeline.Line // what is available in the window of times roomAt
	roomAt [2]int64
	rooms  bool // room is known

	loads, frees timeline.Line // reused by price and fit
}

// findRoom is what a definition gets over time.
func (t *task) findRoom(user string, d *yarn.ReservationDefinition, old *Reservation, aligned bool) (timeline.Line, error) {
	n, ok := period(d)
	if !ok || n < 0 {
		return nil, refuse(Invalid, "Invalid period %s. Please try again with a non-negative long value as period.", d.Recurrence)
	}
	j := &job{task: t, user: user, d: d, old: old, period: n, aligned: aligned}
	if err := j.look(); err != nil {
		return nil, err
	}
	for i := range d.Stages {
		if !t.p.settings.Early {
			i = len(d.Stages) - 1 - i
		}
		done, err := j.stage(i)
		if err != nil {
			return nil, err
		}
		if done {
			break
		}
	}
	if j.result.Empty() {
		return nil, refuse(NotPlanned, "The request cannot be satisfied")
	}
	return j.result, nil
}

// look reads what is committed between arrival and deadline, both on the plan's steps.
func (j *job) look() (err error) {
	step := j.p.settings.Step
	from, to := roundUp(j.d.Arrival, step), j.d.Deadline/step*step
	if j.load, j.tail, err = j.task.load(from, to); err != nil || j.old == nil {
		return err
	}
	own, err := j.within(j.old, from, to)
	if err != nil {
		return err
	}
	j.tail = j.tail && len(own) == 0
	j.load, err = j.merge(j.load, own, timeline.Subtract, from, to)
	return err
}

// stage finds room for one stage. It tells whether no other one is needed.
func (j *job) stage(i int) (done bool, err error) {
	s := &j.d.Stages[i]
	if err := j.possible(s); err != nil {
		return false, err
	}
	from, to := j.window(i)
	var pieces []timeline.Run
	if j.aligned {
		pieces, done, err = j.spread(s, from, to)
	} else {
		pieces, done, err = j.greedy(s, from, to)
	}
	switch {
	case err != nil:
		return false, err
	case !done && j.d.Interpreter == yarn.AnyStage:
		return false, nil
	case !done:
		return false, refuse(NotPlanned, "The request cannot be satisfied")
	case j.d.Interpreter == yarn.OrderedNoGap && !j.seamless(pieces):
		return false, refuse(NotPlanned, "The allocation found does not respect ORDER_NO_GAP")
	}
	for _, r := range pieces {
		j.result.Raise(r.From, r.To, r.Amount)
	}
	return j.d.Interpreter == yarn.AnyStage, nil
}

// possible refuses a stage that cannot be meant.
func (j *job) possible(s *yarn.ReservationStage) error {
	switch {
	case s.Concurrency < 1:
		return refuse(BadStage, "Gang Size should be >= 1")
	case s.Containers <= 0:
		return refuse(BadStage, "Num containers should be > 0")
	case s.Containers%s.Concurrency != 0:
		return refuse(BadStage, "Parallelism must be an exact multiple of gang size")
	case j.p.settings.Calc.More(&j.p.capacity, &s.Capability, &j.p.settings.Max):
		return refuse(BadStage, "Individual capability requests should not exceed cluster's maxAlloc")
	}
	return nil
}

// ordered tells whether stages follow one another.
func (j *job) ordered() bool {
	return j.d.Interpreter == yarn.Ordered || j.d.Interpreter == yarn.OrderedNoGap
}

// window is the time that a stage may use: what those before it have left, and for
// stages that follow one another, when they are spread, its share of that.
func (j *job) window(i int) (from, to int64) {
	from, to = j.d.Arrival, j.d.Deadline
	if !j.ordered() {
		return from, to
	}
	if early := j.p.settings.Early; early && j.result.Last() != -1 {
		from = j.result.Last()
	} else if !early && j.result.First() != -1 {
		to = j.result.First()
	}
	if j.aligned {
		return j.demand(i, from, to)
	}
	return from, to
}

// demand cuts a window for stage i: its duration, and of the time that no stage needs
// a part that goes by how much memory it takes for how long.
func (j *job) demand(i int, from, to int64) (int64, int64) {
	step := j.p.settings.Step
	var weights float64
	var durations int64
	rest := j.d.Stages[i:]
	if !j.p.settings.Early {
		rest = j.d.Stages[:i+1]
	}
	for k := range rest {
		s := &rest[k]
		if j.p.settings.Early { // compat: the farthest one first; it is a sum of doubles
			s = &rest[len(rest)-1-k]
		}
		weights = float64(weights + j.weight(s))
		durations += roundUp(s.Duration, step)
	}
	share := float64(j.weight(&j.d.Stages[i]) / weights)
	if weights == 0 && !j.p.asApache { // compat: in Apache the window has no end then, or begins in 1970
		share = 1
	}
	spare := float64(float64(to-from-durations) * share)
	own := roundUp(j.d.Stages[i].Duration, step)
	if j.p.settings.Early {
		return from, javanum.Long(float64(float64(from+own)+spare)) / step * step
	}
	return roundUp(javanum.Long(float64(float64(to-own)-spare)), step), to
}

// weight is how much memory a stage takes for how long.
//
// compat: Apache's overflows, and may be anything where it is more than 64 bits have. So does that of replays.
func (j *job) weight(s *yarn.ReservationStage) float64 {
	if n := float64(float64(float64(s.Duration)*float64(s.Capability[yarn.Memory])) * float64(s.Containers)); n >= 1<<62 && !j.p.asApache {
		return n
	}
	return float64(s.Duration * s.Capability[yarn.Memory] * int64(s.Containers))
}

// seamless tells whether the pieces of a stage are one block that touches what was placed before.
func (j *job) seamless(pieces []timeline.Run) bool {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	odd := map[int64]bool{} // times that begin or end an odd number of pieces
	for _, r := range pieces {
		first, last = min(first, r.From), max(last, r.To)
		if r.Amount.IsZero() {
			continue
		}
		for _, at := range []int64{r.From, r.To} {
			if odd[at] {
				delete(odd, at)
			} else {
				odd[at] = true
			}
		}
	}
	if j.p.settings.Early {
		if end := j.result.Last(); end != -1 && end < first {
			return false
		}
	} else if start := j.result.First(); start != -1 && last < start {
		return false
	}
	return len(odd) == 2
}

// available is what there is in a window, without what earlier stages were given.
func (j *job) available(from, to int64) (timeline.Line, error) {
	if at := [2]int64{from, to}; !j.rooms || j.roomAt != at {
		room, err := j.task.available(j.user, j.old, from, to, j.period)
		if err != nil {
			return nil, err
		}
		j.room, j.roomAt, j.rooms = room, at, true
	}
	return j.room, nil
}

// gangs is how many of them fit at a time, as the calculator sees it.
//
// compat: with dominant shares it may be more than fit by component. Then the policy refuses.
func (j *job) gangs(room, gang *yarn.Resource) int32 {
	n := j.p.settings.Calc.Divide(&j.p.capacity, room, gang)
	return javanum.Int(float32(math.Floor(float64(n))))
}

// place notes what a stage gets.
func (j *job) place(r timeline.Run) error {
	j.placed.Raise(r.From, r.To, r.Amount)
	return j.spend(4 + len(j.placed)/4) // points that may have moved
}

// undo takes back what a stage placed that could not be placed as a whole.
func (j *job) undo(pieces []timeline.Run) {
	for _, r := range pieces {
		j.placed.Raise(r.From, r.To, measure.Times(r.Amount, -1))
	}
}

func times(r yarn.Resource, n int32) yarn.Resource { return measure.Scale(r, float64(n)) }

func roundUp(t, step int64) int64 { return (t + step - 1) / step * step }
