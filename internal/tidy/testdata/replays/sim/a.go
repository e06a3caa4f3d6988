// Package sim has a scheduler.
package sim

import "sample/scheduler"

func New(s *scheduler.Scheduler) {
	s.LikeApache()
	s.CountUsers()
}
