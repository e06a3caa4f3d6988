package timeline

import "github.com/heddle-project/heddle/yarn"

// Cycle is a line that repeats. Its points lie between 0 and the period, both included.
type Cycle struct {
	Line
	Period int64 // above 0
}

// Amount is what holds at t.
func (c *Cycle) Amount(t int64) yarn.Resource { return c.Line.Amount(t % c.Period) }

// Raise adds an amount between two times of the first period. Others are left out.
//
// compat: PeriodicRLESparseResourceAllocation.addInterval does not add them, either.
func (c *Cycle) Raise(from, to int64, by yarn.Resource) {
	if from >= 0 && to > from && to <= c.Period {
		c.Line.Raise(from, to, by)
	}
}

// Points is how many points an unrolled range has at most.
func (c *Cycle) Points(from, to int64) int {
	if len(c.Line) == 0 || to < from {
		return len(c.Line)
	}
	span := uint64(to) - uint64(from)
	const most = 1 << 40
	return int(min(span/uint64(c.Period)+2, most)) * len(c.Line)
}

// Unroll is the cycle between two times, as a line.
//
// compat: it begins with the point that holds at the start, at its own earlier time,
// and ends with an unknown point at the end of time if the start is not in the first period.
func (c *Cycle) Unroll(from, to int64) Line {
	n := len(c.Line)
	if n == 0 {
		return nil
	}
	phase := int64(0)
	if from >= 0 {
		phase = from % c.Period
	}
	first := int64(0)
	if i := c.After(phase); i > 0 {
		first = c.Line[i-1].At
	}
	points, closed := c.Line, c.Line[n-1].At == End
	if closed {
		points = points[:n-1]
	}
	var out Line
	for i := int64(0); i <= 1+(to-from)/c.Period; i++ {
		offset := i * c.Period
		low := points.After(first - offset - 1)
		high := points.After(to - from + phase - offset)
		for _, p := range points[low:max(low, high)] {
			p.At += offset
			out = out.Put(p)
		}
	}
	if closed && (from > phase || to == End) {
		out = out.Put(c.Line[n-1])
	}
	return out.Shift(from - phase)
}

// Repeat is the first so many periods, as a line.
func (c *Cycle) Repeat(times int64) Line {
	points := c.Line
	closed := len(points) > 0 && points[len(points)-1].At == End
	if closed {
		points = points[:len(points)-1]
	}
	out := make(Line, 0, int64(len(points))*times+1)
	for k := range times {
		for _, p := range points {
			p.At += k * c.Period
			if n := len(out); n > 0 && out[n-1].At == p.At {
				out = out[:n-1]
			}
			out = out.extend(p)
		}
	}
	if len(out) > 0 && (closed || times > 1) {
		out.close()
	}
	return out
}
