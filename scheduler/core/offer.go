package core

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// Outcome is what a try has placed.
type Outcome uint8

// The outcomes of a try.
const (
	Nothing Outcome = iota
	Allocated
	Reserved
)

// Try is what came of one try of the policy to place something on a node. A container
// that was proposed and refused by the last checks is Allocated without a decision.
type Try struct {
	Outcome  Outcome
	Locality cluster.Locality
	Keys     int  // keys of asks that were passed by before
	Waiting  bool // somebody was passed by who comes nearer to its turn by that
	AnyNode  bool // no node was looked at and nothing was left behind: any other would have the same answer
}

// Heartbeat bounds what one offer of a node places.
type Heartbeat struct {
	Multiple   bool  // more than one container
	OffSwitch  int32 // containers that nobody asked for there
	Containers int32 // or -1
}

const (
	// MaxKeys is how many keys of asks a sweep or an offer passes by before it stops
	// early: each container that it places has an application's keys walked anew.
	MaxKeys = 10_000

	// maxRefused bounds how often an offer repeats a proposal that is refused where the
	// number of containers has no bound.
	maxRefused = 100
)

// Offer is the opportunity of one heartbeat; see the facade.
func (s *Core) Offer(ref NodeRef, now yarn.Now, out []cluster.Decision) []cluster.Decision {
	s.Advance(now)
	most := s.policy.Heartbeat()
	offSwitch, assigned, refused, keys := int32(0), int32(0), 0, 0
	for {
		before := len(out)
		var t Try
		if t, out = s.policy.Try(ref, out); t.Outcome != Allocated || !most.Multiple {
			break
		}
		if t.Locality == cluster.OffSwitch {
			offSwitch++
		}
		if offSwitch >= most.OffSwitch {
			break
		}
		if len(out) == before {
			refused++
		}
		assigned++
		keys += t.Keys
		if most.Containers != -1 && assigned >= most.Containers || refused >= maxRefused || keys >= MaxKeys {
			break
		}
	}
	s.noteMasters()
	return out
}

// noteMasters ends the wait for those masters that the offer has placed.
func (s *Core) noteMasters() {
	for _, a := range s.mastered {
		a.Mastered = true
		s.asked(a) // it may now have containers where its master may not
		s.policy.AllocateDone(a.Ref)
	}
	s.mastered = s.mastered[:0]
}

// sweep is what sweeps have found, and so what the next one may leave out.
type sweep struct {
	idle    int    // visits in a row that brought nothing
	still   int    // the last of them, since somebody came nearer to its turn
	refused bool   // a proposal was refused during one of them
	over    bool   // nothing can be done until something changes
	seen    uint64 // how many changes there had been when that was found
	next    NodeRef
}

// SweepState is how far the sweeps have come since anything changed.
type SweepState struct {
	Idle, Patience int  // visits in a row that brought nothing, and how many of them end a sweep
	Refused        bool // a proposal was refused during one of them
}

// SweepState is that of the last sweep.
func (s *Core) SweepState() SweepState {
	return SweepState{s.sweep.idle, s.patience(), s.sweep.refused}
}

// Sweep offers nodes in turn; see the facade.
func (s *Core) Sweep(nodes, containers int, now yarn.Now, out []cluster.Decision) ([]cluster.Decision, bool) {
	s.Advance(now)
	if s.open == nil {
		s.open = newOpenings(s)
		s.Watch(s.open)
	}
	w, open, keys := &s.sweep, s.open, 0
	if w.seen != s.changes {
		*w = sweep{seen: s.changes, next: w.next}
	}
	for visits := 0; !w.over && open.nodes.Count > 0; visits++ {
		if visits >= nodes || len(out) >= containers || keys >= MaxKeys {
			return out, true
		}
		ref, before := open.after(w.next), len(out)
		w.next = ref + 1
		var v visit
		if v, out = s.visit(ref, containers, MaxKeys-keys, out); v.more || len(out) >= containers {
			w.next = ref // it may have room for more
		}
		keys += v.keys
		w.refused = w.refused || v.refused
		w.idle++
		w.still++
		switch {
		case len(out) > before && out[len(out)-1].Kind != cluster.Rereserved:
			w.idle, w.still, w.refused = 0, 0, false
		case v.waiting:
			w.still = 0
		}
		w.seen = s.changes
		// Where nobody waits for nodes to pass by, another visit of a node would end as
		// the last one, but for the count of re-reservations: one visit of each is
		// enough. Where the visit depended on no node, one visit is enough for all
		// nodes of a cluster without partitions and reservations.
		alike := v.anyNode && len(out) == before && s.Books.Partitions() == 1 && s.ReservedNodes == 0
		w.over = alike || w.still >= open.nodes.Count || w.idle > s.patience()
	}
	return out, false
}

// patience is how many visits in a row may bring nothing. An application may wait until it
// has passed by as many nodes as there are, first for room that a partition lends and then
// for a near node; so many visits are enough even if only one in a round counts for it.
// After a refused proposal the sweep ends sooner, because the next proposal like it would
// be refused, too.
func (s *Core) patience() int {
	nodes, open := s.Books.Count, s.open.nodes.Count
	if s.sweep.refused {
		return nodes + open + 1
	}
	return 2 * (nodes + 2) * (open + 1)
}

// Visit places on a node what can be placed there, up to so many containers, as a sweep
// does.
func (s *Core) Visit(ref NodeRef, containers int, out []cluster.Decision) []cluster.Decision {
	_, out = s.visit(ref, containers, MaxKeys, out)
	return out
}

// visit is what came of all tries on one node.
type visit struct {
	keys             int
	more             bool // it ended early: there may be room for more
	waiting, refused bool
	anyNode          bool
}

// visit places on a node what can be placed there, until out has so many decisions or
// so many keys were passed by.
func (s *Core) visit(ref NodeRef, containers, keys int, out []cluster.Decision) (visit, []cluster.Decision) {
	v := visit{more: true, anyNode: true}
	for v.more && len(out) < containers && v.keys < keys {
		before := len(out)
		var t Try
		t, out = s.policy.Try(ref, out)
		refused := t.Outcome != Nothing && len(out) == before
		v.refused = v.refused || refused
		v.waiting = v.waiting || t.Waiting || refused // it may wait anew
		v.anyNode = v.anyNode && t.AnyNode
		v.keys += t.Keys
		v.more = t.Outcome == Allocated && !refused
	}
	s.noteMasters()
	return v, out
}
