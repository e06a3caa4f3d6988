package capacity

import (
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Rooms is what a leaf could still get, by partition, or one of its users; see the facade. The limit of a user may be passed by the last container.
func (s *Scheduler) Rooms(free *core.Free, of *queue.Queue, user string) []core.Headroom {
	q := queueOf(of)
	return s.Core.Rooms(free, of, func(p part) (out []core.Ceiling) {
		label := s.Books.Partition(p).Name
		for at := range upwards(q) {
			code := fit.ParentLimit
			if at.Leaf {
				code = fit.QueueLimit
			}
			limit := at.Shares[p].EffMax
			if at.Up == nil {
				limit = s.Books.Partition(p).Total
			}
			s.Calc.RoundDown(&limit, &s.Min)
			out = append(out, core.Ceiling{Used: at.Ledger[p].Used, Limit: limit, Why: yarn.Reason{Code: code, Subject: at.Path, Key: settingOf(at, label, maximumCapacity)}})
		}
		if user != "" {
			limit, used := leafOf(q).LimitOf(q, p, user)
			out = append(out, core.Ceiling{Used: used, Limit: limit, Beyond: true, Why: yarn.Reason{Code: fit.UserLimit, Subject: user, Key: userSettings(q)}})
		}
		return out
	})
}
