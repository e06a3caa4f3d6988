package fair_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/schedtest/fairtwin"
	"github.com/heddle-project/heddle/yarn"
)

// TestWhoWaitsKnowsWhy demands a reason of everybody who wants something, and that each is true: by the numbers that the twin finds, and by what an
// offer of the node does. Once everybody else is gone, nobody may be in the way.
func TestWhoWaitsKnowsWhy(t *testing.T) {
	given := map[yarn.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			p.step(p.steps())
			for _, a := range p.apps {
				p.knowsWhy(a, given)
			}
			p.proves()
		}
		p.alone(given)
	})
	t.Log(given)
	for _, code := range []yarn.Code{fit.OthersFirst, fit.ComesNext, fit.AMLimit, fit.QueueLimit, fit.RunningApps, fit.UserRunningApps, fit.NextUpdate, fit.NodeFull,
		fit.LocalityDelay, fit.StrictLocality, fit.NodeReserved, fit.Blacklisted} {
		if given[code] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nobody waits because of %s", code)
		}
	}
}

func (p *play) waits(a *app) bool {
	return a.twin.Running && p.s.AppUsage(a.ref).PendingCount > 0
}

func (p *play) knowsWhy(a *app, given map[yarn.Code]int) {
	reasons := p.s.Explain(a.ref, len(p.nodes))
	if len(reasons) == 0 {
		p.fail("%v waits for no reason", a.twin.ID)
	}
	for _, why := range reasons {
		given[why.Code]++
		if r := p.s.Remedy(a.ref, why); !r.Any() {
			p.fail("%v waits because of %+v, and nothing helps", a.twin.ID, why)
		}
		if wrong := p.untrue(a.twin, why); wrong != "" {
			p.fail("%v waits, they say because of %+v: %s", a.twin.ID, why, wrong)
		}
	}
}

func sayIf(wrong bool, what string) string {
	if wrong {
		return what
	}
	return ""
}

// untrue says what is wrong with a reason; "" is nothing.
func (p *play) untrue(a *fairtwin.App, why yarn.Reason) string {
	w := p.twin
	q := w.Find(why.Subject)
	switch why.Code {
	case fit.NothingAsked:
		return sayIf(a.Running && a.Asks(), "it asks for something")
	case fit.UserRunningApps:
		return sayIf(a.Runnable || why.Subject != a.User || why.Count < why.Max, "its user has not so many")
	case fit.NoNodes:
		return sayIf(len(p.nodes) > 0, "there are nodes")
	case fit.NextUpdate:
		return sayIf(w.Usage(a) != a.Demand, "its demand was seen")
	case fit.RunningApps:
		return sayIf(a.Runnable || q == nil || !a.Queue.Below(q) || int64(w.Runnable(q)) != why.Count || why.Count < why.Max, "the queue has not so many")
	case fit.AMLimit:
		return sayIf(a.Mastered || q != a.Queue || w.AMUsed(q).Add(a.Sizes()[0]) != why.Needed || why.Needed.FitsIn(why.Limit), "its master has room")
	case fit.OthersFirst:
		return sayIf(q == nil || why.Detail == a.ID.String(), "that one is not before it")
	case fit.QueueLimit, fit.ParentLimit:
		return sayIf(q == nil || !a.Queue.Below(q) || q.Leaf != (why.Code == fit.QueueLimit) || !slices.Contains(a.Sizes(), why.Needed.Sub(w.Used(q))) || w.MaxShare(q) != why.Limit ||
			why.Needed.FitsIn(why.Limit), "the queue may have that")
	}
	return p.untrueOfNode(a, why)
}

func (p *play) untrueOfNode(a *fairtwin.App, why yarn.Reason) string {
	w := p.twin
	i := slices.IndexFunc(w.Nodes, func(n *fairtwin.Node) bool { return n.ID.String() == why.Subject })
	if i < 0 {
		return "there is no such node, or no such reason"
	}
	n := w.Nodes[i]
	held := w.ReservationOn(n)
	switch why.Code {
	case fit.Blacklisted:
		return sayIf(!w.Avoids(a, n), "it does not avoid the node")
	case fit.NodeUnavailable:
		return sayIf(!n.Closed, "it takes containers")
	case fit.NodeReserved:
		return sayIf(held == nil || held.App == a || held.App.ID.String() != why.Detail, "that one has not reserved the node")
	case fit.NodeTooSmall:
		return sayIf(n.Total != why.Limit || why.Needed.FitsIn(n.Total), "the node is large enough")
	case fit.NodeFull:
		return sayIf(w.Free(n) != why.Limit || why.Needed.FitsIn(why.Limit), "the node has room")
	case fit.LocalityDelay, fit.StrictLocality:
		return sayIf(!a.Asks(), "it asks for nothing")
	case fit.QueueLimit, fit.ParentLimit, fit.ComesNext, fit.OthersFirst:
		return ""
	}
	return "that is no reason"
}

// proves offers a node, and compares what comes of it with the reason that an application was given for that node.
func (p *play) proves() {
	waiting := slices.DeleteFunc(slices.Clone(p.apps), func(a *app) bool { return !p.waits(a) })
	a, ok := pickFrom(p, "who wonders", waiting)
	if !ok {
		return
	}
	reasons := p.s.Explain(a.ref, len(p.nodes))
	if len(reasons) != len(p.nodes) { // one for all nodes
		why := reasons[0]
		n, ok := pickFrom(p, "anywhere", p.nodes)
		if !ok {
			return
		}
		if out := p.offerTo(n); len(out) > 0 && out[0].ID.Attempt == a.twin.Attempt {
			p.fail("%v waits, they say because of %+v, but an offer does %+v", a.twin.ID, why, out)
		}
		return
	}
	nodes := slices.SortedFunc(slices.Values(p.nodes), func(x, y *node) int { return int(x.ref - y.ref) })
	i := rapid.IntRange(0, len(nodes)-1).Draw(p.t, "which")
	why, n := reasons[i], nodes[i]
	out := p.offerTo(n)
	var first fairtwin.Decision
	if len(out) > 0 {
		first = out[0]
	}
	gets := len(out) > 0 && first.Kind != fairtwin.Reserved && first.ID.Attempt == a.twin.Attempt
	switch why.Code {
	case fit.ComesNext:
		if !gets && first.Kind != fairtwin.Unreserved {
			p.fail("%v comes next on %s, they say, but an offer does %+v", a.twin.ID, n.twin.Name, out)
		}
	case fit.OthersFirst:
		if len(out) == 0 || first.Kind != fairtwin.Unreserved && first.ID.Attempt.Application.String() != why.Detail {
			p.fail("%s comes before %v on %s, they say, but an offer does %+v", why.Detail, a.twin.ID, n.twin.Name, out)
		}
	default:
		if gets && why.Code != fit.LocalityDelay { // which may be over with this offer
			p.fail("%v waits, they say because of %+v, but gets %+v", a.twin.ID, why, first)
		}
	}
}

// alone removes all applications but one, and gives it what there is. Then others are in its way no more.
func (p *play) alone(given map[yarn.Code]int) {
	waiting := slices.DeleteFunc(slices.Clone(p.apps), func(a *app) bool { return !p.waits(a) })
	a, ok := pickFrom(p, "who stays", waiting)
	if !ok {
		return
	}
	p.note("%v is left alone", a.twin.ID)
	for _, o := range slices.Clone(p.apps) {
		if o != a {
			p.drop(o)
		}
	}
	for _, n := range p.nodes {
		n.twin.Closed = false
		p.s.SetNodeAccepting(n.ref, true)
	}
	for range 60 {
		p.update()
		for _, n := range p.nodes {
			p.offerTo(n)
		}
	}
	p.update()
	p.check()
	if !p.waits(a) {
		return
	}
	p.knowsWhy(a, given)
	for _, why := range p.s.Explain(a.ref, len(p.nodes)) {
		switch why.Code {
		case fit.OthersFirst, fit.NodeReserved, fit.ComesNext, fit.NextUpdate, fit.LocalityDelay, fit.UserRunningApps:
			p.fail("%v is alone and waits because of %+v", a.twin.ID, why)
		case fit.RunningApps:
			if why.Max > 0 {
				p.fail("%v is alone and waits because of %+v", a.twin.ID, why)
			}
		}
	}
}
