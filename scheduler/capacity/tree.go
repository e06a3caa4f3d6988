// Package capacity decides as Apache's CapacityScheduler does: who is entitled
// to what, who is admitted, in which order queues and applications are served
// and when a node is held for somebody.
//
// A heartbeat walks from the root to one application and commits one container
// at a time (walk.go, allocate.go, commit.go). Everything that such a walk
// reads is kept up to date where it changes; entitlements (entitlement.go) only
// when the cluster or the configuration does.
package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Short names of what the books of the cluster define.
type (
	NodeRef      = cluster.NodeRef
	AppRef       = cluster.AppRef
	ContainerRef = cluster.ContainerRef
	part         = cluster.Part
	resource     = yarn.Resource
)

// share is what a queue is entitled to in one partition, and how much of that it uses.
// What walks and the order of children look at stands together.
type share struct {
	usedCapacity, absUsed, absolute float32
	hasMin                          bool // confMin is not zero
	known                           bool // compat: Apache has an entry of capacities for the label

	effMax           resource
	measured         resource // what used fractions are measured against
	effMin           resource
	amUsed, amLimit  resource
	confMin, confMax resource

	capacity, maxCapacity     float32
	absoluteMax               float32
	weight, normalized, maxAM float32
	// scale is by how much configured minima of children are cut, per resource;
	// scaled tells for which.
	scale  [yarn.MaxResourceTypes]float32
	scaled [yarn.MaxResourceTypes]bool
}

// Queue is one queue of the tree. Leaves have a leaf, parents have none.
type Queue struct {
	queue.Queue
	conf     *config.Queue
	parent   *Queue // Parent, as this policy has it
	leaf     *leaf
	shares   []share
	listed   int32        // its place among the children of its parent
	rules    config.Rules // of conf, next to what a walk reads
	marks    [2]mark      // by mode: how the last walk that nothing came of ended
	children []*Queue
	orders   [][2]childOrder // of a parent's children, by partition and mode

	stateSet bool
	dynamic  bool
	absolute bool      // its capacity is written as amounts
	set      []setting // partitions with settings of their own, the default one first

	apps     int32 // of parents: submitted and not finished
	runnable int32 // of parents: not held back by max-parallel-apps

	lastSubmit int64 // monotonic milliseconds
	marked     bool  // dynamic: was empty when last looked at

	// Below managed parents: the sum of guarantees that a parent has given, and
	// which a leaf has, by partition.
	granted  []float32
	hasGrant []bool
}

// setting is what the configuration gives the queue in one partition.
type setting struct {
	p part
	config.Amount
}

// tree is all queues.
type tree struct {
	queue.Tree
	root *Queue
	all  []*Queue // as All
}

func newTree() *tree { return &tree{Tree: queue.NewTree(0)} }

func (t *tree) add(q *Queue) {
	t.Add(&q.Queue)
	t.all = append(t.all, q)
}

func (t *tree) remove(q *Queue) {
	t.Remove(&q.Queue)
	t.all[q.Index] = nil
}

// find is the queue with that full or short name, or nil.
func (t *tree) find(name string) *Queue {
	if i := t.Names.Find(name); i >= 0 {
		return t.all[i]
	}
	return nil
}

func (t *tree) byPath(path string) *Queue {
	if i := t.Names.ByPath(path); i >= 0 {
		return t.all[i]
	}
	return nil
}

// reindex gives the queues below root their places in a new list.
func (t *tree) reindex() {
	n := 0
	t.root.each(func(*Queue) { n++ })
	t.Tree, t.all = queue.NewTree(n), make([]*Queue, 0, n)
	var enter func(q *Queue)
	enter = func(q *Queue) {
		t.add(q)
		for _, c := range q.children {
			enter(c)
		}
	}
	enter(t.root)
}

// copied is how many queues are copied into one piece of memory.
const copied = 64

// clone copies the tree and all amounts, and tells what each queue, by its index, has
// become. Leaves are shared with the original. The copy is found by nobody before
// reindex.
func (t *tree) clone() (n *tree, became []*Queue) {
	n, became = newTree(), make([]*Queue, len(t.all))
	var queues []Queue
	var shares []share
	var ledgers []queue.Ledger
	var copyQueue func(q, parent *Queue) *Queue
	copyQueue = func(q, parent *Queue) *Queue {
		if len(queues) == 0 {
			n := copied * len(q.shares)
			queues, shares, ledgers = make([]Queue, copied), make([]share, n), make([]queue.Ledger, n)
		}
		c := &queues[0]
		queues = queues[1:]
		*c = *q
		c.Own = c
		c.hangBelow(parent)
		if k := len(q.shares); k <= len(shares) {
			c.shares, shares = shares[:k:k], shares[k:]
			c.Ledger, ledgers = ledgers[:k:k], ledgers[k:]
			copy(c.shares, q.shares)
			copy(c.Ledger, q.Ledger)
		} else {
			c.shares, c.Ledger = slices.Clone(q.shares), slices.Clone(q.Ledger)
		}
		c.children, c.orders = nil, nil
		c.granted = append([]float32(nil), q.granted...)
		c.hasGrant = append([]bool(nil), q.hasGrant...)
		if len(q.children) > 0 {
			c.children = make([]*Queue, len(q.children))
			for i, child := range q.children {
				c.children[i] = copyQueue(child, c)
			}
		}
		became[q.Index] = c
		return c
	}
	n.root = copyQueue(t.root, nil)
	return n, became
}

// hangBelow gives the queue its parent, or nil.
func (q *Queue) hangBelow(parent *Queue) {
	if q.parent, q.Parent = parent, nil; parent != nil {
		q.Parent = &parent.Queue
	}
}

// grow makes room for partitions that have come to be known.
func (q *Queue) grow(parts int) {
	q.Grow(parts)
	q.shares = slices.Grow(q.shares, max(0, parts-len(q.shares)))
	for len(q.shares) < parts {
		q.shares = append(q.shares, share{weight: -1})
	}
	if q.leaf != nil {
		q.leaf.grow(parts)
	}
}

// shrink undoes grow.
func (q *Queue) shrink(parts int) {
	q.Shrink(parts)
	q.shares = q.shares[:parts]
	q.orders = q.orders[:min(parts, len(q.orders))]
	if q.leaf != nil {
		q.leaf.shrink(parts)
	}
}

func (q *Queue) isLeaf() bool { return q.leaf != nil }

// obey gives the queue new settings.
func (q *Queue) obey(conf *config.Queue) {
	q.conf, q.rules, q.Settings = conf, conf.Rules, &conf.Settings
}

// numApps is how many applications the queue has, waiting ones included.
func (q *Queue) numApps() int32 {
	if l := q.leaf; l != nil {
		return int32(l.active.len() + l.pending.count + len(l.waiting))
	}
	return q.apps
}

// runnableApps is how many of them max-parallel-apps does not hold back.
func (q *Queue) runnableApps() int32 {
	if q.leaf != nil {
		return q.leaf.runnable
	}
	return q.runnable
}

// each visits the queue and all below it, parents first.
func (q *Queue) each(visit func(*Queue)) {
	visit(q)
	for _, c := range q.children {
		c.each(visit)
	}
}

// none tells whether an amount is nothing.
func none(r resource) bool { return r.IsZero() }
