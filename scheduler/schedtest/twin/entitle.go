package twin

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Reload is what reading a configuration leaves in the memory of queues. It is
// due before the first Entitle, and once for every refresh.
func (w *World) Reload() {
	for _, q := range w.Queues() {
		for _, l := range w.Labels {
			m := q.remember(l.Name)
			above := float32(1)
			if q.Parent != nil {
				above = q.Parent.Memory[l.Name].Absolute
			}
			m.Absolute = 0
			if c := max(q.Conf.Amount(l.Name).Capacity, m.Normalized); c > 0 {
				m.Absolute = javanum.Mul(c, above)
			}
		}
	}
}

func (q *Queue) remember(label string) *Memory {
	if q.Memory[label] == nil {
		q.Memory[label] = &Memory{}
	}
	return q.Memory[label]
}

// Entitle works out what every queue is entitled to, from the configuration, the
// nodes and the memory of queues, which it brings up to date.
func (w *World) Entitle() {
	for _, q := range w.Queues() {
		q.Shares = map[string]*Share{}
		for _, l := range w.Labels {
			q.Shares[l.Name] = &Share{}
			q.remember(l.Name)
		}
		for _, label := range q.Conf.Configured {
			a := q.Conf.Amount(label)
			s := q.Shares[label]
			s.Capacity, s.MaxCapacity, s.confMin, s.confMax = a.Capacity, a.MaxCapacity, a.Min, a.Max
			if p := q.Parent; p != nil && none(a.Max) && !none(a.Min) {
				s.confMax = p.Shares[label].confMax
			}
		}
	}
	if w.Config.Legacy {
		w.entitleLegacy(w.Root)
		return
	}
	for _, label := range w.Root.Conf.Configured {
		s := w.Root.Shares[label]
		s.Min, s.Max, s.Absolute, s.AbsoluteMax = w.Partition(label), w.Partition(label), 1, 1
	}
	w.entitleVectors(w.Root)
}

// entitleLegacy is the way of percentages, weights and amounts, where one set
// of children is written in one way.
func (w *World) entitleLegacy(q *Queue) {
	for _, label := range q.Conf.Configured {
		s, m := q.Shares[label], q.Memory[label]
		if q.Parent == nil && q.Conf.Amount(label).Weight > 0 {
			m.Normalized = 1
		}
		above := &Share{Absolute: 1, AbsoluteMax: 1}
		if q.Parent != nil {
			above = q.Parent.Shares[label]
		}
		if c := max(s.Capacity, m.Normalized); c > 0 {
			m.Absolute = javanum.Mul(c, above.Absolute)
		}
		s.Absolute = m.Absolute
		if s.MaxCapacity > 0 {
			s.AbsoluteMax = javanum.Mul(s.MaxCapacity, above.AbsoluteMax)
		}
	}
	w.normalize(q)
	for _, label := range q.Conf.Configured {
		w.effective(q, label)
	}
	for _, c := range q.Children {
		w.entitleLegacy(c)
	}
}

// normalize turns the weights of children into fractions.
func (w *World) normalize(q *Queue) {
	weighted := len(q.Children) > 0 && slices.ContainsFunc(q.Children, func(c *Queue) bool {
		return slices.ContainsFunc(q.Conf.Configured, func(label string) bool { return c.weight(label) >= 0 })
	})
	for _, label := range q.Conf.Configured {
		sum := float32(0)
		for _, c := range q.Children {
			sum = javanum.Add(sum, max(0, c.weight(label)))
		}
		if !weighted || sum <= 1e-6 {
			continue
		}
		for _, c := range q.Children {
			if slices.Contains(c.Conf.Configured, label) {
				c.Memory[label].Normalized = javanum.Div(c.weight(label), sum)
			}
		}
	}
}

// weight is the weight of a queue, -1 for none. Queues that were created on
// demand have 1.
func (q *Queue) weight(label string) float32 {
	weight := q.Conf.Amount(label).Weight
	if q.Dynamic && weight == -1 {
		return 1
	}
	return weight
}

func (w *World) effective(q *Queue, label string) {
	total, s := w.Partition(label), q.Shares[label]
	if q.Parent == nil {
		s.Min, s.Max = total, total
		return
	}
	above := q.Parent.Shares[label]
	if !q.Conf.Amount("").Absolute {
		s.Min, s.Max = times(total, s.Absolute), times(total, s.AbsoluteMax)
		return
	}
	most := above.confMax
	if none(most) {
		most = above.Max
	}
	s.Min, s.Max = w.scaled(q, label), most
	if !none(s.confMax) {
		s.Max = w.smaller(total, s.confMax, most)
	}
	s.Capacity = finite(w.divide(w.Cluster(), s.Min, above.Min))
	s.MaxCapacity = finite(w.divide(w.Cluster(), s.Max, above.Max))
	s.Absolute = javanum.Mul(s.Capacity, above.Absolute)
	s.AbsoluteMax = javanum.Mul(s.MaxCapacity, above.AbsoluteMax)
}

// scaled is the minimum of a queue whose capacity is an amount: less than what
// is configured where its parent has less than its children are promised.
func (w *World) scaled(q *Queue, label string) resource {
	var promised resource
	for _, c := range q.Parent.Children {
		promised = promised.Add(c.Shares[label].confMin)
	}
	have, least := q.Parent.Shares[label].Min, q.Shares[label].confMin
	if q.Parent.Parent == nil && none(have) || !w.less(w.Cluster(), have, promised) {
		return least
	}
	for i := range least {
		if promised[i] != 0 {
			by := javanum.Div(float32(have[i]), float32(promised[i]))
			least[i] = javanum.Long(float64(javanum.Mul(float32(least[i]), by)))
		}
	}
	return least
}

func finite(f float32) float32 {
	if math.IsInf(float64(f), 0) {
		return 0
	}
	return f
}

// entitleVectors is the way of vectors: each resource of each queue is an
// amount, a percentage or a weight.
func (w *World) entitleVectors(q *Queue) {
	for _, label := range q.Conf.Configured {
		for i := range w.types() {
			w.shareOut(q, label, i)
		}
		for _, c := range q.Children {
			if slices.Contains(c.Conf.Configured, label) {
				s, above, total := c.Shares[label], q.Shares[label], w.Partition(label)
				s.Capacity = finite(w.divide(total, s.Min, above.Min))
				s.MaxCapacity = finite(w.divide(total, s.Max, above.Max))
				s.Absolute = javanum.Mul(s.Capacity, above.Absolute)
				s.AbsoluteMax = javanum.Mul(s.MaxCapacity, above.AbsoluteMax)
			}
		}
	}
	for _, c := range q.Children {
		w.entitleVectors(c)
	}
}

// shareOut gives one resource of a parent to its children: amounts first, then
// percentages of what is left, then weights.
func (w *World) shareOut(q *Queue, label string, i int) {
	total := float64(w.Partition(label)[i])
	have := float64(q.Shares[label].Min[i])
	var amounts, weights float64
	asked := func(c *Queue, unit config.Unit) (float64, bool) {
		a, ok := c.Conf.Amounts[label]
		return a.Vector.Value[i], ok && a.Vector.Unit[i] == unit
	}
	for _, c := range q.Children {
		if v, ok := asked(c, config.Absolute); ok {
			amounts += v
		}
		if v, ok := asked(c, config.Weight); ok {
			weights += v
		}
	}
	cut := 1.0
	if amounts > have {
		cut = float64(javanum.Div(float32(int64(have)), float32(int64(amounts))))
	}
	left := have
	for _, unit := range []config.Unit{config.Absolute, config.Percent, config.Weight} {
		before := left // percentages and weights are of what the units before have left
		for _, c := range q.Children {
			v, ok := asked(c, unit)
			if !ok {
				continue
			}
			var least float64
			switch {
			case unit == config.Absolute:
				least = math.Floor(cut * (before / have) * v)
			case unit == config.Percent:
				least = math.Floor(total * (have / total * (before / have) * v / 100))
			case v/weights == 1:
				least = before
			default:
				least = math.Floor(float64(total*(have/total*(before/have)*(v/weights))) + 0.5)
			}
			left -= w.clip(q, c, label, i, least, left)
		}
	}
}

// clip keeps a child's minimum within its maximum and within what is left.
func (w *World) clip(q, c *Queue, label string, i int, least, left float64) float64 {
	s, above := c.Shares[label], float64(q.Shares[label].Max[i])
	most := above
	total := float64(w.Partition(label)[i])
	switch v := c.Conf.Amounts[label].MaxVector; {
	case v.Unit[i] == config.Percent && v.Value[i] != 0:
		most = math.Min(math.Floor(total*(above/total*v.Value[i]/100)), above)
	case v.Value[i] != 0:
		most = math.Min(v.Value[i], above)
	}
	if most == 0 {
		most = above
	}
	if i != yarn.Memory && s.Min[yarn.Memory] == 0 {
		least = 0
	}
	if least != least {
		least = 0
	}
	least = math.Min(math.Min(least, most), left)
	s.Min[i], s.Max[i] = javanum.Long(least), javanum.Long(most)
	return float64(s.Min[i])
}

// MaxApps is how many applications a leaf takes, in all and of one user.
func (w *World) MaxApps(q *Queue) (all, each int32) {
	base := w.Config.MaxSystemApps
	if n := w.Config.MaxQueueApps; n > 0 {
		base = min(base, n)
	}
	all = q.Conf.MaxApps
	switch {
	case all >= 0:
	case !w.Config.Legacy && none(w.Cluster()), w.Config.MaxQueueApps > 0 && !q.amount(w):
		all = base
	default:
		for _, label := range q.Conf.Configured {
			all = max(all, javanum.Int(javanum.Mul(float32(base), q.Shares[label].Absolute)))
		}
	}
	if q.Conf.UserFactor == -1 {
		return all, all
	}
	return all, min(all, javanum.Int(javanum.Mul(javanum.Mul(float32(all), javanum.Div(q.Conf.UserLimit, 100)), q.Conf.UserFactor)))
}

// amount tells whether the queue's capacity is written in amounts alone.
func (q *Queue) amount(w *World) bool {
	a := q.Conf.Amount("")
	if w.Config.Legacy {
		return a.Absolute
	}
	return a.Vector.Only(config.Absolute)
}
