package fifo

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// whoDecides is the property that has applications served in the order of their ids.
const whoDecides = "yarn.resourcemanager.scheduler.class"

// Explain says why the application waits; see the facade. For each node that is one
// reason.
func (s *Scheduler) Explain(ref cluster.AppRef, max int) (out []yarn.Reason) {
	a := appOf(s.App(ref))
	switch {
	case !a.Running || len(a.Wants.Keys()) == 0:
		return []yarn.Reason{{Code: fit.NothingAsked}}
	case s.Books.Count == 0:
		return []yarn.Reason{{Code: fit.NoNodes}}
	}
	for i := 0; i < s.Books.NodeSlots() && len(out) < max; i++ {
		if n := s.Books.Node(cluster.NodeRef(i)); n.Member {
			out = append(out, s.why(a, n))
		}
	}
	return out
}

// ExplainAsk says why one kind of what the application asks for is not granted; see the facade.
func (s *Scheduler) ExplainAsk(ref cluster.AppRef, at, max int) []yarn.Reason {
	keys := appOf(s.App(ref)).Wants.Keys()
	if at == 0 || at >= len(keys) {
		return s.Explain(ref, max)
	}
	return []yarn.Reason{{Code: fit.EarlierAsk, Subject: s.tree.Root().Path, Count: int64(keys[0].Priority)}}
}

// why is what keeps the application from the node. The first key that it asks under
// decides: where nothing of it finds room, the others are not looked at.
func (s *Scheduler) why(a *app, n *cluster.NodeBook) yarn.Reason {
	w, free, why := a.Wants.Keys()[0], n.Free(), yarn.Reason{Subject: n.ID.String()}
	row, _ := s.next(w, n)
	switch {
	case !n.Accepting:
		why.Code = fit.NodeUnavailable
	case a.Avoids(n):
		why.Code = fit.Blacklisted
	case row == nil && !s.Calc.HasRoom(&n.Total, &w.Any.Size):
		why.Code, why.Needed, why.Limit = fit.NodeTooSmall, w.Any.Size, n.Total
	case row == nil || !s.HasRoom(n):
		why.Code, why.Needed, why.Limit = fit.NodeFull, w.Any.Size, free
	default:
		why.Code = fit.ComesNext
		if first := s.before(a, n); first != nil {
			why.Code, why.Subject, why.Detail, why.Key = fit.OthersFirst, a.Leaf.Path, first.ID.String(), whoDecides
		}
	}
	return why
}

// before is who would be served on the node before the application, or nil.
func (s *Scheduler) before(a *app, n *cluster.NodeBook) *app {
	for _, other := range s.line {
		if other == a {
			break
		}
		if len(other.Wants.Keys()) > 0 && !other.Avoids(n) {
			if row, _ := s.next(other.Wants.Keys()[0], n); row != nil {
				return other
			}
		}
	}
	return nil
}
