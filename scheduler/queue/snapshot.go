package queue

import "github.com/heddle-project/heddle/yarn"

// Share holds what a queue is entitled to and uses in one partition. Fractions
// are of 1.
type Share struct {
	Used, Pending, Reserved                 yarn.Resource
	EffectiveMin, EffectiveMax              yarn.Resource
	ConfiguredMin, ConfiguredMax            yarn.Resource
	AMUsed, AMLimit                         yarn.Resource // leaves only
	Capacity, MaxCapacity                   float32
	AbsoluteCapacity, AbsoluteMax           float32
	UsedCapacity, AbsoluteUsed              float32
	ReservedCapacity, AbsoluteReserved      float32
	Weight, NormalizedWeight                float32 // Weight is -1 without one
	MaxAMShare                              float32
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

// UserUsage is what one user has in a leaf, in the default partition.
type UserUsage struct {
	Name                         string
	Used, AMUsed, AMLimit, Limit yarn.Resource
	ActiveApps, PendingApps      int32
	Weight                       float32
	Partitions                   map[string]UserShare // the other partitions
}

// UserShare is what a user has in one partition.
type UserShare struct{ Used, AMUsed, AMLimit, Limit yarn.Resource }

// AppCounts count applications since the queue is there, those of queues below it included. Submitted are those that a queue took;
// the others are those of them that have ended, by their state.
type AppCounts struct{ Submitted, Completed, Failed, Killed int64 }

// Info is an immutable picture of one queue.
type Info struct {
	Path, Name, Parent string
	Leaf, Dynamic      bool
	State              State
	Priority           int32
	Children           []string // full paths in the order in which they are walked first
	Default            Share
	Partitions         map[string]Share // the other partitions, by label
	Labels             []string         // accessible; "*" for all
	DefaultLabel       string

	ActiveApps, PendingApps, WaitingApps int32 // WaitingApps: held back by max-parallel-apps
	SubmittedApps                        int32
	Counts                               AppCounts
	MaxApps, MaxAppsPerUser              int32
	MaxParallelApps                      int32
	UserLimitPercent, UserLimitFactor    float32
	MaxAllocation                        yarn.Resource
	OrderingPolicy                       string
	Mode                                 string // how its capacity is written: percentage, weight, absolute, mixed
	PreemptionDisabled                   bool
	IntraQueuePreemptionDisabled         bool
	MaxLifetime, DefaultLifetime         int64 // seconds
	CreatesQueues                        bool  // flexible dynamic queues allowed below
	CreatesLegacyLeaves                  bool
	DefaultPriority                      int32
	Users                                []UserUsage // by name
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

// ByPath is the queue with that full path.
func (s *Snapshot) ByPath(path string) (*Info, bool) {
	i, ok := s.byPath[path]
	if !ok {
		return nil, false
	}
	return &s.Queues[i], true
}
