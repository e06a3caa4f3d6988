// Package tree has the queues of a capacity scheduler: which there are, how they come and
// go, and what each is entitled to.
//
// A tree is built from a configuration (build.go). A new configuration makes a new tree of
// the one in force, which stays as it is until the new one takes its place (renew.go).
// Entitlements (entitlement.go; vectors.go where legacy-queue-mode.enabled is false) are
// computed anew when the cluster or the queues change. The scheduler that serves the queues
// keeps facts of each; the tree knows them by the interface Facts.
package tree

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Basis is what trees are computed from. All of it is values of one moment, but for a
// tree in force, whose partitions are those of the books.
type Basis struct {
	Config *config.Capacity // in use
	Calc   measure.Calculator
	Min    yarn.Resource // the least container
	Total  yarn.Resource // of the cluster
	Parts  *cluster.Parts
	Apache *Apache // nil but in replays
}

// same tells whether both lead to the same tree.
func (b *Basis) same(other *Basis) bool {
	return b.Config == other.Config && b.Calc == other.Calc && b.Min == other.Min && b.Total == other.Total && b.Parts.Equal(other.Parts)
}

// part is the index of a partition that the configuration names: all of them have one
// before anything else is done.
func (b *Basis) part(label string) part {
	p, _ := b.Parts.FindPart(label)
	return p
}

// Live is a tree in force, and the basis of the moment.
type Live struct {
	Basis
	Tree   *Tree
	Server Server
	Now    yarn.Now
}

// Server serves the queues of a tree in force.
type Server interface {
	// Added tells that a queue has come.
	Added(q *Queue)
	// SharesChanged tells that what a queue and those below it may use is another, or which
	// queues there are below.
	SharesChanged(q *Queue)
	// Entitled tells that a leaf's entitlement was computed anew. limit is what it may use
	// in the default partition, seen from above.
	Entitled(q *Queue, limit *yarn.Resource)
}

// Tree is all queues.
type Tree struct {
	queue.Tree
	Root   *Queue
	Queues []*Queue // as All, by index; nil where a queue was removed
}

func (t *Tree) add(q *Queue) {
	t.Add(&q.Queue)
	t.Queues = append(t.Queues, q)
}

func (t *Tree) remove(q *Queue) {
	t.Remove(&q.Queue)
	t.Queues[q.Index] = nil
}

// Find is the queue with that full or short name, or nil.
func (t *Tree) Find(name string) *Queue {
	if i := t.Names.Find(name); i >= 0 {
		return t.Queues[i]
	}
	return nil
}

// ByPath is the queue with that full path, or nil.
func (t *Tree) ByPath(path string) *Queue {
	if i := t.Names.ByPath(path); i >= 0 {
		return t.Queues[i]
	}
	return nil
}

// Lookup is what the mapping rules ask of the tree.
func (t *Tree) Lookup(name string) (placement.Queue, placement.Presence) {
	q := t.Find(name)
	if q == nil {
		if t.Names.Ambiguous(name) {
			return placement.Queue{}, placement.Ambiguous
		}
		return placement.Queue{}, placement.Absent
	}
	return placement.Queue{Path: q.Path, Leaf: q.Leaf, Managed: q.Conf.Kind == config.Managed, Flexible: q.Flexible()}, placement.Present
}

// CheckRules refuses mapping rules that name queues which are not there.
func (t *Tree) CheckRules(cfg *config.Capacity) error {
	for _, f := range cfg.Rules.Validate(t) {
		p, _ := cfg.Property(f.Property)
		return &config.Error{Finding: config.Finding{Key: f.Property, Value: p.Value, Origin: p.Origin, Rule: f.Complaint()}}
	}
	return nil
}

// newTree is all queues from the root on, each with a place in the list and by its names.
func newTree(root *Queue) *Tree {
	n := 0
	root.Each(func(*Queue) { n++ })
	t := &Tree{Tree: queue.NewTree(n), Root: root, Queues: make([]*Queue, 0, n)}
	root.Each(t.add)
	return t
}

// copied is how many queues are copied into one piece of memory.
const copied = 64

// clone copies all queues and their amounts. It returns the root, and what each queue, by
// its index, has become.
func (t *Tree) clone() (root *Queue, became []*Queue) {
	became = make([]*Queue, len(t.Queues))
	var queues []Queue
	var shares []Share
	var ledgers []queue.Ledger
	var copyQueue func(q, parent *Queue) *Queue
	copyQueue = func(q, parent *Queue) *Queue {
		if len(queues) == 0 {
			n := copied * len(q.Shares)
			queues, shares, ledgers = make([]Queue, copied), make([]Share, n), make([]queue.Ledger, n)
		}
		c := &queues[0]
		queues = queues[1:]
		*c = *q
		c.Outer = c
		c.setParent(parent)
		if k := len(q.Shares); k <= len(shares) {
			c.Shares, shares = shares[:k:k], shares[k:]
			c.Ledger, ledgers = ledgers[:k:k], ledgers[k:]
			copy(c.Shares, q.Shares)
			copy(c.Ledger, q.Ledger)
		} else {
			c.Shares, c.Ledger = slices.Clone(q.Shares), slices.Clone(q.Ledger)
		}
		c.Children = nil
		if len(q.Children) > 0 {
			c.Children = make([]*Queue, len(q.Children))
			for i, child := range q.Children {
				c.Children[i] = copyQueue(child, c)
			}
		}
		became[q.Index] = c
		return c
	}
	return copyQueue(t.Root, nil), became
}
