package engine

import (
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// Recover is the first command after a restart with recovery: it carries what the store kept.
type Recover struct {
	Applications []state.Application
	Resources    []state.Resource
	Containers   []Recovered
	Ended        []state.Ended
}

// Recovered is a container of the last life.
type Recovered struct {
	Kept state.Container
	Spec Spec // read from its token and launch context
}

func (Recover) command() {}

func (e *Engine) recover(r Recover) {
	for _, x := range r.Resources {
		e.recoverResource(x)
	}
	for _, x := range r.Applications {
		a := &application{Application: x, containers: map[yarn.ContainerID]*container{}}
		e.apps[x.ID] = a
		e.emit(Open{x.ID, x.User, x.LogContext, x.ACLs})
		e.showApplication(a)
	}
	e.queue.recovering = true
	for _, x := range r.Containers {
		e.recoverContainer(x)
	}
	e.queue.recovering, e.queue.changed = false, true
	e.recoverEnded(r.Ended)
	e.recoverOrphans()
	for _, x := range r.Applications { // not before all its containers are known
		if x.Finished {
			e.endApplication(e.apps[x.ID])
		}
	}
}

// recoverEnded lists containers that were forgotten with their applications. Of an application that is not known any more
// nothing is worth keeping.
func (e *Engine) recoverEnded(list []state.Ended) {
	lost := map[yarn.ApplicationID]bool{}
	for _, x := range list {
		app := x.ID.Attempt.Application
		if a := e.apps[app]; a != nil {
			a.list(x)
		} else if !lost[app] {
			lost[app] = true
			e.save(state.DropApplication{ID: app})
		}
	}
}

// recoverOrphans drops what belongs to applications that are not known any more.
func (e *Engine) recoverOrphans() {
	known := map[string]bool{}
	for id := range e.apps { //tidy:unordered it makes a set
		known[owned(Application, "", id)] = true
	}
	for _, x := range e.cache.sorted() {
		if x.ready && !x.shared() && !known[x.Owner] {
			e.retire(x)
		}
	}
}

func (e *Engine) recoverResource(x state.Resource) {
	r := &resource{Resource: x, ready: true}
	if twin := e.cache.byKey[[2]string{x.Owner, x.Key}]; twin != nil {
		e.retire(twin)
	}
	e.cache.byNumber[x.Number] = r
	e.cache.byKey[[2]string{x.Owner, x.Key}] = r
	e.cache.numbers = max(e.cache.numbers, x.Number)
	e.cache.places[x.Owner] = max(e.cache.places[x.Owner], x.Place)
}

// recoverContainer takes a container up where the last life left it: ended, running, or not launched yet.
func (e *Engine) recoverContainer(x Recovered) {
	k := &x.Kept
	x.Spec.Resource, x.Spec.Execution, x.Spec.Version = k.Resource, k.Execution, k.Version
	c := &container{spec: &x.Spec, exit: NotExited, started: k.Started, tries: k.Tries, failures: k.Failures, workDir: k.WorkDir, logDir: k.LogDir,
		text: k.Text, killed: k.Killed != 0, killedBy: k.Killed, admitted: k.Queued}
	e.admit(c)
	switch {
	case k.Done:
		c.phase, c.exit, c.finished = done, k.Exit, k.Ended
		c.app.containerEnded(c)
		e.show(c)
	case c.tries == 0 && c.killed:
		e.finish(c, c.killedBy, "Container is killed before being launched.\n")
	case c.tries == 0:
		e.show(c)
		e.localize(c)
	default:
		e.reattach(c, k.Paused)
	}
}

func (e *Engine) reattach(c *container, stopped bool) {
	for _, r := range c.spec.Resources {
		owner := owned(r.Visibility, c.spec.User, c.spec.ID.Attempt.Application)
		if x := e.cache.byKey[[2]string{owner, r.Key}]; x != nil && x.ready {
			x.refs++
			c.uses = append(c.uses, use{x, r.Name, false})
		}
	}
	c.phase = scheduled
	e.hold(c)
	e.emit(Attach{e.place(c), c.spec})
	switch {
	case c.killed:
		c.phase, c.reclaimed = killing, c.killedBy == KilledByScheduler
		e.emit(Kill{c.spec.ID})
	case stopped:
		c.reclaimed = true
		e.pause(c)
		return
	}
	e.show(c)
}
