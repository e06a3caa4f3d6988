package loop

import (
	"context"
	"slices"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Views are the published views. The values are immutable; readers hold the
// lock only while they copy references. Applications are fresh as of the call of
// Loop.Views, nodes and queues as of the call that reads them: few readers want
// them, and to publish them costs more.
type Views struct {
	loop *Loop

	mu      sync.RWMutex
	apps    map[yarn.ApplicationID]*listed
	list    []*listed // in the order of ids; those without a view were forgotten
	gone    int       // of list
	nodes   map[yarn.NodeID]*view.Node
	metrics view.Metrics
	queues  *queue.Snapshot
	labels  *view.Labels
}

// listed is one application's place in the list.
type listed struct {
	id  yarn.ApplicationID
	app *view.Application
}

func (v *Views) init(l *Loop) {
	v.loop = l
	v.apps = map[yarn.ApplicationID]*listed{}
	v.nodes = map[yarn.NodeID]*view.Node{}
	v.queues = &queue.Snapshot{}
	v.labels = &view.Labels{}
}

func (v *Views) begin() { v.mu.Lock() }
func (v *Views) end()   { v.mu.Unlock() }

// Application publishes an application; it is the engine that calls it, between
// begin and end, like the five below.
func (v *Views) Application(a *view.Application) {
	if x := v.apps[a.ID]; x != nil {
		x.app = a
		return
	}
	x := &listed{a.ID, a}
	v.apps[a.ID] = x
	if n := len(v.list); n == 0 || v.list[n-1].id.Compare(a.ID) < 0 {
		v.list = append(v.list, x) // nearly always: ids count upwards
		return
	}
	i, _ := slices.BinarySearchFunc(v.list, a.ID, func(x *listed, id yarn.ApplicationID) int { return x.id.Compare(id) })
	v.list = slices.Insert(v.list, i, x)
}

// ForgetApplication withdraws one. Its place in the list is given up when many
// have gone.
func (v *Views) ForgetApplication(id yarn.ApplicationID) {
	x := v.apps[id]
	if x == nil {
		return
	}
	x.app = nil
	delete(v.apps, id)
	if v.gone++; v.gone > 64+len(v.list)/4 {
		v.list = slices.DeleteFunc(v.list, func(x *listed) bool { return x.app == nil })
		v.gone = 0
	}
}

// Node publishes a node.
func (v *Views) Node(n *view.Node) { v.nodes[n.ID] = n }

// ForgetNode withdraws one.
func (v *Views) ForgetNode(id yarn.NodeID) { delete(v.nodes, id) }

// Labels publishes the labels of the cluster and of its nodes.
func (v *Views) Labels(l *view.Labels) { v.labels = l }

// Summary publishes what is said of the whole.
func (v *Views) Summary(m view.Metrics, q *queue.Snapshot) { v.metrics, v.queues = m, q }

// FindApplication is the application with that id, or nil.
func (v *Views) FindApplication(id yarn.ApplicationID) *view.Application {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if x := v.apps[id]; x != nil {
		return x.app
	}
	return nil
}

// freshen lets a reader see what has happened. Once the loop has ended nothing
// happens any more, and the last views stay true.
func (v *Views) freshen(parts engine.Part) { _ = v.loop.freshen(context.Background(), parts) }

// FindNode is the node with that id, or nil.
func (v *Views) FindNode(id yarn.NodeID) *view.Node {
	v.freshen(engine.Nodes)
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.nodes[id]
}

// Queues are the queues and the counts of the whole cluster.
func (v *Views) Queues() (*queue.Snapshot, view.Metrics) {
	v.freshen(engine.Queues)
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.queues, v.metrics
}

// Applications are all of them, by id.
func (v *Views) Applications() []*view.Application {
	v.mu.RLock()
	defer v.mu.RUnlock()
	out := make([]*view.Application, 0, len(v.apps))
	for _, x := range v.list {
		if x.app != nil {
			out = append(out, x.app)
		}
	}
	return out
}

// Nodes are all of them: those in use first, then by id.
func (v *Views) Nodes() []*view.Node {
	nodes, _ := v.LabelledNodes()
	return nodes
}

// LabelledNodes are Nodes, and the labels of the same moment.
func (v *Views) LabelledNodes() ([]*view.Node, *view.Labels) {
	v.freshen(engine.Nodes)
	v.mu.RLock()
	out := make([]*view.Node, 0, len(v.nodes))
	for _, n := range v.nodes {
		out = append(out, n)
	}
	labels := v.labels
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
	return out, labels
}

func inUse(n *view.Node) bool { return n.State.Usable() || n.State == yarn.NodeUnhealthy }
