package introspect

import (
	"fmt"
	"testing"
	"time"
)

// TestMeans: a mean is that of the last whole period in which there was anything.
func TestMeans(t *testing.T) {
	m := NewMeans()
	start := time.Unix(1000, 0)
	for i, x := range []struct {
		after       time.Duration
		count, sum  int64
		mean, speed float64
	}{
		{0, 0, 0, 0, 0},
		{5 * time.Second, 10, 100, 0, 0}, // the first period is not over
		{10 * time.Second, 20, 200, 10, 2},
		{12 * time.Second, 30, 900, 10, 2},
		{20 * time.Second, 40, 1200, 50, 2},
		{30 * time.Second, 40, 1200, 50, 0}, // nothing happened
		{130 * time.Second, 140, 1300, 1, 1},
	} {
		if mean, speed := m.at(start.Add(x.after), "x", x.count, x.sum); mean != x.mean || speed != x.speed {
			t.Errorf("%d: %v, %v", i, mean, speed)
		}
	}
	if mean, _ := m.at(start, "another", 4, 10); mean != 2.5 {
		t.Errorf("before the first period: %v", mean)
	}
	var none *Means
	if got := fmt.Sprint(none.Timed("", "Call", 4, 10*time.Millisecond, "calls")); got != "[{CallNumOps 4 calls: how many true} {CallAvgTime 2.5 calls: mean, ms false}]" {
		t.Error(got)
	}
}
