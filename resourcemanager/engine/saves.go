package engine

import (
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// saved is what goes on once a Save is stored, and how.
type saved struct {
	app     *application
	attempt *attempt
	what    savedWhat
	ticket  Ticket // of the call that waits for the record
	subject string
	refusal **Error              // shared by records that one call stores
	note    func(*choices)       // makes the change in the record
	apply   func() (any, *Error) // puts the change into force, and returns the answer
	node    *node                // that is to drain for the lists
	drain   *drain
	order   *state.NodeDeadline // that begins or ends; see drainorder.go
	inForce func()              // makes the change of a reservation

	reservation yarn.ReservationID
	then        []func() // what waits for this save and all before it
}

type savedWhat uint8

const (
	savedNothing savedWhat = iota // nobody waits
	savedNewApp
	savedChange
	savedTakenBack // the record without a change that failed
	savedExtra
	savedLabels
	savedDrain
	savedOrder
	savedOrderEnd
	savedFinalApp
	savedNoApp // the end, without a record
	savedNewAttempt
	savedFinalAttempt
	savedReservation
)

// saveQueue holds the unconfirmed saves, oldest first.
type saveQueue struct {
	all   []saved
	done  int    // how many of all are confirmed; they are empty
	first uint64 // sequence number of the first one that is not
}

// entries are those that are not confirmed.
func (q *saveQueue) entries() []saved { return q.all[q.done:] }

// savesKept is for how many saves an empty queue keeps its memory.
const savesKept = 1024

// take takes the first entry out.
func (q *saveQueue) take() saved {
	s := q.all[q.done]
	q.all[q.done] = saved{}
	q.first++
	if q.done++; 2*q.done >= len(q.all) {
		left := copy(q.all, q.entries())
		clear(q.all[left:])
		q.all, q.done = q.all[:left], 0
		if left == 0 && cap(q.all) > savesKept { // what a burst has left
			q.all = nil
		}
	}
	return s
}

func (e *Engine) save(op state.Op, s saved) {
	e.saves.first = max(e.saves.first, 1)
	seq := e.saves.first + uint64(len(e.saves.entries()))
	e.saves.all = append(e.saves.all, s)
	e.fx.Saves = append(e.fx.Saves, Save{Seq: seq, Op: op})
}

// stored goes on with whatever waited for the oldest save.
func (e *Engine) stored(c Stored) {
	q := &e.saves
	if len(q.entries()) == 0 || c.Seq != q.first {
		panic(fmt.Sprintf("engine: save %d is confirmed, %d is due", c.Seq, q.first))
	}
	s := q.take()
	switch s.what {
	case savedNewApp:
		e.appStored(s.app, c.Err)
	case savedFinalApp:
		e.appEndStored(s.app, c.Err)
	case savedNoApp:
		e.appEndStored(s.app, nil)
	case savedNewAttempt:
		e.attemptStored(s.attempt, c.Err)
	case savedFinalAttempt:
		e.attemptEndStored(s.attempt)
	case savedChange:
		e.changeStored(s, c.Err)
	case savedTakenBack:
		if c.Err != nil && e.takeBackOtherwise(s) {
			s.then = nil
		}
	case savedExtra:
		e.extraStored(s, c.Err)
	case savedLabels:
		e.labelsStored(c.Err)
	case savedDrain:
		e.drainStored(s, c.Err)
	case savedOrder:
		e.orderStored(s, c.Err)
	case savedOrderEnd:
		e.orderEnded(s, c.Err)
	case savedReservation:
		e.reservationSaved(s, c.Err)
	}
	for _, do := range s.then {
		do()
	}
}

// whenStored calls do once every save made so far is confirmed.
func (e *Engine) whenStored(do func()) {
	if waiting := e.saves.entries(); len(waiting) > 0 {
		last := &waiting[len(waiting)-1]
		last.then = append(last.then, do)
		return
	}
	do()
}

// saveChange stores the application with the change that note makes. Once that is
// stored apply puts it into force.
func (e *Engine) saveChange(a *application, t Ticket, note func(*choices), apply func() (any, *Error)) {
	a.change(note)
	e.save(state.Put(e.appRecord(a)), saved{app: a, what: savedChange, subject: a.sub.ID.String(), ticket: t, note: note, apply: apply})
}

// change makes a change in what is recorded.
func (a *application) change(note func(*choices)) {
	if a.changing == nil {
		a.changing = &changes{choices: a.choices}
	}
	a.changing.open++
	note(&a.changing.choices)
}

// takeBack stores the application without a change that failed. Later changes, whose
// records include that one, stay.
func (e *Engine) takeBack(a *application) {
	a.changing = nil
	for _, s := range e.saves.entries() {
		if s.app == a && s.what == savedChange {
			a.change(s.note)
		}
	}
	if e.apps[a.sub.ID] == a {
		e.save(state.Put(e.appRecord(a)), saved{app: a, what: savedTakenBack})
	}
}

// takeBackOtherwise handles the case that the store holds the end of the application together with a change that failed, and refuses the record without that change.
// It stores a smaller record, with shorter diagnostics; what waited for the refused one waits for it. False: the diagnostics cannot be shortened further.
func (e *Engine) takeBackOtherwise(s saved) bool {
	a := s.app
	if e.apps[a.sub.ID] != a || !a.ending() || !a.lessDiagnostics() {
		return false
	}
	e.touchApp(a)
	e.save(state.Put(e.appRecord(a)), saved{app: a, what: savedTakenBack, then: s.then})
	return true
}

// changeStored puts a stored change into force and answers the call.
func (e *Engine) changeStored(s saved, err error) {
	var value any
	var refusal *Error
	if err != nil {
		e.takeBack(s.app)
		refusal = refuse(NotStored, "Cannot store the change of %s: %v", s.subject, err)
	} else {
		value, refusal = s.apply()
		if c := s.app.changing; refusal == nil && c != nil {
			if c.open--; c.open == 0 && c.choices == s.app.choices {
				s.app.changing = nil
			}
		}
		e.touchApp(s.app)
	}
	if refusal != nil { // the change is taken back, also in records that were made since; a crash must not undo that
		e.whenStored(func() { e.fail(s.ticket, refusal) })
		return
	}
	e.reply(s.ticket, value)
}

// remember stores records that are not the engine's own. The call is answered with
// the last of them; if one cannot be stored it is refused.
func (e *Engine) remember(c Remember) {
	if len(c.Ops) == 0 {
		e.reply(c.Ticket, nil)
		return
	}
	var refusal *Error
	for i, op := range c.Ops {
		s := saved{what: savedExtra, subject: op.String(), refusal: &refusal}
		if i == len(c.Ops)-1 {
			s.ticket = c.Ticket
		}
		e.save(op, s)
	}
}

// extraStored enters the outcome of one of several records. The last one has the ticket.
func (e *Engine) extraStored(s saved, err error) {
	if err != nil && *s.refusal == nil {
		*s.refusal = refuse(NotStored, "Cannot store %s: %v", s.subject, err)
	}
	if *s.refusal != nil {
		e.fail(s.ticket, *s.refusal)
		return
	}
	e.reply(s.ticket, nil)
}

// appRecord is what a restart would need of the application. The launch context
// is added at the edge, which alone has it.
func (e *Engine) appRecord(a *application) state.Application {
	chosen := a.recorded()
	r := state.Application{
		ID: a.sub.ID, User: a.sub.User, RealUser: a.sub.RealUser, Queue: chosen.queue, PlanQueue: chosen.planQueue, CallerContext: a.sub.CallerContext,
		Priority: chosen.priority, SubmitTime: a.submitTime, StartTime: a.submitTime, LaunchTime: a.launchTime, FinishTime: a.finishTime,
	}
	if a.restored != nil {
		r.CallerSignature, r.Unknown = a.restored.callerSignature, a.restored.unknown
	}
	if at := chosen.expireAt; at > 0 {
		r.Timeouts = []state.Timeout{{Type: 1, ExpireAt: at}}
	}
	if a.ending() {
		r.Final, r.FinalStatus, r.Diagnostics = a.target, a.final, a.diagnostics
		if a.target == yarn.AppFinishing {
			r.Final = yarn.AppFinished
		}
	}
	return r
}

// attemptRecord is what a restart would need of the attempt.
func (e *Engine) attemptRecord(t *attempt) state.Attempt {
	used := t.app.used()
	r := state.Attempt{
		ID: t.id, MasterContainer: t.masterID, Host: t.host, RPCPort: t.rpcPort, TrackingURL: t.trackingURL,
		StartTime: t.startTime, FinishTime: t.finishTime, ExitStatus: t.exitStatus, Diagnostics: t.diagnostics,
		UsageSeconds: used.seconds, PreemptedUsage: used.preempted, TotalContainers: t.containers,
	}
	if t.masterNode != nil {
		r.MasterNode, r.MasterHTTP = t.masterNode.id, t.masterNode.http
	}
	if t.restored != nil {
		r.Unknown = t.restored.Unknown
	}
	if t.restored != nil && t.masterNode == nil {
		r.MasterNode, r.MasterHTTP = t.restored.MasterNode, t.restored.MasterHTTP
		r.MasterResource, r.MasterPriority = t.restored.MasterResource, t.restored.MasterPriority
	}
	if t.master != nil && !t.master.state.Final() {
		book := e.sched.Container(t.master.ref)
		r.MasterResource, r.MasterPriority = book.Resource, book.Priority
	}
	if t.state == yarn.AttemptFinalSaving {
		r.Final, r.FinalStatus = t.target, t.final
		if t.target == yarn.AttemptFinishing {
			r.Final = yarn.AttemptFinished
		}
	}
	return r
}
