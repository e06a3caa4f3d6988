package twin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// share fills 100 GB of three queues: the first one has what the second is guaranteed and asks for.
func share(t *testing.T) *World {
	t.Helper()
	w := world(t, map[string]string{"root.queues": "a,b,c", "root.a.capacity": "50", "root.b.capacity": "30", "root.c.capacity": "20", "user-limit-factor": "100",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"}, yarn.NewResource(102400, 100))
	one := yarn.NewResource(1024, 1)
	for _, q := range []struct {
		path      string
		has, asks int
	}{{"root.a", 70, 0}, {"root.b", 10, 40}, {"root.c", 20, 5}} {
		a := w.app(q.path, "ann", one, int32(q.asks))
		for i := range q.has {
			c := w.run(a, 0, one)
			c.ID, c.Priority, c.AM = yarn.ContainerID{Attempt: a.Attempt, Number: int64(i + 1)}, 1, i == 0
		}
	}
	for _, q := range w.Queues() { // a configuration exempts all while there is no monitor
		q.Conf.PreemptionDisabled = false
	}
	w.Config.Preemption = config.Preemption{Wait: 15000, PerRound: 0.1, IgnoredOverCapacity: 0.1, NaturalTermination: 0.2}
	return w
}

func TestTaken(t *testing.T) {
	for _, c := range []struct {
		what  string
		set   func(*config.Preemption)
		wants int // the youngest of the first application
	}{
		{"defaults", func(*config.Preemption) {}, 2},
		{"all at once", func(p *config.Preemption) { p.PerRound, p.NaturalTermination = 1, 1 }, 20},
		{"balanced", func(p *config.Preemption) { p.PerRound, p.NaturalTermination, p.Balance = 1, 1, true }, 21},
	} {
		w := share(t)
		c.set(&w.Config.Preemption)
		var have, want []string
		for _, x := range w.Preempt(0).Chosen {
			have = append(have, fmt.Sprint(x.App.ID.Sequence, x.ID.Number))
		}
		for i := range c.wants {
			want = append(want, fmt.Sprint(1, 70-i))
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s: took %v, not %v", c.what, have, want)
		}
	}
}

// A container goes when its notice has run out, if it is chosen again.
func TestNotice(t *testing.T) {
	w, n := share(t), &Notices{Noticed: map[yarn.ContainerID]int64{}}
	set := &w.Config.Preemption
	for _, c := range []struct {
		at           int64
		noticed, due int
	}{{0, 2, 0}, {14999, 0, 0}, {15000, 0, 2}, {15001, 2, 0}} {
		if out := n.Settle(w.Preempt(0), set, c.at); len(out.Noticed) != c.noticed || len(out.Due) != c.due {
			t.Errorf("at %d: %d have notice, %d are due", c.at, len(out.Noticed), len(out.Due))
		}
	}
	n.Settle(Plan{}, set, 45002)
	if len(n.Noticed) != 0 {
		t.Errorf("notices stay: %v", n.Noticed)
	}
}
