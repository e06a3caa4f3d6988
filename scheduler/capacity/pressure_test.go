package capacity

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/schedtest/twin"
	"github.com/heddle-project/heddle/yarn"
)

// hoard has an application ask for many small containers; demand for a few of any size.
func (p *play) hoard() { p.askFor(rapid.Int32Range(5, 20).Draw(p.t, "count"), 1, 2, 3) }

func (p *play) demand() { p.askFor(rapid.Int32Range(2, 6).Draw(p.t, "count"), 12, 8, 4, 16, 2) }

func (p *play) askFor(count int32, sizes ...int64) {
	had := len(p.apps)
	p.submit()
	if len(p.apps) == had || p.attempt[p.apps[had]] == 0 {
		return
	}
	ref := p.apps[had]
	asks := []yarn.Ask{{Priority: rapid.Int32Range(1, 3).Draw(p.t, "priority"), Where: yarn.AnyHost, RelaxLocality: true, Capability: p.size("memory", sizes...), Count: count}}
	if p.sc.labels && rapid.Bool().Draw(p.t, "labelled") {
		asks[0].Label, asks[0].LabelSet = p.aLabel(), true
	}
	if same(p, func(s *Scheduler) yarn.Reason { return s.Normalize(ref, slices.Clone(asks)) }).OK() {
		p.quick.Normalize(ref, asks)
		p.both(func(s *Scheduler) { s.Ask(ref, asks) })
	}
}

// offers offers all nodes. On some of them what was placed begins to run.
func (p *play) offers() {
	for _, n := range p.nodes {
		p.note(same(p, func(s *Scheduler) []cluster.Decision { return s.Offer(n, p.clocked(), nil) }))
		if rapid.Bool().Draw(p.t, "launched") {
			for _, c := range p.containers {
				if p.quick.Container(c).Node == n && p.quick.Container(c).Live {
					p.both(func(s *Scheduler) { s.Launched(c) })
				}
			}
		}
	}
}

// TestRoundsUnderPressure has some leaves fill the cluster, and then others ask: rounds have much to do, and decide as the twin's.
func TestRoundsUnderPressure(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		sc.pressed = true
		p := newPlayIn(t, sc)
		p.crowd = 10
		for range rapid.IntRange(3, 5).Draw(t, "nodes") {
			p.addNode()
		}
		some := rapid.IntRange(0, len(leafPaths)-1).Draw(t, "who hoards")
		p.paths = []string{leafPaths[some], leafPaths[(some+rapid.IntRange(0, 3).Draw(t, "and who"))%len(leafPaths)]}
		for range rapid.IntRange(3, 7).Draw(t, "hoarders") {
			p.step([]func(){p.hoard})
			p.step([]func(){p.offers})
		}
		for range 6 {
			p.step([]func(){p.offers})
		}
		set := &p.quick.cfg.Preemption
		drawPreemption(t, set)
		set.PerRound = rapid.SampledFrom([]float32{1, 0.3, 0.1}).Draw(t, "much per round")
		set.NaturalTermination = rapid.SampledFrom([]float64{1, 0.5, 0.2}).Draw(t, "at once")
		set.ObserveOnly = rapid.IntRange(0, 7).Draw(t, "observe only") == 7
		set.ReservedDelay = rapid.SampledFrom([]int64{0, 5000}).Draw(t, "delay")
		for _, q := range p.quick.tree.Queues {
			if q != nil {
				q.Conf.PreemptionDisabled = rapid.IntRange(0, 7).Draw(t, "exempt") == 7
				q.Conf.IntraPreemptionDisabled = q.Conf.PreemptionDisabled || rapid.IntRange(0, 7).Draw(t, "in order") == 7
			}
		}
		p.paths = leafPaths
		for range rapid.IntRange(3, 8).Draw(t, "rounds") {
			for range 3 {
				p.step([]func(){p.demand, p.demand, p.demand, p.hoard, p.finish, p.relabel, p.priority, p.vacate})
			}
			p.step([]func(){p.offers})
			p.step([]func(){p.offers})
			p.clock += rapid.SampledFrom([]int64{1000, 3000, 15000}).Draw(t, "advance")
			p.round(set, seen)
		}
	})
	t.Log(seen)
	for _, rule := range []string{"queue-priority", "reservation", "guarantee", "balance", "within-queue"} {
		if seen["twin: noticed, "+rule] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nothing was noticed for %s", rule)
		}
	}
}

// likeTwin compares what a round has decided, and left behind, with what the twin does.
func (p *play) likeTwin(got *core.Preemption, want twin.Outcome, w *twin.World, seen map[string]int) {
	p.choosesLikeTwin(got, want, seen)
	if d := twin.Difference(w, p.snapshot(p.quick).world); d != "" {
		p.t.Fatalf("after a round: %s", d)
	}
	seen["rounds"]++
}

func (p *play) choosesLikeTwin(got *core.Preemption, want twin.Outcome, seen map[string]int) {
	var moves, twins string
	for _, m := range got.Moved {
		moves += fmt.Sprintf("%v to %v\n", m.ID, m.Node)
	}
	for _, m := range want.Moved {
		twins += fmt.Sprintf("%v to %v\n", m.ID, m.To.ID)
		seen["twin: moved"]++
	}
	if moves != twins {
		p.t.Fatalf("moves\n%sthe twin:\n%s", moves, twins)
	}
	for _, list := range []struct {
		what string
		have []core.Taking
		want []twin.Choice
	}{{"noticed", got.Noticed, want.Noticed}, {"due", got.Due, want.Due}, {"unreserved", got.Unreserved, want.Unreserved}, {"observed", got.Observed, want.Observed}} {
		var a, b string
		for _, x := range list.have {
			a += fmt.Sprintf("%v %s\n", x.ID, x.Rule)
		}
		for _, x := range list.want {
			b += fmt.Sprintf("%v %s\n", x.ID, x.Rule)
			seen["twin: "+list.what+", "+x.Rule]++
		}
		if a != b {
			p.t.Fatalf("%s\n%sthe twin:\n%s", list.what, a, b)
		}
	}
}
