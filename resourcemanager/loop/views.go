package loop

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Views are what readers see: each part as it was when it was published last. They are
// immutable, so readers need no lock and share the slices made from them.
type Views struct {
	version    uint64
	shown      [parts]moment    // up to which moment each part shows what happened
	asOf       [parts]time.Time // when that was
	apps       list[yarn.ApplicationID, *view.Application]
	containers list[yarn.ApplicationID, *view.AppContainers] // live ones, of the applications that have any
	nodes      list[yarn.NodeID, *view.Node]
	metrics    view.Metrics
	queues     *queue.Snapshot
	labels     *view.Labels

	allApps     func() []*view.Application
	liveByQueue func() map[string]view.LiveApps
	allNodes    func() []*view.Node
}

// parts is the number of parts in package view.
const parts = 5

// versions counts the views that were made in this process.
var versions atomic.Uint64

// Version differs from that of all other views in this process.
func (v *Views) Version() uint64 { return v.version }

// shows tells whether these parts show everything up to a moment.
func (v *Views) shows(p view.Part, m moment) bool {
	for i, shown := range v.shown {
		if p&(1<<i) != 0 && !shown.covers(m) {
			return false
		}
	}
	return true
}

// youngerThan tells whether these parts show everything that had happened at that time.
func (v *Views) youngerThan(p view.Part, t time.Time) bool {
	for i, asOf := range v.asOf {
		if p&(1<<i) != 0 && asOf.Before(t) {
			return false
		}
	}
	return true
}

// FindApplication is the application with that id, or nil.
func (v *Views) FindApplication(id yarn.ApplicationID) *view.Application {
	a, _ := v.apps.find(id)
	return a
}

// Containers are the live containers of an application; nil: it has none.
func (v *Views) Containers(id yarn.ApplicationID) *view.AppContainers {
	c, _ := v.containers.find(id)
	return c
}

// FindNode is the node with that id, or nil.
func (v *Views) FindNode(id yarn.NodeID) *view.Node {
	n, _ := v.nodes.find(id)
	return n
}

// Applications are all applications, by id, in a slice that all readers share.
func (v *Views) Applications() []*view.Application { return v.allApps() }

// LiveByQueue are the numbers of live applications by the paths of queues, in a map that all readers share.
func (v *Views) LiveByQueue() map[string]view.LiveApps { return v.liveByQueue() }

// Newest walks all applications, those that were submitted last first.
func (v *Views) Newest() iter.Seq[*view.Application] { return v.apps.best }

// Nodes are all nodes, those in use first, each group by id, in a slice that all
// readers share.
func (v *Views) Nodes() []*view.Node { return v.allNodes() }

// Labels are the labels of the cluster and of its nodes.
func (v *Views) Labels() *view.Labels { return v.labels }

// Queues are all queues.
func (v *Views) Queues() *queue.Snapshot { return v.queues }

// Metrics are the counts of the whole cluster.
func (v *Views) Metrics() view.Metrics { return v.metrics }

func inUse(n *view.Node) bool { return n.State.Usable() || n.State == yarn.NodeUnhealthy }

// inUseFirst are the nodes of a list in the order in which they are shown.
func inUseFirst(l *list[yarn.NodeID, *view.Node]) []*view.Node {
	out := l.all()
	slices.SortStableFunc(out, func(a, b *view.Node) int {
		switch {
		case inUse(a) == inUse(b):
			return 0
		case inUse(a):
			return -1
		}
		return 1
	})
	return out
}

// next are the views that will be published next. The engine fills them in; only the
// loop's goroutine uses them.
type next struct {
	shown      [parts]moment
	asOf       [parts]time.Time
	apps       draft[yarn.ApplicationID, *view.Application]
	containers draft[yarn.ApplicationID, *view.AppContainers]
	nodes      draft[yarn.NodeID, *view.Node]
	metrics    view.Metrics
	queues     *queue.Snapshot
	labels     *view.Labels
}

func newNext() next {
	n := next{queues: &queue.Snapshot{}, labels: &view.Labels{}}
	n.apps.id = func(a *view.Application) yarn.ApplicationID { return a.ID }
	n.apps.rank = func(a *view.Application) int64 { return a.SubmitTime }
	n.containers.id = func(c *view.AppContainers) yarn.ApplicationID { return c.Application }
	n.nodes.id = func(x *view.Node) yarn.NodeID { return x.ID }
	return n
}

// Application and the seven below implement engine.Publisher.
func (n *next) Application(a *view.Application) { n.apps.set(a) }
func (n *next) Node(x *view.Node)               { n.nodes.set(x) }
func (n *next) ForgetNode(id yarn.NodeID)       { n.nodes.remove(id) }
func (n *next) Labels(l *view.Labels)           { n.labels = l }
func (n *next) Counts(m view.Metrics)           { n.metrics = m }
func (n *next) Queues(q *queue.Snapshot)        { n.queues = q }

func (n *next) ForgetApplication(id yarn.ApplicationID) {
	n.apps.remove(id)
	n.containers.remove(id)
}

func (n *next) Containers(c *view.AppContainers) {
	if len(c.List) == 0 {
		n.containers.remove(c.Application)
		return
	}
	n.containers.set(c)
}

// views is a version of these for readers.
func (n *next) views() *Views {
	v := &Views{version: versions.Add(1), shown: n.shown, asOf: n.asOf, apps: n.apps.version(), containers: n.containers.version(), nodes: n.nodes.version(), metrics: n.metrics, queues: n.queues, labels: n.labels}
	v.allApps = sync.OnceValue(v.apps.all)
	v.liveByQueue = sync.OnceValue(func() map[string]view.LiveApps { return view.LiveByQueue(v.allApps()) })
	v.allNodes = sync.OnceValue(func() []*view.Node { return inUseFirst(&v.nodes) })
	return v
}
