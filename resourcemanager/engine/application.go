package engine

import (
	"math"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// restoredApp is what of an application's record is kept for the next one, and not looked at.
type restoredApp struct{ callerSignature, unknown []byte }

// application is one application, from its submission until it is forgotten.
type application struct {
	sub *Submission
	choices
	changing *changes     // nil: none are being stored
	restored *restoredApp // nil: nothing
	attempts []*attempt

	submitTime, launchTime, finishTime int64

	diagnostics string
	*callers          // nil: nobody waits
	past        *past // nil: no container of it has ended
	*onNodes          // nil: it has had no container
	gang        gangTag
	updateNodes int    // how far its masters have been told of the node log
	shown       *shown // nil: nothing that changes with updates of shares

	ref       scheduler.AppRef // NoApp while the scheduler does not know it
	state     yarn.ApplicationState
	before    yarn.ApplicationState // what clients see during FINAL_SAVING and KILLING
	target    yarn.ApplicationState // what FINAL_SAVING leads to
	final     yarn.FinalStatus
	placed    bool // a mapping rule has chosen the queue
	granted   bool // it has had a container
	endStored bool // while its last attempt still ends containers
	dirty     bool // its view must be published
	dirtyLive bool // so must that of its containers
	published bool // readers may know it
}

// callers are those who wait for an application.
type callers struct {
	waiting []Ticket // submissions that wait to be stored
	atEnd   []Reply  // sent when the end is stored
}

// onNodes is what an application has on nodes, and what it has left there.
type onNodes struct {
	noticed  []*container // with notice of which no master knows yet
	ranOn    []*node      // nodes that may hold something of it
	logs     logs
	drawnFor uint64 // the last view of a node that named it, counted as in nodesDrawn
}

// visited is what the application has on nodes, to be added to.
func (a *application) visited() *onNodes {
	if a.onNodes == nil {
		a.onNodes = &onNodes{}
	}
	return a.onNodes
}

// recorded is what a user has chosen, as in the newest record.
func (a *application) recorded() *choices {
	if a.changing != nil {
		return &a.changing.choices
	}
	return &a.choices
}

// past is what an application has used, by containers that have ended.
type past struct {
	seconds   yarn.Resource // amount × seconds
	preempted yarn.Resource // likewise, of those that were preempted
	taken     taken
}

// used is what the application has used so far.
func (a *application) used() past {
	if a.past == nil {
		return past{}
	}
	return *a.past
}

// charge is where what it uses is added.
func (a *application) charge() *past {
	if a.past == nil {
		a.past = &past{}
	}
	return a.past
}

// choices are what a user may change while the application lives.
type choices struct {
	queue     string // full path; of a plan rather than of the queue below it
	planQueue string // path of the queue below a plan that a caller moved it to; "": where its reservation says
	priority  int32
	expireAt  int64 // wall clock, 0 never
}

// changes are the choices as in the newest record, while changes are being stored.
type changes struct {
	choices
	open int // changes that are not confirmed yet: some of them may undo others
}

// enters takes note that the queue has another path, or another one has taken its place.
func (a *application) enters(path string) {
	if a.queue = path; a.changing != nil {
		a.changing.queue = path
	}
}

// current is the newest attempt, or nil.
func (a *application) current() *attempt {
	if len(a.attempts) == 0 {
		return nil
	}
	return a.attempts[len(a.attempts)-1]
}

// ending tells whether the end is decided, stored or not.
func (a *application) ending() bool {
	return a.state == yarn.AppFinalSaving || a.state == yarn.AppFinishing || a.state.Final()
}

func (e *Engine) newApplication(c NewApplication) {
	e.nextApp++
	id := yarn.ApplicationID{ClusterTimestamp: e.set.ClusterTimestamp, Sequence: e.nextApp}
	e.reply(c.Ticket, NewApplicationReply{ID: id, Maximum: e.sched.MaximumAllocation("")})
}

// submit checks an application and, if nothing speaks against it, has it
// stored. A refused one leaves no trace.
func (e *Engine) submit(c Submit) {
	if known := e.apps[c.Application.ID]; known != nil {
		// A client that got no answer submits again; the first submission counts.
		if known.callers != nil && known.waiting != nil {
			known.waiting = append(known.waiting, c.Ticket)
			return
		}
		e.reply(c.Ticket, nil)
		return
	}
	if id := c.Application.ID; id.ClusterTimestamp == e.set.ClusterTimestamp && id.Sequence > e.nextApp {
		// getNewApplication will give this id to somebody else.
		e.fail(c.Ticket, refuse(Failed, "Cannot submit %s: this ResourceManager never gave out that id; ask for one by getNewApplication", id))
		return
	}
	a := &application{sub: &c.Application, ref: scheduler.NoApp, submitTime: e.now.Wall, callers: &callers{waiting: []Ticket{c.Ticket}}}
	if err := e.admissible(a); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	a.updateNodes = e.nodeLogStart + len(e.nodeLog)
	e.apps[a.sub.ID] = a
	e.order = append(e.order, a)
	e.appTo(a, yarn.AppNewSaving)
	e.save(state.Put(e.appRecord(a)), saved{app: a, what: savedNewApp})
}

// admissible runs every check for which the call itself is refused, and sets the
// application's queue, priority and lifetime.
func (e *Engine) admissible(a *application) *Error {
	s := a.sub
	var err error
	if a.gang, err = gangOfTags(s.Tags); err != nil {
		return refuse(IllegalArgument, "Cannot submit %s: %v", s.ID, err)
	}
	sa := schedulerApp(s)
	path, why := e.sched.Place(&sa)
	a.placed = sa.Placed
	if !why.OK() {
		return refuse(Failed, "Failed to submit %s by user %s: %s", s.ID, s.User, unplaceable(s.User, why))
	}
	a.queue = path
	if full, why := e.sched.Resolve(path); why.OK() {
		a.queue = full // what is stored must not depend on which short names are unique later
	}
	if !s.Unmanaged {
		if why := e.sched.NormalizeAM(path, s.AMAsks, s.Label, s.LabelSet); !why.OK() {
			return e.badRequest(why, "Invalid resource request for the ApplicationMaster of %s", s.ID)
		}
	}
	if why := e.sched.MaySubmit(path, s.User, s.RealUser, s.Groups); !why.OK() && (a.placed || !e.set.Fair) {
		if e.set.Fair {
			return refuse(AccessDenied, "User %s does not have permission to submit %s to queue %s denied by ACL for queue %s", s.User, s.ID, path, e.nearestQueue(path))
		}
		return refuse(AccessDenied, "User %s does not have permission to submit %s to queue %s", s.User, s.ID, s.Queue)
	}
	if err := e.maySubmitTo(s); err != nil {
		return err
	}
	if a.priority, why = e.sched.CheckPriority(&sa, path); !why.OK() {
		return refuse(AccessDenied, "Cannot submit %s: %s", s.ID, describe(why))
	}
	if seconds := e.sched.Lifetime(path, s.LifetimeSeconds); seconds > 0 && seconds < math.MaxInt64/2000 {
		a.expireAt = e.now.Wall + seconds*1000
	}
	return nil
}

func schedulerApp(s *Submission) scheduler.Application {
	var am yarn.Resource
	if len(s.AMAsks) > 0 {
		am = s.AMAsks[0].Capability
	}
	return scheduler.Application{ID: s.ID, User: s.User, RealUser: s.RealUser, Groups: s.Groups, Queue: s.Queue,
		Name: s.Name, Tags: s.Tags, Priority: s.Priority, PrioritySet: s.PrioritySet,
		Label: s.Label, LabelSet: s.LabelSet, Unmanaged: s.Unmanaged, AM: am, Reservation: reservationQueue(s.Reservation)}
}

// reservationQueue is the name of the reservation's queue, "" for none.
func reservationQueue(id yarn.ReservationID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// appStored: the submission survives a crash from here on, so it may be answered.
func (e *Engine) appStored(a *application, err error) {
	waiting := a.waiting
	if a.waiting = nil; a.atEnd == nil {
		a.callers = nil
	}
	if err != nil {
		if a.state == yarn.AppNewSaving {
			e.discard(a) // one that was killed meanwhile ends in its own way
		}
		for _, t := range waiting {
			e.fail(t, refuse(NotStored, "Cannot store %s: %v", a.sub.ID, err))
		}
		return
	}
	for _, t := range waiting {
		e.reply(t, nil)
	}
	if a.state != yarn.AppNewSaving {
		return // killed meanwhile
	}
	e.setDeadline(a, a.expireAt)
	e.appTo(a, yarn.AppSubmitted)
	if e.enter(a, false) {
		e.startAttempt(a)
	}
}

// enter adds the application to its queue. If the queue refuses it, it fails.
func (e *Engine) enter(a *application, recovering bool) bool {
	sa := schedulerApp(a.sub)
	sa.Priority, sa.PrioritySet, sa.Placed = a.priority, true, a.placed
	sa.Recovering = recovering
	path := a.queue
	if a.planQueue != "" {
		path, sa.Reservation = a.planQueue, ""
	}
	ref, why := e.sched.AddApplication(sa, path)
	if !why.OK() {
		e.endApp(a, yarn.AppFailed, yarn.FinalFailed, e.rejection(a, why))
		return false
	}
	a.ref = ref
	e.waits.forget(ref)
	e.counts.live++
	*at(&e.byRef, int(ref)) = a
	if queue := e.sched.QueueOf(ref); queue != "" {
		a.enters(queue)
	}
	e.appTo(a, yarn.AppAccepted)
	return true
}

// kill begins the end, and answers whether it is stored. If not, the client asks
// again.
func (e *Engine) kill(c Kill) {
	a := e.apps[c.Application]
	if a == nil {
		e.fail(c.Ticket, unknownApp(c.Application))
		return
	}
	if !a.state.Final() {
		e.killApp(a, c.Diagnostics)
	}
	done := a.state.Final() || a.state == yarn.AppFinishing
	if a.sub.Unmanaged && !done {
		e.replyAtEnd(a, c.Ticket, KillReply{Completed: true})
		return
	}
	e.reply(c.Ticket, KillReply{Completed: done})
}

// replyAtEnd answers a call when the end of an application with an unmanaged
// master is stored.
//
// compat: the first answer to such a call says that the application has ended.
func (e *Engine) replyAtEnd(a *application, t Ticket, value any) {
	if a.callers == nil {
		a.callers = &callers{}
	}
	a.atEnd = append(a.atEnd, Reply{Ticket: t, Value: value})
}

// killApp begins the end, unless it has begun already.
func (e *Engine) killApp(a *application, why string) {
	switch a.state {
	case yarn.AppNewSaving:
		e.endApp(a, yarn.AppKilled, yarn.FinalKilled, why)
	case yarn.AppAccepted, yarn.AppRunning:
		a.diagnostics = clip(why, MaxDiagnostics)
		a.before = a.state
		e.appTo(a, yarn.AppKilling)
		e.endAttempt(a.current(), yarn.AttemptKilled, yarn.FinalKilled, why)
	}
}

// outlived: the application's lifetime is over.
func (e *Engine) outlived(a *application) {
	e.killApp(a, "Application is killed by ResourceManager as it has exceeded the lifetime period.")
}

// endApp has the end stored; appEndStored carries it out.
func (e *Engine) endApp(a *application, target yarn.ApplicationState, final yarn.FinalStatus, diagnostics string) {
	if a.state != yarn.AppKilling {
		a.before = a.state
	}
	a.target, a.final = target, final
	a.finishTime = e.now.Wall
	a.diagnostics = clip(diagnostics, MaxDiagnostics)
	e.appTo(a, yarn.AppFinalSaving)
	e.save(state.Put(e.appRecord(a)), saved{app: a, what: savedFinalApp})
}

// appEndStored: the end is stored, so clients may see it.
func (e *Engine) appEndStored(a *application, err error) {
	if err != nil {
		e.saveEndOtherwise(a)
		return
	}
	if t := a.current(); t != nil && t.dissolving {
		a.endStored = true
		return
	}
	e.appTo(a, a.target)
	if a.callers != nil {
		for _, r := range a.atEnd {
			e.reply(r.Ticket, r.Value)
		}
		a.callers = nil
	}
	if a.target != yarn.AppFinishing {
		e.leave(a)
	}
}

// saveEndOtherwise: the store refuses the record of the end. With the one that it has a restart would run the application again, so the
// record is made smaller, and if nothing is left to leave out it is removed: a restart then knows nothing of the application.
func (e *Engine) saveEndOtherwise(a *application) {
	if !a.lessDiagnostics() {
		e.save(state.RemoveApplication(a.sub.ID), saved{app: a, what: savedNoApp})
		return
	}
	e.save(state.Put(e.appRecord(a)), saved{app: a, what: savedFinalApp})
}

// lessDiagnostics leaves some of the diagnostics out; false: there are none.
func (a *application) lessDiagnostics() bool {
	n := len(a.diagnostics)
	if n == 0 {
		return false
	}
	if a.diagnostics = clip(a.diagnostics, cutDiagnostics); n <= cutDiagnostics {
		a.diagnostics = ""
	}
	return true
}

// leave takes an ended application out of the scheduler and off the nodes.
func (e *Engine) leave(a *application) {
	if a.ref != scheduler.NoApp {
		e.sched.CountEnd(a.ref, a.state)
		e.sched.RemoveApplication(a.ref)
		e.byRef[a.ref] = nil
		a.ref = scheduler.NoApp
		e.sweepDue = true
	}
	if a.onNodes != nil {
		for _, n := range a.ranOn {
			if n.apps[a.sub.ID] {
				n.cleanApps = append(n.cleanApps, a.sub.ID)
			}
		}
		a.ranOn = nil
	}
	e.fx.Summaries = append(e.fx.Summaries, a.sub.ID)
	e.retain(a)
}

// retain adds an ended application to those that are remembered, and discards the
// oldest beyond MaxCompleted.
func (e *Engine) retain(a *application) {
	e.ended = append(e.ended, a.sub.ID)
	for len(e.ended) > e.set.MaxCompleted {
		if old := e.apps[e.ended[0]]; old != nil {
			e.save(state.RemoveApplication(old.sub.ID), saved{what: savedNothing})
			e.discard(old)
		}
		e.ended = e.ended[1:]
	}
}

// discard forgets the application altogether.
func (e *Engine) discard(a *application) {
	delete(e.apps, a.sub.ID)
	e.fx.Discarded = append(e.fx.Discarded, a.sub.ID)
	if a.published {
		e.goneApps = append(e.goneApps, a.sub.ID)
	}
	if len(e.apps)*2 < len(e.order) {
		kept := e.order[:0]
		for _, x := range e.order {
			if e.apps[x.sub.ID] == x {
				kept = append(kept, x)
			}
		}
		clear(e.order[len(kept):])
		e.order = kept
	}
}

// What happens to an application because of its attempt.

func (e *Engine) attemptLaunched(a *application) {
	if a.launchTime != 0 {
		return
	}
	a.launchTime = e.now.Wall
	e.touchApp(a)
	e.save(state.Put(e.appRecord(a)), saved{what: savedNothing})
}

func (e *Engine) attemptRegistered(a *application) {
	if a.state == yarn.AppAccepted {
		e.appTo(a, yarn.AppRunning)
	}
}

// attemptUnregistered: the master has unregistered and reported the final status.
func (e *Engine) attemptUnregistered(a *application, t *attempt) {
	target := yarn.AppFinishing
	if a.sub.Unmanaged {
		target = yarn.AppFinished
	}
	e.endApp(a, target, t.final, t.diagnostics)
}

// attemptOver: the end of the attempt is stored and its containers are gone.
func (e *Engine) attemptOver(a *application, t *attempt) {
	if a.state == yarn.AppFinishing {
		e.appTo(a, yarn.AppFinished)
		e.leave(a)
		return
	}
	if a.state == yarn.AppFinalSaving {
		if t.state == yarn.AttemptFinished && a.target == yarn.AppFinishing {
			a.target = yarn.AppFinished
		}
		return
	}
	switch {
	case a.state.Final():
	case t.state == yarn.AttemptFinished:
		e.endApp(a, yarn.AppFinished, t.final, t.diagnostics)
	case t.state == yarn.AttemptKilled, a.state == yarn.AppKilling:
		e.endApp(a, yarn.AppKilled, yarn.FinalKilled, a.diagnostics)
	default:
		e.attemptFailed(a, t)
	}
}

// attemptFailed starts another attempt or fails the application. If only one attempt is allowed there is no second, even if the failure does not
// count.
func (e *Engine) attemptFailed(a *application, t *attempt) {
	failures, max := e.failures(a), a.maxAttempts(&e.set)
	if a.sub.Unmanaged || max == 1 || failures >= max {
		e.endApp(a, yarn.AppFailed, yarn.FinalFailed, e.exhausted(a, t, max))
		return
	}
	if a.state == yarn.AppRunning {
		e.appTo(a, yarn.AppAccepted)
	}
	e.startAttempt(a)
}

// failures is how many failed attempts count against the limit: those that failed
// by their own fault, within the validity interval.
func (e *Engine) failures(a *application) int32 {
	var n int32
	for _, t := range a.attempts {
		if t.state == yarn.AttemptFailed && t.counts && (a.sub.ValidityInterval <= 0 || t.finishTime >= e.now.Wall-a.sub.ValidityInterval) {
			n++
		}
	}
	return n
}

// maxAttempts is how many failures that count fail the application.
func (a *application) maxAttempts(set *Settings) int32 {
	switch asked := a.sub.MaxAttempts; {
	case asked <= 0:
		return set.MaxAttempts
	case asked > set.GlobalMaxAttempts:
		return set.GlobalMaxAttempts
	default:
		return asked
	}
}

func unknownApp(id yarn.ApplicationID) *Error {
	return refuse(UnknownApplication, "Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
}
