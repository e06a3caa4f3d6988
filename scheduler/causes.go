package scheduler

import "github.com/heddle-project/heddle/scheduler/cluster"

// The causes of a container's end.
const (
	Completed    = cluster.Completed
	ReleasedByAM = cluster.ReleasedByAM
	KilledByRM   = cluster.KilledByRM
	Preempted    = cluster.Preempted
	Expired      = cluster.Expired
	NodeGone     = cluster.NodeGone
	Reshaped     = cluster.Reshaped
	AttemptOver  = cluster.AttemptOver
)

// The kinds of decisions.
const (
	Allocated             = cluster.Allocated
	AllocatedFromReserved = cluster.AllocatedFromReserved
	Reserved              = cluster.Reserved
	Rereserved            = cluster.Rereserved
	Unreserved            = cluster.Unreserved
)
