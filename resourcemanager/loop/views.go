package loop

import (
	"slices"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Views are the published views. The values are immutable; readers hold the
// lock only while they copy references.
type Views struct {
	mu      sync.RWMutex
	apps    map[yarn.ApplicationID]*view.Application
	nodes   map[yarn.NodeID]*view.Node
	metrics view.Metrics
	queues  *queue.Snapshot
}

func (v *Views) init() {
	v.apps = map[yarn.ApplicationID]*view.Application{}
	v.nodes = map[yarn.NodeID]*view.Node{}
}

func (v *Views) begin() { v.mu.Lock() }
func (v *Views) end()   { v.mu.Unlock() }

// Application publishes an application; it is the engine that calls it, between
// begin and end, like the four below.
func (v *Views) Application(a *view.Application) { v.apps[a.ID] = a }

// ForgetApplication withdraws one.
func (v *Views) ForgetApplication(id yarn.ApplicationID) { delete(v.apps, id) }

// Node publishes a node.
func (v *Views) Node(n *view.Node) { v.nodes[n.ID] = n }

// ForgetNode withdraws one.
func (v *Views) ForgetNode(id yarn.NodeID) { delete(v.nodes, id) }

// Summary publishes what is said of the whole.
func (v *Views) Summary(m view.Metrics, q *queue.Snapshot) { v.metrics, v.queues = m, q }

// FindApplication is the application with that id, or nil.
func (v *Views) FindApplication(id yarn.ApplicationID) *view.Application {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.apps[id]
}

// FindNode is the node with that id, or nil.
func (v *Views) FindNode(id yarn.NodeID) *view.Node {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.nodes[id]
}

// Queues are the queues and the counts of the whole cluster.
func (v *Views) Queues() (*queue.Snapshot, view.Metrics) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.queues, v.metrics
}

// Applications are all of them, by id.
func (v *Views) Applications() []*view.Application {
	v.mu.RLock()
	out := make([]*view.Application, 0, len(v.apps))
	for _, a := range v.apps {
		out = append(out, a)
	}
	v.mu.RUnlock()
	slices.SortFunc(out, func(a, b *view.Application) int { return a.ID.Compare(b.ID) })
	return out
}

// Nodes are all of them: those in use first, then by id.
func (v *Views) Nodes() []*view.Node {
	v.mu.RLock()
	out := make([]*view.Node, 0, len(v.nodes))
	for _, n := range v.nodes {
		out = append(out, n)
	}
	v.mu.RUnlock()
	slices.SortFunc(out, func(a, b *view.Node) int {
		if u, w := inUse(a), inUse(b); u != w {
			if u {
				return -1
			}
			return 1
		}
		return a.ID.Compare(b.ID)
	})
	return out
}

func inUse(n *view.Node) bool { return n.State.Usable() || n.State == yarn.NodeUnhealthy }
