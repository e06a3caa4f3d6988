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

// Share is what a queue is entitled to in one partition, and how much of that it uses.
// What walks and the order of children look at stands together.
type Share struct {
	UsedCapacity, AbsoluteUsed, Absolute float32
	HasMin                               bool // ConfMin is not zero
	Known                                bool // compat: Apache has an entry of capacities for the label

	EffMax           resource
	Measured         resource // what used fractions are measured against
	EffMin           resource
	AMUsed, AMLimit  resource
	ConfMin, ConfMax resource

	Capacity, MaxCapacity     float32
	AbsoluteMax               float32
	Weight, Normalized, MaxAM float32
	// scale is by how much configured minima of children are cut, per resource;
	// scaled tells for which.
	scale  [yarn.MaxResourceTypes]float32
	scaled [yarn.MaxResourceTypes]bool
}

// Queue is one queue of the tree. Leaves have a leaf, parents have none.
type Queue struct {
	queue.Queue
	Conf     *config.Queue
	Up       *Queue // its parent, or nil
	leaf     *leaf
	Shares   []Share
	Place    int32        // its place among the children of its parent
	Rules    config.Rules // of Conf, next to what a walk reads
	marks    [2]mark      // by mode: how the last walk that nothing came of ended
	Children []*Queue
	orders   [][2]childOrder // of a parent's children, by partition and mode

	stateSet bool
	Dynamic  bool
	absolute bool      // its capacity is written as amounts
	set      []setting // partitions with settings of their own, the default one first

	Apps     int32 // of parents: submitted and not finished
	runnable int32 // of parents: not held back by max-parallel-apps

	LastSubmit int64 // monotonic milliseconds
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
	Root   *Queue
	Queues []*Queue // as All, by index; nil where a queue was removed
}

func newTree() *tree { return &tree{Tree: queue.NewTree(0)} }

func (t *tree) add(q *Queue) {
	t.Add(&q.Queue)
	t.Queues = append(t.Queues, q)
}

func (t *tree) remove(q *Queue) {
	t.Remove(&q.Queue)
	t.Queues[q.Index] = nil
}

// Find is the queue with that full or short name, or nil.
func (t *tree) Find(name string) *Queue {
	if i := t.Names.Find(name); i >= 0 {
		return t.Queues[i]
	}
	return nil
}

func (t *tree) ByPath(path string) *Queue {
	if i := t.Names.ByPath(path); i >= 0 {
		return t.Queues[i]
	}
	return nil
}

// reindex gives the queues below root their places in a new list.
func (t *tree) reindex() {
	n := 0
	t.Root.Each(func(*Queue) { n++ })
	t.Tree, t.Queues = queue.NewTree(n), make([]*Queue, 0, n)
	var enter func(q *Queue)
	enter = func(q *Queue) {
		t.add(q)
		for _, c := range q.Children {
			enter(c)
		}
	}
	enter(t.Root)
}

// copied is how many queues are copied into one piece of memory.
const copied = 64

// clone copies the tree and all amounts, and tells what each queue, by its index, has
// become. Leaves are shared with the original. The copy is found by nobody before
// reindex.
func (t *tree) clone() (n *tree, became []*Queue) {
	n, became = newTree(), make([]*Queue, len(t.Queues))
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
		c.Own = c
		c.hangBelow(parent)
		if k := len(q.Shares); k <= len(shares) {
			c.Shares, shares = shares[:k:k], shares[k:]
			c.Ledger, ledgers = ledgers[:k:k], ledgers[k:]
			copy(c.Shares, q.Shares)
			copy(c.Ledger, q.Ledger)
		} else {
			c.Shares, c.Ledger = slices.Clone(q.Shares), slices.Clone(q.Ledger)
		}
		c.Children, c.orders = nil, nil
		c.granted = append([]float32(nil), q.granted...)
		c.hasGrant = append([]bool(nil), q.hasGrant...)
		if len(q.Children) > 0 {
			c.Children = make([]*Queue, len(q.Children))
			for i, child := range q.Children {
				c.Children[i] = copyQueue(child, c)
			}
		}
		became[q.Index] = c
		return c
	}
	n.Root = copyQueue(t.Root, nil)
	return n, became
}

// hangBelow gives the queue its parent, or nil.
func (q *Queue) hangBelow(parent *Queue) {
	if q.Up, q.Parent = parent, nil; parent != nil {
		q.Parent = &parent.Queue
	}
}

// grow makes room for partitions that have come to be known.
func (q *Queue) grow(parts int) {
	q.Grow(parts)
	q.Shares = slices.Grow(q.Shares, max(0, parts-len(q.Shares)))
	for len(q.Shares) < parts {
		q.Shares = append(q.Shares, Share{Weight: -1})
	}
	if q.leaf != nil {
		q.leaf.grow(parts)
	}
}

// shrink undoes grow.
func (q *Queue) shrink(parts int) {
	q.Shrink(parts)
	q.Shares = q.Shares[:parts]
	q.orders = q.orders[:min(parts, len(q.orders))]
	if q.leaf != nil {
		q.leaf.shrink(parts)
	}
}

// obey gives the queue new settings.
func (q *Queue) obey(conf *config.Queue) {
	q.Conf, q.Rules, q.Settings = conf, conf.Rules, &conf.Settings
	q.Creates = q.createsQueues()
}

// NumApps is how many applications the queue has, waiting ones included.
func (q *Queue) NumApps() int32 {
	if l := q.leaf; l != nil {
		return int32(l.active.len() + l.pending.count + len(l.waiting))
	}
	return q.Apps
}

// runnableApps is how many of them max-parallel-apps does not hold back.
func (q *Queue) runnableApps() int32 {
	if q.leaf != nil {
		return q.leaf.runnable
	}
	return q.runnable
}

// Each visits the queue and all below it, parents first.
func (q *Queue) Each(visit func(*Queue)) {
	visit(q)
	for _, c := range q.Children {
		c.Each(visit)
	}
}

// none tells whether an amount is nothing.
func none(r resource) bool { return r.IsZero() }
