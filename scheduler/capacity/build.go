package capacity

import (
	"fmt"
	"math"
	"strconv"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// precision is how far a sum of percentages may be off.
const precision = 0.0005

// refusal is an error about a property of the queue.
func (s *Scheduler) refusal(cfg *config.Capacity, q *Queue, property, rule string) error {
	name := config.Prefix + q.Path + "." + property
	p, _ := cfg.Property(name)
	return &config.Error{Finding: config.Finding{Key: name, Value: p.Value, Origin: cfg.Origin(name), Rule: rule}}
}

// build makes the tree of a configuration, with nothing in it.
func (s *Scheduler) build(cfg *config.Capacity) (*tree, error) {
	s.internLabels(cfg.Root)
	t := newTree()
	root, err := s.parse(cfg, cfg.Root, nil)
	if err != nil {
		return nil, err
	}
	t.Root = root
	t.reindex()
	return t, nil
}

// internLabels gives every partition that the configuration names its index.
func (s *Scheduler) internLabels(q *config.Queue) {
	for _, label := range q.Configured {
		s.Part(label)
	}
	for _, label := range q.Accessible {
		if label != "*" {
			s.Part(label)
		}
	}
	if q.DefaultSet {
		s.Part(q.DefaultLabel)
	}
	for _, c := range q.Children {
		s.internLabels(c)
	}
}

func (s *Scheduler) parse(cfg *config.Capacity, conf *config.Queue, parent *Queue) (*Queue, error) {
	q := s.newQueue(conf, parent)
	if err := s.setup(cfg, q, nil); err != nil {
		return nil, err
	}
	var children []*Queue
	for _, c := range conf.Children {
		child, err := s.parse(cfg, c, q)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	if len(children) > 0 {
		if err := s.setChildren(cfg, q, children); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (s *Scheduler) newQueue(conf *config.Queue, parent *Queue) *Queue {
	q := &Queue{Queue: queue.Queue{Path: conf.Path, Name: conf.Name, Counts: &queue.AppCounts{}}}
	q.obey(conf)
	q.hangBelow(parent)
	if q.Own = q; conf.Kind == config.Leaf {
		q.Leaf, q.leaf = true, newLeaf(s.Books.Partitions())
	}
	q.grow(s.Books.Partitions())
	return q
}

// setup applies a queue's own settings, as at the start and at each refresh. set are
// those for partitions where another queue with the same settings has them already.
// Fields of the leaf are not touched: other trees share it (see adopt).
func (s *Scheduler) setup(cfg *config.Capacity, q *Queue, set []setting) error {
	s.load(q, set)
	updateAbsolute(q, cfg.Legacy)
	if err := s.loadAmounts(cfg, q); err != nil {
		return err
	}
	if err := s.setState(cfg, q); err != nil {
		return err
	}
	if err := s.setType(cfg, q); err != nil {
		return err
	}
	s.updateStatistics(q)
	return nil
}

// load takes over the configured fractions.
//
// compat: normalized weights are not among what is cleared.
func (s *Scheduler) load(q *Queue, set []setting) {
	for p := range q.Shares {
		sh := &q.Shares[p]
		sh.Capacity, sh.MaxCapacity, sh.Absolute, sh.AbsoluteMax, sh.Weight = 0, 0, 0, 0, -1
	}
	if q.set = set; set == nil {
		q.set = make([]setting, 0, len(q.Conf.Configured)) // others share the old one
		for _, label := range q.Conf.Configured {
			q.set = append(q.set, setting{s.Part(label), q.Conf.Amount(label)})
		}
	}
	for i := range q.set {
		a := &q.set[i]
		sh := &q.Shares[a.p]
		sh.Known = true
		sh.Capacity, sh.MaxCapacity, sh.Weight, sh.MaxAM = a.Capacity, a.MaxCapacity, a.Weight, a.MaxAM
	}
}

func (s *Scheduler) loadAmounts(cfg *config.Capacity, q *Queue) error {
	for i := range q.set {
		p, a := q.set[i].p, &q.set[i].Amount
		most := a.Max
		if q.Up != nil {
			above := q.Up.Shares[p].ConfMax
			if !none(above) && s.Calc.More(&s.Books.Total, &most, &above) {
				return s.refusal(cfg, q, "maximum-capacity", "must not be more than the parent's maximum")
			}
			if none(most) && !none(a.Min) && !none(above) {
				most = above
			}
		}
		if !none(most) && s.Calc.More(&s.Books.Total, &a.Min, &most) {
			return s.refusal(cfg, q, "capacity", "must not be more than the maximum")
		}
		q.Shares[p].ConfMin, q.Shares[p].ConfMax, q.Shares[p].HasMin = a.Min, most, !none(a.Min)
	}
	return nil
}

// setState finds the state of a queue from its setting and from what it was.
func (s *Scheduler) setState(cfg *config.Capacity, q *Queue) error {
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
			return s.refusal(cfg, q, "state", "a queue below a stopped one cannot run")
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
			return s.refusal(cfg, q, "state", "a queue below a stopped one cannot run")
		}
		q.State = queue.Running
	}
	return nil
}

// stop ends the intake of the queue and of all below.
func (q *Queue) stop() {
	q.State = queue.Stopped
	if q.NumApps() > 0 {
		q.State = queue.Draining
	}
	for _, c := range q.Children {
		c.stop()
	}
}

// setType tells whether the queue's capacity is written as amounts. In legacy
// mode all partitions must agree.
func (s *Scheduler) setType(cfg *config.Capacity, q *Queue) error {
	for i := range q.set {
		a := &q.set[i]
		is := a.Absolute
		if !cfg.Legacy {
			is = a.Vector.Only(config.Absolute)
		}
		if i == 0 {
			q.absolute = is
		} else if is != q.absolute && q.Up != nil && cfg.Legacy {
			return s.refusal(cfg, q, "capacity", "must be written in the same way for all partitions")
		}
	}
	return nil
}

// setChildren hangs children below a parent, if their capacities agree.
func (s *Scheduler) setChildren(cfg *config.Capacity, q *Queue, children []*Queue) error {
	if cfg.Legacy {
		if err := s.checkChildren(cfg, q, children); err != nil {
			return err
		}
	}
	q.Children = children
	for i, c := range children {
		c.Place = int32(i)
	}
	q.reorder()
	return nil
}

func (s *Scheduler) checkChildren(cfg *config.Capacity, q *Queue, children []*Queue) error {
	below, mixed := s.typeOf(q, children)
	if mixed {
		return s.refusal(cfg, q, "queues", "capacities of the queues below are a mixture of weights, percentages and amounts")
	}
	own, mixed := s.typeOf(q, []*Queue{q})
	if mixed {
		return s.refusal(cfg, q, "capacity", "is a mixture of weights, percentages and amounts")
	}
	if below == byAmount || own == byAmount {
		if err := s.checkAmounts(cfg, q, children, below == own); err != nil {
			return err
		}
	}
	if below != byPercent {
		return nil
	}
	for p := range q.Shares {
		if q.Shares[p].Known {
			if err := s.checkSum(cfg, q, children, part(p), own == byPercent); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Scheduler) checkAmounts(cfg *config.Capacity, q *Queue, children []*Queue, same bool) error {
	if !same && q.Up != nil {
		return s.refusal(cfg, q, "capacity", "must be written as amounts where the queues below are, and the other way round")
	}
	for p := range q.Shares {
		sh := &q.Shares[p]
		if !sh.Known || none(sh.ConfMin) {
			continue
		}
		var sum resource
		for _, c := range children {
			sum = sum.Add(c.Shares[p].ConfMin)
		}
		if s.Calc.Less(&s.Books.Partition(part(p)).Total, &sh.ConfMin, &sum) {
			return s.refusal(cfg, q, "capacity", "must not be less than the sum of the queues below")
		}
	}
	return nil
}

func (s *Scheduler) checkSum(cfg *config.Capacity, q *Queue, children []*Queue, p part, percent bool) error {
	var sum float32
	for _, c := range children {
		sum = float32(sum + c.Shares[p].Capacity)
	}
	off := func(f float32) float64 { return math.Abs(float64(f)) }
	own := q.Shares[p].Capacity
	switch {
	case off(1-sum) > precision && off(sum) > precision:
		return s.refusal(cfg, q, "queues", fmt.Sprintf("capacities of the queues below%s add up to %s percent; must be 100, or 0", s.inPartition(p), decimal(sum*100)))
	case off(1-sum) > precision:
		if percent && off(own) > precision && !q.Conf.AllowZeroSum {
			return s.refusal(cfg, q, "queues", fmt.Sprintf("capacities of the queues below%s add up to 0, which allow-zero-capacity-sum must permit", s.inPartition(p)))
		}
	case percent && off(own) <= 0 && !q.Conf.AllowZeroSum:
		return s.refusal(cfg, q, "capacity", "is 0, but queues below have more")
	}
	return nil
}

// inPartition names a partition that is not the default one.
func (s *Scheduler) inPartition(p part) string {
	if p == 0 {
		return ""
	}
	return " in partition " + s.Books.Partition(p).Name
}

// decimal prints a number with at most four places.
func decimal(f float32) string {
	return strconv.FormatFloat(math.Round(float64(f)*1e4)/1e4, 'f', -1, 64)
}
