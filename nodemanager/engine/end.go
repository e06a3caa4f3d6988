package engine

import (
	"slices"
)

func (e *Engine) exited(x Exited) {
	c := e.containers[x.ID]
	if c == nil || !c.phase.hasProcess() {
		return
	}
	switch {
	case c.killed && (x.Code == exitKilled || x.Code == exitTerminated):
		e.finish(c, c.killedBy, x.Text)
	case c.killed || x.Code == 0:
		e.finish(c, x.Code, x.Text)
	case e.retries(c, x.Code):
		if x.Text != "" {
			e.note(c, "Diagnostic message from attempt : \n"+x.Text)
		}
		e.unwait(c)
		if c.reclaimed {
			e.giveUp(c) // somebody counts on it
		}
		c.phase, c.pid = relaunching, 0
		c.again = e.now.Mono + max(c.spec.Retry.Interval, e.set.MinRetryInterval)
		e.waiting = append(e.waiting, c)
		e.show(c)
	case x.Code == exitKilled || x.Code == exitTerminated:
		e.note(c, x.Text)
		e.finish(c, x.Code, "Killed by external signal\n")
	default:
		e.finish(c, x.Code, x.Text)
	}
}

// retries tells whether a failed container is to be launched once more, and remembers the failure if it counts for a while
// only.
func (e *Engine) retries(c *container, code int32) bool {
	r := &c.spec.Retry
	switch {
	case r.Policy == NeverRetry, code == exitKilled, code == exitTerminated, r.Policy == RetryOnCodes && !slices.Contains(r.Codes, code):
		return false
	case r.Max == RetryForever:
		return true
	case r.Validity <= 0:
		return c.tries <= r.Max // every try but the first was a retry
	}
	c.failures = slices.DeleteFunc(c.failures, func(at int64) bool { return at < e.now.Wall-r.Validity })
	if len(c.failures) >= min(int(r.Max), MaxFailures) {
		return false
	}
	c.failures = append(c.failures, e.now.Wall)
	return true
}

func (e *Engine) stop(s Stop) {
	c := e.containers[s.ID]
	switch {
	case c != nil:
		e.kill(c, KilledByMaster, "Container killed by the ApplicationMaster.")
	case !e.recently(s.ID):
		e.answer(s.Ticket, refuse(Failed, "Container %s is not handled by this NodeManager", s.ID))
		return
	}
	e.answer(s.Ticket, nil)
}

// kill ends a container whatever it is doing. The first who asks decides its exit status.
func (e *Engine) kill(c *container, exit int32, why string) {
	if c.phase == done || c.killed {
		return
	}
	c.killed, c.killedBy = true, exit
	e.note(c, why)
	e.unwait(c)
	if !c.phase.hasProcess() {
		text := "Container is killed before being launched.\n"
		if c.phase == queued {
			text = "Container terminated before launch.\n"
		}
		e.waiting = slices.DeleteFunc(e.waiting, func(x *container) bool { return x == c })
		e.finish(c, exit, text)
		return
	}
	c.phase = killing
	e.keep(c)
	e.show(c)
	e.emit(Kill{c.spec.ID})
}

// finish ends a container: its resources are free, its directories go, and the ResourceManager will hear of it.
func (e *Engine) finish(c *container, exit int32, text string) {
	if text != "" {
		e.note(c, text)
	}
	e.unwait(c)
	e.giveUp(c)
	c.phase, c.exit, c.finished, c.pid, c.halted = done, exit, e.now.Wall, 0, false
	spec := *c.spec
	spec.Launch = nil // which may be large, and is of no use any more
	c.spec = &spec
	c.app.containerEnded(c)
	e.keep(c)
	e.show(c)
	e.release(c)
	if c.workDir != "" {
		e.emit(Remove{Paths: e.dirs(c), Debug: true})
	}
	e.emit(Beat{})
	e.clearIfOver(c.app)
}

// dirs are a container's directories on every local directory that is in use now, and on the one that it was given.
func (e *Engine) dirs(c *container) []string {
	id, user := c.spec.ID, c.spec.User
	out := []string{c.workDir}
	for _, d := range e.disks.Local {
		if x := ContainerDir(d, user, id); x != c.workDir {
			out = append(out, x)
		}
		out = append(out, PrivateDir(d, id))
	}
	return out
}
