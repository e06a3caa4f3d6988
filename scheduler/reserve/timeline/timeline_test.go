package timeline

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

func of(memory int64) yarn.Resource { return yarn.NewResource(memory, memory/2) }

func known(at, memory int64) Point { return Point{at, true, of(memory)} }

var end = Point{At: End}

// TestRaise: a line keeps its first point, and ends at the end of time once it was
// made of more than one interval.
func TestRaise(t *testing.T) {
	var l Line
	for _, step := range []struct {
		from, to, by int64
		want         Line
	}{
		{10, 20, 4, Line{known(10, 4), known(20, 0)}},
		{15, 30, 2, Line{known(10, 4), known(15, 6), known(20, 2), known(30, 0), end}},
		{10, 20, -4, Line{known(10, 0), known(15, 2), known(30, 0), end}},
		{5, 7, 0, Line{known(10, 0), known(15, 2), known(30, 0), end}},
		{15, 30, -2, Line{known(10, 0), end}},
		{2, 4, 8, Line{known(2, 8), known(4, 0), end}},
		{4, End, 8, Line{known(2, 8), end}},
	} {
		if l.Raise(step.from, step.to, of(step.by)); !slices.Equal(l, step.want) {
			t.Fatalf("raised by %d from %d to %d: %v, want %v", step.by, step.from, step.to, l, step.want)
		}
	}
	if l.First() != 2 || l.Last() != 2 || l.Empty() || (Line{}).First() != -1 || (Line{}).Last() != -1 || !(Line{known(3, 0), end}).Empty() {
		t.Errorf("%v: first %d, last %d, empty %v", l, l.First(), l.Last(), l.Empty())
	}
}

// TestRange: the point that holds at the start belongs to a range, and what was exchanged is refused.
func TestRange(t *testing.T) {
	l := Line{known(10, 4), known(20, 2), known(30, 0), end}
	for _, c := range []struct {
		from, to int64
		want     Line
		err      error
	}{
		{0, 5, l[:0], nil},
		{0, 10, l[:1], nil},
		{12, 25, l[:2], nil},
		{20, 30, l[1:3], nil},
		{40, 50, l[2:3], nil},
		{25, 15, nil, ErrReversed},
		{25, 20, l[1:2], nil},
		{5, 1, l[:0], nil},
		{Begin, End, l, nil},
	} {
		if got, err := l.Within(c.from, c.to); !errors.Is(err, c.err) || !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d: %v, %v; want %v, %v", c.from, c.to, got, err, c.want, c.err)
		}
	}
}

func TestMergeUnknown(t *testing.T) {
	open := Line{known(10, 4), end}
	for _, c := range []struct {
		a, b Line
		op   Op
		want Line
		err  error
	}{
		{nil, open, Add, open, nil},
		{open, nil, Take, open, nil},
		{nil, open, Subtract, nil, ErrUnknown},
		{nil, Line{known(5, 2), known(9, 0)}, Subtract, Line{known(5, -2), known(9, 0)}, nil},
		{nil, Line{known(5, 2)}, Take, nil, ErrNegative},
		{Line{known(0, 2)}, Line{known(5, 3), known(9, 0)}, Take, nil, ErrNegative},
		{Line{known(0, 3)}, Line{known(5, 3), known(9, 0)}, Take, Line{known(0, 3), known(5, 0), known(9, 3), end}, nil},
		{Line{known(5, 3)}, Line{known(0, 3)}, Subtract, Line{known(0, -3), known(5, 0), end}, nil},
	} {
		if got, err := Merge(nil, c.a, c.b, c.op, Begin, End); !errors.Is(err, c.err) || !slices.Equal(got, c.want) {
			t.Errorf("%v and %v: %v, %v; want %v, %v", c.a, c.b, got, err, c.want, c.err)
		}
	}
	least := Lesser(measure.Calculator{Types: 2}, of(10))
	if got, _ := Merge(nil, Line{known(0, 3)}, Line{known(2, 2), known(4, 9)}, least, 0, 8); !slices.Equal(got, Line{known(0, 3), known(2, 2), known(4, 3), {At: 8}}) {
		t.Errorf("the lesser: %v", got)
	}
}

type piece struct{ from, to, by int64 }

func pieces(t *rapid.T, end int64) []piece {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) piece {
		from := rapid.Int64Range(0, end-1).Draw(t, "from")
		return piece{from, rapid.Int64Range(from+1, end).Draw(t, "to"), rapid.Int64Range(1, 4).Draw(t, "by")}
	}), 1, 6).Draw(t, "pieces")
}

// TestRaiseIsMerge: what is done in place is what merging gives, to the point.
func TestRaiseIsMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var raised, merged Line
		for _, p := range pieces(t, 40) {
			sign := rapid.SampledFrom([]int64{1, 1, -1}).Draw(t, "sign")
			raised.Raise(p.from, p.to, of(2*sign*p.by))
			merged, _ = Merge(nil, merged, Of(p.from, p.to, of(2*sign*p.by)), Add, Begin, End)
			if !slices.Equal(raised, merged) {
				t.Fatalf("raised %v, merged %v", raised, merged)
			}
		}
	})
}

// TestAmounts: at every time a line has the sum of its pieces, and a cycle that of all instances.
func TestAmounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const period = 25
		all := pieces(t, period)
		c := Cycle{Period: period}
		var lines []Line
		for _, p := range all {
			c.Raise(p.from, p.to, of(2*p.by))
			lines = append(lines, Of(p.from, p.to, of(2*p.by)))
		}
		if sum := Sum(lines); !slices.Equal(sum, c.Line) {
			t.Fatalf("the sum is %v, one after the other %v", sum, c.Line)
		}
		from := rapid.Int64Range(0, 90).Draw(t, "from")
		to := from + rapid.Int64Range(1, 90).Draw(t, "long")
		range1, err := c.Unroll(from, to).Within(from, to)
		if err != nil {
			t.Fatal(err)
		}
		train := c.Repeat(5)
		for at := int64(0); at < 5*period; at++ {
			var want int64
			for _, p := range all {
				if phase := at % period; p.from <= phase && phase < p.to {
					want += 2 * p.by
				}
			}
			if got := c.Amount(at); got != of(want) {
				t.Fatalf("the cycle has %v at %d, want %d", got, at, want)
			}
			if got := train.Amount(at); got != of(want) {
				t.Fatalf("repeated it has %v at %d, want %d", got, at, want)
			}
			if got := range1.Amount(at); from <= at && at < to && got != of(want) {
				t.Fatalf("unrolled from %d to %d it has %v at %d, want %d", from, to, got, at, want)
			}
		}
		for i := 1; i < len(train); i++ {
			if a, b := train[i-1], train[i]; a.At >= b.At || a.Known && b.Known && a.Amount == b.Amount {
				t.Fatalf("points %v and %v of %v", a, b, train)
			}
		}
	})
}
