package core

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// Level is where in a walk an activity was.
type Level uint8

// The levels, from the root to what is asked for.
const (
	AtQueue Level = iota
	AtApp
	AtRequest
)

// Activity is what a walk did with a queue, an application, or what one asks for under a key.
type Activity struct {
	Level     Level
	Name      string // path of the queue, or id of the application
	Priority  int32  // of the application, or of what it asks for
	RequestID int64
	Outcome   Outcome     // that came of it, or of what is below it
	Why       yarn.Reason // why nothing came of it, unless those below say it
	Below     []*Activity // in the order of the walk
}

// NodeActivity is what a walk for a node did.
type NodeActivity struct {
	Node    yarn.NodeID // zero if no walk comes to the application
	Label   string      // of the partition whose asks the walk serves
	Outcome Outcome
	Why     yarn.Reason // that of the last refusal
	Root    *Activity   // of a walk for one application alone: the application's
	Cut     bool        // there was more than MaxActivities
}

// MaxActivities bounds what is recorded of one walk.
const MaxActivities = 2000

// Activities is what an offer of the node would do now. It changes nothing. Only the CapacityScheduler tells.
func (s *Core) Activities(cluster.NodeRef) []NodeActivity { return nil }

// AppActivities is what offers of at most so many nodes would do for the application now, if it were alone. It changes nothing. Only the
// CapacityScheduler tells.
func (s *Core) AppActivities(AppRef, int) []NodeActivity { return nil }
