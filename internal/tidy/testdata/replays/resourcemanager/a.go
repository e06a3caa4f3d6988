// Package resourcemanager has a scheduler.
package resourcemanager

import "sample/scheduler"

func New(s *scheduler.Scheduler) {
	s.LikeApache() // want "LikeApache is for replays"
	s.CountUsers() // want "CountUsers is for replays"
}
