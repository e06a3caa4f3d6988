package capacity

import (
	"fmt"

	"github.com/heddle-project/heddle/scheduler/capacity/order"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
)

// Check recounts the core's books, and then what this policy keeps beside them; see the
// facade.
func (s *Scheduler) Check() string {
	if bad := s.Core.Check(); bad != "" {
		return bad
	}
	c := &recount{s: s, users: map[*Queue]map[string][]resource{}}
	s.Charged(c.charge)
	for _, step := range []func() string{c.checkApps, c.checkQueues, c.checkLists, s.checkMarks} {
		if bad := step(); bad != "" {
			return bad
		}
	}
	return ""
}

// recount is what users of leaves should have, by partition.
type recount struct {
	s     *Scheduler
	users map[*Queue]map[string][]resource
}

func (c *recount) charge(a *core.App, p part, container *cluster.Container) {
	q := appOf(a).queue
	users := c.users[q]
	if users == nil {
		users = map[string][]resource{}
		c.users[q] = users
	}
	if users[a.User] == nil {
		users[a.User] = make([]resource, c.s.Books.Partitions())
	}
	users[a.User][p] = users[a.User][p].Add(container.Resource)
}

// checkApps sees that the core and the policy know the same leaf.
func (c *recount) checkApps() string {
	for _, a := range c.s.Apps {
		if a != nil && (appOf(a).queue != queueOf(a.Leaf) || &appOf(a).queue.Queue != a.Leaf) {
			return fmt.Sprintf("%v is in %s, and in %s", a.ID, a.Leaf.Path, appOf(a).queue.Path)
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
		if q.Creates != q.CreatesQueues() {
			return fmt.Sprintf("%s creates queues: %v is kept", q.Path, q.Creates)
		}
		if wrong := c.s.checkOrders(q); wrong != "" {
			return wrong
		}
		if bad := c.checkUsers(q); bad != "" {
			return bad
		}
	}
	return ""
}

// checkUsers compares users with their containers.
func (c *recount) checkUsers(q *Queue) string {
	if !q.Leaf {
		return ""
	}
	wrong := leafOf(q).Check(func(user string, p part) (has resource) {
		if list := c.users[q][user]; list != nil {
			has = list[p]
		}
		return has
	})
	if wrong != "" {
		wrong = q.Path + ": " + wrong
	}
	return wrong
}

// checkLists sees that the lists of leaves are complete and in order.
func (c *recount) checkLists() string {
	for _, q := range c.s.tree.Queues {
		if q == nil || !q.Leaf {
			continue
		}
		var am resource
		for i, a := range leafOf(q).active.apps {
			if !a.active || a.queue != q {
				return fmt.Sprintf("%s: %v is not one of its active applications", q.Path, a.ID)
			}
			if a.Apart || a.Wants.Shared() {
				return fmt.Sprintf("%s: %v is active and shares its demand", q.Path, a.ID)
			}
			if i > 0 && q.Conf.Ordering != config.FairOrder && policyOf(q)(leafOf(q).active.apps[i-1], a) >= 0 {
				return fmt.Sprintf("%s: %v is out of order", q.Path, a.ID)
			}
			am = am.Add(a.wait.Size)
		}
		wrong := leafOf(q).pending.Check()
		leafOf(q).pending.Each(func(of *core.App) {
			if a := appOf(of); !a.waits || a.active || a.queue != q {
				wrong = fmt.Sprintf("%v does not wait here", a.ID)
			}
		})
		if wrong != "" {
			return fmt.Sprintf("%s: who waits: %s", q.Path, wrong)
		}
		if wrong := leafOf(q).active.check(); wrong != "" {
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
	if q.Leaf {
		return ""
	}
	orders := parentOf(q).orders
	for p := range orders {
		for m := range orders[p] {
			o := &orders[p][m]
			if !o.Made() {
				continue
			}
			asks := part(p)
			if mode(m) == ignore {
				asks = 0
			}
			now := order.Children{}
			now.Make(&s.Core, q, part(p), asks)
			if how := o.Differs(&now); how != "" {
				return fmt.Sprintf("%s, partition %d, mode %d: %s", q.Path, p, m, how)
			}
		}
	}
	return ""
}

// checkMarks sees that walks which marks leave out would end as the marks say.
func (s *Scheduler) checkMarks() string {
	if s.shortcuts == nil {
		return ""
	}
	for _, q := range s.tree.Queues {
		if q == nil {
			continue
		}
		for m, mark := range marksOf(q) {
			if !s.shortcuts.holds(&mark, mark.part) {
				continue
			}
			if end, o := s.walkAgain(q, mode(m), &mark); o.kind != core.Nothing || !q.Leaf && end != mark.skip {
				return fmt.Sprintf("%s, partition %d, mode %d: a walk is left out that would end with %d, not with %d, and place %d", q.Path, mark.part, m, end, mark.skip, o.kind)
			}
		}
	}
	return ""
}

// walkAgain walks below a queue as if there were no marks, for a node that does not
// matter, and takes back what it leaves behind.
func (s *Scheduler) walkAgain(q *Queue, m mode, was *mark) (skip, outcome) {
	node := &cluster.NodeBook{Part: was.part, Reserved: cluster.NoContainer}
	node.Label, node.Total = s.Books.Partition(was.part).Name, s.Books.Total
	r := &round{}
	r.begin(s, cluster.NoNode, node)
	if r.mode = m; m == ignore {
		r.asks = 0
	}
	s.Journal = &core.Journal{}
	defer func() {
		s.Journal.Undo()
		s.Journal = nil
	}()
	lim := &s.limits[0]
	if q.Leaf {
		lim.limit = s.Books.Partition(was.part).Total
		return r.leaf(q, lim), r.found
	}
	lim.limit = was.given
	return r.parent(q, lim), r.found
}
