package preempt

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
)

// How the queues of a partition should share it, and what each has to give back for that.

// sharing is how queues share: they differ between selectors.
type sharing struct {
	withReserved bool // what is reserved counts as asked for, and all is taken at once
	balance      bool // queues share what is left when all have what they are guaranteed
}

// extras finds what queues have above their guarantees, and how much of that may be taken.
func (r *Round) extras(q *Queue, total *resource) {
	for _, c := range q.Children {
		r.extras(c, total)
	}
	extra := q.Used.Sub(q.Guaranteed)
	if r.calc.Less(total, &extra, &resource{}) {
		extra = resource{}
	}
	q.untouchable, q.preemptable = resource{}, resource{}
	switch {
	case !q.childless():
		var below resource
		for _, c := range q.Children {
			below.Increase(&c.preemptable)
		}
		if r.calc.Less(total, &below, &extra) {
			q.untouchable = extra.Sub(below)
		}
		q.preemptable = *r.calc.Min(total, &below, &extra)
	case q.Disabled:
		q.untouchable = extra
	default:
		q.preemptable = extra
	}
}

// distribute divides what a parent should have among its children, and scales down what they are to give back to what may be taken in a round.
func (r *Round) distribute(q *Queue, p part, how sharing) {
	total := &q.ideal // compat: shares are measured by what the parent has
	unassigned := *total
	var guaranteed, others []*Queue
	for _, c := range q.Children {
		if r.calc.Positive(total, &c.Guaranteed) {
			guaranteed = append(guaranteed, c)
		} else {
			others = append(others, c)
		}
	}
	r.fill(guaranteed, total, &unassigned, p, how, false)
	if len(others) > 0 && r.calc.Positive(total, &unassigned) {
		r.fill(others, total, &unassigned, p, how, true)
	}
	var needed resource
	for _, c := range q.Children {
		if r.calc.More(total, &c.Used, &c.ideal) {
			needed = needed.Add(c.Used.Sub(c.ideal))
		}
	}
	factor := float32(1)
	if r.calc.More(total, &needed, &r.budget) {
		factor = r.calc.Divide(total, &r.budget, &needed)
	}
	for _, c := range q.Children {
		r.setExcess(c, total, factor)
	}
}

// setExcess finds what is to be taken from a queue, which keeps what it should have, and what it asks for up to its guarantee.
func (r *Round) setExcess(q *Queue, total *resource, factor float32) {
	has, wants := q.Used.Sub(q.Killable), q.Used.Add(q.pending)
	keeps := r.calc.Max(total, r.calc.Min(total, &wants, &q.Guaranteed), &q.ideal)
	q.excess = resource{}
	if r.calc.More(total, &has, keeps) {
		q.excess = measure.Scale(has.Sub(*keeps), float64(factor))
	}
}

// fill gives queues what they have, up to their guarantees and beyond where it must not be taken, and then divides the rest among those who ask
// for more: by their guarantees or evenly, always to those that have the least of theirs.
func (r *Round) fill(queues []*Queue, total, unassigned *resource, p part, how sharing, evenly bool) {
	line := needs{first: func(a, b *Queue) int { return r.need(a, b, total) }}
	for _, q := range queues {
		q.ideal = q.Used
		if r.calc.More(total, &q.Used, &q.Guaranteed) {
			q.ideal = measure.Least(q.Guaranteed, q.Used).Add(q.untouchable)
		}
		*unassigned = unassigned.Sub(q.ideal)
		if wants := q.Used.Add(q.pending); r.calc.Less(total, &q.ideal, &wants) {
			line.add(q)
		}
	}
	// compat: the caller's amount is reduced by what the first queue accepts alone. Apache subtracts once from the caller's object, and then from a
	// copy of it.
	left, caller := *unassigned, unassigned
	for normalized := 0; len(line.list) > 0 && r.calc.Positive(total, &left); {
		if normalized != len(line.list) { // the others have all they ask for
			normalized = len(line.list)
			r.normalize(line.list, evenly)
		}
		offered := left
		for _, q := range r.neediest(&line, p) {
			if !r.calc.AnyPositive(&left) {
				break
			}
			offer := measure.Least(r.portion(offered, q), left)
			taken := r.accept(q, offer, total, how)
			if r.calc.Positive(total, &taken) {
				line.add(q)
			}
			left = left.Sub(taken)
			if caller != nil {
				*caller, caller = left, nil
			}
			left = measure.Most(left, resource{})
			r.cost++
		}
	}
	for len(line.list) > 0 {
		r.noteUnderserved(line.take(), p)
	}
}

// need orders queues by how much of their guarantees they would have, and by priority.
func (r *Round) need(a, b *Queue, total *resource) int {
	x, y := r.fulfilled(a, total), r.fulfilled(b, total)
	if a.Priority == b.Priority {
		return javanum.Compare(x, y)
	}
	if x < 1 && y < 1 || x >= 1 && y >= 1 {
		if a.Priority > b.Priority {
			return -1
		}
		return 1
	}
	return javanum.Compare(x, y)
}

// fulfilled is how much of its guarantee a queue would have.
func (r *Round) fulfilled(q *Queue, total *resource) float64 {
	if r.calc.Positive(total, &q.Guaranteed) {
		return float64(r.calc.Divide(total, &q.ideal, &q.Guaranteed))
	}
	return math.MaxInt32
}

// neediest takes the queues at the head that need equally much.
func (r *Round) neediest(line *needs, p part) []*Queue {
	out := r.head[:0]
	for len(line.list) > 0 {
		q := line.take()
		out = append(out, q)
		r.noteUnderserved(q, p)
		if len(line.list) == 0 {
			break
		}
		if next := line.list[0]; line.first(q, next) < 0 {
			r.noteUnderserved(next, p)
			break
		}
	}
	r.head = out
	return out
}

// normalize gives queues that still ask for something their parts of what is left, type by type: by their guarantees; by their fractions of the
// partition where a guarantee is cut to nothing; or evenly where all are.
func (r *Round) normalize(queues []*Queue, evenly bool) {
	var sum resource
	var fractions float32
	tiny := resource{} // how many have a fraction, and a guarantee that was rounded to 0
	for _, q := range queues {
		sum.Increase(&q.Guaranteed)
		fractions = javanum.Add(fractions, q.Absolute)
		for t := range r.calc.Types {
			if q.Guaranteed[t] == 0 && q.Absolute != 0 {
				tiny[t]++
			}
		}
	}
	even := float64(javanum.Div(1, float32(len(queues))))
	for t := range r.calc.Types {
		byFraction := tiny[t] > 0 && sum[t] != 0
		for _, q := range queues {
			switch {
			case evenly:
				q.norm[t] = even
			case byFraction:
				q.norm[t] = float64(javanum.Div(q.Absolute, fractions))
			case fractions == 0 || sum[t] == 0:
				q.norm[t] = even
			default:
				q.norm[t] = float64(javanum.Ratio(q.Guaranteed[t], sum[t]))
			}
		}
	}
	r.cost += len(queues) / 8
}

// portion is a queue's part of an amount, rounded up.
func (r *Round) portion(amount resource, q *Queue) resource {
	if !r.calc.Dominant {
		return measure.OfMemory(javanum.Long(float64(float64(amount[0])*q.norm[0]) + 0.5))
	}
	for t := range r.calc.Types {
		amount[t] = javanum.Ceil(float64(float64(amount[t]) * q.norm[t]))
	}
	return amount
}

// accept raises what a queue should have by as much of the offer as it asks for and may have. A leaf does not grow beyond its guarantee, or beyond
// what it uses, unless queues are to be balanced.
func (r *Round) accept(q *Queue, offer resource, total *resource, how sharing) resource {
	wants := q.Used.Add(q.pendingUnreserved)
	if how.withReserved {
		wants = q.Used.Add(q.pending)
	}
	wants = wants.Sub(q.ideal)
	taken := measure.Least(measure.Most(q.Max.Sub(q.ideal), resource{}), *r.calc.Min(total, &offer, &wants))
	if !how.balance && q.childless() {
		room := r.calc.Max(total, &q.Used, &q.Guaranteed).Sub(q.ideal)
		taken = *r.calc.Min(total, &taken, r.calc.Max(total, &room, &resource{}))
	}
	taken = measure.Least(measure.Most(taken, resource{}), offer)
	q.ideal = q.ideal.Add(taken)
	return taken
}

// setObtain finds what is taken from a leaf in this round: nothing while it has hardly more than its guarantee, and otherwise so much that
// containers which end by themselves are likely to do the rest.
func (r *Round) setObtain(q *Queue, how sharing) {
	if q.Disabled {
		return
	}
	q.obtain = resource{}
	ignored := measure.Scale(q.Guaranteed, 1+r.set.IgnoredOverCapacity)
	if !r.calc.More(&r.total, &q.Used, &ignored) {
		return
	}
	q.obtain = q.excess
	if !how.withReserved && r.calc.Positive(&r.total, &q.obtain) {
		r.calc.ScaleUp(&q.obtain, r.set.NaturalTermination, &resource{1, 1})
	}
}
