package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// limits are what a walk hands from each queue to those below it.
type limits struct {
	limit     resource // what the queue may use, seen from above
	headroom  resource // what is left of it, for the children of a parent or the applications of a leaf
	blocked   resource // what is kept for children of a parent that wait for more than there is
	unreserve resource // what an application must give up first, found by userMay
	below     *limits  // of the children of a parent
}

// skip says how a walk ended, and why it brought nothing.
type skip uint8

const (
	skipNone  skip = iota
	skipOther      // the next application may get something
	skipQueue      // the queue's limit is in the way: room is kept for it
	skipKey        // the next key of the application may get something
	over           // the walk ends here: round.found is what it proposes
)

// outcome is what a walk proposes.
type outcome struct {
	kind  core.Outcome
	place int32 // of the application in the lineup, unless From is set
	app   *app  // App, as this policy has it
	core.Placement
}

// round is one walk for one node.
type round struct {
	s     *Scheduler
	node  NodeRef
	book  *cluster.NodeBook
	part  part
	asks  part // that of the asks that the walk serves
	label string
	free  resource // what the node has left
	mode  mode
	// local counts what depended on the node or left something behind: a walk
	// without any of it would end the same way on every node.
	local   int
	keys    int            // of asks that were passed by
	waiting bool           // somebody was passed by who comes nearer to its turn by that
	found   outcome        // what the walk proposes
	taken   []ContainerRef // killable containers of the node that have to go for it
	why     *explanation   // of a query; nil: nobody asks
}

// Try is one walk, or the try to serve a reservation.
func (s *Scheduler) Try(ref NodeRef, out []cluster.Decision) (core.Try, []cluster.Decision) {
	n := s.Books.Node(ref)
	if n.Reserved >= 0 {
		return s.offerReserved(ref, n, out)
	}
	if n.Part == 0 && s.endsAsBefore(0, respect) {
		return core.Try{AnyNode: true}, out
	}
	r := &round{}
	r.begin(s, ref, n)
	room := r.free
	if n.Killable > 0 {
		room = s.Books.RoomByKilling(ref)
	}
	if !s.Calc.FitsIn(&s.Min, &room) {
		// The node may have less than nothing of one resource, and of others enough.
		return core.Try{AnyNode: !s.Calc.HasRoom(&room, &s.Min) || !r.wants(s.tree.Root)}, out
	}
	for m := respect; ; m = ignore {
		s.shortcuts.begin(walkKind{r.part, m})
		r.walk(m)
		out = s.commit(r, &r.found, out)
		if r.found.kind != core.Nothing || !r.lends() || m == ignore {
			return core.Try{Outcome: r.found.kind, Locality: r.found.Locality, Keys: r.keys, Waiting: r.waiting, AnyNode: r.local == 0}, out
		}
	}
}

// begin starts the round for a node.
func (r *round) begin(s *Scheduler, ref NodeRef, n *cluster.NodeBook) {
	r.s, r.node, r.book, r.part, r.label = s, ref, n, n.Part, n.Label
	r.asks = n.Part
	r.found.From, r.found.Excess = cluster.NoContainer, cluster.NoContainer
	s.Calc.Sub(&r.free, &n.Total, &n.Used)
}

// lends tells whether the node's partition lends its room to asks for the default one.
func (r *round) lends() bool { return r.part != 0 && !r.s.Books.Partition(r.part).Exclusive }

// walk goes from the root to one application and one of its keys.
func (r *round) walk(m mode) {
	r.mode, r.asks = m, r.part
	if m == ignore {
		r.asks = 0
	}
	lim := &r.s.limits[0]
	lim.limit = r.s.Books.Partition(r.asks).Total
	r.why.enterQueue(r.s.tree.Root)
	r.parent(r.s.tree.Root, lim)
	r.leave()
}

// offerReserved tries to serve the reservation of a node.
//
// compat: the limit is that of the default partition, also on other nodes, and limits
// of parents are not looked at.
func (s *Scheduler) offerReserved(ref NodeRef, n *cluster.NodeBook, out []cluster.Decision) (core.Try, []cluster.Decision) {
	a := s.app(s.Books.Container(n.Reserved).App)
	r := &round{}
	r.begin(s, ref, n)
	lim := &s.limits[0]
	lim.limit = s.Books.Partition(0).Total
	s.visit(a.queue, &lim.limit)
	if a.Running {
		r.reservation(a, lim, n.Reserved)
	} else if r.wants(a.queue) {
		r.leaf(a.queue, lim)
	}
	out = s.commit(r, &r.found, out)
	return core.Try{Keys: r.keys, Waiting: r.waiting, AnyNode: true}, out
}

// wants tells whether anything below the queue is outstanding for the walk.
func (r *round) wants(q *Queue) bool {
	return r.s.Calc.Positive(&r.s.Books.Total, &q.Ledger[r.asks].Pending)
}

// quick tells whether the walk may leave out what would end as before. A query looks
// at everything.
func (r *round) quick() bool { return r.s.shortcuts != nil && r.s.Journal == nil }

// parent tries the children of a queue that want something, in their order, if its own
// limit leaves room.
func (r *round) parent(q *Queue, lim *limits) skip {
	if r.denied(q) {
		return skipNone
	}
	if end, known := r.known(q, lim); known {
		return end
	}
	before, last, below := r.local, skipNone, lim.below
	r.s.Calc.Clear(&lim.blocked)
	if !r.parentMay(q, lim) {
		r.learn(q, lim, skipNone, true)
		return skipNone
	}
	children := r.children(q)
	for c := children.next(); c != nil; c = children.next() {
		r.s.childRoom(&below.limit, &lim.headroom, &c.Ledger[r.part].Used)
		var end skip
		r.why.enterQueue(c)
		if c.Leaf {
			end = r.leaf(c, below)
		} else {
			end = r.parent(c, below)
		}
		r.leave()
		if end == over {
			children.done()
			return over
		}
		if end == skipQueue {
			last = skipQueue
			r.keepRoom(c, lim)
		}
	}
	children.done()
	r.enterIdle(q)
	r.learn(q, lim, last, r.local == before)
	return last
}

// leaf tries the active applications of a leaf in their order.
func (r *round) leaf(q *Queue, lim *limits) skip {
	s, l := r.s, leafOf(q)
	s.visit(q, &lim.limit)
	if r.denied(q) {
		return skipNone
	}
	if q.Rules.Ordering == config.FairOrder {
		s.reorderStale(q)
	}
	if r.usersKnown(q, lim) {
		return skipNone
	}
	before := r.local
	// The queue's limit is checked with the first application. An idle one has nothing
	// reserved and needs no look; only where all are idle are they looked at, so that one
	// of them calls noteHeadroom.
	check, i := true, 0
	free, met := true, false // free of reservations; met a user
	byList := q.Rules.Ordering == config.FifoWithPartitions
	if first := l.active.busy.Next(0); first > 0 && !byList && r.quick() {
		if !r.leafMay(q, lim, &resource{}) {
			return skipNone
		}
		check, i = false, first
	}
	for ; uint(i) < uint(l.active.len()); i = l.active.after(i, check || !r.quick()) {
		a := l.active.apps[i]
		if !r.why.visits(a) {
			continue
		}
		if byList && !sameList(q, a, r.label) {
			r.noteList(a)
			continue
		}
		if check {
			held := &a.Shares[0].Reserved
			if !r.leafMay(q, lim, held) {
				return skipNone
			}
			if check = !s.Calc.Nothing(held); check {
				free, check = false, s.cfg.ContinueLooking
			}
		}
		r.why.enterApp(a)
		end := r.application(q, a, lim)
		r.leave()
		if end != skipOther {
			r.found.place = int32(i)
			return end
		}
		if r.why.endsWith(a) {
			return over
		}
		met = met || a.member.User != nil
		if r.isIdle(q, a) {
			l.active.passBy(i)
		}
	}
	if free && met && r.local == before {
		r.learnUsers(q)
	}
	return skipNone
}

// sameList tells whether the application is in the list that serves the node.
func sameList(q *Queue, a *app, label string) bool {
	return listOf(q, a.Label) == listOf(q, label)
}

func listOf(q *Queue, label string) string {
	if slices.Contains(q.Conf.Enforced, label) {
		return label
	}
	return ""
}

// application tries the keys of one application in their order.
func (r *round) application(q *Queue, a *app, lim *limits) skip {
	r.why.turnOf(a)
	if !r.userMay(q, a, lim) {
		return skipOther
	}
	if !a.Wants.Outstanding(r.asks) {
		r.noteElsewhere(a)
		return skipOther
	}
	for i, w := range a.Wants.Keys() {
		if r.why.leavesOut(a, w) {
			continue
		}
		r.why.enterRequest(w)
		end := r.key(a, w, lim)
		r.leave()
		if end != skipKey {
			r.noteEarlier(a, i)
			r.keys += i
			return r.why.heldUp(a, end)
		}
	}
	r.keys += len(a.Wants.Keys())
	return skipOther
}

// reservation tries to serve what the node is held for.
func (r *round) reservation(a *app, lim *limits, c ContainerRef) {
	container := r.s.Books.Container(c)
	lim.headroom, lim.unreserve = lim.limit, resource{}
	r.local++
	w := a.Wants.Find(core.KeyOf(container))
	if w == nil || !w.HasAny || w.Any.Count == 0 {
		r.found.app, r.found.Excess = a, c
		return
	}
	if a.Avoids(r.book) {
		r.noteNode(fit.Blacklisted, 0, nil, nil)
		return
	}
	r.count(&w.Opportunities, 1)
	r.found.From = c
	r.onNode(a, w, lim)
}

// count adds to what a key has waited.
func (r *round) count(waited *int32, by int32) {
	core.Keep(r.s.Journal, waited)
	*waited += by
}

// key makes the checks that come before any node is looked at.
func (r *round) key(a *app, w *demand.Want, lim *limits) skip {
	s := r.s
	size := &w.Any.Size
	if r.mode == ignore && !a.Mastered && !s.cfg.Cluster.AMSharing {
		if w.Part != r.part {
			r.note(fit.OtherPartition, r.label, w.Label, 0, 0)
		}
		return skipOther
	}
	if !s.cfg.ContinueLooking && !s.worthMore(a, w, size) {
		r.note(fit.ReservationsEnough, a.queue.Path, "", int64(len(w.Reservations)), int64(w.Left()))
		r.local++ // re-reservations may make it worth more: the leaf is not remembered as full
		return skipKey
	}
	if !r.fitsHeadroom(a, size, lim) {
		return skipQueue
	}
	r.local++
	if w.Part == 0 {
		r.count(&w.Missed, 1)
	}
	if r.mode == ignore && !r.missedEnough(w) {
		return skipOther
	}
	if w.Part != r.asks {
		r.note(fit.OtherPartition, s.Books.Partition(r.asks).Name, w.Label, 0, 0)
		return skipKey
	}
	if a.Avoids(r.book) {
		r.noteNode(fit.Blacklisted, 0, nil, nil)
		return skipOther
	}
	r.count(&w.Opportunities, 1)
	waiting := r.waiting
	end := r.onNode(a, w, lim)
	if end == skipKey {
		r.count(&w.Opportunities, -1)
		r.waiting = waiting
	}
	return end
}

// missedEnough tells whether a key without a label has passed by as many nodes as
// there are, so that it may have the room that a partition lends.
func (r *round) missedEnough(w *demand.Want) bool {
	s := r.s
	if w.Part != 0 {
		r.note(fit.OtherPartition, "", w.Label, 0, 0)
		return false
	}
	if int(w.Missed) >= s.Books.Count {
		return true
	}
	r.waiting = true
	r.note(fit.ShareDelay, r.label, "", int64(w.Missed), int64(s.Books.Count))
	return false
}

// worthMore tells whether the key may have another container or reservation:
// there is more outstanding than reserved, or its reservations starve.
func (s *Scheduler) worthMore(a *app, w *demand.Want, size *resource) bool {
	held := int32(len(w.Reservations))
	starved := int32(0)
	if held > 0 {
		factor := s.Calc.Ratio(size, &a.queue.Conf.MaxAllocation)
		part := javanum.Add(1, -min(factor, leafOf(a.queue).minFactor))
		starved = javanum.Int(javanum.Mul(javanum.Div(float32(w.Rereserved), float32(held)), part))
	}
	return starved+w.Left()-held > 0
}
