package reserve

import (
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// TestLargeAverage: a user's average is kept also where there are more vcores than 32 bits have, as Apache counts them.
func TestLargeAverage(t *testing.T) {
	s := usual()
	s.Average, s.Window, s.Max = 50, 10_000, yarn.NewResource(1<<20, 1<<40)
	p := NewPlan(s, yarn.NewResource(1<<20, 1<<34))
	if err := p.Submit(0, number(1), "ann", define(0, 10_000, yarn.AllStages, stage(1, 1<<34, 1, 1, 10_000))); kind(err) != "PlanningQuotaException" {
		t.Errorf("all of the plan: %v", err)
	}
	submit(t, p, 0, 2, define(0, 10_000, yarn.AllStages, stage(1, 1<<33, 1, 1, 10_000)))
}

// TestLargeWeights: stages that follow one another share the time by what they take for how long, also where that is more
// than 64 bits have.
func TestLargeWeights(t *testing.T) {
	const long, end = 1 << 40 / 1000 * 1000, 8 << 40
	for _, early := range []bool{true, false} {
		s := usual()
		s.Early, s.Sharing, s.Max = early, NoOverCommit, yarn.NewResource(1<<40, 1<<40)
		p := NewPlan(s, yarn.NewResource(1<<40, 1<<40))
		d := define(0, end, yarn.Ordered, stage(1<<20, 1, 16, 16, long), stage(1<<20-1<<10, 1, 16, 16, long), stage(1, 1, 1, 1, 1000))
		submit(t, p, 0, 1, d)
		got := p.Reservation(number(1)).Intervals
		if n := len(got); n == 0 || got[0].Start < 0 || got[n-1].End > end {
			t.Fatalf("early %v: %v", early, got)
		}
		task := p.task(0)
		j := &job{task: task, d: &d, aligned: true}
		first := 0
		if !early {
			first = 1 // with the last one
		}
		from, to := j.window(first)
		if spare := to - from - long; spare < (end-2*long)*4/10 || spare > (end-2*long)*6/10 {
			t.Errorf("early %v: one of two like stages gets %d ms of %d", early, spare, int64(end-2*long))
		}
	}
}
