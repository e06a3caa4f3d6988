package twin

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Rounds of preemption. A round begins with nothing but the world; what is kept between rounds are Notices.

// Choice is a container that a round would take, or a reservation.
type Choice struct {
	*Container
	Rule string // of the selector, as schedulers call it
}

// Plan is what a round chooses, in the order in which it does.
type Plan struct {
	Chosen, Unreserved []Choice
	Moved              []Move
}

// Move is a reservation that is to hold another node.
type Move struct {
	*Container
	To *Node
}

// Notices are when containers had notice, or when it was last said that they would have had it, in milliseconds of the clock of rounds.
type Notices struct{ Noticed, Observed map[yarn.ContainerID]int64 }

// Outcome is what comes of a plan.
type Outcome struct {
	Noticed, Due, Unreserved, Observed []Choice
	Moved                              []Move
}

// Settle gives notice, and finds whose notice has run out.
func (n *Notices) Settle(plan Plan, set *config.Preemption, now int64) (out Outcome) {
	if set.ObserveOnly {
		for _, c := range slices.Concat(plan.Unreserved, plan.Chosen) {
			if _, told := n.Observed[c.ID]; !told {
				out.Observed = append(out.Observed, c)
			}
			n.Observed[c.ID] = now
		}
	} else {
		out.Unreserved, out.Moved = plan.Unreserved, plan.Moved
		for _, c := range plan.Chosen {
			wait := set.Wait
			if c.Rule == "balance" && set.BalanceWait > 0 {
				wait = set.BalanceWait
			}
			begun, noticed := n.Noticed[c.ID]
			switch {
			case !noticed:
				n.Noticed[c.ID] = now
				out.Noticed = append(out.Noticed, c)
			case begun+wait <= now:
				delete(n.Noticed, c.ID)
				out.Due = append(out.Due, c)
			}
		}
	}
	for _, m := range []map[yarn.ContainerID]int64{n.Noticed, n.Observed} {
		for id, at := range m {
			if at+2*set.Wait < now {
				delete(m, id)
			}
		}
	}
	return out
}

// round is one round as far as it has come.
type round struct {
	w      *World
	set    *config.Preemption
	now    int64 // on the clock by which containers were created
	labels []string
	leaves []*Queue
	at     map[*Queue]map[string]*stand // by label
	budget resource                     // what may still be taken
	plan   Plan

	underserved map[string][]*Queue // by label
	pressed     []*Node             // for priorities
}

// stand is how a queue stands in a partition.
type stand struct {
	used, reserved, guaranteed, max resource
	killable                        resource // as good as gone
	// What is asked for within the limits of users; the second without what is reserved for it.
	pending, unreserved resource
	absolute            float32
	priority            int32

	// Of the running selector.
	untouchable, preemptable resource // above the guarantee
	ideal                    resource
	excess                   resource // to be taken in the end
	obtain                   resource // in this round
	norm                     []float64

	apps  []*rival // least important first
	users map[string]*party
}

// Preempt is a round; Entitle comes before it. now is on the clock by which containers were created, in milliseconds.
func (w *World) Preempt(now int64) Plan {
	set := &w.Config.Preemption
	r := &round{w: w, set: set, now: now, at: map[*Queue]map[string]*stand{}, budget: times(w.Cluster(), set.PerRound), underserved: map[string][]*Queue{}}
	for _, l := range w.Labels {
		if !l.Gone {
			r.labels = append(r.labels, l.Name)
		}
	}
	r.labels = hashed(r.labels, func(l string) string { return l })
	r.leaves = leavesInOrder(w.Root)
	r.draw(w.Root)
	if set.ByQueuePriority {
		r.forPriority()
	}
	if set.ForReserved {
		r.forReserved()
	}
	r.between("guarantee", set.CountReserved, false)
	if set.Balance {
		r.between("balance", false, true)
	}
	if set.Within {
		r.within()
	}
	return r.plan
}

// hashed are things in the order in which a Java table has their names.
func hashed[T any](list []T, name func(T) string) (out []T) {
	var names []string
	for _, x := range list {
		names = append(names, name(x))
	}
	for _, i := range javanum.HashOrder(names) {
		out = append(out, list[i])
	}
	return out
}

// leavesInOrder are leaves in the order in which Apache takes from them: each level is a table of what the levels below it had.
func leavesInOrder(q *Queue) (out []*Queue) {
	if q.IsLeaf {
		return []*Queue{q}
	}
	for _, c := range q.Children {
		out = append(out, leavesInOrder(c)...)
	}
	return hashed(out, func(q *Queue) string { return q.Path })
}

// draw finds how a queue and those below it stand.
func (r *round) draw(q *Queue) {
	r.at[q] = map[string]*stand{}
	for _, c := range q.Children {
		r.draw(c)
	}
	for _, label := range r.labels {
		sh, total := q.Shares[label], r.w.Partition(label)
		s := &stand{used: r.w.Used(q, label), reserved: r.w.Reserved(q, label), guaranteed: sh.Min, max: sh.Max, absolute: sh.Absolute}
		if r.set.Lazy {
			s.killable = r.w.sum(label, func(c *Container) bool { return c.Killable && c.App.Queue.below(q) })
		}
		if none(s.guaranteed) {
			s.guaranteed = times(total, sh.Absolute)
		}
		if none(s.max) {
			s.max = total
			if r.w.exclusive(label) {
				s.max = times(total, sh.AbsoluteMax)
			}
		}
		if q.Parent != nil && q.Parent.Conf.ByPriority {
			s.priority = q.Conf.Priority
		}
		if q.IsLeaf {
			s.pending, s.unreserved = r.wants(q, label, false), r.wants(q, label, true)
		}
		for _, c := range q.Children {
			s.pending, s.unreserved = s.pending.Add(r.at[c][label].pending), s.unreserved.Add(r.at[c][label].unreserved)
		}
		r.at[q][label] = s
	}
}

// wants is what the active applications of a leaf ask for, as far as the limits of their users let them have it.
func (r *round) wants(q *Queue, label string, withoutReserved bool) (sum resource) {
	room := map[string]resource{}
	for _, a := range r.w.Active(q) {
		if _, ok := room[a.User]; !ok {
			u := q.enter(a.User)
			room[a.User] = atLeastNothing(r.w.UserLimit(q, u.Name, label, false).Sub(r.w.UsedBy(q, u, label)))
		}
		wants := a.PendingOf(label)
		if withoutReserved {
			wants = wants.Sub(r.w.ReservedBy(a, label))
		}
		wants = lesser(room[a.User], atLeastNothing(wants))
		sum, room[a.User] = sum.Add(wants), room[a.User].Sub(wants)
	}
	return sum
}

// enter is the leaf's record of a user, a new one if it has forgotten the user.
func (q *Queue) enter(name string) *User {
	if u := q.User(name); u != nil {
		return u
	}
	u := &User{Name: name, Ratio: map[string]float32{}, Forgotten: map[string]yarn.Resource{}}
	q.Users = append(q.Users, u)
	return u
}

func greater(a, b resource) resource {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

func atLeastNothing(a resource) resource { return greater(a, resource{}) }

// all tells whether each amount that counts is above zero.
func (w *World) all(r resource) bool {
	for i := range w.types() {
		if r[i] <= 0 && (i == yarn.Memory || w.Config.Dominant) {
			return false
		}
	}
	return true
}

func (r *round) has(c *Container) bool {
	return slices.ContainsFunc(r.plan.Chosen, func(o Choice) bool { return o.Container == c })
}

func (r *round) choose(c *Container, rule string) {
	r.plan.Chosen = append(r.plan.Chosen, Choice{c, rule})
}

// safe tells whether a container has not run for as long as its leaf grants it.
func (r *round) safe(c *Container) bool {
	return !c.Reserved && r.now-c.Created < c.App.Queue.Conf.MinimumRuntime
}

// victims are the containers of an application in the order in which they go.
func (r *round) victims(a *App) (out []*Container) {
	for _, c := range r.w.Containers {
		if c.App == a && c.Live && !c.Reserved && !c.Uncounted && !(r.set.Lazy && c.Killable) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *Container) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.RequestID, a.RequestID), b.ID.Compare(a.ID))
	})
	return out
}
