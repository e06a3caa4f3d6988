package yarn

// ApplicationState is the state of an application inside the ResourceManager
// (RMAppState). Clients see PublicState.
type ApplicationState uint8

// The states of an application.
const (
	AppNew ApplicationState = iota
	AppNewSaving
	AppSubmitted
	AppAccepted
	AppRunning
	AppFinalSaving
	AppFinishing
	AppKilling
	AppFinished
	AppFailed
	AppKilled
)

var appStateNames = [...]string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINAL_SAVING",
	"FINISHING", "KILLING", "FINISHED", "FAILED", "KILLED"}

func (s ApplicationState) String() string { return name(appStateNames[:], int(s)) }

// Final tells whether the application has ended and will not change again.
func (s ApplicationState) Final() bool { return s == AppFinished || s == AppFailed || s == AppKilled }

// PublicState is what clients are told (YarnApplicationState). The values are
// those of YarnApplicationStateProto.
type PublicState uint8

// The states that clients see.
const (
	PublicNew PublicState = iota + 1
	PublicNewSaving
	PublicSubmitted
	PublicAccepted
	PublicRunning
	PublicFinished
	PublicFailed
	PublicKilled
)

var publicStateNames = [...]string{"", "NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

func (s PublicState) String() string { return name(publicStateNames[:], int(s)) }

// ParsePublicState is the state with that upper-case name.
func ParsePublicState(s string) (PublicState, bool) {
	i, ok := indexOf(publicStateNames[:], s)
	return PublicState(i), ok
}

// PublicStates are all states that clients see, in the order of their lives.
func PublicStates() []PublicState {
	return []PublicState{PublicNew, PublicNewSaving, PublicSubmitted, PublicAccepted, PublicRunning, PublicFinished, PublicFailed, PublicKilled}
}

// AttemptState is the state of an application attempt (RMAppAttemptState).
type AttemptState uint8

// The states of an attempt.
const (
	AttemptNew AttemptState = iota
	AttemptSubmitted
	AttemptScheduled
	AttemptAllocatedSaving
	AttemptAllocated
	AttemptLaunchedUnmanagedSaving
	AttemptLaunched
	AttemptRunning
	AttemptFinalSaving
	AttemptFinishing
	AttemptFinished
	AttemptFailed
	AttemptKilled
)

var attemptStateNames = [...]string{"NEW", "SUBMITTED", "SCHEDULED", "ALLOCATED_SAVING", "ALLOCATED",
	"LAUNCHED_UNMANAGED_SAVING", "LAUNCHED", "RUNNING", "FINAL_SAVING", "FINISHING", "FINISHED", "FAILED", "KILLED"}

func (s AttemptState) String() string { return name(attemptStateNames[:], int(s)) }

// Final tells whether the attempt has ended.
func (s AttemptState) Final() bool {
	return s == AttemptFinished || s == AttemptFailed || s == AttemptKilled
}

// FinalStatus is how an application judged its own end. The values are those of
// FinalApplicationStatusProto.
type FinalStatus uint8

// The final statuses.
const (
	FinalUndefined FinalStatus = iota
	FinalSucceeded
	FinalFailed
	FinalKilled
	FinalEnded
)

var finalStatusNames = [...]string{"UNDEFINED", "SUCCEEDED", "FAILED", "KILLED", "ENDED"}

func (s FinalStatus) String() string { return name(finalStatusNames[:], int(s)) }

// ParseFinalStatus is the status with that upper-case name.
func ParseFinalStatus(s string) (FinalStatus, bool) {
	i, ok := indexOf(finalStatusNames[:], s)
	return FinalStatus(i), ok
}

// ContainerState is the state of a container inside the ResourceManager
// (RMContainerState).
type ContainerState uint8

// The states of a container.
const (
	ContainerReserved ContainerState = iota
	ContainerAllocated
	ContainerAcquired
	ContainerRunning
	ContainerCompleted
	ContainerReleased
	ContainerExpired
	ContainerKilled
)

var containerStateNames = [...]string{"RESERVED", "ALLOCATED", "ACQUIRED", "RUNNING", "COMPLETED", "RELEASED", "EXPIRED", "KILLED"}

func (s ContainerState) String() string { return name(containerStateNames[:], int(s)) }

// Final tells whether the container has ended.
func (s ContainerState) Final() bool { return s >= ContainerCompleted }

// NodeState is the state of a node (NodeState). The values are those of NodeStateProto.
type NodeState uint8

// The states of a node.
const (
	NodeNew NodeState = iota + 1
	NodeRunning
	NodeUnhealthy
	NodeDecommissioned
	NodeLost
	NodeRebooted
	NodeDecommissioning
	NodeShutdown
)

var nodeStateNames = [...]string{"", "NEW", "RUNNING", "UNHEALTHY", "DECOMMISSIONED", "LOST", "REBOOTED", "DECOMMISSIONING", "SHUTDOWN"}

func (s NodeState) String() string { return name(nodeStateNames[:], int(s)) }

// Usable tells whether the node still runs containers for the cluster.
func (s NodeState) Usable() bool { return s == NodeRunning || s == NodeDecommissioning }

// ParseNodeState is the state with that upper-case name.
func ParseNodeState(s string) (NodeState, bool) {
	i, ok := indexOf(nodeStateNames[:], s)
	return NodeState(i), ok
}

// NodeStates are all states of nodes.
func NodeStates() []NodeState {
	return []NodeState{NodeNew, NodeRunning, NodeUnhealthy, NodeDecommissioned, NodeLost, NodeRebooted, NodeDecommissioning, NodeShutdown}
}

func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return "UNKNOWN"
	}
	return names[i]
}

func indexOf(names []string, s string) (int, bool) {
	for i, n := range names {
		if n == s && n != "" {
			return i, true
		}
	}
	return 0, false
}
