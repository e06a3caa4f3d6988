// Package cluster keeps the books of nodes and containers: what every node has,
// what is taken there, by whom, and which partition and rack it belongs to.
package cluster

import "github.com/heddle-project/heddle/yarn"

// NodeRef, AppRef and ContainerRef are dense indexes of nodes, applications and
// containers; -1 is none. An index is reused after its owner was removed.
type (
	NodeRef      int32
	AppRef       int32
	ContainerRef int32
)

// No node, application or container.
const (
	NoNode      NodeRef      = -1
	NoApp       AppRef       = -1
	NoContainer ContainerRef = -1
)

// Node describes a node that joins.
type Node struct {
	Label string // partition, "" for the default one
	Total yarn.Resource
	ID    yarn.NodeID
	Rack  string // "" stands for /default-rack
}

// DefaultRack is the rack of nodes whose location nobody knows.
const DefaultRack = "/default-rack"

// Locality tells how close to what was asked for a container was placed.
type Locality uint8

// The localities. A container of a request for any host counts as off-switch.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch
)

func (l Locality) String() string {
	return [...]string{"NODE_LOCAL", "RACK_LOCAL", "OFF_SWITCH"}[l]
}

// Cause says why a container ended.
type Cause uint8

// The causes of an end.
const (
	Completed    Cause = iota // its process ended, as the node reported
	ReleasedByAM              // its master gave it back
	KilledByRM                // an administrator, or the application's end
	Preempted                 // taken for someone else
	Expired                   // never acquired or never started in time
	NodeGone                  // its node was lost, removed, or changed partition
	Reshaped                  // part of an update that shrank or replaced it
	AttemptOver               // its attempt ended
)

// Container is an allocation or a reservation. Outside of the scheduler it is
// read only. It takes three cache lines; few containers have anything in the last.
type Container struct {
	Resource    yarn.Resource
	ID          yarn.ContainerID
	App         AppRef
	Node        NodeRef
	Priority    int32
	Locality    Locality
	Execution   yarn.ExecutionType
	AM          bool // runs the application's master
	Reserved    bool // holds a node for a container that does not fit yet
	Launched    bool // its node reported it as running
	Live        bool // counted in the books of its queue and user
	Killable    bool // goes as soon as somebody else needs its room (lazy preemption)
	held        bool // is on its node, where a guaranteed one takes room
	open        bool // the slot is in use
	CreatedWall int64

	AllocationRequestID int64
	Label               string // partition that the request named
	// Update names the container that this one is going to enlarge or promote.
	// Such a container is not one of the master's own; it never reaches a node.
	Update  yarn.ContainerID
	Version int32
	Floor   int32 // the next version is a higher one
}

// link chains a container to those before and after it in a list.
type link struct{ prev, next ContainerRef }

// The lists that a container may be in: of its node and of its application.
const (
	onNode = iota
	ofApp
	lists // how many there are
)

// Ended is a container that ceased to be, with a copy of its last state.
type Ended struct {
	Ref       ContainerRef
	Container Container
	Cause     Cause
	Vacated   bool // its slot is free again: no Vacate is due
}

// Kind is what a Decision did.
type Kind uint8

// The kinds of decisions.
const (
	Allocated             Kind = iota // a new container
	AllocatedFromReserved             // a reservation became a container
	Reserved                          // a node is now held for a container
	Rereserved                        // the node stays held
	Unreserved                        // a reservation was given up; the index of its container is free
	Taken                             // a killable container was ended for another application; it is to be vacated
)

func (k Kind) String() string {
	return [...]string{"allocated", "allocated-from-reserved", "reserved", "re-reserved", "unreserved", "taken"}[k]
}

// Decision is one thing that an Offer did.
type Decision struct {
	Kind      Kind
	Container ContainerRef
	App       AppRef
	Node      NodeRef
	Priority  int32
	For       AppRef // of Taken: who gets what the container had
	Resource  yarn.Resource
}
