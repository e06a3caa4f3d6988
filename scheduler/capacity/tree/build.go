package tree

import (
	"fmt"
	"math"
	"strconv"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// precision is how far a sum of percentages may be off.
const precision = 0.0005

// refusal is an error about a property of the queue.
func refusal(cfg *config.Capacity, q *Queue, property, rule string) error {
	name := config.Prefix + q.Path + "." + property
	p, _ := cfg.Property(name)
	return &config.Error{Finding: config.Finding{Key: name, Value: p.Value, Origin: cfg.Origin(name), Rule: rule}}
}

// Built is the tree of a configuration, with nothing in it.
type Built struct {
	*Tree
	Parts *cluster.Parts // those of the basis, and behind them what the configuration names besides
}

// Build makes the tree of a configuration. The basis stays as it is.
func (b Basis) Build(cfg *config.Capacity) (*Built, error) {
	b.Parts = b.Parts.Clone()
	EachLabel(cfg.Root, func(label string) { b.Parts.PartOf(label) })
	root, err := b.build(cfg, cfg.Root, nil)
	if err != nil {
		return nil, err
	}
	return &Built{newTree(root), b.Parts}, nil
}

// EachLabel visits the labels that the configuration of a queue, and of those below,
// names, some of them more than once.
func EachLabel(q *config.Queue, visit func(label string)) {
	for _, label := range q.Configured {
		visit(label)
	}
	for _, label := range q.Accessible {
		if label != "*" {
			visit(label)
		}
	}
	if q.DefaultSet {
		visit(q.DefaultLabel)
	}
	for _, c := range q.Children {
		EachLabel(c, visit)
	}
}

// build makes a queue and all below it.
func (b *Basis) build(cfg *config.Capacity, conf *config.Queue, parent *Queue) (*Queue, error) {
	q := newQueue(conf, parent, b.Parts.Partitions())
	if err := b.setup(cfg, q, nil); err != nil {
		return nil, err
	}
	var children []*Queue
	for _, c := range conf.Children {
		child, err := b.build(cfg, c, q)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	if len(children) > 0 {
		if err := b.setChildren(cfg, q, children); err != nil {
			return nil, err
		}
	}
	if conf.Kind == config.Reservable {
		return q, b.addDefault(cfg, q)
	}
	return q, nil
}

// setup applies a queue's own settings, as at the start and at each refresh. set are
// those for partitions where another queue with the same settings has them already.
func (b *Basis) setup(cfg *config.Capacity, q *Queue, set []setting) error {
	b.load(q, set)
	updateAbsolute(q, cfg.Legacy)
	if err := b.loadAmounts(cfg, q); err != nil {
		return err
	}
	if err := setState(cfg, q); err != nil {
		return err
	}
	if err := setType(cfg, q); err != nil {
		return err
	}
	b.updateStatistics(q)
	return nil
}

// load takes over the configured fractions.
//
// compat: normalized weights are not among what is cleared.
func (b *Basis) load(q *Queue, set []setting) {
	for p := range q.Shares {
		sh := &q.Shares[p]
		sh.Capacity, sh.MaxCapacity, sh.Absolute, sh.AbsoluteMax, sh.Weight = 0, 0, 0, 0, -1
	}
	if q.set = set; set == nil {
		q.set = make([]setting, 0, len(q.Conf.Configured)) // others share the old one
		for _, label := range q.Conf.Configured {
			q.set = append(q.set, setting{b.part(label), label, q.Conf.Amount(label)})
		}
	}
	for i := range q.set {
		a := &q.set[i]
		sh := &q.Shares[a.p]
		sh.Known = true
		sh.Capacity, sh.MaxCapacity, sh.Weight, sh.MaxAM = a.Capacity, a.MaxCapacity, a.Weight, a.MaxAM
	}
}

// loadAmounts takes over the configured amounts.
func (b *Basis) loadAmounts(cfg *config.Capacity, q *Queue) error {
	for i := range q.set {
		p, a := q.set[i].p, &q.set[i].Amount
		most := a.Max
		if q.Up != nil {
			above := q.Up.Shares[p].ConfMax
			if !above.IsZero() && b.Calc.More(&b.Total, &most, &above) {
				return refusal(cfg, q, "maximum-capacity", "must not be more than the parent's maximum")
			}
			if most.IsZero() && !a.Min.IsZero() && !above.IsZero() {
				most = above
			}
		}
		if !most.IsZero() && b.Calc.More(&b.Total, &a.Min, &most) {
			return refusal(cfg, q, "capacity", "must not be more than the maximum")
		}
		q.Shares[p].ConfMin, q.Shares[p].ConfMax, q.Shares[p].HasMin = a.Min, most, !a.Min.IsZero()
	}
	return nil
}

// setState finds the state of a queue from its setting and from what it was.
func setState(cfg *config.Capacity, q *Queue) error {
	up := queue.Running
	if q.Up != nil {
		up = q.Up.State
	}
	set := q.Conf.State
	switch {
	case !q.stateSet:
		q.stateSet = true
		switch {
		case set == config.StateRunning && up != queue.Running:
			return refusal(cfg, q, "state", "a queue below a stopped one cannot run")
		case set == config.StateStopped:
			q.State = queue.Stopped
		case set == config.StateUnset && q.Up != nil:
			if q.State = up; up == queue.Draining {
				q.State = queue.Stopped
			}
		}
	case q.State == queue.Running && set == config.StateStopped:
		q.stop()
	case q.State != queue.Running && set == config.StateRunning:
		if up != queue.Running {
			return refusal(cfg, q, "state", "a queue below a stopped one cannot run")
		}
		q.State = queue.Running
	}
	return nil
}

// setType tells whether the queue's capacity is written as amounts. In legacy
// mode all partitions must agree.
func setType(cfg *config.Capacity, q *Queue) error {
	for i := range q.set {
		a := &q.set[i]
		is := a.Absolute
		if !cfg.Legacy {
			is = a.Vector.Only(config.Absolute)
		}
		if i == 0 {
			q.absolute = is
		} else if is != q.absolute && q.Up != nil && cfg.Legacy {
			return refusal(cfg, q, "capacity", "must be written in the same way for all partitions")
		}
	}
	return nil
}

// setChildren gives a parent its children, if their capacities agree.
func (b *Basis) setChildren(cfg *config.Capacity, q *Queue, children []*Queue) error {
	if cfg.Legacy {
		if err := b.checkChildren(cfg, q, children); err != nil {
			return err
		}
	}
	q.setChildren(children)
	return nil
}

// checkChildren refuses capacities of children that do not go with each other, or with
// the parent's.
func (b *Basis) checkChildren(cfg *config.Capacity, q *Queue, children []*Queue) error {
	below, mixed := typeOf(q, children)
	if mixed {
		return refusal(cfg, q, "queues", "capacities of the queues below are a mixture of weights, percentages and amounts")
	}
	own, mixed := typeOf(q, []*Queue{q})
	if mixed {
		return refusal(cfg, q, "capacity", "is a mixture of weights, percentages and amounts")
	}
	if below == byAmount || own == byAmount {
		if err := b.checkAmounts(cfg, q, children, below == own); err != nil {
			return err
		}
	}
	if below != byPercent {
		return nil
	}
	for p := range q.Shares {
		if q.Shares[p].Known {
			if err := b.checkSum(cfg, q, children, part(p), own == byPercent); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Basis) checkAmounts(cfg *config.Capacity, q *Queue, children []*Queue, same bool) error {
	if !same && q.Up != nil {
		return refusal(cfg, q, "capacity", "must be written as amounts where the queues below are, and the other way round")
	}
	for p := range q.Shares {
		sh := &q.Shares[p]
		if !sh.Known || sh.ConfMin.IsZero() {
			continue
		}
		var sum resource
		for _, c := range children {
			sum = sum.Add(c.Shares[p].ConfMin)
		}
		if b.Calc.Less(&b.Parts.Partition(part(p)).Total, &sh.ConfMin, &sum) {
			return refusal(cfg, q, "capacity", "must not be less than the sum of the queues below")
		}
	}
	return nil
}

func (b *Basis) checkSum(cfg *config.Capacity, q *Queue, children []*Queue, p part, percent bool) error {
	var sum float32
	for _, c := range children {
		sum = float32(sum + c.Shares[p].Capacity)
	}
	off := func(f float32) float64 { return math.Abs(float64(f)) }
	own := q.Shares[p].Capacity
	switch {
	case off(1-sum) > precision && off(sum) > precision:
		return refusal(cfg, q, "queues", fmt.Sprintf("capacities of the queues below%s add up to %s percent; must be 100, or 0", b.inPartition(p), decimal(sum*100)))
	case off(1-sum) > precision:
		if percent && off(own) > precision && !q.Conf.AllowZeroSum {
			return refusal(cfg, q, "queues", fmt.Sprintf("capacities of the queues below%s add up to 0, which allow-zero-capacity-sum must permit", b.inPartition(p)))
		}
	case percent && off(own) <= 0 && !q.Conf.AllowZeroSum:
		return refusal(cfg, q, "capacity", "is 0, but queues below have more")
	}
	return nil
}

// inPartition names a partition that is not the default one.
func (b *Basis) inPartition(p part) string {
	if p == 0 {
		return ""
	}
	return " in partition " + b.Parts.Partition(p).Name
}

// decimal prints a number with at most four places.
func decimal(f float32) string {
	return strconv.FormatFloat(math.Round(float64(f)*1e4)/1e4, 'f', -1, 64)
}
