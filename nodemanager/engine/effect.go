package engine

import (
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// Effect is one consequence of a command. The set is closed: the types in this file. Effects are carried out in order; a
// Save is durable before what stands behind it begins.
type Effect interface{ effect() }

// Effects of the edge and of the store.
type (
	// Reply answers the call with that ticket.
	Reply struct {
		Ticket Ticket
		Err    *Error
	}

	// Save changes what is kept for the next life.
	Save struct{ Op state.Op }
)

// Effects on disk.
type (
	// Fetch brings a resource into its numbered directory. Answered by Fetched.
	Fetch struct {
		Number      int64
		Resource    []byte // LocalResourceProto
		Visibility  Visibility
		User        string
		Application yarn.ApplicationID
		Container   yarn.ContainerID // who wants it
		Launch      []byte           // its ContainerLaunchContextProto, which has the credentials
		Dir         string
	}

	// Abandon ends a Fetch that nobody waits for any more. It is answered all the same.
	Abandon struct{ Number int64 }

	// Remove deletes trees, after the debug delay if it is a container's.
	Remove struct {
		Paths []string
		Debug bool
	}

	// Swept tells what a look at the caches that applications share has found there and taken away, in bytes.
	Swept struct{ Before, Public, Private int64 }

	// Open prepares an application's life: directories, auxiliary services, collection of logs.
	Open struct {
		Application yarn.ApplicationID
		User        string
		LogContext  []byte
		ACLs        map[string]string
	}

	// Clear deletes an application's directories and ends its auxiliary services. Answered by Cleared.
	Clear struct {
		Application yarn.ApplicationID
		User        string
	}

	// CollectLogs takes care of an ended application's logs. Answered by LogsDone.
	CollectLogs struct {
		Application yarn.ApplicationID
		User        string
		LogContext  []byte
		ACLs        map[string]string
		Containers  []Ended
	}
)

// Ended is what collecting logs depends on.
type Ended = state.Ended

// Effects on processes.
type (
	// Launch starts a container. Answered by Launched, if it comes so far, and by Exited.
	Launch struct {
		Place    Place
		Spec     *Spec // never changed
		Links    []Link
		Counters [5]int64 // bytes missed, bytes cached, files missed, files cached, milliseconds
	}

	// Localized tells what it took to get the resources of a container, in the
	// order of Launch.Counters.
	Localized struct{ Counters [5]int64 }

	// Attach finds a container of the last life again. Answered like Launch.
	Attach struct {
		Place Place
		Spec  *Spec
	}

	// Kill ends a container's processes, first with SIGTERM. They report by Exited.
	Kill struct{ ID yarn.ContainerID }

	// Pause stops a container's processes for a while. Answered by Paused.
	Pause struct{ ID yarn.ContainerID }

	// Resume has them go on. Answered by Resumed.
	Resume struct{ ID yarn.ContainerID }

	// Resize tells what a container that has been launched may use now.
	Resize struct{ Spec *Spec } // never changed

	// Deliver sends a signal (SignalContainerCommandProto).
	Deliver struct {
		ID     yarn.ContainerID
		Signal int32
	}
)

// Link is a localized resource under its name in the working directory.
type Link struct{ Target, Name string }

// Place is where a container lives.
type Place struct {
	ID      yarn.ContainerID
	WorkDir string
	LogDir  string
	Local   []string // the healthy local directories
	Log     []string // the healthy log directories
}

// States of applications that decide something elsewhere.
const (
	ApplicationRunning  = "RUNNING"  // it may start containers
	ApplicationFinished = "FINISHED" // nothing of it is left but its logs
)

// Effects for readers.
type (
	// Show publishes how a container is now. The value is never changed.
	Show struct{ Container *View }

	// Hide ends that.
	Hide struct{ ID yarn.ContainerID }

	// ShowApplication publishes how an application is now.
	ShowApplication struct {
		ID    yarn.ApplicationID
		User  string
		State string            // as REST spells it
		ACLs  map[string]string // access type → list; never changed
	}

	// HideApplication ends that.
	HideApplication struct{ ID yarn.ApplicationID }

	// Beat asks for a heartbeat soon: a container has ended.
	Beat struct{}
)

// View is a container as readers see it.
type View struct {
	ID        yarn.ContainerID
	User      string
	State     string // ContainerState as REST spells it
	Sub       SubState
	Exit      int32 // NotExited until it is done
	Text      string
	Resource  yarn.Resource
	Spec      *Spec
	Version   int32
	Execution yarn.ExecutionType
	PID       int32
	WorkDir   string
	LogDir    string
	Started   int64
	Launched  int64 // 0: never
	Finished  int64 // 0: not yet
	Waits     bool  // there is no room for it, or it is paused for want of it
	Holds     bool  // it has its share of the node
}

// Done tells whether the container has ended and been cleaned up.
func (v *View) Done() bool { return v.Sub == SubDone }

// SubState is ContainerSubStateProto.
type SubState uint8

// The sub-states.
const (
	SubScheduled SubState = iota + 1
	SubRunning
	SubPaused
	SubCompleting
	SubDone
)

func (Reply) effect()           {}
func (Save) effect()            {}
func (Fetch) effect()           {}
func (Abandon) effect()         {}
func (Remove) effect()          {}
func (Swept) effect()           {}
func (Open) effect()            {}
func (Clear) effect()           {}
func (CollectLogs) effect()     {}
func (Localized) effect()       {}
func (Launch) effect()          {}
func (Attach) effect()          {}
func (Kill) effect()            {}
func (Pause) effect()           {}
func (Resume) effect()          {}
func (Resize) effect()          {}
func (Deliver) effect()         {}
func (Show) effect()            {}
func (Hide) effect()            {}
func (ShowApplication) effect() {}
func (HideApplication) effect() {}
func (Beat) effect()            {}
