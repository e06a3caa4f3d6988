// Package preempt finds out what the CapacityScheduler takes back: which queues have more than they should while others that are entitled to it
// wait, and which of their containers go.
//
// A Round works on a picture of the queues (Queue, App), which it draws at its beginning, and on the containers as they are when it comes to them.
// It places and ends nothing. It is done in steps, so that a large cluster does not have everybody else wait; when nothing else changes in between,
// the steps do not change what is found out, and what has gone in between is passed by.
//
// "compat:" marks what Apache's ProportionalCapacityPreemptionPolicy does and nobody would ask for.
package preempt

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

type (
	resource = yarn.Resource
	part     = cluster.Part
)

// Queue is a queue in one partition, as of the beginning of a round. Whoever makes it fills in the exported fields.
type Queue struct {
	Path     string
	Up       *Queue // nil for the root
	Children []*Queue
	Leaf     Leaf // nil for all but leaves
	Disabled bool // nothing is taken from it (disable_preemption)
	Priority int32

	Absolute        float32  // the fraction of the partition that it is entitled to
	Used            resource // reservations included
	Reserved        resource
	Killable        resource // part of what is used, and about to go whenever somebody needs it
	Guaranteed, Max resource

	// What applications ask for within the limits of their users; the second without what is reserved for it.
	pending, pendingUnreserved resource

	// What the running selector has found out. Apache's names follow the colons.
	untouchable resource // what it has above its guarantee that must not be taken: untouchableExtra
	preemptable resource // and what may be: preemptableExtra
	ideal       resource // what it should have: idealAssigned
	excess      resource // what is to be taken from it in the long run: toBePreempted
	obtain      resource // and in this round: actuallyToBePreempted
	norm        [yarn.MaxResourceTypes]float64

	apps  []*App // by selection within the queue: least important first
	users map[string]*User
}

// childless tells whether it has no queues below: it is a leaf, or a parent that has none.
func (q *Queue) childless() bool { return len(q.Children) == 0 }

// Leaf is what a round asks about a leaf.
type Leaf interface {
	// Active are the applications that were admitted, as they were last put in order; Ordered puts them in the order in which they are served.
	Active() []*core.App
	Ordered() []*core.App
	// Waiting are those that wait for admission.
	Waiting() []*core.App
	// UserLimit may enter a user whom the leaf has forgotten, and Ordered brings the leaf's order up to date, as they do in Apache.

	// UserLimit is what the user may use in the partition, by the users who ask for something or, with all, by all who have applications.
	UserLimit(user string, p part, all bool) resource
	// UserUsed is what the user uses, reservations included.
	UserUsed(user string, p part) resource
	// Master is the size of the application's master, where it counts in the partition.
	Master(a *core.App, p part) resource
	// Before compares applications as the leaf serves them.
	Before(a, b *core.App) int
	// Fair tells whether the leaf serves them by what they use (ordering policy fair).
	Fair() bool
	// MasterLimit is what masters are left in the default partition when nothing else can be taken.
	MasterLimit() resource
	// UsedCapacity is how much of its guarantee the leaf uses; 1: all.
	UsedCapacity(p part) float32
	// MinimumRuntime is how long a container is safe, in milliseconds.
	MinimumRuntime() int64
	// KeepsOrder tells whether nothing is taken for others of the same leaf (intra-queue-preemption.disable_preemption).
	KeepsOrder() bool
}
