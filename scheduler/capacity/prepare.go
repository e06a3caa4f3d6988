package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
)

// Basis is what the making of a tree from a configuration depends on besides that. It
// does not change, so that the making can go on beside the scheduler.
type Basis struct {
	cfg   *config.Capacity // in use
	calc  measure.Calculator
	min   resource
	total resource
	parts []cluster.Partition
}

// Basis is that of the moment.
func (s *Scheduler) Basis() core.Basis { return s.basis() }

func (s *Scheduler) basis() Basis {
	b := Basis{cfg: s.cfg, calc: s.Calc, min: s.Min, total: s.Books.Total}
	for p := range s.Books.Partitions() {
		b.parts = append(b.parts, *s.Books.Partition(part(p)))
	}
	return b
}

// Prepared is what Prepare makes. It can be used once.
type Prepared struct {
	basis Basis
	cfg   *config.Capacity
	fresh *tree // of cfg
	err   error // or why there is none
	parts []string
	again *tree // of the configuration in use, for the way back
}

// Prepare is Prepare on this basis.
func (b Basis) Prepare(cfg *config.Config) core.Prepared { return Prepare(partOf(cfg), b) }

// Prepare does that part of Refresh beforehand which needs nothing but the basis; see
// the facade.
func Prepare(cfg *config.Capacity, b Basis) *Prepared {
	p := &Prepared{basis: b, cfg: cfg}
	s := &Scheduler{cfg: b.cfg}
	s.Core = core.New(&b.cfg.Cluster, b.calc, s)
	s.Min = b.min
	s.Books.Total = b.total
	for i := range b.parts {
		*s.Books.Partition(s.Books.PartOf(b.parts[i].Name)) = b.parts[i]
	}
	if again, err := s.build(b.cfg); err == nil {
		p.again = again
	}
	if cfg != nil {
		p.fresh, p.err = s.build(cfg)
		for i := len(b.parts); i < s.Books.Partitions(); i++ {
			p.parts = append(p.parts, s.Books.Partition(part(i)).Name)
		}
	}
	return p
}

// holds tells whether nothing has changed since that would lead to something else.
func (p *Prepared) holds(s *Scheduler) bool {
	if p == nil {
		return false
	}
	b := s.basis()
	return b.cfg == p.basis.cfg && b.calc == p.basis.calc && b.min == p.basis.min && b.total == p.basis.total && slices.Equal(b.parts, p.basis.parts)
}

// buildNext is build of the configuration, unless that was prepared.
func (s *Scheduler) buildNext(cfg *config.Capacity, p *Prepared) (*tree, error) {
	if !p.holds(s) || p.cfg != cfg || p.fresh == nil && p.err == nil {
		return s.build(cfg)
	}
	for _, label := range p.parts {
		s.Part(label)
	}
	t := p.fresh
	p.fresh = nil
	return t, p.err
}

// buildAgain is build of the configuration in use, unless that was prepared.
func (s *Scheduler) buildAgain(p *Prepared) (*tree, error) {
	if !p.holds(s) || p.again == nil {
		return s.build(s.cfg)
	}
	t := p.again
	p.again = nil
	return t, nil
}
