package twin

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/javanum"
)

// Room is made on nodes that are held for somebody.

// holding are the containers whose room on the node is not free yet.
func (r *round) holding(n *Node) (out []*Container) {
	for _, c := range r.w.Containers {
		if c.Node == n && c.Held && !c.Reserved && !c.Uncounted {
			out = append(out, c)
		}
	}
	return out
}

// forReserved takes from leaves that have more than they should what a reservation needs, first where it costs least.
func (r *round) forReserved() {
	r.shareOut(true, false)
	left := map[*Queue]map[string]*resource{}
	for _, q := range r.leaves {
		left[q] = map[string]*resource{}
		for _, label := range r.labels {
			if amount := r.at[q][label].obtain; r.w.more(r.w.Cluster(), amount, resource{}) && !q.Conf.PreemptionDisabled {
				left[q][label] = &amount
			}
		}
	}
	type offer struct {
		n    *Node
		cost float32
	}
	var offers []offer
	for _, n := range r.w.Nodes {
		if found, ok := r.makeRoom(n, left, true); ok {
			var sum resource
			for _, c := range found {
				sum = sum.Add(c.Resource)
			}
			offers = append(offers, offer{n, r.w.ratio(sum, r.reservationOn(n).Resource)})
		}
	}
	slices.SortStableFunc(offers, func(a, b offer) int { return javanum.Compare(float64(a.cost), float64(b.cost)) })
	for _, o := range offers {
		if found, ok := r.makeRoom(o.n, left, false); ok {
			for _, c := range found {
				r.choose(c, "reservation")
			}
		}
	}
}

// makeRoom finds which containers go for the reservation on a node. Unless it is only a question, what they have is taken off what may be taken.
func (r *round) makeRoom(n *Node, left map[*Queue]map[string]*resource, question bool) (found []*Container, ok bool) {
	reserved := r.reservationOn(n)
	room, list := r.w.Free(n), r.holding(n)
	for _, c := range list {
		if r.set.Lazy && c.Killable {
			room = room.Add(c.Resource)
		}
	}
	if reserved == nil || r.w.fits(reserved.Resource, room) {
		return nil, false
	}
	slices.SortFunc(list, func(a, b *Container) int { return b.ID.Compare(a.ID) })
	for _, c := range list {
		may := left[c.App.Queue][n.Label]
		if r.set.Lazy && c.Killable || c.AM || may == nil || !r.w.fits(c.Resource, *may) || !r.w.fits(c.Resource, r.budget) || r.safe(c) {
			continue
		}
		if !question {
			*may, r.budget = may.Sub(c.Resource), r.budget.Sub(c.Resource)
		}
		if !r.has(c) {
			found = append(found, c)
		}
		if room = room.Add(c.Resource); r.w.fits(reserved.Resource, room) {
			return found, true
		}
	}
	if !question { // the leaves have it back, the round has not
		for _, c := range found {
			may := left[c.App.Queue][n.Label]
			*may = may.Add(c.Resource)
		}
	}
	return nil, false
}

// outranks tells whether a leaf may take from another by the priorities of queues.
func (r *round) outranks(a, b *Queue) bool {
	for x := a; x.Parent != nil; x = x.Parent {
		for y := b; y.Parent != nil; y = y.Parent {
			if x != y && x.Parent == y.Parent {
				return r.at[x][""].priority > r.at[y][""].priority
			}
		}
	}
	return false
}

// rank sorts containers: those of leaves that may take from others' first, otherwise the oldest.
func (r *round) rank(list []*Container) {
	slices.SortStableFunc(list, func(a, b *Container) int {
		switch {
		case r.outranks(a.App.Queue, b.App.Queue):
			return -1
		case r.outranks(b.App.Queue, a.App.Queue):
			return 1
		}
		return cmp.Compare(a.Created, b.Created)
	})
}

// forPriority takes from leaves of lower priority for reservations of leaves that have less than their guarantees.
func (r *round) forPriority() {
	var waiting []*Container
	for _, n := range r.w.Nodes {
		if c := r.w.ReservationOn(n); c != nil && slices.ContainsFunc(r.leaves, func(q *Queue) bool { return r.outranks(c.App.Queue, q) }) {
			waiting = append(waiting, c)
		}
	}
	r.rank(waiting)
	gained := map[*Queue]map[string]resource{}
	for _, c := range waiting {
		q, label := c.App.Queue, c.Node.Label
		s := r.at[q][label]
		if s == nil || r.now-c.Created < r.set.ReservedDelay || !r.w.less(r.w.Cluster(), s.used.Sub(s.reserved).Add(gained[q][label]), s.guaranteed) {
			continue
		}
		found, ok := r.press(c, c.Node)
		if !ok {
			if r.set.MoveReserved {
				r.moveAway(c)
			}
			continue
		}
		r.pressed = append(r.pressed, c.Node)
		if gained[q] == nil {
			gained[q] = map[string]resource{}
		}
		gained[q][label] = gained[q][label].Add(c.Resource)
		for _, v := range found {
			r.choose(v, "queue-priority")
			r.budget = r.budget.Sub(v.Resource)
		}
	}
}

// moveAway has a reservation hold the first of the nodes that would do.
func (r *round) moveAway(c *Container) {
	for _, k := range c.App.Keys {
		if slices.Contains(k.Reservations, c) && k.Any != nil && !k.Any.Relax {
			return
		}
	}
	for _, n := range r.w.Nodes {
		if !n.Accepting || n.Label != c.Label || n.Label != c.Node.Label || r.reservationOn(n) != nil || c.App.avoids(n) || slices.Contains(r.pressed, n) {
			continue
		}
		if _, ok := r.press(c, n); ok {
			r.plan.Moved = append(r.plan.Moved, Move{c, n})
			return
		}
	}
}

// nodeOf is where a container is, or is moved to.
func (r *round) nodeOf(c *Container) *Node {
	for _, m := range r.plan.Moved {
		if m.Container == c {
			return m.To
		}
	}
	return c.Node
}

// reservationOn is for what a node is held when all is moved that is to be moved so far.
func (r *round) reservationOn(n *Node) *Container {
	for _, c := range r.w.Containers {
		if c.Reserved && r.nodeOf(c) == n {
			return c
		}
	}
	return nil
}

// press finds what goes from a node for one of these reservations.
func (r *round) press(reserved *Container, n *Node) (found []*Container, ok bool) {
	list := r.holding(n)
	r.rank(list)
	lacks, allowed := reserved.Resource.Sub(r.w.Free(n)), r.budget
	for _, c := range list {
		if r.has(c) {
			lacks = lacks.Sub(c.Resource)
		}
	}
	for _, c := range list {
		if r.w.fits(lacks, resource{}) {
			break
		}
		if r.has(c) || c.AM || r.safe(c) || !r.outranks(reserved.App.Queue, c.App.Queue) || r.w.more(r.w.Cluster(), c.Resource, allowed) {
			continue
		}
		allowed, lacks = allowed.Sub(c.Resource), lacks.Sub(c.Resource)
		found = append(found, c)
	}
	return found, r.w.fits(lacks, resource{})
}
