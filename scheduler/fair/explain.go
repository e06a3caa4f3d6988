package fair

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// Explain says why the application waits; see the facade. A cause that does not depend on the node is the only reason; otherwise there is one
// for each node.
func (s *Scheduler) Explain(ref cluster.AppRef, max int) []yarn.Reason {
	a := s.app(ref)
	if why := s.onAllNodes(a); !why.OK() {
		return []yarn.Reason{why}
	}
	var out []yarn.Reason
	for i := 0; i < s.Books.NodeSlots() && len(out) < max; i++ {
		if n := s.Books.Node(cluster.NodeRef(i)); n.Member {
			out = append(out, s.onNode(a, a.Wants.Keys(), cluster.NodeRef(i), n))
		}
	}
	return out
}

// ExplainAsk says why one kind of what the application asks for is not granted; see the facade. Limits of queues are those for the first kind.
func (s *Scheduler) ExplainAsk(ref cluster.AppRef, at, max int) []yarn.Reason {
	a := s.app(ref)
	keys := a.Wants.Keys()
	if at >= len(keys) {
		return nil
	}
	if why := s.onAllNodes(a); !why.OK() {
		return []yarn.Reason{why}
	}
	var out []yarn.Reason
	for i := 0; i < s.Books.NodeSlots() && len(out) < max; i++ {
		if n := s.Books.Node(cluster.NodeRef(i)); n.Member {
			out = append(out, s.onNode(a, keys[at:at+1], cluster.NodeRef(i), n))
		}
	}
	return out
}

// onAllNodes is the cause that holds the application back whatever the node is; OK if there is none.
func (s *Scheduler) onAllNodes(a *app) yarn.Reason {
	switch {
	case !a.Running || a.runnable && len(a.Wants.Keys()) == 0:
		return yarn.Reason{Code: fit.NothingAsked}
	case !a.runnable:
		return s.mayRun(a.queue, a.User, nil) // never OK: an application that may run starts as soon as no limit holds it back
	case s.Books.Count == 0:
		return yarn.Reason{Code: fit.NoNodes}
	}
	first := a.Wants.Keys()[0]
	if limit := s.amLimit(a.queue); !a.hasAM && !s.noAMLimit(a.queue) && !s.sumFits(&a.queue.ams.used, &first.Any.Size, &limit) {
		return yarn.Reason{Code: fit.AMLimit, Subject: a.queue.Path, Needed: a.queue.ams.used.Add(first.Any.Size), Limit: limit, Key: keyAMShare}
	}
	for _, w := range a.Wants.Keys() {
		if s.overMax(a.queue, &w.Any.Size) == nil {
			if a.Held == 0 { // a reservation is served whatever the last known demand is
				return s.untilUpdate(a)
			}
			return yarn.Reason{}
		}
	}
	return s.overLimit(a, first)
}

// untilUpdate is NextUpdate while the last known demand does not show that the application asks for something.
func (s *Scheduler) untilUpdate(a *app) yarn.Reason {
	if used := s.appUsed(a); used != a.demand {
		return yarn.Reason{}
	}
	return yarn.Reason{Code: fit.NextUpdate, Subject: a.queue.Path, Key: config.FairPrefix + "update-interval-ms"}
}

// overLimit is the limit of a queue that one more container of w would pass.
func (s *Scheduler) overLimit(a *app, w *demand.Want) yarn.Reason {
	q := s.overMax(a.queue, &w.Any.Size)
	return yarn.Reason{Code: limitCode(q), Subject: q.Path, Needed: s.used(q).Add(w.Any.Size), Limit: q.max, Key: keyMax}
}

// onNode is what keeps the application from a node, of what it wants.
func (s *Scheduler) onNode(a *app, wants []*demand.Want, ref cluster.NodeRef, n *cluster.NodeBook) yarn.Reason {
	why := yarn.Reason{Subject: n.ID.String()}
	if !n.Accepting {
		why.Code = fit.NodeUnavailable
		return why
	}
	reserved := false
	if n.Reserved >= 0 {
		container := s.Books.Container(n.Reserved)
		if owner := s.app(container.App); owner != a {
			why.Code, why.Detail, why.Needed = fit.NodeReserved, owner.ID.String(), container.Resource
			return why
		}
		if w := a.Wants.Find(core.KeyOf(container)); w != nil && s.eligible(a, w, n) { // otherwise the reservation is given up
			if free := n.Free(); !s.fits(&container.Resource, &free) {
				why.Code, why.Needed, why.Limit, why.Detail = fit.NodeFull, container.Resource, free, container.Locality.String()
				return why
			}
			wants, reserved = []*demand.Want{w}, true
		}
	}
	if !reserved && a.Avoids(n) { // compat: a reservation is served although the node is blacklisted since
		why.Code = fit.Blacklisted
		return why
	}
	if late := s.untilUpdate(a); !reserved && !late.OK() {
		return late
	}
	for _, w := range wants {
		row, l, code := s.next(a, ref, w, n)
		if row == nil {
			switch {
			case !why.OK() && code != fit.LocalityDelay: // the first reason stands, unless a later one passes by itself
			case code == fit.QueueLimit:
				why = s.overLimit(a, w)
			default:
				why = yarn.Reason{Code: code, Subject: n.ID.String(), Needed: w.Any.Size, Limit: n.Total}
				if code == fit.LocalityDelay {
					why.Key, why.Count, why.Max = keyLocality, int64(w.Opportunities), int64(s.patience(w.Level))
				}
			}
			continue
		}
		why = yarn.Reason{Subject: n.ID.String()}
		if free := n.Free(); !s.fits(&row.Size, &free) {
			why.Code, why.Needed, why.Limit, why.Detail = fit.NodeFull, row.Size, free, l.String()
			return why
		}
		why.Code = fit.ComesNext
		if first := s.firstBefore(a, ref, n); first != nil && !reserved {
			why.Code, why.Detail, why.Subject, why.Key = fit.OthersFirst, first.ID.String(), first.queue.Path, keyPolicy
		}
		return why
	}
	return why
}

// next is the row of w from which a container would be placed on the node, or nil with the reason.
func (s *Scheduler) next(a *app, ref cluster.NodeRef, w *demand.Want, n *cluster.NodeBook) (*demand.Row, cluster.Locality, yarn.Code) {
	rack, host := w.At(n.RackPlace), w.At(n.NodePlace)
	switch {
	case !s.fits(&w.Any.Size, &n.Total):
		return nil, 0, fit.NodeTooSmall
	case s.overMax(a.queue, &w.Any.Size) != nil:
		return nil, 0, fit.QueueLimit
	case !s.eligible(a, w, n), !a.Enlarges(w, ref):
		return nil, 0, fit.StrictLocality
	case count(rack) > 0 && count(host) > 0:
		return host, cluster.NodeLocal, ""
	case rack != nil && !rack.Relax:
		return nil, 0, fit.StrictLocality
	}
	atOffer := demand.Want{Opportunities: w.Opportunities + 1, Leveled: w.Leveled, Level: w.Level}
	level := s.level(&atOffer)
	switch {
	case count(rack) > 0 && level >= cluster.RackLocal:
		return rack, cluster.RackLocal, ""
	case !w.Any.Relax:
		return nil, 0, fit.StrictLocality
	case len(w.Rows) == 0 || level == cluster.OffSwitch:
		return &w.Any, cluster.OffSwitch, ""
	}
	return nil, 0, fit.LocalityDelay
}

// firstBefore is an application that would be served on the node before this one, or nil.
func (s *Scheduler) firstBefore(a *app, ref cluster.NodeRef, n *cluster.NodeBook) *app {
	looks := maxExplained
	found := s.firstServed(s.root, ref, n, &looks)
	if found == a {
		return nil
	}
	return found
}

// maxExplained is how many applications are looked at to find out who comes first on a node.
const maxExplained = 1000

// firstServed is the application below q that an offer of the node would serve, or let reserve it.
func (s *Scheduler) firstServed(q *Queue, ref cluster.NodeRef, n *cluster.NodeBook, looks *int) *app {
	used := s.used(q)
	if !s.fits(&used, &q.max) {
		return nil
	}
	line := merged{q: q, numbers: s.numbers(q.policy)}
	for p := line.next(); p != nil; p = line.next() {
		if p.queue != nil {
			if found := s.firstServed(p.queue, ref, n, looks); found != nil {
				return found
			}
			continue
		}
		if *looks--; *looks < 0 {
			return nil
		}
		if p.app.Avoids(n) || !s.onAllNodes(p.app).OK() {
			continue
		}
		free := n.Free()
		for _, w := range p.app.Wants.Keys() {
			if row, l, _ := s.next(p.app, ref, w, n); row != nil {
				if r := (round{s: s, ref: ref, n: n}); s.fits(&row.Size, &free) || r.mayReserve(p.app, &row.Size, l) {
					return p.app
				}
				break
			}
		}
	}
	return nil
}
