package engine

import (
	"slices"
	"time"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// Settings are what the lives depend on. Intervals are milliseconds.
type Settings struct {
	CacheTarget    int64 // bytes that unused resources of the public and private caches may take (yarn.nodemanager.localizer.cache.target-size-mb)
	CacheInterval  int64 // between two looks at that (yarn.nodemanager.localizer.cache.cleanup.interval-ms)
	MaxDiagnostics int   // bytes of a container's diagnostics that are kept (yarn.nodemanager.container-diagnostics-maximum-size)
	TrackStopped   int64 // how long the end of a forgotten container is remembered (yarn.nodemanager.duration-to-track-stopped-containers)
	// MinRetryInterval is the shortest pause before a failed container is launched again (yarn.nodemanager.container-retry-minimum-interval-ms).
	MinRetryInterval int64
	FirstPlace       int64 // number of a cache's first directory
	// Placed is where the directory of that number lies in a public or private cache, relative to the cache.
	Placed func(n int64) string
	Zone   *time.Location // of the times in diagnostics
	Total  yarn.Resource  // what the node has for containers
	Queue  QueueSettings
}

// Exit statuses that a node gives (ContainerExitStatus).
const (
	NotExited             = -1000
	DisksFailed           = -101
	KilledByMaster        = -105
	KilledByRM            = -106
	KilledAfterCompletion = -107
	KilledByScheduler     = -108

	exitKilled     = 137
	exitTerminated = 143
)

// Bounds of what is kept.
const (
	MaxContainers = 20_000  // known containers; a start beyond it is refused, as more do not fit into a heartbeat
	MaxRecent     = 100_000 // forgotten containers whose ends are remembered
	MaxEnded      = 100_000 // ended containers of one application that its logs' policy can ask about
	MaxFailures   = 1_000   // failures of one container that are remembered to count those of a while; more end it

	minSweep = 1_000 // milliseconds between two looks at the cache
)

// Engine is the model of one node. It is a value of one goroutine.
type Engine struct {
	set Settings
	now yarn.Now
	fx  []Effect

	containers map[yarn.ContainerID]*container
	apps       map[yarn.ApplicationID]*application
	cache      cache
	recent     map[yarn.ContainerID]int64 // forgotten container → until when its end is remembered, monotonic
	recentIDs  []yarn.ContainerID         // oldest first
	waiting    []*container               // for their next launch
	queue      queue
	disks      Disks
	localTurn  int // whose turn among the local directories it is
	logTurn    int // among the log directories
	nextSweep  int64
}

// New is an engine without containers. It may write nowhere until it learns of Disks.
func New(set Settings) *Engine {
	set.CacheInterval, set.MaxDiagnostics = max(set.CacheInterval, minSweep), max(set.MaxDiagnostics, 0)
	e := &Engine{set: set, containers: map[yarn.ContainerID]*container{}, apps: map[yarn.ApplicationID]*application{},
		recent: map[yarn.ContainerID]int64{}}
	e.disks.TooFew = "the disks have not been checked yet"
	e.queue.total = amountOf(set.Total)
	e.cache.init()
	return e
}

// Apply carries a command out and appends its consequences to fx.
func (e *Engine) Apply(now yarn.Now, c Command, fx []Effect) []Effect {
	e.now, e.fx = now, fx
	if e.nextSweep == 0 {
		e.nextSweep = now.Mono + e.set.CacheInterval
	}
	switch c := c.(type) {
	case Start:
		e.start(c)
	case Stop:
		e.stop(c)
	case Signal:
		e.signal(c)
	case Update:
		e.update(c)
	case Orders:
		e.orders(c)
	case KillAll:
		for _, x := range e.sorted() {
			e.kill(x, c.Exit, c.Why)
		}
	case Shed:
		e.shed(c.Keep)
	case Offer:
		e.offer(c.Total)
	case Fetched:
		e.fetched(c)
	case Gone:
		e.gone(c.Path)
	case Launched:
		e.launched(c)
	case Exited:
		e.exited(c)
	case Paused:
		e.halted(c)
	case Resumed:
		e.goesOn(c)
	case Overrun:
		if x := e.containers[c.ID]; x != nil {
			e.kill(x, c.Exit, c.Why)
		}
	case Noted:
		if x := e.containers[c.ID]; x != nil && x.phase != done {
			e.note(x, c.Text)
			e.show(x)
		}
	case Cleared:
		e.cleared(c.Application)
	case LogsDone:
		e.logsDone(c.Application)
	case Disks:
		e.disksFound(c)
	case Recover:
		e.recover(c)
	case Keep:
		e.save(c.Op)
		e.answer(c.Ticket, nil)
	case Echo:
		e.answer(c.Ticket, nil)
	case Wake:
		e.wake()
	}
	e.settle()
	fx, e.fx = e.fx, nil
	return fx
}

// Due is when Wake has something to do, monotonic; 0: not before another command.
func (e *Engine) Due() int64 {
	due := e.nextSweep
	for _, c := range e.waiting {
		if due == 0 || c.again < due {
			due = c.again
		}
	}
	return due
}

func (e *Engine) wake() {
	var later []*container
	for _, c := range e.waiting {
		switch {
		case c.phase != relaunching:
		case c.again <= e.now.Mono:
			e.relaunch(c)
		default:
			later = append(later, c)
		}
	}
	e.waiting = later
	if e.now.Mono >= e.nextSweep {
		e.sweepCache()
		e.nextSweep = e.now.Mono + e.set.CacheInterval
	}
}

func (e *Engine) emit(x Effect)    { e.fx = append(e.fx, x) }
func (e *Engine) save(op state.Op) { e.emit(Save{op}) }
func (e *Engine) answer(t Ticket, err *Error) {
	if t != 0 {
		e.emit(Reply{t, err})
	}
}

// sorted lists the containers by their ids, so that no map's order matters.
func (e *Engine) sorted() []*container {
	out := make([]*container, 0, len(e.containers))
	for _, c := range e.containers { //tidy:unordered sorted below
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *container) int { return a.spec.ID.Compare(b.spec.ID) })
	return out
}

func (e *Engine) orders(o Orders) {
	for _, id := range o.Cleanup {
		if c := e.containers[id]; c != nil {
			e.kill(c, KilledByRM, "Container Killed by ResourceManager")
		}
	}
	for _, id := range o.Finish {
		if a := e.apps[id]; a != nil {
			e.finishApplication(a)
		}
	}
	for _, id := range o.Forget {
		if c := e.containers[id]; c != nil && c.phase == done {
			e.forget(c)
		}
	}
}

// forget drops an ended container of whose end the ResourceManager knows.
func (e *Engine) forget(c *container) {
	id := c.spec.ID
	delete(e.containers, id)
	delete(c.app.containers, id)
	for len(e.recentIDs) > 0 && (len(e.recentIDs) >= MaxRecent || e.recent[e.recentIDs[0]] <= e.now.Mono) {
		delete(e.recent, e.recentIDs[0])
		e.recentIDs = e.recentIDs[1:]
	}
	e.recent[id] = e.now.Mono + e.set.TrackStopped
	e.recentIDs = append(e.recentIDs, id)
	if c.listed && c.app.phase != appFinished {
		e.save(state.PutEnded{Ended: state.Ended{ID: id, Master: c.spec.Master, Exit: c.exit}})
	}
	e.save(state.DropContainer{ID: id})
	e.emit(Hide{id})
}

// disksFound takes what was found out about the disks. Without a single good one too few are good, whoever says so.
func (e *Engine) disksFound(d Disks) {
	if d.TooFew == "" && (len(d.Local) == 0 || len(d.Log) == 0) {
		d.TooFew = "no local directory, or no log directory, is good"
	}
	e.disks = d
}

// localDir is one of the local directories, in turn.
func (e *Engine) localDir() string {
	e.localTurn++
	return e.disks.Local[e.localTurn%len(e.disks.Local)]
}

// logRoot is one of the log directories, in turn.
func (e *Engine) logRoot() string {
	e.logTurn++
	return e.disks.Log[e.logTurn%len(e.disks.Log)]
}
