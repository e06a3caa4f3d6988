package reserve

import (
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// greedy places as many gangs as it can as early as possible, or as late, then goes
// on behind the time that kept it from placing more (Apache's StageAllocatorGreedyRLE).
// It tells whether all were placed.
func (j *job) greedy(s *yarn.ReservationStage, from, to int64) ([]timeline.Run, bool, error) {
	if from+s.Duration > to {
		return nil, false, nil
	}
	long, step := s.Duration, j.p.settings.Step
	if rest := long % step; rest != 0 {
		long += step - rest
	}
	room, err := j.available(from, to)
	if err != nil {
		return nil, false, err
	}
	if room, err = j.merge(room, j.placed, timeline.Subtract, from, to); err != nil {
		return nil, false, err
	}
	left, gang := s.Containers/s.Concurrency, times(s.Capability, s.Concurrency)
	var pieces []timeline.Run
	for left > 0 && from+long <= to {
		view, err := room.Within(from, to)
		if err != nil {
			return nil, false, refusal(err)
		}
		fit := j.earliest
		if !j.p.settings.Early {
			fit = j.latest
		}
		n, next, err := fit(view, &gang, left, from, to, long)
		if err != nil {
			return nil, false, err
		}
		start := from
		if !j.p.settings.Early {
			start = to - long
		}
		if n > 0 {
			left -= n
			r := timeline.Run{From: start, To: start + long, Amount: times(s.Capability, s.Concurrency*n)}
			if k := len(pieces) - 1; long == 0 && k >= 0 && pieces[k].From == r.From {
				pieces = pieces[:k] // compat: of what takes no time the last counts
			}
			pieces = append(pieces, r)
			if err := j.place(r); err != nil {
				return nil, false, err
			}
		}
		if j.p.settings.Early {
			from = next
		} else {
			to = next
		}
	}
	if left > 0 {
		j.undo(pieces)
		return nil, false, nil
	}
	return pieces, true, nil
}

// earliest is how many of the wanted gangs fit at from, and where to try next: behind
// the last of the times with the least room, or behind these gangs, whatever is earlier. Where none fits the
// next try is behind that time; anything before would meet it, too.
func (j *job) earliest(view timeline.Line, gang *yarn.Resource, wanted int32, from, to, long int64) (int32, int64, error) {
	most, low := wanted, int64(-1)
	for i := range view {
		if err := j.spend(1); err != nil {
			return 0, 0, err
		}
		if most <= 0 {
			break
		}
		p := &view[i]
		at := max(p.At, from)
		if !p.Known {
			continue
		}
		if at >= from+long {
			break
		}
		if n := min(wanted, j.gangs(&p.Amount, gang)); n <= most {
			most, low = n, at
		}
	}
	next, i, jump := from+long, view.After(low), most <= 0 && low >= 0 && long > 0
	switch {
	case i < len(view) && (jump || view[i].At < next):
		next = view[i].At
	case i == len(view) && jump:
		next = to
	}
	return most, next, j.spend(4)
}

// latest is the same from the right: gangs end at to.
//
// compat: the room before a time counts up to and with the time at which the gangs begin.
func (j *job) latest(view timeline.Line, gang *yarn.Resource, wanted int32, from, to, long int64) (int32, int64, error) {
	most, low, before := wanted, int64(-1), to
	for i := len(view) - 1; i >= 0 && most > 0; i-- {
		if err := j.spend(1); err != nil {
			return 0, 0, err
		}
		at := before
		before = view[i].At
		k := view.After(at-1) - 1
		if k < 0 {
			return 0, 0, refusal(timeline.ErrUnknown)
		}
		p := &view[k]
		if !p.Known {
			continue
		}
		if at < to-long {
			break
		}
		if n := min(wanted, j.gangs(&p.Amount, gang)); n <= most {
			most, low = n, at
		}
	}
	next, k, jump := to-long, view.After(low-1)-1, most <= 0 && low >= 0 && long > 0
	switch {
	case k >= 0 && (jump || view[k].At > next):
		next = view[k].At
	case k < 0 && jump:
		next = from
	}
	return most, next, j.spend(4)
}
