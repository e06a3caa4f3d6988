package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/capacity/users"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// TestWhoWaitsKnowsWhy demands, whenever a sweep has placed what can be placed, a
// reason of everybody who still wants something, and that each reason is true.
func TestWhoWaitsKnowsWhy(t *testing.T) {
	given := map[yarn.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(5, 25).Draw(t, "steps") {
			p.step([]func(){p.sweep, p.ask, p.submit, p.finish, p.ask, p.offer, p.vacate, p.endAttempt, p.reconfigure, p.relabel, p.move, p.resize, p.avoid, p.remove, p.drain, p.addNode, p.removeNode})
			p.sweep()
			for _, ref := range p.apps {
				if p.quick.AppUsage(ref).PendingCount > 0 {
					p.knowsWhy(p.quick.app(ref), given)
				}
			}
			p.check()
		}
	})
	t.Log(given)
	for _, code := range []yarn.Code{fit.RoomKept, fit.OthersFirst, fit.OtherList} {
		if given[code] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nobody waits because of %s", code)
		}
	}
}

func (p *play) knowsWhy(a *app, given map[yarn.Code]int) {
	reasons := p.quick.Explain(a.Ref, len(p.nodes))
	if len(reasons) == 0 {
		p.t.Fatalf("%v waits in %s for no reason", a.ID, a.queue.Path)
	}
	for _, why := range reasons {
		given[why.Code]++
		if r := p.quick.Remedy(a.Ref, why); !r.Any() {
			p.t.Fatalf("%v waits in %s because of %+v, and nothing helps", a.ID, a.queue.Path, why)
		}
		if wrong := p.untrue(a, why); wrong != "" {
			p.t.Fatalf("%v waits in %s, they say because of %+v: %s", a.ID, a.queue.Path, why, wrong)
		}
	}
}

// untrue says what is wrong with a reason, by the state; "" is nothing. Who has a
// reservation may need less than what is used, because it could be given up.
func (p *play) untrue(a *app, why yarn.Reason) string {
	s := p.quick
	switch why.Code {
	case fit.AMLimit, fit.UserAMLimit:
		return sayIf(a.active || !refused(s, a), "masters have room for it")
	case fit.ParallelApps:
		return sayIf(a.runnable || why.Count <= why.Max, "no limit on parallel applications is reached")
	case fit.QueueRemoved:
		return sayIf(s.tree.ByPath(a.queue.Path) == a.queue, "its queue is in the tree")
	case fit.NoNodes:
		return sayIf(len(p.nodes) > 0, "there are nodes")
	case fit.UserLimit, fit.UserUnknown:
		return p.untrueOfUser(a, why)
	case fit.QueueLimit, fit.ParentLimit, fit.RoomKept, fit.PartitionDenied, fit.Headroom, fit.OtherList:
		return p.untrueOfQueue(a, why)
	case fit.OthersFirst:
		first := slices.IndexFunc(s.Apps, func(o *core.App) bool { return o != nil && o.ID.String() == why.Detail })
		if first < 0 {
			return "there is no such application"
		}
		o := s.app(AppRef(first))
		return sayIf(o == a || !o.active || o.queue.Path != why.Subject || len(o.Wants.Keys()) == 0, "that one does not want anything")
	case fit.OtherPartition, fit.StrictLocality, fit.ShareDelay, fit.EarlierAsk:
		return p.untrueOfAsk(a, why)
	case fit.ReservationsEnough:
		return sayIf(a.Held == 0 && none(why.Needed), "it has no reservation")
	}
	return p.untrueOfNode(a, why)
}

func sayIf(wrong bool, what string) string {
	if wrong {
		return what
	}
	return ""
}

func (p *play) untrueOfUser(a *app, why yarn.Reason) string {
	s, u := p.quick, leafOf(a.queue).Named(a.User)
	if why.Subject != a.User {
		return "that is not its user"
	}
	if u == nil {
		return sayIf(why.Code != fit.UserUnknown, "its user is not known")
	}
	if why.Code == fit.UserUnknown {
		was := func(sh users.Share) bool {
			v := leafOf(a.queue).Version
			return sh.Blocks[respect].Refused == v || sh.Blocks[ignore].Refused == v
		}
		return sayIf(!slices.ContainsFunc(u.Shares, was), "its user was not refused")
	}
	for at := range u.Shares {
		for _, m := range []mode{respect, ignore} {
			// The limit that was found for this version is the one that decides: when
			// another user leaves, it stands, see Queue.leave.
			limit := leafOf(a.queue).LimitNow(a.queue, part(at), m, u.Weight)
			if limit == why.Limit && (why.Needed == u.Shares[at].Used || a.Held > 0 && why.Needed.FitsIn(u.Shares[at].Used)) && s.Calc.More(&s.Books.Total, &why.Needed, &limit) {
				return ""
			}
		}
	}
	return "its user has not more than that in any partition"
}

func (p *play) untrueOfQueue(a *app, why yarn.Reason) string {
	s, q := p.quick, p.quick.tree.ByPath(why.Subject)
	if why.Code == fit.OtherList {
		return sayIf(sameList(a.queue, a, why.Subject), "its list is served")
	}
	if q == nil || a.queue.Path != q.Path && !strings.HasPrefix(a.queue.Path, q.Path+".") {
		return "that queue is not above it"
	}
	switch why.Code {
	case fit.PartitionDenied:
		return sayIf(q.MayUse(why.Detail), "the queue may use the partition")
	case fit.Headroom:
		return sayIf(q != a.queue || !slices.Contains(p.sizes(a), why.Needed) || s.Calc.FitsIn(&why.Needed, &why.Limit), "what it asks for fits")
	case fit.RoomKept:
		other := s.tree.ByPath(why.Detail)
		if other == nil || strings.HasPrefix(a.queue.Path+".", other.Path+".") {
			return "that is no other queue"
		}
		if !slices.ContainsFunc(other.Ledger, func(has queue.Ledger) bool { return !none(has.Pending) }) {
			return "that queue does not want anything"
		}
	}
	if why.Code == fit.RoomKept && slices.Contains(p.sizes(a), why.Needed) && !s.Calc.FitsIn(&why.Needed, &why.Limit) {
		return ""
	}
	for at := range q.Shares {
		used := q.Ledger[at].Used
		if why.Needed == used && !s.Calc.Less(&s.Books.Total, &used, &why.Limit) {
			return ""
		}
		for _, size := range p.sizes(a) {
			if with := used.Add(size); (with == why.Needed || a.Held > 0 && why.Needed.FitsIn(with)) && !s.Calc.FitsIn(&why.Needed, &why.Limit) {
				return ""
			}
		}
	}
	return "the queue uses less"
}

// sizes is what the application asks for, which may differ from place to place.
func (p *play) sizes(a *app) (out []resource) {
	for _, w := range a.Wants.Keys() {
		out = append(out, w.Any.Size)
		for _, n := range p.nodes {
			for _, at := range []cluster.Place{p.quick.Books.Node(n).NodePlace, p.quick.Books.Node(n).RackPlace} {
				if row := w.At(at); row != nil {
					out = append(out, row.Size)
				}
			}
		}
	}
	return out
}

func (p *play) untrueOfAsk(a *app, why yarn.Reason) string {
	for _, w := range a.Wants.Keys() {
		switch why.Code {
		case fit.OtherPartition:
			if w.Label == why.Detail && w.Label != why.Subject {
				return ""
			}
		case fit.StrictLocality:
			if !w.Any.Relax {
				return ""
			}
			for _, n := range p.nodes {
				if row := w.At(p.quick.Books.Node(n).RackPlace); row != nil && !row.Relax && p.quick.Books.Node(n).Rack == why.Subject {
					return ""
				}
			}
		case fit.ShareDelay:
			if w.Label == "" && why.Count <= why.Max && why.Max == int64(len(p.nodes)) {
				return ""
			}
		case fit.EarlierAsk:
			if int64(w.Priority) == why.Count && len(a.Wants.Keys()) > 1 {
				return ""
			}
		}
	}
	return "it asks for nothing like that"
}

func (p *play) untrueOfNode(a *app, why yarn.Reason) string {
	s := p.quick
	at := slices.IndexFunc(p.nodes, func(n NodeRef) bool { return s.Books.Node(n).ID.String() == why.Subject })
	if at < 0 {
		return "there is no such node"
	}
	n := s.Books.Node(p.nodes[at])
	free := n.Free()
	switch why.Code {
	case fit.NodeUnavailable:
		return sayIf(n.Accepting, "the node takes containers")
	case fit.NodeFull:
		return sayIf(free != why.Limit || s.Calc.HasRoom(&free, &why.Needed) && s.Calc.FitsIn(&why.Needed, &free), "it has room")
	case fit.NodeTooSmall:
		return sayIf(n.Total != why.Limit || s.Calc.FitsIn(&why.Needed, &n.Total), "it is large enough")
	case fit.NodeReserved:
		return sayIf(n.Reserved < 0 || s.app(s.Books.Container(n.Reserved).App).ID.String() != why.Detail, "it is not reserved")
	case fit.Blacklisted:
		return sayIf(!a.Avoids(n), "the application does not avoid it")
	case fit.LocalityDelay:
		return sayIf(!slices.ContainsFunc(a.Wants.Keys(), func(w *demand.Want) bool { return len(w.Rows) > 0 }), "it asks for no place")
	case fit.ComesNext:
		return sayIf(!s.SweepState().Refused && s.ReservedNodes == 0, "a sweep would have served it")
	}
	return fmt.Sprintf("%s is no reason", why.Code)
}
