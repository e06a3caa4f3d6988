package twin

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/javanum"
)

// Containers are taken from leaves that have more than they should.

// taking is what is to be taken from a leaf, by label.
type taking struct {
	rule         string
	obtain       map[string]resource
	conservative bool // only while something of every type is to be taken
}

func (r *round) between(rule string, countReserved, balance bool) {
	r.shareOut(countReserved, balance)
	r.deduct()
	for _, q := range r.leaves {
		if q.Conf.PreemptionDisabled {
			continue
		}
		t := &taking{rule, map[string]resource{}, r.set.ConservativeBetween}
		for _, label := range r.labels {
			if amount := r.at[q][label].obtain; r.w.more(r.w.Cluster(), amount, resource{}) {
				t.obtain[label] = amount
			}
		}
		r.takeLent(t, q)
		r.w.ReorderStale(q)
		apps := r.w.Active(q)
		slices.Reverse(apps)
		var masters []*Container
		for _, a := range apps {
			masters = append(masters, r.takeFrom(t, a)...)
		}
		r.takeMasters(t, q, masters)
	}
}

// deduct takes off what selectors have chosen before: from what a leaf is to give, and from what each of its applications is, whosever it was.
func (r *round) deduct() {
	for _, c := range r.plan.Chosen {
		label := c.Node.Label
		s, total := r.at[c.App.Queue][label], r.w.Partition(label)
		if s == nil {
			continue
		}
		if r.w.more(total, s.obtain, c.Resource) {
			s.obtain = s.obtain.Sub(c.Resource)
		}
		s.obtain = r.w.larger(total, s.obtain, resource{})
		for _, a := range s.apps {
			if r.w.more(total, a.given, c.Resource) {
				a.given = a.given.Sub(c.Resource)
			}
		}
	}
}

// takeLent takes what asked for no partition and has room that one lends, the youngest first.
func (r *round) takeLent(t *taking, q *Queue) {
	for _, label := range r.labels {
		var lent []*Container
		for _, c := range r.w.Containers {
			if label != "" && c.App.Queue == q && c.Live && !c.Reserved && !c.Uncounted && c.Label == "" && c.Node.Label == label {
				lent = append(lent, c)
			}
		}
		slices.SortFunc(lent, func(a, b *Container) int { return b.ID.Compare(a.ID) })
		for _, c := range lent {
			r.take(t, c)
		}
	}
}

// takeFrom takes from an application, and returns its masters, which it has left alone.
func (r *round) takeFrom(t *taking, a *App) (masters []*Container) {
	for _, c := range r.reservationsOf(a) {
		if !r.has(c) && len(t.obtain) > 0 {
			r.take(t, c)
			r.plan.Unreserved = append(r.plan.Unreserved, Choice{c, t.rule})
		}
	}
	for _, c := range r.victims(a) {
		switch {
		case len(t.obtain) == 0 || r.has(c):
		case c.AM:
			masters = append(masters, c)
		default:
			r.take(t, c)
		}
	}
	return masters
}

// reservationsOf are the reservations of an application in the order of Java's tables: of keys, and of nodes for each.
func (r *round) reservationsOf(a *App) (out []*Container) {
	var keys []*Key
	var hashes []uint32
	for _, k := range a.Keys {
		if len(k.Reservations) > 0 {
			keys = append(keys, k)
			const priorities uint32 = 517861 * 9511 & math.MaxUint32
			hashes = append(hashes, ((priorities+uint32(k.Priority))*31+uint32(uint64(k.RequestID)^uint64(k.RequestID)>>32))*31)
		}
	}
	for _, i := range javanum.OrderOfHashes(hashes) {
		var nodes []uint32
		for _, c := range keys[i].Reservations {
			id := r.nodeOf(c).ID
			nodes = append(nodes, (8501*uint32(493217)+javanum.StringHash(id.Host))*493217+uint32(id.Port))
		}
		for _, n := range javanum.OrderOfHashes(nodes) {
			out = append(out, keys[i].Reservations[n])
		}
	}
	return out
}

// takeMasters takes masters while there are more than the leaf may have.
func (r *round) takeMasters(t *taking, q *Queue, masters []*Container) {
	var have resource
	for _, c := range masters {
		have = have.Add(c.Resource)
	}
	limit := times(q.Shares[""].Min, q.Conf.Amount("").MaxAM)
	for _, c := range masters {
		if len(t.obtain) == 0 || !r.w.more(r.w.Cluster(), have, limit) {
			return
		}
		if r.take(t, c) {
			have = have.Sub(c.Resource)
		}
	}
}

// take takes one container if it brings what is to be taken nearer.
func (r *round) take(t *taking, c *Container) bool {
	label, cluster := c.Node.Label, r.w.Cluster()
	left, ok := t.obtain[label]
	if !ok || r.has(c) || r.safe(c) {
		return false
	}
	for i := range r.w.types() {
		if left[i] == 0 {
			left[i] = -1
		}
	}
	t.obtain[label] = left
	if !r.w.anything(left) || !r.w.fits(c.Resource, r.budget) {
		return false
	}
	if t.conservative {
		if !r.w.all(left) {
			return false
		}
	} else if !r.w.less(cluster, atLeastNothing(left.Sub(c.Resource)), atLeastNothing(left)) {
		return false
	}
	left, r.budget = left.Sub(c.Resource), r.budget.Sub(c.Resource)
	t.obtain[label] = left
	if !r.w.more(cluster, left, resource{}) {
		delete(t.obtain, label)
	}
	r.choose(c, t.rule)
	return true
}
