package scen

import (
	"reflect"
	"slices"
	"testing"
)

// TestOrder: in as many rounds as there are kinds each kind stands as often in each place of a round and of its mirror image.
func TestOrder(t *testing.T) {
	kinds := []string{without, with, withCopies}
	first := map[string]int{}
	for i := range 2 * len(kinds) {
		o := order(kinds, i)
		back := slices.Clone(o)
		slices.Reverse(back)
		if !slices.Equal(o, back) || len(o) != 2*len(kinds) {
			t.Errorf("round %d is not the same backwards: %v", i, o)
		}
		first[o[0]]++
	}
	if want := map[string]int{without: 2, with: 2, withCopies: 2}; !reflect.DeepEqual(first, want) {
		t.Errorf("first in a round: %v, want %v", first, want)
	}
}

// TestSummary: rounds are compared each by itself, with the geometric mean; one that was cut short does not count, nor a figure that the server does not have.
func TestSummary(t *testing.T) {
	round := func(without, with float64) stretches {
		f := func(x float64) []out { return []out{{"containers_per_s": x - 1}, {"containers_per_s": x + 1}} }
		return stretches{"without": f(without), "with": f(with)}
	}
	cut := round(100, 1)
	cut["with"] = cut["with"][:1]
	f := summary([]string{without, with}, []stretches{round(100, 50), round(1000, 2000), cut})
	rounds := f["rounds"].(out)
	for name, want := range map[string]any{"count": 2, "kept": [3]float64{0.5, 1.25, 2}, "kept_mean": [2]float64{1, 0.693}, "containers_per_s": [3]float64{100, 550, 1000},
		"server_cpu_ratio": nil, "kept_copies": nil} {
		if !reflect.DeepEqual(rounds[name], want) {
			t.Errorf("%s is %v, want %v", name, rounds[name], want)
		}
	}
	if none := summary([]string{without, with}, nil)["rounds"].(out); !reflect.DeepEqual(none, out{"count": 0}) {
		t.Errorf("no round: %v", none)
	}
	if got := f["with"].([]out); len(got) != 1 {
		t.Errorf("with has %d stretches of the last round, want 1", len(got))
	}
}
