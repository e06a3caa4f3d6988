package engine

import (
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// Overcommit says what becomes of the containers for which a node has no room after it was made smaller. The zero value lets them run.
type Overcommit struct {
	Ends  bool  // the containers are ended
	After int64 // milliseconds until they are ended; their masters get notice at once
}

// NewOvercommit makes an Overcommit of an administrator's timeout in milliseconds; a negative timeout lets containers run.
func NewOvercommit(timeout int64) Overcommit {
	return Overcommit{Ends: timeout >= 0, After: max(timeout, 0)}
}

// overcommit is the latest Overcommit of a node.
type overcommit struct {
	ends bool
	at   int64 // when containers are ended; monotonic, milliseconds
}

const (
	overcommitted   = "overcommit" // the rule, in the log of preemptions
	mostOvercommits = 100          // how many containers one heartbeat of a node ends; the next heartbeat goes on
)

// followOvercommit sets what becomes of the containers that exceed the node's new size: it ends them, or gives their masters notice.
//
// compat: it is not called if the size stays the same.
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

// excess returns the containers that end, now or later, because the node has no room for them.
func (e *Engine) excess(n *node) []scheduler.ContainerRef {
	if !n.overcommit.ends || n.ref == scheduler.NoNode || n.drain != nil {
		return nil
	}
	return e.sched.Overcommitted(n.ref)
}

// endOvercommitted ends the containers for which the node has no room, once that is due.
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
		if c := e.containerAt(ref); c != nil && c.id == ids[i] { // the end of a master ends other containers, too
			e.preempt(&scheduler.Taking{Ref: ref, ID: c.id, Rule: overcommitted}, c)
		}
	}
}
