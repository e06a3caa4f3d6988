package core

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// App is one application and its running attempt. What every decision reads stands
// together, before the rest.
type App struct {
	Leaf     *queue.Queue   // that it is in
	Shares   []AppShare     // by partition; changed only after Own
	Wants    *demand.Demand // never nil; changed only after Own
	Ref      AppRef
	Held     int32                  // reservations
	Open     int32                  // slots of containers
	Running  bool                   // has an attempt that has not ended
	Mastered bool                   // the master's container was found, or none is needed
	Gone     bool                   // removed; the slot waits for its last container
	Apart    bool                   // CapacityScheduler: this attempt has not been in the order of its queue yet, so that no walk has seen it
	Attempt  int32                  // number of the latest attempt; 0 before the first
	Avoid    map[cluster.Place]bool // hosts and racks, for all but masters
	Newest   int64                  // the highest number of a container that this attempt has used
	Live     cluster.Owned          // what the running attempt has
	Outer    any                    // the policy's struct around this one

	demand.Kept
	Priority  int32
	Asked     int32                  // the priority of the submission
	StartWall int64                  // of the running attempt; see demand.Attempt
	AvoidAM   map[cluster.Place]bool // hosts and racks, for the master

	updates *updates // nil: it has asked for none
}

// AttemptID is the id of the latest attempt.
func (a *App) AttemptID() yarn.AttemptID {
	return yarn.AttemptID{Application: a.ID, Attempt: a.Attempt}
}

// nextID is the id of that attempt's next container.
func (a *App) nextID() yarn.ContainerID {
	a.Newest++
	return yarn.ContainerID{Attempt: a.AttemptID(), Number: a.Newest}
}

// AppShare is what an application has in one partition.
type AppShare struct{ Used, Reserved yarn.Resource }

// own has shares and demand of one application side by side: a decision reads both.
type own struct {
	shares [1]AppShare // while there is only the default partition
	wants  demand.Demand
}

// Own makes Wants and Shares the application's own, so that they may be changed, and returns Wants. Until then an application shares them with others
// that want the same and have nothing, which saves two thirds of the memory of one that waits.
func (a *App) Own() *demand.Demand {
	if a.Wants.Shared() {
		a.unshare()
	}
	return a.Wants
}

//go:noinline
func (a *App) unshare() {
	mine := new(own)
	a.Wants.CopyTo(&mine.wants)
	a.Wants, a.Shares = &mine.wants, append(mine.shares[:0], a.Shares...)
}

// fit gives the application a share of every partition: of its own, or the zeros that all have who share their demand.
func (s *Core) fit(a *App) {
	n := s.Books.Partitions()
	if len(s.zero) < n {
		s.zero = make([]AppShare, n)
	}
	if a.Wants.Shared() {
		a.Shares = s.zero[:n:n]
	}
	for len(a.Shares) < n {
		a.Shares = append(a.Shares, AppShare{})
	}
}

// Memory is what the application has and wants in all partitions.
func (a *App) Memory() (used, pending int64) {
	for p := range a.Shares {
		used += a.Shares[p].Used[yarn.Memory]
		pending += a.Wants.Pending(part(p))[yarn.Memory]
	}
	return used, pending
}

// Avoids tells whether the application does not want the node.
func (a *App) Avoids(n *cluster.NodeBook) bool {
	set := a.Avoid
	if !a.Mastered {
		set = a.AvoidAM
	}
	return len(set) > 0 && (set[n.NodePlace] || set[n.RackPlace])
}

// Bare is a copy that has nothing and wants nothing.
func (a *App) Bare() App {
	c := *a
	c.Live, c.Wants, c.updates = cluster.NewOwned(), &demand.Demand{}, nil
	c.Shares = make([]AppShare, len(a.Shares))
	return c
}

// Enlarges tells whether a container on the node would be of use for what the key asks
// for, which may be to enlarge one: other NodeManagers of the host are of no use then.
func (a *App) Enlarges(w *demand.Want, node NodeRef) bool {
	if a.updates == nil {
		return true
	}
	in := a.updates.increases[w.Update]
	return in == nil || in.node == node
}

// reservations are those of the attempt.
func (a *App) reservations() []ContainerRef {
	var out []ContainerRef
	for _, w := range a.Wants.All() {
		out = append(out, w.Reservations...)
	}
	return out
}
