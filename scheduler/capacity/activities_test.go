package capacity

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// TestActivitiesForetell compares, on random clusters, what activities say that an offer would do with what it does.
func TestActivitiesForetell(t *testing.T) {
	seen := map[core.Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			p.step(p.steps())
			n, ok := pickFrom(p, "node asked about", p.nodes)
			if !ok {
				continue
			}
			list := p.quick.Activities(n)
			last := list[len(list)-1]
			for _, x := range list {
				p.explained(x.Root)
			}
			seen[last.Outcome]++
			out := same(p, func(s *Scheduler) []cluster.Decision { return s.Offer(n, p.clocked(), nil) })
			placed := slices.DeleteFunc(slices.Clone(out), func(d cluster.Decision) bool { return d.Kind == cluster.Unreserved || d.Kind == cluster.Taken })
			switch {
			case last.Outcome == core.Nothing && len(placed) > 0:
				p.t.Fatalf("nothing was to come of an offer, because of %+v; it placed %v", last.Why, placed)
			case last.Outcome != core.Nothing && len(placed) > 0:
				if app := appIn(accepted(last.Root)); app == nil || app.Name != p.quick.app(p.quick.Container(placed[0].Container).App).ID.String() {
					p.t.Fatalf("%+v was to be served, %v was", app, placed[0])
				}
			}
			p.note(out)
			p.check()
		}
	})
	t.Log(seen)
	for o := core.Nothing; o <= core.Reserved; o++ {
		if seen[o] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: outcome %d was never told", o)
		}
	}
}

// accepted leaves of an activity what led to a container.
func accepted(x *core.Activity) *core.Activity {
	way := *x
	way.Below = nil
	for _, b := range x.Below {
		if b.Outcome != core.Nothing {
			way.Below = append(way.Below, accepted(b))
		}
	}
	return &way
}

// explained demands a reason of all of which nothing came.
func (p *play) explained(x *core.Activity) {
	if x.Outcome == core.Nothing && x.Why.OK() && len(x.Below) == 0 {
		p.t.Fatalf("nothing came of %+v, and nobody knows why", x)
	}
	for _, b := range x.Below {
		p.explained(b)
	}
}

// TestActivitiesOfAnApplication: who asks is told of each node, whoever else comes first.
func TestActivitiesOfAnApplication(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(5, 25).Draw(t, "steps") {
			p.step(p.steps())
			ref, ok := pickFrom(p, "app asked about", p.apps)
			if !ok {
				continue
			}
			list := p.quick.AppActivities(ref, 3)
			if len(list) > 3 || len(list) == 0 {
				p.t.Fatalf("%d entries", len(list))
			}
			for _, x := range list {
				if x.Root.Level != core.AtApp || x.Root.Name != p.quick.app(ref).ID.String() {
					p.t.Fatalf("that is another one: %+v", x.Root)
				}
				p.explained(x.Root)
				if (x.Node == yarn.NodeID{}) == p.quick.outsideWalks(p.quick.app(ref)).OK() {
					p.t.Fatalf("the node is %v: %+v", x.Node, x.Why)
				}
			}
		}
	})
}
