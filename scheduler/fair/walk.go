package fair

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// Heartbeat has one Try place all that a heartbeat may.
func (s *Scheduler) Heartbeat() core.Heartbeat { return core.Heartbeat{Containers: -1} }

// round is one offer of a node, at its heartbeat.
type round struct {
	s   *Scheduler
	ref cluster.NodeRef
	n   *cluster.NodeBook
	out []cluster.Decision
}

// outcome is what a walk has placed: nothing, a container, or a reservation.
type outcome struct {
	core.Outcome
	size resource
}

// reservedSize is what a reservation counts as among what a heartbeat has placed.
//
// compat: as one megabyte less than nothing.
var reservedSize = resource{yarn.Memory: -1}

// Try places what one heartbeat may place on the node.
func (s *Scheduler) Try(ref cluster.NodeRef, out []cluster.Decision) (core.Try, []cluster.Decision) {
	r := round{s: s, ref: ref, n: s.Books.Node(ref), out: out}
	if !r.n.Accepting {
		return core.Try{}, out
	}
	s.offering = true
	r.keepPromises()
	if r.n.Reserved < 0 || !r.serveReservation() {
		r.fill()
	}
	s.offering = false
	s.noteFree()
	if len(r.out) == len(out) {
		return core.Try{}, out
	}
	return core.Try{Outcome: core.Allocated}, r.out
}

// fill places containers one after the other, as many as one heartbeat may.
func (r *round) fill() {
	c := r.s.cfg
	var half, sum resource
	if c.Multiple {
		half = r.n.Free()
		for t := range half {
			half[t] = int64(float64(half[t]) * 0.5)
		}
	}
	for placed := int32(1); r.n.Reserved < 0; placed++ {
		o := r.queue(r.s.root)
		if o.Outcome == core.Nothing || !c.Multiple {
			return
		}
		sum.Increase(&o.size)
		if c.HalfOfNode && !r.s.fits(&sum, &half) || !c.HalfOfNode && c.MaxAssign > 0 && placed >= c.MaxAssign {
			return
		}
	}
}

// queue places one container for a queue: for the first candidate of its lineups that can get one.
func (r *round) queue(q *Queue) outcome {
	used := r.s.used(q)
	if r.n.Reserved >= 0 || !r.s.fits(&used, &q.max) || r.hopeless(q, &used) {
		return outcome{}
	}
	full := r.full(q)
	if full && q.reservers == 0 {
		return outcome{}
	}
	line := merged{q: q, numbers: r.s.numbers(q.policy)}
	if r.noRoomForAMs(q) {
		line.j = len(q.awaitingAM.list)
	}
	for p := line.next(); p != nil; p = line.next() {
		var o outcome
		switch {
		case p.queue != nil:
			o = r.queue(p.queue)
		case !(full && !p.app.reserver) && !p.app.Avoids(r.n):
			o = r.app(p.app)
		}
		if o.Outcome != core.Nothing {
			return o
		}
	}
	return outcome{}
}

// app places one container for an application, unless it is a master for which maxAMShare leaves no room.
func (r *round) app(a *app) outcome {
	if !r.s.amFits(a) {
		return outcome{}
	}
	for _, w := range a.Wants.Keys() {
		if o, final := r.key(a, w, cluster.NoContainer); final {
			return o
		}
	}
	return outcome{}
}

// amFits tells whether maxAMShare leaves room for the application's master, or the application has it already.
func (s *Scheduler) amFits(a *app) bool {
	if a.hasAM || len(a.Wants.Keys()) == 0 {
		return true
	}
	q := a.queue
	if s.noAMLimit(q) {
		return true
	}
	q.ams.limit = s.amLimit(q)
	return s.sumFits(&q.ams.used, &a.Wants.Keys()[0].Any.Size, &q.ams.limit)
}

func (s *Scheduler) noAMLimit(q *Queue) bool {
	return math.Abs(float64(q.conf.MaxAMShare-allocation.NoAMLimit)) < 0.0001
}

// amLimit is what masters of a leaf may use: a part of its fair share, or, of types of which that is zero, of what is free.
func (s *Scheduler) amLimit(q *Queue) (r resource) {
	for t := range s.types() {
		if r[t] = q.share[t]; r[t] == 0 {
			r[t] = min(s.free[t], q.max[t])
		}
		r[t] = int64(math.Ceil(float64(r[t]) * float64(q.conf.MaxAMShare)))
	}
	return r
}

// eligible tells whether the node could ever serve an ask: it is at an asked place, large enough, and no queue's maximum is in the way.
func (s *Scheduler) eligible(a *app, w *demand.Want, n *cluster.NodeBook) bool {
	rack, host := count(w.At(n.RackPlace)), count(w.At(n.NodePlace))
	switch {
	case w.Left() <= 0, !w.Any.Relax && rack == 0, rack > 0 && !w.At(n.RackPlace).Relax && host == 0:
		return false
	}
	return s.fits(&w.Any.Size, &n.Total) && s.overMax(a.queue, &w.Any.Size) == nil
}

func count(r *demand.Row) int32 {
	if r == nil {
		return 0
	}
	return r.Count
}

// key places a container for one key of asks, from a reservation or anew. final: no other key is to be tried.
func (r *round) key(a *app, w *demand.Want, from cluster.ContainerRef) (_ outcome, final bool) {
	if from < 0 && (!r.s.eligible(a, w, r.n) || !w.Update.IsZero() && !a.Enlarges(w, r.ref)) {
		return outcome{}, false
	}
	w.Opportunities++
	level := r.s.level(w)
	rack, host := w.At(r.n.RackPlace), w.At(r.n.NodePlace)
	switch {
	case count(rack) > 0 && count(host) > 0:
		return r.place(a, w, host, cluster.NodeLocal, from), true
	case rack != nil && !rack.Relax:
	case count(rack) > 0 && level >= cluster.RackLocal:
		return r.place(a, w, rack, cluster.RackLocal, from), true
	case w.Left() > 0 && w.Any.Relax && (len(w.Rows) == 0 || level == cluster.OffSwitch):
		return r.place(a, w, &w.Any, cluster.OffSwitch, from), true
	}
	return outcome{}, false
}

// level is how far from the asked places containers of a key may be by now. The count of its scheduling opportunities begins anew with each level.
func (s *Scheduler) level(w *demand.Want) cluster.Locality {
	if s.cfg.NodeThreshold < 0 || s.cfg.RackThreshold < 0 {
		return cluster.OffSwitch
	}
	if !w.Leveled {
		w.Leveled, w.Level = true, cluster.NodeLocal
		return w.Level
	}
	if w.Level != cluster.OffSwitch && float64(w.Opportunities) > s.patience(w.Level) {
		w.Level++
		w.Opportunities = 0
	}
	return w.Level
}

// patience is how many scheduling opportunities a key has at a level before its containers may be farther away.
func (s *Scheduler) patience(l cluster.Locality) float64 {
	threshold := s.cfg.NodeThreshold
	if l == cluster.RackLocal {
		threshold = s.cfg.RackThreshold
	}
	return float64(s.Books.Count) * min(threshold, 1)
}

// place puts a container on the node, or reserves the node for one.
func (r *round) place(a *app, w *demand.Want, row *demand.Row, l cluster.Locality, from cluster.ContainerRef) outcome {
	free := r.n.Free()
	size := row.Size
	o := core.Placement{App: &a.App, Want: w, Row: row, Locality: l, From: from, Excess: cluster.NoContainer}
	if r.s.fits(&size, &free) {
		if w.Leveled && l < w.Level {
			w.Level = l
		}
		r.s.placing = true
		c, container := r.s.Allocate(r.ref, r.n, &o)
		r.s.placing = false
		first := !a.hasAM
		if first {
			r.s.noteAM(a, &container.Resource)
		}
		if first || from >= 0 {
			a.change() // otherwise Used has done so
			r.s.lineUp(a)
		}
		r.s.fulfil(r.ref, a, &container.Resource)
		kind := cluster.Allocated
		if from >= 0 {
			kind = cluster.AllocatedFromReserved
		}
		r.decide(kind, a, c, container)
		return outcome{core.Allocated, size}
	}
	if from >= 0 || !r.mayReserve(a, &size, l) {
		return outcome{}
	}
	c, container := r.s.Reserve(r.ref, r.n, &o)
	r.s.lineUp(a)
	r.decide(cluster.Reserved, a, c, container)
	return outcome{core.Reserved, reservedSize}
}

func (r *round) decide(kind cluster.Kind, a *app, c cluster.ContainerRef, container *cluster.Container) {
	r.out = append(r.out, cluster.Decision{Kind: kind, Container: c, App: a.Ref, Node: r.ref, Priority: container.Priority, Resource: container.Resource})
}

// mayReserve tells whether an application may reserve the node for a container: it starves, and has not reserved too many nodes.
func (r *round) mayReserve(a *app, size *resource, l cluster.Locality) bool {
	s, policy := r.s, a.queue.policy
	if !s.starves(a) || s.compare(policy, size, &s.cfg.Threshold) < 0 || s.promisedTo(r.ref, a) || r.n.Reserved >= 0 {
		return false
	}
	return l == cluster.NodeLocal || s.reservations(a, r.n, l) < s.mostReservations(r.n, l)
}

// reservations is how many nodes the application has reserved, in the node's rack or anywhere.
func (s *Scheduler) reservations(a *app, n *cluster.NodeBook, l cluster.Locality) (count int32) {
	if l == cluster.OffSwitch {
		return a.Held
	}
	for _, w := range a.Wants.All() {
		for _, c := range w.Reservations {
			if s.Books.Node(s.Books.Container(c).Node).RackPlace == n.RackPlace {
				count++
			}
		}
	}
	return count
}

// mostReservations is how many it may have reserved there.
func (s *Scheduler) mostReservations(n *cluster.NodeBook, l cluster.Locality) int32 {
	nodes := int32(s.Books.Count)
	if l == cluster.RackLocal {
		nodes = s.nodesOf(n.RackPlace)
	}
	return s.mostReserved(nodes)
}

// mostReserved is how many of so many nodes one application may reserve.
func (s *Scheduler) mostReserved(nodes int32) int32 {
	return int32(math.Ceil(float64(float32(nodes) * s.cfg.Reservable)))
}

// nodesOf is how many nodes a rack has.
func (s *Scheduler) nodesOf(rack cluster.Place) int32 {
	if s.racks == nil {
		s.racks = map[cluster.Place]int32{}
		for i := range s.Books.NodeSlots() {
			if n := s.Books.Node(cluster.NodeRef(i)); n.Member {
				s.racks[n.RackPlace]++
			}
		}
	}
	return s.racks[rack]
}

// serveReservation places the container that the node is reserved for, if it fits by now. It is false if the reservation was invalid and is gone.
func (r *round) serveReservation() bool {
	container := r.s.Books.Container(r.n.Reserved)
	a := r.s.app(container.App)
	w := a.Wants.Find(core.KeyOf(container))
	if w == nil || !r.s.eligible(a, w, r.n) || !r.s.amFits(a) {
		r.decide(cluster.Unreserved, a, r.n.Reserved, container)
		r.s.GiveUp(r.n.Reserved)
		return false
	}
	if free := r.n.Free(); r.s.fits(&container.Resource, &free) {
		r.key(a, w, r.n.Reserved)
	}
	return true
}
