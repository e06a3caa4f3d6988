package reserve

import (
	"math"
	"math/bits"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// share is so many percent of the plan.
func (p *Plan) share(percent float32) yarn.Resource {
	return measure.Scale(p.capacity, float64(javanum.Div(percent, 100)))
}

// below cuts what is available at what the policy lets the user have at any time. own
// is what the reservation has that is being changed.
func (t *task) below(out timeline.Line, user string, own timeline.Line, changes bool, from, to int64) (timeline.Line, error) {
	used, err := t.consumption(user, from, to)
	if err != nil {
		return nil, err
	}
	if changes {
		if used, err = t.merge(used, own, timeline.Subtract, from, to); err != nil {
			return nil, err
		}
	}
	quota, err := t.merge(timeline.Constant(from, t.p.share(t.p.settings.Peak)), used, timeline.Subtract, from, to)
	if err != nil {
		return nil, err
	}
	return t.merge(out, quota, timeline.Lesser(t.p.settings.Calc, t.p.capacity), from, to)
}

// allow asks the sharing policy.
func (t *task) allow(r *Reservation) error {
	if t.p.settings.Sharing == NoOverCommit {
		return t.allowTotal(r)
	}
	if err := t.allowTotal(r); err != nil {
		if checked(err) {
			return refuse(OverQuota, "%v", err)
		}
		return err
	}
	return t.allowAverage(r)
}

// allowTotal: it must not be more than what is available.
func (t *task) allowTotal(r *Reservation) error {
	room, err := t.available(r.User, t.p.byID[r.ID], r.Start, r.End, r.period)
	if err != nil {
		return err
	}
	ask, err := t.within(r, r.Start, r.End)
	if err != nil {
		return err
	}
	if _, err = t.merge(room, ask, timeline.Take, r.Start, r.End); checked(err) {
		return overCommitted(r, r.Start)
	}
	if err != nil || t.p.asApache {
		return err
	}
	return t.allowEver(r)
}

func overCommitted(r *Reservation, at int64) error {
	return refuse(OverCommitted, "Resources at time %d would be overcommitted by accepting reservation: %s", at, r.ID)
}

// allowEver: no resource type must be promised twice, at no instance. Apache takes the lesser of two
// amounts as its calculator sees them, though another type may be scarce, and of recurring reservations looks
// at the instances of one largest period alone.
func (t *task) allowEver(r *Reservation) error {
	single, cyclic := t.p.single, t.p.cyclic
	t.p.pass(len(single) + len(cyclic.Line))
	if old := t.p.byID[r.ID]; old != nil {
		single, cyclic.Line = together(single, old.once(), -1), together(cyclic.Line, old.train(cyclic.Period), -1)
	}
	if r.period == 0 {
		from, to := r.line.First(), r.line.Last()
		with, err := t.merge(single, r.line.Line, timeline.Add, from, to)
		if err != nil {
			return err
		}
		return t.allowRange(r, with, &cyclic, from, to)
	}
	cyclic.Line = together(cyclic.Line, r.train(cyclic.Period), 1)
	if err := t.spend(len(single) + len(cyclic.Line)); err != nil {
		return err
	}
	if err := t.allowRange(r, nil, &cyclic, r.Start, r.Start+cyclic.Period); err != nil {
		return err
	}
	for i := max(single.After(r.Start), 1); i < len(single); i++ {
		if single[i-1].Amount.IsZero() {
			continue
		}
		from := max(single[i-1].At, r.Start)
		to := min(single[i].At, from+cyclic.Period) // after that it repeats
		if err := t.allowRange(r, single[i-1:i], &cyclic, from, to); err != nil {
			return err
		}
	}
	return nil
}

// allowRange does so for a range of time.
func (t *task) allowRange(r *Reservation, single timeline.Line, cyclic *timeline.Cycle, from, to int64) error {
	line, err := t.mergeCycle(single, cyclic, timeline.Add, from, to)
	if err != nil {
		return err
	}
	for _, p := range line {
		if at := max(p.At, from); at < to && p.Known && !p.Amount.FitsIn(t.p.capacity) && !r.At(at).IsZero() {
			return overCommitted(r, at)
		}
	}
	return nil
}

// allowAverage: over any window, its user must not have more than a share of the plan on average.
//
// compat: an older version of the reservation counts on top of the new one.
func (t *task) allowAverage(r *Reservation) error {
	window := t.p.settings.Window
	from, to := r.Start-window, r.End+window
	line, err := t.consumption(r.User, from, to)
	if err != nil {
		return err
	}
	if old := t.p.byID[r.ID]; old != nil {
		own, err := t.within(old, from, to)
		if err != nil {
			return err
		}
		if line, err = t.merge(line, own, timeline.Add, from, to); err != nil {
			return err
		}
	}
	own, err := t.within(r, from, to)
	if err != nil {
		return err
	}
	if line, err = t.merge(line, own, timeline.Add, timeline.Begin, timeline.End); err != nil {
		return err
	}
	averages, err := t.averages(line, window)
	if err != nil {
		return err
	}
	limit := timeline.Constant(line.First()-window, t.p.share(t.p.settings.Average))
	if _, err = t.merge(limit, averages, timeline.Take, from, to); checked(err) {
		return refuse(OverQuota, "Integral (avg over time) quota capacity %s over a window of %d seconds,  would be exceeded by accepting reservation: %s",
			javanum.Text(javanum.Div(t.p.settings.Average, 100)), window/1000, r.ID)
	}
	return err
}

// averages is the mean of a line over the window that ends at each time, as it is at
// the line's points and one window after each.
//
// compat: in Apache what holds at the end of the line goes on to the end of time. The sum overflows then, and
// comes back at the beginning of time, so that reservations are refused for no reason, or not. Replays do so.
func (t *task) averages(line timeline.Line, window int64) (timeline.Line, error) {
	marks, err := t.marks(line, window)
	if err != nil {
		return nil, err
	}
	if n := len(marks); n > 0 && marks[n-1].At == timeline.End && !t.p.asApache {
		marks = marks[:n-1]
	}
	var up, down timeline.Line
	var memory, cores int64 // the sum up to now
	var rate yarn.Resource  // what holds now
	for i, m := range marks {
		if i > 0 {
			passed := m.At - marks[i-1].At
			var over [2]bool
			memory, over[0] = grow(memory, rate[yarn.Memory], passed)
			cores, over[1] = grow(cores, t.cores(rate[yarn.VCores]), passed)
			if (over[0] || over[1]) && !t.p.asApache {
				return nil, refuse(Arithmetic, "the average over %d ms cannot be computed, because the sum is too large; ask for less, or for a shorter time", window)
			}
		}
		sum := yarn.NewResource(t.mean(memory, window), t.mean(cores, window))
		up = append(up, timeline.Point{At: m.At, Known: true, Amount: sum})
		down = append(down, timeline.Point{At: m.At + window, Known: true, Amount: sum})
		rate = m.Amount
	}
	if n := len(down); n > 0 && down[n-1].At < down[0].At {
		down = append(timeline.Line{down[n-1]}, down[:n-1]...)
	}
	return t.merge(up, down, timeline.Subtract, timeline.Begin, timeline.End)
}

// marks are the points of a line, and further ones after every window where something holds
// for longer than that. Where nothing holds none is needed: the sum stands still.
func (t *task) marks(line timeline.Line, window int64) (timeline.Line, error) {
	var out timeline.Line
	for i, m := range line {
		out = append(out, m)
		if i+1 == len(line) || !line[i+1].Known || m.Amount.IsZero() {
			continue
		}
		if window <= 0 {
			return nil, refuse(Arithmetic, "no average can be taken over a window of %d ms; set yarn.scheduler.capacity.<queue>.reservation-window to more than 0", window)
		}
		n := (line[i+1].At - m.At) / window
		if err := t.spend(4 * int(min(n, MaxWork))); err != nil {
			return nil, err
		}
		for k := int64(1); k <= n; k++ {
			if at := m.At + k*window; at < line[i+1].At {
				out = append(out, timeline.Point{At: at, Known: m.Known, Amount: m.Amount})
			}
		}
	}
	return out, t.spend(4 * len(out))
}

// grow is sum + rate·passed, and whether that is too large.
func grow(sum, rate, passed int64) (int64, bool) {
	if rate == 0 {
		return sum, false
	}
	high, low := bits.Mul64(uint64(max(rate, -rate)), uint64(passed))
	add := rate * passed
	next := sum + add
	return next, passed < 0 || high != 0 || low > math.MaxInt64 || (add > 0) != (next > sum)
}

// cores is a number of vcores.
//
// compat: Apache's has 32 bits. Here that of replays alone does.
func (t *task) cores(n int64) int64 {
	if t.p.asApache {
		return int64(int32(min(n, math.MaxInt32)))
	}
	return n
}

// mean is a sum divided by a window, rounded half up.
//
// compat: Apache cuts it to 32 bits. Here replays alone do.
func (t *task) mean(sum, window int64) int64 {
	quotient := float64(float64(sum) / float64(window))
	below := math.Floor(quotient)
	if quotient-below >= 0.5 {
		below++
	}
	n := javanum.Long(below)
	if t.p.asApache {
		n = int64(int32(n))
	}
	return n
}
