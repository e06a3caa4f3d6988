package core

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/scheduler/shortcut"
)

// What says what has changed.
type What uint8

// The kinds of changes.
const (
	Usage   What = iota // what the application uses in its leaf, and so what is used above
	Demand              // what is outstanding in the queue has come to be more than nothing, or ended to be
	Asks                // what the application asks for, or where it does not want to be
	Members             // the leaf's applications: one came, went or has another place among them
	Shares              // what the queue may use, or who is below it
	Room                // what is free on the node, or whether it takes anything
)

// Change is one change of what decisions are made from. Fields that its kind does not
// speak of are zero.
type Change struct {
	What  What
	Queue *queue.Queue
	App   *App
	Node  NodeRef
	Part  cluster.Part // of Usage and Demand
}

// Watcher hears of every change when the books are up to date. What it keeps may only
// spare work: without any watcher the decisions are the same.
type Watcher interface{ Changed(c Change) }

// Watch lets the watcher hear of changes from now on.
func (s *Core) Watch(w Watcher) { s.watchers = append(s.watchers, w) }

// Report tells the watchers of a change.
func (s *Core) Report(c Change) {
	s.changes++
	for _, w := range s.watchers {
		w.Changed(c)
	}
}

// freed reports that there is more or less room on the node, or none any more.
func (s *Core) freed(ref NodeRef) { s.Report(Change{What: Room, Node: ref}) }

// HasRoom tells whether the smallest container would find room on the node.
func (s *Core) HasRoom(n *cluster.NodeBook) bool {
	return s.Calc.Leaves(&n.Total, &n.Used, &s.Min)
}

// openings are the nodes that are worth a visit: they take containers and have room for
// the smallest, or are reserved.
type openings struct {
	s     *Core
	nodes shortcut.Bits
}

// newOpenings are those of now.
func newOpenings(s *Core) *openings {
	w := &openings{s: s}
	w.lookAround()
	return w
}

// lookAround looks at all nodes.
func (w *openings) lookAround() {
	for i := range w.s.Books.NodeSlots() {
		w.look(NodeRef(i))
	}
}

// Changed looks again at a node.
func (w *openings) Changed(c Change) {
	if c.What == Room {
		w.look(c.Node)
	}
}

func (w *openings) look(ref NodeRef) { w.nodes.Put(int(ref), w.worth(ref)) }

// worth tells whether a node is worth a visit.
func (w *openings) worth(ref NodeRef) bool {
	n := w.s.Books.Node(ref)
	return n.Member && n.Accepting && (n.Reserved >= 0 || w.s.HasRoom(n) || n.Killable > 0 && w.roomByKilling(ref))
}

func (w *openings) roomByKilling(ref NodeRef) bool {
	room := w.s.Books.RoomByKilling(ref)
	return w.s.Calc.HasRoom(&room, &w.s.Min)
}

// after is the node that comes next, in a fixed rotating order. There must be one.
func (w *openings) after(ref NodeRef) NodeRef {
	if next := w.nodes.Next(int(ref)); next >= 0 {
		return NodeRef(next)
	}
	return NodeRef(w.nodes.Next(0))
}
