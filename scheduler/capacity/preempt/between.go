package preempt

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Preemption between queues: from leaves that have more than they should, the youngest and least important containers first.

// between is the steps of that selector.
func (r *Round) between(how sharing, rule Rule) []step {
	steps := r.shareOut(how)
	steps = append(steps, r.deduct, r.findClaims)
	for _, l := range r.leaves {
		if !l.in[0].Disabled {
			steps = append(steps, func() { r.takeFromLeaf(l, rule) })
		}
	}
	return steps
}

// shareOut is the steps that find out what is to be taken from each leaf.
func (r *Round) shareOut(how sharing) []step {
	var steps []step
	for i := range r.parts {
		p := &r.parts[i]
		steps = append(steps, func() {
			r.cost += len(r.leaves) / 8
			r.extras(p.Root, &p.Total)
			p.Root.ideal = p.Root.Guaranteed
			r.shareBelow(p.Root, p.Part, how)
		})
	}
	return append(steps, func() {
		for _, l := range r.leaves {
			for _, q := range l.in {
				r.setObtain(q, how)
			}
		}
		r.cost += len(r.leaves) * len(r.parts) / 8
	})
}

// shareBelow distributes what a queue should have, level by level.
func (r *Round) shareBelow(q *Queue, p part, how sharing) {
	if q.childless() {
		return
	}
	r.distribute(q, p, how)
	steps := make([]step, 0, len(q.Children))
	for _, c := range q.Children {
		if !c.childless() {
			steps = append(steps, func() { r.shareBelow(c, p, how) })
		}
	}
	r.then(steps...)
}

// deduct takes off what earlier selectors have chosen.
func (r *Round) deduct() {
	for i := range r.Chosen {
		c, q := r.find(&r.Chosen[i])
		if q == nil {
			continue
		}
		total := &r.parts[r.index(r.core.Books.Node(c.Node).Part)].Total
		if r.calc.More(total, &q.obtain, &c.Resource) {
			q.obtain = q.obtain.Sub(c.Resource)
		}
		q.obtain = *r.calc.Max(total, &q.obtain, &resource{})
		for _, a := range q.apps {
			if r.calc.More(total, &a.obtain, &c.Resource) {
				a.obtain = a.obtain.Sub(c.Resource)
			}
		}
	}
	r.cost += len(r.Chosen)
}

// find is a chosen container and its leaf in the partition of its node, or nil if it has gone since.
func (r *Round) find(c *Choice) (*cluster.Container, *Queue) {
	book := r.alive(c)
	if book == nil {
		return nil, nil
	}
	return book, r.queueOf(r.core.App(book.App), r.core.Books.Node(book.Node).Part)
}

// alive is the container, unless it has gone since it was chosen. It may have ended, and hold its room still.
func (r *Round) alive(c *Choice) *cluster.Container {
	if !r.core.Books.Is(c.Ref, c.ID) {
		return nil
	}
	return r.core.Books.Container(c.Ref)
}

// index is where a partition stands in r.parts, or -1.
func (r *Round) index(p part) int {
	return slices.IndexFunc(r.parts, func(x Part) bool { return x.Part == p })
}

// taking is what is being taken from a leaf.
type taking struct {
	leaf         *leaf
	rule         Rule
	obtain       []*resource // by the index of r.parts; nil: nothing, or nothing more
	apps         []*core.App // those that have not been looked at; the last one is next
	claims       []claim     // within a leaf: who gets what is taken
	masters      []Choice
	conservative bool // only while something of every type is to be taken
}

// empty tells whether nothing more is to be taken.
func (t *taking) empty() bool {
	return !slices.ContainsFunc(t.obtain, func(x *resource) bool { return x != nil })
}

// takeFromLeaf begins to take from a leaf.
func (r *Round) takeFromLeaf(l *leaf, rule Rule) {
	t := &taking{leaf: l, rule: rule, apps: l.Ordered(), obtain: make([]*resource, len(l.in)), conservative: r.set.ConservativeBetween}
	for i, q := range l.in {
		if r.calc.Positive(&r.total, &q.obtain) {
			most := q.obtain
			t.obtain[i] = &most
		}
	}
	if t.empty() {
		return
	}
	r.cost += len(t.apps) / 8
	r.then(append(r.takeShared(t), func() { r.takeFromApps(t) })...)
}

// takeShared is the steps that take containers that asked for no partition and are in one that lends its room, the youngest first, masters among
// them.
//
// compat: killable ones too, which have notice anew.
func (r *Round) takeShared(t *taking) (steps []step) {
	lent := make([][]Choice, len(t.obtain)) // by the index of r.parts
	lends := func(i int) bool { return i >= 0 && t.obtain[i] != nil && r.parts[i].Part != 0 }
	if !slices.ContainsFunc(r.parts, func(p Part) bool { return lends(r.index(p.Part)) }) {
		return nil
	}
	for _, a := range t.apps {
		steps = append(steps, func() {
			for _, ref := range r.liveOf(a) {
				c := r.core.Container(ref)
				if i := r.index(r.core.Books.Node(c.Node).Part); c.Label == "" && lends(i) {
					lent[i] = append(lent[i], r.choice(ref, t.rule, Gainer{}))
				}
			}
		})
	}
	for i := range lent {
		steps = append(steps, func() {
			slices.SortFunc(lent[i], func(a, b Choice) int { return b.ID.Compare(a.ID) })
			for k := range lent[i] {
				if c := &lent[i][k]; r.alive(c) != nil {
					r.take(t, c.Ref)
				}
			}
			r.cost += len(lent[i])
		})
	}
	return steps
}

// takeFromApps takes from the application that is served last, and goes on with the next one.
func (r *Round) takeFromApps(t *taking) {
	if len(t.apps) == 0 || t.empty() {
		r.takeMasters(t)
		return
	}
	a := t.apps[len(t.apps)-1]
	t.apps = t.apps[:len(t.apps)-1]
	r.takeFromApp(t, a)
	r.then(func() { r.takeFromApps(t) })
}

// takeFromApp takes from an application: its reservations, and then its containers. Masters are left for later.
//
// compat: a reservation goes even if it is not among what is to be taken.
func (r *Round) takeFromApp(t *taking, a *core.App) {
	for _, ref := range r.reservations(a) {
		if r.chosen.Has(int(ref)) {
			continue
		}
		if t.empty() {
			return
		}
		r.take(t, ref)
		r.Unreserved = append(r.Unreserved, r.choice(ref, t.rule, Gainer{}))
	}
	for _, ref := range r.victims(a) {
		if t.empty() {
			return
		}
		c := r.core.Container(ref)
		switch {
		case r.chosen.Has(int(ref)):
		case c.AM:
			t.masters = append(t.masters, r.choice(ref, t.rule, Gainer{}))
		default:
			r.take(t, ref)
		}
	}
}

// reservations are those of an application. compat: in the order of Apache's hash tables.
func (r *Round) reservations(a *core.App) (out []cluster.ContainerRef) {
	if a.Held == 0 {
		return nil
	}
	var keys []*demand.Want
	for _, w := range a.Wants.All() {
		if len(w.Reservations) > 0 {
			keys = append(keys, w)
		}
	}
	for _, w := range demand.Hashed(keys) {
		hashes := make([]uint32, len(w.Reservations))
		for i, ref := range w.Reservations {
			h := r.core.Books.Node(r.nodeOf(ref)).Hash
			hashes[i] = h ^ h>>16 // as it was before it was spread
		}
		for _, i := range javanum.OrderOfHashes(hashes) {
			out = append(out, w.Reservations[i])
		}
	}
	return out
}

// takeMasters takes masters, as long as more of them are left than the leaf may have when nothing else is left to take.
func (r *Round) takeMasters(t *taking) {
	if len(t.masters) == 0 {
		return
	}
	t.masters = slices.DeleteFunc(t.masters, func(c Choice) bool { return r.alive(&c) == nil })
	limit, have := t.leaf.MasterLimit(), resource{}
	for i := range t.masters {
		have.Increase(&r.core.Container(t.masters[i].Ref).Resource)
	}
	for i := range t.masters {
		if t.empty() || !r.calc.More(&r.total, &have, &limit) {
			return
		}
		if ref := t.masters[i].Ref; r.take(t, ref) {
			have = have.Sub(r.core.Container(ref).Resource)
		}
	}
	r.cost += len(t.masters)
}

// liveOf are the containers of an application that count as used.
func (r *Round) liveOf(a *core.App) []cluster.ContainerRef {
	all := r.core.Books.OfOwner(&a.Live, nil)
	r.cost += len(all)
	return slices.DeleteFunc(all, func(ref cluster.ContainerRef) bool {
		c := r.core.Container(ref)
		return !c.Live || c.Reserved || c.Execution != yarn.Guaranteed
	})
}

// victims are the containers of an application in the order in which they go: those of the least important requests first, the youngest of them
// first. Killable ones are as good as gone.
func (r *Round) victims(a *core.App) []cluster.ContainerRef {
	list := r.liveOf(a)
	if r.set.Lazy {
		list = slices.DeleteFunc(list, func(ref cluster.ContainerRef) bool { return r.core.Container(ref).Killable })
	}
	slices.SortFunc(list, func(x, y cluster.ContainerRef) int { return takenFirst(r.core.Container(x), r.core.Container(y)) })
	return list
}

// choice is a container as it is chosen.
func (r *Round) choice(ref cluster.ContainerRef, rule Rule, to Gainer) Choice {
	c := r.core.Container(ref)
	return Choice{ref, c.ID, c.App, rule, to}
}

// take chooses a container if that brings what is to be taken nearer, and the round may still take so much.
func (r *Round) take(t *taking, ref cluster.ContainerRef) bool {
	c := r.core.Container(ref)
	if r.chosen.Has(int(ref)) {
		return false
	}
	i := r.index(r.core.Books.Node(c.Node).Part)
	if i < 0 || t.obtain[i] == nil {
		return false
	}
	if !c.Reserved && r.young(c) {
		return false
	}
	left := t.obtain[i]
	for k := range r.calc.Types {
		if left[k] == 0 {
			left[k] = -1 // compat: nothing of it is to be taken, and nothing of it can be left
		}
	}
	if !r.calc.AnyPositive(left) || !r.calc.FitsIn(&c.Resource, &r.budget) || !r.helps(left, &c.Resource, t.conservative) {
		return false
	}
	*left = left.Sub(c.Resource)
	r.budget = r.budget.Sub(c.Resource)
	if !r.calc.Positive(&r.total, left) {
		t.obtain[i] = nil
	}
	claims := &t.claims
	if t.rule != WithinQueue {
		claims = &r.claims[i]
	}
	r.choose(ref, t.rule, r.gainer(claims, i, &c.Resource))
	return true
}

// choose notes that a container should go.
func (r *Round) choose(ref cluster.ContainerRef, rule Rule, to Gainer) {
	c := r.choice(ref, rule, to)
	r.chosen.Put(int(ref), true)
	r.Chosen = append(r.Chosen, c)
}
