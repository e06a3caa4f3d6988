package tree

import (
	"fmt"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// Next is a tree that takes the place of another one.
type Next struct {
	Tree   *Tree
	Parts  *cluster.Parts // those of the basis, and behind them what the configuration names besides
	before *Tree
	became []*Queue // by the indexes of before, those included that Tree does not have any more
}

// Became is what a queue of the tree before has become. One that is gone lives on for the
// applications that it still has, below what its parent has become.
func (n *Next) Became(old *Queue) *Queue {
	if i := int(old.Index); i < len(n.before.Queues) && n.before.Queues[i] == old {
		return n.became[i]
	}
	if old.Up != nil {
		old.setParent(n.Became(old.Up))
	}
	return old
}

// Next is the tree that the configuration makes of the one in force, which stays as it
// is. p may be nil.
//
// compat: when Apache goes back after a refusal that came late it may fail, and then keeps
// a part of the new settings. Here all of the old ones stay.
func (l *Live) Next(cfg *config.Capacity, p *Prepared) (*Next, error) {
	built, err := p.take(cfg, &l.Basis)
	if err != nil {
		return nil, err
	}
	if err := checkChanges(cfg, l.Tree, built.Tree); err != nil {
		return nil, err
	}
	n, err := l.renewed(cfg, built)
	if err == nil {
		err = n.Tree.CheckRules(cfg)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// renewed makes the next tree. After an error a part of it has the new settings.
func (l *Live) renewed(cfg *config.Capacity, built *Built) (*Next, error) {
	b := l.Basis
	b.Parts = built.Parts
	root, became := l.Tree.clone()
	root.Each(func(q *Queue) { q.Grow(b.Parts.Partitions()) })
	err := b.renew(cfg, root, built.Root)
	return &Next{newTree(root), built.Parts, l.Tree, became}, err
}

// checkChanges refuses to let queues vanish or change their kind while in use.
func checkChanges(cfg *config.Capacity, before, fresh *Tree) error {
	for _, old := range before.Queues {
		if old == nil {
			continue
		}
		q := fresh.ByPath(old.Path)
		if err := checkKind(cfg, old, q); err != nil {
			return err
		}
		if err := checkKept(cfg, old, q, fresh); err != nil {
			return err
		}
	}
	return nil
}

// checkKind compares a queue with what it is to become, which may be nothing.
func checkKind(cfg *config.Capacity, old, q *Queue) error {
	stopped := old.State == queue.Stopped
	switch {
	case old.GivenOut():
	case q == nil:
		if !stopped && !cfg.StoppedInSettings(old.Path) && !old.Dynamic {
			return refusal(cfg, old, "state", "a queue can only be removed when it is stopped; it is "+old.State.String())
		}
	case !old.Leaf && old.Conf.Kind != config.Managed && q.Conf.Kind == config.Managed,
		!old.Leaf && old.Conf.Kind == config.Managed && q.Conf.Kind != config.Managed:
		return refusal(cfg, old, "auto-create-child-queue.enabled", "cannot change while the parent is in use")
	case !old.Leaf && !q.Leaf && (old.Conf.Kind == config.Reservable) != (q.Conf.Kind == config.Reservable):
		return refusal(cfg, old, "reservable", "cannot change while the queue has others below it")
	case old.Leaf && !q.Leaf && !stopped && q.State != queue.Stopped:
		return refusal(cfg, old, "queues", "a leaf can only become a parent when it is stopped; it is "+old.State.String())
	}
	return nil
}

// checkKept refuses to take a leaf that was created on demand away from its
// applications, with its parent.
//
// compat: a configured leaf goes with its applications if the new settings name
// it STOPPED. They keep what they have and get nothing more.
func checkKept(cfg *config.Capacity, old, q *Queue, fresh *Tree) error {
	if q != nil || !old.Leaf || old.NumApps() == 0 || !old.Dynamic && !old.GivenOut() || keepsCreated(old.Up, fresh) {
		return nil
	}
	return refusal(cfg, old, "state", fmt.Sprintf("a queue that was created can only go when it is empty; applications: %d", old.NumApps()))
}

// keepsCreated tells whether queues that were created below the parent stay.
func keepsCreated(parent *Queue, fresh *Tree) bool {
	if q := fresh.ByPath(parent.Path); q != nil {
		return !q.Leaf
	}
	return parent.Dynamic && keepsCreated(parent.Up, fresh)
}

// renew applies new settings to a queue that exists and to all below it.
func (b *Basis) renew(cfg *config.Capacity, q, fresh *Queue) error {
	q.Dynamic = q.Dynamic && fresh == q
	if q.Leaf && !q.Conf.MaxAllocation.FitsIn(fresh.Conf.MaxAllocation) {
		return lessAllocation(cfg, q)
	}
	if err := b.guaranteedTooMuch(cfg, q, fresh); err != nil {
		return err
	}
	var set []setting
	if fresh != q {
		q.configure(fresh.Conf)
		set = fresh.set
		if b.Apache != nil {
			b.Apache.renewed[q] = true
		}
	}
	if q.Dynamic {
		conf, err := cfg.Dynamic(q.Up.Conf, q.Name, q.Conf.Kind)
		if err != nil {
			return err
		}
		q.configure(conf)
		set = nil
	}
	if err := b.setup(cfg, q, set); err != nil {
		return err
	}
	if q.Leaf {
		return nil
	}
	switch q.Conf.Kind {
	case config.Managed:
		return b.renewManaged(cfg, q)
	case config.Reservable:
		return b.renewPlan(cfg, q)
	}
	children, err := b.renewChildren(cfg, q, fresh)
	if err != nil {
		return err
	}
	if len(children) == 0 {
		q.setChildren(nil)
		return nil
	}
	return b.setChildren(cfg, q, children)
}

// lessAllocation refuses to lower what containers of the leaf may have. It names
// the nearest property that could do so.
func lessAllocation(cfg *config.Capacity, q *Queue) error {
	rule := fmt.Sprintf("must not become less in a refresh for %s, which has %s", q.Path, q.Conf.MaxAllocation)
	for up := q; up != nil; up = up.Up {
		for _, name := range []string{"maximum-allocation", "maximum-allocation-mb", "maximum-allocation-vcores"} {
			if _, set := cfg.Property(config.Prefix + up.Path + "." + name); set {
				return refusal(cfg, up, name, rule)
			}
		}
	}
	return refusal(cfg, q, "maximum-allocation", rule)
}

// renewChildren is the children of a parent after a refresh.
//
// compat: they take the order of a hash table of their paths, into which the
// old ones were put first and then the new ones in the order of theirs.
func (b *Basis) renewChildren(cfg *config.Capacity, q, fresh *Queue) ([]*Queue, error) {
	byPath := make(map[string]*Queue, len(q.Children))
	keys := make([]string, 0, len(q.Children))
	for _, c := range q.Children {
		byPath[c.Path] = c
		keys = append(keys, c.Path)
	}
	if fresh == q {
		fresh = &Queue{Children: q.Children}
	}
	keep := make(map[string]bool, len(fresh.Children))
	for _, c := range fresh.Children {
		keep[c.Path] = true
	}
	for _, c := range q.Children {
		if !keep[c.Path] && (c.Dynamic || c.GivenOut()) {
			keep[c.Path] = true
			if err := b.renew(cfg, c, c); err != nil {
				return nil, err
			}
		}
	}
	for _, i := range hashOrder(fresh.Children) {
		next := fresh.Children[i]
		old := byPath[next.Path]
		switch {
		case old == nil:
			keys = append(keys, next.Path)
			next.setParent(q)
			byPath[next.Path] = next
		case old.Leaf != next.Leaf:
			next.setParent(q)
			byPath[next.Path] = next
		default:
			if err := b.renew(cfg, old, next); err != nil {
				return nil, err
			}
		}
	}
	children := make([]*Queue, 0, len(keep))
	for _, i := range javanum.HashOrder(keys) {
		if keep[keys[i]] {
			children = append(children, byPath[keys[i]])
		}
	}
	return children, nil
}

func hashOrder(queues []*Queue) []int {
	paths := make([]string, len(queues))
	for i, q := range queues {
		paths[i] = q.Path
	}
	return javanum.HashOrder(paths)
}
