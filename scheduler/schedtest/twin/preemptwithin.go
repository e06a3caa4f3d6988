package twin

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
)

// Containers are taken from applications of a leaf for others of it.

// rival is an application of a leaf in a partition.
type rival struct {
	*App
	used, master, asks, chosen resource
	ideal, lacks               resource
	excess, given              resource
	party                      *party
}

func (a *rival) work() resource { return a.used.Sub(a.master) }

// party is a user of a leaf in a partition. Its limit is without masters.
type party struct {
	used, masters, chosen, limit, ideal resource
	capped                              bool
}

func (u *party) work() resource { return u.used.Sub(u.masters) }

func (r *round) more(a, b resource) bool { return r.w.more(r.w.Cluster(), a, b) }

func (r *round) something(a resource) bool { return r.more(a, resource{}) }

func (r *round) least(a resource, more ...resource) resource {
	for _, b := range more {
		a = r.w.smaller(r.w.Cluster(), a, b)
	}
	return a
}

func (r *round) within() {
	for _, label := range r.labels {
		for _, q := range r.underserved[label] {
			if used, _ := r.w.UsedCapacity(q, label); q.IsLeaf && used >= r.set.WithinThreshold {
				r.weigh(q, label)
			}
		}
	}
	r.deduct()
	for _, label := range r.labels {
		for _, q := range r.underserved[label] {
			if q.IsLeaf && !q.Conf.IntraPreemptionDisabled {
				r.takeWithin(q, label)
			}
		}
	}
}

// weigh finds what is to be taken from each application.
func (r *round) weigh(q *Queue, label string) {
	s := r.at[q][label]
	left := s.used.Sub(s.obtain)
	active, waiting := r.w.Active(q), r.w.PendingApps(q)
	for _, a := range active {
		if a.AMLabel == label {
			left = left.Sub(a.AM)
		}
	}
	if len(active)+len(waiting) == 1 {
		return
	}
	s.users = map[string]*party{}
	for _, a := range slices.Concat(waiting, active) {
		s.apps = append(s.apps, r.rival(q, a, s, label))
	}
	slices.SortStableFunc(s.apps, func(a, b *rival) int { return r.important(q, a, b) })
	r.idealWithin(s, label, left)
	slices.Reverse(s.apps)
	r.excesses(s)
	for i := len(s.apps) - 1; i >= 0; i-- {
		if high := s.apps[i]; r.something(high.lacks) {
			for _, low := range s.apps {
				r.give(high, low)
			}
		}
	}
}

// rival is the application as it is now.
func (r *round) rival(q *Queue, a *App, s *stand, label string) *rival {
	out := &rival{App: a, asks: a.PendingOf(label)}
	out.used = r.w.sum(label, func(c *Container) bool { return c.App == a && !c.Reserved })
	if a.Mastered && a.AMLabel == label {
		out.master = a.AM
	}
	if s.users[a.User] == nil {
		u := &party{masters: r.w.MasterUse(q, a.User, label)}
		if known := q.User(a.User); known != nil {
			u.used = r.w.UsedBy(q, known, label)
		}
		u.limit = r.w.LimitOfAll(q, a.User, label).Sub(u.masters)
		s.users[a.User] = u
	}
	out.party = s.users[a.User]
	return out
}

// important orders applications, the most important first.
func (r *round) important(q *Queue, a, b *rival) int {
	if q.Conf.Ordering != config.FairOrder || r.set.PriorityFirst {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), age(a.App, b.App))
	}
	if a.User == b.User {
		return q.fair(a.App, b.App)
	}
	return cmp.Or(r.w.compare(r.w.Cluster(), a.party.work(), b.party.work()), age(a.App, b.App))
}

// idealWithin gives applications what they have and ask for, as far as the leaf and the limits of users go.
func (r *round) idealWithin(s *stand, label string, left resource) {
	for _, a := range s.apps {
		if !r.something(left) || r.set.ConservativeWithin && !r.w.all(left) {
			continue
		}
		u := a.party
		for _, c := range r.plan.Chosen { // what was chosen of those that get nothing is not looked for
			if c.App == a.App && c.Label == label {
				a.chosen, u.chosen = a.chosen.Add(c.Resource), u.chosen.Add(c.Resource)
			}
		}
		if !r.more(u.limit, u.ideal) {
			continue
		}
		has := a.work().Sub(a.chosen)
		a.ideal = r.least(left, r.least(has.Add(a.asks), u.limit.Sub(u.ideal)))
		u.ideal = u.ideal.Add(a.ideal)
		if r.more(a.ideal, has) {
			a.lacks = a.ideal.Sub(has)
		}
		left = minus(left, a.ideal)
	}
}

// excesses finds how much applications could give, the least important first.
func (r *round) excesses(s *stand) {
	limit := times(s.guaranteed, r.set.WithinLimit)
	if r.more(limit, s.obtain) {
		limit = limit.Sub(s.obtain)
	} else {
		limit = resource{}
	}
	limit = r.least(limit, r.budget)
	for _, a := range s.apps {
		rest := minus(minus(a.used.Sub(a.ideal), a.chosen), a.master)
		if !r.set.PriorityFirst {
			rest = minus(rest, r.w.least())
		}
		if r.something(rest) && r.something(limit) && r.something(a.used) {
			a.excess = r.least(rest, limit)
			limit = minus(limit, a.excess)
		}
	}
}

// give has one application give to another what that one lacks.
func (r *round) give(high, low *rival) {
	u := low.party
	above := r.more(u.work(), u.limit)
	switch {
	case !r.something(low.excess) || !r.more(low.excess, low.given) || none(high.lacks):
		return
	case high.User == low.User && low.Priority >= high.Priority:
		return
	case high.User != low.User && !r.set.PriorityFirst && !above:
		return
	}
	rest := low.excess.Sub(low.given)
	if high.User != low.User && high.Priority == low.Priority && above {
		var over resource
		if !u.capped {
			over = u.work().Sub(u.chosen).Sub(u.limit)
		}
		if r.more(rest, over) {
			u.capped, rest = true, over
		}
	}
	if r.something(rest) {
		x := r.least(high.lacks, rest)
		high.lacks, low.given = high.lacks.Sub(x), low.given.Add(x)
	}
}

// takeWithin takes what applications give, from the least important first.
func (r *round) takeWithin(q *Queue, label string) {
	s := r.at[q][label]
	var sum resource
	for _, a := range s.apps {
		sum = sum.Add(a.given)
	}
	t := &taking{"within-queue", map[string]resource{label: sum}, r.set.ConservativeWithin}
	has := map[string]resource{}
	for name, u := range s.users {
		has[name] = u.used
	}
	for _, a := range s.apps {
		if none(a.given) {
			continue
		}
		for _, c := range r.victims(a.App) {
			if len(t.obtain) == 0 || r.has(c) || c.AM {
				continue
			}
			in := r.at[q][c.Node.Label]
			if u := in.users[a.User]; u != nil && !r.set.PriorityFirst && !r.more(has[a.User].Sub(c.Resource), u.limit.Add(u.masters)) {
				break
			}
			if r.take(t, c) {
				has[a.User] = has[a.User].Sub(c.Resource)
			}
		}
	}
}
