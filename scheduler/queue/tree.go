package queue

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// PriorityACL lets some users have applications of up to a priority.
type PriorityACL struct {
	Who             yarn.ACL
	Max, Default    int32
	MaxSet, Dynamic bool
}

// Settings are what every policy reads of the configuration of a queue.
type Settings struct {
	Path, Name    string
	Accessible    []string // labels, without ""; "*" alone for all
	DefaultLabel  string
	DefaultSet    bool
	MaxAllocation yarn.Resource
	Submit, Admin yarn.ACL
	PriorityACLs  []PriorityACL

	DefaultPriority              int32
	MaxLifetime, DefaultLifetime int64 // seconds
}

// AllLabels tells whether every partition is accessible.
func (s *Settings) AllLabels() bool { return len(s.Accessible) == 1 && s.Accessible[0] == "*" }

// MayUse tells whether the partition is accessible. The default one always is.
func (s *Settings) MayUse(label string) bool {
	return label == "" || s.AllLabels() || slices.Contains(s.Accessible, label)
}

// Ledger is what a queue, with those below it, has in one partition.
type Ledger struct {
	Containers int32 // live ones and reservations
	Held       int32 // reservations
	Waiting    int64 // containers outstanding

	Used, Pending yarn.Resource
	Promised      yarn.Resource // by reservations
	Reserved      yarn.Resource // compat: Promised, but for moves; see Share.ReservedUsage
	Killable      yarn.Resource // part of Used: what is taken as soon as somebody else needs it
}

// Queue is one queue of a tree, as every policy has it.
type Queue struct {
	Parent   *Queue
	Ledger   []Ledger // by partition
	Settings *Settings
	Index    int32 // in the tree
	Leaf     bool  // it has applications, not queues
	Creates  bool  // queues are created below it on demand
	Inner    bool  // it is below a plan, and its applications are seen in that one
	State    State
	Path     string
	Name     string
	Counts   *AppCounts
	Outer    any // the policy's struct around this one
}

// Grow makes room for partitions that have come to be known.
func (q *Queue) Grow(parts int) {
	q.Ledger = slices.Grow(q.Ledger, max(0, parts-len(q.Ledger)))
	for len(q.Ledger) < parts {
		q.Ledger = append(q.Ledger, Ledger{})
	}
}

// MayUse tells whether the queue may use nodes of the partition.
func (q *Queue) MayUse(label string) bool { return label == "" || q.Settings.MayUse(label) }

// Tree is all queues, by index and by name.
type Tree struct {
	All     []*Queue // nil where a queue was removed
	Names   *Names
	Changes uint64 // counts queues that came or went
	AnyName bool   // there is one queue, and every name means it
	Rooted  bool   // names are full paths, with or without the root; indexes of queues that went are used again
	free    []int32
}

// NewTree is empty, with room for so many queues.
func NewTree(room int) Tree { return Tree{All: make([]*Queue, 0, room), Names: NewNames(room)} }

// Add enters a queue, and gives it its index.
func (t *Tree) Add(q *Queue) {
	t.Changes++
	if n := len(t.free); n > 0 {
		q.Index, t.free = t.free[n-1], t.free[:n-1]
		t.All[q.Index] = q
	} else {
		q.Index = int32(len(t.All))
		t.All = append(t.All, q)
	}
	t.Names.Add(q.Path, q.Index)
}

// Remove takes a queue out.
func (t *Tree) Remove(q *Queue) {
	t.Changes++
	t.Names.Remove(q.Path)
	t.All[q.Index] = nil
	if t.Rooted {
		t.free = append(t.free, q.Index)
	}
}

// Len is how many queues there are.
func (t *Tree) Len() int { return len(t.Names.byPath) }

// Free is how many indexes can be used again.
func (t *Tree) Free() int { return len(t.free) }

// Find is the queue with that full or short name, or nil.
func (t *Tree) Find(name string) *Queue {
	switch {
	case t.AnyName:
		return t.Root()
	case t.Rooted && name != Root && !strings.HasPrefix(name, Root+"."):
		return t.ByPath(Root + "." + name)
	case t.Rooted:
		return t.ByPath(name)
	}
	if i := t.Names.Find(name); i >= 0 {
		return t.All[i]
	}
	return nil
}

// ByPath is the queue with that full path, or nil.
func (t *Tree) ByPath(path string) *Queue {
	if i := t.Names.ByPath(path); i >= 0 {
		return t.All[i]
	}
	return nil
}

// Root is the queue above all others.
func (t *Tree) Root() *Queue { return t.All[0] }

// Promise is what a reservation is to have now.
type Promise struct {
	Name     string // of its queue
	Resource yarn.Resource
	Gangs    bool // it is of no use to it to have more
}
