package queue

import "github.com/heddle-project/heddle/yarn"

// Share is what a queue may have and has in one partition, whoever decides.
type Share struct {
	Used, Pending, Reserved                 yarn.Resource
	EffectiveMin, EffectiveMax              yarn.Resource // what it is guaranteed, and what it may have at most
	AllocatedContainers, ReservedContainers int32
	PendingContainers                       int32
	Accessible                              bool

	// ReservedUsage is Reserved, but for moves.
	//
	// compat: REST and the fractions of what is reserved go by books in which a
	// reservation stays with the queue that it was made in, and ends in the one to
	// which its application has moved, which may so have less than nothing.
	ReservedUsage yarn.Resource
}

// AppCounts count applications since the queue is there, those of queues below it included. Submitted are those that a queue took;
// the others are those of them that have ended, by their state.
type AppCounts struct {
	Submitted, Completed, Failed, Killed int64
	Unmanaged                            AppEnds       // those of them whose master is unmanaged
	Preempted                            int64         // containers
	PreemptedSeconds                     yarn.Resource // what they had used: amount × seconds
}

// AppEnds are applications that came, and how they ended.
type AppEnds struct{ Submitted, Completed, Failed, Killed int64 }

// Info is an immutable picture of one queue: what there is under every policy, and the
// part of the one that decides.
type Info struct {
	Path, Name, Parent string
	Leaf, Dynamic      bool
	State              State
	Children           []string // full paths in the order in which they are walked first
	Default            Share
	Partitions         map[string]Share // the other partitions, by label
	Labels             []string         // accessible; "*" for all
	DefaultLabel       string

	ActiveApps, PendingApps, WaitingApps int32 // WaitingApps: held back by a limit on how many run
	SubmittedApps                        int32
	ActiveUsers                          int32 // of a leaf, who have outstanding asks
	Counts                               AppCounts
	MaxAllocation                        yarn.Resource
	MaxLifetime, DefaultLifetime         int64 // seconds
	DefaultPriority                      int32

	Capacity *Capacity // under the CapacityScheduler
	Fifo     *Fifo     // under the FifoScheduler
	Fair     *Fair     // under the FairScheduler
}

// Fifo is what there is of a queue under the FifoScheduler alone.
type Fifo struct {
	UsedCapacity float32 // the part of the cluster's memory that is used
}

// In is the queue's share of a partition, "" for the default one.
func (i *Info) In(label string) Share {
	if label == "" {
		return i.Default
	}
	return i.Partitions[label]
}

// Snapshot is an immutable picture of all queues, the root first and every
// parent before its children.
type Snapshot struct {
	Queues []Info
	byPath map[string]int
}

// NewSnapshot is the snapshot of those queues.
func NewSnapshot(queues []Info) *Snapshot {
	s := &Snapshot{Queues: queues, byPath: make(map[string]int, len(queues))}
	for i := range queues {
		s.byPath[queues[i].Path] = i
	}
	return s
}

// Only is the queue of the FifoScheduler, which is meant whatever the name, or nil.
func (s *Snapshot) Only() *Info {
	if len(s.Queues) == 1 && s.Queues[0].Fifo != nil {
		return &s.Queues[0]
	}
	return nil
}

// ByPath is the queue with that full path.
func (s *Snapshot) ByPath(path string) (*Info, bool) {
	i, ok := s.byPath[path]
	if !ok {
		return nil, false
	}
	return &s.Queues[i], true
}

// Find is the queue with that full path, or the only one with that short name. Under the FairScheduler, where short names mean nothing, it is
// the one with that path, with or without the root.
func (s *Snapshot) Find(name string) (*Info, bool) {
	if q, ok := s.ByPath(name); ok {
		return q, true
	}
	if len(s.Queues) > 0 && s.Queues[0].Fair != nil {
		return s.ByPath(Root + "." + name)
	}
	var found *Info
	for i := range s.Queues {
		if s.Queues[i].Name == name {
			if found != nil {
				return nil, false
			}
			found = &s.Queues[i]
		}
	}
	return found, found != nil
}
