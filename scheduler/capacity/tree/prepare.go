package tree

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
)

// Prepared is what Prepare makes. Each tree can be used once.
type Prepared struct {
	basis Basis
	trees []prepared
}

type prepared struct {
	cfg   *config.Capacity
	built *Built
	err   error // or why there is none
}

// Prepare builds the trees that may be needed to replace the configuration in use: of the
// new one, unless it is nil, and of the old one for the way back. It reads its arguments
// alone, so that it can go on beside the scheduler.
func Prepare(cfg *config.Capacity, b Basis) *Prepared {
	p := &Prepared{basis: b}
	for _, c := range []*config.Capacity{cfg, b.Config} {
		if c != nil {
			built, err := b.Build(c)
			p.trees = append(p.trees, prepared{c, built, err})
		}
	}
	return p
}

// take is what Build makes of the configuration, which may be prepared.
func (p *Prepared) take(cfg *config.Capacity, b *Basis) (*Built, error) {
	if p != nil && p.basis.same(b) {
		if i := slices.IndexFunc(p.trees, func(t prepared) bool { return t.cfg == cfg }); i >= 0 {
			t := p.trees[i]
			p.trees = slices.Delete(p.trees, i, i+1)
			return t.built, t.err
		}
	}
	return b.Build(cfg)
}
