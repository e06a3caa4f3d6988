// Package events keeps the latest changes of state and decisions of the ResourceManager, in their order, for those who
// follow them. Writers never wait: a reader comes for what it has not seen, and learns what it has missed.
package events

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/yarn"
)

// Kept is how many events are kept: at most 8 MB.
const Kept = 1 << 15

// ID is the place of an event. Term is the cluster timestamp of the ResourceManager that made it, which grows from one
// start, or change of leader, to the next; numbers count from 1 in each. So no place is ever given twice.
type ID struct {
	Term   int64
	Number int64
}

// String is the term and the number with a hyphen between.
func (i ID) String() string {
	return strconv.FormatInt(i.Term, 10) + "-" + strconv.FormatInt(i.Number, 10)
}

// ParseID reads what String writes.
func ParseID(s string) (ID, error) {
	term, number, ok := strings.Cut(s, "-")
	t, err := strconv.ParseUint(term, 10, 63)
	n, err2 := strconv.ParseUint(number, 10, 63)
	if !ok || err != nil || err2 != nil {
		return ID{}, fmt.Errorf("%.60q is not the id of an event, which is like 1700000000000-42", s)
	}
	return ID{int64(t), int64(n)}, nil
}

// Kind is what an event is about.
type Kind uint8

// The kinds of events.
const (
	Application Kind = iota // From, To, Cause, Queue
	Attempt                 // From, To, Cause, Queue
	Node                    // From, To, Cause
	Container               // What, Node, Queue, size, Priority, Master; Exit of one that has ended
	Queues                  // the configuration of the queues has changed, or the queues have
	Reservation             // What, Queue: of the plan; Cause
)

// Event is a change of state or a decision. Fields that do not belong to its kind are zero.
type Event struct {
	Number int64
	At     int64 // milliseconds since 1970
	Kind   Kind

	Application yarn.ApplicationID // of an attempt or a container, too
	Attempt     int32
	Container   yarn.ContainerID
	Node        yarn.NodeID
	Queue       string
	From, To    string // states
	Cause       string
	What        string // allocated, ended, noticed; of a reservation what has become of it
	MemoryMB    int64
	VCores      int64
	Priority    int32
	Exit        int32
	Master      bool
	Reservation yarn.ReservationID
}

// Log has the latest events of one term. Its methods are safe for use by many goroutines.
type Log struct {
	term int64

	mu    sync.Mutex
	ring  []Event // event n is at (n-1) % Kept
	last  int64
	wake  chan struct{} // closed when there is more; nil while nobody waits
	ended bool
}

// New is a log without events.
func New(term int64) *Log { return &Log{term: term} }

// Last is the place of the last event; its number is 0 before there is one.
func (l *Log) Last() ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ID{l.term, l.last}
}

// Add numbers an event and keeps it.
func (l *Log) Add(e *Event) {
	l.mu.Lock()
	l.last++
	at := int((l.last - 1) % Kept)
	if at < len(l.ring) {
		l.ring[at] = *e
	} else {
		l.ring = append(l.ring, *e)
	}
	l.ring[at].Number = l.last
	wake := l.wake
	l.wake = nil
	l.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}

// Close ends the log: who waits for more is told that there is none.
func (l *Log) Close() {
	l.mu.Lock()
	wake := l.wake
	l.wake, l.ended = nil, true
	l.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}

// Read appends events after a number to out, at most most, in their order. missed is how many after that number are not kept
// any more; those that follow them are read.
func (l *Log) Read(after int64, most int, out []Event) (_ []Event, missed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := max(l.last-Kept, 0); after < first {
		missed, after = first-after, first
	}
	for n := after + 1; n <= l.last && most > 0; n++ {
		out = append(out, l.ring[(n-1)%Kept])
		most--
	}
	return out, missed
}

// More is closed once there is an event after that number, or the log has ended, which ended tells.
func (l *Log) More(after int64) (more <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last > after || l.ended {
		done := make(chan struct{})
		close(done)
		return done, l.ended
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake, false
}
