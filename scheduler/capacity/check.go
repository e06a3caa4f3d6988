package capacity

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Check recounts all books from the containers and asks; see the facade.
func (s *Scheduler) Check() string {
	c := &recount{s: s, queues: map[*Queue][]queue.Ledger{}, users: map[*Queue]map[string][]resource{}, apps: make([][]core.AppShare, len(s.Apps)),
		nodes: make([]resource, s.Books.NodeSlots())}
	for _, step := range []func() string{c.containers, c.demand, c.checkNodes, c.checkApps, c.checkQueues, c.checkLists} {
		if bad := step(); bad != "" {
			return bad
		}
	}
	return ""
}

// recount is the books as they should be.
type recount struct {
	s      *Scheduler
	queues map[*Queue][]queue.Ledger
	users  map[*Queue]map[string][]resource
	apps   [][]core.AppShare
	nodes  []resource
}

func (c *recount) queue(q *Queue) []queue.Ledger {
	if c.queues[q] == nil {
		c.queues[q] = make([]queue.Ledger, c.s.Books.Partitions())
	}
	return c.queues[q]
}

func (c *recount) up(q *Queue, p part, change func(*queue.Ledger)) {
	for ; q != nil; q = q.Up {
		change(&c.queue(q)[p])
	}
}

// containers adds up what every open slot stands for.
func (c *recount) containers() string {
	s := c.s
	for i := range s.Books.Slots() {
		ref := ContainerRef(i)
		if !s.Books.IsOpen(ref) {
			continue
		}
		box := s.Books.Container(ref)
		n, a := s.Books.Node(box.Node), s.app(box.App)
		if !n.Member || a == nil {
			return fmt.Sprintf("container %v: its node or application is gone", box.ID)
		}
		if box.Held() {
			c.nodes[box.Node] = c.nodes[box.Node].Add(box.Resource)
		} else if !box.Reserved {
			return fmt.Sprintf("container %v holds no room and is not reserved", box.ID)
		}
		if box.Reserved && n.Reserved != ref {
			return fmt.Sprintf("reservation %v is not that of its node", box.ID)
		}
		c.charge(a, box, n.Part)
	}
	return ""
}

func (c *recount) charge(a *app, box *cluster.Container, p part) {
	if !box.Live && !box.Reserved || box.Execution != yarn.Guaranteed {
		return
	}
	if c.apps[a.Ref] == nil {
		c.apps[a.Ref] = make([]core.AppShare, c.s.Books.Partitions())
	}
	mine := &c.apps[a.Ref][p]
	if box.Reserved {
		mine.Reserved = mine.Reserved.Add(box.Resource)
	} else {
		mine.Used = mine.Used.Add(box.Resource)
	}
	c.up(a.queue, p, func(has *queue.Ledger) {
		has.Used = has.Used.Add(box.Resource)
		has.Containers++
		if box.Reserved {
			has.Promised = has.Promised.Add(box.Resource)
			has.Held++
		}
	})
	users := c.users[a.queue]
	if users == nil {
		users = map[string][]resource{}
		c.users[a.queue] = users
	}
	if users[a.User] == nil {
		users[a.User] = make([]resource, c.s.Books.Partitions())
	}
	users[a.User][p] = users[a.User][p].Add(box.Resource)
}

// demand adds up what is outstanding.
func (c *recount) demand() string {
	for _, a := range c.s.Apps {
		if a == nil || !a.Running {
			continue
		}
		for _, w := range a.Wants.Keys() {
			if w.Left() <= 0 {
				return fmt.Sprintf("%v: a key with nothing outstanding is listed", a.ID)
			}
			c.up(own(a.Leaf), w.Part, func(has *queue.Ledger) {
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
		total, largest = total.Add(n.Total), measure.Most(largest, n.Total)
		if n.Used != c.nodes[i] {
			return fmt.Sprintf("node %v: used %v, its containers hold %v", n.ID, n.Used, c.nodes[i])
		}
		if n.Reserved >= 0 && (!c.s.Books.IsOpen(n.Reserved) || !c.s.Books.Container(n.Reserved).Reserved) {
			return fmt.Sprintf("node %v: its reservation is gone", n.ID)
		}
	}
	if total != c.s.Books.Total {
		return fmt.Sprintf("cluster: total %v, nodes have %v", c.s.Books.Total, total)
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
		for p := range a.Shares {
			var want core.AppShare
			if c.apps[i] != nil {
				want = c.apps[i][p]
			}
			if a.Shares[p] != want {
				return fmt.Sprintf("%v, partition %d: books %v, containers %v", a.ID, p, a.Shares[p], want)
			}
		}
	}
	return ""
}

func (c *recount) checkQueues() string {
	for _, q := range c.s.tree.Queues {
		if q == nil {
			continue
		}
		if q.Rules != q.Conf.Rules {
			return fmt.Sprintf("%s follows other rules than its settings: %+v, not %+v", q.Path, q.Rules, q.Conf.Rules)
		}
		if (q.Up == nil) != (q.Parent == nil) || q.Up != nil && q.Parent != &q.Up.Queue || c.s.tree.All[q.Index] != &q.Queue {
			return fmt.Sprintf("%s stands in two places of the tree", q.Path)
		}
		if q.Creates != q.createsQueues() {
			return fmt.Sprintf("%s creates queues: %v is kept", q.Path, q.Creates)
		}
		if wrong := c.s.checkOrders(q); wrong != "" {
			return wrong
		}
		counted := c.queue(q)
		for p := range q.Shares {
			have, want := &q.Ledger[p], &counted[p]
			if have.Used != want.Used || have.Pending != want.Pending || have.Promised != want.Promised ||
				have.Waiting != want.Waiting || have.Held != want.Held || have.Containers != want.Containers {
				return fmt.Sprintf("%s, partition %d: used %v pending %v promised %v (%d %d %d), counted %v %v %v (%d %d %d)", q.Path, p,
					have.Used, have.Pending, have.Promised, have.Containers, have.Waiting, have.Held,
					want.Used, want.Pending, want.Promised, want.Containers, want.Waiting, want.Held)
			}
		}
		if bad := c.checkUsers(q); bad != "" {
			return bad
		}
	}
	return ""
}

// checkUsers compares users with their containers, and the sum of active users
// with what the leaf keeps of it.
func (c *recount) checkUsers(q *Queue) string {
	l := q.leaf
	if l == nil {
		return ""
	}
	actives := l.actives
	for _, u := range l.ordered {
		if u.inActive {
			actives--
		}
	}
	if actives != 0 {
		return fmt.Sprintf("%s: %d active users are kept, %d are counted", q.Path, l.actives, l.actives-actives)
	}
	if l.lost {
		return ""
	}
	for p := range q.Shares {
		var active resource
		for _, u := range l.ordered {
			var want resource
			if list := c.users[q][u.name]; list != nil {
				want = list[p]
			}
			if u.shares[p].used != want {
				return fmt.Sprintf("%s, user %s, partition %d: used %v, containers %v", q.Path, u.name, p, u.shares[p].used, want)
			}
			if u.inActive {
				active = active.Add(u.shares[p].used)
			}
		}
		if active != l.shares[p].activeUsed {
			return fmt.Sprintf("%s, partition %d: active users use %v, kept is %v", q.Path, p, active, l.shares[p].activeUsed)
		}
	}
	return ""
}

// checkLists sees that the lists of leaves are complete and in order.
func (c *recount) checkLists() string {
	for _, q := range c.s.tree.Queues {
		if q == nil || q.leaf == nil {
			continue
		}
		var am resource
		for i, a := range q.leaf.active.apps {
			if !a.active || a.queue != q {
				return fmt.Sprintf("%s: %v is not one of its active applications", q.Path, a.ID)
			}
			if i > 0 && q.Conf.Ordering != config.FairOrder && q.policy()(q.leaf.active.apps[i-1], a) >= 0 {
				return fmt.Sprintf("%s: %v is out of order", q.Path, a.ID)
			}
			am = am.Add(a.amSize)
		}
		if wrong := q.leaf.pending.check(q); wrong != "" {
			return fmt.Sprintf("%s: who waits: %s", q.Path, wrong)
		}
		if wrong := q.leaf.active.check(); wrong != "" {
			return fmt.Sprintf("%s: %s", q.Path, wrong)
		}
		var kept resource
		for p := range q.Shares {
			kept = kept.Add(q.Shares[p].AMUsed)
		}
		if am != kept {
			return fmt.Sprintf("%s: masters use %v, kept is %v", q.Path, am, kept)
		}
	}
	return ""
}

// checkOrders sees that the keys of a parent's children are what they would be if
// they were made now, and that the least of them wins.
func (s *Scheduler) checkOrders(q *Queue) string {
	for p := range q.orders {
		for m := range q.orders[p] {
			o := &q.orders[p][m]
			if o.keys == nil {
				continue
			}
			asks := part(p)
			if mode(m) == ignore {
				asks = 0
			}
			now := childOrder{keys: newTournament(len(q.Children))}
			now.fix(s, q, part(p))
			for _, c := range q.Children {
				now.place(s, c, part(p), asks)
			}
			if !slices.Equal(o.fixed, now.fixed) || !slices.Equal(o.keys, now.keys) {
				return fmt.Sprintf("%s, partition %d, mode %d: the keys of its children are kept as %x of %x, should be %x of %x", q.Path, p, m, o.keys, o.fixed, now.keys, now.fixed)
			}
		}
	}
	return ""
}
