package preempt

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
)

// Preemption within a leaf: for applications of higher priority, or for users who have less than their limits.

// App is an application of a leaf in one partition.
type App struct {
	of             *core.App
	user           *User
	used, am, asks resource
	chosen         resource // of what it has, by earlier selectors
	ideal          resource // what it should have, without its master
	lacks          resource // what it should have and has not
	claims         []claim  // who gets what is taken from it
	excess         resource // what may be taken from it for others
	obtain         resource // and what is
}

// User is a user of a leaf in one partition.
type User struct {
	used, am resource
	limit    resource // without masters
	chosen   resource
	ideal    resource
	capped   bool // what is taken from it for users of the same priority has reached what it has above its limit
}

// withoutMaster is what an amount is without that of masters.
func (a *App) withoutMaster() resource { return a.used.Sub(a.am) }

func (u *User) withoutMasters() resource { return u.used.Sub(u.am) }

// within is the steps of that selector.
func (r *Round) within() []step {
	return []step{
		func() { // the queues that were noted are known only now, and so is what was chosen of each application
			r.chosenOf = map[cluster.AppRef][]int{}
			for i := range r.Chosen {
				of := r.Chosen[i].App
				r.chosenOf[of] = append(r.chosenOf[of], i)
			}
			r.cost += len(r.Chosen)
			var steps []step
			for i := range r.parts {
				p := &r.parts[i]
				for _, q := range p.underserved {
					if q.Leaf != nil && q.Leaf.UsedCapacity(p.Part) >= r.set.WithinThreshold {
						steps = append(steps, func() { r.weigh(q, p.Part) })
					}
				}
			}
			r.then(steps...)
		},
		r.deduct,
		func() {
			var steps []step
			for i := range r.parts {
				for _, q := range r.parts[i].underserved {
					if q.Leaf != nil && !q.Leaf.KeepsOrder() {
						steps = append(steps, func() { r.takeWithin(q, i) })
					}
				}
			}
			r.then(steps...)
		},
	}
}

// userLimitFirst tells whether users who have less than their limits come before priorities.
func (r *Round) userLimitFirst() bool { return !r.set.PriorityFirst }

// weigh finds out what is to be taken from which application of a leaf.
func (r *Round) weigh(q *Queue, p part) {
	active, waiting := q.Leaf.Active(), q.Leaf.Waiting()
	r.cost += 4 * (len(active) + len(waiting))
	left := q.Used.Sub(q.obtain)
	masters := map[string]resource{}
	for _, a := range active {
		am := q.Leaf.Master(a, p)
		masters[a.User] = masters[a.User].Add(am)
		left = left.Sub(am)
	}
	if len(active)+len(waiting) == 1 {
		return
	}
	q.users = map[string]*User{}
	var apps []*App
	for _, list := range [][]*core.App{waiting, active} {
		for _, a := range list {
			apps = append(apps, r.newApp(q, a, p, masters))
		}
	}
	slices.SortStableFunc(apps, func(a, b *App) int { return r.important(q, a, b) })
	r.shareWithin(q, p, apps, left)
	slices.Reverse(apps)
	r.setExcesses(q, apps)
	q.apps = apps
	r.match(q, apps)
}

// newApp is the application as of now.
func (r *Round) newApp(q *Queue, a *core.App, p part, masters map[string]resource) *App {
	out := &App{of: a, used: a.Shares[p].Used, asks: a.Wants.Pending(p)}
	if a.Mastered {
		out.am = q.Leaf.Master(a, p)
	}
	if out.user = q.users[a.User]; out.user == nil {
		u := &User{used: q.Leaf.UserUsed(a.User, p), am: masters[a.User]}
		u.limit = q.Leaf.UserLimit(a.User, p, true).Sub(u.am)
		out.user, q.users[a.User] = u, u
	}
	return out
}

// important orders applications: the most important first. Of users who have equally much the older application comes first, which Apache leaves to
// the hashes of applications where only resources differ that the calculator does not look at.
func (r *Round) important(q *Queue, a, b *App) int {
	if !q.Leaf.Fair() || !r.userLimitFirst() {
		return cmp.Or(cmp.Compare(b.of.Priority, a.of.Priority), a.of.ID.Compare(b.of.ID))
	}
	if a.of.User == b.of.User {
		return q.Leaf.Before(a.of, b.of)
	}
	x, y := a.user.withoutMasters(), b.user.withoutMasters()
	switch {
	case r.calc.Less(&r.total, &x, &y):
		return -1
	case r.calc.Less(&r.total, &y, &x):
		return 1
	}
	return a.of.ID.Compare(b.of.ID)
}

// shareWithin gives each application, the most important first, what it uses and asks for, as far as the limit of its user and what the queue
// has go.
func (r *Round) shareWithin(q *Queue, p part, apps []*App, left resource) {
	for _, a := range apps {
		if !r.calc.Positive(&r.total, &left) || r.set.ConservativeWithin && !r.allPositive(&left) {
			continue
		}
		u := a.user
		r.noteChosen(a, p)
		if !r.calc.Less(&r.total, &u.ideal, &u.limit) {
			continue
		}
		wants, room := a.withoutMaster().Add(a.asks).Sub(a.chosen), u.limit.Sub(u.ideal)
		a.ideal = *r.calc.Min(&r.total, &left, r.calc.Min(&r.total, &wants, &room))
		u.ideal = u.ideal.Add(a.ideal)
		has := a.withoutMaster().Sub(a.chosen)
		if r.calc.More(&r.total, &a.ideal, &has) {
			a.lacks = a.ideal.Sub(has)
		}
		left = measure.SubFloor(left, a.ideal)
	}
}

// noteChosen adds up what earlier selectors have chosen of an application.
//
// compat: by the partition that was asked for, not the node's.
func (r *Round) noteChosen(a *App, p part) {
	label := r.core.Books.Partition(p).Name
	for _, i := range r.chosenOf[a.of.Ref] {
		c := &r.Chosen[i]
		if book := r.alive(c); book != nil && book.Label == label {
			a.chosen.Increase(&book.Resource)
			a.user.chosen.Increase(&book.Resource)
		}
	}
}

// setExcesses finds what may be taken from each application, the least important first.
func (r *Round) setExcesses(q *Queue, apps []*App) {
	limit := measure.Scale(q.Guaranteed, float64(r.set.WithinLimit))
	if r.calc.More(&r.total, &limit, &q.obtain) {
		limit = limit.Sub(q.obtain)
	} else {
		limit = resource{}
	}
	limit = *r.calc.Min(&r.total, &limit, &r.budget)
	for _, a := range apps {
		if !r.calc.Positive(&r.total, &limit) || !r.calc.Positive(&r.total, &a.used) {
			continue
		}
		rest := measure.SubFloor(measure.SubFloor(a.used.Sub(a.ideal), a.chosen), a.am)
		if r.userLimitFirst() {
			rest = measure.SubFloor(rest, r.core.Min)
		}
		a.excess = *r.calc.Min(&r.total, r.calc.Max(&r.total, &rest, &resource{}), &limit)
		limit = measure.SubFloor(limit, a.excess)
	}
}

// match has each application that lacks something, the most important first, take it from those that may give something, the least important
// first.
func (r *Round) match(q *Queue, apps []*App) {
	next := len(apps) - 1
	var more step
	more = func() {
		for ; next >= 0 && r.cost < matchCost; next-- {
			if high := apps[next]; r.calc.Positive(&r.total, &high.lacks) {
				r.serve(q, high, apps)
			}
		}
		if next >= 0 {
			r.then(more)
		}
	}
	r.then(more)
}

// matchCost bounds a step of match.
const matchCost = 2000

// serve takes what an application lacks from others.
func (r *Round) serve(q *Queue, high *App, apps []*App) {
	for _, low := range apps {
		r.cost++
		if !r.calc.Positive(&r.total, &low.excess) || !r.calc.More(&r.total, &low.excess, &low.obtain) || !r.mayTake(high, low) {
			continue
		}
		if high.lacks.IsZero() {
			return
		}
		rest := low.excess.Sub(low.obtain)
		if u := low.user; high.of.User != low.of.User && low.of.Priority == high.of.Priority && u.above(r) {
			var over resource
			if !u.capped {
				over = u.withoutMasters().Sub(u.chosen).Sub(u.limit)
			}
			if r.calc.Less(&r.total, &over, &rest) {
				u.capped, rest = true, over
			}
		}
		if r.calc.Positive(&r.total, &rest) {
			moved := *r.calc.Min(&r.total, &high.lacks, &rest)
			high.lacks, low.obtain = high.lacks.Sub(moved), low.obtain.Add(moved)
			low.claims = append(low.claims, claim{leaf: q, app: high.of, left: moved})
		}
	}
}

// mayTake tells whether one application may take from the other: one of its user only from one of lower priority, and that of another user, if
// users come first, only while that one is above its limit.
func (r *Round) mayTake(high, low *App) bool {
	if high.of.User == low.of.User {
		return low.of.Priority < high.of.Priority
	}
	return !r.userLimitFirst() || low.user.above(r)
}

// above tells whether the user has more than its limit.
func (u *User) above(r *Round) bool {
	has := u.withoutMasters()
	return r.calc.More(&r.total, &has, &u.limit)
}

// takeWithin takes from the applications of a leaf, the least important first.
func (r *Round) takeWithin(q *Queue, in int) {
	var sum resource
	for _, a := range q.apps {
		sum = sum.Add(a.obtain)
	}
	t := &taking{rule: WithinQueue, obtain: make([]*resource, len(r.parts)), conservative: r.set.ConservativeWithin}
	t.obtain[in] = &sum
	used := map[string]*resource{}
	var steps []step
	for _, a := range q.apps {
		if a.obtain.IsZero() {
			continue
		}
		of := used[a.of.User]
		if of == nil {
			has := q.Leaf.UserUsed(a.of.User, r.parts[in].Part)
			of = &has
			used[a.of.User] = of
		}
		steps = append(steps, func() { r.takeFromLess(t, a, of) })
	}
	r.then(steps...)
}

// takeFromLess takes from an application for others of its leaf. If users come first, its user keeps what the limit says. has is what the user has
// in the partition.
func (r *Round) takeFromLess(t *taking, a *App, has *resource) {
	t.claims = a.claims
	for _, ref := range r.victims(a.of) {
		if t.empty() {
			return
		}
		c := r.core.Container(ref)
		if r.chosen.Has(int(ref)) || c.AM {
			continue
		}
		if r.userLimitFirst() && r.keeps(a, c, has) {
			return
		}
		if r.take(t, ref) && r.userLimitFirst() {
			*has = has.Sub(c.Resource)
		}
	}
}

// keeps tells whether the user would come down to its limit without the container.
func (r *Round) keeps(a *App, c *cluster.Container, has *resource) bool {
	q := r.queueOf(a.of, r.core.Books.Node(c.Node).Part)
	if q == nil {
		return false
	}
	u := q.users[a.of.User]
	if u == nil {
		return false
	}
	limit, after := u.limit.Add(u.am), has.Sub(c.Resource)
	return !r.calc.More(&r.total, &after, &limit)
}

// queueOf is the leaf of an application in a partition, or nil.
func (r *Round) queueOf(a *core.App, p part) *Queue {
	i, l := r.index(p), r.byPath[a.Leaf.Path]
	if i < 0 || l == nil {
		return nil
	}
	return l.in[i]
}
