package schedtest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// TestWhoWaitsInFifoKnowsWhy demands of everybody who wants something a reason for each node, something that helps against it, and a place in line. What the
// reasons of a node say is held against what an offer of it brings. The same for the other policies is TestWhoWaitsKnowsWhy of each.
func TestWhoWaitsInFifoKnowsWhy(t *testing.T) {
	given := map[yarn.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		cluster := lifeCluster
		cluster.Policy = config.FifoPolicy
		cfg, _, err := config.Parse(nil, cluster)
		if err != nil {
			t.Fatalf("configuration: %v", err)
		}
		s, err := scheduler.New(cfg)
		if err != nil {
			t.Fatalf("%v", err)
		}
		l := &life{s: s}
		ids := map[scheduler.AppRef]yarn.ApplicationID{}
		submit := func(t *rapid.T) {
			n := len(l.apps)
			if l.submit(t); len(l.apps) > n {
				ids[l.apps[n]] = yarn.ApplicationID{ClusterTimestamp: 1, Sequence: l.seq}
			}
		}
		drain := func(t *rapid.T) {
			if node, _, ok := pick(t, l.nodes); ok {
				s.SetNodeAccepting(node, rapid.Bool().Draw(t, "accepts"))
			}
		}
		steps := []func(*rapid.T){l.addNode, submit, submit, l.ask, l.ask, l.ask, l.beat, l.finish, l.vacate, l.endAttempt, l.remove, l.removeNode, l.resize, l.blacklist, drain}
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			l.clock += 1000
			s.Advance(l.now())
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")](t)
			l.knowWhy(t, ids, given)
		}
	})
	t.Log(given)
	for _, code := range []yarn.Code{fit.NoNodes, fit.NodeFull, fit.NodeTooSmall, fit.NodeUnavailable, fit.Blacklisted, fit.OthersFirst, fit.ComesNext} {
		if given[code] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nobody waits because of %s", code)
		}
	}
}

// knowWhy asks everybody why they wait, and then offers a node.
func (l *life) knowWhy(t *rapid.T, ids map[scheduler.AppRef]yarn.ApplicationID, given map[yarn.Code]int) {
	slices.Sort(l.nodes) // as they are looked at
	at := 0
	if len(l.nodes) > 0 {
		at = rapid.IntRange(0, len(l.nodes)-1).Draw(t, "node")
	}
	waiting := slices.DeleteFunc(slices.Clone(l.apps), func(a scheduler.AppRef) bool { return !l.s.Waits(a) })
	said, had := map[scheduler.AppRef]yarn.Reason{}, map[scheduler.AppRef]int32{}
	names := map[string]scheduler.AppRef{} // by their ids
	places := map[int]bool{}
	for _, a := range l.apps {
		names[ids[a].String()] = a
	}
	for _, a := range waiting {
		reasons := l.s.Explain(a, len(l.nodes))
		if len(reasons) != max(len(l.nodes), 1) {
			t.Fatalf("%v waits on %d nodes because of %+v", ids[a], len(l.nodes), reasons)
		}
		for _, why := range reasons {
			given[why.Code]++
			if r := l.s.Remedy(a, why); !r.Any() {
				t.Fatalf("%v waits because of %+v, and nothing helps", ids[a], why)
			}
		}
		said[a], had[a] = reasons[min(at, len(reasons)-1)], l.s.AppUsage(a).Live
		line := l.s.Line(a)
		if line.Of != len(waiting) || line.Place < 1 || line.Place > line.Of || places[line.Place] {
			t.Fatalf("%v of %d who wait is %+v", ids[a], len(waiting), line)
		}
		places[line.Place] = true
	}
	if len(l.nodes) == 0 {
		for a, why := range said {
			if why.Code != fit.NoNodes {
				t.Fatalf("%v waits without nodes because of %+v", ids[a], why)
			}
		}
		return
	}
	if len(waiting) == 0 {
		return
	}
	l.note(l.s.Offer(l.nodes[at], l.now(), nil))
	got := func(a scheduler.AppRef) bool { return l.s.AppUsage(a).Live > had[a] }
	for a, why := range said {
		name := l.s.NodeUsage(l.nodes[at]).ID.String()
		switch why.Code {
		case fit.ComesNext:
			if why.Subject != name || !got(a) {
				t.Fatalf("%v was to come next on %s, and got nothing: %+v", ids[a], name, why)
			}
		case fit.OthersFirst:
			if first, ok := names[why.Detail]; !ok || first == a || !got(first) {
				t.Fatalf("%v was to come after %s, which got nothing", ids[a], why.Detail)
			}
		case fit.NodeFull, fit.NodeTooSmall, fit.NodeUnavailable, fit.Blacklisted:
			if why.Subject != name || got(a) {
				t.Fatalf("%v was to get nothing on %s because of %+v, and got something", ids[a], name, why)
			}
		default:
			t.Fatalf("%v waits because of %+v", ids[a], why)
		}
	}
}
