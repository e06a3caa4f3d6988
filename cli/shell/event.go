package shell

import "time"

// Kind is what an event tells.
type Kind string

// The kinds of events.
const (
	Started Kind = "started" // a container runs the command
	Output  Kind = "output"  // it has printed Data
	Lost    Kind = "lost"    // it ended for no fault of the command, and is asked for again
	Ended   Kind = "ended"   // it will not run again; Exit is its exit code
)

// Event is something that happened to one of the job's containers.
type Event struct {
	Seq       int64 // counts the events of a job from 0
	Time      int64 // milliseconds since 1970
	Kind      Kind
	Number    int    // of the container, from 0
	Try       int    // from 1
	Container string `json:",omitempty"`
	Node      string `json:",omitempty"`
	Exit      int32  // of Lost and Ended: the process's, or YARN's below zero
	Detail    string `json:",omitempty"` // why
	Stream    string `json:",omitempty"` // of Output: stdout or stderr
	Data      []byte `json:",omitempty"`
}

// Page is one answer of the master: events in the order of their numbers.
type Page struct {
	Events []Event
	Next   int64 // number to ask from
	Over   bool  // nothing comes after these
}

// Bounds of what is held and sent.
const (
	MaxHeld       = 4 << 20 // bytes of output that wait to be fetched
	maxPageOutput = 1 << 20 // bytes of output of one page
	maxPageEvents = 1000
	maxDetail     = 4 << 10 // bytes of an event's explanation
	maxPolls      = 8       // requests for events at once
	maxAnswer     = 8 << 20 // bytes of a page as it is sent
)

// Times of the two sides.
const (
	HoldTime = 2 * time.Second  // that a request waits for the next event
	Patience = 30 * time.Second // without a request until the submitter counts as gone
)

// clip shortens an explanation.
func clip(s string) string {
	if len(s) > maxDetail {
		return s[:maxDetail] + "…"
	}
	return s
}
