package preempt

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Preemption for reservations: where a node is held for a container, just so many containers go from it that the container fits.

// quotas are what may still be taken from leaves, by path and by the index of Round.parts; nil: nothing.
type quotas map[string][]*resource

// forReserved is the steps of that selector.
func (r *Round) forReserved() []step {
	var left quotas
	steps := append(r.shareOut(sharing{withReserved: true}), func() { left = r.quotas() })
	var nodes []candidate
	steps = append(steps, r.overNodes(func(ref cluster.NodeRef) {
		if cost, _, ok := r.makeRoom(ref, left, true); ok {
			nodes = append(nodes, candidate{ref, cost})
		}
	})...)
	return append(steps, func() {
		slices.SortStableFunc(nodes, func(a, b candidate) int { return javanum.Compare(float64(a.cost), float64(b.cost)) })
		steps := make([]step, len(nodes))
		for i, n := range nodes {
			steps[i] = func() {
				if _, victims, ok := r.makeRoom(n.node, left, false); ok {
					for _, ref := range victims {
						r.choose(ref, ForReserved, r.holder(n.node))
					}
				}
			}
		}
		r.then(steps...)
	})
}

// candidate is a node and what it costs to make room there: what has to go, as a multiple of the reservation.
type candidate struct {
	node cluster.NodeRef
	cost float32
}

// nodesAtOnce is how many nodes one step looks at.
const nodesAtOnce = 500

// overNodes is the steps of a look at all nodes that are held for a container.
func (r *Round) overNodes(look func(cluster.NodeRef)) (steps []step) {
	for some := range slices.Chunk(r.nodes, nodesAtOnce) {
		steps = append(steps, func() {
			for _, ref := range some {
				if r.core.Books.Node(ref).Member && r.reservedOn(ref) >= 0 {
					look(ref)
				}
			}
			r.cost += nodesAtOnce / 8
		})
	}
	return steps
}

// quotas are what is to be taken from each leaf.
func (r *Round) quotas() quotas {
	left := quotas{}
	for _, l := range r.leaves {
		list := make([]*resource, len(l.in))
		for i, q := range l.in {
			if !q.Disabled && r.calc.Positive(&r.total, &q.obtain) {
				most := q.obtain
				list[i] = &most
			}
		}
		left[l.in[0].Path] = list
	}
	r.cost += len(r.leaves) * len(r.parts) / 8
	return left
}

// running are the containers that run on a node, or will, those included that were ended and whose room the node has yet to give back: they make
// room, too.
func (r *Round) running(ref cluster.NodeRef) []cluster.ContainerRef {
	all := r.core.Books.OnNode(ref, r.core.Books.Node(ref).Containers())
	r.cost += len(all)
	return slices.DeleteFunc(all, func(c cluster.ContainerRef) bool {
		book := r.core.Container(c)
		return book.Reserved || book.Execution != yarn.Guaranteed
	})
}

// holder is for whom a node is held.
func (r *Round) holder(ref cluster.NodeRef) Gainer {
	a := r.core.App(r.core.Container(r.reservedOn(ref)).App)
	return Gainer{Queue: a.Leaf.Path, App: a.ID}
}

// makeRoom finds the containers that have to go for what a node is held for, the youngest first: none if it fits already, or if not enough may be
// taken. With dryRun it takes nothing off the quotas.
//
// compat: where not enough can be taken the round has spent its budget all the same.
func (r *Round) makeRoom(ref cluster.NodeRef, left quotas, dryRun bool) (cost float32, victims []cluster.ContainerRef, ok bool) {
	n, reserved := r.core.Books.Node(ref), r.reservedOn(ref)
	if reserved < 0 {
		return 0, nil, false
	}
	size, room := r.core.Container(reserved).Resource, n.Free()
	if r.set.Lazy {
		room = r.core.Books.RoomByKilling(ref)
	}
	i := r.index(n.Part)
	if i < 0 || r.calc.FitsIn(&size, &room) {
		return 0, nil, false
	}
	list := r.running(ref)
	slices.SortFunc(list, func(a, b cluster.ContainerRef) int { return r.core.Container(b).ID.Compare(r.core.Container(a).ID) })
	var sum resource
	for _, c := range list {
		book := r.core.Container(c)
		if r.set.Lazy && book.Killable || book.AM || r.young(book) || !r.spend(left[r.core.App(book.App).Leaf.Path], i, &book.Resource, dryRun) {
			continue
		}
		if !r.chosen.Has(int(c)) {
			victims = append(victims, c)
			sum.Increase(&book.Resource)
		}
		room.Increase(&book.Resource)
		if r.calc.FitsIn(&size, &room) {
			return r.calc.Ratio(&sum, &size), victims, true
		}
	}
	if !dryRun {
		for _, c := range victims {
			book := r.core.Container(c)
			left[r.core.App(book.App).Leaf.Path][i].Increase(&book.Resource)
		}
	}
	return 0, nil, false
}

// spend takes an amount off what may be taken from a leaf and in the round, if both allow for it. With dryRun it only tells whether they do.
func (r *Round) spend(left []*resource, i int, size *resource, dryRun bool) bool {
	if left == nil || left[i] == nil || !r.calc.FitsIn(size, left[i]) || !r.calc.FitsIn(size, &r.budget) {
		return false
	}
	if !dryRun {
		*left[i] = left[i].Sub(*size)
		r.budget = r.budget.Sub(*size)
	}
	return true
}

// Preemption by priority of queues: a queue below its guarantee gets room for what it has reserved for a while from queues of lower priority,
// whatever these are guaranteed.

// forPriority is the steps of that selector.
func (r *Round) forPriority() []step {
	var found []Choice
	steps := r.overNodes(func(ref cluster.NodeRef) {
		if c := r.core.Books.Node(ref).Reserved; r.outranksAny(r.leafOf(c)) {
			found = append(found, r.choice(c, ForPriority, Gainer{}))
		}
	})
	return append(steps, func() {
		var waiting []cluster.ContainerRef
		for i := range found {
			if r.waits(&found[i]) {
				waiting = append(waiting, found[i].Ref)
			}
		}
		r.byRank(waiting)
		gained := map[*Queue]*resource{}
		steps := make([]step, len(waiting))
		for i, ref := range waiting {
			c := r.choice(ref, ForPriority, Gainer{})
			steps[i] = func() {
				if r.waits(&c) {
					r.pressFor(&c, gained)
				}
			}
		}
		r.then(steps...)
	})
}

// waits tells whether it is still a reservation.
func (r *Round) waits(c *Choice) bool {
	book := r.alive(c)
	return book != nil && book.Reserved
}

// leafOf is the leaf of a container in the default partition, or nil.
func (r *Round) leafOf(ref cluster.ContainerRef) *Queue {
	if l := r.byPath[r.core.App(r.core.Container(ref).App).Leaf.Path]; l != nil {
		return l.in[0]
	}
	return nil
}

// outranks tells whether the first leaf may take from the second: where their ways from the root part, its own has the higher priority.
func outranks(a, b *Queue) bool {
	if a == nil || b == nil || a == b {
		return false
	}
	wayA, wayB := a.way(), b.way()
	for i := 0; i < min(len(wayA), len(wayB)); i++ {
		if wayA[i] != wayB[i] {
			return wayA[i].Priority > wayB[i].Priority
		}
	}
	return false
}

// way is the queues from the root to this one.
func (q *Queue) way() (out []*Queue) {
	for ; q != nil; q = q.Up {
		out = append(out, q)
	}
	slices.Reverse(out)
	return out
}

// outranksAny tells whether there is a leaf that the leaf may take from.
func (r *Round) outranksAny(q *Queue) bool {
	for ; q != nil && q.Up != nil; q = q.Up {
		for _, c := range q.Up.Children {
			if c.Priority < q.Priority && c.hasLeaf() {
				return true
			}
		}
	}
	return false
}

func (q *Queue) hasLeaf() bool {
	return q.Leaf != nil || slices.ContainsFunc(q.Children, (*Queue).hasLeaf)
}

// byRank orders containers: those of leaves that may take from the others' first, else the oldest.
//
// compat: this is no strict order where some leaves have no rank among each other; Apache sorts by the same comparison, so a long list may come out
// in another order.
func (r *Round) byRank(list []cluster.ContainerRef) {
	slices.SortStableFunc(list, func(x, y cluster.ContainerRef) int {
		a, b := r.leafOf(x), r.leafOf(y)
		switch {
		case outranks(a, b):
			return -1
		case outranks(b, a):
			return 1
		}
		return cmp.Compare(r.core.Container(x).CreatedWall, r.core.Container(y).CreatedWall)
	})
}

// pressFor makes room for what a node has been held for long enough, if its queue is below its guarantee. Where that is not possible it may look for
// another node. gained is what queues were promised so far.
func (r *Round) pressFor(reserved *Choice, gained map[*Queue]*resource) {
	book := r.core.Container(reserved.Ref)
	if r.age(book) < r.set.ReservedDelay {
		return
	}
	n := r.core.Books.Node(book.Node)
	q := r.queueOf(r.core.App(book.App), n.Part)
	if q == nil {
		return
	}
	has := q.Used.Sub(q.Reserved)
	if more := gained[q]; more != nil {
		has = has.Add(*more)
	}
	if !r.calc.Less(&r.total, &has, &q.Guaranteed) || r.touched[book.Node] {
		return
	}
	victims, ok := r.press(book, book.Node)
	if !ok {
		if r.set.MoveReserved {
			r.lookElsewhere(reserved)
		}
		return
	}
	r.touched[book.Node] = true
	if gained[q] == nil {
		gained[q] = &resource{}
	}
	gained[q].Increase(&book.Resource)
	for _, ref := range victims {
		r.choose(ref, ForPriority, r.holder(book.Node))
		r.budget = r.budget.Sub(r.core.Container(ref).Resource)
	}
}

// age is how long ago a container was reserved. compat: recordings take no time.
func (r *Round) age(c *cluster.Container) int64 {
	if r.core.AsApache {
		return 0
	}
	return r.core.Now.Wall - c.CreatedWall
}

// press finds the containers of leaves of lower priority that have to go from a node for what it is held for, or would be.
//
// compat: killable ones too, which have notice anew.
func (r *Round) press(reserved *cluster.Container, node cluster.NodeRef) (victims []cluster.ContainerRef, ok bool) {
	n := r.core.Books.Node(node)
	lacking, from := reserved.Resource.Sub(n.Free()), r.byPath[r.core.App(reserved.App).Leaf.Path].in[0]
	list := r.running(node)
	r.byRank(list)
	for _, ref := range list {
		if r.chosen.Has(int(ref)) {
			lacking = lacking.Sub(r.core.Container(ref).Resource)
		}
	}
	nothing, allowed := resource{}, r.budget
	if r.calc.FitsIn(&lacking, &nothing) {
		return nil, true
	}
	for _, ref := range list {
		c := r.core.Container(ref)
		if r.chosen.Has(int(ref)) || c.AM || r.young(c) || !outranks(from, r.leafOf(ref)) {
			continue
		}
		if !r.calc.Less(&r.total, &allowed, &c.Resource) {
			allowed, lacking = allowed.Sub(c.Resource), lacking.Sub(c.Resource)
			victims = append(victims, ref)
		}
		if r.calc.FitsIn(&lacking, &nothing) {
			return victims, true
		}
	}
	return nil, false
}
