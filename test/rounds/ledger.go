package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// ledger is what was acknowledged: written down in the moment of the acknowledgement, here and in a file.
type ledger struct {
	file *os.File

	mu       sync.Mutex
	apps     map[yarn.ApplicationID]*entry
	got      map[yarn.ContainerID]bool // containers that masters received
	twice    []yarn.ContainerID
	acked    int
	kills    int
	ends     int
	changes  int
	refusals int // calls that ended without an answer
	example  string
}

// entry is what is known of one application. What was asked for and not acknowledged may be so or not.
type entry struct {
	name     string
	ended    yarn.PublicState // acknowledged, or seen once; 0 is neither
	asked    bool             // its end was asked for
	queue    string           // acknowledged last; "" if a change was not answered
	priority int32            // likewise; -1
}

func newLedger(path string) (*ledger, error) {
	f, err := os.Create(path)
	return &ledger{file: f, apps: map[yarn.ApplicationID]*entry{}, got: map[yarn.ContainerID]bool{}}, err
}

// note writes one line down and changes an entry, which is made if it is new.
func (l *ledger) note(id yarn.ApplicationID, what string, change func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.apps[id]
	if e == nil {
		e = &entry{}
		l.apps[id] = e
		l.acked++
	}
	change(e)
	fmt.Fprintln(l.file, id, what)
}

func (l *ledger) submitted(id yarn.ApplicationID, name, queue string) {
	l.note(id, "submitted "+name, func(e *entry) { e.name, e.queue = name, queue })
}

func (l *ledger) asks(id yarn.ApplicationID) { l.note(id, "ends", func(e *entry) { e.asked = true }) }

func (l *ledger) killed(id yarn.ApplicationID) {
	l.note(id, "killed", func(e *entry) { e.ended = yarn.PublicKilled; l.kills++ })
}

func (l *ledger) finished(id yarn.ApplicationID) {
	l.note(id, "finished", func(e *entry) { e.ended = yarn.PublicFinished; l.ends++ })
}

// moves and prioritizes are called before the change with what it may leave, which is nothing that is known, and after it.
func (l *ledger) moves(id yarn.ApplicationID, queue string) {
	l.note(id, "queue "+queue, func(e *entry) {
		if e.queue = queue; queue != "" {
			l.changes++
		}
	})
}

func (l *ledger) prioritizes(id yarn.ApplicationID, priority int32) {
	l.note(id, fmt.Sprint("priority ", priority), func(e *entry) {
		if e.priority = priority; priority >= 0 {
			l.changes++
		}
	})
}

func (l *ledger) refused(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals++; l.example == "" {
		l.example = err.Error()
	}
}

func (l *ledger) received(id yarn.ContainerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.got[id] {
		l.twice = append(l.twice, id)
	}
	l.got[id] = true
}

func (l *ledger) containers() []yarn.ContainerID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.got))
}

func (l *ledger) progress() (acknowledged, granted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked, len(l.got)
}

// snapshot is a copy of what a list that is asked for from now on must show.
func (l *ledger) snapshot() map[yarn.ApplicationID]entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[yarn.ApplicationID]entry, len(l.apps))
	for id, e := range l.apps {
		out[id] = *e
	}
	return out
}

// compare holds a list of all applications against the ledger before and, for what may have changed since, after it.
func (l *ledger) compare(before map[yarn.ApplicationID]entry, list []*client.Application) error {
	var wrong []string
	complain := func(format string, values ...any) { wrong = append(wrong, fmt.Sprintf(format, values...)) }
	after := l.snapshot()
	seen, names := map[yarn.ApplicationID]bool{}, map[string]yarn.ApplicationID{}
	for _, a := range list {
		if seen[a.ID] {
			complain("%s is listed twice", a.ID)
		}
		seen[a.ID] = true
		if !strings.HasPrefix(a.Name, prefix) {
			continue // a job
		}
		if other, twice := names[a.Name]; twice {
			complain("%s was submitted once and is there as %s and %s", a.Name, other, a.ID)
		}
		names[a.Name] = a.ID
		was, known := before[a.ID]
		if !known {
			continue // not acknowledged when the list was asked for
		}
		complainOf(a, was, after[a.ID], complain)
		if final(a.State) && was.ended == 0 {
			l.note(a.ID, fmt.Sprint("seen ", a.State), func(e *entry) { e.ended = a.State })
		}
	}
	for id, e := range before {
		if !seen[id] {
			complain("%s (%s) is lost", id, e.name)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.twice {
		complain("masters received %s twice", id)
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("%d differ from what was acknowledged: %s", len(wrong), strings.Join(wrong[:min(len(wrong), 5)], "; "))
	}
	return nil
}

// complainOf compares one application that was acknowledged.
func complainOf(a *client.Application, was, is entry, complain func(string, ...any)) {
	switch {
	case was.ended != 0 && a.State != was.ended:
		complain("%s was %s and is %s", a.ID, was.ended, a.State)
	case was.ended == yarn.PublicFinished && a.FinalStatus != yarn.FinalSucceeded:
		complain("%s was a success and is %s", a.ID, a.FinalStatus)
	case final(a.State) && !is.asked:
		complain("%s is %s, and nobody asked for its end", a.ID, a.State)
	}
	if was.queue != "" && was.queue == is.queue && a.Queue != was.queue {
		complain("%s is in %s, moved to %s", a.ID, a.Queue, was.queue)
	}
	if was.priority >= 0 && was.priority == is.priority && a.Priority != was.priority {
		complain("%s has priority %d, got %d", a.ID, a.Priority, was.priority)
	}
}

func final(s yarn.PublicState) bool {
	return s == yarn.PublicFinished || s == yarn.PublicFailed || s == yarn.PublicKilled
}

func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := fmt.Sprintf("%d submissions, %d kills, %d successes, %d moves and priorities acknowledged", l.acked, l.kills, l.ends, l.changes)
	if l.refusals > 0 {
		s += fmt.Sprintf("; %d calls without an answer, such as %q", l.refusals, l.example)
	}
	return s
}
