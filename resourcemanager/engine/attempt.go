package engine

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/yarn"
)

// attempt is one try at running an application's master.
type attempt struct {
	id  yarn.AttemptID
	app *application

	// Small fields stand together, so that an attempt takes less memory: many wait in large clusters.
	state      yarn.AttemptState
	before     yarn.AttemptState // what reports show during FINAL_SAVING
	target     yarn.AttemptState // what FINAL_SAVING leads to
	final      yarn.FinalStatus
	registered bool
	counts     bool // its failure counts against the limit
	gone       bool // its end is being carried out, or has been
	dissolving bool // its containers are being ended in slices, or it waits for others of its jointEnd
	exitStatus int32
	rpcPort    int32
	progress   float32
	responseID int32

	master      *container       // nil before it is granted, and for unmanaged masters
	masterID    yarn.ContainerID // stays when the container is gone
	masterNode  *node
	host        string
	trackingURL string // as the master gave it

	*exchange // nil: its master has never had anything to hear or to say

	startTime, finishTime int64
	diagnostics           string
	with                  *jointEnd // nil: no other master ended with its own
	containers            int64     // that it has been granted, the master's own included

	restored *state.Attempt // as it was stored before the restart; nil for one that began since
}

// exchange is what an attempt has for its master, and what that has said.
type exchange struct {
	lease lease // the master must call before it ends or, once it is finishing, exit

	grants     []*container        // not fetched by the master yet; nil where one has ended
	ungranted  int                 // how many of grants are nil
	finished   []finishedContainer // not reported to the master yet
	told       []finishedContainer // reported by the last answer; the next call acknowledges them
	rolledBack updates             // of which an increase was taken back, for the next answer
	previous   []Grant             // containers of earlier attempts, for the next answer

	asks          []yarn.Ask // accepted; the scheduler does not have them yet
	opportunistic opportunistic.Asks
	gangs         map[int32]*gang // by priority
	releasing     bool            // a later slice ends containers that the master released

	adopted  map[yarn.ContainerID]bool // started before the restart, and reported by their nodes since
	released map[yarn.ContainerID]bool // started before the restart, and released before their nodes reported them
}

// said is the attempt's exchange with its master, to be looked at.
func (t *attempt) said() *exchange {
	if t.exchange == nil {
		return &exchange{}
	}
	return t.exchange
}

// meet is the attempt's exchange with its master, which begins if it has not begun yet.
func (t *attempt) meet() *exchange {
	if t.exchange == nil {
		t.exchange = &exchange{lease: lease{attempt: t}}
	}
	return t.exchange
}

// finishedContainer is the end of a container that the master has yet to
// acknowledge, and the node that reports it until then.
type finishedContainer struct {
	CompletedContainer
	node yarn.NodeID
}

// startAttempt begins the next attempt.
func (e *Engine) startAttempt(a *application) {
	number := int32(1)
	if last := a.current(); last != nil {
		number = last.id.Attempt + 1
	}
	t := &attempt{
		id: yarn.AttemptID{Application: a.sub.ID, Attempt: number}, app: a,
		host: "N/A", rpcPort: -1, exitStatus: yarn.ExitInvalid, responseID: -1, startTime: e.now.Wall,
	}
	if a.attempts = append(a.attempts, t); len(a.attempts) > 1 {
		e.touchContainers(a) // it may have kept some
	}
	e.attemptTo(t, yarn.AttemptSubmitted)
	e.enterAttempt(t)
	if a.sub.Unmanaged {
		t.meet()
		e.attemptTo(t, yarn.AttemptLaunchedUnmanagedSaving)
		e.save(state.Put(e.attemptRecord(t)), saved{attempt: t, what: savedNewAttempt})
		return
	}
	e.attemptTo(t, yarn.AttemptScheduled)
	if number == 1 {
		a.sub.AMAsks = e.sched.LabelAM(a.ref, a.sub.AMAsks)
	}
	a.sub.AMAsks = e.alike(e.sched.RefitAM(a.sub.AMAsks))
	e.sched.Ask(a.ref, a.sub.AMAsks)
	e.sweepDue = true
}

// alike returns asks for a master, or equal ones: most applications ask for the same, and share it. Nobody changes them.
func (e *Engine) alike(asks []yarn.Ask) []yarn.Ask {
	if !slices.Equal(asks, e.asksForMasters) {
		e.asksForMasters = asks
	}
	return e.asksForMasters
}

// enterAttempt adds the attempt to the scheduler.
func (e *Engine) enterAttempt(t *attempt) {
	a := t.app
	at := scheduler.Attempt{ID: t.id, StartWall: t.startTime, KeepContainers: a.sub.KeepContainers && t.id.Attempt > 1, Epoch: e.set.Epoch}
	if len(a.sub.AMAsks) > 0 {
		at.AM, at.AMLabel = a.sub.AMAsks[0].Capability, a.sub.AMAsks[0].Label
	}
	e.sched.AddAttempt(a.ref, at)
}

// masterGranted: the scheduler has found room for the master.
func (e *Engine) masterGranted(t *attempt, c *container) {
	t.meet()
	t.master, t.masterID, t.masterNode = c, c.id, c.node
	e.waitOver(t.app)
	e.acquire(c)
	e.attemptTo(t, yarn.AttemptAllocatedSaving)
	e.save(state.Put(e.attemptRecord(t)), saved{attempt: t, what: savedNewAttempt})
}

// attemptStored: a restart would find the master now, so it may start.
func (e *Engine) attemptStored(t *attempt, err error) {
	if err != nil {
		if !t.ending() {
			t.counts = true // or there would be new attempts for ever
			e.endAttempt(t, yarn.AttemptFailed, yarn.FinalFailed, fmt.Sprintf("Cannot store %s: %v", t.id, err))
		}
		return
	}
	switch t.state {
	case yarn.AttemptLaunchedUnmanagedSaving:
		e.attemptTo(t, yarn.AttemptLaunched)
		e.openLogin(t)
		e.masterLeases.renew(&t.meet().lease, e.now.Mono)
	case yarn.AttemptAllocatedSaving:
		e.attemptTo(t, yarn.AttemptAllocated)
		e.openLogin(t)
		e.fx.Launches = append(e.fx.Launches, Launch{Attempt: t.id, User: t.app.sub.User, Grant: e.grant(t.master), Submit: t.app.submitTime})
	}
}

func (e *Engine) openLogin(t *attempt) {
	e.fx.Logins = append(e.fx.Logins, Login{Attempt: t.id, Open: true})
}

func (e *Engine) launched(c Launched) {
	t := e.findAttempt(c.Attempt)
	if t == nil {
		return
	}
	if t.state == yarn.AttemptAllocated {
		e.attemptTo(t, yarn.AttemptLaunched)
		e.masterLeases.renew(&t.meet().lease, e.now.Mono)
	}
	if !t.ending() {
		e.attemptLaunched(t.app)
	}
}

func (e *Engine) launchFailed(c LaunchFailed) {
	if t := e.findAttempt(c.Attempt); t != nil && t.state == yarn.AttemptAllocated {
		t.counts = true
		e.endAttempt(t, yarn.AttemptFailed, yarn.FinalFailed, fmt.Sprintf("Error launching %s. Got exception: %s", t.id, clip(c.Why, MaxDiagnostics/2)))
	}
}

// masterSilent: the master has not called for too long.
func (e *Engine) masterSilent(t *attempt) {
	if t.state == yarn.AttemptFinishing {
		e.attemptTo(t, yarn.AttemptFinished)
		e.attemptGone(t)
		return
	}
	if t.state == yarn.AttemptFinalSaving {
		if t.target == yarn.AttemptFinishing {
			t.target = yarn.AttemptFinished
		}
		return
	}
	if !t.ending() && t.state != yarn.AttemptNew { // one that is new was recovered, and its end was never stored: there is nothing of it any more
		t.counts = true
		e.endAttempt(t, yarn.AttemptFailed, yarn.FinalFailed,
			fmt.Sprintf("ApplicationMaster for attempt %s timed out", t.id))
	}
}

// lostMaster is a master whose container has ended, and whose attempt does not
// reflect that yet.
type lostMaster struct {
	attempt     *attempt
	exit        int32
	diagnostics string
}

// jointEnd is a group of attempts whose masters ended by the same command. All of
// them leave their queues, which may activate other applications, before the first
// of these applications starts another attempt.
type jointEnd struct {
	left int        // attempts that have not left their queues yet
	gone []*attempt // those that have
}

// endMasters ends the attempts whose masters have ended.
//
// compat: the heartbeat that reports the end of a master first offers its node;
// the attempt leaves its queue only then.
func (e *Engine) endMasters() {
	if len(e.lostMasters) == 0 {
		return
	}
	joint := &jointEnd{}
	for len(e.lostMasters) > 0 {
		lost := e.lostMasters[0]
		e.lostMasters = e.lostMasters[1:]
		if e.masterEnded(lost.attempt, lost.exit, lost.diagnostics) {
			lost.attempt.with = joint
			joint.left++
		}
	}
	e.lostMasters = nil
}

// ownFault tells whether a failure with this exit status of the master counts
// against the limit.
func ownFault(exit int32) bool {
	return exit != yarn.ExitPreempted && exit != yarn.ExitAborted && exit != yarn.ExitDisksFailed && exit != yarn.ExitKilledByRM
}

// masterEnded: the master's process is gone. failing tells that this is what ends
// the attempt, and that the end is being stored.
func (e *Engine) masterEnded(t *attempt, exit int32, diagnostics string) (failing bool) {
	t.exitStatus = exit
	switch {
	case t.state == yarn.AttemptFinishing:
		e.attemptTo(t, yarn.AttemptFinished)
		e.attemptGone(t)
	case t.state == yarn.AttemptFinalSaving:
		if t.target == yarn.AttemptFinishing {
			t.target = yarn.AttemptFinished
		}
	case !t.ending():
		t.counts = ownFault(exit)
		e.endAttempt(t, yarn.AttemptFailed, yarn.FinalFailed, e.masterCrashed(t, exit, diagnostics))
		return true
	}
	return false
}

// ending tells whether the attempt's end is decided, stored or not.
func (t *attempt) ending() bool {
	return t.state == yarn.AttemptFinalSaving || t.state == yarn.AttemptFinishing || t.state.Final()
}

// endAttempt has the end stored; attemptEndStored carries it out.
func (e *Engine) endAttempt(t *attempt, target yarn.AttemptState, final yarn.FinalStatus, diagnostics string) {
	if t == nil || t.ending() {
		return
	}
	t.before, t.target, t.final = t.state, target, final
	t.finishTime = e.now.Wall
	t.diagnostics = clip(diagnostics, MaxDiagnostics)
	e.attemptTo(t, yarn.AttemptFinalSaving)
	e.save(state.Put(e.attemptRecord(t)), saved{attempt: t, what: savedFinalAttempt})
}

func (e *Engine) attemptEndStored(t *attempt) {
	e.attemptTo(t, t.target)
	if t.target == yarn.AttemptFinishing {
		e.masterLeases.renew(&t.meet().lease, e.now.Mono) // the process has MasterExpiry to exit
		return
	}
	e.attemptGone(t)
}

// attemptGone carries the end out: no more calls, no more containers.
func (e *Engine) attemptGone(t *attempt) {
	if t.gone {
		return
	}
	t.gone = true
	e.fx.Logins = append(e.fx.Logins, Login{Attempt: t.id, Open: false})
	a := t.app
	e.touchContainers(a)
	if t.master != nil && !t.master.state.Final() && (t.before == yarn.AttemptLaunched || t.before == yarn.AttemptAllocated || t.before == yarn.AttemptRunning) {
		e.fx.Stops = append(e.fx.Stops, Stop{Attempt: t.id, User: a.sub.User, Node: t.master.node.id, Container: t.masterID})
	}
	if t.exchange != nil {
		e.masterLeases.drop(&t.lease)
		t.grants, t.opportunistic = nil, opportunistic.Asks{}
		e.forgetGangs(t)
	}
	t.dissolving = true
	e.begin(func(budget int) (int, bool) { return e.dissolve(t, budget) })
}

// dissolve ends a slice of the containers of an attempt that is gone. With the last
// of them the attempt leaves its queue.
func (e *Engine) dissolve(t *attempt, budget int) (used int, done bool) {
	a := t.app
	ended, more := e.sched.EndContainers(a.ref, e.keepsContainers(a, t), budget)
	if !more {
		e.restoreUnfetched(a)
		ended = append(ended, e.sched.EndAttempt(a.ref, e.keepsContainers(a, t))...)
	}
	for _, x := range ended {
		e.followEnd(x, yarn.ExitAborted, "Container of a completed application attempt")
	}
	e.sweepDue = true
	if more {
		return len(ended), false
	}
	over := []*attempt{t}
	if joint := t.with; joint != nil {
		joint.gone = append(joint.gone, t)
		if joint.left--; joint.left > 0 {
			return workOfMaster + len(ended), true
		}
		over = joint.gone
	}
	for _, t := range over {
		e.dissolved(t)
	}
	return workOfMaster*len(over) + len(ended), true
}

// dissolved: the attempt has left its queue. The application ends or starts another.
func (e *Engine) dissolved(t *attempt) {
	a := t.app
	t.dissolving, t.with = false, nil
	e.attemptOver(a, t)
	e.handOver(t, a.current())
	if a.endStored {
		a.endStored = false
		e.appEndStored(a, nil)
	}
}

// restoreUnfetched enters again the asks for containers that the attempt's master has
// not fetched.
//
// compat: they are never served. But because of them the user still counts as one who
// asks when the queue activates other applications after this attempt, so that each
// user's masters get a smaller share.
func (e *Engine) restoreUnfetched(a *application) {
	for _, ref := range e.sched.Containers(a.ref, nil) {
		if c := e.containerAt(ref); c == nil || c.state == yarn.ContainerAllocated {
			e.sched.RestoreAsk(ref)
		}
	}
}

// handOver passes ends that a master has not acknowledged to the master of the next
// attempt, if that keeps the containers. Otherwise nobody will acknowledge them, and
// they count as acknowledged.
func (e *Engine) handOver(from, to *attempt) {
	if from.exchange == nil {
		return
	}
	unheard := append(from.told, from.finished...)
	from.told, from.finished = nil, nil
	if to == from || !to.app.sub.KeepContainers {
		e.acknowledge(unheard)
		return
	}
	next := to.meet()
	next.finished = append(unheard, next.finished...)
}

// keepsContainers tells whether the containers go on running for another attempt.
func (e *Engine) keepsContainers(a *application, t *attempt) bool {
	if !a.sub.KeepContainers || a.sub.Unmanaged || t.state != yarn.AttemptFailed || a.state == yarn.AppKilling {
		return false
	}
	max := a.maxAttempts(&e.set)
	return max > 1 && e.failures(a) < max
}

func (e *Engine) failAttempt(c FailAttempt) {
	a := e.apps[c.Attempt.Application]
	if a == nil {
		e.fail(c.Ticket, unknownApp(c.Attempt.Application))
		return
	}
	t := e.findAttempt(c.Attempt)
	if t == nil {
		e.fail(c.Ticket, refuse(UnknownAttempt, "ApplicationAttempt with id '%s' doesn't exist in RM.", c.Attempt))
		return
	}
	if !t.ending() && t.state != yarn.AttemptNew { // one that is new was recovered, and its end was never stored: there is nothing of it any more
		t.counts = true
		e.endAttempt(t, yarn.AttemptFailed, yarn.FinalFailed, c.Diagnostics)
	}
	e.reply(c.Ticket, nil)
}

// findAttempt is the attempt with that id, or nil.
func (e *Engine) findAttempt(id yarn.AttemptID) *attempt {
	a := e.apps[id.Application]
	if a == nil {
		return nil
	}
	for i := len(a.attempts) - 1; i >= 0; i-- {
		if a.attempts[i].id == id {
			return a.attempts[i]
		}
	}
	return nil
}

func unknownAttempt(id yarn.AttemptID) *Error {
	return refuse(UnknownAttempt, "Application attempt %s doesn't exist in RM.", id)
}
