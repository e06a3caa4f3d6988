package reserve

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// slot is one of the times that a stage may run at. Slots lie back to back.
type slot struct {
	from, to int64
	price    float64 // the load over its time
	room     int32   // gangs that fit
}

// spread places a stage's gangs in small parts, each into the slot that is loaded least
// at the time (Apache's StageAllocatorLowCostAligned). It tells whether all were placed.
func (j *job) spread(s *yarn.ReservationStage, from, to int64) ([]timeline.Run, bool, error) {
	room, err := j.available(from, to)
	if err != nil {
		return nil, false, err
	}
	long := roundUp(s.Duration, j.p.settings.Step)
	if long == 0 || j.p.settings.Smoothness == 0 {
		return nil, false, refuse(Arithmetic, "the duration %d is rounded to 0, or yarn.resourcemanager.reservation-system.smoothness-factor is 0; "+
			"ask for a longer duration, or set the factor to more than 0", s.Duration)
	}
	fitting := int32((to - from) / long)
	gangs, gang := s.Containers/s.Concurrency, times(s.Capability, s.Concurrency)
	if fitting <= 0 {
		return nil, false, nil
	}
	part := max(max(gangs/fitting, 1)/j.p.settings.Smoothness, 1)
	line := slots{early: j.p.settings.Early}
	for at := range j.slots(from, to, long) {
		one := slot{from: at, to: at + long}
		if err := j.weigh(&one, room, &gang); err != nil {
			return nil, false, err
		}
		if one.room > 0 {
			line.push(one)
		}
	}
	var own timeline.Line
	for gangs > 0 && len(line.all) > 0 {
		best := line.pop()
		n := min(part, gangs, best.room)
		gangs -= n
		r := timeline.Run{From: best.from, To: best.to, Amount: times(s.Capability, s.Concurrency*n)}
		if err := j.place(r); err != nil {
			return nil, false, err
		}
		own.Raise(r.From, r.To, r.Amount)
		best.to = best.from + long
		if err := j.weigh(&best, room, &gang); err != nil {
			return nil, false, err
		}
		if best.room > 0 {
			line.push(best)
		}
	}
	pieces := own.Runs()
	if gangs > 0 {
		j.undo(pieces)
		return nil, false, nil
	}
	return pieces, true, nil
}

// slots are the starts of the slots, from the side that is preferred.
func (j *job) slots(from, to, long int64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		if j.p.settings.Early {
			for at := from; at <= to-long && yield(at); at += long {
			}
			return
		}
		for end := to; end >= from+long && yield(end-long); end -= long {
		}
	}
}

// weigh finds out what a slot costs and how much fits.
func (j *job) weigh(s *slot, room timeline.Line, gang *yarn.Resource) (err error) {
	if s.price, err = j.price(s.from, s.to); err == nil {
		s.room, err = j.fit(s.from, s.to, room, gang)
	}
	return err
}

// price is how much of the plan is taken, summed over the steps of a slot.
//
// compat: Apache looks at a part of its line, and refuses to look before that begins.
// This concerns stages without memory that follow others.
func (j *job) price(from, to int64) (sum float64, err error) {
	if n := len(j.load); j.tail && n > 0 && to < j.load[0].At && to < j.load[n-1].At {
		return 0, refusal(timeline.ErrReversed)
	}
	if j.loads, err = j.mergeInto(j.loads, j.load, j.placed, timeline.Add, from, to); err != nil {
		return 0, err
	}
	step := float64(j.p.settings.Step)
	cost := func(load *yarn.Resource, long int64) {
		each := float64(j.p.settings.Calc.Ratio(load, &j.p.capacity))
		sum = float64(sum + float64(float64(each*float64(long))/step))
	}
	last, at := timeline.Point{Known: true}, int64(-1)
	for _, p := range j.loads {
		if at != -1 {
			if !last.Known {
				return 0, refusal(timeline.ErrUnknown)
			}
			cost(&last.Amount, p.At-max(at, from))
		}
		last, at = p, p.At
	}
	if last.Known {
		cost(&last.Amount, to-max(at, from))
	}
	return sum, nil
}

// fit is how many gangs there is room for in all of a slot.
func (j *job) fit(from, to int64, room timeline.Line, gang *yarn.Resource) (n int32, err error) {
	if j.frees, err = j.mergeInto(j.frees, room, j.placed, timeline.Take, from, to); err != nil {
		return 0, err
	}
	n = math.MaxInt32
	for i := range j.frees {
		p := &j.frees[i]
		switch {
		case p.At >= to:
			return n, nil
		case !p.Known:
			n = 0
		default:
			n = min(n, j.gangs(&p.Amount, gang))
		}
	}
	return n, nil
}

// slots are those with room, the cheapest one first; of equals the one on the
// preferred side. It is a heap.
type slots struct {
	early bool
	all   []slot
}

func (h *slots) less(i, k int) bool {
	a, b := &h.all[i], &h.all[k]
	if c := javanum.Compare(a.price, b.price); c != 0 {
		return c < 0
	}
	if h.early {
		return a.to < b.to
	}
	return a.to > b.to
}

func (h *slots) push(s slot) {
	h.all = append(h.all, s)
	for i := len(h.all) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			return
		}
		h.all[i], h.all[up] = h.all[up], h.all[i]
		i = up
	}
}

func (h *slots) pop() slot {
	top, n := h.all[0], len(h.all)-1
	h.all[0] = h.all[n]
	h.all = h.all[:n]
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < n; k++ {
			if h.less(k, least) {
				least = k
			}
		}
		if least == i {
			return top
		}
		h.all[i], h.all[least] = h.all[least], h.all[i]
		i = least
	}
}
