package queue

import "github.com/heddle-project/heddle/yarn"

// Capacity is what only the CapacityScheduler's queues have.
type Capacity struct {
	Default    CapacityShare
	Partitions map[string]CapacityShare // the other partitions, by label
	Mode       string                   // how its capacity is written: percentage, weight, absolute; mixed and unknown where resources may differ
	Priority   int32

	MaxApps, MaxAppsPerUser           int32
	MaxParallelApps                   int32
	UserLimitPercent, UserLimitFactor float32
	Users                             []UserUsage // by name
	OrderingPolicy                    string
	PreemptionDisabled                bool
	IntraQueuePreemptionDisabled      bool
	CreatesQueues                     bool // flexible dynamic queues allowed below
	CreatesLegacyLeaves               bool
	Templates                         *Templates // nil: none
	Plan                              bool       // its queues are reservations, and one for applications without
	HidesQueues                       bool       // a plan whose queues are not to be shown
	ConfiguredMaxAM                   float32    // MaxAMShare as configured; a plan's queues have another one
}

// Templates are the settings that a parent gives queues created below it; names are relative to the new queue.
type Templates struct {
	Created, Leaves, Parents []Property // of flexible queues: for all, for leaves alone, for parents alone
	LegacyLeaves             []Property // of a managed parent's leaves
}

// Property is a setting by its name below a queue.
type Property struct{ Name, Value string }

// In is the queue's share of a partition, "" for the default one.
func (c *Capacity) In(label string) CapacityShare {
	if label == "" {
		return c.Default
	}
	return c.Partitions[label]
}

// CapacityShare is what is configured and worked out for a queue in one partition.
// Fractions are of 1.
type CapacityShare struct {
	ConfiguredMin, ConfiguredMax       yarn.Resource
	AMUsed, AMLimit                    yarn.Resource // leaves only
	Capacity, MaxCapacity              float32
	AbsoluteCapacity, AbsoluteMax      float32
	UsedCapacity, AbsoluteUsed         float32
	ReservedCapacity, AbsoluteReserved float32
	Weight, NormalizedWeight           float32 // Weight is -1 without one
	MaxAMShare                         float32
	Vector                             Vector // the capacity as configured, or as given where that is not configured
	Known                              bool   // the queue has settings for the partition, or uses some of it
}

// UserUsage is what one user has in a leaf, in the default partition.
type UserUsage struct {
	Name                         string
	Used, AMUsed, AMLimit, Limit yarn.Resource
	ActiveApps, PendingApps      int32
	Active                       bool // an application of the user has outstanding asks
	Weight                       float32
	Partitions                   map[string]UserShare // the other partitions
}

// UserShare is what a user has in one partition.
type UserShare struct{ Used, AMUsed, AMLimit, Limit yarn.Resource }
