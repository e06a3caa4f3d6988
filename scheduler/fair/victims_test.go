package fair_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// TestVictims has rounds of preemption follow random plays. Who is given notice must be somebody whom that may befall, for somebody who starves;
// it ends when its time is over, and not before.
func TestVictims(t *testing.T) {
	noticed, ended := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		sc.eager = true
		sc.props = append(sc.props, config.Property{Name: config.FairPrefix + "preemption", Value: "true"},
			config.Property{Name: config.FairPrefix + "preemption.cluster-utilization-threshold", Value: "0.2"})
		p := playOf(t, sc)
		p.begin()
		for range rapid.IntRange(10, 40).Draw(t, "steps") {
			p.step(p.steps())
		}
		for range 8 { // the cluster fills
			p.ask()
			p.update()
			for _, n := range p.nodes {
				p.offerTo(n)
			}
		}
		for range 4 { // and others come
			p.submit()
		}
		v := &victims{play: p, since: map[*container]int64{}}
		for range rapid.IntRange(3, 12).Draw(t, "rounds") {
			p.step([]func(){v.round, p.submit, v.round, p.ask, v.round, p.update, v.round, p.finish})
			v.listed()
		}
		noticed, ended = noticed+len(v.since), ended+v.ended
	})
	t.Logf("%d were given notice, %d of them were ended", noticed, ended)
	if (noticed == 0 || ended == 0) && !t.Failed() && seeded.Full() {
		t.Error("the plays were too tame: nobody was preempted")
	}
}

// victims are those of a play, with when they were given notice.
type victims struct {
	*play
	since map[*container]int64
	ended int
}

// standing tells whether a container is under notice.
func (v *victims) standing(c *container) bool {
	_, ok := v.since[c]
	return ok && c.twin.Live
}

func (v *victims) find(ref scheduler.ContainerRef) *container {
	i := slices.IndexFunc(v.containers, func(c *container) bool { return c.ref == ref && c.twin.Live })
	if i < 0 {
		v.fail("%v is no container that anybody has", ref)
	}
	return v.containers[i]
}

func (v *victims) round() {
	wait := v.twin.Config.KillWait
	due := v.s.Due(v.now(), nil)
	for _, taking := range due {
		c := v.find(taking.Ref)
		if at, ok := v.since[c]; !ok || v.clock < at+wait {
			v.fail("%v is ended at %d, its notice is of %d: %v", c.twin.ID, v.clock, at, ok)
		}
		v.note("%v is ended", c.twin.ID)
		v.end(c, cluster.Preempted)
		v.ended++
	}
	for c, at := range v.since {
		if v.standing(c) && v.clock >= at+wait {
			v.fail("%v still stands at %d, its notice is of %d", c.twin.ID, v.clock, at)
		}
	}
	out := v.s.Preempt(v.now(), nil)
	v.twin.Update()
	v.note("preempt: %d", len(out))
	if len(out) > 0 && !v.twin.Starves() {
		v.fail("nobody starves, and %d containers are given notice", len(out))
	}
	for _, taking := range out {
		c := v.find(taking.Ref)
		if v.standing(c) {
			v.fail("%v is given notice again", c.twin.ID)
		}
		v.since[c] = v.clock
	}
	for _, taking := range out {
		v.lawful(v.find(taking.Ref))
	}
}

// lawful sees that a container may be preempted.
func (v *victims) lawful(c *container) {
	a := c.twin.App
	switch q := a.Queue; {
	case !q.Conf.Preemptable:
		v.fail("%v is given notice in %s, which does not allow that", c.twin.ID, q.Path)
	case c.twin.AM && !v.twin.Config.PreemptMasters(q.Path):
		v.fail("%v is a master, and is given notice", c.twin.ID)
	}
	left := v.twin.Usage(a)
	for o := range v.since {
		if o.twin.App == a && v.standing(o) {
			left = left.Sub(o.twin.Size)
		}
	}
	if v.twin.Less(a.Queue, left, a.FairShare) {
		v.fail("%v is given notice, by which %v keeps %v of its share of %v", c.twin.ID, a.ID, left, a.FairShare)
	}
}

// listed sees that those are shown as under notice who are.
func (v *victims) listed() {
	var have, want []yarn.ContainerID
	for _, ref := range v.s.UnderNotice(scheduler.NoApp, nil) {
		have = append(have, v.s.Container(ref).ID)
	}
	for c := range v.since {
		if v.standing(c) {
			want = append(want, c.twin.ID)
		}
	}
	slices.SortFunc(have, yarn.ContainerID.Compare)
	slices.SortFunc(want, yarn.ContainerID.Compare)
	if !slices.Equal(have, want) {
		v.fail("under notice are %v, not %v", have, want)
	}
}
