// Package twin is a second CapacityScheduler for tests: slow and obvious. It
// keeps no sums, no orders and no caches. A World is what is known for certain,
// containers, asks, counters and what Apache remembers, and everything else is
// worked out from it each time it is asked for. It shares the configuration and
// Java's numbers with the scheduler that it is compared with, and nothing else.
package twin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

type resource = yarn.Resource

// World is everything that is known for certain.
type World struct {
	Config     *config.Capacity
	Labels     []Label // the default partition included
	Nodes      []*Node
	Root       *Queue
	Apps       []*App
	Containers []*Container
}

// Label is a partition.
type Label struct {
	Name      string
	Exclusive bool
	Gone      bool // it is no longer among the labels of the cluster
}

// Node is a node of the cluster. Name is what asks call it.
type Node struct {
	ID                yarn.NodeID
	Name, Rack, Label string
	Total             yarn.Resource
	Accepting         bool
}

// Queue is a queue, with its children in the order in which they are listed.
type Queue struct {
	Path     string
	Conf     *config.Queue
	Parent   *Queue
	Children []*Queue
	Dynamic  bool
	Shares   map[string]*Share  // by label; filled by Entitle
	Memory   map[string]*Memory // by label

	// Of leaves.
	IsLeaf     bool
	Users      []*User // in the order in which they came
	UsageRatio map[string]float32
	VisitLimit yarn.Resource // with which a walk last came by
	Killable   resource      // in the default partition; walks of this world do not know of it
	QueueLimit yarn.Resource // which limits of masters and headrooms are taken from
	// OldMasters are limits of masters in partitions that the queue may not use,
	// by label: Apache leaves them as they were, which is mostly none.
	OldMasters map[string]yarn.Resource
	// Kept are limits of users that are out of date: Apache does not work them
	// out anew when a user leaves who wants something.
	Kept map[Kept]yarn.Resource
	// KeptOfAll are limits with which all users shared the leaf, by label, where
	// nothing has happened since that Apache works them out anew for.
	KeptOfAll map[string]yarn.Resource
	// Refused is with which reservations a user was refused who had left by then.
	// Apache refuses it again when it has come back, with as much reserved or less.
	Refused map[Refused]yarn.Resource
	// Forgotten is what is counted for users who want something beyond what they
	// use, by label: what others used who left.
	Forgotten map[string]yarn.Resource
}

// Refused names who was refused, where and by which kind of walks.
type Refused struct {
	User string
	Kept
}

// Kept names a limit: of a partition, of walks that lend its room or do not.
type Kept struct {
	Label string
	Lent  bool
}

// Share is what a queue is entitled to in one partition.
type Share struct {
	Capacity, MaxCapacity, Absolute, AbsoluteMax float32
	Min, Max                                     yarn.Resource

	confMin, confMax resource
}

// Memory is what Apache does not forget of a queue in one partition: the weight
// as a fraction, and the fraction of the cluster, which stays where the queue
// would have none.
type Memory struct{ Normalized, Absolute float32 }

// User is one user of a leaf. Forgotten is what the leaf's record of the user
// has less or more than the user's containers, by label.
type User struct {
	Name            string
	Asking          bool
	Active, Pending int
	Ratio           map[string]float32
	Forgotten       map[string]yarn.Resource
}

// App is an application and its attempt.
type App struct {
	ID         yarn.ApplicationID
	Attempt    yarn.AttemptID
	User       string
	Queue      *Queue
	Priority   int32
	Start      int64
	Label      string // of the submission
	Unmanaged  bool
	Recovering bool

	Running, Runnable, Active, Waits bool
	Mastered                         bool // the master has its container, or needs none
	Asking                           bool // counted for its user
	AM                               yarn.Resource
	AMLabel                          string
	Counter                          int64 // of containers
	Keys                             []*Key
	Asked                            []string // labels that were ever asked for
	Avoid, AvoidForMaster            map[string]bool

	FairUsed, FairPending int64 // memory, as the fair order knows it
	Stale                 bool  // its place in a fair order is out of date

	Head *Queue // where a walk last came by the application, nil for nowhere
}

// Key is one priority and request number of an application.
type Key struct {
	Priority  int32
	RequestID int64
	Label     string
	Any       *Row // nil when nothing is outstanding
	Rows      []Row

	Opportunities, Missed, Rereserved int32
	Reservations                      []*Container // by age
}

// Row is what is asked for at one host or rack, or anywhere.
type Row struct {
	Name  string
	Count int32
	Size  yarn.Resource
	Relax bool
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
	ID        yarn.ContainerID
	App       *App
	Node      *Node
	Resource  yarn.Resource
	Priority  int32
	RequestID int64
	Label     string
	Locality  Locality
	AM        bool
	Reserved  bool
	Live      bool // counted for its queue
	Held      bool // takes room on its node
	Uncounted bool // opportunistic
	Killable  bool // goes when somebody needs its room
	Created   int64
}

// Leaves are all leaves of the tree.
func (w *World) Leaves() []*Queue {
	var out []*Queue
	w.Root.each(func(q *Queue) {
		if q.IsLeaf {
			out = append(out, q)
		}
	})
	return out
}

// Queues are all queues of the tree, parents first.
func (w *World) Queues() []*Queue {
	var out []*Queue
	w.Root.each(func(q *Queue) { out = append(out, q) })
	return out
}

func (q *Queue) each(do func(*Queue)) {
	do(q)
	for _, c := range q.Children {
		c.each(do)
	}
}

func (q *Queue) below(top *Queue) bool {
	for ; q != nil; q = q.Parent {
		if q == top {
			return true
		}
	}
	return false
}

// Cluster is the sum of all nodes.
func (w *World) Cluster() (sum yarn.Resource) {
	for _, n := range w.Nodes {
		sum = sum.Add(n.Total)
	}
	return sum
}

// Partition is the sum of the nodes of a partition.
func (w *World) Partition(label string) (sum yarn.Resource) {
	for _, n := range w.Nodes {
		if n.Label == label {
			sum = sum.Add(n.Total)
		}
	}
	return sum
}

// Free is what no container holds on the node.
func (w *World) Free(n *Node) yarn.Resource {
	free := n.Total
	for _, c := range w.Containers {
		if c.Node == n && c.Held {
			free = free.Sub(c.Resource)
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

func (w *World) sum(label string, of func(c *Container) bool) (sum resource) {
	for _, c := range w.Containers {
		if !c.Uncounted && (c.Live || c.Reserved) && c.Node.Label == label && of(c) {
			sum = sum.Add(c.Resource)
		}
	}
	return sum
}

// Used is what the queue uses in a partition; reservations count.
func (w *World) Used(q *Queue, label string) yarn.Resource {
	return w.sum(label, func(c *Container) bool { return c.App.Queue.below(q) })
}

// Reserved is the part of it that is reservations.
func (w *World) Reserved(q *Queue, label string) yarn.Resource {
	return w.sum(label, func(c *Container) bool { return c.Reserved && c.App.Queue.below(q) })
}

// UsedBy is what a user of a leaf uses in a partition, as the leaf knows it.
func (w *World) UsedBy(q *Queue, u *User, label string) yarn.Resource {
	return u.Forgotten[label].Add(w.sum(label, func(c *Container) bool { return c.App.Queue == q && c.App.User == u.Name }))
}

// ReservedBy is what an application has reserved in a partition.
func (w *World) ReservedBy(a *App, label string) yarn.Resource {
	return w.sum(label, func(c *Container) bool { return c.Reserved && c.App == a })
}

// PendingOf is what an application still wants in a partition.
func (a *App) PendingOf(label string) (sum yarn.Resource) {
	for _, k := range a.Keys {
		if a.Running && k.Any != nil && k.Label == label {
			for range k.Any.Count {
				sum = sum.Add(k.Any.Size)
			}
		}
	}
	return sum
}

// Pending is what all applications of the queue still want in a partition.
func (w *World) Pending(q *Queue, label string) (sum yarn.Resource) {
	for _, a := range w.Apps {
		if a.Queue.below(q) {
			sum = sum.Add(a.PendingOf(label))
		}
	}
	return sum
}

// MasterUse is what the masters of active applications of a leaf use, those of
// one user or, with "", of all.
func (w *World) MasterUse(q *Queue, user, label string) (sum yarn.Resource) {
	for _, a := range w.Apps {
		if a.Active && a.Queue == q && a.AMLabel == label && (user == "" || a.User == user) {
			sum = sum.Add(a.AM)
		}
	}
	return sum
}

// User is the leaf's record of the user, or nil.
func (q *Queue) User(name string) *User {
	for _, u := range q.Users {
		if u.Name == name {
			return u
		}
	}
	return nil
}

func (k *Key) row(name string) *Row {
	for i := range k.Rows {
		if k.Rows[i].Name == name {
			return &k.Rows[i]
		}
	}
	return nil
}

func (w *World) exclusive(label string) bool {
	for _, l := range w.Labels {
		if l.Name == label {
			return l.Exclusive
		}
	}
	return true
}

func none(r resource) bool { return r == resource{} }

// Lines are all that is known, in words and in a fixed order, without what is
// worked out.
func (w *World) Lines() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, n := range w.Nodes {
		add("node %v %q %v accepting %v", n.ID, n.Label, n.Total, n.Accepting)
	}
	for _, c := range w.Containers {
		add("container %v on %v, %v, priority %d, request %d, label %q, locality %d, master %v, reserved %v, live %v, held %v",
			c.ID, c.Node.ID, c.Resource, c.Priority, c.RequestID, c.Label, c.Locality, c.AM, c.Reserved, c.Live, c.Held)
	}
	for _, a := range w.Apps {
		head := ""
		if a.Head != nil {
			head = a.Head.Path
		}
		add("%v in %s, active %v, master placed %v, asking %v, counter %d, fair %d %d %v, seen in %q", a.Attempt, a.Queue.Path, a.Active, a.Mastered,
			a.Asking, a.Counter, a.FairUsed, a.FairPending, a.Stale, head)
		for _, k := range a.Keys {
			out = append(out, k.line(a))
		}
	}
	for _, q := range w.Leaves() {
		// With what a walk last came by is nothing that anybody could notice.
		add("leaf %s, limit %v, ratios %v", q.Path, q.QueueLimit, q.UsageRatio)
		for _, u := range q.Users {
			add("user %s of %s, asking %v, active %d, pending %d, ratios %v, forgotten %v", u.Name, q.Path, u.Asking, u.Active, u.Pending, u.Ratio, u.Forgotten)
		}
	}
	slices.Sort(out)
	return out
}

func (k *Key) line(a *App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v wants at %d/%d", a.Attempt, k.Priority, k.RequestID)
	if k.Any != nil {
		fmt.Fprintf(&b, " label %q any %+v", k.Label, *k.Any)
	}
	rows := slices.Clone(k.Rows)
	slices.SortFunc(rows, func(x, y Row) int { return strings.Compare(x.Name, y.Name) })
	fmt.Fprintf(&b, " places %+v, opportunities %d, missed %d, reserved again %d, reservations", rows, k.Opportunities, k.Missed, k.Rereserved)
	for _, c := range k.Reservations {
		fmt.Fprintf(&b, " %v", c.ID)
	}
	return b.String()
}

// Difference is the first thing that two worlds do not agree on, or "".
func Difference(want, got *World) string {
	a, b := want.Lines(), got.Lines()
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return "not expected: " + b[i]
		case i >= len(b):
			return "missing: " + a[i]
		case a[i] != b[i]:
			return "expected: " + a[i] + "\n     but: " + b[i]
		}
	}
	return ""
}
