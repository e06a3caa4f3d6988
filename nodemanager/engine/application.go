package engine

import (
	"slices"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// application is an application that has, or had, containers here.
type application struct {
	state.Application
	phase      appPhase
	containers map[yarn.ContainerID]*container // the ended ones too, until they are forgotten
	live       int                             // containers that have not ended
	ended      []Ended
}

type appPhase uint8

const (
	appRunning   appPhase = iota
	appFinishing          // its containers are being killed
	appClearing           // its directories are being deleted
	appFinished           // its logs are being collected
)

func (p appPhase) String() string {
	return [...]string{ApplicationRunning, "FINISHING_CONTAINERS_WAIT", "APPLICATION_RESOURCES_CLEANINGUP", ApplicationFinished}[p]
}

func (e *Engine) showApplication(a *application) {
	e.emit(ShowApplication{a.ID, a.User, a.phase.String(), a.ACLs})
}

// openApplication is called at an application's first container.
func (e *Engine) openApplication(s *Spec) *application {
	id := s.ID.Attempt.Application
	if a := e.apps[id]; a != nil {
		return a
	}
	a := &application{Application: state.Application{ID: id, User: s.User, LogContext: s.LogContext, ACLs: s.ACLs},
		containers: map[yarn.ContainerID]*container{}}
	e.apps[id] = a
	e.save(state.PutApplication{Application: a.Application})
	e.emit(Open{id, a.User, a.LogContext, a.ACLs})
	e.showApplication(a)
	return a
}

// finishApplication is called when the ResourceManager says that the application has ended.
func (e *Engine) finishApplication(a *application) {
	if a.phase != appRunning {
		return
	}
	a.Finished = true
	e.save(state.PutApplication{Application: a.Application})
	e.endApplication(a)
}

// endApplication kills what still runs of an application.
func (e *Engine) endApplication(a *application) {
	a.phase = appFinishing
	e.showApplication(a)
	for _, c := range a.sorted() {
		e.kill(c, KilledAfterCompletion, "Container killed on application-finish event: Application killed by ResourceManager")
	}
	e.clearIfOver(a)
}

// clearIfOver goes on with a finished application once its last container has ended and nothing is being fetched into its
// directories.
func (e *Engine) clearIfOver(a *application) {
	if a.phase != appFinishing || a.live > 0 || e.cache.fetchingFor(a.ID) {
		return
	}
	a.phase = appClearing
	e.showApplication(a)
	e.dropOwned(owned(Application, a.User, a.ID))
	e.emit(Clear{a.ID, a.User})
}

func (e *Engine) cleared(id yarn.ApplicationID) {
	a := e.apps[id]
	if a == nil || a.phase != appClearing {
		return
	}
	a.phase, a.Collected = appFinished, true
	e.save(state.PutApplication{Application: a.Application})
	e.showApplication(a)
	e.emit(CollectLogs{a.ID, a.User, a.LogContext, a.ACLs, a.ended})
}

func (e *Engine) logsDone(id yarn.ApplicationID) {
	a := e.apps[id]
	if a == nil || a.phase != appFinished {
		return
	}
	for _, c := range a.sorted() {
		e.forget(c)
	}
	delete(e.apps, id)
	e.save(state.DropApplication{ID: id})
	e.emit(HideApplication{id})
}

// containerEnded keeps what collecting logs will want to know.
func (a *application) containerEnded(c *container) {
	a.live--
	c.listed = a.list(Ended{ID: c.spec.ID, Master: c.spec.Master, Exit: c.exit})
}

// list adds an ended container unless there are too many.
func (a *application) list(x Ended) bool {
	if len(a.ended) >= MaxEnded {
		return false
	}
	a.ended = append(a.ended, x)
	return true
}

func (a *application) sorted() []*container {
	out := make([]*container, 0, len(a.containers))
	for _, c := range a.containers { //tidy:unordered sorted below
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *container) int { return a.spec.ID.Compare(b.spec.ID) })
	return out
}
