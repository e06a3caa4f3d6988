package tree

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// updateVectors is Entitle where legacy-queue-mode.enabled is false: every resource of a
// queue may be given as an amount, a percentage or a weight.
func (l *Live) updateVectors(q *Queue) {
	if q.Up == nil {
		for i := range q.set {
			p := q.set[i].p
			sh, total := &q.Shares[p], l.Parts.Partition(p).Total
			sh.Known, sh.EffMin, sh.EffMax, sh.Absolute = true, total, total, 1
		}
		l.updateStatistics(q)
	}
	l.shareOut(q, l.Total)
}

// shareOut gives the children of a parent what they are entitled to, and so on
// below them. limit is what the parent may use, seen from above.
func (l *Live) shareOut(q *Queue, limit resource) {
	if len(q.Children) == 0 {
		return
	}
	for i := range q.set {
		d := &division{b: &l.Basis, q: q, p: q.set[i].p, label: q.set[i].label}
		d.run()
	}
	for _, c := range q.Children {
		if l.keepsFractions() {
			l.keepFractions(q, c)
		} else {
			l.deriveAll(q, c)
		}
		below := l.childLimit(q, c, &limit)
		if c.Leaf {
			l.refreshLeaf(c, &below, !l.Total.IsZero())
		} else {
			l.updateStatistics(c)
		}
		l.shareOut(c, below)
	}
}

// deriveAll finds the fractions that the child's resources amount to.
func (b *Basis) deriveAll(q, c *Queue) {
	for i := range c.set {
		b.derive(q, c, c.set[i].p)
	}
}

func (b *Basis) derive(q, c *Queue, p part) {
	b.deriveFractions(&c.Shares[p], &q.Shares[p], &b.Parts.Partition(p).Total)
	updateAbsolute(c, false)
}

// division shares out one partition of a parent among its children
// (ResourceCalculationDriver). All steps are in double precision.
type division struct {
	b     *Basis
	q     *Queue
	label string
	p     part

	left, batch [yarn.MaxResourceTypes]float64 // not given away; before this unit's turn
	ratio       [yarn.MaxResourceTypes]float64 // of amounts, where they are too large
	weights     [yarn.MaxResourceTypes]float64 // sum over the children
}

func (d *division) run() {
	own := &d.q.Shares[d.p]
	for i := range d.b.Config.Cluster.Types {
		d.left[i], d.batch[i] = float64(own.EffMin[i]), float64(own.EffMin[i])
		d.prepare(i)
	}
	for i := range d.b.Config.Cluster.Types {
		for _, unit := range [...]config.Unit{config.Absolute, config.Percent, config.Weight} {
			used := 0.0
			for _, c := range d.q.Children {
				if a, ok := c.Conf.Amounts[d.label]; ok && a.Vector.Unit[i] == unit {
					given := d.give(c, &a, i, unit)
					d.left[i] -= given
					used += given
				}
			}
			d.batch[i] -= used
		}
	}
}

// prepare sums up what the children ask for.
func (d *division) prepare(i int) {
	var amounts int64
	for _, c := range d.q.Children {
		a, ok := c.Conf.Amounts[d.label]
		switch {
		case ok && a.Vector.Unit[i] == config.Absolute:
			amounts = javanum.Long(float64(amounts) + a.Vector.Value[i])
		case ok && a.Vector.Unit[i] == config.Weight:
			d.weights[i] += a.Vector.Value[i]
		}
	}
	d.ratio[i] = 1
	if amounts != 0 {
		have := min(amounts, d.q.Shares[d.p].EffMin[i])
		d.ratio[i] = float64(float32(float32(have) / float32(amounts)))
	}
}

func (d *division) give(c *Queue, a *config.Amount, i int, unit config.Unit) float64 {
	own, sh := &d.q.Shares[d.p], &c.Shares[d.p]
	total := float64(d.b.Parts.Partition(d.p).Total[i])
	least := d.minimum(a.Vector.Value[i], i, unit, total)
	if unit == config.Weight {
		least = math.Floor(least + 0.5)
		if least != least {
			least = 0
		}
	} else {
		least = math.Floor(least)
	}
	most := math.Floor(d.maximum(a, i, total))
	if i != yarn.Memory && sh.EffMin[yarn.Memory] == 0 {
		least = 0
	}
	if above := float64(own.EffMax[i]); most == 0 {
		most = above
	} else {
		most = math.Min(most, above)
	}
	if most < least {
		least = most
	}
	if least > d.left[i] {
		least = d.left[i]
	}
	sh.EffMin[i], sh.EffMax[i] = javanum.Long(least), javanum.Long(most)
	return least
}

func (d *division) minimum(value float64, i int, unit config.Unit, total float64) float64 {
	have := float64(d.q.Shares[d.p].EffMin[i])
	rest := d.batch[i] / have
	switch unit {
	case config.Absolute:
		return d.ratio[i] * rest * value
	case config.Percent:
		return total * (have / total * rest * value / 100)
	}
	share := value / d.weights[i]
	if share == 1 {
		return d.batch[i]
	}
	return total * (have / total * rest * share)
}

func (d *division) maximum(a *config.Amount, i int, total float64) float64 {
	if a.MaxVector.Unit[i] == config.Percent {
		return total * (float64(d.q.Shares[d.p].EffMax[i]) / total * a.MaxVector.Value[i] / 100)
	}
	return a.MaxVector.Value[i]
}
