package scheduler

import "github.com/heddle-project/heddle/scheduler/cluster"

// The causes of a container's end.
const (
	Completed    = cluster.Completed
	ReleasedByAM = cluster.ReleasedByAM
	Preempted    = cluster.Preempted
	Expired      = cluster.Expired
	NodeGone     = cluster.NodeGone
)

// The kinds of decisions.
const (
	Allocated             = cluster.Allocated
	AllocatedFromReserved = cluster.AllocatedFromReserved
	Taken                 = cluster.Taken
)
