package opportunistic

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/yarn"
)

// Comparator says which of two nodes is less loaded.
type Comparator uint8

// The comparators of yarn.resourcemanager.nm-container-queuing.load-comparator.
const (
	QueueLength              Comparator = iota // fewer containers wait
	QueueWaitTime                              // they wait for a shorter time; nothing limits how many are placed
	QueueLengthThenResources                   // fewer wait, then more is free; what fits does not wait
)

// Settings are how opportunistic containers are allocated.
type Settings struct {
	Enabled         bool
	Nodes           int32 // the least loaded ones, among which those without a place are distributed
	PerCall         int32 // containers that one call of a master gets; 0: MaxPerCall
	Interval        int64 // milliseconds, how long an order of the nodes is used
	Comparator      Comparator
	Deviations      float32 // of the mean, that a queue may be longer
	Lowest, Highest int32   // bounds of what nodes are told
}

// Bounds of one call and of what is kept.
const (
	MaxPerCall = 2000    // containers
	MaxLooks   = 20_000  // at nodes and rows
	MaxRows    = 20_000  // of one attempt's asks
	MaxOnNode  = 2000    // opportunistic containers, also where a node's queue is longer or has no limit
	maxMetric  = 1 << 20 // of a node's report; more counts as so much
)

// Node is a node that reports a queue.
type Node struct {
	ID    yarn.NodeID
	Rack  string
	Outer any // the caller's struct around it

	load  Report
	at    int64 // of the report
	given yarn.Resource
	held  int32
	index [lists]int // where it stands, or -1
}

// Report is what a node says of its queue, and what is known of it besides.
type Report struct {
	Waiting    int32 // containers in its queue
	WaitMillis int32 // how long they are going to wait; -1: unknown
	Capacity   int32 // of its queue
	Total      yarn.Resource
	Used       yarn.Resource // by containers of either kind
	Held       int32         // opportunistic containers
}

// The lists that a node is in.
const (
	inAll = iota
	onHost
	onRack
	lists
)

// ring is a list of nodes that are tried in turn.
type ring struct {
	nodes []*Node
	next  int
}

// Loads are the nodes that report a queue.
type Loads struct {
	set   Settings
	all   ring
	hosts map[string]*ring
	racks map[string]*ring

	least           ring // the least loaded ones, as of ordered
	ordered         int64
	fresh           bool // least was ordered at all
	mean, deviation int32
}

// NewLoads knows no nodes.
func NewLoads(set Settings) *Loads {
	return &Loads{set: set, hosts: map[string]*ring{}, racks: map[string]*ring{}}
}

// NewNode is a node that Loads does not know yet.
func NewNode(id yarn.NodeID, rack string, outer any) *Node {
	n := &Node{ID: id, Rack: rack, Outer: outer}
	for i := range n.index {
		n.index[i] = -1
	}
	return n
}

// Heard enters a node's report. A node that does not say how long containers wait is left out where that decides.
func (l *Loads) Heard(n *Node, r Report, now int64) {
	r.Waiting, r.Capacity = min(max(r.Waiting, 0), maxMetric), min(max(r.Capacity, 0), maxMetric)
	r.WaitMillis = min(r.WaitMillis, maxMetric)
	if r.WaitMillis < 0 {
		if r.WaitMillis = 0; l.set.Comparator == QueueWaitTime {
			l.Remove(n)
			return
		}
	}
	n.load, n.at, n.given, n.held = r, now, r.Used, r.Held
	if n.index[inAll] >= 0 {
		return
	}
	l.all.add(n, inAll)
	ringOf(l.hosts, n.ID.Host).add(n, onHost)
	ringOf(l.racks, n.Rack).add(n, onRack)
}

// Remove forgets a node; one that is not known is no matter.
func (l *Loads) Remove(n *Node) {
	if n.index[inAll] < 0 {
		return
	}
	l.all.remove(n, inAll)
	leave(l.hosts, n.ID.Host, n, onHost)
	leave(l.racks, n.Rack, n, onRack)
}

func ringOf(in map[string]*ring, name string) *ring {
	r := in[name]
	if r == nil {
		r = &ring{}
		in[name] = r
	}
	return r
}

func leave(in map[string]*ring, name string, n *Node, of int) {
	r := in[name]
	r.remove(n, of)
	if len(r.nodes) == 0 {
		delete(in, name)
	}
}

func (r *ring) add(n *Node, of int) {
	n.index[of] = len(r.nodes)
	r.nodes = append(r.nodes, n)
}

// remove puts the last node in the place of the one that goes.
func (r *ring) remove(n *Node, of int) {
	i, last := n.index[of], len(r.nodes)-1
	r.nodes[i] = r.nodes[last]
	r.nodes[i].index[of] = i
	r.nodes[last] = nil
	r.nodes = r.nodes[:last]
	n.index[of] = -1
}

// metric is what a node is judged by.
func (l *Loads) metric(n *Node) int32 {
	if l.set.Comparator == QueueWaitTime {
		return n.load.WaitMillis
	}
	return n.load.Waiting
}

// open tells whether a node counts in the mean.
//
// compat: those without a queue do.
func (l *Loads) open(n *Node) bool {
	if n.load.Capacity > 0 {
		return n.load.Waiting < n.load.Capacity
	}
	return l.set.Comparator != QueueLengthThenResources || n.load.Waiting == 0
}

// worth tells whether an open node may take anything.
func (l *Loads) worth(n *Node) bool {
	return n.held < MaxOnNode && (n.load.Capacity > 0 || l.set.Comparator != QueueLength)
}

// order finds the least loaded nodes, and the mean and deviation of all that are open, unless it has done so within the interval.
func (l *Loads) order(now int64) {
	if l.fresh && now-l.ordered < l.set.Interval {
		return
	}
	l.fresh, l.ordered = true, now
	before := order{by: l.set.Comparator}
	for _, n := range l.all.nodes {
		before.total.Increase(&n.load.Total)
	}
	clear(l.least.nodes)
	best, most := l.least.nodes[:0], int(l.set.Nodes)
	var count, sum, squares int64
	for _, n := range l.all.nodes {
		if !l.open(n) {
			continue
		}
		v := int64(l.metric(n))
		count, sum, squares = count+1, sum+v, squares+v*v
		if !l.worth(n) || len(best) == most && before.compare(n, best[most-1]) >= 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(best, n, before.compare)
		if len(best) == most {
			best = best[:most-1]
		}
		best = slices.Insert(best, i, n)
	}
	l.least.nodes = best
	if count > 0 { // compat: once there is no open node, the last numbers stand
		mean := sum / count
		l.mean = int32(mean)
		l.deviation = int32(math.Round(math.Sqrt(float64(float32(squares-2*mean*sum+count*mean*mean) / float32(count)))))
	}
}

// order compares two nodes, of which the less loaded one comes first.
type order struct {
	by    Comparator
	total yarn.Resource // of all nodes
}

func (o *order) compare(a, b *Node) int {
	d := int64(a.load.Waiting) - int64(b.load.Waiting)
	if o.by == QueueWaitTime {
		d = int64(a.load.WaitMillis) - int64(b.load.WaitMillis)
	}
	if d == 0 && o.by == QueueLengthThenResources {
		d = o.free(a, b)
	}
	switch {
	case d == 0 && a.at == b.at:
		return a.ID.Compare(b.ID)
	case d == 0:
		d = b.at - a.at
	}
	if d < 0 {
		return -1
	}
	return 1
}

// free compares what is free: first the smallest share of the cluster, of all types, then vcores, then memory.
func (o *order) free(a, b *Node) int64 {
	x, y := a.free(), b.free()
	if o.total[yarn.Memory] > 0 && o.total[yarn.VCores] > 0 {
		switch p, q := o.share(&x), o.share(&y); {
		case p > q:
			return -1
		case p < q:
			return 1
		}
	}
	if d := y[yarn.VCores] - x[yarn.VCores]; d != 0 {
		return d
	}
	return y[yarn.Memory] - x[yarn.Memory]
}

func (o *order) share(r *yarn.Resource) float32 {
	least := float32(math.MaxFloat32)
	for i, total := range o.total {
		if total > 0 {
			least = min(least, float32(r[i])/float32(total))
		}
	}
	return least
}

// free is what is neither used nor given away since the last report.
func (n *Node) free() yarn.Resource {
	r := n.load.Total.Sub(n.given)
	for i := range r {
		r[i] = max(r[i], 0)
	}
	return r
}

// verdict is what becomes of a container on a node.
type verdict uint8

const (
	full     verdict = iota // it is not taken for now
	tooSmall                // nor ever
	waits
	starts // there is room for it
)

func (l *Loads) judge(n *Node, size *yarn.Resource) verdict {
	byResources := l.set.Comparator == QueueLengthThenResources
	switch {
	case n.held >= MaxOnNode:
		return full
	case byResources && size.FitsIn(n.free()):
		return starts
	case byResources && !size.FitsIn(n.load.Total):
		return tooSmall
	case l.set.Comparator != QueueWaitTime && n.load.Waiting >= n.load.Capacity:
		return full
	}
	return waits
}

// take tells whether a container of that size may be placed on the node, and counts it there.
func (l *Loads) take(n *Node, size *yarn.Resource) bool {
	switch l.judge(n, size) {
	case starts:
		n.given.Increase(size)
	case waits:
		if l.set.Comparator != QueueWaitTime {
			n.load.Waiting++
		}
	default:
		return false
	}
	n.held++
	return true
}

// Limit is how much may wait on one node; -1: that is not limited.
type Limit struct{ Length, WaitMillis int32 }

// Limit is what nodes are told at that time: what is longer than the others' queues is cut off.
func (l *Loads) Limit(now int64) Limit {
	l.order(now)
	limit := float32(l.mean) + float32(l.set.Deviations*float32(l.deviation))
	most := l.set.Highest
	if limit < float32(most) {
		most = int32(limit)
	}
	most = max(most, min(l.set.Lowest, l.set.Highest))
	if l.set.Comparator == QueueWaitTime {
		return Limit{-1, most}
	}
	return Limit{most, -1}
}
