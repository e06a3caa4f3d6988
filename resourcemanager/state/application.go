package state

import "github.com/heddle-project/heddle/yarn"

// Application is the stored record of an application. It is written at submission,
// first launch, move, change of priority or timeout, and at the end.
type Application struct {
	ID yarn.ApplicationID

	// Context is the ApplicationSubmissionContextProto as it was received. Where a
	// field below is also in it (Queue, PlanQueue, Priority) the one below is in force.
	Context []byte

	User            string // the effective user
	RealUser        string // the proxy user who submitted it for User; empty if none did
	Queue           string // resolved full path; placement is never run again
	PlanQueue       string // of the queue below Queue, which is a plan, that a caller moved it to; empty: where its reservation says
	CallerContext   string
	CallerSignature []byte
	Priority        int32

	SubmitTime int64
	StartTime  int64
	LaunchTime int64 // when the first attempt was launched
	FinishTime int64

	Timeouts []Timeout // at most one per type, ordered by type

	Final       yarn.ApplicationState // AppNew until the application has ended
	FinalStatus yarn.FinalStatus
	Diagnostics string

	Unknown []byte // fields that a later version wrote; kept, never read
}

// MaxTimeouts bounds the timeouts of one application. YARN knows one type.
const MaxTimeouts = 16

// Timeout ends an application at a moment of wall-clock time.
type Timeout struct {
	Type     int32 // ApplicationTimeoutTypeProto; 1 is LIFETIME
	ExpireAt int64
}

// Attempt is the stored record of an application's attempt. It is written when the
// master's container is known and at the attempt's end.
type Attempt struct {
	ID yarn.AttemptID

	// The master's container; zero if the master is unmanaged. After a restart the
	// master is recognized by it among the containers that nodes report.
	MasterContainer yarn.ContainerID
	MasterNode      yarn.NodeID
	MasterHTTP      string // host:port of the node's web server
	MasterResource  yarn.Resource
	MasterPriority  int32

	Host        string // where the master serves its clients, as it registered
	RPCPort     int32
	TrackingURL string

	StartTime  int64
	FinishTime int64

	Final       yarn.AttemptState // AttemptNew until the attempt has ended
	FinalStatus yarn.FinalStatus
	ExitStatus  int32 // of the master's container; yarn.ExitInvalid until known
	Diagnostics string

	UsageSeconds    yarn.Resource // amount held × seconds, by resource type (MiB·s, vcore·s)
	PreemptedUsage  yarn.Resource // likewise, of containers that were preempted
	TotalContainers int64         // containers allocated so far

	Unknown []byte
}
