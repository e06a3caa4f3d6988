package capacity

import (
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/yarn"
)

// Lookup is what the mapping rules ask of the tree.
func (t *tree) Lookup(name string) (placement.Queue, placement.Presence) {
	q := t.Find(name)
	if q == nil {
		if t.Names.Ambiguous(name) {
			return placement.Queue{}, placement.Ambiguous
		}
		return placement.Queue{}, placement.Absent
	}
	return placement.Queue{Path: q.Path, Leaf: q.Leaf, Managed: q.Conf.Kind == config.Managed, Flexible: q.Flexible()}, placement.Present
}

// Place says where a submission goes; see the facade.
func (s *Scheduler) Place(a *demand.Application) (string, yarn.Reason) {
	submitted := a.Queue
	if submitted == "" {
		submitted = placement.NoQueue
	}
	p, why := s.cfg.Rules.Place(placement.Request{User: a.User, Groups: a.Groups, Queue: submitted,
		Application: a.Name, Recovering: a.Recovering}, s.tree)
	if !why.OK() {
		return "", why
	}
	a.Placed = p.Decided()
	if !a.Placed {
		return submitted, yarn.Reason{}
	}
	return p.Queue, yarn.Reason{}
}

// checkRules refuses mapping rules that name queues which are not there.
func (s *Scheduler) checkRules(cfg *config.Capacity, t *tree) error {
	for _, f := range cfg.Rules.Validate(t) {
		p, _ := cfg.Property(f.Property)
		return &config.Error{Finding: config.Finding{Key: f.Property, Value: p.Value, Origin: p.Origin, Rule: f.Complaint()}}
	}
	return nil
}
