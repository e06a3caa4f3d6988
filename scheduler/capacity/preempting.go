package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/preempt"
	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Preemption: package preempt finds out what goes; here it is given what it works on, and containers have their notice.

// preemption is what is kept from one round to the next.
type preemption struct {
	round    *preempt.Round   // the running one, or nil
	decided  *core.Preemption // what its choices come to so far; nil: it has not made all of them
	at       int64            // when it had made all of them, on the clock that never jumps: all its notices begin then
	next     int              // the first choice that is not settled
	tree     *tree.Tree       // in whose queues it looks
	before   int              // how many containers the round before has chosen: lists that grow piece by piece hold the loop up
	noticed  since            // containers under notice
	observed since            // with observe_only: those of which it was said that they would have notice
}

// since is a set of containers that knows when each came into it. The zero value is empty.
type since struct {
	at    map[yarn.ContainerID]int64 // milliseconds of the clock that never jumps
	byAge []entry                    // the same and some that have left or come again, the oldest first
}

type entry struct {
	id yarn.ContainerID
	at int64
}

// add puts a container in, or in again.
func (s *since) add(id yarn.ContainerID, at int64) {
	if s.at == nil {
		s.at = map[yarn.ContainerID]int64{}
	}
	s.at[id] = at
	s.byAge = append(s.byAge, entry{id, at})
}

// forget removes those that have been in it since before an instant, so many of them, and tells whether all have left.
func (s *since) forget(before int64, most int) (removed int, done bool) {
	for ; len(s.byAge) > 0 && s.byAge[0].at < before; removed++ {
		if removed >= most {
			return removed, false
		}
		if old := s.byAge[0]; s.at[old.id] == old.at {
			delete(s.at, old.id)
		}
		s.byAge = s.byAge[1:]
	}
	return removed, true
}

// Monitor begins a round of preemption or goes on with it; see the facade.
func (s *Scheduler) Monitor(now yarn.Now, budget int) (used int, out *core.Preemption) {
	s.Advance(now)
	p := &s.preemption
	if p.round == nil || p.decided == nil && p.tree != s.tree { // queues may have gone: what was found out so far is worth nothing
		*p = preemption{round: s.newRound(), tree: s.tree, before: p.before, noticed: p.noticed, observed: p.observed}
		p.round.Chosen = make([]preempt.Choice, 0, p.before)
		used += len(s.tree.Queues) * s.Books.Partitions() / 2
	}
	if p.decided == nil {
		n, done := p.round.Step(budget - used)
		if used += n; !done {
			return used, nil
		}
		p.before = len(p.round.Chosen)
		p.decided, p.at = s.moved(p.round), s.Now.Mono
	}
	n, done := s.settle(budget - used)
	if used += n; !done {
		return used, nil
	}
	out = p.decided
	p.round, p.decided = nil, nil
	return used, out
}

// moved is a decision with the reservations that a round moves, and nothing else yet.
func (s *Scheduler) moved(r *preempt.Round) *core.Preemption {
	out := &core.Preemption{}
	if !s.cfg.Preemption.ObserveOnly {
		for i := range r.Moved {
			m := &r.Moved[i]
			out.Moved = append(out.Moved, core.Move{Taking: taking(&m.Choice), To: m.To, Node: m.Node})
		}
	}
	return out
}

// settle gives notice to the containers that a round has chosen, and finds those whose notice has run out, so many of them. A container goes when
// its notice has run out and a round chooses it again.
func (s *Scheduler) settle(budget int) (used int, done bool) {
	p := &s.preemption
	all := [2][]preempt.Choice{p.round.Unreserved, p.round.Chosen}
	for ; used < budget; p.next++ {
		list, i := all[0], p.next
		if i >= len(list) {
			list, i = all[1], i-len(list)
		}
		if i >= len(list) {
			return s.forgetNotices(used, budget)
		}
		if c := &list[i]; s.Books.Is(c.Ref, c.ID) {
			s.settleOne(c, p.next < len(all[0]))
		}
		used++
	}
	return used, false
}

// forgetNotices forgets notices that are too old.
//
// compat: by the general wait, also where another one is set for balancing: with the defaults such a container never goes.
func (s *Scheduler) forgetNotices(used, budget int) (int, bool) {
	p := &s.preemption
	before := p.at - 2*s.cfg.Preemption.Wait
	n, done := p.noticed.forget(before, budget-used)
	if used += n; !done {
		return used, false
	}
	n, done = p.observed.forget(before, budget-used)
	return used + n, done
}

func (s *Scheduler) settleOne(c *preempt.Choice, reservation bool) {
	p, set := &s.preemption, &s.cfg.Preemption
	begun, noticed := p.noticed.at[c.ID]
	switch {
	case set.ObserveOnly:
		if _, told := p.observed.at[c.ID]; !told {
			p.decided.Observed = append(p.decided.Observed, taking(c))
		}
		p.observed.add(c.ID, p.at)
	case reservation:
		p.decided.Unreserved = append(p.decided.Unreserved, taking(c))
	case noticed && begun+wait(set, c.Rule) <= p.at:
		delete(p.noticed.at, c.ID)
		if set.Lazy && s.Books.Container(c.Ref).Update.IsZero() { // what is placed for an increase belongs to no master yet, which could hear of its end
			p.decided.Killable = append(p.decided.Killable, taking(c))
		} else {
			p.decided.Due = append(p.decided.Due, taking(c))
		}
	case !noticed:
		p.noticed.add(c.ID, p.at)
		if p.decided.Noticed == nil {
			p.decided.Noticed = make([]core.Taking, 0, len(p.round.Chosen))
		}
		p.decided.Noticed = append(p.decided.Noticed, taking(c))
	}
}

func taking(c *preempt.Choice) core.Taking {
	return core.Taking{Ref: c.Ref, ID: c.ID, Rule: c.Rule.String(), ForQueue: c.For.Queue, ForApp: c.For.App}
}

// wait is how long the notice is. compat: one that is not above zero does not count for balancing.
func wait(set *config.Preemption, rule preempt.Rule) int64 {
	if rule == preempt.ForBalance && set.BalanceWait > 0 {
		return set.BalanceWait
	}
	return set.Wait
}

// Marked appends the containers under notice, by their ids; see the facade.
func (s *Scheduler) Marked(out []yarn.ContainerID) []yarn.ContainerID {
	from := len(out)
	for id := range s.preemption.noticed.at { //tidy:unordered sorted below
		out = append(out, id)
	}
	slices.SortFunc(out[from:], yarn.ContainerID.Compare)
	return out
}

// leafInRound is a leaf as a round sees it.
type leafInRound struct {
	s *Scheduler
	q *Queue
}

// newRound draws the picture of queues that a round works on.
func (s *Scheduler) newRound() *preempt.Round {
	var parts []preempt.Part
	for p := range s.Books.Partitions() {
		if in := s.Books.Partition(part(p)); in.Known {
			parts = append(parts, preempt.Part{Part: part(p), Label: in.Name, Total: in.Total, Root: s.pictureOf(s.tree.Root, nil, part(p))})
		}
	}
	return preempt.New(&s.Core, &s.cfg.Preemption, parts)
}

// pictureOf is a queue and all below it, as they are in a partition.
func (s *Scheduler) pictureOf(q *Queue, up *preempt.Queue, p part) *preempt.Queue {
	sh, has, in := &q.Shares[p], &q.Ledger[p], s.Books.Partition(p)
	out := &preempt.Queue{Path: q.Path, Up: up, Disabled: q.Conf.PreemptionDisabled, Absolute: sh.Absolute, Used: has.Used, Reserved: has.Reserved,
		Guaranteed: sh.EffMin, Max: sh.EffMax}
	if s.cfg.Preemption.Lazy {
		out.Killable = has.Killable
	}
	if none(out.Guaranteed) {
		out.Guaranteed = measure.Scale(in.Total, float64(sh.Absolute))
	}
	if none(out.Max) {
		most := sh.AbsoluteMax
		if !in.Exclusive { // it lends its room to everybody
			most = 1
		}
		out.Max = measure.Scale(in.Total, float64(most))
	}
	if q.Up != nil && q.Up.Conf.ByPriority {
		out.Priority = q.Conf.Priority
	}
	if q.Leaf {
		out.Leaf = leafInRound{s, q}
	}
	for _, c := range q.Children {
		out.Children = append(out.Children, s.pictureOf(c, out, p))
	}
	return out
}

func (l leafInRound) Active() []*core.App {
	apps := leafOf(l.q).active.apps
	out := make([]*core.App, len(apps))
	for i, a := range apps {
		out[i] = &a.App
	}
	return out
}

func (l leafInRound) Ordered() []*core.App {
	l.s.reorderStale(l.q)
	return l.Active()
}

func (l leafInRound) Waiting() (out []*core.App) {
	leafOf(l.q).pending.Each(func(a *core.App) { out = append(out, a) })
	return out
}

func (l leafInRound) UserLimit(name string, p part, all bool) resource {
	u := leafOf(l.q).Enter(l.q, name) // compat: Apache enters a user whom the leaf has forgotten
	var limit resource
	if all {
		limit = *leafOf(l.q).LimitOfAll(l.q, p)
	} else {
		limit = *leafOf(l.q).Limit(l.q, p, respect)
	}
	l.s.Calc.ScaleDown(&limit, float64(u.Weight), &l.s.Min)
	return limit
}

func (l leafInRound) UserUsed(name string, p part) resource {
	if u := leafOf(l.q).Named(name); u != nil {
		return u.Shares[p].Used
	}
	return resource{}
}

func (l leafInRound) Master(of *core.App, p part) resource {
	if a := appOf(of); a.wait.Part == p {
		return a.wait.Size
	}
	return resource{}
}

func (l leafInRound) Before(a, b *core.App) int { return policyOf(l.q)(appOf(a), appOf(b)) }

func (l leafInRound) Fair() bool { return l.q.Conf.Ordering == config.FairOrder }

func (l leafInRound) MasterLimit() resource {
	sh := &l.q.Shares[0]
	return measure.Scale(sh.EffMin, float64(sh.MaxAM))
}

func (l leafInRound) UsedCapacity(p part) float32 { return l.q.Shares[p].UsedCapacity }

func (l leafInRound) MinimumRuntime() int64 { return l.q.Conf.MinimumRuntime }

func (l leafInRound) KeepsOrder() bool { return l.q.Conf.IntraPreemptionDisabled }
