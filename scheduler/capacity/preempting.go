package capacity

import (
	"maps"
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
	round *preempt.Round             // the running one, or nil
	tree  *tree.Tree                 // in whose queues it looks
	marks map[yarn.ContainerID]int64 // since when containers are under notice; wall clock, milliseconds
}

// Monitor begins a round of preemption or goes on with it; see the facade.
func (s *Scheduler) Monitor(now yarn.Now, budget int) (used int, out *core.Preemption) {
	s.Advance(now)
	p := &s.preemption
	if p.round == nil || p.tree != s.tree { // queues may have gone: what was found out so far is worth nothing
		p.round, p.tree = s.newRound(), s.tree
	}
	used, done := p.round.Step(budget)
	if !done {
		return used, nil
	}
	r := p.round
	p.round = nil
	return used, s.settle(r)
}

// settle gives notice to the containers that a round has chosen, and finds those whose notice has run out. A container goes when its notice has run
// out and a round chooses it again.
func (s *Scheduler) settle(r *preempt.Round) *core.Preemption {
	out, set, p := &core.Preemption{}, &s.cfg.Preemption, &s.preemption
	if set.ObserveOnly {
		for _, c := range slices.Concat(r.Unreserved, r.Chosen) {
			if s.still(&c) {
				out.Observed = append(out.Observed, taking(&c))
			}
		}
		return out
	}
	if p.marks == nil {
		p.marks = map[yarn.ContainerID]int64{}
	}
	for _, c := range r.Unreserved {
		if s.still(&c) {
			out.Unreserved = append(out.Unreserved, taking(&c))
		}
	}
	for _, c := range r.Chosen {
		since, marked := p.marks[c.ID]
		switch {
		case !s.still(&c):
		case marked && since+wait(set, c.Rule) <= s.Now.Wall:
			delete(p.marks, c.ID)
			out.Due = append(out.Due, taking(&c))
		case !marked:
			p.marks[c.ID] = s.Now.Wall
			out.Noticed = append(out.Noticed, taking(&c))
		}
	}
	// compat: by the general wait, also where another one is set for balancing: with the defaults such a container never goes.
	maps.DeleteFunc(p.marks, func(_ yarn.ContainerID, since int64) bool { return since+2*set.Wait < s.Now.Wall })
	return out
}

func taking(c *preempt.Choice) core.Taking {
	return core.Taking{Ref: c.Ref, Rule: c.Rule.String(), ForQueue: c.For.Queue, ForApp: c.For.App}
}

// wait is how long the notice is. compat: one that is not above zero does not count for balancing.
func wait(set *config.Preemption, rule preempt.Rule) int64 {
	if rule == preempt.ForBalance && set.BalanceWait > 0 {
		return set.BalanceWait
	}
	return set.Wait
}

// still tells whether a chosen container is still there.
func (s *Scheduler) still(c *preempt.Choice) bool {
	return s.Books.IsOpen(c.Ref) && s.Books.Container(c.Ref).ID == c.ID
}

// Marked appends the containers under notice, by their ids; see the facade.
func (s *Scheduler) Marked(out []yarn.ContainerID) []yarn.ContainerID {
	from := len(out)
	for id := range s.preemption.marks { //tidy:unordered sorted below
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

func (l leafInRound) KeepsOrder() bool { return l.q.Conf.IntraPreemptionDisabled }
