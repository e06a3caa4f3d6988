package tree

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Short names of what others define.
type (
	part     = cluster.Part
	resource = yarn.Resource
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

// Queue is one queue of a tree.
type Queue struct {
	queue.Queue
	Conf     *config.Queue
	Up       *Queue // its parent, or nil
	Facts    Facts  // of whoever serves the queues; nil before the tree is in force
	Shares   []Share
	Place    int32        // its place among the children of its parent
	Rules    config.Rules // of Conf, next to what a walk reads
	Children []*Queue

	Dynamic  bool
	stateSet bool
	absolute bool      // its capacity is written as amounts
	set      []setting // partitions with settings of their own, the default one first

	// How many applications a leaf takes, in all and of one user.
	MaxApps, MaxAppsPerUser int32

	LastSubmit int64 // monotonic milliseconds
	empty      bool  // dynamic: it was, when last looked at

	// Below managed parents: the sum of guarantees that a parent has given, and
	// which a leaf has, by partition.
	granted  []float32
	hasGrant []bool
}

// Facts are what whoever serves the queues keeps of one. The copies of a queue in several
// trees have the same facts.
type Facts interface {
	// NumApps is how many applications are in the queue, waiting ones included.
	NumApps() int32
	// Applications appends those that are admitted to a leaf, or wait to be.
	Applications([]yarn.ApplicationID) []yarn.ApplicationID
}

// setting is what the configuration gives the queue in one partition.
type setting struct {
	p     part
	label string
	config.Amount
}

// newQueue makes a queue with room for so many partitions.
func newQueue(conf *config.Queue, parent *Queue, parts int) *Queue {
	q := &Queue{Queue: queue.Queue{Path: conf.Path, Name: conf.Name, Leaf: conf.Kind == config.Leaf, Counts: &queue.AppCounts{}}}
	q.Outer = q
	q.configure(conf)
	q.setParent(parent)
	q.Grow(parts)
	return q
}

// setParent gives the queue its parent, or nil.
func (q *Queue) setParent(parent *Queue) {
	if q.Up, q.Parent = parent, nil; parent != nil {
		q.Parent = &parent.Queue
	}
}

// configure gives the queue new settings.
func (q *Queue) configure(conf *config.Queue) {
	q.Conf, q.Rules, q.Settings = conf, conf.Rules, &conf.Settings
	q.Creates = q.CreatesQueues()
}

// Grow makes room for partitions that have come to be known.
func (q *Queue) Grow(parts int) {
	q.Queue.Grow(parts)
	for len(q.Shares) < parts {
		q.Shares = append(q.Shares, Share{Weight: -1})
	}
}

// setChildren gives the queue its children.
func (q *Queue) setChildren(children []*Queue) {
	q.Children = children
	for i, c := range children {
		c.Place = int32(i)
	}
}

// Has tells whether the child is in the tree; one that a refresh took out of it may
// still have applications.
func (q *Queue) Has(child *Queue) bool {
	return int(child.Place) < len(q.Children) && q.Children[child.Place] == child
}

// NumApps is how many applications the queue has, waiting ones included.
func (q *Queue) NumApps() int32 {
	if q.Facts == nil {
		return 0
	}
	return q.Facts.NumApps()
}

// Each visits the queue and all below it, parents first.
func (q *Queue) Each(visit func(*Queue)) {
	visit(q)
	for _, c := range q.Children {
		c.Each(visit)
	}
}

// ManagedLeaf tells whether the queue was created below a legacy managed parent.
func (q *Queue) ManagedLeaf() bool { return q.Up != nil && q.Up.Conf.Kind == config.Managed }

// Flexible tells whether queues of any depth are created below on demand.
func (q *Queue) Flexible() bool { return !q.Leaf && (q.Dynamic || q.Conf.Flexible) }

// CreatesQueues tells whether queues are created below on demand.
func (q *Queue) CreatesQueues() bool { return q.Conf.Kind == config.Managed || q.Flexible() }

// InAmounts tells whether the queue's capacity is written as amounts.
func (q *Queue) InAmounts() bool { return q.absolute }

// Mode is how the queue's capacity is written, in operators' words. Outside of the legacy mode it goes by the default
// partition alone, whose resources may be written in different ways.
func (b *Basis) Mode(q *Queue) string {
	if !b.Config.Legacy {
		return vectorMode(b.Capacity(q, 0))
	}
	switch sh := &q.Shares[0]; {
	case q.absolute:
		return "absolute"
	case sh.Weight >= 0:
		return "weight"
	}
	return "percentage"
}

func vectorMode(v queue.Vector) string {
	switch {
	case v.Empty():
		return "unknown"
	case v.Only(config.Percent):
		return "percentage"
	case v.Only(config.Absolute):
		return "absolute"
	case v.Only(config.Weight):
		return "weight"
	}
	return "mixed"
}

// Capacity is the queue's capacity in a partition as it is configured. Plans, their queues and those below managed parents
// have what they are given.
//
// compat: what is given is a percentage in single precision.
func (b *Basis) Capacity(q *Queue, p part) queue.Vector {
	if q.GivenOut() || q.Conf.Kind == config.Reservable {
		return b.Config.Cluster.Percent(javanum.Mul(q.Shares[p].Capacity, 100))
	}
	return q.Conf.Amount(b.Parts.Partition(p).Name).Vector
}

// stop ends the intake of the queue and of all below.
func (q *Queue) stop() {
	q.State = queue.Stopped
	if q.NumApps() > 0 {
		q.State = queue.Draining
	}
	for _, c := range q.Children {
		c.stop()
	}
}

// AppGone ends the draining of a queue that has become empty.
func (q *Queue) AppGone() {
	if q.State == queue.Draining && q.NumApps() == 0 {
		q.State = queue.Stopped
	}
}

// AppRecovered has a stopped queue, and those above it, drain: it has an application
// again.
func (q *Queue) AppRecovered() {
	for ; q != nil && q.State == queue.Stopped; q = q.Up {
		q.State = queue.Draining
	}
}
