package core

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Check recounts the core's books from the containers and asks; see the facade. A policy
// goes on with its own.
func (s *Core) Check() string {
	c := &recount{s: s, queues: map[*queue.Queue][]queue.Ledger{}, apps: make([]counted, len(s.Apps)), nodes: make([]resource, s.Books.NodeSlots()), byNode: make([]int32, s.Books.NodeSlots())}
	for _, step := range []func() string{c.containers, c.demand, c.checkNodes, c.checkOpenings, c.checkApps, c.checkQueues} {
		if bad := step(); bad != "" {
			return bad
		}
	}
	return ""
}

// checkOpenings sees that sweeps know which nodes are worth a visit.
func (c *recount) checkOpenings() string {
	w := c.s.open
	for i := range c.nodes {
		if w != nil && w.nodes.Has(i) != w.worth(NodeRef(i)) {
			return fmt.Sprintf("node %v: sweeps visit it: %v", c.s.Books.Node(NodeRef(i)).ID, w.nodes.Has(i))
		}
	}
	return ""
}

// Charged visits every container and reservation that counts as used: whose it is, and
// in which partition.
func (s *Core) Charged(visit func(a *App, p cluster.Part, container *cluster.Container)) {
	for i := range s.Books.Slots() {
		ref := ContainerRef(i)
		if !s.Books.IsOpen(ref) {
			continue
		}
		if container := s.Books.Container(ref); (container.Live || container.Reserved) && container.Execution == yarn.Guaranteed {
			visit(s.Apps[container.App], s.Books.Node(container.Node).Part, container)
		}
	}
}

// recount is the books as they should be.
type recount struct {
	s        *Core
	killable int
	byNode   []int32 // killable containers
	queues   map[*queue.Queue][]queue.Ledger
	apps     []counted
	nodes    []resource
}

// counted is what is found of an application.
type counted struct {
	open, held int32
	shares     []AppShare
}

// up changes what a queue has and those above it.
func (c *recount) up(q *queue.Queue, p part, change func(*queue.Ledger)) {
	for ; q != nil; q = q.Parent {
		change(&c.queue(q)[p])
	}
}

func (c *recount) queue(q *queue.Queue) []queue.Ledger {
	if c.queues[q] == nil {
		c.queues[q] = make([]queue.Ledger, c.s.Books.Partitions())
	}
	return c.queues[q]
}

// containers adds up what every open slot stands for.
func (c *recount) containers() string {
	s := c.s
	for i := range s.Books.Slots() {
		ref := ContainerRef(i)
		if !s.Books.IsOpen(ref) {
			continue
		}
		container := s.Books.Container(ref)
		n := s.Books.Node(container.Node)
		if !n.Member || s.Apps[container.App] == nil {
			return fmt.Sprintf("container %v: its node or application is gone", container.ID)
		}
		if container.Killable {
			if container.Execution != yarn.Guaranteed || container.Reserved {
				return fmt.Sprintf("container %v is killable and has nothing to give", container.ID)
			}
			if container.Held() {
				c.byNode[container.Node]++
			}
			if container.Live {
				c.killable++
			}
		}
		if container.Held() {
			if container.Execution == yarn.Guaranteed {
				c.nodes[container.Node] = c.nodes[container.Node].Add(container.Resource)
			}
		} else if !container.Reserved {
			return fmt.Sprintf("container %v holds no room and is not reserved", container.ID)
		}
		if container.Reserved && n.Reserved != ref {
			return fmt.Sprintf("reservation %v is not that of its node", container.ID)
		}
		c.apps[container.App].open++
	}
	s.Charged(c.charge)
	return ""
}

func (c *recount) charge(a *App, p part, container *cluster.Container) {
	of := &c.apps[a.Ref]
	if of.shares == nil {
		of.shares = make([]AppShare, c.s.Books.Partitions())
	}
	if container.Reserved {
		of.shares[p].Reserved = of.shares[p].Reserved.Add(container.Resource)
		of.held++
	} else {
		of.shares[p].Used = of.shares[p].Used.Add(container.Resource)
	}
	c.up(a.Leaf, p, func(has *queue.Ledger) {
		has.Used = has.Used.Add(container.Resource)
		has.Containers++
		if container.Killable {
			has.Killable = has.Killable.Add(container.Resource)
		}
		if container.Reserved {
			has.Promised = has.Promised.Add(container.Resource)
			has.Held++
		}
	})
}

// checkAlike sees that nobody has changed a demand that attempts share.
func (s *Core) checkAlike() string {
	if s.none.Size() > 0 || !s.none.Shared() || slices.ContainsFunc(s.zero, func(has AppShare) bool { return has != AppShare{} }) {
		return fmt.Sprintf("what attempts share that ask for nothing was changed: they want %+v and have %v", s.none, s.zero)
	}
	f := &s.alike
	if f.wants == nil {
		return ""
	}
	row := demand.Row{Place: cluster.AnyPlace, Count: f.ask.Count, Size: f.ask.Capability, Relax: f.ask.RelaxLocality}
	keys, sum := f.wants.Keys(), measure.Times(row.Size, int64(row.Count))
	if !f.wants.Shared() || f.wants.Size() != 1 || len(keys) != 1 || f.wants.Pending(f.part) != sum || f.wants.PendingContainers() != int64(row.Count) {
		return fmt.Sprintf("the shared demand %+v is not what %+v asks for", f.wants, f.ask)
	}
	w := keys[0]
	asked := w.Priority == f.ask.Priority && w.RequestID == f.ask.AllocationRequestID && w.Update.IsZero() && w.Part == f.part && w.Label == f.ask.Label && w.HasAny && w.Any == row
	if !asked || w.Opportunities|w.Missed|w.Rereserved != 0 || w.Leveled || len(w.Rows)+len(w.Reservations) > 0 {
		return fmt.Sprintf("the shared demand %+v is not what %+v asks for", w, f.ask)
	}
	return ""
}

// demand adds up what is outstanding.
func (c *recount) demand() string {
	if wrong := c.s.checkAlike(); wrong != "" {
		return wrong
	}
	for _, a := range c.s.Apps {
		if a == nil || !a.Running {
			continue
		}
		for _, w := range a.Wants.Keys() {
			if w.Left() <= 0 {
				return fmt.Sprintf("%v: a key with nothing outstanding is listed", a.ID)
			}
			c.up(a.Leaf, w.Part, func(has *queue.Ledger) {
				has.Pending = has.Pending.Add(measure.Times(w.Any.Size, int64(w.Left())))
				has.Waiting += int64(w.Left())
			})
		}
	}
	return ""
}

func (c *recount) checkNodes() string {
	var total, largest resource
	for i := range c.nodes {
		n := c.s.Books.Node(NodeRef(i))
		if !n.Member {
			continue
		}
		total, largest = total.Add(n.Total), measure.Most(largest, c.s.Books.Size(NodeRef(i)))
		if n.Used != c.nodes[i] {
			return fmt.Sprintf("node %v: used %v, its containers hold %v", n.ID, n.Used, c.nodes[i])
		}
		if n.Killable != c.byNode[i] {
			return fmt.Sprintf("node %v: %d killable containers, counted %d", n.ID, n.Killable, c.byNode[i])
		}
		if n.Reserved >= 0 && (!c.s.Books.IsOpen(n.Reserved) || !c.s.Books.Container(n.Reserved).Reserved) {
			return fmt.Sprintf("node %v: its reservation is gone", n.ID)
		}
	}
	if total != c.s.Books.Total {
		return fmt.Sprintf("cluster: total %v, nodes have %v", c.s.Books.Total, total)
	}
	if have := c.s.Killable; c.killable != len(have) {
		return fmt.Sprintf("cluster: %d killable containers, counted %d", len(have), c.killable)
	}
	for i, ref := range c.s.Killable {
		container := c.s.Books.Container(ref)
		if !c.s.Books.IsOpen(ref) || !container.Killable || !container.Live {
			return fmt.Sprintf("cluster: container %v is listed as killable", container.ID)
		} else if at, found := c.s.placeKillable(container); !found || at != i {
			return fmt.Sprintf("cluster: killable container %v stands at place %d of %d, not %d", container.ID, i, len(c.s.Killable), at)
		}
	}
	if largest != c.s.Books.Largest {
		return fmt.Sprintf("cluster: largest %v, nodes have %v", c.s.Books.Largest, largest)
	}
	return ""
}

func (c *recount) checkApps() string {
	for i, a := range c.s.Apps {
		if a == nil {
			continue
		}
		if bad := c.s.checkUpdated(a); bad != "" {
			return bad
		}
		of := &c.apps[i]
		if int(a.Ref) != i || a.Open != of.open || a.Held != of.held {
			return fmt.Sprintf("%v, number %d of %d: %d slots and %d reservations, counted %d and %d", a.ID, a.Ref, i, a.Open, a.Held, of.open, of.held)
		}
		for p := range a.Shares {
			var want AppShare
			if of.shares != nil {
				want = of.shares[p]
			}
			if a.Shares[p] != want {
				return fmt.Sprintf("%v, partition %d: books %v, containers %v", a.ID, p, a.Shares[p], want)
			}
		}
	}
	return ""
}

func (c *recount) checkQueues() string {
	for i, q := range c.s.Tree.All {
		if q == nil {
			continue
		}
		if int(q.Index) != i || c.s.Tree.ByPath(q.Path) != q || q.Parent != nil && c.s.Tree.All[q.Parent.Index] != q.Parent {
			return fmt.Sprintf("%s stands in two places of the tree", q.Path)
		}
		counted := c.queue(q)
		for p := range q.Ledger {
			have, want := &q.Ledger[p], &counted[p]
			if have.Killable != want.Killable {
				return fmt.Sprintf("%s, partition %d: killable %v, counted %v", q.Path, p, have.Killable, want.Killable)
			}
			if have.Used != want.Used || have.Pending != want.Pending || have.Promised != want.Promised ||
				have.Waiting != want.Waiting || have.Held != want.Held || have.Containers != want.Containers {
				return fmt.Sprintf("%s, partition %d: used %v pending %v promised %v (%d %d %d), counted %v %v %v (%d %d %d)", q.Path, p,
					have.Used, have.Pending, have.Promised, have.Containers, have.Waiting, have.Held,
					want.Used, want.Pending, want.Promised, want.Containers, want.Waiting, want.Held)
			}
		}
	}
	return ""
}

// checkUpdated sees that no change of a container is remembered of which nothing is outstanding.
func (s *Core) checkUpdated(a *App) string {
	w := a.updates
	if w == nil {
		return ""
	}
	if n := len(w.shrunk) + len(w.demoted); len(w.decreases) > n {
		return fmt.Sprintf("%v: %d decreases are remembered, %d are outstanding", a.ID, len(w.decreases), n)
	}
	if len(w.grown)+len(w.promoted)+len(w.useless)+len(w.shrunk) > 0 { // what they leave goes when the master fetches them
		return ""
	}
	for id, in := range w.increases { //tidy:unordered one message of several
		asked := false
		for _, want := range a.Wants.All() {
			asked = asked || want.Update == id && (want.Left() > 0 || len(want.Reservations) > 0)
		}
		if !asked || len(in.extras) > maxExtras {
			return fmt.Sprintf("%v: %d increases of %v are remembered; anything is outstanding: %v", a.ID, len(in.extras), id, asked)
		}
	}
	return ""
}
