// Package state describes what a NodeManager keeps in its recovery store across a restart: containers, applications, the
// localized resources in the cache, and what other parts of the daemon store under their own names (token keys, shuffle jobs).
// The engine decides what to keep; the store keeps it.
package state

import (
	"errors"

	"github.com/heddle-project/heddle/yarn"
)

// ErrAway is wrapped by a store's error when nothing was written but the same write may succeed later.
var ErrAway = errors.New("the recovery store keeps nothing for now")

// Container is a container that the node has accepted.
type Container struct {
	ID        yarn.ContainerID
	Token     []byte // ContainerTokenIdentifierProto, as it was presented
	Launch    []byte // ContainerLaunchContextProto, likewise; nothing once it is done
	Started   int64  // when it was accepted, milliseconds since 1970
	Resource  yarn.Resource
	Execution yarn.ExecutionType
	Version   int32
	WorkDir   string // its working directory; empty until it was chosen
	LogDir    string
	Tries     int32   // launches so far
	Failures  []int64 // when it failed, as far as that counts for its next retry, milliseconds since 1970
	Queued    bool    // it may wait for room, however many others do
	Paused    bool    // its processes are stopped, or about to be
	Killed    int32   // exit status that a kill demands; 0: nobody has killed it
	Done      bool
	Exit      int32 // once done
	Ended     int64 // likewise
	Text      string
}

// Ended is a container that has ended and whose end the ResourceManager knows. Log aggregation needs it to decide which logs to
// collect.
type Ended struct {
	ID     yarn.ContainerID
	Master bool
	Exit   int32
}

// Application is an application that has, or had, containers here.
type Application struct {
	ID         yarn.ApplicationID
	User       string
	LogContext []byte            // LogAggregationContextProto; nil if there is none
	ACLs       map[string]string // access type → list, as its first container brought them
	Finished   bool              // the ResourceManager has said so
	Collected  bool              // its directories are gone and its logs wait to be collected
}

// Resource is a file or a directory in the cache.
type Resource struct {
	Number int64  // unique among resources, in the order in which they came
	Owner  string // "" for everybody, "user/U" or "application/A"
	Key    string // identity of what was asked for, see the engine's Request
	Place  int64  // n of its numbered directory
	Dir    string // its numbered directory
	Path   string // the file, or the directory of an archive
	Bytes  int64
	Used   int64 // when it was last given to a container, milliseconds since 1970
}

// Op is one change of what is kept. The set is closed.
type Op interface{ op() }

// The changes. A put replaces the record with the same identity; dropping a record that is not there is no error. Dropping an
// application also drops its ended containers.
type (
	PutContainer    struct{ Container Container }
	DropContainer   struct{ ID yarn.ContainerID }
	PutEnded        struct{ Ended Ended }
	PutApplication  struct{ Application Application }
	DropApplication struct{ ID yarn.ApplicationID }
	PutResource     struct{ Resource Resource }
	DropResource    struct{ Number int64 }
	PutPart         struct {
		Part, Key string // which part of the daemon keeps it, under what name
		Value     []byte
	}
	DropPart struct{ Part, Key string }
)

func (PutContainer) op()    {}
func (DropContainer) op()   {}
func (PutEnded) op()        {}
func (PutApplication) op()  {}
func (DropApplication) op() {}
func (PutResource) op()     {}
func (DropResource) op()    {}
func (PutPart) op()         {}
func (DropPart) op()        {}

// Snapshot is everything that was kept, each kind sorted by its identity.
type Snapshot struct {
	Containers   []Container
	Ended        []Ended
	Applications []Application
	Resources    []Resource
	Parts        map[string]map[string][]byte // part → key → value
	Damaged      []Damage
}

// Damage is a record that cannot be used, and why.
type Damage struct{ Key, Reason string }
