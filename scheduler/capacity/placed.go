package capacity

import (
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

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

// mayUseManaged lets only mapping rules submit to leaves of a managed parent.
func mayUseManaged(q *Queue, placed bool, path string) yarn.Reason {
	if !q.ManagedLeaf() {
		return yarn.Reason{}
	}
	up := queue.ParentPath(path)
	if !placed || up != q.Up.Path && up != q.Up.Name {
		return yarn.Reason{Code: fit.SubmitDenied, Subject: q.Path, Detail: "only a mapping rule may choose this queue"}
	}
	return yarn.Reason{}
}
