package twin

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/javanum"
)

// What each queue should have, and what is to be taken from it for that.

// shareOut finds that for all queues and partitions. countReserved: what is reserved is asked for, too; balance: queues share what is left when all
// have their guarantees.
func (r *round) shareOut(countReserved, balance bool) {
	for _, label := range r.labels {
		r.extras(r.w.Root, label)
		root := r.at[r.w.Root][label]
		root.ideal = root.guaranteed
		r.divideBelow(r.w.Root, label, countReserved, balance)
		for _, q := range r.leaves {
			s := r.at[q][label]
			s.obtain = resource{}
			if q.Conf.PreemptionDisabled || !r.w.more(r.w.Cluster(), s.used, timesDouble(s.guaranteed, 1+r.set.IgnoredOverCapacity)) {
				continue
			}
			s.obtain = s.excess
			if !countReserved && r.w.more(r.w.Cluster(), s.excess, resource{}) {
				s.obtain = r.w.each(s.excess, func(_ int, n int64) int64 { return r.w.partOf(n, r.set.NaturalTermination) })
			}
		}
	}
}

func timesDouble(a resource, by float64) resource {
	for i := range a {
		a[i] = javanum.Long(float64(float64(a[i]) * by))
	}
	return a
}

// partOf is n·by in whole numbers, rounded as multiplyAndNormalizeUp does.
func (w *World) partOf(n int64, by float64) int64 {
	if !w.Config.Dominant {
		return javanum.Long(math.Floor(float64(float64(n)*by) + 0.5))
	}
	return javanum.Long(math.Ceil(float64(float32(float64(n) * by))))
}

// extras finds what queues have above their guarantees.
func (r *round) extras(q *Queue, label string) {
	s, total := r.at[q][label], r.w.Partition(label)
	extra := s.used.Sub(s.guaranteed)
	if r.w.less(total, extra, resource{}) {
		extra = resource{}
	}
	if len(q.Children) == 0 {
		s.untouchable, s.preemptable = resource{}, extra
		if q.Conf.PreemptionDisabled {
			s.untouchable, s.preemptable = extra, resource{}
		}
		return
	}
	var below resource
	for _, c := range q.Children {
		r.extras(c, label)
		below = below.Add(r.at[c][label].preemptable)
	}
	s.untouchable, s.preemptable = resource{}, r.w.smaller(total, below, extra)
	if r.w.less(total, below, extra) {
		s.untouchable = extra.Sub(below)
	}
}

// divideBelow divides what a parent should have among its children, and goes on with them.
func (r *round) divideBelow(q *Queue, label string, countReserved, balance bool) {
	if len(q.Children) == 0 {
		return
	}
	whole := r.at[q][label].ideal
	d := &division{r: r, label: label, whole: whole, countReserved: countReserved, balance: balance}
	var entitled, others []*Queue
	for _, c := range q.Children {
		if r.w.more(whole, r.at[c][label].guaranteed, resource{}) {
			entitled = append(entitled, c)
		} else {
			others = append(others, c)
		}
	}
	left := d.among(entitled, whole, false)
	if len(others) > 0 && r.w.more(whole, left, resource{}) {
		d.among(others, left, true)
	}
	var need resource
	for _, c := range q.Children {
		if s := r.at[c][label]; r.w.more(whole, s.used, s.ideal) {
			need = need.Add(s.used.Sub(s.ideal))
		}
	}
	by := float32(1)
	if r.w.more(whole, need, r.budget) {
		by = r.w.divide(whole, r.budget, need)
	}
	for _, c := range q.Children {
		s := r.at[c][label]
		keeps := r.w.larger(whole, r.w.smaller(whole, s.used.Add(s.pending), s.guaranteed), s.ideal)
		has := s.used.Sub(s.killable)
		if s.excess = (resource{}); r.w.more(whole, has, keeps) {
			s.excess = times(has.Sub(keeps), by)
		}
		r.divideBelow(c, label, countReserved, balance)
	}
}

// division is how the children of one parent share what it should have, which also measures their shares.
type division struct {
	r                      *round
	label                  string
	whole                  resource
	countReserved, balance bool
}

func (d *division) of(q *Queue) *stand { return d.r.at[q][d.label] }

func (d *division) something(a resource) bool { return d.r.w.more(d.whole, a, resource{}) }

// among divides an amount, and returns what Apache goes on with: it is short of what queues have at first, and of what the first of them is given
// then, but not of what others are given.
func (d *division) among(queues []*Queue, amount resource, evenly bool) resource {
	var h heap
	for _, q := range queues {
		s := d.of(q)
		s.ideal = s.used
		if d.r.w.more(d.whole, s.used, s.guaranteed) {
			s.ideal = lesser(s.guaranteed, s.used).Add(s.untouchable)
		}
		amount = amount.Sub(s.ideal)
		if d.r.w.less(d.whole, s.ideal, s.used.Add(s.pending)) {
			h.add(q, d.needier)
		}
	}
	returned, first := amount, true
	for len(h) > 0 && d.something(amount) {
		d.normalize(h, evenly)
		batch := []*Queue{h.take(d.needier)}
		for len(h) > 0 && d.needier(batch[0], h[0]) >= 0 {
			batch = append(batch, h.take(d.needier))
		}
		for _, q := range batch {
			d.underserved(q)
		}
		if len(h) > 0 {
			d.underserved(h[0])
		}
		whole := amount
		for _, q := range batch {
			if !d.r.w.anything(amount) {
				break
			}
			offer := d.r.w.each(whole, func(i int, n int64) int64 {
				if !d.r.w.Config.Dominant {
					return d.r.w.partOf(n, d.of(q).norm[i])
				}
				return javanum.Ceil(float64(float64(n) * d.of(q).norm[i])) // not in single precision
			})
			done := d.accept(q, lesser(offer, amount))
			if d.something(done) {
				h.add(q, d.needier)
			}
			amount = amount.Sub(done)
			if first {
				returned, first = amount, false
			}
			amount = atLeastNothing(amount)
		}
	}
	for len(h) > 0 {
		d.underserved(h.take(d.needier))
	}
	return returned
}

func (d *division) underserved(q *Queue) {
	if list := d.r.underserved[d.label]; !slices.Contains(list, q) {
		d.r.underserved[d.label] = append(list, q)
	}
}

// needier orders queues: below zero if the first one is served first.
func (d *division) needier(a, b *Queue) int {
	x, y := d.satisfied(a), d.satisfied(b)
	if p, q := d.of(a).priority, d.of(b).priority; p != q && (x < 1 && y < 1 || x >= 1 && y >= 1) {
		return int(q) - int(p)
	}
	return javanum.Compare(x, y)
}

// satisfied is how much of its guarantee a queue would have.
func (d *division) satisfied(q *Queue) float64 {
	s := d.of(q)
	if !d.something(s.guaranteed) {
		return math.MaxInt32
	}
	return float64(d.r.w.divide(d.whole, s.ideal, s.guaranteed))
}

// normalize finds which part of what is left each queue is offered, by type.
func (d *division) normalize(queues []*Queue, evenly bool) {
	var sum resource
	var absolute float32
	for _, q := range queues {
		sum, absolute = sum.Add(d.of(q).guaranteed), javanum.Add(absolute, d.of(q).absolute)
	}
	for _, q := range queues {
		s := d.of(q)
		s.norm = nil
		for i := range d.r.w.types() {
			cut := slices.ContainsFunc(queues, func(o *Queue) bool { return d.of(o).guaranteed[i] == 0 && d.of(o).absolute != 0 })
			n := javanum.Div(1, float32(len(queues)))
			switch {
			case evenly:
			case cut && sum[i] != 0:
				n = javanum.Div(s.absolute, absolute)
			case sum[i] != 0 && absolute != 0:
				n = javanum.Div(float32(s.guaranteed[i]), float32(sum[i]))
			}
			s.norm = append(s.norm, float64(n))
		}
	}
}

// accept gives a queue as much of an offer as it wants and may have.
func (d *division) accept(q *Queue, offer resource) resource {
	s, w := d.of(q), d.r.w
	pending := s.unreserved
	if d.countReserved {
		pending = s.pending
	}
	a := lesser(atLeastNothing(s.max.Sub(s.ideal)), w.smaller(d.whole, offer, s.used.Add(pending).Sub(s.ideal)))
	if len(q.Children) == 0 && !d.balance {
		a = w.smaller(d.whole, a, w.larger(d.whole, w.larger(d.whole, s.used, s.guaranteed).Sub(s.ideal), resource{}))
	}
	a = lesser(atLeastNothing(a), offer)
	s.ideal = s.ideal.Add(a)
	return a
}

// heap is queues in a java.util.PriorityQueue, which gives equal ones an order of its own.
type heap []*Queue

func (h *heap) add(q *Queue, order func(a, b *Queue) int) {
	*h = append(*h, q)
	l := *h
	for i := len(l) - 1; i > 0 && order(q, l[(i-1)/2]) < 0; i = (i - 1) / 2 {
		l[i], l[(i-1)/2] = l[(i-1)/2], l[i]
	}
}

func (h *heap) take(order func(a, b *Queue) int) *Queue {
	l := *h
	q, last := l[0], len(l)-1
	l[0] = l[last]
	l = l[:last]
	for i := 0; 2*i+1 < last; {
		down := 2*i + 1
		if down+1 < last && order(l[down], l[down+1]) > 0 {
			down++
		}
		if order(l[i], l[down]) <= 0 {
			break
		}
		l[i], l[down] = l[down], l[i]
		i = down
	}
	*h = l
	return q
}
