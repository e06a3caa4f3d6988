package queue

import "github.com/heddle-project/heddle/yarn"

// Fair is what only the FairScheduler's queues have. All amounts but AMUsed are as of the last time that shares were computed.
// Reservations are not usage: what a queue uses is Share.Used minus Share.Reserved.
type Fair struct {
	Policy                 string // fair, DRF or FIFO, among its children or applications
	Weight                 float32
	Demand                 yarn.Resource // what its applications use and ask for, at most MaxShare
	FairShare, SteadyShare yarn.Resource // among queues with applications that run, and among all
	MinShare, MaxShare     yarn.Resource // MaxShare may be more than the cluster has
	MaxApps                int32         // that run at once
	Runnable, NonRunnable  int32         // applications with an attempt: those that may run, and of leaves those that MaxApps holds back
	MaxAMShare             float32       // of leaves: the part of the fair share that masters may use; -1: all
	AMUsed, AMLimit        yarn.Resource // of leaves; AMLimit is that of the last look at a master that waits
	Preemptable            bool          // its containers may be preempted
	MinShareTimeout        int64         // milliseconds below the minimum until others are preempted
	FairShareTimeout       int64         // milliseconds below FairShareThreshold until others are preempted
	FairShareThreshold     float32       // of the fair share
	Plan                   bool          // its queues are reservations
	Kept                   yarn.Reason   // why it is not deleted; OK if it will be
}

// Most is MaxShare, limited to a cluster of that size.
func (f *Fair) Most(cluster yarn.Resource) yarn.Resource {
	most := f.MaxShare
	for i, has := range cluster {
		most[i] = min(most[i], has)
	}
	return most
}
