package timeline

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Op combines two amounts that hold at the same time.
type Op struct {
	kind  int
	least func(a, b *yarn.Resource) *yarn.Resource
}

const (
	add = iota
	subtract
	take
	least
)

// The operations.
var (
	Add      = Op{kind: add}
	Subtract = Op{kind: subtract}
	Take     = Op{kind: take} // subtracts, and fails where a component would become negative
)

// Lesser picks the lesser amount, as the calculator sees it from a plan of that size.
func Lesser(c measure.Calculator, size yarn.Resource) Op {
	return Op{least, func(a, b *yarn.Resource) *yarn.Resource { return c.Min(&size, a, b) }}
}

// Merge appends to dst, whose own points are dropped, the combination of both lines
// in a range of time. The lines have been cut to the range; what still lies before it is taken to
// begin with it.
//
// compat: where one line says nothing the other one holds, negated by Subtract; a line
// without any points is no operand at all, and the other one is returned as it is.
func Merge(dst, a, b Line, op Op, from, to int64) (Line, error) {
	dst = slices.Grow(dst[:0], len(a)+len(b)+1)
	if len(a) == 0 {
		if op.kind == subtract || op.kind == take {
			return negate(dst, b, op)
		}
		return append(dst, b...), nil
	}
	if len(b) == 0 {
		return append(dst, a...), nil
	}
	var lastA, lastB *Point
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var at int64
		nextA := j == len(b) || i < len(a) && a[i].At <= b[j].At
		nextB := i == len(a) || j < len(b) && b[j].At <= a[i].At
		if nextA {
			at, lastA = a[i].At, &a[i]
			i++
		}
		if nextB {
			at, lastB = b[j].At, &b[j]
			j++
		}
		p, err := op.combine(lastA, lastB)
		if err != nil {
			return nil, err
		}
		p.At = max(at, from)
		dst = dst.extend(p)
	}
	return dst.extend(Point{At: to}), nil
}

// extend sets a point unless it says nothing new.
func (l Line) extend(p Point) Line {
	if n := len(l); n > 0 && p.Known {
		if last := &l[n-1]; !last.Known || last.Amount == p.Amount {
			return l
		}
	}
	return l.Put(p)
}

func (op Op) combine(a, b *Point) (Point, error) {
	knowsA, knowsB := a != nil && a.Known, b != nil && b.Known
	switch {
	case !knowsA && !knowsB:
		return Point{}, nil
	case !knowsA && op.kind == subtract:
		return Point{Known: true, Amount: yarn.Resource{}.Sub(b.Amount)}, nil
	case !knowsA:
		return *b, nil
	case !knowsB:
		return *a, nil
	}
	p := *a
	switch op.kind {
	case add:
		p.Amount.Increase(&b.Amount)
	case least:
		p.Amount = *op.least(&a.Amount, &b.Amount)
	case take:
		if !b.Amount.FitsIn(a.Amount) {
			return Point{}, ErrNegative
		}
		p.Amount.Decrease(&b.Amount)
	default:
		p.Amount.Decrease(&b.Amount)
	}
	return p, nil
}

// negate is nothing without b.
//
// compat: here Take fails only where no component of b is negative and one is positive.
func negate(dst, b Line, op Op) (Line, error) {
	var none yarn.Resource
	for _, p := range b {
		if !p.Known {
			return nil, ErrUnknown
		}
		p.Amount = none.Sub(p.Amount)
		if op.kind == take && p.Amount.FitsIn(none) && !p.Amount.IsZero() {
			return nil, ErrNegative
		}
		dst = append(dst, p)
	}
	return dst, nil
}

// Sum is all lines together. They say something until they end.
func Sum(lines []Line) Line {
	switch len(lines) {
	case 0:
		return nil
	case 1:
		return lines[0]
	}
	type step struct { // at which the sum changes
		at          int64
		line, point int32
	}
	var steps []step
	for i, l := range lines {
		for k := range l {
			if l[k].At < End {
				steps = append(steps, step{l[k].At, int32(i), int32(k)})
			}
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var out Line
	var sum yarn.Resource
	for i, s := range steps {
		l := lines[s.line]
		sum.Increase(&l[s.point].Amount)
		if s.point > 0 {
			sum.Decrease(&l[s.point-1].Amount)
		}
		if i+1 == len(steps) || steps[i+1].at != s.at {
			out = out.extend(Point{s.at, true, sum})
		}
	}
	return append(out, Point{At: End})
}
