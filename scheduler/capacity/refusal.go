package capacity

import (
	"strconv"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// MayEnter is why the application would be refused now; see the facade. A queue that would have to be created is not looked at.
func (s *Scheduler) MayEnter(in *demand.Application, path string) yarn.Reason {
	if n := s.tree.Root.NumApps(); n >= s.cfg.MaxSystemApps {
		return yarn.Reason{Code: fit.TooManyApps, Subject: queue.Root, Count: int64(n), Max: int64(s.cfg.MaxSystemApps), Key: config.Prefix + "maximum-applications"}
	}
	q := s.find(path)
	if q != nil && q.Conf.Kind == config.Reservable {
		q = q.Default()
	}
	switch {
	case q == nil:
		return yarn.Reason{}
	case !q.Leaf:
		return yarn.Reason{Code: fit.NotALeaf, Subject: path}
	}
	return s.maySubmitNow(q, in.User)
}

// RemedyOfRefusal is the smallest change with which MayEnter would not give that reason.
func (s *Scheduler) RemedyOfRefusal(in *demand.Application, path string, why yarn.Reason) (r core.Remedy) {
	more := strconv.FormatInt(why.Count+1, 10)
	set := func(name, value string) { r.Settings = append(r.Settings, core.Setting{Name: name, Value: value}) }
	q := s.find(why.Subject)
	switch {
	case why.Code == fit.TooManyApps:
		set(config.Prefix+"maximum-applications", more)
		r.Holders = s.Holders(s.Holding)
	case q == nil:
	case why.Code == fit.QueueStopped:
		for up := q; up != nil; up = up.Up { // one below a stopped queue cannot run
			if up.State != queue.Running {
				set(settingOf(up, "", "state"), "RUNNING")
			}
		}
	case why.Code == fit.TooManyQueueApps:
		set(settingOf(q, "", "maximum-applications"), more)
		r.Holders = s.HoldersIn(&q.Queue, 0)
	case why.Code == fit.TooManyUserApps:
		s.moreOfUser(q, why, set)
		r.Holders = s.Holders(func(o *core.App) (resource, int64) {
			if o.User == in.User && o.Leaf == &q.Queue {
				return s.Holding(o)
			}
			return resource{}, 0
		})
	}
	return r
}

// moreOfUser is the factor with which one user may have one more application in a leaf, and where that is at its limit the limit, too.
func (s *Scheduler) moreOfUser(q *Queue, why yarn.Reason, set func(name, value string)) {
	most := max(q.MaxApps, int32(min(why.Count+1, 1<<30)))
	if most > q.MaxApps {
		set(settingOf(q, "", "maximum-applications"), strconv.FormatInt(int64(most), 10))
	}
	part := javanum.Mul(float32(most), javanum.Div(q.Conf.UserLimit, 100))
	if f := q.Conf.UserFactor; f == -1 || int64(javanum.Int(javanum.Mul(part, f))) > why.Count {
		return
	}
	if k := least(mostFactor, func(step int) bool {
		return int64(javanum.Int(javanum.Mul(part, javanum.Div(float32(step), 100)))) > why.Count
	}); k != 0 {
		set(settingOf(q, "", "user-limit-factor"), fraction(k, 100))
	}
}
