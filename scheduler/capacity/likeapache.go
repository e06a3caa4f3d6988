package capacity

import (
	"fmt"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// What goes wrong in Apache goes wrong here where replays of its decisions ask for it.
// What its late refusals leave behind is in late.go; the rest stands at the calls of
// AsApache, or here where it takes more than a line.

// LikeApache lets go wrong what goes wrong in Apache; see the facade.
func (s *Scheduler) LikeApache() {
	s.late, s.AsApache = &late{lost: map[string]bool{}}, true
	s.keepsFractions = s.cfg.Legacy
}

// guaranteedTooMuch refuses a managed parent whose leaves are not to have more than
// its guarantee.
//
// compat: Apache compares a share of the parent, the sum of the leaves, with a share
// of the parent's own parent. So leaves that it has created itself have it refuse
// every refresh, until enough of them are gone.
func (s *Scheduler) guaranteedTooMuch(cfg *config.Capacity, q, fresh *Queue) error {
	if !fresh.Conf.FailOnExceeding {
		return nil
	}
	var sum float32
	for _, c := range q.Children {
		sum = javanum.Add(sum, c.Shares[0].Capacity)
	}
	if q.Shares[0].Capacity >= sum {
		return nil
	}
	return s.refusal(cfg, q, "auto-create-child-queue.fail-on-exceeding-parent-capacity",
		fmt.Sprintf("guarantees of its leaves, %g, exceed its own, %g", sum, q.Shares[0].Capacity))
}

// leaveInLine lets an attempt that was admitted, and waits once more, wait on when it
// has gone.
//
// compat: see SetPriority for how it got into the line. Admitted a second time, it
// counts for ever.
func (s *Scheduler) leaveInLine(q *Queue, a *app) {
	rest := *a
	rest.App = a.Bare()
	rest.Own = &rest
	rest.user, rest.waits, rest.active = nil, true, false
	q.leaf.pending.enter(&rest)
	q.leaf.pending.miscounted = true
}
