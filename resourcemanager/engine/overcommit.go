package engine

import (
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// Overcommit says what becomes of containers for which a node that gets smaller has no room any more. The zero value lets them run.
type Overcommit struct {
	Ends  bool  // they are ended
	After int64 // in milliseconds from now; until then their masters have notice
}

// NewOvercommit reads a timeout as it comes from administrators, in milliseconds: negative ones let containers run.
func NewOvercommit(timeout int64) Overcommit {
	return Overcommit{Ends: timeout >= 0, After: max(timeout, 0)}
}

// overcommit is what was last said of a node.
type overcommit struct {
	ends bool
	at   int64 // monotonic, milliseconds
}

const (
	overcommitted   = "overcommit" // in the log of preemption
	mostOvercommits = 100          // ends at one heartbeat of a node; the next one goes on
)

// followOvercommit notes what is to become of containers beyond the node's new size.
//
// compat: nobody looks at it where the size stays the same.
func (e *Engine) followOvercommit(n *node, o Overcommit) {
	n.overcommit = overcommit{o.Ends, e.now.Mono + o.After}
	if o.After == 0 {
		e.endOvercommitted(n)
		return
	}
	for _, ref := range e.excess(n) {
		if c := e.containerAt(ref); c != nil {
			e.notice(&scheduler.Taking{Ref: ref, ID: c.id, Rule: overcommitted})
		}
	}
}

// excess are the containers that end, now or later, because the node has no room for them.
func (e *Engine) excess(n *node) []scheduler.ContainerRef {
	if !n.overcommit.ends || n.ref == scheduler.NoNode || n.drain != nil {
		return nil
	}
	return e.sched.Overcommitted(n.ref)
}

// endOvercommitted ends what the node has no room for, once that is due.
func (e *Engine) endOvercommitted(n *node) {
	if e.now.Mono < n.overcommit.at {
		return
	}
	list := e.excess(n)
	ids := make([]yarn.ContainerID, len(list))
	for i, ref := range list {
		ids[i] = e.sched.Container(ref).ID
	}
	for i, ref := range list[:min(len(list), mostOvercommits)] {
		if c := e.containerAt(ref); c != nil && c.id == ids[i] { // the end of a master takes others along
			e.preempt(&scheduler.Taking{Ref: ref, ID: c.id, Rule: overcommitted}, c)
		}
	}
}
