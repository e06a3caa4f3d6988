package yarn

// AnyHost is the location of an ask that any node may serve.
const AnyHost = "*"

// Ask is one row of an ApplicationMaster's request. Count is absolute: it
// replaces what was outstanding for the same priority, allocation request and
// location (ResourceRequestProto).
type Ask struct {
	Priority            int32  // smaller is served first
	AllocationRequestID int64  // -1 when the master does not number its requests
	Where               string // AnyHost, a rack or a host
	Capability          Resource
	Count               int32
	RelaxLocality       bool // may be served by a less local place too
	Label               string
	LabelSet            bool // false: the label was left out and is inherited
	ExecutionType       ExecutionType
	EnforceExecution    bool
}

// ExecutionType tells whether a container may be queued or stopped in favour of others.
type ExecutionType uint8

// The execution types of ExecutionTypeProto.
const (
	Guaranteed ExecutionType = iota
	Opportunistic
)

func (t ExecutionType) String() string {
	if t == Opportunistic {
		return "OPPORTUNISTIC"
	}
	return "GUARANTEED"
}

// UpdateType says how a running container shall change.
type UpdateType uint8

// The values of ContainerUpdateTypeProto.
const (
	IncreaseResource UpdateType = iota
	DecreaseResource
	PromoteExecutionType
	DemoteExecutionType
)

// ContainerUpdate asks for one change of one container. Version must be the
// container's current one.
type ContainerUpdate struct {
	Container     ContainerID
	Version       int32
	Type          UpdateType
	Capability    Resource
	ExecutionType ExecutionType
}

// Exit statuses that YARN gives to containers whose process did not end by itself
// (org.apache.hadoop.yarn.api.records.ContainerExitStatus).
const (
	ExitSuccess            int32 = 0
	ExitInvalid            int32 = -1000 // not known yet
	ExitAborted            int32 = -100
	ExitDisksFailed        int32 = -101
	ExitPreempted          int32 = -102
	ExitKilledExceededVMem int32 = -103
	ExitKilledExceededPMem int32 = -104
	ExitKilledByAM         int32 = -105
	ExitKilledByRM         int32 = -106
	ExitKilledAfterApp     int32 = -107
)
