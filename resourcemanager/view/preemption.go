package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// Preemption is one event of the log of preemption: what became of a container that is taken from one application for another.
type Preemption struct {
	At        int64 // milliseconds since 1970
	Event     PreemptionEvent
	Container yarn.ContainerID
	Queue     string // that it is taken from, a path
	Resource  yarn.Resource
	Master    bool
	Age       int64 // since the container, or the reservation, was made; milliseconds
	Rule      string

	// Who is to get it; either may be unknown.
	ForQueue string
	ForApp   yarn.ApplicationID
}

// PreemptionEvent is what became of the container.
type PreemptionEvent uint8

// The events.
const (
	Noticed    PreemptionEvent = iota // it goes unless the reason for it ceases
	Preempted                         // it was ended
	Unreserved                        // the reservation was given up
	Observed                          // with observe_only: it would have been noticed
	Killable                          // with lazy preemption: its notice has run out, and it runs on until somebody who may have its room needs it
	Moved                             // the reservation holds another node: room could not be made on the first one
)

func (e PreemptionEvent) String() string {
	return [...]string{"noticed", "preempted", "unreserved", "observed", "killable", "moved"}[e]
}

// Lost is what it had × the seconds that it ran (MB-seconds, vcore-seconds); zero unless it was preempted.
func (p *Preemption) Lost() (lost yarn.Resource) {
	if p.Event == Preempted {
		for i, amount := range p.Resource {
			lost[i] = amount * p.Age / 1000
		}
	}
	return lost
}

// Of tells whether it concerns the queue, or one below it: as the one that loses or as the one that gains.
func (p *Preemption) Of(queue string) bool { return below(p.Queue, queue) || below(p.ForQueue, queue) }

// OfApplication tells whether it concerns the application.
func (p *Preemption) OfApplication(id yarn.ApplicationID) bool {
	return p.Container.Attempt.Application == id || p.ForApp == id
}

func below(path, queue string) bool { return path == queue || strings.HasPrefix(path, queue+".") }

// MostTold is how many events about one application are told together.
const MostTold = 10

// Sentence tells the event to somebody who looks at the application of.
func (p *Preemption) Sentence(of yarn.ApplicationID) string {
	text := fmt.Sprintf("%s %s in queue %s %s", time.UnixMilli(p.At).UTC().Format(time.RFC3339), p.Container, p.Queue, p.Event.told())
	switch {
	case p.ForApp == of:
		text += " for this application"
	case p.ForApp.Sequence != 0:
		text += " for " + p.ForApp.String() + " in queue " + p.ForQueue
	case p.ForQueue != "":
		text += " for queue " + p.ForQueue
	}
	text += " (" + p.Rule + ")"
	if lost := p.Lost(); !lost.IsZero() {
		text += fmt.Sprintf(", after %s: %d MB-seconds and %d vcore-seconds lost", time.Duration(p.Age)*time.Millisecond, lost.MemoryMB(), lost.VCoreCount())
	}
	return text
}

func (e PreemptionEvent) told() string {
	return [...]string{"is to be preempted", "was preempted", "lost its reservation", "would be preempted, but for observe_only,",
		"may be ended for whoever is entitled to its room; it was chosen", "had its reservation moved to another node"}[e]
}
