package reserve

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

// Agent is who looks for room (….reservation-agent of the plan's queue).
type Agent int

// The agents.
const (
	Aligned Agent = iota // AlignedPlannerWithGreedy: spreads the load, and is greedy where that fails
	Greedy               // GreedyReservationAgent: as early, or as late, as possible
)

// Sharing is what a plan's users may take of it (….reservation-policy).
type Sharing int

// The policies.
const (
	OverTime     Sharing = iota // CapacityOverTimePolicy: limits of each user, at any time and on average
	NoOverCommit                // NoOverCommitPolicy: whatever the plan has
)

// Settings of a plan. They never change.
type Settings struct {
	Agent      Agent
	Early      bool  // place as early as possible, not as late (….reservation-system.favor-early-allocation)
	Smoothness int32 // into how many parts Aligned divides a slot's share (….smoothness-factor)

	Sharing       Sharing
	Window        int64   // milliseconds over which averages are taken (….reservation-window); OverTime only
	Average, Peak float32 // percent of the plan that a user may have on average and at any time; OverTime only

	Enforcement     int64 // milliseconds that Replan looks ahead (….reservation-enforcement-window)
	Step, MaxPeriod int64 // milliseconds, above 0; every period divides the largest one

	Calc measure.Calculator
	Max  yarn.Resource // the largest container
}

// Plan is what has been promised of a queue. It is not safe for use by several goroutines.
type Plan struct {
	settings Settings
	capacity yarn.Resource
	asApache bool // see LikeApache
	work     int  // what calls have cost so far, in points of planning

	all  []*Reservation // by interval, then id
	byID map[yarn.ReservationID]*Reservation

	single timeline.Line  // committed by reservations that do not recur
	cyclic timeline.Cycle // and by those that do, over the largest period
	users  map[string]*account
}

// account is what one user has of a plan. It lasts while the user has reservations.
type account struct {
	reservations     int // how many there are, with or without resources
	single           timeline.Line
	cyclic           timeline.Cycle
	singles, cyclics bool          // which of the two the user has had since it was last empty
	active           timeline.Line // how many have resources, as an amount of memory
}

// maxStep keeps sums of rounded durations within 64 bits, in milliseconds: 278 years.
const maxStep = 1 << 43

// NewPlan is a plan of that size without reservations.
func NewPlan(s Settings, capacity yarn.Resource) *Plan {
	s.Step, s.MaxPeriod = min(max(s.Step, 1), maxStep), min(max(s.MaxPeriod, 1), MaxTime)
	return &Plan{settings: s, capacity: capacity, byID: map[yarn.ReservationID]*Reservation{},
		cyclic: timeline.Cycle{Period: s.MaxPeriod}, users: map[string]*account{}}
}

// LikeApache lets things go wrong that go wrong in Apache: reservations are lost by updates, numbers overflow, parts
// of recurring reservations are forgotten. It is for replays of Apache's decisions, and nothing else.
func (p *Plan) LikeApache() { p.asApache = true }

// Capacity is how much the plan has to promise at any time.
func (p *Plan) Capacity() yarn.Resource { return p.capacity }

// SetCapacity changes how much that is. What has been promised stays until Replan.
func (p *Plan) SetCapacity(c yarn.Resource) { p.capacity = c }

// All are the reservations by interval, then id.
func (p *Plan) All() []*Reservation { return slices.Clone(p.all) }

// Reservation is the one with that id, or nil.
func (p *Plan) Reservation(id yarn.ReservationID) *Reservation { return p.byID[id] }

// Active are the reservations that have an instance at that time, by interval, then id.
func (p *Plan) Active(now int64) []*Reservation { return p.List(now, now) }

// List are the reservations with an instance in that range of time, of which both
// ends belong to it, by interval, then id.
func (p *Plan) List(start, end int64) []*Reservation {
	p.pass(len(p.all))
	overlaps := (*Reservation).overlaps
	if p.asApache {
		overlaps = (*Reservation).overlapsAsApache
	}
	var out []*Reservation
	for _, r := range p.all {
		if r.Start > end {
			break
		}
		if overlaps(r, start, end) {
			out = append(out, r)
		}
	}
	return out
}

// Restore adds reservations as they were before a restart. One whose id is there already is left out, and so is one whose
// period does not divide the largest one, which may have been changed since; the ids of these are returned.
func (p *Plan) Restore(list ...Reservation) (odd []yarn.ReservationID) {
	var back []*Reservation
	for _, r := range list {
		if p.byID[r.ID] != nil {
			continue
		}
		if r.build(); r.period > 0 && p.settings.MaxPeriod%r.period != 0 {
			odd = append(odd, r.ID)
			continue
		}
		back, p.byID[r.ID] = append(back, &r), &r
	}
	p.all = append(p.all, back...)
	slices.SortFunc(p.all, (*Reservation).before)
	p.book(back, 1)
	return odd
}

// CommittedAt is what is promised for that time.
func (p *Plan) CommittedAt(t int64) yarn.Resource {
	return p.single.Amount(t).Add(p.cyclic.Amount(t))
}

// LastEnd is the last time at which the commitments that do not recur change, -1 when
// there were none.
func (p *Plan) LastEnd() int64 { return p.single.Last() }

func (p *Plan) insert(r *Reservation) {
	i, _ := slices.BinarySearchFunc(p.all, r, (*Reservation).before)
	p.all = slices.Insert(p.all, i, r)
	p.byID[r.ID] = r
	p.book([]*Reservation{r}, 1)
}

func (p *Plan) remove(rs ...*Reservation) {
	for _, r := range rs {
		delete(p.byID, r.ID)
	}
	if len(rs) == 1 {
		if i, found := slices.BinarySearchFunc(p.all, rs[0], (*Reservation).before); found {
			p.all = slices.Delete(p.all, i, i+1)
		}
	} else {
		p.all = slices.DeleteFunc(p.all, func(r *Reservation) bool { return p.byID[r.ID] == nil })
	}
	p.book(rs, -1)
	for _, r := range rs {
		p.forget(r)
	}
}

// account is what a user has. It is made if there is none.
func (p *Plan) account(user string) *account {
	u := p.users[user]
	if u == nil {
		u = &account{cyclic: timeline.Cycle{Period: p.settings.MaxPeriod}}
		p.users[user] = u
	}
	return u
}

// book adds what reservations get to the plan's and their users' commitments, or takes
// it away (sign -1).
func (p *Plan) book(rs []*Reservation, sign int64) {
	var single, cyclic pieces
	byUser := map[string]*[3]pieces{} // single, cyclic and active ones
	for _, r := range rs {
		u, own := p.account(r.User), byUser[r.User]
		if own == nil {
			own = new([3]pieces)
			byUser[r.User] = own
		}
		u.reservations += int(sign)
		from, to := int64(timeline.End), int64(timeline.Begin)
		if r.period > 0 {
			u.cyclics = true
			from, to = r.Start, timeline.End
			train := r.train(p.settings.MaxPeriod)
			cyclic, own[1] = append(cyclic, train), append(own[1], train)
		} else {
			u.singles = true
			single, own[0] = append(single, r.line.Line), append(own[0], r.line.Line)
			for _, i := range r.Intervals {
				if p.settings.Calc.Positive(&p.capacity, &i.Resource) {
					from, to = min(from, i.Start), max(to, i.End)
				}
			}
		}
		own[2] = append(own[2], timeline.Of(from, to, yarn.Resource{1, 1}))
	}
	p.pass(len(p.single) + len(p.cyclic.Line) + single.points() + cyclic.points())
	single.book(&p.single, sign)
	cyclic.book(&p.cyclic.Line, sign)
	for name, own := range byUser { //tidy:unordered each has lines of its own
		u := p.users[name]
		own[0].book(&u.single, sign)
		own[1].book(&u.cyclic.Line, sign)
		own[2].book(&u.active, sign)
	}
}

// pieces are lines that are added to another one together.
type pieces []timeline.Line

func (all pieces) points() (n int) {
	for _, l := range all {
		n += len(l)
	}
	return n
}

// fewPoints are added one by one, without copying the line.
const fewPoints = 6

// book adds them to a line, or takes them away from it (sign -1).
func (all pieces) book(l *timeline.Line, sign int64) {
	if len(all) == 1 && len(all[0]) <= fewPoints && all[0].Amount(timeline.End).IsZero() {
		for _, r := range all[0].Runs() {
			l.Raise(r.From, r.To, measure.Times(r.Amount, sign))
		}
		return
	}
	*l = together(*l, timeline.Sum(all), sign)
}

// together is a line and another one, or without it (sign -1).
func together(l, other timeline.Line, sign int64) timeline.Line {
	if len(other) == 0 {
		return l
	}
	op := timeline.Add
	if sign < 0 {
		op = timeline.Subtract
	}
	out, _ := timeline.Merge(nil, l, other, op, timeline.Begin, timeline.End) // never fails, as both end where they are known
	return out
}

// forget drops what a reservation has left empty.
//
// compat: a line that has become empty is dropped with its first point and its end.
func (p *Plan) forget(r *Reservation) {
	u := p.users[r.User]
	if u == nil {
		return
	}
	if r.period == 0 && u.single.Empty() {
		u.single, u.singles = nil, false
	}
	if r.period > 0 && u.cyclic.Empty() {
		u.cyclic.Line, u.cyclics = nil, false
	}
	if u.active.Empty() {
		u.active = nil
	}
	if u.reservations == 0 && !u.singles && !u.cyclics {
		delete(p.users, r.User)
	}
}

// saved are the parts of a plan that a change of two users' reservations touches.
type saved struct {
	all            []*Reservation
	single, cyclic timeline.Line
	names          [2]string
	users          [2]*account
}

// save keeps them. Reservations themselves never change.
func (p *Plan) save(names [2]string) *saved {
	p.pass(len(p.all) + len(p.single) + len(p.cyclic.Line))
	s := &saved{slices.Clone(p.all), slices.Clone(p.single), slices.Clone(p.cyclic.Line), names, [2]*account{}}
	for i, name := range names {
		if u := p.users[name]; u != nil {
			v := *u
			v.single, v.cyclic.Line, v.active = slices.Clone(u.single), slices.Clone(u.cyclic.Line), slices.Clone(u.active)
			s.users[i] = &v
		}
	}
	return s
}

// back puts them back; old is the reservation that was taken out meanwhile.
func (p *Plan) back(s *saved, old *Reservation) {
	p.all, p.single, p.cyclic.Line = s.all, s.single, s.cyclic
	p.byID[old.ID] = old
	for i, name := range s.names {
		if s.users[i] == nil {
			delete(p.users, name)
		} else {
			p.users[name] = s.users[i]
		}
	}
}
