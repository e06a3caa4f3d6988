package engine

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/reserve"
	"github.com/heddle-project/heddle/yarn"
)

// Reservations are the settings of the reservation system (yarn.resourcemanager.reservation-system). Times are milliseconds.
type Reservations struct {
	Enabled    bool
	ACLs       bool  // yarn.acl.enable and yarn.acl.reservation-enable
	Step       int64 // planfollower.time-step
	MaxPeriod  int64 // max-periodicity
	Early      bool  // favor-early-allocation
	Smoothness int32 // smoothness-factor
	Calc       measure.Calculator
	Max        yarn.Resource // the largest container
	Patience   int64         // after a restart, until nodes must have come back: before, nothing is revoked for lack of room
}

// maxQueueShown bounds the name of a queue that a refusal repeats, in bytes.
const maxQueueShown = 1024

// MaxPastReservations bounds the ids that are remembered after the end of their reservations.
const MaxPastReservations = 10_000

// plans are what the queues that can be reserved have promised.
type plans struct {
	last    int64   // number of the last id that was given out
	list    []*plan // by path
	found   []scheduler.Plan
	planOf  map[yarn.ReservationID]*plan // also of reservations that are over; see gone
	gone    []yarn.ReservationID         // those that are over, oldest first
	saving  bool                         // a change of a reservation is being stored
	waiting []func()                     // changes that came meanwhile, in their order
}

// plan is the plan of one queue. It outlives the queue: reservations are not lost because a configuration does not have the queue for a while.
type plan struct {
	*reserve.Plan
	path     string
	conf     *config.Plan        // of the queue, when it was last there
	set      reserve.Settings    // of Plan
	there    bool                // there is such a queue
	followed []scheduler.Promise // what the scheduler was told last
	capacity yarn.Resource       // and for which capacity of the queue
	emptying bool                // queues are left whose reservation is over
	unsure   bool                // its queues may not be as followed says: it is new or back, or the scheduler's configuration has changed
}

// findPlans brings the plans in line with the queues that can be reserved now.
func (e *Engine) findPlans() {
	p := &e.plans
	for _, one := range p.list {
		one.there = false
	}
	p.found = e.sched.Plans(p.found[:0])
	for _, q := range p.found {
		one := e.planAt(q.Path)
		one.there = true
		e.configure(one, q.Conf)
		one.SetCapacity(q.Capacity)
	}
}

// planAt is the plan of the queue with that path, which may be new.
func (e *Engine) planAt(path string) *plan {
	p := &e.plans
	i, ok := slices.BinarySearchFunc(p.list, path, func(one *plan, path string) int { return cmp.Compare(one.path, path) })
	if !ok {
		one := &plan{path: path}
		e.configure(one, &config.Plan{})
		p.list = slices.Insert(p.list, i, one)
	}
	return p.list[i]
}

// configure has the plan go by its queue's settings. What it has promised stays.
func (e *Engine) configure(p *plan, c *config.Plan) {
	set := &e.set.Reservations
	if p.conf == c && p.set.Max == set.Max {
		return
	}
	p.conf, p.unsure = c, true
	s := reserve.Settings{Early: set.Early, Smoothness: set.Smoothness, Window: c.Window, Average: c.Average, Peak: c.Peak, Enforcement: c.Enforcement,
		Step: set.Step, MaxPeriod: set.MaxPeriod, Calc: set.Calc, Max: set.Max}
	if c.Greedy {
		s.Agent = reserve.Greedy
	}
	if c.NoOverCommit {
		s.Sharing = reserve.NoOverCommit
	}
	before := p.Plan
	if before != nil && s == p.set {
		return
	}
	p.Plan, p.set = reserve.NewPlan(s, yarn.Resource{}), s
	if before != nil {
		var kept []reserve.Reservation
		for _, r := range before.All() {
			kept = append(kept, *r)
		}
		_ = p.Restore(kept...)
	}
}

// Texts of Apache's, which clients may know.
const (
	notEnabled   = "Reservation is not enabled. Please enable & try again"
	noID         = "Missing reservation id. Please try again by specifying a reservation id."
	noDefinition = "Missing reservation definition. Please try again by specifying a reservation definition."
)

func (e *Engine) newReservation(c NewReservation) {
	if !e.set.Reservations.Enabled {
		e.fail(c.Ticket, refuse(Failed, notEnabled))
		return
	}
	e.plans.last++
	e.reply(c.Ticket, yarn.ReservationID{ClusterTimestamp: e.set.ClusterTimestamp, Number: e.plans.last})
}

// queuePlan is the plan of the queue that a caller names.
func (e *Engine) queuePlan(name string) (*plan, *Error) {
	if name == "" {
		return nil, refuse(Failed, "The queue is not specified. Please try again with a valid reservable queue.")
	}
	path, _ := e.sched.Resolve(name)
	e.findPlans()
	for _, p := range e.plans.list {
		if p.there && p.path == path {
			return p, nil
		}
	}
	return nil, refuse(Failed, "The specified queue: %s is not managed by reservation system. Please try again with a valid reservable queue.", clip(name, maxQueueShown))
}

// inTurn applies a change of a reservation when the one before it is in force, or could not be stored: what it gives free or takes may be
// what this one needs.
func (e *Engine) inTurn(change func()) {
	if e.plans.saving {
		e.plans.waiting = append(e.plans.waiting, change)
		return
	}
	change()
}

func (e *Engine) submitReservation(c SubmitReservation) {
	p, err := e.submittable(&c)
	if err != nil {
		e.fail(c.Ticket, err)
		return
	}
	if err := e.mayReserve(p, &c.Caller, &p.conf.Submit, "SUBMIT_RESERVATIONS", owner(p, c.ID)); err != nil {
		e.fail(c.Ticket, err)
		return
	}
	if before := p.Reservation(c.ID); before != nil {
		if !before.Definition.Equal(c.Definition) {
			e.fail(c.Ticket, refuse(Failed, "Reservation allocation already exists with the reservation id %s, but a different reservation definition was provided. "+
				"Please try again with a new reservation id, or consider updating the reservation instead.", c.ID))
			return
		}
		e.reply(c.Ticket, nil)
		return
	}
	e.propose(p, c.ID, c.User, c.Definition, c.Ticket)
}

// submittable is the plan that a submission is for, if its form is right.
func (e *Engine) submittable(c *SubmitReservation) (*plan, *Error) {
	if !e.set.Reservations.Enabled {
		return nil, refuse(Failed, notEnabled)
	}
	if c.ID.IsZero() {
		return nil, refuse(Failed, "Reservation id cannot be null. Please try again specifying  a valid reservation id by creating a new reservation id.")
	}
	p, err := e.queuePlan(c.Queue)
	if err != nil {
		return nil, err
	}
	if err := e.checkDefinition(p, c.Definition); err != nil {
		return nil, err
	}
	other := e.plans.planOf[c.ID]
	switch id := c.ID; {
	case id.ClusterTimestamp <= 0 || id.Number <= 0 || id.Number > math.MaxInt32 || id.ClusterTimestamp > e.set.ClusterTimestamp,
		id.ClusterTimestamp == e.set.ClusterTimestamp && id.Number > e.plans.last:
		// It is no id, or getNewReservation will give it to somebody else.
		return nil, refuse(Failed, "Cannot submit %s: this ResourceManager never gave out that id; ask for one by getNewReservation", id)
	case other != nil && other != p && other.Reservation(id) != nil:
		return nil, refuse(Failed, "Cannot submit %s to queue %s: there is a reservation with that id in queue %s; ask for another one by getNewReservation", id, p.path, other.path)
	}
	return p, nil
}

func (e *Engine) checkDefinition(p *plan, d *yarn.ReservationDefinition) *Error {
	if d == nil {
		return refuse(Failed, noDefinition)
	}
	if err := p.Check(e.now.Wall, d); err != nil {
		return refusedPlan(err)
	}
	return nil
}

// knownPlan is the plan of a reservation that there is or was.
func (e *Engine) knownPlan(id yarn.ReservationID) (*plan, *Error) {
	if !e.set.Reservations.Enabled {
		return nil, refuse(Failed, notEnabled)
	}
	if id.IsZero() {
		return nil, refuse(Failed, noID)
	}
	p := e.plans.planOf[id]
	if p == nil {
		return nil, refuse(Failed, "The specified reservation with ID: %s is unknown. Please try again with a valid reservation.", id)
	}
	e.findPlans()
	if !p.there {
		return nil, refuse(Failed, "The specified reservation: %s is not associated with any valid plan. Please try again with a valid reservation.", id)
	}
	return p, nil
}

func (e *Engine) updateReservation(c UpdateReservation) {
	p, err := e.knownPlan(c.ID)
	if err == nil {
		err = e.checkDefinition(p, c.Definition)
	}
	if err == nil {
		err = e.mayReserve(p, &c.Caller, &p.conf.Administer, "ADMINISTER_RESERVATIONS", owner(p, c.ID))
	}
	if err != nil {
		e.fail(c.Ticket, err)
		return
	}
	e.propose(p, c.ID, c.User, c.Definition, c.Ticket)
}

func (e *Engine) deleteReservation(c DeleteReservation) {
	p, err := e.knownPlan(c.ID)
	if err == nil {
		err = e.mayReserve(p, &c.Caller, &p.conf.Administer, "ADMINISTER_RESERVATIONS", owner(p, c.ID))
	}
	if err != nil {
		e.fail(c.Ticket, err)
		return
	}
	if p.Reservation(c.ID) == nil {
		e.fail(c.Ticket, refusedPlan(p.Delete(c.ID)))
		return
	}
	e.saveChanged(state.Remove(state.Reservation{ID: c.ID}), c.ID, c.Ticket, func() {
		if p.Delete(c.ID) == nil { // else it was revoked meanwhile, or is over
			e.reservationEnded(p, c.ID, Deleted)
		}
	})
}

func (e *Engine) listReservations(c ListReservations) {
	if !e.set.Reservations.Enabled {
		e.fail(c.Ticket, refuse(Failed, notEnabled))
		return
	}
	if c.End < c.Start {
		e.fail(c.Ticket, refuse(Failed, "The specified end time must be greater than the specified start time."))
		return
	}
	p, err := e.queuePlan(c.Queue)
	if err == nil {
		err = e.mayReserve(p, &c.Caller, &p.conf.List, "LIST_RESERVATIONS", owner(p, c.ID))
	}
	if err != nil {
		e.fail(c.Ticket, err)
		return
	}
	e.whenStored(func() { e.reply(c.Ticket, p.list(&c)) })
}

// list is what a caller asks for of the plan.
func (p *plan) list(c *ListReservations) []view.Reservation {
	var found []*reserve.Reservation
	if c.ID.IsZero() {
		found = p.List(c.Start, c.End)
	} else if r := p.Reservation(c.ID); r != nil {
		found = append(found, r)
	}
	out := make([]view.Reservation, len(found))
	for i, r := range found {
		out[i] = view.Reservation{ID: r.ID, Plan: p.path, User: r.User, Accepted: r.Accepted, Definition: r.Definition, Intervals: r.Intervals}
	}
	return out
}

// owner is whose reservation it is; "" if there is none.
func owner(p *plan, id yarn.ReservationID) string {
	if r := p.Reservation(id); r != nil {
		return r.User
	}
	return ""
}

// mayReserve refuses a caller who is neither the owner of the reservation nor in the list, nor among those who administer reservations.
func (e *Engine) mayReserve(p *plan, c *Caller, list *yarn.ACL, operation, owner string) *Error {
	if !e.set.Reservations.ACLs || owner != "" && owner == c.User || list.Allows(c.User, c.RealUser, c.Groups) ||
		p.conf.Administer.Allows(c.User, c.RealUser, c.Groups) {
		return nil
	}
	return refuse(AccessDenied, "User %s cannot perform operation %s on queue %s", c.User, operation, p.path)
}

// maySubmitTo refuses an application of somebody who may not reserve and whose reservation it is not.
//
// compat: Apache asks for the right of everybody, also of applications without a reservation, and so lets nobody submit to any other queue.
func (e *Engine) maySubmitTo(s *Submission) *Error {
	p := e.plans.planOf[s.Reservation]
	if !e.set.Reservations.Enabled || p == nil {
		return nil
	}
	return e.mayReserve(p, &Caller{s.User, s.RealUser, s.Groups}, &p.conf.Submit, "SUBMIT_RESERVATIONS", owner(p, s.Reservation))
}

// refusedPlan is what a plan refuses, as the caller gets it.
func refusedPlan(err error) *Error {
	var r *reserve.Refusal
	if errors.As(err, &r) {
		switch r.Kind {
		case reserve.IllegalArgument:
			return refuse(IllegalArgument, "%s", r.Message)
		case reserve.Arithmetic:
			return refuse(Arithmetic, "%s", r.Message)
		}
	}
	return refuse(Failed, "%v", err)
}

// propose has the plan look for room. What it finds is promised, and the call answered, when it is stored.
func (e *Engine) propose(p *plan, id yarn.ReservationID, user string, d *yarn.ReservationDefinition, t Ticket) {
	was := p.Reservation(id)
	found, err := p.Propose(e.now.Wall, id, user, *d)
	if err != nil {
		e.fail(t, refusedPlan(err))
		return
	}
	e.saveChanged(state.Put(reservationRecord(p, found)), id, t, func() {
		if was != nil && p.Reservation(id) == nil {
			return // it was revoked meanwhile, or is over; that is stored, too
		}
		p.Accept(found)
		e.plans.planOf[id] = p
		e.announce(p, found)
	})
}

// reservationRecord is what a restart needs of the reservation.
func reservationRecord(p *plan, r *reserve.Reservation) state.Reservation {
	out := state.Reservation{ID: r.ID, Plan: p.path, User: r.User, Definition: r.Definition, Start: r.Start, End: r.End, Accepted: r.Accepted, Gangs: r.Gangs}
	for _, i := range r.Intervals {
		out.Intervals = append(out.Intervals, state.ReservedInterval(i))
	}
	return out
}

// saveChanged stores a change of a reservation; then inForce makes it, and the call is answered. If it cannot be stored nothing has happened. Other
// changes wait until then.
func (e *Engine) saveChanged(op state.Op, id yarn.ReservationID, t Ticket, inForce func()) {
	e.plans.saving = true
	e.save(op, saved{what: savedReservation, ticket: t, reservation: id, inForce: inForce})
}

// reservationSaved answers the call that changed a reservation, and applies the next change that waits.
func (e *Engine) reservationSaved(s saved, err error) {
	if err != nil {
		e.fail(s.ticket, refuse(NotStored, "Cannot store the change of %s: %v", s.reservation, err))
	} else {
		s.inForce()
		e.reply(s.ticket, nil)
	}
	p := &e.plans
	p.saving = false
	for len(p.waiting) > 0 && !p.saving {
		change := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		change()
	}
}

// announce has a new reservation that is due at once get its queue.
func (e *Engine) announce(p *plan, r *reserve.Reservation) {
	e.findPlans()
	if p.there && r.Definition.Arrival-e.now.Wall < e.set.Reservations.Step {
		e.followPlan(p)
	}
}

// dropReservations removes reservations from the store that the plan does not have any more.
func (e *Engine) dropReservations(p *plan, ids []yarn.ReservationID, what ReservationChange) {
	for _, id := range ids {
		e.save(state.Remove(state.Reservation{ID: id}), saved{what: savedNothing})
		e.reservationEnded(p, id, what)
	}
}

// reservationEnded tells that a reservation is no more.
func (e *Engine) reservationEnded(p *plan, id yarn.ReservationID, what ReservationChange) {
	e.fx.Reservations = append(e.fx.Reservations, ReservationEvent{ID: id, Plan: p.path, What: what})
	e.past(id)
}

// past remembers for a while of which plan a reservation was.
func (e *Engine) past(id yarn.ReservationID) {
	p := &e.plans
	p.gone = append(p.gone, id)
	if len(p.gone) > MaxPastReservations {
		oldest := p.gone[0]
		p.gone = p.gone[1:]
		if q := p.planOf[oldest]; q != nil && q.Reservation(oldest) == nil {
			delete(p.planOf, oldest)
		}
	}
}

// recoverReservations brings plans back, and makes the queues of reservations that are due, before the applications that are in them.
func (e *Engine) recoverReservations(list []state.Reservation) {
	if !e.set.Reservations.Enabled {
		return // they stay in the store
	}
	e.findPlans()
	back := map[*plan][]reserve.Reservation{}
	for _, r := range list {
		p := e.planAt(r.Plan)
		one := reserve.Reservation{ID: r.ID, User: r.User, Definition: r.Definition, Start: r.Start, End: r.End, Accepted: r.Accepted, Gangs: r.Gangs}
		for _, i := range r.Intervals {
			one.Intervals = append(one.Intervals, reserve.Interval(i))
		}
		back[p] = append(back[p], one)
		e.plans.planOf[r.ID] = p
	}
	for _, p := range e.plans.list {
		for _, id := range p.Restore(back[p]...) {
			e.fx.Reservations = append(e.fx.Reservations, ReservationEvent{ID: id, Plan: p.path, What: NotRecovered})
		}
	}
	e.followPlans()
}

// followPlans gives all reservations that are due what they are to have; see FollowPlans.
func (e *Engine) followPlans() {
	if !e.set.Reservations.Enabled {
		return
	}
	e.findPlans()
	for _, p := range e.plans.list {
		e.followPlan(p)
	}
}

// followPlan gives the reservations of one plan that are due what they are to have.
func (e *Engine) followPlan(p *plan) {
	now := e.nextStep()
	if p.there {
		due := e.due(p, now)
		if p.unsure || p.emptying || p.capacity != p.Capacity() || !slices.Equal(due, p.followed) {
			e.keepPromises(p, due)
		}
		e.dropReservations(p, p.Archive(now), Over) // a queue that is not there has no window in which they still count
	}
}

// nextStep is the time that plans are followed for: the beginning of the next step.
func (e *Engine) nextStep() int64 {
	now, step := e.now.Wall, max(1, e.set.Reservations.Step)
	if rest := now % step; rest != 0 {
		return now + step - rest
	}
	return now
}

// due is what the reservations are to have that are due. If that is more than there is the latest are revoked; soon after a restart,
// while nodes may still come back, all get less instead.
func (e *Engine) due(p *plan, now int64) []scheduler.Promise {
	due, sum := promises(p, now)
	capacity, cluster := p.Capacity(), e.sched.ClusterTotal()
	if !e.set.Reservations.Calc.More(&cluster, &sum, &capacity) {
		return due
	}
	if waiting := e.now.Mono-e.recoveredAt < e.set.Reservations.Patience; !waiting && !capacity.IsZero() {
		revoked, err := p.Replan(e.now.Wall)
		e.dropReservations(p, revoked, Revoked)
		if err != nil {
			e.fx.Reservations = append(e.fx.Reservations, ReservationEvent{Plan: p.path, What: ReplanCutShort, Why: err.Error()})
		}
		due, sum = promises(p, now)
	}
	if e.set.Reservations.Calc.More(&cluster, &sum, &capacity) {
		for i := range due {
			due[i].Resource = measure.Scale(capacity, float64(e.set.Reservations.Calc.Ratio(&due[i].Resource, &sum)))
		}
	}
	return due
}

// promises is what the plan's reservations are to have that are due, and all of it together.
func promises(p *plan, now int64) (due []scheduler.Promise, sum yarn.Resource) {
	for _, r := range p.Active(now) {
		amount := r.At(now)
		sum = sum.Add(amount)
		due = append(due, scheduler.Promise{Name: r.ID.String(), Resource: amount, Gangs: r.Gangs})
	}
	return due, sum
}

// keepPromises has the scheduler give the reservations what they are to have, and empties the queues of those that are over.
func (e *Engine) keepPromises(p *plan, due []scheduler.Promise) {
	over, refused := e.sched.Follow(p.path, due)
	for _, why := range refused {
		e.fx.Reservations = append(e.fx.Reservations, ReservationEvent{Plan: p.path, What: QueueRefused, Why: why.Subject + ": " + describe(why)})
	}
	p.unsure, p.emptying = false, false
	if len(over) > 0 {
		e.empty(p, over)
	}
	p.followed, p.capacity = due, p.Capacity()
	e.infos, e.sweepDue = nil, true
}

// seeQueue takes over the queue that the application has come to be in.
func (e *Engine) seeQueue(a *application) {
	if path := e.sched.QueueOf(a.ref); a.recorded().queue == a.queue {
		a.enters(path)
	} else { // a move is being stored
		a.queue = path
	}
}

// empty removes the queues of reservations that are over. Their applications go on in the plan's default queue, or are killed; a queue stays until it
// has none.
func (e *Engine) empty(p *plan, over []string) {
	if p.conf.MoveOnExpiry {
		for _, refs := range e.sched.Members(over) {
			for _, ref := range refs {
				a := e.byRef[ref]
				_ = e.sched.MoveApplication(ref, p.path) // one that cannot be moved is killed
				e.seeQueue(a)
				e.touchApp(a)
			}
		}
	}
	for i, refs := range e.sched.Members(over) {
		for _, ref := range refs {
			p.emptying = true
			if a := e.byRef[ref]; !a.ending() {
				e.killApp(a, "Application killed due to expiry of reservation queue "+over[i]+".")
			}
		}
	}
	e.sched.RemovePlanQueues(p.path, over)
}
