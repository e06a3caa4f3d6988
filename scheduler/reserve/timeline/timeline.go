// Package timeline has amounts of resources that change at points in time: step
// functions, kept as sorted points. All times are milliseconds.
package timeline

import (
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/heddle-project/heddle/yarn"
)

// Point says what holds from a time on, until the next point.
type Point struct {
	At     int64
	Known  bool // false: nothing is said from here on
	Amount yarn.Resource
}

// Line is a step function: points in ascending order of time. Before the first one
// nothing is said, which counts as zero where an amount is needed.
//
// compat: a line that was made of more than one interval ends with an unknown point
// at the end of time, and it keeps its first point when that becomes zero. Both
// decide in Apache (RLESparseResourceAllocation) what a range of the line begins and
// ends with, and so what averages are taken of.
type Line []Point

// The bounds of time.
const (
	Begin = math.MinInt64
	End   = math.MaxInt64
)

// Errors of operations. The caller says what was attempted.
var (
	// ErrNegative: more was to be taken away than there is.
	ErrNegative = errors.New("more is taken than there is")
	// ErrReversed: a range ends before the line that holds at its start.
	ErrReversed = errors.New("the range ends before it begins")
	// ErrUnknown: an amount is needed where nothing is said.
	ErrUnknown = errors.New("no amount is known there")
)

// Of is an amount from one time to another, and nothing after it.
//
// compat: with the two exchanged it is nothing until the later one, and the amount for ever.
func Of(from, to int64, amount yarn.Resource) Line {
	first, last := Point{from, true, amount}, Point{to, true, yarn.Resource{}}
	switch {
	case from < to:
		return Line{first, last}
	case from > to:
		return Line{last, first}
	}
	return Line{last}
}

// Constant is an amount from a time on, for ever.
func Constant(from int64, amount yarn.Resource) Line { return Line{{from, true, amount}} }

// After is the index of the first point later than t.
func (l Line) After(t int64) int {
	return sort.Search(len(l), func(i int) bool { return l[i].At > t })
}

// Amount is what holds at t.
func (l Line) Amount(t int64) yarn.Resource {
	if i := l.After(t); i > 0 {
		return l[i-1].Amount
	}
	return yarn.Resource{}
}

// First is the time of the first point, -1 if there is none.
func (l Line) First() int64 {
	if len(l) == 0 {
		return -1
	}
	return l[0].At
}

// Last is the time of the last point that says something, -1 if there is none.
func (l Line) Last() int64 {
	n := len(l)
	switch {
	case n == 0:
		return -1
	case l[n-1].Known:
		return l[n-1].At
	case n == 1:
		return -1
	}
	return l[n-2].At
}

// Empty tells whether nothing was ever added, or all of it was taken away again.
func (l Line) Empty() bool {
	return len(l) == 0 || len(l) == 2 && l[0].Known && l[0].Amount.IsZero() && !l[1].Known
}

// Within is the part of the line between two times, both included, with the point
// that holds at the first one. It shares the line's points.
func (l Line) Within(from, to int64) (Line, error) {
	if len(l) == 0 {
		return nil, nil
	}
	low, high := 0, len(l)
	if from > l[0].At {
		low = l.After(from) - 1
	}
	if to < l[high-1].At {
		if low > 0 && to < l[low].At || low == 0 && from > l[0].At && to < l[0].At {
			return nil, ErrReversed
		}
		high = l.After(to)
	}
	return l[low:high], nil
}

// Raise adds an amount between two times, in place.
func (l *Line) Raise(from, to int64, by yarn.Resource) {
	switch {
	case by.IsZero():
		return
	case to <= from:
		*l, _ = Merge(nil, *l, Of(from, to, by), Add, Begin, End) // adding never fails
		return
	case len(*l) == 0:
		*l = Of(from, to, by)
		return
	}
	first := (*l)[0].At
	i := l.cut(from)
	j := l.cut(to)
	for k := i; k < j; k++ {
		(*l)[k].Amount.Increase(&by)
	}
	l.join(j)
	l.join(i)
	if from < first {
		l.join(l.After(first) - 1)
	}
	l.close()
}

// cut is the index of the point at that time, which is made if there is none.
func (l *Line) cut(at int64) int {
	i := l.After(at)
	if i > 0 && (*l)[i-1].At == at {
		return i - 1
	}
	p := Point{At: at, Known: true}
	if i > 0 {
		p.Amount = (*l)[i-1].Amount
	}
	*l = slices.Insert(*l, i, p)
	return i
}

// join takes a point away that says what the one before it says.
func (l *Line) join(i int) {
	if s := *l; i > 0 && i < len(s) && s[i].Known && s[i-1].Known && s[i].Amount == s[i-1].Amount {
		*l = slices.Delete(s, i, i+1)
	}
}

// close ends the line at the end of time.
func (l *Line) close() {
	if n := len(*l); (*l)[n-1].At == End {
		(*l)[n-1] = Point{At: End}
	} else {
		*l = append(*l, Point{At: End})
	}
}

// Shift is the line, so much later.
//
// compat: the end of time stays where it is only when the line moves to the right.
func (l Line) Shift(by int64) Line {
	out := slices.Clone(l)
	for i := range out {
		if by > 0 && out[i].At == End || by <= 0 && out[i].At == Begin {
			continue
		}
		out[i].At += by
	}
	return out
}

// Run is an amount between two times.
type Run struct {
	From, To int64
	Amount   yarn.Resource
}

// Runs are the pieces of the line, those of nothing between others included.
func (l Line) Runs() []Run {
	if l.Empty() {
		return nil
	}
	var out []Run
	for i := 1; i < len(l); i++ {
		if l[i].Known {
			out = append(out, Run{l[i-1].At, l[i].At, l[i-1].Amount})
		}
	}
	return out
}

// Put sets a point, which is mostly the last one.
func (l Line) Put(p Point) Line {
	n := len(l)
	if n == 0 || l[n-1].At < p.At {
		return append(l, p)
	}
	i, found := slices.BinarySearchFunc(l, p.At, func(q Point, at int64) int {
		switch {
		case q.At < at:
			return -1
		case q.At > at:
			return 1
		}
		return 0
	})
	if found {
		l[i] = p
		return l
	}
	return slices.Insert(l, i, p)
}
