// Package fairtwin is a second FairScheduler for tests: slow and obvious. It keeps nodes, applications, containers and queues in plain lists, adds up
// what it needs each time it needs it, and sorts at every walk. What it remembers besides is what the FairScheduler's decisions depend on: the demands
// and shares of the last update, and how far from where it was asked for a container may be. It shares the configuration, the reader of allocation
// files and Java's numbers with the scheduler that it is compared with, and nothing else.
package fairtwin

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

type resource = yarn.Resource

// World is everything there is.
type World struct {
	Config     *config.Fair
	Now        int64
	Nodes      []*Node // in the order in which they came
	Root       *Queue
	Apps       []*App // in the order in which they came
	Containers []*Container

	free yarn.Resource // of the cluster, when a heartbeat or a container last ended, or nodes changed; limits on masters depend on it
}

// Node is a node of the cluster.
type Node struct {
	ID         yarn.NodeID
	Name, Rack string // Name is what asks call it
	Total      yarn.Resource
	Closed     bool // it takes nothing, because it drains
}

// Queue is a queue.
type Queue struct {
	Path     string
	Parent   *Queue
	Children []*Queue // in the order in which they were made
	Conf     *allocation.Queue
	Policy   allocation.Policy // that of Conf, unless a refresh could not give it to all
	Leaf     bool
	Dynamic  bool

	Demand, FairShare, SteadyShare yarn.Resource // of the last update

	lastAtMin int64 // when the leaf last had its minimum, or did not want it
}

// App is an application with its attempt.
type App struct {
	ID        yarn.ApplicationID
	User      string
	Queue     *Queue
	Unmanaged bool

	Running, Runnable bool
	Start             int64 // of the attempt
	Attempt           yarn.AttemptID
	Number            int64 // of its last container
	entered           int   // its place among those that became runnable, and among those that did not
	Mastered          bool
	AM                yarn.Resource // what its master has
	Keys              []*Key
	Avoid, AvoidAM    map[string]bool
	avoided           []*Node // as of the last call that ended
	avoidsOthers      bool    // since then

	Demand, FairShare yarn.Resource // of the last update
	lastAtFair        int64         // when it last had its share, or did not want it

	FairStarved, MinStarved yarn.Resource // what it lacks of its share, and its part in what its leaf lacks of the minimum
}

// Key is what an application asks for under one priority and request number.
type Key struct {
	Priority  int32
	RequestID int64
	Rows      []*Row

	seen  int // nodes since the level last changed
	known bool
	level Locality
}

// Row is what a key asks for at one place, AnyHost for any.
type Row struct {
	Where string
	Count int32
	Relax bool
	Size  yarn.Resource
}

// Locality is how near a container is to what was asked for.
type Locality int

// The localities.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch
)

// Container is a container or a reservation.
type Container struct {
	ID       yarn.ContainerID
	App      *App
	Node     *Node
	Size     yarn.Resource
	AM       bool
	Reserved bool
	Live     bool // its application still has it
	Held     bool // it occupies its node
	Launched bool

	key *Key
}

// Kind is what a decision did.
type Kind int

// The kinds of decisions.
const (
	Allocated Kind = iota
	AllocatedFromReserved
	Reserved
	Unreserved
)

// Decision is one thing that an offer did.
type Decision struct {
	Kind     Kind
	ID       yarn.ContainerID
	Node     string
	Size     yarn.Resource
	Locality Locality // of what was allocated
	AM       bool
}

// New is a world without nodes and applications.
func New(cfg *config.Fair) *World {
	w := &World{Config: cfg}
	w.Root = &Queue{Path: "root", Conf: cfg.Root, Policy: cfg.Root.Policy}
	w.converge()
	w.steady()
	return w
}

func (w *World) types() int { return len(w.Config.Cluster.Types) }

// Cluster is the sum of all nodes.
func (w *World) Cluster() (sum yarn.Resource) {
	for _, n := range w.Nodes {
		sum = sum.Add(n.Total)
	}
	return sum
}

// Free is what no container holds on the node.
func (w *World) Free(n *Node) yarn.Resource {
	free := n.Total
	for _, c := range w.Containers {
		if c.Node == n && c.Held {
			free = free.Sub(c.Size)
		}
	}
	return free
}

// ReservationOn is the reservation on the node, or nil.
func (w *World) ReservationOn(n *Node) *Container {
	for _, c := range w.Containers {
		if c.Node == n && c.Reserved {
			return c
		}
	}
	return nil
}

// Used is what the queue's applications have; reservations do not count.
func (w *World) Used(q *Queue) (sum yarn.Resource) {
	for _, c := range w.Containers {
		if c.Live && c.App.Queue.Below(q) {
			sum = sum.Add(c.Size)
		}
	}
	return sum
}

// ReservedBy is what the queue's applications have reserved.
func (w *World) ReservedBy(q *Queue) (sum yarn.Resource) {
	for _, c := range w.Containers {
		if c.Reserved && c.App.Queue.Below(q) {
			sum = sum.Add(c.Size)
		}
	}
	return sum
}

// Usage is what the application has.
func (w *World) Usage(a *App) (sum yarn.Resource) {
	for _, c := range w.Containers {
		if c.Live && c.App == a {
			sum = sum.Add(c.Size)
		}
	}
	return sum
}

// AMUsed is what masters of the leaf have.
func (w *World) AMUsed(q *Queue) (sum yarn.Resource) {
	for _, a := range w.Apps {
		if a.Queue == q && a.Running && a.Runnable {
			sum = sum.Add(a.AM)
		}
	}
	return sum
}

// Runnable is how many applications of the queue run.
func (w *World) Runnable(q *Queue) (n int32) {
	for _, a := range w.Apps {
		if a.Running && a.Runnable && a.Queue.Below(q) {
			n++
		}
	}
	return n
}

// Waiting is how many applications of the queue are held back by limits on how many run.
func (w *World) Waiting(q *Queue) (n int32) {
	for _, a := range w.Apps {
		if a.Running && !a.Runnable && a.Queue.Below(q) {
			n++
		}
	}
	return n
}

// running are the leaf's applications that run, in the order in which they came to.
func (w *World) running(q *Queue) []*App {
	var out []*App
	for _, a := range w.Apps {
		if a.Queue == q && a.Running && a.Runnable {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b *App) int { return a.entered - b.entered })
	return out
}

func (k *Key) row(where string) *Row {
	for _, r := range k.Rows {
		if r.Where == where {
			return r
		}
	}
	return nil
}

func (k *Key) count(where string) int32 {
	if r := k.row(where); r != nil {
		return r.Count
	}
	return 0
}

// size is that of what is asked for anywhere.
func (k *Key) size() resource { return k.row(yarn.AnyHost).Size }

// relaxed tells whether a farther place than that will do.
func (k *Key) relaxed(where string) bool {
	r := k.row(where)
	return r == nil || r.Relax
}

// asking are the keys with something outstanding, in the order in which they are served.
func (a *App) asking() []*Key {
	var out []*Key
	for _, k := range a.Keys {
		if k.count(yarn.AnyHost) > 0 {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(x, y *Key) int {
		if x.Priority != y.Priority {
			return int(x.Priority) - int(y.Priority)
		}
		return int(x.RequestID - y.RequestID)
	})
	return out
}

// pending is what the application asks for.
func (a *App) pending() (sum resource) {
	for _, k := range a.asking() {
		sum = sum.Add(times(k.size(), int64(k.count(yarn.AnyHost))))
	}
	return sum
}

func (a *App) key(priority int32, request int64) *Key {
	for _, k := range a.Keys {
		if k.Priority == priority && k.RequestID == request {
			return k
		}
	}
	k := &Key{Priority: priority, RequestID: request}
	a.Keys = append(a.Keys, k)
	return k
}

// Asks tells whether the application asks for something.
func (a *App) Asks() bool { return len(a.asking()) > 0 }

// Sizes are the sizes of what it asks for, in the order in which it is served.
func (a *App) Sizes() (out []yarn.Resource) {
	for _, k := range a.asking() {
		out = append(out, k.size())
	}
	return out
}
