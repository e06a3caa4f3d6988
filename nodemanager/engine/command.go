package engine

import (
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// Command is one way in which a node can change. The set is closed: the types in this file.
type Command interface{ command() }

// Ticket ties a reply to the call that waits for it. 0 means nobody waits.
type Ticket uint64

// Spec is a container as its master starts it. Tokens have been checked.
type Spec struct {
	ID                  yarn.ContainerID
	User                string
	Resource            yarn.Resource
	Priority            int32
	Created             int64 // by the ResourceManager, milliseconds since 1970
	Execution           yarn.ExecutionType
	Version             int32
	AllocationRequestID int64
	AllocationTags      []string
	Label               string
	Master              bool
	LogContext          []byte
	Token               []byte // ContainerTokenIdentifierProto
	Launch              []byte // ContainerLaunchContextProto
	Resources           []Request
	ACLs                map[string]string
	Retry               Retry
}

// Visibility says who shares a resource.
type Visibility uint8

// The visibilities of LocalResourceVisibilityProto.
const (
	Public Visibility = iota + 1
	Private
	Application
)

// Request is a resource that a container wants under a name. Key is the identity of what it wants: requests with equal
// keys and equal visibility share one copy. What the key says is the localizer's affair.
type Request struct {
	Name       string // of the link in the working directory
	Visibility Visibility
	Key        string
	Resource   []byte // LocalResourceProto
}

// Retry says when a container that fails is started again (ContainerRetryContextProto).
type Retry struct {
	Policy   RetryPolicy
	Codes    []int32 // of RetryOnCodes
	Max      int32   // how often; or RetryForever
	Interval int64   // milliseconds
	Validity int64   // milliseconds after which a failure counts no more; -1: it always counts
}

// RetryForever is a Retry's Max without an end. Other negative numbers allow no retry.
const RetryForever = -1

// RetryPolicy is ContainerRetryPolicyProto.
type RetryPolicy uint8

// The policies.
const (
	NeverRetry RetryPolicy = iota
	RetryOnAll
	RetryOnCodes
)

// Masters' calls.
type (
	// Start accepts a container.
	Start struct {
		Ticket    Ticket
		Container Spec
	}

	// Stop ends a container, which may have ended already.
	Stop struct {
		Ticket Ticket
		ID     yarn.ContainerID
	}

	// Signal has a signal delivered to a container's processes (SignalContainerCommandProto).
	Signal struct {
		Ticket Ticket
		ID     yarn.ContainerID
		Signal int32
	}

	// Update changes what a container may use. A version that is not newer is refused.
	Update struct {
		Ticket    Ticket
		ID        yarn.ContainerID
		Resource  yarn.Resource
		Execution yarn.ExecutionType
		Version   int32
		Token     []byte // its new ContainerTokenIdentifierProto; nil from the ResourceManager
	}
)

// What the ResourceManager says.
type (
	// Orders are what an answer to a heartbeat asks for.
	Orders struct {
		Cleanup []yarn.ContainerID   // kill these
		Finish  []yarn.ApplicationID // these have ended
		Forget  []yarn.ContainerID   // their ends have been heard
	}

	// Shed ends opportunistic containers that wait for room beyond so many (ContainerQueuingLimitProto).
	Shed struct{ Keep int }

	// Offer says what the node has for containers.
	Offer struct{ Total yarn.Resource }

	// KillAll ends every container: the ResourceManager wants them no longer, or the node goes down for good.
	KillAll struct {
		Exit int32
		Why  string
	}
)

// What the parts report.
type (
	// Fetched ends a Fetch.
	Fetched struct {
		Number  int64
		Path    string
		Bytes   int64
		Failure string // not empty: there is no resource, and why
	}

	// Gone tells that what was localized to a path is not there any more. Who wants it next gets it anew.
	Gone struct{ Path string }

	// Launched tells that a container has been started; once more, with its process id, when that is known.
	Launched struct {
		ID  yarn.ContainerID
		PID int32
	}

	// Exited tells that it runs no longer, or never did.
	Exited struct {
		ID   yarn.ContainerID
		Code int32
		Text string // what went wrong
	}

	// Paused ends a Pause.
	Paused struct {
		ID      yarn.ContainerID
		Failure string // not empty: it could not be done, and why
	}

	// Resumed ends a Resume.
	Resumed struct {
		ID      yarn.ContainerID
		Failure string // likewise
	}

	// Overrun asks for the end of a container that uses more than it may.
	Overrun struct {
		ID   yarn.ContainerID
		Exit int32
		Why  string
	}

	// Noted adds to what a container's diagnostics say.
	Noted struct {
		ID   yarn.ContainerID
		Text string
	}

	// Cleared tells that an application's directories are gone.
	Cleared struct{ Application yarn.ApplicationID }

	// LogsDone tells that an application's logs are taken care of.
	LogsDone struct{ Application yarn.ApplicationID }

	// Disks says which directories may be written to.
	Disks struct {
		Local, Log []string
		TooFew     string // not empty: too few of them are good to start a container, and why
	}

	// Keep has a record of another part kept, before whatever is commanded after it. Replied.
	Keep struct {
		Ticket Ticket
		Op     state.Op
	}

	// Echo is answered, and changes nothing: whatever was commanded before it has been carried out then.
	Echo struct{ Ticket Ticket }

	// Wake does what is due.
	Wake struct{}
)

func (Start) command()    {}
func (Stop) command()     {}
func (Signal) command()   {}
func (Update) command()   {}
func (Orders) command()   {}
func (Shed) command()     {}
func (Offer) command()    {}
func (KillAll) command()  {}
func (Fetched) command()  {}
func (Gone) command()     {}
func (Launched) command() {}
func (Exited) command()   {}
func (Paused) command()   {}
func (Resumed) command()  {}
func (Overrun) command()  {}
func (Noted) command()    {}
func (Cleared) command()  {}
func (LogsDone) command() {}
func (Disks) command()    {}
func (Keep) command()     {}
func (Echo) command()     {}
func (Wake) command()     {}
