package engine

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// container is one container, from its acceptance until the ResourceManager has heard of its end.
type container struct {
	spec     *Spec // never changed: views and launches share it
	app      *application
	phase    phase
	uses     []use
	asked    int64    // when it began to wait for its resources, monotonic
	pending  int      // how many of them are not there yet
	counters [5]int64 // what it took to get them, see Launch

	workDir, logDir string
	pid             int32
	tries           int32
	failures        []int64 // wall-clock times of failures within Retry.Validity, if it has one; at most MaxFailures
	again           int64   // when it is launched again, monotonic

	killed     bool
	killedBy   int32 // exit status that the kill demands
	exit       int32
	text       string
	started    int64 // wall clock
	launchedAt int64
	finished   int64
	listed     bool // among its application's ended ones

	// See queue.go.
	holds     bool // it has its share of the node
	admitted  bool // it may wait for one, however many others do
	reclaimed bool // its share is being taken back
	halted    bool // it is stopped, or about to be, or to go on; or it has ended so and waits for its next try
}

// use is a resource and the name under which the container sees it.
type use struct {
	resource *resource
	name     string
	missed   bool // the container had to wait for it
}

type phase uint8

const (
	localizing phase = iota
	queued           // there is no room for it yet
	scheduled        // its launch is under way
	running
	pausing
	paused
	resuming
	relaunching // it has failed and waits for its next try
	killing
	done
)

func (p phase) String() string {
	return [...]string{"LOCALIZING", "SCHEDULED", "SCHEDULED", "RUNNING", "PAUSING", "PAUSED", "RESUMING", "RELAUNCHING", "KILLING", "DONE"}[p]
}

// hasProcess tells whether there is, or may soon be, a process: its end will be reported.
func (p phase) hasProcess() bool { return p >= scheduled && p <= resuming || p == killing }

// waits tells whether it stands in a line for room.
func (p phase) waits() bool { return p == queued || p == paused }

func (p phase) sub() SubState {
	return [...]SubState{SubScheduled, SubScheduled, SubScheduled, SubRunning, SubRunning, SubPaused, SubPaused, SubScheduled, SubRunning, SubDone}[p]
}

func (e *Engine) start(s Start) {
	if err := e.refuses(&s.Container); err != nil {
		e.answer(s.Ticket, err)
		return
	}
	c := &container{spec: &s.Container, exit: NotExited, started: e.now.Wall}
	e.admit(c)
	e.keep(c)
	e.show(c)
	e.answer(s.Ticket, nil)
	e.localize(c)
}

// refuses tells why a container cannot start; nil: it can.
func (e *Engine) refuses(s *Spec) *Error {
	id := s.ID
	switch a := e.apps[id.Attempt.Application]; {
	case e.containers[id] != nil:
		return refuse(Failed, "Container %s already is running on this node!!", id)
	case e.recently(id):
		return refuse(Failed, "Unauthorized request to start container.\n Attempt to relaunch the same container with id %s.", id)
	case len(e.containers) >= MaxContainers:
		return refuse(Failed, "container %s cannot start: the node knows %d containers, which is its limit", id, MaxContainers)
	case a != nil && a.phase != appRunning:
		return refuse(Failed, "container %s cannot start: %s has ended", id, a.ID)
	case a != nil && a.User != s.User:
		return refuse(Failed, "container %s cannot start: it is %s's, and %s is %s's", id, s.User, a.ID, a.User)
	}
	return nil
}

// recently tells whether a container has been here and is remembered.
func (e *Engine) recently(id yarn.ContainerID) bool {
	until, known := e.recent[id]
	return known && until > e.now.Mono
}

// admit records an accepted container.
func (e *Engine) admit(c *container) {
	c.app = e.openApplication(c.spec)
	c.app.containers[c.spec.ID] = c
	c.app.live++
	e.containers[c.spec.ID] = c
}

// localize asks for what a container needs and has it launched when all of it is there.
func (e *Engine) localize(c *container) {
	c.phase, c.asked = localizing, e.now.Mono
	if e.disks.TooFew != "" {
		e.finish(c, DisksFailed, e.disks.TooFew)
		return
	}
	for _, r := range c.spec.Resources {
		e.want(c, r)
	}
	e.maybeLaunch(c)
}

func (e *Engine) localizationFailed(c *container, why string) {
	if c.phase != localizing {
		return
	}
	e.finish(c, NotExited, why)
}

func (e *Engine) maybeLaunch(c *container) {
	if c.phase == localizing && c.pending == 0 {
		c.count(e.now.Mono)
		e.emit(Localized{c.counters})
		e.schedule(c)
	}
}

// launch starts the process; again in the same directories if it has run before.
func (e *Engine) launch(c *container) {
	if e.disks.TooFew != "" {
		e.finish(c, DisksFailed, e.disks.TooFew)
		return
	}
	if c.workDir == "" {
		c.workDir = ContainerDir(e.localDir(), c.spec.User, c.spec.ID)
		c.logDir = LogDir(e.logRoot(), c.spec.ID)
	}
	c.phase, c.halted = scheduled, false
	c.tries++
	e.keep(c)
	e.show(c)
	x := Launch{Place: e.place(c), Spec: c.spec, Counters: c.counters}
	for _, u := range c.uses {
		x.Links = append(x.Links, Link{u.resource.Path, u.name})
	}
	e.emit(x)
}

// relaunch is another try. One of an earlier life's containers may have to get back what the cache has lost since.
func (e *Engine) relaunch(c *container) {
	if len(c.uses) == len(c.spec.Resources) {
		e.schedule(c)
		return
	}
	e.release(c)
	c.counters = [5]int64{}
	c.phase = localizing
	e.show(c)
	e.localize(c)
}

func (e *Engine) place(c *container) Place {
	return Place{ID: c.spec.ID, WorkDir: c.workDir, LogDir: c.logDir, Local: e.disks.Local, Log: e.disks.Log}
}

// count fills in the counters: bytes missed, bytes cached, files missed, files cached, milliseconds.
func (c *container) count(now int64) {
	for _, u := range c.uses {
		i := 1
		if u.missed {
			i = 0
		}
		c.counters[i] += u.resource.Bytes
		c.counters[i+2]++
	}
	c.counters[4] = now - c.asked
}

func (e *Engine) launched(l Launched) {
	c := e.containers[l.ID]
	if c == nil || !c.phase.hasProcess() {
		return
	}
	c.pid = l.PID
	if c.launchedAt == 0 || c.phase == scheduled {
		c.launchedAt = e.now.Wall
	}
	if c.phase == scheduled {
		c.phase = running
	}
	e.show(c)
}

func (e *Engine) signal(s Signal) {
	c := e.containers[s.ID]
	if c == nil || c.phase == done {
		e.answer(s.Ticket, refuse(Failed, "Container %s is not running on this NodeManager", s.ID))
		return
	}
	if c.phase.hasProcess() && c.phase != scheduled {
		e.emit(Deliver{s.ID, s.Signal})
	}
	e.answer(s.Ticket, nil)
}

func (e *Engine) update(u Update) {
	c := e.containers[u.ID]
	switch {
	case c == nil && e.recently(u.ID), c != nil && c.phase == done:
		e.answer(u.Ticket, refuse(Failed, "Container %s was recently stopped on node manager.", u.ID))
		return
	case c == nil:
		e.answer(u.Ticket, refuse(Failed, "Container %s is not handled by this NodeManager", u.ID))
		return
	case u.Version <= c.spec.Version:
		e.answer(u.Ticket, refuse(Failed, "Container %s has update version [%d] >= requested version [%d]", u.ID, c.spec.Version, u.Version))
		return
	}
	spec := *c.spec
	spec.Resource, spec.Execution, spec.Version = u.Resource, u.Execution, u.Version
	if u.Token != nil {
		spec.Token = u.Token
	}
	e.revalue(c, &spec)
	e.keep(c)
	if c.phase.hasProcess() {
		e.emit(Resize{c.spec})
	}
	e.show(c)
	e.answer(u.Ticket, nil)
}

// note adds a part to a container's diagnostics, of which the last are kept.
func (e *Engine) note(c *container, part string) {
	if part == "" {
		return
	}
	stamp := time.UnixMilli(e.now.Wall).In(e.set.Zone).Format("2006-01-02 15:04:05.000")
	c.text += "[" + stamp + "]" + strings.ToValidUTF8(strings.TrimSuffix(part, "\n"), "\ufffd") + "\n"
	if over := len(c.text) - e.set.MaxDiagnostics; over > 0 {
		for over < len(c.text) && !utf8.RuneStart(c.text[over]) {
			over++
		}
		c.text = c.text[over:]
	}
}

// keep saves what must be known of a container after a restart.
func (e *Engine) keep(c *container) {
	s := c.spec
	r := state.Container{ID: s.ID, Token: s.Token, Started: c.started, Resource: s.Resource, Execution: s.Execution, Version: s.Version,
		WorkDir: c.workDir, LogDir: c.logDir, Tries: c.tries, Killed: c.killedBy, Queued: c.admitted, Paused: c.halted, Text: c.text}
	if c.phase == done {
		r.Done, r.Exit, r.Ended = true, c.exit, c.finished
	} else {
		r.Launch, r.Failures = s.Launch, slices.Clone(c.failures)
	}
	e.save(state.PutContainer{Container: r})
}

func (e *Engine) show(c *container) {
	s := c.spec
	e.emit(Show{&View{ID: s.ID, User: s.User, State: c.phase.String(), Sub: c.phase.sub(), Exit: c.exit, Text: c.text,
		Resource: s.Resource, Spec: s, Version: s.Version, Execution: s.Execution, PID: c.pid, WorkDir: c.workDir, LogDir: c.logDir,
		Started: c.started, Launched: c.launchedAt, Finished: c.finished, Waits: c.phase.waits(), Holds: c.holds}})
}
