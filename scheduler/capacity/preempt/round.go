package preempt

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/shortcut"
	"github.com/heddle-project/heddle/yarn"
)

// Rule is why a container is taken.
type Rule uint8

// The rules, each of a selector.
const (
	ForPriority  Rule = iota // a queue of higher priority that is below its guarantee has reserved the node
	ForReserved              // its queue has more than it is guaranteed, and its node is held for somebody else
	ForGuarantee             // its queue has more than it is guaranteed, others have less and ask for it
	ForBalance               // queues share what is beyond their guarantees
	WithinQueue              // another application of the queue comes before it, or another user has less
)

func (r Rule) String() string {
	return [...]string{"queue-priority", "reservation", "guarantee", "balance", "within-queue"}[r]
}

// Choice is a container that should go.
type Choice struct {
	Ref  cluster.ContainerRef
	ID   yarn.ContainerID
	App  cluster.AppRef
	Rule Rule
	For  Gainer
}

// Gainer is who is to get what a container has: a leaf, and the application there that comes first. Either may be unknown.
type Gainer struct {
	Queue string // its path
	App   yarn.ApplicationID
}

// Move is a reservation and the node that it should hold.
type Move struct {
	Choice
	To   cluster.NodeRef
	Node yarn.NodeID // of To
}

// Part is a partition and its queues.
type Part struct {
	Part  part
	Label string
	Total resource
	Root  *Queue

	underserved []*Queue // those that were offered something, or waited still when all was given out, in the order in which that was first found
	noted       map[*Queue]bool
}

// Round is one round of preemption. The zero value is not of use; make it with New.
type Round struct {
	// Chosen are the containers that should go, and Unreserved the reservations, which go at once. compat: a reservation may be in both, and has
	// notice, then.
	Chosen     []Choice
	Unreserved []Choice
	// Moved are reservations that should hold other nodes, each but once. The rest of the round sees them there.
	Moved []Move

	core   *core.Core
	calc   measure.Calculator
	set    *config.Preemption
	parts  []Part // in the order in which Apache goes through them
	leaves []*leaf
	byPath map[string]*leaf
	nodes  []cluster.NodeRef // in the order in which they came, where selectors go through them
	total  resource          // of the cluster
	budget resource          // what may still be taken in this round (total_preemption_per_round)
	chosen shortcut.Bits     // by container
	// chosenOf is the indexes of Chosen by application, when the selector within leaves begins.
	chosenOf map[cluster.AppRef][]int
	touched  map[cluster.NodeRef]bool     // by priorities of queues
	movedTo  map[cluster.NodeRef]int      // indexes of Moved, by the node that is to be held
	movedOf  map[cluster.ContainerRef]int // and by the reservation

	claims [][]claim // of the running selector between queues, by the index of parts

	todo []step // what is left to do, the next one last
	cost int    // of the running step
	head []*Queue
}

// step is a part of a round that is done at once.
type step func()

// leaf is a leaf in all partitions, by the index of Round.parts.
type leaf struct {
	Leaf
	in []*Queue
}

// New begins a round. The first part is the default partition; all have the same queues.
func New(c *core.Core, set *config.Preemption, parts []Part) *Round {
	r := &Round{core: c, calc: c.Calc, set: set, total: c.Books.Total, touched: map[cluster.NodeRef]bool{},
		movedTo: map[cluster.NodeRef]int{}, movedOf: map[cluster.ContainerRef]int{}}
	r.budget = measure.Scale(r.total, float64(set.PerRound))
	for _, i := range order(parts, func(p *Part) string { return p.Label }) {
		p := parts[i]
		p.noted = map[*Queue]bool{}
		r.parts = append(r.parts, p)
	}
	roots := make([]*Queue, len(r.parts))
	for i := range r.parts {
		roots[i] = r.parts[i].Root
	}
	r.leaves, r.byPath = leavesOf(roots), map[string]*leaf{}
	for _, l := range r.leaves {
		r.byPath[l.in[0].Path] = l
	}
	if set.ByQueuePriority || set.ForReserved {
		r.nodes = c.Books.ByArrival()
	}
	var steps []step
	for _, l := range r.leaves {
		steps = append(steps, func() { r.count(l) })
	}
	steps = append(steps, func() {
		for i := range r.parts {
			addUp(r.parts[i].Root)
		}
		r.cost += len(r.leaves) * len(r.parts) / 8
	})
	if set.ByQueuePriority {
		steps = append(steps, r.forPriority()...)
	}
	if set.ForReserved {
		steps = append(steps, r.forReserved()...)
	}
	steps = append(steps, r.between(sharing{withReserved: set.CountReserved}, ForGuarantee)...)
	if set.Balance {
		steps = append(steps, r.between(sharing{balance: true}, ForBalance)...)
	}
	if set.Within {
		steps = append(steps, r.within()...)
	}
	r.then(steps...)
	return r
}

// order is the indexes of a list in the order of a java.util.HashSet of names.
//
// compat: Apache keeps the names of partitions and of leaves so.
func order[T any](list []T, name func(*T) string) []int {
	names := make([]string, len(list))
	for i := range list {
		names[i] = name(&list[i])
	}
	return javanum.HashOrder(names)
}

// leavesOf are the leaves below a queue, which is given as it is in each partition.
func leavesOf(in []*Queue) []*leaf {
	if in[0].childless() {
		if in[0].Leaf == nil {
			return nil
		}
		return []*leaf{{in[0].Leaf, slices.Clone(in)}}
	}
	var below []*leaf
	children := make([]*Queue, len(in))
	for i := range in[0].Children {
		for p := range in {
			children[p] = in[p].Children[i]
		}
		below = append(below, leavesOf(children)...)
	}
	out := make([]*leaf, 0, len(below))
	for _, i := range order(below, func(l **leaf) string { return (*l).in[0].Path }) {
		out = append(out, below[i])
	}
	return out
}

// Step does about as much of the round as the budget says, in containers, applications or queues looked at, and tells how much that was and whether
// the round is over.
func (r *Round) Step(budget int) (used int, done bool) {
	for len(r.todo) > 0 && used < budget {
		next := r.todo[len(r.todo)-1]
		r.todo[len(r.todo)-1] = nil
		r.todo = r.todo[:len(r.todo)-1]
		r.cost = 1
		next()
		used += r.cost
	}
	return used, len(r.todo) == 0
}

// then has steps done next, in their order.
func (r *Round) then(steps ...step) {
	for _, s := range slices.Backward(steps) {
		r.todo = append(r.todo, s)
	}
}

// noteUnderserved notes a queue; see Part.underserved.
func (r *Round) noteUnderserved(q *Queue, p part) {
	for i := range r.parts {
		if in := &r.parts[i]; in.Part == p && !in.noted[q] {
			in.noted[q] = true
			in.underserved = append(in.underserved, q)
		}
	}
}

// count finds out what the applications of a leaf ask for, as far as the limits of their users let them have it.
func (r *Round) count(l *leaf) {
	apps := l.Active()
	for i, q := range l.in {
		p := r.parts[i].Part
		q.pending = r.asked(l, apps, p, false)
		q.pendingUnreserved = r.asked(l, apps, p, true)
	}
	r.cost += 3 * len(apps) * len(l.in)
}

func (r *Round) asked(l *leaf, apps []*core.App, p part, withoutReserved bool) (sum resource) {
	rooms := map[string]*resource{}
	for _, a := range apps {
		room := rooms[a.User]
		if room == nil {
			left := measure.Most(l.UserLimit(a.User, p, false).Sub(l.UserUsed(a.User, p)), resource{})
			room = &left
			rooms[a.User] = room
		}
		asked := a.Wants.Pending(p)
		if withoutReserved {
			asked = asked.Sub(a.Shares[p].Reserved)
		}
		asked = measure.Least(*room, measure.Most(asked, resource{}))
		sum.Increase(&asked)
		*room = room.Sub(asked)
	}
	return sum
}

// addUp adds up what is asked for below.
func addUp(q *Queue) {
	for _, c := range q.Children {
		addUp(c)
		q.pending.Increase(&c.pending)
		q.pendingUnreserved.Increase(&c.pendingUnreserved)
	}
}
